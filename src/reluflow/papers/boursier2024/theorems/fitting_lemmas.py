"""Phase 2b, positive neurons fit the line: Lemma 6 with Eqs. (47) and (48) [boursier2024]."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from reluflow.papers.boursier2024.paper import EXAMPLE, PHASES_SETTING
from reluflow.papers.boursier2024.theorems.active_neurons import (
    SMALL_DELTA_PRIME,
    largest_positive_mass,
    log_negative_level,
    stays_active,
)
from reluflow.papers.boursier2024.theorems.aligned_lemmas import negative_shrinkage
from reluflow.papers.boursier2024.theorems.phase_clock import TrainingPhase, ends_by, in_phase, phase_clock, phase_plan
from reluflow.papers.boursier2024.theorems.phase_parameters import DELTA_PRIME, EPS_1, EPS_2
from reluflow.papers.boursier2024.theorems.phase_states import PhaseState, log_lambda_of
from reluflow.papers.boursier2024.theorems.spurious_constants import constants_of
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import (
    ALIGNED,
    FACETS,
    GROWTH_ENDED,
    SMALL_EPS_2,
    largest_pull,
    on_positive_data,
    scale_factor,
)
from reluflow.theory.comparison import Comparison, Level, at_most, judgement, least_over, require
from reluflow.theory.elsewhere import definition, part
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import Constants, Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

EPS_3_LARGE = Parameter(
    "eps_3", 0.4, r"distance of the positive neurons' line to $\beta^*$ where Phase 2b ends", low=0.0
)

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


EQ_47 = definition("boursier2024:eq47", "Eq. (47)", energy_speed, r"$d|\beta_I - \beta^*|_H^2/dt$")

# Lemma 6, Eqs. (47) and (48) ------------------------------------------------------------------------------------------


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


@on_positive_data
def _scale_outlasts_the_fit(evidence: Evidence) -> Comparison:
    margin = -log_lambda_of(evidence) - budget(evidence)
    return judgement(margin >= 0.0, margin, rf"$-\ln\lambda$ must be at least {budget(evidence):.6g}")


OUTLASTING_SCALE = Hypothesis(
    "scale",
    r"$-\ln(\lambda)$ outlasts the fit: $\bar D$ of (48) is at most "
    r"$\min(\varepsilon, 1/2 - \varepsilon) (-\ln\lambda)$",
    _scale_outlasts_the_fit,
    is_regime=True,
)


@in_phase(TrainingPhase.FITTING)
def _pull_is_linear(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    constants, bound = constants_of(evidence), _negative_push(evidence)
    rest = [np.linalg.norm(s.pull + constants.hessian @ (s.beta_positive - constants.beta_star)) for s in states]
    words = (
        rf"largest $|D^t + H (\beta_I - \beta^*)|$ {max(rest):.3g} against $S \lambda^{{2 - 2\varepsilon}}$ = "
        rf"{bound:.3g}, up to rounding"
    )
    return at_most(float(max(rest)), bound, allowance=ROUNDING, detail=words)


@in_phase(TrainingPhase.FITTING, at_least=2)
def _decay(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    rate = evidence.parameter("eps_2") * constants_of(evidence).sigma_min
    first, rest = states[0], fit_remainder(evidence)
    bounds = np.array([line_distance(first) * np.exp(-rate * (s.time - first.time)) + rest for s in states[1:]])
    slack = bounds - np.array([line_distance(s) for s in states[1:]])
    return least_over(states[1:], slack, 0.0, r"bound minus $|\beta_I - \beta^*|_H$")


def _fit_duration(evidence: Evidence) -> Comparison:
    clock, bound = phase_clock(evidence), longest_fit(evidence)
    lasted = clock.fitting.time - clock.growth.time
    require(np.isfinite(lasted), r"a run that reaches $\tau_3$")
    return at_most(lasted, bound, detail=rf"$\tau_3 - \tau_2$ = {lasted:.6g} against {bound:.6g}")


def _own_scale(evidence: Evidence) -> float:
    """The scale the budget asks for; the budget itself hardly depends on the scale once that is small."""
    network = evidence.network.scaled(scale_factor(evidence, -100.0))
    small = Evidence(replace(evidence.problem, network=network), parameters=evidence.parameters)
    return scale_factor(evidence, -1.01 * max(budget(small), 100.0))


def _shape_of_the_loss(evidence: Evidence) -> Constants:
    found = constants_of(evidence)
    return {
        "sigma_min": found.sigma_min,
        "sigma_max": found.sigma_max,
        "kappa": found.kappa,
        "beta_norm": found.beta_norm,
    }


LEMMA_6 = Theorem(
    "boursier2024:lemma6",
    Reference("boursier2024", "Lemma 6, Eqs. (47) and (48)"),
    r"Phase 2b ends because the line of the positive neurons comes within $\varepsilon_3$ of $\beta^*$, in a time "
    r"that does not depend on $\lambda$, while positive neurons stay active everywhere and negative ones below "
    r"$\lambda^{-\varepsilon}$ times their start.",
    hypotheses=(*FACETS, SMALL_EPS_2, SMALL_DELTA_PRIME, OUTLASTING_SCALE, ALIGNED, GROWTH_ENDED),
    conclusions=(
        Conclusion(
            "fitted",
            r"$\tau_3$ is finite and $|\beta^* - \beta_I(\tau_3)| = \varepsilon_3$",
            partial(ends_by, phase=TrainingPhase.FITTING, clause="fitted"),
            Level.EXACT,
        ),
        Conclusion("active", r"$\langle\bar{w}_i, x_k\rangle \ge \delta' |x_k|$ up to $\tau_3$", stays_active),
        Conclusion(
            "negative",
            r"$a_i(0) \lambda^{-\varepsilon} < a_i \le 0$ on $N$",
            partial(negative_shrinkage, phase=TrainingPhase.FITTING, grows=True),
        ),
        Conclusion(
            "linear-pull", r"$D^t = -H (\beta_I - \beta^*)$ up to $S \lambda^{2 - 2\varepsilon}$", _pull_is_linear
        ),
        Conclusion(
            "decay", r"$|\beta_I - \beta^*|_H$ decays at least like $\exp(-\varepsilon_2 \sigma_{\min} t)$", _decay
        ),
        Conclusion("duration", r"$\tau_3 - \tau_2$ is at most Eq. (48)", _fit_duration),
    ),
    constants=Quantities({"d_bar": largest_pull, "least_minus_log_lambda": budget}, others=(_shape_of_the_loss,)),
    predictions=Quantities({"longest_fit": longest_fit}),
    parameters=(EPS_1, EPS_2, EPS_3_LARGE, DELTA_PRIME),
    plan=phase_plan,
    log_scale=_own_scale,
    setting=PHASES_SETTING,
    example=EXAMPLE,
    erratum=r"E10: the first clause of $\tau_3$ sums over $I$, and the hypothesis reads "
    r"$\varepsilon_2 \le \tilde{\varepsilon}_2^*$.",
    departs=r"$\lambda^{c_3 \varepsilon \varepsilon_2} \le \varepsilon_3$ is judged through Eq. (48), which gives "
    r"an explicit least $-\ln(\lambda)$.",
)

EQ_48 = part("boursier2024:eq48", "Eq. (48)", LEMMA_6, r"longest $\tau_3 - \tau_2$")
