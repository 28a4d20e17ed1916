"""Phase 2a, positive neurons grow together: Lemma 5 with Eqs. (41) to (43) [boursier2024]."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.papers.boursier2024.paper import EXAMPLE, PHASES_SETTING
from reluflow.papers.boursier2024.theorems.aligned_lemmas import exponent_over, negative_shrinkage
from reluflow.papers.boursier2024.theorems.phase_clock import TrainingPhase, ends_by, in_phase, phase_clock, phase_plan
from reluflow.papers.boursier2024.theorems.phase_parameters import EPS_1, EPS_2
from reluflow.papers.boursier2024.theorems.phase_states import PhaseState, log_lambda_of, neuron_sets
from reluflow.papers.boursier2024.theorems.spurious_constants import constants_of
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import (
    ACUTE,
    ALIGNED,
    SMALL_EPS_2,
    largest_eps_2,
    least_projections,
    scale_factor,
)
from reluflow.theory.comparison import Comparison, Level, at_least, least_over, nothing, require
from reluflow.theory.elsewhere import definition, part
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import AtMost, Quantities
from reluflow.theory.theorem import Conclusion, Reference, Theorem

PAIR_SCALES = (-18.0, -23.0, -28.0)  # ln lambda; 1 - <wbar_i, wbar_j> ~ lambda^2 stays above the square of rounding
TOLD_APART = 1e-24  # pairs with a larger 1 - <wbar_i, wbar_j> have it to a relative 1e-4 or better
PAIR_RTOL = 1e-3  # allowed change of ln a_i a_j (1 - <wbar_i, wbar_j>) for pairs just distinguished; 5e-6 was measured


@in_phase(TrainingPhase.GROWTH)
def _projections(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    deltas = least_projections(evidence)
    slack = [np.min(s.cosines * s.constants.lengths - deltas) for s in states]
    return least_over(states, slack, 0.0, r"$\langle\bar w_i, x_k\rangle - \delta_k$")


def pair_drift(states: tuple[PhaseState, ...]) -> float:
    """Largest relative change of a_i a_j (1 - <wbar_i, wbar_j>) over pairs of I that doubles can distinguish.

    Neurons of one cone move by one Lorentz boost, which keeps a_i a_j - <w_i, w_j>; so this is the integrated form of
    d<wbar_i, wbar_j>/dt = <D^t, wbar_i + wbar_j> (1 - <wbar_i, wbar_j>).
    """
    first, worst = states[0], 0.0
    members = first.sets.positive
    for state in states[1:]:
        grown = (state.log_output_weights - first.log_output_weights)[members]
        are_distinct = (first.pair_gaps > TOLD_APART) & (state.pair_gaps > TOLD_APART)
        if np.any(are_distinct):
            change = (
                np.log(state.pair_gaps[are_distinct] / first.pair_gaps[are_distinct])
                + (grown[:, None] + grown[None, :])[are_distinct]
            )
            worst = max(worst, float(np.max(np.abs(change))))
    return worst


APP_F_2 = definition(
    "boursier2024:appF.2",
    r"Appendix F.2, $d\langle\bar{w}_i, \bar{w}_j\rangle/dt$",
    pair_drift,
    r"$\langle D^t, \bar{w}_i + \bar{w}_j\rangle (1 - \langle\bar{w}_i, \bar{w}_j\rangle)$, kept as "
    r"$a_i a_j - \langle w_i, w_j\rangle$ constant",
)

# Lemma 5, Eqs. (41) to (43) -------------------------------------------------------------------------------------------


@in_phase(TrainingPhase.GROWTH, at_least=2)
def _pairs(evidence: Evidence, states: tuple[PhaseState, ...]) -> float:
    return pair_drift(states)


def _pair_exponent(evidence: Evidence) -> Comparison:
    if int(np.sum(neuron_sets(evidence.problem).positive)) < 2:
        return nothing("there is one positive neuron and no pair")
    clocks = [phase_clock(other) for other in evidence.other_scales]
    gaps = [(c.log_lambda, c.states[c.growth.index].log_pair_gap) for c in clocks if c.growth.is_reached]
    require(len(gaps) >= 2, r"runs at two scales or more that reach $\tau_2$")
    return exponent_over(gaps, 1.0 - evidence.parameter("eps"), what="pairs are aligned")


def slowest_growth(evidence: Evidence) -> float:
    """Eq. (41): d ln a_i/dt >= (1/n) sum_k (y_k - eps_2 |x_k|) delta_k in Phase 2a."""
    margins = evidence.dataset.y - evidence.parameter("eps_2") * constants_of(evidence).lengths
    return float(np.mean(margins * least_projections(evidence)))


def fastest_growth(evidence: Evidence) -> float:
    """d ln a_i/dt <= |D*| + 2 lambda^2 S in Phase 2a: positive outputs only slow it down."""
    constants = constants_of(evidence)
    return constants.pull_norm + 2.0 * float(np.exp(2.0 * log_lambda_of(evidence))) * constants.mean_square


@in_phase(TrainingPhase.GROWTH)
def _rates(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    low, high = slowest_growth(evidence), fastest_growth(evidence)
    rates = [s.directions[s.sets.positive] @ s.pull for s in states]
    slack = [min(float(np.min(rate)) - low, high - float(np.max(rate))) for rate in rates]
    what = rf"distance of $\langle D^t, \bar{{w}}_i\rangle$ to the ends of [{low:.6g}, {high:.6g}]"
    return least_over(states, slack, 0.0, what, allowance=1e-12)


def growth_duration(evidence: Evidence) -> tuple[float, float]:
    """Bounds on tau_2 - tau: Eq. (42), and from Eq. (41) with sum_I a^2(tau) >= sum_I a^2(0)."""
    network, positive = evidence.network, neuron_sets(evidence.problem).positive
    log_eps_2, log_lambda = float(np.log(evidence.parameter("eps_2"))), log_lambda_of(evidence)
    log_start = 2.0 * network.log_scale + float(np.log(network.weight[positive] @ network.a[positive] ** 2))
    shortest = (log_eps_2 - (2.0 - 4.0 * evidence.parameter("eps")) * log_lambda) / (2.0 * fastest_growth(evidence))
    return shortest, (log_eps_2 - log_start) / (2.0 * slowest_growth(evidence))


def _shortest_growth(evidence: Evidence) -> float:
    return growth_duration(evidence)[0]


def _longest_growth(evidence: Evidence) -> float:
    return growth_duration(evidence)[1]


def _duration(evidence: Evidence) -> Comparison:
    clock = phase_clock(evidence)
    lasted = clock.growth.time - clock.alignment.time
    require(np.isfinite(lasted), r"a run that reaches $\tau_2$")
    shortest, longest = growth_duration(evidence)
    detail = rf"$\tau_2 - \tau$ = {lasted:.6g} within [{shortest:.6g}, {longest:.6g}]"
    return at_least(min(lasted - shortest, longest - lasted), 0.0, detail=detail)


def _lemma_5_plan(evidence: Evidence) -> FlowPlan:
    other_scales = tuple(scale_factor(evidence, target) for target in PAIR_SCALES)
    return FlowPlan(times=phase_plan(evidence).times, other_scales=other_scales)


LEMMA_5 = Theorem(
    "boursier2024:lemma5",
    Reference("boursier2024", "Lemma 5, Eqs. (41) to (43)"),
    r"Phase 2a ends because $\sum_I a^2$ reaches $\varepsilon_2$, with "
    r"$\langle\bar{w}_i, x_k\rangle \ge \delta_k$, positive neurons pairwise aligned to "
    r"$\lambda^{1 - \varepsilon}$, negative neurons no larger than at the start, after a time of order "
    r"$-\ln(\lambda)$.",
    hypotheses=(*ACUTE, SMALL_EPS_2, ALIGNED),
    conclusions=(
        Conclusion(
            "grown",
            r"$\tau_2$ is finite and $\sum_I a^2(\tau_2) = \varepsilon_2$",
            partial(ends_by, phase=TrainingPhase.GROWTH, clause="grown"),
            Level.EXACT,
        ),
        Conclusion("projections", r"$\langle\bar{w}_i, x_k\rangle \ge \delta_k$ throughout Phase 2a", _projections),
        Conclusion(
            "pairs",
            r"$a_i a_j (1 - \langle\bar{w}_i, \bar{w}_j\rangle)$ is constant in Phase 2a",
            AtMost(
                _pairs,
                0.0,
                allowance=PAIR_RTOL,
                words=r"largest change of $\ln a_i a_j (1 - \langle\bar{{w}}_i, \bar{{w}}_j\rangle)$ {measured:.3g}",
            ),
            Level.EXACT,
        ),
        Conclusion(
            "pair-exponent",
            r"$1 - \langle\bar{w}_i, \bar{w}_j\rangle(\tau_2) = O(\lambda^{1 - \varepsilon})$",
            _pair_exponent,
            Level.SCALING,
        ),
        Conclusion(
            "negative", r"$a_i(0) \le a_i \le 0$ on $N$", partial(negative_shrinkage, phase=TrainingPhase.GROWTH)
        ),
        Conclusion("rates", r"Eq. (41) and its converse bound $d\ln a_i/dt$ on $I$", _rates),
        Conclusion("duration", r"Eq. (42) and (41) bound $\tau_2 - \tau$", _duration),
    ),
    constants=Quantities(
        {
            "eps_2_star": largest_eps_2,
            "delta": least_projections,
            "slowest_growth": slowest_growth,
            "fastest_growth": fastest_growth,
        }
    ),
    predictions=Quantities({"shortest": _shortest_growth, "longest": _longest_growth}),
    parameters=(EPS_1, EPS_2),
    plan=_lemma_5_plan,
    log_scale=partial(scale_factor, log_lambda=-60.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
    erratum=r"E11: point (2) is about $\bar{w}_i = w_i/a_i$, not $w_i$, which is of order $1/\sqrt{m}$.",
    departs=r"$c' \lambda^{\varepsilon/2} \le \varepsilon_2$ is judged by what it is for: the projections at "
    r"$\tau$, measured on the run.",
)

EQ_41 = part("boursier2024:eq41", "Eq. (41)", LEMMA_5, "slowest growth of $a_i$ in Phase 2a")
EQ_42 = part("boursier2024:eq42", "Eq. (42)", LEMMA_5, r"shortest $\tau_2 - \tau$")
EQ_43 = part("boursier2024:eq43", "Eq. (43)", LEMMA_5, r"pairwise alignment at $\tau_2$; its exponent is fitted")
