"""Phase 3, the loss falls to that of the line: Lemmas 21, 22 and 23, Eq. (59) [boursier2024]."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.stationarity import stationarity
from reluflow.papers.boursier2024.paper import EXAMPLE, PHASES_SETTING
from reluflow.papers.boursier2024.theorems.mixed_lemmas import LATE, descent_rate, late_states, moved_outputs
from reluflow.papers.boursier2024.theorems.phase_clock import TrainingPhase, in_phase, phase_plan
from reluflow.papers.boursier2024.theorems.phase_parameters import LATE_PARAMETERS
from reluflow.papers.boursier2024.theorems.phase_states import PhaseState
from reluflow.papers.boursier2024.theorems.spurious_constants import constants_of, loss_of_the_line, polyak_constant
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import on_a_run, scale_factor
from reluflow.theory.comparison import (
    Comparison,
    Source,
    at_least,
    at_most,
    fitted_slope,
    judgement,
    least_over,
    require,
    requires,
)
from reluflow.theory.elsewhere import definition
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

RESOLVED = 1e-9  # |beta - beta*| above this is known to 1 %: runs are good to 1e-11, weights round at 1e-16
ROUNDING = 1e-6  # of |g|^2/(L - L*) at one state, where |beta - beta*| is just resolved
RATE_RTOL = 0.01  # of a rate fitted over a stretch in which the weights still change; 4e-3 was measured
NONE_RESOLVED = r"states of Phase 3 with $|\beta - \beta^*|$ above rounding"


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


EQ_59 = definition("boursier2024:eq59", "Eq. (59)", bend_bound, "$L - L^*$ against $|b|_H^2/2$")

# Lemma 21, Eq. (59) ---------------------------------------------------------------------------------------------------


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


@on_a_run
def _heavy_enough(evidence: Evidence) -> Comparison:
    states, constants = require(late_states(evidence), "the run does not reach Phase 3"), constants_of(evidence)
    moved = float(np.max(moved_outputs(evidence, states[0]) / constants.lengths))
    margin = 0.5 * constants.beta_norm - evidence.parameter("eps_3") - moved
    return judgement(
        margin >= 0.0, margin, rf"$|\beta^*|/2$ = {0.5 * constants.beta_norm:.4g}, moved at most {moved:.4g}"
    )


STAYS_NEAR_THE_LINE = Hypothesis(
    "near-the-line",
    r"$\varepsilon_3$ and $\varepsilon_4$ leave $|\beta^t| \ge |\beta^*|/2$",
    _heavy_enough,
    is_regime=True,
    needs_trajectory=True,
)


def convergence_rate(evidence: Evidence) -> float:
    """a of Lemma 22: min(sigma_min |beta*| / 2, c_4 / 4)."""
    return min(0.5 * constants_of(evidence).pl_constant, 0.25 * descent_rate(evidence))


CONVERGENCE = Quantities(
    {"pl_constant": polyak_constant, "loss_star": loss_of_the_line, "c_4": descent_rate, "rate": convergence_rate}
)


def _polyak_ratio(state: PhaseState, evidence: Evidence, constant: float) -> float:
    return (gradient_square(state, evidence) + pl_remainder(state, constant)) / excess_loss(state)


@requires(_resolved, NONE_RESOLVED)
def _polyak(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    constant = constants_of(evidence).pl_constant
    ratios = [_polyak_ratio(s, evidence, constant) for s in states]
    return least_over(states, ratios, constant, "$(|g|^2 + r)/(L - L^*)$ with the remainder $r$")


LEMMA_21 = Theorem(
    "boursier2024:lemma21",
    Reference("boursier2024", "Lemma 21, Eq. (59)"),
    r"In Phase 3, $|g|^2 \ge \sigma_{\min} |\beta^*| (L - L_{\beta^*})$ minus a remainder of the mixed neurons, "
    r"for all $g \in \partial L$.",
    hypotheses=(*LATE, STAYS_NEAR_THE_LINE),
    conclusions=(
        Conclusion("polyak", r"$(|g|^2 + r)/(L - L^*) \ge \sigma_{\min} |\beta^*|$ with the remainder $r$", _polyak),
    ),
    constants=CONVERGENCE,
    parameters=LATE_PARAMETERS,
    plan=phase_plan,
    log_scale=partial(scale_factor, log_lambda=-60.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
    erratum="E9: the remainder is subtracted, not added.",
    departs="The shortest element of dL is measured; the remainder is explicit in the mass of the mixed neurons.",
)

# Lemma 22 -------------------------------------------------------------------------------------------------------------


def integral_over(states: tuple[PhaseState, ...], value: Callable[[PhaseState], float]) -> float:
    """The trapezoidal integral of a quantity over the recorded states."""
    values = np.array([value(s) for s in states])
    return float(np.cumsum(np.append(0.0, 0.5 * (values[1:] + values[:-1]) * np.diff([s.time for s in states])))[-1])


def loss_prefactor(evidence: Evidence, states: tuple[PhaseState, ...]) -> float:
    """K with L - L* <= K exp(-a (t - tau_3)): sigma_max eps_3^2/2, plus what negative neurons add, all explicit."""
    entry, rate, constants = states[0], convergence_rate(evidence), constants_of(evidence)
    negative = float(np.exp(entry.log_square_sum(entry.sets.negative)))
    start = 0.5 * constants.sigma_max * (evidence.parameter("eps_3") + negative) ** 2 + bend_bound(entry)
    pl_constant = constants.pl_constant
    return start + integral_over(states, lambda s: pl_remainder(s, pl_constant) * np.exp(rate * (s.time - entry.time)))


@in_phase(TrainingPhase.CONVERGENCE)
def _loss_decay(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    level, rate = float(np.log(loss_prefactor(evidence, states))), convergence_rate(evidence)
    resolved = require(_resolved(evidence), NONE_RESOLVED)
    largest = max(float(np.log(max(excess_loss(s), 1e-300)) + rate * (s.time - states[0].time)) for s in resolved)
    return at_most(
        largest, level, detail=rf"largest $\ln(L - L^*) + a (t - \tau_3)$ {largest:.6g} against $\ln K$ = {level:.6g}"
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
    require(len(tail) >= 3, r"three late states without mixed neurons and with $|\beta - \beta^*|$ above rounding")
    fitted = -fitted_slope([s.time for s in tail], [np.log(excess_loss(s)) for s in tail])
    least, largest = 2.0 * mobilities(tail[-1])[[0, -1]]
    detail = f"fitted rate of $L - L^*$ {fitted:.6g}, rates of the line between {least:.6g} and {largest:.6g}"
    if fitted < 0.5 * (least + largest):
        return at_least(fitted, least, allowance=RATE_RTOL * least, detail=detail)
    return at_most(fitted, largest, allowance=RATE_RTOL * largest, detail=detail)


LEMMA_22 = Theorem(
    "boursier2024:lemma22",
    Reference("boursier2024", "Lemma 22"),
    r"In Phase 3, $L - L_{\beta^*}$ is $O(\varepsilon_3^2\,\exp(-a (t - \tau_3)))$ with "
    r"$a = \min(\sigma_{\min} |\beta^*|/2, c_4/4)$.",
    hypotheses=(*LATE, STAYS_NEAR_THE_LINE),
    conclusions=(
        Conclusion("decay", r"$L - L^* \le K\,\exp(-a (t - \tau_3))$, $K$ explicit", _loss_decay),
        Conclusion(
            "late-rate",
            "the loss decays at twice an eigenvalue of the mobility, or between them",
            _late_rate,
            source=Source.RELUFLOW,
        ),
    ),
    constants=CONVERGENCE,
    parameters=LATE_PARAMETERS,
    plan=phase_plan,
    log_scale=partial(scale_factor, log_lambda=-60.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
)

# Lemma 23 -------------------------------------------------------------------------------------------------------------


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
    return straight + integral_over(states, _bent_pull)


@in_phase(TrainingPhase.CONVERGENCE)
def _pull_decay(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    front, rate = pull_prefactor(evidence, states), 0.5 * convergence_rate(evidence)
    bounds = [front * np.exp(-rate * (s.time - states[0].time)) + _bent_pull(s) for s in states]
    slack = np.array(bounds) - np.array([np.linalg.norm(s.pull) for s in states])
    return least_over(states, slack, 0.0, "bound minus $|D^t|$")


@in_phase(TrainingPhase.CONVERGENCE)
def _travel(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    travel = integral_over(states, lambda s: float(np.linalg.norm(s.pull)))
    bound = largest_travel(evidence, states)
    return at_most(travel, bound, detail=rf"$\int |D^t|\, dt$ = {travel:.4g} against {bound:.4g}")


LEMMA_23 = Theorem(
    "boursier2024:lemma23",
    Reference("boursier2024", "Lemma 23"),
    r"In Phase 3, $|D^t|$ is $O(\varepsilon_3\,\exp(-a (t - \tau_3)/2))$, so that its integral is $O(\varepsilon_3)$.",
    hypotheses=(*LATE, STAYS_NEAR_THE_LINE),
    conclusions=(
        Conclusion(
            "pull", r"$|D^t| \le \sqrt{2 \sigma_{\max} K}\,\exp(-a (t - \tau_3)/2)$ plus mixed terms", _pull_decay
        ),
        Conclusion("travel", r"$\int |D^t|\, dt \le 2 \sqrt{2 \sigma_{\max} K}/a$ plus mixed terms", _travel),
    ),
    constants=CONVERGENCE,
    parameters=LATE_PARAMETERS,
    plan=phase_plan,
    log_scale=partial(scale_factor, log_lambda=-60.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
    erratum=r"E9: the cross term carries a factor 2 and the square root gives $\exp(-c_4 t/8)$; harmless as "
    r"$a \le c_4/4$.",
)
