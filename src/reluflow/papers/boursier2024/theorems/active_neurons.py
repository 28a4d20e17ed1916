"""Phase 2b, positive neurons stay active: Lemmas 16, 17 and 18, Eqs. (44) and (49) [boursier2024]."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.boursier2024.paper import EXAMPLE, PHASES_SETTING
from reluflow.papers.boursier2024.theorems.phase_clock import (
    TrainingPhase,
    in_phase,
    phase_clock,
    phase_plan,
    states_in,
)
from reluflow.papers.boursier2024.theorems.phase_parameters import DELTA_PRIME, EPS_1, EPS_2, EPS_3
from reluflow.papers.boursier2024.theorems.phase_states import PhaseState, log_lambda_of
from reluflow.papers.boursier2024.theorems.spurious_constants import constants_of
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import (
    ACUTE,
    FACETS,
    GROWTH_ENDED,
    SMALL_EPS_2,
    largest_eps_2,
    largest_pull,
    on_positive_data,
    scale_factor,
    start_residual,
)
from reluflow.theory.comparison import Comparison, largest_over, least_over, none_of, nothing, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import Above, Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem


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


@in_phase(TrainingPhase.FITTING)
def _mass(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    return largest_over(states, _masses(states), largest_positive_mass(evidence), r"$\sum_I a^2$")


def _least_mean_output(evidence: Evidence) -> float:
    return constants_of(evidence).alpha_49


LEMMA_16 = Theorem(
    "boursier2024:lemma16",
    Reference("boursier2024", "Lemma 16, Eq. (49)"),
    r"In Phase 2b, $\sum_I a^2$ stays below a constant of the data, $A$.",
    hypotheses=(*ACUTE, GROWTH_ENDED),
    conclusions=(Conclusion("mass", r"$\sum_I a^2 \le A$ in Phase 2b", _mass),),
    constants=Quantities({"alpha_49": _least_mean_output, "A": largest_positive_mass}),
    parameters=(EPS_1, EPS_2, EPS_3, DELTA_PRIME),
    plan=phase_plan,
    log_scale=partial(scale_factor, log_lambda=-60.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
)

# Lemma 17, Eq. (44) ---------------------------------------------------------------------------------------------------


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
    slack = constants.facet_gaps - facet_remainders(evidence)
    limits = slack / ((largest_positive_mass(evidence) * lengths**2 / n + largest_pull(evidence)) * lengths)
    return float(np.min(limits, initial=np.inf))


@on_positive_data
def _delta_prime_is_small(evidence: Evidence) -> Comparison:
    words = r"$\delta'$ must be below {number:.6g}"
    return Above(largest_delta_prime, evidence.parameter("delta_prime"), words=words)(evidence)


SMALL_DELTA_PRIME = Hypothesis(
    "delta_prime",
    r"$\delta'$ is so small that $\langle\bar{w}_i, x_k\rangle$ grows at it (Eq. 44)",
    _delta_prime_is_small,
    is_regime=True,
)


def stays_active(evidence: Evidence) -> Comparison:
    """<wbar_i, x_k> >= delta' |x_k| on I at every state of Phase 2b, which must not end there for want of it."""
    states, end = states_in(evidence, TrainingPhase.FITTING), phase_clock(evidence).fitting
    if end.clause == "facet":
        return none_of(1, detail=f"Phase 2b ended at {end.time:.6g} because a positive neuron came too near a facet")
    least = [np.min(state.cosines) for state in require(states, "states of Phase 2b")]
    return least_over(states, least, evidence.parameter("delta_prime"), r"$\langle\bar{w}_i, x_k\rangle/|x_k|$")


@in_phase(TrainingPhase.FITTING)
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
    return least_over(states, slack, 0.0, r"$\langle D^t, x_k\rangle$ minus its bound")


def _least_facet_gap(evidence: Evidence) -> float:
    return constants_of(evidence).beta_44


LEMMA_17 = Theorem(
    "boursier2024:lemma17",
    Reference("boursier2024", "Lemma 17, Eq. (44)"),
    r"In Phase 2b every positive active neuron keeps $\langle\bar{w}_i, x_k\rangle > \delta' |x_k|$ for all samples.",
    hypotheses=(*FACETS, SMALL_DELTA_PRIME, GROWTH_ENDED),
    conclusions=(
        Conclusion("active", r"$\langle\bar{w}_i, x_k\rangle > \delta' |x_k|$ in Phase 2b", stays_active),
        Conclusion(
            "facet-pull",
            r"$\langle D^t, x_k\rangle \ge g_k - (A |x_k|^2/n) \langle\bar w_i, x_k\rangle - "
            r"O(\lambda^{\varepsilon/2})$ at the facets, $g_k$ the gap of sample $k$",
            _facet_pull,
        ),
    ),
    constants=Quantities(
        {
            "beta_44": _least_facet_gap,
            "A": largest_positive_mass,
            "d_bar": largest_pull,
            "largest_delta_prime": largest_delta_prime,
        }
    ),
    parameters=(EPS_1, EPS_2, EPS_3, DELTA_PRIME),
    plan=phase_plan,
    log_scale=partial(scale_factor, log_lambda=-100.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
    erratum=r"E12: the remainder is $O(\lambda^{\varepsilon/2})$ and the $A$-term carries $|x_k|^2$.",
)

# Lemma 18 -------------------------------------------------------------------------------------------------------------


@in_phase(TrainingPhase.FITTING)
def _mass_is_kept(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    return least_over(states, _masses(states), evidence.parameter("eps_2"), r"$\sum_I a^2$")


def _mass_grows_while_small(evidence: Evidence) -> Comparison:
    few = np.log(2 * evidence.parameter("eps_2"))
    states = [s for s in states_in(evidence, TrainingPhase.FITTING) if s.log_square_sum(s.sets.positive) <= few]
    require(states, r"states of Phase 2b with $\sum_I a^2 \le 2 \varepsilon_2$")
    speeds = [np.min(s.directions[s.sets.positive] @ s.pull) for s in states]
    return least_over(states, speeds, 0.0, r"$d\ln a_i/dt$")


LEMMA_18 = Theorem(
    "boursier2024:lemma18",
    Reference("boursier2024", "Lemma 18"),
    r"In Phase 2b, $\sum_I a^2$ stays at least $\varepsilon_2$: it grows whenever it is at most $2 \varepsilon_2$.",
    hypotheses=(*FACETS, SMALL_EPS_2, SMALL_DELTA_PRIME, GROWTH_ENDED),
    conclusions=(
        Conclusion("kept", r"$\sum_I a^2 \ge \varepsilon_2$ in Phase 2b", _mass_is_kept),
        Conclusion(
            "grows", r"every $a_i$ of $I$ grows where $\sum_I a^2 \le 2 \varepsilon_2$", _mass_grows_while_small
        ),
    ),
    constants=Quantities({"eps_2_star": largest_eps_2}),
    parameters=(EPS_1, EPS_2, EPS_3, DELTA_PRIME),
    plan=phase_plan,
    log_scale=partial(scale_factor, log_lambda=-100.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
)
