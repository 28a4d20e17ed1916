"""Phase 2b, positive neurons stay active and fit the line: Lemmas 6 and 16 to 18, Eqs. (44) to (49) [boursier2024]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.theory.boursier2024.phase_clock import in_phase, phase_clock, states_in
from reluflow.theory.boursier2024.phase_states import PhaseState, log_lambda_of
from reluflow.theory.boursier2024.spurious_constants import constants_of
from reluflow.theory.boursier2024.spurious_hypotheses import largest_pull, scale_factor, start_residual
from reluflow.theory.comparison import (
    Comparison,
    at_most,
    judgement,
    largest_over,
    least_over,
    none_of,
    nothing,
    require,
)
from reluflow.theory.evidence import Evidence

ROUNDING = 1e-13  # of D^t and of beta_I, in units of the data; measured below 1e-15


def log_negative_level(evidence: Evidence) -> float:
    """ln lambda^(2(1-eps)), the level sum_N a^2 may not reach in Phase 2b."""
    return 2.0 * (1.0 - evidence.parameter("eps")) * log_lambda_of(evidence)


def largest_positive_mass(evidence: Evidence) -> float:
    """A of Lemma 16: sum_I a^2 <= ((lambda + sqrt(lambda^2 + 4C)) / 2)^2 with C = (mean |h| + ...) / alpha_49.

    The mean output of I is at least alpha_49 sum_I a |w|, outputs are bounded because the loss never rises, and
    a - |w| <= a(0) since a^2 - |w|^2 never changes.
    """
    constants, y = constants_of(evidence), evidence.dataset.y
    n, level = y.size, float(np.exp(log_negative_level(evidence)))
    outputs = np.sqrt(n) * (np.linalg.norm(y) + start_residual(evidence)) + level * constants.lengths.sum()
    c, scale = float(outputs) / (n * constants.alpha_49), float(np.exp(log_lambda_of(evidence)))
    return float((scale + np.sqrt(scale**2 + 4.0 * c)) / 2.0) ** 2


def _masses(states: tuple[PhaseState, ...]) -> list[float]:
    """sum_I a^2 at every state."""
    return [float(np.exp(s.log_square_sum(s.sets.positive))) for s in states]


@in_phase("2b")
def _mass(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    return largest_over(states, _masses(states), largest_positive_mass(evidence), "sum_I a^2")


@in_phase("2b")
def _mass_is_kept(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    return least_over(states, _masses(states), evidence.parameter("eps_2"), "sum_I a^2")


def _mass_grows_while_small(evidence: Evidence) -> Comparison:
    few = np.log(2 * evidence.parameter("eps_2"))
    states = [s for s in states_in(evidence, "2b") if s.log_square_sum(s.sets.positive) <= few]
    require(states, "states of Phase 2b with sum_I a^2 <= 2 eps_2")
    speeds = [np.min(s.directions[s.sets.positive] @ s.pull) for s in states]
    return least_over(states, speeds, 0.0, "d ln a_i/dt")


def facet_remainders(evidence: Evidence) -> FloatArray:
    """The O(lambda^(eps/2)) of Lemma 17 at each facet: what misalignment within I and h(0) take from <D^t, x_k>."""
    constants, X, y = constants_of(evidence), evidence.dataset.X, evidence.dataset.y
    facets, lengths = constants.facets, constants.lengths[constants.facets]
    spread = np.sqrt(2.0) * np.exp(0.5 * evidence.parameter("eps") * log_lambda_of(evidence))
    gram = X[facets] @ X.T
    others = np.sqrt(np.maximum(np.sum(gram**2, axis=1) - lengths**4, 0.0))
    surplus = max(start_residual(evidence) - float(np.linalg.norm(y)), 0.0)
    return np.asarray((largest_positive_mass(evidence) * spread * lengths**3 + surplus * others) / y.size)


def largest_delta_prime(evidence: Evidence) -> float:
    """The delta' below which <wbar_i, x_k> grows at every facet: gap_k / ((A |x_k|^2/n + Dbar) |x_k|), the least."""
    constants = constants_of(evidence)
    lengths, n = constants.lengths[constants.facets], constants.lengths.size
    room = constants.facet_gaps - facet_remainders(evidence)
    limits = room / ((largest_positive_mass(evidence) * lengths**2 / n + largest_pull(evidence)) * lengths)
    return float(np.min(limits, initial=np.inf))


def stays_active(evidence: Evidence) -> Comparison:
    """<wbar_i, x_k> >= delta' |x_k| on I at every state of Phase 2b, which must not end there for want of it."""
    states, end = states_in(evidence, "2b"), phase_clock(evidence).fitting
    if end.clause == "facet":
        return none_of(1, detail=f"Phase 2b ended at {end.time:.6g} because a positive neuron came too near a facet")
    least = [np.min(state.cosines) for state in require(states, "states of Phase 2b")]
    return least_over(states, least, evidence.parameter("delta_prime"), "<wbar_i, x_k>/|x_k|")


