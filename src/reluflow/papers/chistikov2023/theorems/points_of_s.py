"""Propositions 25 to 27: what every point of the set S satisfies, on random points of its parts [chistikov2023]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.papers.chistikov2023.paper import EXAMPLE, SETTING
from reluflow.papers.chistikov2023.theorems.bundle import Bundle
from reluflow.papers.chistikov2023.theorems.hypotheses import EPSILON, SMALL, constants, own_scale
from reluflow.papers.chistikov2023.theorems.scene import Scene, scene
from reluflow.theory.comparison import Values, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import Above, Quantities
from reluflow.theory.theorem import Conclusion, Reference, Theorem

NUM_POINTS = 200  # sought in each part of S
MAX_DRAWS = 4000


@dataclass(frozen=True, eq=False)
class PointsOfS:
    """Random points V of S, shape (k, d), and the part S_l each lies in, shape (k,)."""

    V: FloatArray
    parts: IntArray


def log_power(evidence: Evidence, share: float) -> float:
    """share eps ln(lambda)."""
    return share * evidence.parameter("epsilon") * scene(evidence).log_scale


def points_of_S(evidence: Evidence) -> PointsOfS:
    """Points drawn coordinate by coordinate within Phi and Psi, and kept where they are in S, Xi included."""
    here, rng = scene(evidence), np.random.default_rng(0)
    least_cosine = float(np.exp(log_power(evidence, 1.0 / 3.0)))
    found: list[FloatArray] = []
    parts: list[int] = []
    for part in range(1, len(here.eta) + 1):
        kept = 0
        for _ in range(MAX_DRAWS):
            V = here.spectrum[1] @ (here.nu * _ratios(here, part, rng))
            point = Bundle(here, 0.0, 0.0, V, np.zeros_like(V), 0.0)
            if point.part == part and point.slack(least_cosine) > 0.0:
                found.append(V)
                parts.append(part)
                kept += 1
            if kept == NUM_POINTS:
                break
    return PointsOfS(np.array(found), np.array(parts))


def _ratios(here: Scene, part: int, rng: np.random.Generator) -> FloatArray:
    """r_k = nu_k/nu_k*: above 1 before the part, its own within Phi, the others within Psi."""
    eta, r = here.eta, np.zeros(len(here.eta))
    first = part - 1
    r[:first] = 1.0 + 10.0 ** rng.uniform(-4.0, -0.3, first)
    least = eta[first] / (2.0 * eta[first - 1]) if first else 0.0
    share = 10.0 ** rng.uniform(-6.0, 0.0) if rng.random() < 0.5 else rng.random()
    r[first] = least + share * (1.0 - least)
    for k in range(first + 1, len(eta)):
        before = slice(first, k)
        low = float(np.max(eta[k] / (2.0 * eta[before]) * r[before]))
        powers = 0.5 + eta[k] / (2.0 * eta[before])
        high = float(np.min(-np.expm1(powers * np.log1p(-np.minimum(r[before], 1.0 - 1e-16)))))
        r[k] = low + rng.random() * (high - low)
    return r


def _points(evidence: Evidence, part: int | None = None) -> FloatArray:
    found = evidence.recorded(PointsOfS)
    chosen = found.V if part is None else found.V[found.parts == part]
    return require(chosen, "no point of $S$ was found")


def _count(evidence: Evidence, part: int) -> int:
    return int(np.sum(evidence.recorded(PointsOfS).parts == part))


def _counts(evidence: Evidence) -> list[int]:
    """How many points were found in S_1, ..., S_d."""
    return [_count(evidence, part) for part in range(1, len(scene(evidence).eta) + 1)]


COUNTS = Quantities({"points_in_each_part": _counts}, others=(constants,))


def _inside_ball(evidence: Evidence) -> Values:
    """cos(V, v* - V)."""
    V, teacher = _points(evidence), scene(evidence).teacher
    gap = teacher - V
    return [np.sum(V * gap, axis=1) / (np.linalg.norm(V, axis=1) * np.linalg.norm(gap, axis=1))]


def _cosines_with_pull(evidence: Evidence) -> Values:
    """cos(V, g) of the points of S_1, g = H (v* - V)."""
    here, V = scene(evidence), _points(evidence, 1)
    g = (here.teacher - V) @ here.H
    return [np.sum(V * g, axis=1) / (np.linalg.norm(V, axis=1) * np.linalg.norm(g, axis=1))]


def least_cosine_with_pull(evidence: Evidence) -> float:
    """eta_d^2 nu_d*^2/(2 eta_1 |gamma|), the provable constant of Prop. 26."""
    here = scene(evidence)
    return float((here.eta[-1] * here.nu[-1]) ** 2 / (2.0 * here.eta[0] * here.speed))


def printed_cosine_with_pull(evidence: Evidence) -> float:
    """(eta_d nu_d*/|gamma|)^2/2, as printed."""
    here = scene(evidence)
    return float(0.5 * (here.eta[-1] * here.nu[-1] / here.speed) ** 2)


def _cosines_with_samples(evidence: Evidence) -> Values:
    """cos(V, x_i)."""
    here, V = scene(evidence), _points(evidence)
    return [(V @ here.X.T) / np.outer(np.linalg.norm(V, axis=1), np.linalg.norm(here.X, axis=1))]


def _cosines_with_teacher(evidence: Evidence) -> Values:
    """cos(V, v*)."""
    here, V = scene(evidence), _points(evidence)
    return [V @ here.teacher / np.linalg.norm(V, axis=1)]


def _power(evidence: Evidence, *, factor: float, constant: float = 0.0) -> float:
    """constant + factor lambda^(eps/2)."""
    return constant + factor * float(np.exp(log_power(evidence, 0.5)))


SAMPLED = "Measured on random points of every part of $S$, up to 200 in each, not on all of $S$."

PROP_25 = Theorem(
    "chistikov2023:prop25",
    Reference("chistikov2023", "Prop. 25"),
    r"Every $V \in S$ has $\langle V, v^* - V\rangle > 0$: it lies in the ball through 0 and $v^*$.",
    hypotheses=SMALL,
    conclusions=(
        Conclusion(
            "ball",
            r"$\langle V, v^* - V\rangle > 0$",
            Above(_inside_ball, 0.0, words="least cosine of $V$ and $v^* - V$ {measured:.4g} over {count} points"),
        ),
    ),
    constants=COUNTS,
    parameters=(EPSILON,),
    record=points_of_S,
    log_scale=own_scale,
    setting=SETTING,
    example=EXAMPLE,
    departs=SAMPLED,
)

PROP_26 = Theorem(
    "chistikov2023:prop26",
    Reference("chistikov2023", "Prop. 26"),
    r"Every $V \in S_1$ has $\cos(V, g) > \eta_d^2 \nu_d^{*2}/(2 \eta_1 |\gamma|)$, $g = H(v^* - V)$.",
    hypotheses=SMALL,
    conclusions=(
        Conclusion(
            "cosine",
            r"$\cos(V, g) > \eta_d^2 \nu_d^{*2}/(2 \eta_1 |\gamma|)$ in $S_1$",
            Above(
                _cosines_with_pull, least_cosine_with_pull, words="least {measured:.4g} of {count}, bound {bound:.4g}"
            ),
        ),
    ),
    constants=Quantities({"printed_bound": printed_cosine_with_pull}, others=(COUNTS,)),
    parameters=(EPSILON,),
    record=points_of_S,
    log_scale=own_scale,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E4: the printed constant rests on $|V| \le r_1 |\gamma|/\eta_1$, which is false; this one, smaller "
    r"by less than $\sqrt{2}$, has a proof.",
    departs=SAMPLED,
)

PROP_27 = Theorem(
    "chistikov2023:prop27",
    Reference("chistikov2023", "Prop. 27"),
    r"Every $V \in S$ has $\cos(V, x_i) > \sqrt 8 \lambda^{\varepsilon/2}$ for all samples, for $\cos(V, v^*) \ge "
    r"1/\sqrt 2 + 2 \lambda^{\varepsilon/2}$.",
    hypotheses=SMALL,
    conclusions=(
        Conclusion(
            "samples",
            r"$\cos(V, x_i) > \sqrt 8 \lambda^{\varepsilon/2}$",
            Above(
                _cosines_with_samples,
                partial(_power, factor=float(np.sqrt(8.0))),
                words="least cosine {measured:.4g} of {count}, bound {bound:.4g}",
            ),
        ),
        Conclusion(
            "teacher",
            r"$\cos(V, v^*) \ge 1/\sqrt 2 + 2 \lambda^{\varepsilon/2}$",
            Above(
                _cosines_with_teacher,
                partial(_power, factor=2.0, constant=float(np.sqrt(0.5))),
                words="least cosine {measured:.6g} of {count}, bound {bound:.6g}",
            ),
        ),
    ),
    constants=COUNTS,
    parameters=(EPSILON,),
    record=points_of_S,
    log_scale=own_scale,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E5: a step of the proof for $l \ge 2$ is off by a factor 2; the statement stands.",
    departs=SAMPLED,
)
