"""Phase 1 on positive data: Lemmas 4 and 15 [boursier2024]."""

from __future__ import annotations

import numpy as np

from reluflow.theory.boursier2024.phase_clock import alignment_time, phase_clock
from reluflow.theory.boursier2024.phase_states import RESOLUTION, PhaseState, log_scale_of, phase_states
from reluflow.theory.boursier2024.spurious_constants import constants_of
from reluflow.theory.boursier2024.spurious_hypotheses import (
    early_constants,
    least_projections,
    log_alignment_bound,
    log_early_threshold,
    log_least_eps_2,
    on_positive_data,
    scale_factor,
)
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence, FlowPlan
from reluflow.theory.measurement import (
    Measurement,
    at_least,
    at_most,
    fitted_slope,
    largest_over,
    least_over,
    missing,
    need,
    none_of,
    nothing,
)
from reluflow.theory.stating import hypothesis, needs
from reluflow.theory.theorem import Constants

ROUNDING = 1e-9  # of a logarithm of a weight; measured below 1e-11 at scale e^-1300
ALIGNMENT_SWEEP = (-40.0, -60.0, -80.0)  # ln lambda; the misalignment lambda^{2 eps} stays above rounding


def _up_to_tau(evidence: Evidence) -> tuple[PhaseState, ...]:
    tau = alignment_time(evidence, evidence.parameter("eps"))
    return tuple(state for state in phase_states(evidence) if state.time <= tau)


def _alignment_plan(evidence: Evidence) -> FlowPlan:
    tau = alignment_time(evidence, evidence.parameter("eps"))
    times = np.linspace(0.0, tau, 9) if tau > 0.0 else np.linspace(0.0, 1.0, 2)
    sweep = tuple(scale_factor(evidence, target) for target in ALIGNMENT_SWEEP)
    return FlowPlan(times=tuple(times.tolist()), sweep=sweep)


@hypothesis("scale", "lambda is below Eq. (22) with alpha_0 = 1 and small enough for t_2 <= tau (E2)", is_regime=True)
@on_positive_data
def _scale_is_proved(evidence: Evidence) -> Judgement:
    threshold = log_early_threshold(evidence, evidence.parameter("eps"))
    log_lambda = log_scale_of(evidence.network)
    detail = f"ln lambda = {log_lambda:.6g}, ln of the threshold {threshold:.6g}"
    return Judgement(log_lambda <= threshold, threshold - log_lambda, detail)


def misalignment(state: PhaseState) -> float:
    """Largest |D*| - <D*, wbar_i> over I, without cancellation."""
    pull = state.constants.pull_norm
    wbar = state.directions[state.sets.positive]
    unit = state.constants.pull_at_zero / pull
    invariant = state.start.balancedness()[state.sets.positive]
    shortfall = invariant * np.exp(2.0 * (state.start.log_scale - state.log_output_weights[state.sets.positive]))
    return float(np.max(pull * 0.5 * (np.sum((wbar - unit) ** 2, axis=1) + shortfall)))


def _alignment(evidence: Evidence) -> Measurement:
    state = need(phase_clock(evidence).aligned(), "a snapshot at tau")
    gap = max(misalignment(state), np.finfo(float).tiny)
    bound = log_alignment_bound(evidence)
    if bound < np.log(gap) < np.log(RESOLUTION * state.constants.pull_norm):
        return missing("directions told apart by doubles to c lambda^eps; take a larger scale")
    detail = f"ln of the largest |D*| - <D*, wbar_i> is {np.log(gap):.6g}, of c lambda^eps {bound:.6g}"
    return at_most(float(np.log(gap)), bound, detail=detail)


def _alignment_exponent(evidence: Evidence) -> Measurement:
    aligned = [(log_scale_of(e.network), phase_clock(e).aligned()) for e in evidence.sweep]
    gaps = [(log_lambda, misalignment(state)) for log_lambda, state in aligned if state is not None]
    need(len(gaps) >= 2, "a sweep of at least two scales")
    points = [(log_lambda, np.log(gap)) for log_lambda, gap in gaps if gap > RESOLUTION]
    if len(points) < 2:
        return nothing(f"aligned to rounding at {len(gaps) - len(points)} of {len(gaps)} scales")
    slope, eps = fitted_slope(*zip(*points, strict=True)), evidence.parameter("eps")
    detail = f"fitted exponent {slope:.6g} over {len(points)} scales, claimed at least {eps:g}, expected {2 * eps:g}"
    return at_least(slope, eps, detail=detail)


