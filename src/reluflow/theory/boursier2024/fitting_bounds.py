"""Phase 2b, positive neurons stay active and bounded: Lemmas 16, 17 and 18 with Eqs. (44) and (49) [boursier2024]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.theory.boursier2024.phase_clock import phase_clock
from reluflow.theory.boursier2024.phase_states import PhaseState, log_scale_of
from reluflow.theory.boursier2024.spurious_constants import constants_of
from reluflow.theory.boursier2024.spurious_hypotheses import largest_eps_2, on_positive_data, start_residual
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, largest_over, least_over, need, none_of, nothing
from reluflow.theory.stating import hypothesis, needs
from reluflow.theory.theorem import Constants


def fitting_states(evidence: Evidence) -> tuple[PhaseState, ...]:
    """States recorded in Phase 2b."""
    clock = phase_clock(evidence)
    return clock.between(clock.growth, clock.fitting)


def log_negative_level(evidence: Evidence) -> float:
    """ln lambda^(2(1-eps)), the level sum_N a^2 may not reach in Phase 2b."""
    return 2.0 * (1.0 - evidence.parameter("eps")) * log_scale_of(evidence.network)


def largest_positive_mass(evidence: Evidence) -> float:
    """A of Lemma 16: sum_I a^2 <= ((lambda + sqrt(lambda^2 + 4C)) / 2)^2 with C = (mean |h| + ...) / alpha_49.

    The mean output of I is at least alpha_49 sum_I a |w|, outputs are bounded because the loss never rises, and
    a - |w| <= a(0) since a^2 - |w|^2 never changes.
    """
    constants, y = constants_of(evidence), evidence.dataset.y
    n, level = y.size, float(np.exp(log_negative_level(evidence)))
    outputs = np.sqrt(n) * (np.linalg.norm(y) + start_residual(evidence)) + level * constants.lengths.sum()
    c = float(outputs) / (n * constants.alpha_49)
    scale = float(np.exp(log_scale_of(evidence.network)))
    return float((scale + np.sqrt(scale**2 + 4.0 * c)) / 2.0) ** 2


@needs(fitting_states, "states of Phase 2b")
def _mass(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    masses = [np.exp(s.log_square_sum(s.sets.positive)) for s in states]
    return largest_over(states, masses, largest_positive_mass(evidence), "sum_I a^2")


def facet_remainders(evidence: Evidence) -> FloatArray:
    """The O(lambda^(eps/2)) of Lemma 17 at each facet: what misalignment within I and h(0) take from <D^t, x_k>."""
    constants, X, y = constants_of(evidence), evidence.dataset.X, evidence.dataset.y
    facets, lengths = constants.facets, constants.lengths[constants.facets]
    spread = np.sqrt(2.0) * np.exp(0.5 * evidence.parameter("eps") * log_scale_of(evidence.network))
    gram = X[facets] @ X.T
    others = np.sqrt(np.maximum(np.sum(gram**2, axis=1) - lengths**4, 0.0))
    surplus = max(start_residual(evidence) - float(np.linalg.norm(y)), 0.0)
    return np.asarray((largest_positive_mass(evidence) * spread * lengths**3 + surplus * others) / y.size)


def largest_delta_prime(evidence: Evidence) -> float:
    """The delta' below which <wbar_i, x_k> grows at every facet: gap_k / ((A |x_k|^2/n + Dbar) |x_k|), the least."""
    constants = constants_of(evidence)
    lengths, n = constants.lengths[constants.facets], constants.lengths.size
    pull = constants.d_bar(start_residual(evidence))
    room = constants.facet_gaps - facet_remainders(evidence)
    limits = room / ((largest_positive_mass(evidence) * lengths**2 / n + pull) * lengths)
    return float(np.min(limits, initial=np.inf))


@hypothesis("delta_prime", "delta' is so small that <wbar_i, x_k> grows at it (Eq. 44)", is_regime=True)
@on_positive_data
def _delta_prime_is_small(evidence: Evidence) -> Judgement:
    largest = largest_delta_prime(evidence)
    margin = largest - evidence.parameter("delta_prime")
    return Judgement(margin > 0.0, margin, f"delta' must be below {largest:.6g}")


def stays_active(evidence: Evidence) -> Measurement:
    """<wbar_i, x_k> >= delta' |x_k| on I at every state of Phase 2b, which must not end there for want of it."""
    states, end = fitting_states(evidence), phase_clock(evidence).fitting
    if end.clause == "facet":
        return none_of(1, detail=f"Phase 2b ended at {end.time:.6g} because a positive neuron came too near a facet")
    need(states, "states of Phase 2b")
    least = [np.min(state.cosines) for state in states]
    return least_over(states, least, evidence.parameter("delta_prime"), "<wbar_i, x_k>/|x_k|")


@needs(fitting_states, "states of Phase 2b")
def _facet_pull(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    constants = constants_of(evidence)
    facets = constants.facets
    if not facets.size:
        return nothing("the all-active cone has no facet")
    slope = largest_positive_mass(evidence) * constants.lengths[facets] / evidence.dataset.n
    base = constants.facet_gaps - facet_remainders(evidence)
    samples = evidence.dataset.X[facets]
    slack = []
    for state in states:
        projections = state.cosines[:, facets] * constants.lengths[facets]  # <wbar_i, x_k>
        bounds = base - slope * constants.lengths[facets] * projections
        slack.append(float(np.min(samples @ state.pull - np.max(bounds, axis=0))))
    return least_over(states, slack, 0.0, "<D^t, x_k> minus its bound")


@needs(fitting_states, "states of Phase 2b")
def _mass_is_kept(evidence: Evidence, states: tuple[PhaseState, ...]) -> Measurement:
    masses = [np.exp(s.log_square_sum(s.sets.positive)) for s in states]
    return least_over(states, masses, evidence.parameter("eps_2"), "sum_I a^2")


def _mass_grows_while_small(evidence: Evidence) -> Measurement:
    states = [
        s
        for s in fitting_states(evidence)
        if s.log_square_sum(s.sets.positive) <= np.log(2 * evidence.parameter("eps_2"))
    ]
    need(states, "states of Phase 2b with sum_I a^2 <= 2 eps_2")
    speeds = [np.min(s.directions[s.sets.positive] @ s.pull) for s in states]
    return least_over(states, speeds, 0.0, "d ln a_i/dt")


def _lemma16_constants(evidence: Evidence) -> Constants:
    return {"alpha_49": constants_of(evidence).alpha_49, "A": largest_positive_mass(evidence)}


def _lemma17_constants(evidence: Evidence) -> Constants:
    return {
        "beta_44": constants_of(evidence).beta_44,
        "A": largest_positive_mass(evidence),
        "d_bar": constants_of(evidence).d_bar(start_residual(evidence)),
        "largest_delta_prime": largest_delta_prime(evidence),
    }


def _lemma18_constants(evidence: Evidence) -> Constants:
    return {"eps_2_star": largest_eps_2(evidence)}
