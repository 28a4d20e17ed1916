"""Phase 3 never ends: Lemma 24, Corollary 1 and Lemma 7 [boursier2024]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.trajectory import Outcome
from reluflow.network.network import row_norms
from reluflow.theory.boursier2024.local_lemmas import (
    bend_bound,
    convergence_rate,
    cumulative,
    largest_travel,
    loss_prefactor,
)
from reluflow.theory.boursier2024.mixed_lemmas import late_states
from reluflow.theory.boursier2024.phase_clock import parameter_distance, phase_clock
from reluflow.theory.boursier2024.phase_states import KINK, PhaseState
from reluflow.theory.boursier2024.spurious_constants import constants_of
from reluflow.theory.boursier2024.spurious_hypotheses import on_a_run
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, all_of, at_least, at_most, missing, need, none_of, nothing
from reluflow.theory.stating import hypothesis, needs

LARGEST_EXPONENT = 300.0  # beyond it a bound says nothing, and its square overflows
LIMIT_ATOL = 1e-9  # of beta and of the loss at the polished end point; measured below 1e-14


def _moves(state: PhaseState, entry: PhaseState) -> tuple[FloatArray, FloatArray, FloatArray]:
    """|a - a(tau_3)| and |w - w(tau_3)|, both over |a(tau_3)|, and |wbar - wbar(tau_3)|; 0 for a weight that is 0."""
    one, two = state.network.materialized(), entry.network.materialized()
    size = np.where(two.a == 0.0, 1.0, np.abs(two.a))
    turned = np.linalg.norm(state.directions - entry.directions, axis=1)
    return np.abs(one.a - two.a) / size, np.linalg.norm(one.w - two.w, axis=1) / size, turned


@needs(late_states, "states of Phase 3")
def _positive_moves(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    travel, members = largest_travel(evidence, states), states[0].sets.positive
    grown = np.exp(min(travel, LARGEST_EXPONENT))
    allowed = np.array([grown - 1.0, travel * grown, travel])
    moved = [np.array([np.max(part[members]) for part in _moves(s, states[0])]) for s in states]
    slack = np.array([np.min(allowed - values) for values in moved])
    detail = (
        f"largest relative moves of a, w and turn of wbar {np.max(moved, axis=0).round(9)} against {allowed.round(6)}"
    )
    return at_least(float(slack.min()), 0.0, detail=detail)


def largest_negative_growth(evidence: Evidence, states: tuple[PhaseState, ...]) -> float:
    """Bound on ln |a_i/a_i(tau_3)| on N: the integral of S (|b| + Q).

    Beside beta* itself G >= 0 by Assumption 6, so that a negative neuron is fed by the errors of the fit alone.
    """
    constants, rate = constants_of(evidence), convergence_rate(evidence)
    line = 2.0 * np.sqrt(2.0 * loss_prefactor(evidence, states) / constants.sigma_min) / rate
    times = np.array([s.time for s in states])
    bent = np.array([np.sqrt(2.0 * bend_bound(s) / constants.sigma_min) + s.mixed_mass for s in states])
    return float(constants.mean_square * (line + cumulative(times, bent)[-1]))


@needs(late_states, "states of Phase 3")
def _negative_moves(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    members = states[0].sets.negative
    if not np.any(members):
        return nothing("there is no negative neuron")
    need(
        not any(s.has_lost_neurons or np.any(s.is_held_up & members) for s in states),
        "negative neurons too light for a double; take a larger scale",
    )
    factor = float(np.exp(min(largest_negative_growth(evidence, states), LARGEST_EXPONENT)))
    moved = [np.array([np.max(part[members]) for part in _moves(s, states[0])[:2]]) for s in states]
    slack = np.array([np.min(np.array([factor, 1.0 + factor]) - values) for values in moved])
    largest = np.max(moved, axis=0).round(9)
    detail = f"largest moves of a and w over |a(tau_3)| {largest} against {factor:.4g}, {1 + factor:.4g}"
    return at_least(float(slack.min()), 0.0, detail=detail)


def farthest_move(evidence: Evidence, states: tuple[PhaseState, ...]) -> float:
    """Lemma 24 summed over all neurons: a bound on |theta - theta(tau_3)| in Phase 3."""
    entry, travel = states[0], largest_travel(evidence, states)
    positive = np.exp(0.5 * entry.log_square_sum(entry.sets.positive))
    negative = np.exp(0.5 * entry.log_square_sum(entry.sets.negative))
    factor = np.exp(min(largest_negative_growth(evidence, states), LARGEST_EXPONENT))
    grown = np.exp(min(travel, LARGEST_EXPONENT))
    on_positive = positive * np.hypot(grown - 1.0, travel * grown)
    return float(np.hypot(on_positive, negative * np.hypot(factor, 1.0 + factor)))


@hypothesis(
    "confined",
    "eps_3 is so small against eps_4 that Lemma 24 keeps theta within eps_4 of theta(tau_3)",
    is_regime=True,
    needs_trajectory=True,
)
@on_a_run
def _stays_within_eps_4(evidence: Evidence) -> Judgement:
    states = late_states(evidence)
    if not states:
        return Judgement(None, None, "the run does not reach Phase 3")
    bound = farthest_move(evidence, states)
    margin = evidence.parameter("eps_4") - bound
    return Judgement(margin > 0.0, margin, f"Lemma 24 allows |theta - theta(tau_3)| up to {bound:.4g}")


def _never_ends(evidence: Evidence) -> Measurement:
    clock = phase_clock(evidence)
    end = clock.convergence
    need(clock.fitting.is_reached, "a run that reaches Phase 3")
    words = f"no clause fired up to t = {clock.states[-1].time:.6g}"
    return all_of([(not end.is_reached, f"Phase 3 ended at {end.time:.6g} by {end.clause!r}")], detail=words)


@needs(late_states, "states of Phase 3")
def _distance(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    farthest = max(parameter_distance(state, states[0]) for state in states)
    eps_4 = evidence.parameter("eps_4")
    return at_most(farthest, eps_4, detail=f"farthest |theta - theta(tau_3)| {farthest:.4g} against {eps_4:g}")


def at_the_limit(measure: Callable[[Evidence], Measurement]) -> Callable[[Evidence], Measurement]:
    """The measurement where the run came to rest by itself; a run cut short has no limit to measure."""

    def guarded(evidence: Evidence) -> Measurement:
        outcome = evidence.run.outcome
        return measure(evidence) if outcome is Outcome.STATIONARY else missing(f"a run that comes to rest ({outcome})")

    return guarded


def _limit_exists(evidence: Evidence) -> Measurement:
    norm = evidence.run.limit.gradient_norm
    return at_most(norm, LIMIT_ATOL, detail=f"gradient norm {norm:.3g} at the end point of a run that came to rest")


def _limit_patterns(evidence: Evidence) -> Measurement:
    """Neurons of the end point that are positive on one sample and negative on another."""
    network, X = evidence.run.network, evidence.dataset.X
    started = np.any(evidence.network.w != 0.0, axis=1)
    if np.any(started & np.all(network.w == 0.0, axis=1) & (network.a == 0.0)):
        return missing("the patterns of neurons too light for a double beside the others")
    sizes = row_norms(network.w)[:, None] * np.linalg.norm(X, axis=1)
    products = network.pre_activations(X)
    mixed = np.any(products > KINK * sizes, axis=1) & np.any(products < -KINK * sizes, axis=1)
    active = np.any(products > KINK * sizes, axis=1) & ~mixed
    words = f"{int(mixed.sum())} of {network.num_neurons} neurons are mixed, {int(active.sum())} are active"
    return none_of(int(mixed.sum()), detail=words)


def _limit_line(evidence: Evidence) -> Measurement:
    """|sum a w - beta*| over the neurons of the end point that are active on every sample."""
    network, X = evidence.run.network.materialized(), evidence.dataset.X
    sizes = row_norms(network.w)[:, None] * np.linalg.norm(X, axis=1)
    active = np.all(network.pre_activations(X) > -KINK * sizes, axis=1) & np.any(network.w != 0.0, axis=1)
    line = (network.weight * network.a)[active] @ network.w[active]
    distance = float(np.linalg.norm(line - evidence.facts.least_squares))
    return at_most(distance, LIMIT_ATOL, detail=f"|sum a w - beta*| = {distance:.3g}, {int(active.sum())} neurons")