@needs(_up_to_tau, "snapshots up to tau")
def _positive_growth(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    log_lambda, eps = log_scale_of(evidence.network), evidence.parameter("eps")
    slacks = []
    for state in states:
        members = state.sets.positive
        growth = (state.log_output_weights - state.log_start_weights)[members]
        slacks.append(min(float(np.min(growth)), float(np.min(-2.0 * eps * log_lambda - growth))))
    what = f"distance of ln a_i/a_i(0) to the ends of [0, {-2.0 * eps * log_lambda:.6g}]"
    return least_over(states, slacks, 0.0, what, allowance=ROUNDING)


def negative_shrinkage(states: tuple[PhaseState, ...], *, log_factor: float = 0.0) -> Measurement:
    """a_i(0) exp(log_factor) <= a_i <= 0 on N at all given states, as logarithms of |a_i|."""
    need(states, "states of this phase")
    members = states[0].sets.negative
    if not np.any(members):
        return nothing("there is no negative neuron")
    need(
        not any(state.has_lost_neurons for state in states),
        "negative neurons too light for a double beside the positive ones; take a larger scale",
    )
    flipped = sum(int(np.sum(state.network.a[members] > 0.0)) for state in states)
    if flipped:
        return none_of(flipped, detail=f"{flipped} output weights of N are positive")
    growth = [np.max((s.log_output_weights - s.log_start_weights)[members]) for s in states]
    return largest_over(states, growth, log_factor, "ln |a_i/a_i(0)| on N", allowance=ROUNDING)


@needs(phase_states, "snapshots")
def _resting(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    members = states[0].sets.resting
    if not np.any(members):
        return nothing("no positive neuron starts dead")
    need(
        not any(np.any(state.network.a[members] == 0.0) for state in states),
        "dead neurons too light for a double beside the positive ones; take a larger scale",
    )
    grown = max(float(np.max(np.abs(s.log_output_weights - s.log_start_weights)[members])) for s in states)
    start = states[0].directions[members]
    turned = max(float(np.max(np.abs(s.directions[members] - start))) for s in states)
    detail = f"largest |ln a_i/a_i(0)| {grown:.3g} and change of w_i/a_i {turned:.3g} over {members.sum()} neurons"
    return at_most(max(grown, turned), 0.0, allowance=ROUNDING, detail=detail)


def _early_scale(evidence: Evidence) -> float:
    """Below the threshold of Theorem 1, and so small that c lambda^eps is below e^-7 |D*|."""
    eps = evidence.parameter("eps")
    speaking = (np.log(constants_of(evidence).pull_norm) - 7.0 - early_constants(evidence).log_c(1.0)) / eps
    return scale_factor(evidence, 1.001 * min(log_early_threshold(evidence, eps), float(speaking)))


def _early_numbers(evidence: Evidence) -> Constants:
    eps = evidence.parameter("eps")
    return {
        "tau": alignment_time(evidence, eps),
        "pull_norm": constants_of(evidence).pull_norm,
        "log_c": early_constants(evidence).log_c(1.0),
        "log_lambda": log_scale_of(evidence.network),
        "log_threshold": log_early_threshold(evidence, eps),
    }


@hypothesis("large-eps_2", "eps_2 >= c' lambda^(eps/2)", is_regime=True)
@on_positive_data
def _eps_2_is_large(evidence: Evidence) -> Judgement:
    least = log_least_eps_2(evidence)
    margin = float(np.log(evidence.parameter("eps_2"))) - least
    return Judgement(margin >= 0.0, margin, f"ln of c' lambda^(eps/2) is {least:.6g}")


def _projections_at_tau(evidence: Evidence) -> Measurement:
    state = need(phase_clock(evidence).aligned(), "a snapshot at tau")
    deltas = least_projections(evidence)
    slack = float(np.min(state.cosines * state.constants.lengths - deltas))
    return at_least(slack, 0.0, detail=f"least <wbar_i(tau), x_k> - delta_k is {slack:.6g}; delta = {deltas.round(6)}")


def _lemma_15_scale(evidence: Evidence) -> float:
    eps = evidence.parameter("eps")
    spare = float(np.log(evidence.parameter("eps_2"))) - log_least_eps_2(evidence)
    log_lambda = min(log_scale_of(evidence.network) + min(spare, 0.0) * 2.0 / eps, log_early_threshold(evidence, eps))
    return scale_factor(evidence, 1.001 * log_lambda)


def _lemma4_negative(evidence: Evidence) -> Measurement:
    return negative_shrinkage(_up_to_tau(evidence))


def _lemma15_constants(evidence: Evidence) -> Constants:
    return {"delta": least_projections(evidence).tolist(), "log_least_eps_2": log_least_eps_2(evidence)}


def _lemma15_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=_alignment_plan(evidence).times)
