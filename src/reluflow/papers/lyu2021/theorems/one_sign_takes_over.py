"""As the scale vanishes one sign of neurons takes over: Lemma G.8 and the embedding of App. G.4 [lyu2021]."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network
from reluflow.papers.lyu2021.assumptions import A_2, A_3
from reluflow.papers.lyu2021.theorems.early_constants import correct_cone
from reluflow.papers.lyu2021.theorems.entering_the_cone import OFF_RAYS
from reluflow.papers.lyu2021.theorems.growth_in_the_cone import (
    INSIDE_AT_ENTRY,
    entry_time,
    growth_constants,
    stacked,
    where_entry_exists,
)
from reluflow.papers.lyu2021.theorems.hypotheses import BINARY_LABELS, MEAN_LOGISTIC
from reluflow.papers.lyu2021.theorems.non_symmetric_limit import SOME_POSITIVE
from reluflow.papers.lyu2021.theorems.parameters import EMBEDDING, chosen
from reluflow.papers.lyu2021.theorems.settings import BALANCED_SETTING
from reluflow.papers.lyu2021.theorems.symmetric_flow import embed, network_of
from reluflow.papers.lyu2021.theorems.unit_ball import m_norm, neuron_rows
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Values,
    equals,
    missing,
    nothing,
    requires,
    worst_compared,
)
from reluflow.theory.elsewhere import definition
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED, LEAKY, NO_RIDGE, assumed
from reluflow.theory.measures import AtLeast, AtMost, Quantities, ScaledDownTo
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem


def extended_embedding(two: Network, b: ArrayLike) -> Network:
    """pi_b: spread a positive and a negative neuron over as many as b has entries, in the shares b_k/b_+ and b_k/b_-.

    An entry 0 gives a zero neuron. The function, the norm and the gradient are kept.

    Parameters
    ----------
    two
        Neuron 1 with a_1 >= 0 and neuron 2 with a_2 <= 0.
    b
        Compatible with them: where b has no positive entry neuron 1 is zero, where no negative one neuron 2 is.

    References
    ----------
    Lyu et al. (2021), Sec. 5.2 and App. G.4 [lyu2021].

    Examples
    --------
    >>> extended_embedding(Network([[2.0], [0.0]], [2.0, 0.0]), [3.0, 4.0, 0.0]).a
    array([1.2, 1.6, 0. ])
    """
    if two.num_neurons != 2 or two.a[0] < 0.0 or two.a[1] > 0.0:
        raise InvalidInputError("`two` must hold a neuron with a >= 0 and one with a <= 0, in this order.")
    return network_of(embed(neuron_rows(two), b), two.leak, log_scale=two.log_scale)


APP_G_4 = definition("lyu2021:appG.4", "App. G.4", extended_embedding, r"the embedding $\pi_b$ with zero entries")

# Lemma G.8 ------------------------------------------------------------------------------------------------------------

_TOO_FEW = r"three scales with snapshots at $T_{12} - 1/\lambda$, $T_{12}$ and $T_{12} + 1/\lambda$ are needed"
_SCALES = tuple(-np.log(10.0) * k for k in (1, 2, 3))


def _times(evidence: Evidence) -> FloatArray:
    """T12 + t for t of -1, 0 and 1 growth times; in the given units."""
    cone, m = correct_cone(evidence), evidence.network.num_neurons
    log_sigma = evidence.network.log_scale + 0.5 * np.log(cone.factor)
    middle = entry_time(evidence) - (0.5 * np.log(m) + log_sigma) / cone.growth(1)
    return np.asarray(middle + np.array([-1.0, 0.0, 1.0]) / cone.growth(1))


def _middle_time(evidence: Evidence) -> float:
    return float(_times(evidence)[1])


def _time_after_entry(evidence: Evidence) -> float:
    return float(_times(evidence)[0] - entry_time(evidence))


@where_entry_exists
def _starts_after_entry(evidence: Evidence) -> Comparison:
    words = r"$T_{{12}} - 1/\lambda$ comes {number:.4g} after $T_0$"
    return worst_compared(_time_after_entry(evidence), "above", 0.0, words=words)


AFTER_ENTRY = Hypothesis("late", "the first of the times comes after $T_0$", _starts_after_entry, is_regime=True)


def _plan(evidence: Evidence) -> FlowPlan:
    start = entry_time(evidence)
    later = [float(time) for time in _times(evidence) if time > start]
    return FlowPlan(times=(start, *later), other_scales=_SCALES)


def _late_states(evidence: Evidence) -> list[FloatArray] | None:
    """For every scale, largest first, the neurons at the three times, shape (3, num_neurons, d + 1)."""
    runs = (evidence, *evidence.other_scales)
    if any(len(each.run.snapshots) != 4 for each in runs) or len(runs) < 3:
        return None
    return [np.array([stacked(s.network, correct_cone(e)) for s in e.run.snapshots[1:]]) for e in runs]


@requires(_late_states, _TOO_FEW)
def _losers_vanish(evidence: Evidence, states: list[FloatArray]) -> Comparison:
    """Exponent in sigma of the size of the negative neurons at T12, between the two smallest scales: kappa."""
    negative = evidence.network.a < 0.0
    if not np.any(negative):
        return nothing("no neuron is negative")
    sizes = np.log([m_norm(state[1][negative]) for state in states])
    exponents = np.diff(sizes) / np.diff([each.network.log_scale for each in (evidence, *evidence.other_scales)])
    kappa = growth_constants(evidence)["kappa"]
    words = (
        rf"negative neurons vanish like $\sigma$ to the power {exponents[-1]:.5g} at $T_{{12}}$, predicted "
        rf"$\sigma$ to the power {kappa:.5g}"
    )
    if 0.05 * kappa < abs(exponents[-1] - kappa) < abs(exponents[0] - kappa):
        return missing(f"{words}, and still coming closer; a smaller scale is needed")
    return equals(exponents[-1], kappa, atol=0.05 * kappa, detail=words)


@requires(_late_states, _TOO_FEW)
def _winners_converge(evidence: Evidence, states: list[FloatArray]) -> float:
    """Largest ratio of successive changes of the positive neurons as sigma falls tenfold, over the three times.

    Changes below 1e-9 of their size are those of the integration and count as none.
    """
    positive = evidence.network.a > 0.0
    changes = np.array([[m_norm((b - a)[k][positive]) for k in range(3)] for a, b in pairwise(states)])
    changes = np.maximum(changes / [m_norm(state[positive]) for state in states[-1]], 1e-9)
    return float(np.max(changes[1:] / changes[:-1]))


@requires(_late_states, _TOO_FEW)
def _is_embedded(evidence: Evidence, states: list[FloatArray]) -> Values:
    """Distance of the positive neurons at the smallest scale to an embedded single neuron, relative to their size."""
    for state in states[-1]:
        z = state[evidence.network.a > 0.0]
        shares = z[:, -1]
        common = shares @ z / (shares @ shares)  # the single neuron per unit share
        yield m_norm(z - shares[:, None] * common) / m_norm(z)


@requires(_late_states, _TOO_FEW)
def _sizes(evidence: Evidence, states: list[FloatArray]) -> Values:
    return [m_norm(state) for state in states[-1]]


def _least_size(evidence: Evidence) -> float:
    return 0.1 * growth_constants(evidence)["A_bar"]


def _kappa(evidence: Evidence) -> float:
    return growth_constants(evidence)["kappa"]


LEMMA_G_8 = Theorem(
    "lyu2021:lemmaG.8",
    Reference("lyu2021", "Lemma G.8"),
    r"As $\sigma$ tends to 0 the network at $T_{12}(\sigma) + t$ tends to $\pi_b$ of one positive neuron, not "
    r"zero; the negative neurons vanish like $\sigma^\kappa$.",
    hypotheses=(
        BINARY_LABELS,
        MEAN_LOGISTIC,
        LEAKY,
        assumed(A_2),
        assumed(A_3),
        BALANCED,
        OFF_RAYS,
        SOME_POSITIVE,
        AFTER_ENTRY,
        INSIDE_AT_ENTRY,
        NO_RIDGE,
    ),
    conclusions=(
        Conclusion(
            "losers", r"negative neurons vanish like $\sigma^\kappa$", _losers_vanish, Level.SCALING, is_asymptotic=True
        ),
        Conclusion(
            "winners",
            r"positive neurons converge as $\sigma$ falls",
            AtMost(
                _winners_converge,
                1.0,
                words="each tenfold smaller scale changes them at most {measured:.4g} times as much as the last",
            ),
            Level.SCALING,
            is_asymptotic=True,
        ),
        Conclusion(
            "embedding",
            "their limit is one neuron in fixed shares",
            AtMost(
                _is_embedded,
                partial(chosen, parameter=EMBEDDING),
                words=r"relative distance {measured:.3g} to $\pi_b$ of one neuron",
            ),
            is_asymptotic=True,
        ),
        Conclusion("non-zero", "the limit is not zero", AtLeast(_sizes, _least_size)),
    ),
    constants=Quantities({"T0": entry_time, "T12": _middle_time, "kappa": _kappa}),
    parameters=(EMBEDDING,),
    plan=_plan,
    log_scale=ScaledDownTo(float(np.log(1e-5))),
    setting=BALANCED_SETTING,
    example="lyu-counterexample-sharp",
    erratum=r"E2, E11: $\lambda_0^+ = |\mu^+|/2$, balanced draw.",
    departs="The limits are read off four scales a factor 10 apart.",
)
