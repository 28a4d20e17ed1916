"""Phase 3, the loss falls to that of the line, and never ends: Lemmas 21 to 24, Corollary 1, Lemma 7 [boursier2024]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.certificates.stationarity import stationarity
from reluflow.dynamics.trajectory import Outcome
from reluflow.theory.boursier2024.mixed_lemmas import descent_rate, late_states, moved_outputs
from reluflow.theory.boursier2024.phase_clock import in_phase, parameter_distance, phase_clock
from reluflow.theory.boursier2024.phase_states import PhaseState, signs_on
from reluflow.theory.boursier2024.spurious_constants import constants_of
from reluflow.theory.comparison import (
    Comparison,
    all_of,
    at_least,
    at_most,
    fitted_slope,
    judgement,
    least_over,
    missing,
    none_of,
    nothing,
    require,
    requires,
    worst_compared,
)
from reluflow.theory.evidence import Evidence

RESOLVED = 1e-9  # |beta - beta*| above this is known to 1 %: runs are good to 1e-11, weights round at 1e-16
ROUNDING = 1e-6  # of |g|^2/(L - L*) at one state, where |beta - beta*| is just resolved
RATE_RTOL = 0.01  # of a rate fitted over a stretch in which the weights still change; 4e-3 was measured
LARGEST_EXPONENT = 300.0  # beyond it a bound says nothing, and its square overflows
LIMIT_ATOL = 1e-9  # of beta and of the loss at the polished end point; measured below 1e-14
NONE_RESOLVED = "states of Phase 3 with |beta - beta*| above rounding"


def line_error(state: PhaseState) -> FloatArray:
    """b = beta^t - beta*."""
    return np.asarray(state.beta - state.constants.beta_star)


def bent_outputs(state: PhaseState) -> FloatArray:
    """q_k = sum over the mixed neurons of a <w, x_k>_-: what h differs from <beta^t, x_k> by."""
    members, network = state.is_mixed, state.network.materialized()
    negative = np.maximum(-network.pre_activations(state.X)[members], 0.0)
    return np.asarray((network.weight * network.a)[members] @ negative)


def excess_loss(state: PhaseState) -> float:
    """L - L_{beta*}, from b and q, so that it keeps its digits where both losses are equal to rounding."""
    constants, b, q = state.constants, line_error(state), bent_outputs(state)
    linear = 0.5 * b @ constants.hessian @ b
    return float(linear + np.mean(q * (state.X @ b)) + 0.5 * np.mean(q**2) - np.mean(constants.residuals * q))


def bend_bound(state: PhaseState) -> float:
    """Eq. (59): |L - L_{beta*} - |b|_H^2/2| is at most Q mean |x_k| (|<b, x_k>| + |rho_k|) + S Q^2/2."""
    constants, mass = state.constants, state.mixed_mass
    weights = constants.lengths * (np.abs(state.X @ line_error(state)) + np.abs(constants.residuals))
    return float(mass * np.mean(weights) + 0.5 * constants.mean_square * mass**2)


def active_mass(state: PhaseState) -> float:
    """Sum of a^2 over the neurons active on every sample."""
    return float(np.exp(state.log_square_sum(np.all(state.signs > 0, axis=1))))


def gradient_square(state: PhaseState, evidence: Evidence) -> float:
    """|g|^2 of the shortest element of the Clarke subdifferential."""
    network = state.network.materialized()
    pulls = stationarity(network, evidence.dataset, evidence.loss).pulls
    along = np.einsum("jd,jd->j", network.w, pulls)
    return float(network.weight @ (network.a**2 * np.sum(pulls**2, axis=1) + along**2))


def pl_remainder(state: PhaseState, constant: float) -> float:
    """R with |g|^2 + R >= constant (L - L*) for any constant up to 2 sigma_min sum a^2, sum over active neurons.

    |g|^2 is at least sum a^2 |D^t|^2 and D^t = -H b - (1/n) sum_k q_k x_k; so R is proportional to the mass Q.
    """
    constants, mass = state.constants, state.mixed_mass
    push = 2.0 * active_mass(state) * float(np.linalg.norm(constants.hessian @ line_error(state)))
    return push * constants.mean_square * mass + constant * bend_bound(state)


def _resolved(evidence: Evidence) -> tuple[PhaseState, ...]:
    return tuple(s for s in late_states(evidence) if np.linalg.norm(line_error(s)) > RESOLVED)


def _heavy_enough(evidence: Evidence) -> Comparison:
    states, constants = require(late_states(evidence), "the run does not reach Phase 3"), constants_of(evidence)
    moved = float(np.max(moved_outputs(evidence, states[0]) / constants.lengths))
    margin = 0.5 * constants.beta_norm - evidence.parameter("eps_3") - moved
    return judgement(margin >= 0.0, margin, f"|beta*|/2 = {0.5 * constants.beta_norm:.4g}, moved at most {moved:.4g}")


def _polyak_ratio(state: PhaseState, evidence: Evidence, constant: float) -> float:
    return (gradient_square(state, evidence) + pl_remainder(state, constant)) / excess_loss(state)


@requires(_resolved, NONE_RESOLVED)
def _polyak(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    constant = constants_of(evidence).pl_constant
    ratios = [_polyak_ratio(s, evidence, constant) for s in states]
    return least_over(states, ratios, constant, "(|g|^2 + remainder)/(L - L*)")


@requires(_resolved, NONE_RESOLVED)
def _sharp_polyak(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    sharp = [2.0 * s.constants.sigma_min * active_mass(s) for s in states]
    slack = [_polyak_ratio(s, evidence, constant) - constant for s, constant in zip(states, sharp, strict=True)]
    return least_over(states, slack, 0.0, "ratio minus 2 sigma_min sum a^2", allowance=ROUNDING)


def convergence_rate(evidence: Evidence) -> float:
    """a of Lemma 22: min(sigma_min |beta*| / 2, c_4 / 4)."""
    return min(0.5 * constants_of(evidence).pl_constant, 0.25 * descent_rate(evidence))


def _integral(states: tuple[PhaseState, ...], value: Callable[[PhaseState], float]) -> float:
    """The trapezoidal integral of a quantity over the recorded states."""
    values = np.array([value(s) for s in states])
    return float(np.cumsum(np.append(0.0, 0.5 * (values[1:] + values[:-1]) * np.diff([s.time for s in states])))[-1])


def loss_prefactor(evidence: Evidence, states: tuple[PhaseState, ...]) -> float:
    """K with L - L* <= K exp(-a (t - tau_3)): sigma_max eps_3^2/2, plus what negative neurons add, all explicit."""
    entry, rate, constants = states[0], convergence_rate(evidence), constants_of(evidence)
    negative = float(np.exp(entry.log_square_sum(entry.sets.negative)))
    start = 0.5 * constants.sigma_max * (evidence.parameter("eps_3") + negative) ** 2 + bend_bound(entry)
    pl_constant = constants.pl_constant
    return start + _integral(states, lambda s: pl_remainder(s, pl_constant) * np.exp(rate * (s.time - entry.time)))


@in_phase("3")
def _loss_decay(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    level, rate = float(np.log(loss_prefactor(evidence, states))), convergence_rate(evidence)
    told = require(_resolved(evidence), NONE_RESOLVED)
    largest = max(float(np.log(max(excess_loss(s), 1e-300)) + rate * (s.time - states[0].time)) for s in told)
    return at_most(
        largest, level, detail=f"largest ln(L - L*) + a (t - tau_3) {largest:.6g} against ln K = {level:.6g}"
    )


def mobilities(state: PhaseState) -> FloatArray:
    """Eigenvalues of H^(1/2) (sum a^2 I + w w^T) H^(1/2) over active neurons, ascending: half the rates of the loss."""
    members, network = np.all(state.signs > 0, axis=1), state.network.materialized()
    weight, w = network.weight[members], network.w[members]
    mobility = active_mass(state) * np.eye(w.shape[1]) + (weight[:, None] * w).T @ w
    values, vectors = np.linalg.eigh(state.constants.hessian)
    root = vectors * np.sqrt(values) @ vectors.T
    return np.asarray(np.linalg.eigvalsh(root @ mobility @ root))


def _late_rate(evidence: Evidence) -> Comparison:
    """Near the line L - L* is a sum of exponentials with twice these rates, the least of which is left in the end."""
    states = [s for s in _resolved(evidence) if not np.any(s.is_mixed)]
    tail = states[len(states) // 2 :]
    require(len(tail) >= 3, "three late states without mixed neurons and with |beta - beta*| above rounding")
    fitted = -fitted_slope([s.time for s in tail], [np.log(excess_loss(s)) for s in tail])
    least, largest = 2.0 * mobilities(tail[-1])[[0, -1]]
    detail = f"fitted rate of L - L* {fitted:.6g}, rates of the line between {least:.6g} and {largest:.6g}"
    if fitted < 0.5 * (least + largest):
        return at_least(fitted, least, allowance=RATE_RTOL * least, detail=detail)
    return at_most(fitted, largest, allowance=RATE_RTOL * largest, detail=detail)


def pull_prefactor(evidence: Evidence, states: tuple[PhaseState, ...]) -> float:
    """sqrt(2 sigma_max K): |D^t| <= this times exp(-a (t - tau_3)/2), plus terms in the mass of the mixed neurons."""
    return float(np.sqrt(2.0 * constants_of(evidence).sigma_max * loss_prefactor(evidence, states)))


def _bent_pull(state: PhaseState) -> float:
    """What mixed neurons can add to |D^t|."""
    constants = state.constants
    return float(np.sqrt(2.0 * constants.sigma_max * bend_bound(state)) + constants.mean_square * state.mixed_mass)


def largest_travel(evidence: Evidence, states: tuple[PhaseState, ...]) -> float:
    """Lemma 23: the O(eps_3) that bounds int |D^t| dt over Phase 3."""
    straight = 2.0 * pull_prefactor(evidence, states) / convergence_rate(evidence)
    return straight + _integral(states, _bent_pull)


@in_phase("3")
def _pull_decay(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    front, rate = pull_prefactor(evidence, states), 0.5 * convergence_rate(evidence)
    bounds = [front * np.exp(-rate * (s.time - states[0].time)) + _bent_pull(s) for s in states]
    slack = np.array(bounds) - np.array([np.linalg.norm(s.pull) for s in states])
    return least_over(states, slack, 0.0, "bound minus |D^t|")


@in_phase("3")
def _travel(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    travel = _integral(states, lambda s: float(np.linalg.norm(s.pull)))
    bound = largest_travel(evidence, states)
    return at_most(travel, bound, detail=f"int |D^t| dt = {travel:.4g} against {bound:.4g}")


def _moves(states: tuple[PhaseState, ...], members: BoolArray) -> FloatArray:
    """Largest |a - a(tau_3)| and |w - w(tau_3)| over |a(tau_3)|, and |wbar - wbar(tau_3)|, at every state; (k, 3)."""
    entry = states[0].network.materialized()
    size, found = np.where(entry.a == 0.0, 1.0, np.abs(entry.a)), []
    for state in states:
        network, turned = state.network.materialized(), state.directions - states[0].directions
        moved = np.abs(network.a - entry.a) / size, np.linalg.norm(network.w - entry.w, axis=1) / size
        found.append([np.max(part[members]) for part in (*moved, np.linalg.norm(turned, axis=1))])
    return np.array(found)


def _grown(exponent: float) -> float:
    return float(np.exp(min(exponent, LARGEST_EXPONENT)))


@in_phase("3")
def _positive_moves(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    travel, moved = largest_travel(evidence, states), _moves(states, states[0].sets.positive)
    allowed = np.array([_grown(travel) - 1.0, travel * _grown(travel), travel])
    largest = f"{np.max(moved, axis=0).round(9)} against {allowed.round(6)}"
    return worst_compared(
        allowed - moved, "at_least", 0.0, words=f"largest relative moves of a, w and turn of wbar {largest}"
    )


def largest_negative_growth(evidence: Evidence, states: tuple[PhaseState, ...]) -> float:
    """Bound on ln |a_i/a_i(tau_3)| on N: the integral of S (|b| + Q).

    Beside beta* itself G >= 0 by Assumption 6, so that a negative neuron is fed by the errors of the fit alone.
    """
    constants, rate = constants_of(evidence), convergence_rate(evidence)
    line = 2.0 * np.sqrt(2.0 * loss_prefactor(evidence, states) / constants.sigma_min) / rate
    bent = _integral(states, lambda s: np.sqrt(2.0 * bend_bound(s) / constants.sigma_min) + s.mixed_mass)
    return float(constants.mean_square * (line + bent))


@in_phase("3")
def _negative_moves(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    members = states[0].sets.negative
    if not np.any(members):
        return nothing("there is no negative neuron")
    is_lost = any(s.has_lost_neurons or np.any(s.is_held_up & members) for s in states)
    require(not is_lost, "negative neurons too light for a double; take a larger scale")
    factor, moved = _grown(largest_negative_growth(evidence, states)), _moves(states, members)[:, :2]
    largest = f"{np.max(moved, axis=0).round(9)} against {factor:.4g}, {1 + factor:.4g}"
    room = np.array([factor, 1.0 + factor]) - moved
    return worst_compared(room, "at_least", 0.0, words=f"largest moves of a and w over |a(tau_3)| {largest}")


def farthest_move(evidence: Evidence, states: tuple[PhaseState, ...]) -> float:
    """Lemma 24 summed over all neurons: a bound on |theta - theta(tau_3)| in Phase 3."""
    entry, travel = states[0], largest_travel(evidence, states)
    positive, negative = (np.exp(0.5 * entry.log_square_sum(m)) for m in (entry.sets.positive, entry.sets.negative))
    factor, grown = _grown(largest_negative_growth(evidence, states)), _grown(travel)
    on_positive = positive * np.hypot(grown - 1.0, travel * grown)
    return float(np.hypot(on_positive, negative * np.hypot(factor, 1.0 + factor)))


def _stays_within_eps_4(evidence: Evidence) -> Comparison:
    bound = farthest_move(evidence, require(late_states(evidence), "the run does not reach Phase 3"))
    margin = evidence.parameter("eps_4") - bound
    return judgement(margin > 0.0, margin, f"Lemma 24 allows |theta - theta(tau_3)| up to {bound:.4g}")


def _never_ends(evidence: Evidence) -> Comparison:
    clock = phase_clock(evidence)
    end = clock.convergence
    require(clock.fitting.is_reached, "a run that reaches Phase 3")
    words = f"no clause fired up to t = {clock.states[-1].time:.6g}"
    return all_of([(not end.is_reached, f"Phase 3 ended at {end.time:.6g} by {end.clause!r}")], detail=words)


@in_phase("3")
def _distance(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    farthest = max(parameter_distance(state, states[0]) for state in states)
    eps_4 = evidence.parameter("eps_4")
    return at_most(farthest, eps_4, detail=f"farthest |theta - theta(tau_3)| {farthest:.4g} against {eps_4:g}")


def at_the_limit(measure: Callable[[Evidence], Comparison]) -> Callable[[Evidence], Comparison]:
    """The measurement where the run came to rest by itself; a run cut short has no limit to measure."""

    def guarded(evidence: Evidence) -> Comparison:
        outcome = evidence.run.outcome
        return measure(evidence) if outcome is Outcome.STATIONARY else missing(f"a run that comes to rest ({outcome})")

    return guarded


def _limit_patterns(evidence: Evidence) -> Comparison:
    """Neurons of the end point that are positive on one sample and negative on another."""
    network, started = evidence.run.network, np.any(evidence.network.w != 0.0, axis=1)
    if np.any(started & np.all(network.w == 0.0, axis=1) & (network.a == 0.0)):
        return missing("the patterns of neurons too light for a double beside the others")
    signs = signs_on(network, evidence.dataset.X)
    active, mixed = np.any(signs > 0, axis=1), np.any(signs > 0, axis=1) & np.any(signs < 0, axis=1)
    words = f"{mixed.sum()} of {network.num_neurons} neurons are mixed, {(active & ~mixed).sum()} are active"
    return none_of(int(mixed.sum()), detail=words)


def _limit_line(evidence: Evidence) -> Comparison:
    """|sum a w - beta*| over the neurons of the end point that are active on every sample."""
    network = evidence.run.network.materialized()
    active = np.all(signs_on(network, evidence.dataset.X) >= 0, axis=1) & np.any(network.w != 0.0, axis=1)
    line = (network.weight * network.a)[active] @ network.w[active]
    distance = float(np.linalg.norm(line - evidence.facts.least_squares))
    return at_most(distance, LIMIT_ATOL, detail=f"|sum a w - beta*| = {distance:.3g}, {int(active.sum())} neurons")