@in_phase("2b")
def _facet_pull(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    constants = constants_of(evidence)
    facets, lengths = constants.facets, constants.lengths[constants.facets]
    if not facets.size:
        return nothing("the all-active cone has no facet")
    slope = largest_positive_mass(evidence) * lengths / evidence.dataset.n
    base, slack = constants.facet_gaps - facet_remainders(evidence), []
    for state in states:
        bounds = base - slope * lengths * (state.cosines[:, facets] * lengths)  # in <wbar_i, x_k>
        slack.append(float(np.min(evidence.dataset.X[facets] @ state.pull - np.max(bounds, axis=0))))
    return least_over(states, slack, 0.0, "<D^t, x_k> minus its bound")


def line_distance(state: PhaseState) -> float:
    """|beta_I - beta*|_H."""
    error = state.beta_positive - state.constants.beta_star
    return float(np.sqrt(error @ state.constants.hessian @ error))


def energy_speed(state: PhaseState) -> float:
    """Eq. (47): d|beta_I - beta*|_H^2/dt = 2 (beta_I - beta*)^T H (sum_I a^2 I + w w^T) D^t, I active everywhere."""
    members, network = state.sets.positive, state.network.materialized()
    weight, a, w = network.weight[members], network.a[members], network.w[members]
    mobility = float(weight @ a**2) * np.eye(w.shape[1]) + (weight[:, None] * w).T @ w
    error = state.beta_positive - state.constants.beta_star
    return float(2.0 * error @ state.constants.hessian @ mobility @ state.pull)


def _negative_push(evidence: Evidence) -> float:
    """S lambda^(2-2eps), what negative neurons can add to D^t in Phase 2b."""
    return constants_of(evidence).mean_square * float(np.exp(log_negative_level(evidence)))


def fit_remainder(evidence: Evidence) -> float:
    """O(lambda^(2-2eps)/eps_2) of Phase 2b: 2 A sqrt(sigma_max) S lambda^(2-2eps) / (eps_2 sigma_min)."""
    constants = constants_of(evidence)
    mobility = 2.0 * largest_positive_mass(evidence) * np.sqrt(constants.sigma_max)
    return float(mobility * _negative_push(evidence) / (evidence.parameter("eps_2") * constants.sigma_min))


def longest_fit(evidence: Evidence) -> float:
    """Eq. (48): the largest tau_3 - tau_2; infinite where eps_3 is below what negative neurons leave."""
    constants, eps_2 = constants_of(evidence), evidence.parameter("eps_2")
    left = evidence.parameter("eps_3") - fit_remainder(evidence) / np.sqrt(constants.sigma_min)
    if left <= 0.0:
        return float("inf")
    ratio = constants.kappa * (constants.beta_norm + eps_2) / left
    return float(max(np.log(ratio), 0.0) / (constants.sigma_min * eps_2))


def budget(evidence: Evidence) -> float:
    """The least -ln(lambda) for which neither second nor fourth clause can end Phase 2b within `longest_fit`."""
    eps, reach = evidence.parameter("eps"), largest_pull(evidence) * longest_fit(evidence)
    return max(reach / eps, 2.0 * reach / (1.0 - 2.0 * eps))


def _scale_outlasts_the_fit(evidence: Evidence) -> Comparison:
    margin = -log_lambda_of(evidence) - budget(evidence)
    return judgement(margin >= 0.0, margin, f"-ln lambda must be at least {budget(evidence):.6g}")


@in_phase("2b")
def _pull_is_linear(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    constants, bound = constants_of(evidence), _negative_push(evidence)
    rest = [np.linalg.norm(s.pull + constants.hessian @ (s.beta_positive - constants.beta_star)) for s in states]
    words = (
        f"largest |D^t + H (beta_I - beta*)| {max(rest):.3g} against S lambda^(2-2eps) = {bound:.3g}, up to rounding"
    )
    return at_most(float(max(rest)), bound, allowance=ROUNDING, detail=words)


@in_phase("2b", at_least=2)
def _decay(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    rate = evidence.parameter("eps_2") * constants_of(evidence).sigma_min
    first, rest = states[0], fit_remainder(evidence)
    bounds = np.array([line_distance(first) * np.exp(-rate * (s.time - first.time)) + rest for s in states[1:]])
    slack = bounds - np.array([line_distance(s) for s in states[1:]])
    return least_over(states[1:], slack, 0.0, "bound minus |beta_I - beta*|_H")


def _fit_duration(evidence: Evidence) -> Comparison:
    clock, bound = phase_clock(evidence), longest_fit(evidence)
    lasted = clock.fitting.time - clock.growth.time
    require(np.isfinite(lasted), "a run that reaches tau_3")
    return at_most(lasted, bound, detail=f"tau_3 - tau_2 = {lasted:.6g} against {bound:.6g}")


def _own_scale(evidence: Evidence) -> float:
    """The scale the budget asks for; the budget itself hardly depends on the scale once that is small."""
    network = evidence.network.scaled(scale_factor(evidence, -100.0))
    small = Evidence(replace(evidence.problem, network=network), parameters=evidence.parameters)
    return scale_factor(evidence, -1.01 * max(budget(small), 100.0))
