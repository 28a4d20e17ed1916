"""Phase 2b, the positive neurons fit the least-squares line: Lemma 6 with Eqs. (47) and (48) [boursier2024]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reluflow.theory.boursier2024.aligned_lemmas import negative_shrinkage
from reluflow.theory.boursier2024.fitting_bounds import fitting_states, largest_positive_mass, log_negative_level
from reluflow.theory.boursier2024.phase_clock import phase_clock
from reluflow.theory.boursier2024.phase_states import PhaseState, log_scale_of
from reluflow.theory.boursier2024.spurious_constants import constants_of
from reluflow.theory.boursier2024.spurious_hypotheses import on_positive_data, scale_factor, start_residual
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, all_of, at_most, least_over, need
from reluflow.theory.stating import hypothesis, needs
from reluflow.theory.theorem import Constants

ROUNDING = 1e-13  # of D^t and of beta_I, in units of the data; measured below 1e-15


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


def fit_remainder(evidence: Evidence) -> float:
    """O(lambda^(2-2eps)/eps_2) of Phase 2b: 2 A sqrt(sigma_max) S lambda^(2-2eps) / (eps_2 sigma_min)."""
    constants = constants_of(evidence)
    push = constants.mean_square * float(np.exp(log_negative_level(evidence)))
    mobility = 2.0 * largest_positive_mass(evidence) * np.sqrt(constants.sigma_max)
    return float(mobility * push / (evidence.parameter("eps_2") * constants.sigma_min))


def longest_fit(evidence: Evidence) -> float:
    """Eq. (48): the largest tau_3 - tau_2; infinite where eps_3 is below what negative neurons leave."""
    constants = constants_of(evidence)
    eps_2 = evidence.parameter("eps_2")
    left = evidence.parameter("eps_3") - fit_remainder(evidence) / np.sqrt(constants.sigma_min)
    if left <= 0.0:
        return float("inf")
    ratio = constants.kappa * (constants.beta_norm + eps_2) / left
    return float(max(np.log(ratio), 0.0) / (constants.sigma_min * eps_2))


def _budget(evidence: Evidence) -> float:
    """The least -ln(lambda) for which neither second nor fourth clause can end Phase 2b within `longest_fit`."""
    eps = evidence.parameter("eps")
    reach = constants_of(evidence).d_bar(start_residual(evidence)) * longest_fit(evidence)
    return max(reach / eps, 2.0 * reach / (1.0 - 2.0 * eps))


@hypothesis("scale", "-ln(lambda) outlasts the fit: Dbar (48) <= min(eps, 1/2 - eps) (-ln lambda)", is_regime=True)
@on_positive_data
def _scale_outlasts_the_fit(evidence: Evidence) -> Judgement:
    margin = -log_scale_of(evidence.network) - _budget(evidence)
    return Judgement(margin >= 0.0, margin, f"-ln lambda must be at least {_budget(evidence):.6g}")


def _ends_fitted(evidence: Evidence) -> Measurement:
    end = phase_clock(evidence).fitting
    words = f"Phase 2b ended at {end.time:.6g} by {end.clause or 'nothing'!r}"
    return all_of([(end.clause == "fitted", words)], detail=words)


def _negative_growth(evidence: Evidence) -> Measurement:
    factor = -evidence.parameter("eps") * log_scale_of(evidence.network)
    return negative_shrinkage(fitting_states(evidence), log_factor=factor)


@needs(fitting_states, "states of Phase 2b")
def _pull_is_linear(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    constants = constants_of(evidence)
    rest = [np.linalg.norm(s.pull + constants.hessian @ (s.beta_positive - constants.beta_star)) for s in states]
    bound = constants.mean_square * float(np.exp(log_negative_level(evidence)))
    detail = (
        f"largest |D^t + H (beta_I - beta*)| {max(rest):.3g} against S lambda^(2-2eps) = {bound:.3g}, up to rounding"
    )
    return at_most(float(max(rest)), bound, allowance=ROUNDING, detail=detail)


@needs(fitting_states, "two states of Phase 2b", at_least=2)
def _decay(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    rate = evidence.parameter("eps_2") * constants_of(evidence).sigma_min
    first, rest = states[0], fit_remainder(evidence)
    bounds = np.array([line_distance(first) * np.exp(-rate * (s.time - first.time)) + rest for s in states[1:]])
    slack = bounds - np.array([line_distance(s) for s in states[1:]])
    return least_over(states[1:], slack, 0.0, "bound minus |beta_I - beta*|_H")


def _fit_duration(evidence: Evidence) -> Measurement:
    clock = phase_clock(evidence)
    lasted, bound = clock.fitting.time - clock.growth.time, longest_fit(evidence)
    need(np.isfinite(lasted), "a run that reaches tau_3")
    return at_most(lasted, bound, detail=f"tau_3 - tau_2 = {lasted:.6g} against {bound:.6g}")


def _own_scale(evidence: Evidence) -> float:
    """The scale the budget asks for; the budget itself hardly depends on the scale once that is small."""
    factor = scale_factor(evidence, -100.0)
    problem = replace(evidence.problem, network=evidence.network.scaled(factor))
    budget = _budget(Evidence(problem, parameters=evidence.parameters))
    return scale_factor(evidence, -1.01 * max(budget, 100.0))


def _fit_numbers(evidence: Evidence) -> Constants:
    constants = constants_of(evidence)
    return {
        "sigma_min": constants.sigma_min,
        "sigma_max": constants.sigma_max,
        "kappa": constants.kappa,
        "beta_norm": constants.beta_norm,
        "d_bar": constants.d_bar(start_residual(evidence)),
        "least_minus_log_lambda": _budget(evidence),
    }


def _lemma6_predictions(evidence: Evidence) -> Constants:
    return {"longest_fit": longest_fit(evidence)}
