"""Phases 1 and 2a, positive neurons align and grow together: Lemmas 4, 5, 15, Eqs. (41) to (43) [boursier2024]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reluflow.theory.boursier2024.phase_clock import alignment_time, in_phase, phase_clock, phase_plan, states_in
from reluflow.theory.boursier2024.phase_states import RESOLUTION, PhaseState, log_lambda_of, neuron_sets, phase_states
from reluflow.theory.boursier2024.spurious_constants import constants_of
from reluflow.theory.boursier2024.spurious_hypotheses import (
    least_projections,
    log_alignment_bound,
    log_c,
    log_early_threshold,
    log_least_eps_2,
    scale_factor,
)
from reluflow.theory.comparison import (
    Comparison,
    at_least,
    at_most,
    fitted_slope,
    judgement,
    largest_over,
    least_over,
    missing,
    none_of,
    nothing,
    require,
    requires,
)
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan

ROUNDING = 1e-9  # of a logarithm of a weight; measured below 1e-11 at scale e^-1300
ALIGNMENT_SWEEP = (-40.0, -60.0, -80.0)  # ln lambda; the misalignment lambda^{2 eps} stays above rounding
PAIR_SWEEP = (-18.0, -23.0, -28.0)  # ln lambda; 1 - <wbar_i, wbar_j> ~ lambda^2 stays above the square of rounding
TOLD_APART = 1e-24  # pairs with a larger 1 - <wbar_i, wbar_j> have it to a relative 1e-4 or better
PAIR_RTOL = 1e-3  # allowed change of ln a_i a_j (1 - <wbar_i, wbar_j>) for pairs just told apart; 5e-6 was measured


def alignment_plan(evidence: Evidence, *, sweep: tuple[float, ...] = ALIGNMENT_SWEEP) -> FlowPlan:
    """Snapshots up to tau, at the given scale and over a sweep of ln lambda."""
    tau = alignment_time(evidence)
    times = np.linspace(0.0, tau, 9) if tau > 0.0 else np.linspace(0.0, 1.0, 2)
    return FlowPlan(tuple(times.tolist()), sweep=tuple(scale_factor(evidence, target) for target in sweep))


def misalignment(state: PhaseState) -> float:
    """Largest |D*| - <D*, wbar_i> over I, without cancellation."""
    pull = state.constants.pull_norm
    wbar = state.directions[state.sets.positive]
    unit = state.constants.pull_at_zero / pull
    return float(np.max(pull * 0.5 * (np.sum((wbar - unit) ** 2, axis=1) + state.shortfalls)))


def _alignment(evidence: Evidence) -> Comparison:
    state = phase_clock(evidence).aligned()
    gap = max(misalignment(state), np.finfo(float).tiny)
    bound = log_alignment_bound(evidence)
    if bound < np.log(gap) < np.log(RESOLUTION * state.constants.pull_norm):
        return missing("directions told apart by doubles to c lambda^eps; take a larger scale")
    detail = f"ln of the largest |D*| - <D*, wbar_i> is {np.log(gap):.6g}, of c lambda^eps {bound:.6g}"
    return at_most(float(np.log(gap)), bound, detail=detail)


def _exponent(logs: Sequence[tuple[float, float]], claimed: float, *, what: str, expected: str = "") -> Comparison:
    """The slope of ln of a gap in ln lambda over a sweep, at least as claimed; -inf is a gap lost in rounding."""
    points = [point for point in logs if np.isfinite(point[1])]
    if len(points) < 2:
        return nothing(f"{what} to rounding at {len(logs) - len(points)} of {len(logs)} scales")
    slope = fitted_slope(*zip(*points, strict=True))
    detail = f"fitted exponent {slope:.6g} over {len(points)} scales, claimed at least {claimed:g}{expected}"
    return at_least(slope, claimed, detail=detail)


def _alignment_exponent(evidence: Evidence) -> Comparison:
    clocks, eps = [phase_clock(e) for e in evidence.sweep], evidence.parameter("eps")
    gaps = [(c.log_lambda, misalignment(state)) for c in clocks if (state := c.at(c.alignment)) is not None]
    require(len(gaps) >= 2, "a sweep of at least two scales")
    logs = [(log_lambda, float(np.log(gap)) if gap > RESOLUTION else -np.inf) for log_lambda, gap in gaps]
    return _exponent(logs, eps, what="aligned", expected=f", expected {2 * eps:g}")


@requires(lambda evidence: states_in(evidence, "1"), "snapshots up to tau")
def _positive_growth(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    most = -2.0 * evidence.parameter("eps") * log_lambda_of(evidence)
    growth = [s.log_growth[s.sets.positive] for s in states]
    slacks = [min(float(np.min(each)), float(np.min(most - each))) for each in growth]
    return least_over(
        states, slacks, 0.0, f"distance of ln a_i/a_i(0) to the ends of [0, {most:.6g}]", allowance=ROUNDING
    )


def negative_shrinkage(evidence: Evidence, phase: str, *, grows: bool = False) -> Comparison:
    """a_i(0) <= a_i <= 0 on N at all states of a phase, as logarithms of |a_i|; with `grows` a_i(0) lambda^(-eps)."""
    states = require(states_in(evidence, phase), "states of this phase")
    log_factor = -evidence.parameter("eps") * log_lambda_of(evidence) if grows else 0.0
    members = states[0].sets.negative
    if not np.any(members):
        return nothing("there is no negative neuron")
    require(
        not any(state.has_lost_neurons for state in states),
        "negative neurons too light for a double beside the positive ones; take a larger scale",
    )
    flipped = sum(int(np.sum(state.network.a[members] > 0.0)) for state in states)
    if flipped:
        return none_of(flipped, detail=f"{flipped} output weights of N are positive")
    growth = [np.max(s.log_growth[members]) for s in states]
    return largest_over(states, growth, log_factor, "ln |a_i/a_i(0)| on N", allowance=ROUNDING)


@requires(phase_states, "snapshots")
def _resting(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    members = states[0].sets.resting
    if not np.any(members):
        return nothing("no positive neuron starts dead")
    require(
        not any(np.any(state.network.a[members] == 0.0) for state in states),
        "dead neurons too light for a double beside the positive ones; take a larger scale",
    )
    grown = max(float(np.max(np.abs(s.log_growth)[members])) for s in states)
    turned = max(float(np.max(np.abs(s.directions[members] - states[0].directions[members]))) for s in states)
    detail = f"largest |ln a_i/a_i(0)| {grown:.3g} and change of w_i/a_i {turned:.3g} over {members.sum()} neurons"
    return at_most(max(grown, turned), 0.0, allowance=ROUNDING, detail=detail)


def _early_scale(evidence: Evidence) -> float:
    """Below the threshold of Theorem 1, and so small that c lambda^eps is below e^-7 |D*|."""
    speaking = (np.log(constants_of(evidence).pull_norm) - 7.0 - log_c(evidence)) / evidence.parameter("eps")
    return scale_factor(evidence, 1.001 * min(log_early_threshold(evidence), float(speaking)))


def _eps_2_is_large(evidence: Evidence) -> Comparison:
    least = log_least_eps_2(evidence)
    margin = float(np.log(evidence.parameter("eps_2"))) - least
    return judgement(margin >= 0.0, margin, f"ln of c' lambda^(eps/2) is {least:.6g}")


def _projections_at_tau(evidence: Evidence) -> Comparison:
    state, deltas = phase_clock(evidence).aligned(), least_projections(evidence)
    slack = float(np.min(state.cosines * state.constants.lengths - deltas))
    return at_least(slack, 0.0, detail=f"least <wbar_i(tau), x_k> - delta_k is {slack:.6g}; delta = {deltas.round(6)}")


def _lemma_15_scale(evidence: Evidence) -> float:
    spare = float(np.log(evidence.parameter("eps_2"))) - log_least_eps_2(evidence)
    log_lambda = log_lambda_of(evidence) + min(spare, 0.0) * 2.0 / evidence.parameter("eps")
    return scale_factor(evidence, 1.001 * min(log_lambda, log_early_threshold(evidence)))


@in_phase("2a")
def _projections(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
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
    for state in states[1:]:
        grown = (state.log_output_weights - first.log_output_weights)[members]
        told = (first.pair_gaps > TOLD_APART) & (state.pair_gaps > TOLD_APART)
        if np.any(told):
            change = np.log(state.pair_gaps[told] / first.pair_gaps[told]) + (grown[:, None] + grown[None, :])[told]
            worst = max(worst, float(np.max(np.abs(change))))
    return worst


@in_phase("2a", at_least=2)
def _pairs(evidence: Evidence, states: tuple[PhaseState, ...]) -> float:
    return pair_drift(states)


def _pair_exponent(evidence: Evidence) -> Comparison:
    if int(np.sum(neuron_sets(evidence.problem).positive)) < 2:
        return nothing("there is one positive neuron and no pair")
    clocks = [phase_clock(other) for other in evidence.sweep]
    gaps = [(c.log_lambda, c.states[c.growth.index].log_pair_gap) for c in clocks if c.growth.is_reached]
    require(len(gaps) >= 2, "a sweep of at least two scales that reach tau_2")
    return _exponent(gaps, 1.0 - evidence.parameter("eps"), what="pairs are aligned")


def slowest_growth(evidence: Evidence) -> float:
    """Eq. (41): d ln a_i/dt >= (1/n) sum_k (y_k - eps_2 |x_k|) delta_k in Phase 2a."""
    margins = evidence.dataset.y - evidence.parameter("eps_2") * constants_of(evidence).lengths
    return float(np.mean(margins * least_projections(evidence)))


def fastest_growth(evidence: Evidence) -> float:
    """d ln a_i/dt <= |D*| + 2 lambda^2 S in Phase 2a: positive outputs only slow it down."""
    constants = constants_of(evidence)
    return constants.pull_norm + 2.0 * float(np.exp(2.0 * log_lambda_of(evidence))) * constants.mean_square


@in_phase("2a")
def _rates(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    low, high = slowest_growth(evidence), fastest_growth(evidence)
    rates = [s.directions[s.sets.positive] @ s.pull for s in states]
    slack = [min(float(np.min(rate)) - low, high - float(np.max(rate))) for rate in rates]
    what = f"distance of <D^t, wbar_i> to the ends of [{low:.6g}, {high:.6g}]"
    return least_over(states, slack, 0.0, what, allowance=1e-12)


def growth_duration(evidence: Evidence) -> tuple[float, float]:
    """Bounds on tau_2 - tau: Eq. (42), and from Eq. (41) with sum_I a^2(tau) >= sum_I a^2(0)."""
    network, positive = evidence.network, neuron_sets(evidence.problem).positive
    log_eps_2, log_lambda = float(np.log(evidence.parameter("eps_2"))), log_lambda_of(evidence)
    log_start = 2.0 * network.log_scale + float(np.log(network.weight[positive] @ network.a[positive] ** 2))
    shortest = (log_eps_2 - (2.0 - 4.0 * evidence.parameter("eps")) * log_lambda) / (2.0 * fastest_growth(evidence))
    return shortest, (log_eps_2 - log_start) / (2.0 * slowest_growth(evidence))


def _duration(evidence: Evidence) -> Comparison:
    clock = phase_clock(evidence)
    lasted = clock.growth.time - clock.alignment.time
    require(np.isfinite(lasted), "a run that reaches tau_2")
    shortest, longest = growth_duration(evidence)
    detail = f"tau_2 - tau = {lasted:.6g} within [{shortest:.6g}, {longest:.6g}]"
    return at_least(min(lasted - shortest, longest - lasted), 0.0, detail=detail)


def _lemma_5_plan(evidence: Evidence) -> FlowPlan:
    sweep = tuple(scale_factor(evidence, target) for target in PAIR_SWEEP)
    return FlowPlan(times=phase_plan(evidence).times, sweep=sweep)
