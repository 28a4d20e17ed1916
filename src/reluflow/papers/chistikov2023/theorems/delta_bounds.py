"""Propositions 16 to 18: gamma, and what delta and Delta bound of the spectrum and the yardsticks; no run is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.papers.chistikov2023.paper import EXAMPLE, SETTING
from reluflow.papers.chistikov2023.theorems.hypotheses import DATA_AND_START, EPSILON, SMALL, constants, own_scale
from reluflow.papers.chistikov2023.theorems.scene import Scene, scene
from reluflow.papers.chistikov2023.theorems.yardsticks import Yardstick, alignment_time
from reluflow.theory.comparison import Comparison, Level, Values, at_least
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtLeast, AtMost, Constants
from reluflow.theory.theorem import Conclusion, Reference, Theorem

# Proposition 16 -------------------------------------------------------------------------------------------------------


def _gamma_gap(evidence: Evidence) -> float:
    """|gamma - sum eta_k nu_k* u_k|, relative."""
    here = evidence.recorded(Scene)
    eta, basis = here.spectrum
    return float(np.linalg.norm(here.gamma - basis @ (eta * here.nu)) / here.speed)


PROP_16 = Theorem(
    "chistikov2023:prop16",
    Reference("chistikov2023", "Prop. 16"),
    r"$\gamma = H v^* = \sum_k \eta_k \nu_k^* u_k$.",
    hypotheses=DATA_AND_START,
    conclusions=(
        Conclusion(
            "gamma",
            r"$\gamma = \sum_k \eta_k \nu_k^* u_k$",
            AtMost(_gamma_gap, 1e-12, words="relative distance {measured:.2g}"),
            Level.EXACT,
        ),
    ),
    record=scene,
    setting=SETTING,
    example=EXAMPLE,
)

# Proposition 17 -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Yardsticks:
    """alpha_j of the neurons of J_+ and J_-, by the recursion of Prop. 14."""

    paths: Mapping[int, Yardstick]


def _yardsticks(evidence: Evidence) -> Yardsticks:
    return Yardsticks(scene(evidence).yardsticks)


def _ratio_bound(here: Scene) -> float:
    """(1 - delta/((d - 1) Delta))^2."""
    return float((1.0 - here.delta / ((here.X.shape[1] - 1) * here.Delta)) ** 2)


def _log_slacks(evidence: Evidence) -> Iterator[float]:
    """ln of |gamma|/delta^2, and of |gamma_I|/lower bound and upper bound/|gamma_I| over the sets I of the paths."""
    here, n = scene(evidence), len(evidence.dataset.y)
    yield float(np.log(here.speed / here.delta**2))
    for path in evidence.recorded(Yardsticks).paths.values():
        for inside, speed in zip(path.inside, path.speeds, strict=True):
            size = float(inside.sum())
            if size > 0.0:
                yield float(np.log(speed * np.sqrt(2.0) * n / (here.delta**2.5 * size)))
                yield float(np.log(here.Delta**2 * size / (n * speed)))


def _pulls(evidence: Evidence) -> Comparison:
    slack = min(_log_slacks(evidence))
    return at_least(slack, 0.0, allowance=1e-12, detail=f"the nearest bound is a factor {np.exp(slack):.4g} away")


def _artanh_cosines(evidence: Evidence, *, sign: int) -> Values:
    """artanh cos phi at the ends of stages (s = 1) or at their starts (s = -1)."""
    for path in evidence.recorded(Yardsticks).paths.values():
        if path.sign == sign:
            angles = path.ends if sign > 0 else path.starts[: len(path.samples)]
            yield -np.log(np.tan(0.5 * angles))


def _log_two_over_delta(evidence: Evidence) -> float:
    return float(np.log(2.0 / scene(evidence).delta))


def _last_crossing(evidence: Evidence) -> float:
    """T_0 - 1."""
    return alignment_time(evidence.recorded(Yardsticks).paths.values()) - 1.0


def _last_crossing_bound(evidence: Evidence) -> float:
    n = len(evidence.dataset.y)
    return float(4.0 * n * np.log(n) / scene(evidence).delta ** 3)


def _approaches(evidence: Evidence) -> Values:
    """|<alpha, x_i>|/(tau - t), x_i of length 1, over the stage that ends at the sample."""
    X = scene(evidence).X
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    for path in evidence.recorded(Yardsticks).paths.values():
        for stage, sample in enumerate(path.samples):
            for share in (0.0, 0.25, 0.5, 0.75, 0.9):
                left = (1.0 - share) * path.lengths[stage]
                direction = path.direction_at(path.times[stage + 1] - left) if share else path.directions[stage]
                yield abs(float(unit[sample] @ direction)) / left


def _approach_bound(evidence: Evidence) -> float:
    here = scene(evidence)
    return 2.0 * here.delta**4 / (3.0 * len(here.y))


def _data_constants(evidence: Evidence) -> Constants:
    here = scene(evidence)
    return {
        "delta": here.delta,
        "Delta": here.Delta,
        "delta_terms": list(here.delta_terms),
        "eta_1": float(here.eta[0]),
        "Delta_squared": here.Delta**2,
        "eta_ratios": (here.eta[1:] / here.eta[:-1]).tolist(),
        "eta_ratio_bound": _ratio_bound(here),
    }


PROP_17 = Theorem(
    "chistikov2023:prop17",
    Reference("chistikov2023", "Prop. 17"),
    r"Elementary bounds by $\delta$ and $\Delta$: the eigenvalues and their ratios, $|\gamma_I|$, angles at "
    r"crossings, the last crossing time $4 n\,\ln n/\delta^3$, and how fast a yardstick approaches the sample it "
    r"meets.",
    hypotheses=DATA_AND_START,
    conclusions=(
        Conclusion(
            "pulls",
            r"(iii) $\delta^{5/2} |I|/(\sqrt{2} n) \le |\gamma_I| \le \Delta^2 |I|/n$, $\delta^2 \le |\gamma|$",
            _pulls,
        ),
        Conclusion(
            "positive",
            r"(iv) $J_+$: $\operatorname{artanh}\,\cos\varphi < \ln(2/\delta)$ at crossings",
            AtMost(partial(_artanh_cosines, sign=1), _log_two_over_delta, empty="no such neuron meets a sample"),
        ),
        Conclusion(
            "negative",
            "(v) $J_-$: the same where stages start",
            AtMost(partial(_artanh_cosines, sign=-1), _log_two_over_delta, empty="no such neuron meets a sample"),
        ),
        Conclusion("last", r"(vi) $\tau_j^{n_j} < 4 n\,\ln n/\delta^3$", AtMost(_last_crossing, _last_crossing_bound)),
        Conclusion(
            "approach",
            r"(vii) $|\cos(\alpha, x)| \ge (2 \delta^4/(3n)) (\tau - t)$",
            AtLeast(_approaches, _approach_bound, empty="no neuron meets a sample"),
        ),
    ),
    constants=_data_constants,
    record=_yardsticks,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E12: the proof of (i) prints $\max|x_i|^2 = \Delta^2$; it is at most that.",
    departs=r"(i) $\eta_1 \le \Delta^2$ and (ii) $\eta_{k+1}/\eta_k \le (1 - \delta/((d - 1) \Delta))^2$ hold for any "
    r"samples by the definitions of $\delta$ and $\Delta$, so that nothing could refute them; both sides are among the "
    "constants.",
)

# Proposition 18 -------------------------------------------------------------------------------------------------------


def _alignment_time(evidence: Evidence) -> float:
    """T_0."""
    return evidence.recorded(Scene).alignment_time


def _third_of_phase(evidence: Evidence) -> float:
    """T_1/3."""
    return evidence.recorded(Scene).phase_time(evidence.parameter("epsilon")) / 3.0


PROP_18 = Theorem(
    "chistikov2023:prop18",
    Reference("chistikov2023", "Prop. 18"),
    r"$T_0 < T_1/3$: all crossings are done in the first third of $[0, T_1]$, "
    r"$T_1 = \varepsilon\,\ln(1/\lambda)/|\gamma|$.",
    hypotheses=SMALL,
    conclusions=(Conclusion("early", "$T_0 < T_1/3$", AtMost(_alignment_time, _third_of_phase)),),
    constants=constants,
    parameters=(EPSILON,),
    record=scene,
    log_scale=own_scale,
    setting=SETTING,
    example=EXAMPLE,
)
