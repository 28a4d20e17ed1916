"""Phase 2a, the positive neurons grow together: Lemma 5 with Eqs. (41) to (43) [boursier2024]."""

from __future__ import annotations

import numpy as np

from reluflow.theory.boursier2024.aligned_lemmas import negative_shrinkage
from reluflow.theory.boursier2024.phase_clock import phase_clock, phase_plan
from reluflow.theory.boursier2024.phase_states import PhaseState, log_scale_of, neuron_sets
from reluflow.theory.boursier2024.spurious_constants import constants_of
from reluflow.theory.boursier2024.spurious_hypotheses import largest_eps_2, least_projections, scale_factor
from reluflow.theory.evidence import Evidence, FlowPlan
from reluflow.theory.measurement import Measurement, all_of, at_least, at_most, fitted_slope, least_over, need, nothing
from reluflow.theory.stating import needs
from reluflow.theory.theorem import Constants

PAIR_SWEEP = (-18.0, -23.0, -28.0)  # ln lambda; 1 - <wbar_i, wbar_j> ~ lambda^2 stays above the square of rounding
TOLD_APART = 1e-24  # pairs with a larger 1 - <wbar_i, wbar_j> have it to a relative 1e-4 or better
PAIR_RTOL = 1e-3  # allowed change of ln a_i a_j (1 - <wbar_i, wbar_j>) for pairs just told apart; 5e-6 was measured


def _growth_states(evidence: Evidence) -> tuple[PhaseState, ...]:
    clock = phase_clock(evidence)
    return clock.between(clock.alignment, clock.growth)


def _reaches_eps_2(evidence: Evidence) -> Measurement:
    end = phase_clock(evidence).growth
    words = f"Phase 2a ended at {end.time:.6g} by {end.clause or 'nothing'!r}"
    return all_of([(end.clause == "grown", words)], detail=words)


@needs(_growth_states, "states of Phase 2a")
def _projections(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    deltas = least_projections(evidence)
    slack = [np.min(s.cosines * s.constants.lengths - deltas) for s in states]
    return least_over(states, slack, 0.0, "<wbar_i, x_k> - delta_k")


def pair_drift(states: tuple[PhaseState, ...]) -> float:
    """Largest relative change of a_i a_j (1 - <wbar_i, wbar_j>) over pairs of I that doubles can tell apart.

    Neurons of one cone move by one Lorentz boost, which keeps a_i a_j - <w_i, w_j>; so this is the integrated form of
    d<wbar_i, wbar_j>/dt = <D^t, wbar_i + wbar_j> (1 - <wbar_i, wbar_j>).
    """
    first, worst = states[0], 0.0
    members = first.sets.positive
    log_a = first.log_output_weights[members]
    for state in states[1:]:
        now = state.log_output_weights[members]
        told = (first.pair_gaps > TOLD_APART) & (state.pair_gaps > TOLD_APART)
        if np.any(told):
            pairs = (now - log_a)[:, None] + (now - log_a)[None, :]
            change = np.log(state.pair_gaps[told] / first.pair_gaps[told]) + pairs[told]
            worst = max(worst, float(np.max(np.abs(change))))
    return worst


@needs(_growth_states, "two states of Phase 2a", at_least=2)
def _pairs(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    worst = pair_drift(states)
    return at_most(
        worst, 0.0, allowance=PAIR_RTOL, detail=f"largest change of ln a_i a_j (1 - <wbar_i, wbar_j>) {worst:.3g}"
    )


def _pair_exponent(evidence: Evidence) -> Measurement:
    if int(np.sum(neuron_sets(evidence.problem).positive)) < 2:
        return nothing("there is one positive neuron and no pair")
    clocks = [phase_clock(other) for other in evidence.sweep]
    gaps = [(c.log_lambda, c.states[c.growth.index].log_pair_gap) for c in clocks if c.growth.is_reached]
    need(len(gaps) >= 2, "a sweep of at least two scales that reach tau_2")
    points = [point for point in gaps if np.isfinite(point[1])]
    if len(points) < 2:
        return nothing(f"pairs are aligned to rounding at {len(gaps) - len(points)} of {len(gaps)} scales")
    slope, claimed = fitted_slope(*zip(*points, strict=True)), 1.0 - evidence.parameter("eps")
    detail = f"fitted exponent {slope:.6g} over {len(points)} scales, claimed at least {claimed:g}"
    return at_least(slope, claimed, detail=detail)


def slowest_growth(evidence: Evidence) -> float:
    """Eq. (41): d ln a_i/dt >= (1/n) sum_k (y_k - eps_2 |x_k|) delta_k in Phase 2a."""
    margins = evidence.dataset.y - evidence.parameter("eps_2") * constants_of(evidence).lengths
    return float(np.mean(margins * least_projections(evidence)))


def fastest_growth(evidence: Evidence) -> float:
    """d ln a_i/dt <= |D*| + 2 lambda^2 S in Phase 2a: positive outputs only slow it down."""
    constants = constants_of(evidence)
    return constants.pull_norm + 2.0 * float(np.exp(2.0 * log_scale_of(evidence.network))) * constants.mean_square


@needs(_growth_states, "states of Phase 2a")
def _rates(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    low, high = slowest_growth(evidence), fastest_growth(evidence)
    rates = [s.directions[s.sets.positive] @ s.pull for s in states]
    slack = [min(float(np.min(rate)) - low, high - float(np.max(rate))) for rate in rates]
    what = f"distance of <D^t, wbar_i> to the ends of [{low:.6g}, {high:.6g}]"
    return least_over(states, slack, 0.0, what, allowance=1e-12)


def growth_duration(evidence: Evidence) -> tuple[float, float]:
    """Bounds on tau_2 - tau: Eq. (42), and from Eq. (41) with sum_I a^2(tau) >= sum_I a^2(0)."""
    network, positive = evidence.network, neuron_sets(evidence.problem).positive
    log_eps_2, log_lambda = float(np.log(evidence.parameter("eps_2"))), log_scale_of(network)
    log_start = 2.0 * network.log_scale + float(np.log(network.weight[positive] @ network.a[positive] ** 2))
    shortest = (log_eps_2 - (2.0 - 4.0 * evidence.parameter("eps")) * log_lambda) / (2.0 * fastest_growth(evidence))
    longest = (log_eps_2 - log_start) / (2.0 * slowest_growth(evidence))
    return shortest, longest


def _duration(evidence: Evidence) -> Measurement:
    clock = phase_clock(evidence)
    lasted = clock.growth.time - clock.alignment.time
    need(np.isfinite(lasted), "a run that reaches tau_2")
    shortest, longest = growth_duration(evidence)
    detail = f"tau_2 - tau = {lasted:.6g} within [{shortest:.6g}, {longest:.6g}]"
    return at_least(min(lasted - shortest, longest - lasted), 0.0, detail=detail)


def _lemma_5_plan(evidence: Evidence) -> FlowPlan:
    times = phase_plan(evidence).times
    return FlowPlan(times=times, sweep=tuple(scale_factor(evidence, target) for target in PAIR_SWEEP))


def _lemma5_negative(evidence: Evidence) -> Measurement:
    return negative_shrinkage(_growth_states(evidence))


def _lemma5_constants(evidence: Evidence) -> Constants:
    return {
        "eps_2_star": largest_eps_2(evidence),
        "delta": least_projections(evidence).tolist(),
        "slowest_growth": slowest_growth(evidence),
        "fastest_growth": fastest_growth(evidence),
    }


def _lemma5_predictions(evidence: Evidence) -> Constants:
    return dict(zip(("shortest", "longest"), growth_duration(evidence), strict=True))
