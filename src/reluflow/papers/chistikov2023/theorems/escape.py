"""The bundle leaves the saddle at T_2 and the loss decays from then on (Lemma 32, Theorem 6) [chistikov2023]."""

from __future__ import annotations

import numpy as np

from reluflow.papers.chistikov2023.paper import EXAMPLE, SETTING
from reluflow.papers.chistikov2023.theorems.bundle import Bundle, bundles
from reluflow.papers.chistikov2023.theorems.hypotheses import EPSILON, RUNS, constants, own_scale
from reluflow.papers.chistikov2023.theorems.phase_two import predicted_path, second_phase_plan
from reluflow.papers.chistikov2023.theorems.scene import scene
from reluflow.theory.comparison import Comparison, Values, at_most, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtLeast, AtMost
from reluflow.theory.theorem import Conclusion, Reference, Theorem


def _before(evidence: Evidence) -> list[Bundle]:
    return [b for b in bundles(evidence) if b.ratios[0] < 0.5]


def _after(evidence: Evidence) -> list[Bundle]:
    """From T_2 on: everything after the first snapshot with r_1 >= 1/2."""
    found = bundles(evidence)
    first = next((k for k, b in enumerate(found) if b.ratios[0] >= 0.5), len(found))
    return found[first:]


# Lemma 32 -------------------------------------------------------------------------------------------------------------


def _lengths_before(evidence: Evidence) -> Values:
    return [b.length for b in _before(evidence)]


def _lengths_after(evidence: Evidence) -> Values:
    return [b.length for b in _after(evidence)]


def _least_length(evidence: Evidence) -> float:
    """|gamma|/(4 eta_1)."""
    here = scene(evidence)
    return float(here.speed / (4.0 * here.eta[0]))


def _gradient_ratios(evidence: Evidence) -> Values:
    """|grad L|^2/L from T_2 on, L = <v* - V, H (v* - V)>/2."""
    here = scene(evidence)
    for b in _after(evidence):
        gap = here.teacher - b.V
        yield float(np.exp(b.log_factor)) * b.squares / float(0.5 * gap @ here.H @ gap)


def _least_gradient_ratio(evidence: Evidence) -> float:
    """2 eta_d |gamma|/(5 eta_1)."""
    here = scene(evidence)
    return float(2.0 * here.eta[-1] * here.speed / (5.0 * here.eta[0]))


LEMMA_32 = Theorem(
    "chistikov2023:lemma32",
    Reference("chistikov2023", "Lemma 32"),
    r"Let $T_2$ be the first time with $\nu_1 \ge \nu_1^*/2$. Before, $|V| < 1/2$; from then on "
    r"$|V| > |\gamma|/(4 \eta_1)$ and $|\nabla L|^2 > (2 \eta_d |\gamma|/(5 \eta_1)) L$.",
    hypotheses=RUNS,
    conclusions=(
        Conclusion(
            "small",
            "(i) $|V| < 1/2$ on $[T_1, T_2]$",
            AtMost(_lengths_before, 0.5, without="no snapshot between $T_1$ and $T_2$"),
        ),
        Conclusion(
            "large",
            r"(iii) $|V| > |\gamma|/(4 \eta_1)$ from $T_2$ on",
            AtLeast(_lengths_after, _least_length, without="no snapshot after $T_2$"),
        ),
        Conclusion(
            "gradient",
            r"(iv) $|\nabla L|^2 > (2 \eta_d |\gamma|/(5 \eta_1)) L$ from $T_2$ on",
            AtLeast(_gradient_ratios, _least_gradient_ratio, without="no snapshot after $T_2$"),
        ),
    ),
    constants=constants,
    predictions=predicted_path,
    parameters=(EPSILON,),
    plan=second_phase_plan,
    log_scale=own_scale,
    setting=SETTING,
    example=EXAMPLE,
    departs="Parts (ii) and (v) are Theorem 6.",
)

# Theorem 6 ------------------------------------------------------------------------------------------------------------


def _escape(evidence: Evidence) -> float:
    """The first snapshot with r_1 >= 1/2, no earlier than T_2."""
    return require(_after(evidence), "no snapshot after T_2")[0].time


def _latest_escape(evidence: Evidence) -> float:
    """ln(1/lambda) (4 + eps) d Delta^2/delta^6."""
    here, d = scene(evidence), evidence.dataset.d
    return -here.log_scale * (4.0 + evidence.parameter("epsilon")) * d * here.Delta**2 / here.delta**6


def _decays(evidence: Evidence) -> Comparison:
    """Largest ln L - ln of the bound from T_2 on, T_2 taken as the last snapshot before it."""
    here, before, after = scene(evidence), _before(evidence), _after(evidence)
    require(before and after, "snapshots before and after $T_2$")
    start, losses = before[-1].time, {s.time: s.loss for s in evidence.run.snapshots}
    rate = 0.4 * here.delta**4 / here.Delta**2
    worst = max(
        float(np.log(losses[b.time])) - float(np.log(0.5 * here.Delta**2)) + rate * (b.time - start) for b in after
    )
    return at_most(worst, 0.0, detail=rf"$\ln L$ is at least {-worst:.4g} below the bound")


THM_6 = Theorem(
    "chistikov2023:thm6",
    Reference("chistikov2023", "Thm 6"),
    r"There is a $T_2 < \ln(1/\lambda) (4 + \varepsilon) d \Delta^2/\delta^6$ from which on the loss is below "
    r"$(\Delta^2/2)\,\exp(-0.4 (t - T_2) \delta^4/\Delta^2)$.",
    hypotheses=RUNS,
    conclusions=(
        Conclusion(
            "escape", r"$T_2 < \ln(1/\lambda) (4 + \varepsilon) d \Delta^2/\delta^6$", AtMost(_escape, _latest_escape)
        ),
        Conclusion("decay", r"$L(T_2 + t) < (\Delta^2/2)\,\exp(-0.4 t \delta^4/\Delta^2)$", _decays),
    ),
    constants=constants,
    predictions=predicted_path,
    parameters=(EPSILON,),
    plan=second_phase_plan,
    log_scale=own_scale,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E1: the proof takes $|V(T_1)|$ to be of order $\lambda$, it is of order $\lambda^2$; the statement "
    r"stands.",
    departs="$T_2$ lies between two snapshots; each conclusion takes the end that is worse for it.",
)
