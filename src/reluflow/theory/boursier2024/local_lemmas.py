"""Phase 3, the loss falls to that of the least-squares line: Lemmas 21, 22 and 23 with Eq. (59) [boursier2024]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.stationarity import stationarity
from reluflow.theory.boursier2024.mixed_lemmas import descent_rate, late_states, moved_outputs
from reluflow.theory.boursier2024.phase_states import PhaseState
from reluflow.theory.boursier2024.spurious_constants import constants_of
from reluflow.theory.boursier2024.spurious_hypotheses import on_a_run
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, at_least, at_most, fitted_slope, least_over, need
from reluflow.theory.stating import hypothesis, needs
from reluflow.theory.theorem import Constants

RESOLVED = 1e-9  # |beta - beta*| above this is known to 1 %: runs are good to 1e-11, weights round at 1e-16
ROUNDING = 1e-6  # of |g|^2/(L - L*) at one state, where |beta - beta*| is just resolved
RATE_RTOL = 0.01  # of a rate fitted over a stretch in which the weights still change; 4e-3 was measured


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
    everywhere = np.all(state.signs > 0, axis=1)
    return float(np.exp(state.log_square_sum(everywhere)))


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


@hypothesis("near-the-line", "eps_3 and eps_4 leave |beta^t| >= |beta*|/2", is_regime=True, needs_trajectory=True)
@on_a_run
def _heavy_enough(evidence: Evidence) -> Judgement:
    states = late_states(evidence)
    if not states:
        return Judgement(None, None, "the run does not reach Phase 3")
    constants = constants_of(evidence)
    moved = float(np.max(moved_outputs(evidence, states[0]) / constants.lengths))
    margin = 0.5 * constants.beta_norm - evidence.parameter("eps_3") - moved
    return Judgement(margin >= 0.0, margin, f"|beta*|/2 = {0.5 * constants.beta_norm:.4g}, moved at most {moved:.4g}")


@needs(_resolved, "states of Phase 3 with |beta - beta*| above rounding")
def _polyak(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    constant = constants_of(evidence).pl_constant
    ratios = [(gradient_square(s, evidence) + pl_remainder(s, constant)) / excess_loss(s) for s in states]
    return least_over(states, ratios, constant, "(|g|^2 + remainder)/(L - L*)")


@needs(_resolved, "states of Phase 3 with |beta - beta*| above rounding")
def _sharp_polyak(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    sharp = [2.0 * s.constants.sigma_min * active_mass(s) for s in states]
    slack = [
        (gradient_square(s, evidence) + pl_remainder(s, constant)) / excess_loss(s) - constant
        for s, constant in zip(states, sharp, strict=True)
    ]
    return least_over(states, slack, 0.0, "ratio minus 2 sigma_min sum a^2", allowance=ROUNDING)


def _numbers(evidence: Evidence) -> Constants:
    constants = constants_of(evidence)
    return {
        "pl_constant": constants.pl_constant,
        "loss_star": constants.loss_star,
        "c_4": descent_rate(evidence),
        "rate": convergence_rate(evidence),
    }


def convergence_rate(evidence: Evidence) -> float:
    """a of Lemma 22: min(sigma_min |beta*| / 2, c_4 / 4)."""
    return min(0.5 * constants_of(evidence).pl_constant, 0.25 * descent_rate(evidence))


def cumulative(times: FloatArray, values: FloatArray) -> FloatArray:
    """Trapezoidal integral from the first time to each."""
    return np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(times))])


def loss_prefactor(evidence: Evidence, states: tuple[PhaseState, ...]) -> float:
    """K with L - L* <= K exp(-a (t - tau_3)): sigma_max eps_3^2/2, plus what negative neurons add, all explicit."""
    entry, rate, constants = states[0], convergence_rate(evidence), constants_of(evidence)
    negative = float(np.exp(entry.log_square_sum(entry.sets.negative)))
    start = 0.5 * constants.sigma_max * (evidence.parameter("eps_3") + negative) ** 2 + bend_bound(entry)
    times = np.array([s.time for s in states])
    remainders = np.array([pl_remainder(s, constants.pl_constant) for s in states]) * np.exp(
        rate * (times - entry.time)
    )
    return start + float(cumulative(times, remainders)[-1])


@needs(late_states, "states of Phase 3")
def _loss_decay(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    level, rate = float(np.log(loss_prefactor(evidence, states))), convergence_rate(evidence)
    told = _resolved(evidence)
    values = np.array([np.log(max(excess_loss(s), 1e-300)) + rate * (s.time - states[0].time) for s in told])
    need(values.size > 0, "states of Phase 3 with |beta - beta*| above rounding")
    detail = f"largest ln(L - L*) + a (t - tau_3) {values.max():.6g} against ln K = {level:.6g}"
    return at_most(float(values.max()), level, detail=detail)


def mobilities(state: PhaseState) -> FloatArray:
    """Eigenvalues of H^(1/2) (sum a^2 I + w w^T) H^(1/2) over active neurons, ascending: half the rates of the loss."""
    members, network = np.all(state.signs > 0, axis=1), state.network.materialized()
    weight, w = network.weight[members], network.w[members]
    mobility = active_mass(state) * np.eye(w.shape[1]) + (weight[:, None] * w).T @ w
    values, vectors = np.linalg.eigh(state.constants.hessian)
    root = vectors * np.sqrt(values) @ vectors.T
    return np.asarray(np.linalg.eigvalsh(root @ mobility @ root))


def _late_rate(evidence: Evidence) -> Measurement:
    """Near the line L - L* is a sum of exponentials with twice these rates, the least of which is left in the end."""
    states = [s for s in _resolved(evidence) if not np.any(s.is_mixed)]
    tail = states[len(states) // 2 :]
    need(len(tail) >= 3, "three late states without mixed neurons and with |beta - beta*| above rounding")
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
    times = np.array([s.time for s in states])
    bent = float(cumulative(times, np.array([_bent_pull(s) for s in states]))[-1])
    return 2.0 * pull_prefactor(evidence, states) / convergence_rate(evidence) + bent


@needs(late_states, "states of Phase 3")
def _pull_decay(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    front, rate = pull_prefactor(evidence, states), 0.5 * convergence_rate(evidence)
    bounds = [front * np.exp(-rate * (s.time - states[0].time)) + _bent_pull(s) for s in states]
    slack = np.array(bounds) - np.array([np.linalg.norm(s.pull) for s in states])
    return least_over(states, slack, 0.0, "bound minus |D^t|")


@needs(late_states, "states of Phase 3")
def _travel(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    times = np.array([s.time for s in states])
    travel = float(cumulative(times, np.array([np.linalg.norm(s.pull) for s in states]))[-1])
    bound = largest_travel(evidence, states)
    return at_most(travel, bound, detail=f"int |D^t| dt = {travel:.4g} against {bound:.4g}")
