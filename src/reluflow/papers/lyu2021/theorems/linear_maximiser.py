"""Symmetric data: the max-margin network is linear; Theorem 4.2 and Appendix C [lyu2021]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.limits.directions import unit_norm
from reluflow.certificates.network_margin import NetworkMargin
from reluflow.network import Network
from reluflow.network.network import leaky_relu
from reluflow.papers.lyu2021.assumptions import SYMMETRIC_SAMPLES
from reluflow.papers.lyu2021.paper import EXAMPLE, SETTING
from reluflow.papers.lyu2021.theorems.limits import best_network, separator_of
from reluflow.papers.lyu2021.theorems.unit_ball import DRAW_SEED, drawn_networks
from reluflow.theory.comparison import Comparison, Level, Values, at_most, require
from reluflow.theory.condition import DataHypotheses
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import TWO_NEURONS_OR_MORE, assumed
from reluflow.theory.measures import AtLeast, AtMost, Quantities
from reluflow.theory.separability import LINEARLY_SEPARABLE
from reluflow.theory.theorem import Conclusion, Reference, Theorem

ROUNDING = 1e-12


def best_margin(evidence: Evidence) -> float:
    """((1 + leak)/4) gamma*."""
    return 0.25 * (1.0 + evidence.leak) * separator_of(evidence).margin


def relative_margin(evidence: Evidence, network: Network) -> float:
    """Its margin over ((1 + leak)/4) gamma*."""
    return normalized_margin(network, evidence.dataset) / best_margin(evidence)


# Thm 4.2 --------------------------------------------------------------------------------------------------------------

MARGIN_RTOL = 1e-7  # the cone program's duality gap and Newton's method; below 1e-9 was seen


def linear_coefficient(evidence: Evidence) -> FloatArray:
    """((1 + leak)/4) w*, the linear function every max-margin network of norm 1 computes, shape (d,)."""
    return np.asarray(0.25 * (1.0 + evidence.leak) * separator_of(evidence).w)


def symmetrized(network: Network) -> Network:
    """Two neurons of opposite sign that do at least as well as the network.

    w_1 = -w_2 = sum a_k w_k / (sqrt 2 A), a_1 = -a_2 = A/sqrt 2, A^2 = sum a_k^2.
    Lyu et al. (2021), proof of Theorem 4.2 [lyu2021].
    """
    size = float(np.linalg.norm(network.a))
    w = network.a @ network.w / (np.sqrt(2.0) * size)
    return network.replace(w=np.stack([w, -w]), a=np.array([size, -size]) / np.sqrt(2.0), weight=np.ones(2))


def _bracket_value(evidence: Evidence) -> Comparison:
    """How far ((1 + leak)/4) gamma* lies outside the bracket of the global margin, relative."""
    found, value = evidence.recorded(MaximiserAndPairs).best, best_margin(evidence)
    outside = max(found.margin - value, value - found.upper, 0.0) / value
    words = f"predicted {value:.9g}, bracket [{found.margin:.9g}, {found.upper:.9g}]"
    return at_most(outside, MARGIN_RTOL, detail=words)


def differences_from_linear(evidence: Evidence, network: Network | None) -> FloatArray:
    """|f(x) - C <w*, x>| over 500 random unit vectors and the samples' directions, relative to C."""
    network = require(network, "no network classifies every sample")
    coefficient = linear_coefficient(evidence)
    x = np.vstack([np.random.default_rng(DRAW_SEED).standard_normal((500, evidence.dataset.d)), evidence.dataset.X])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(np.abs(unit_norm(network).outputs(x) - x @ coefficient) / np.linalg.norm(coefficient))


@dataclass(frozen=True, eq=False)
class MaximiserAndPairs:
    """The bracket of the global margin, and random networks with the symmetrised pair of each."""

    best: NetworkMargin
    networks: tuple[Network, ...]
    pairs: tuple[Network, ...]


def _maximiser_and_pairs(evidence: Evidence) -> MaximiserAndPairs:
    networks = tuple(s.network for s in drawn_networks(evidence).states)
    return MaximiserAndPairs(best_network(evidence), networks, tuple(symmetrized(network) for network in networks))


def _with_pairs(evidence: Evidence) -> Iterator[tuple[Network, Network]]:
    record = evidence.recorded(MaximiserAndPairs)
    return zip(record.networks, record.pairs, strict=True)


def _symmetrized_is_better(evidence: Evidence) -> Values:
    """Gain of q_min by the pair, relative to |theta|^2, over the drawn networks."""
    data = evidence.dataset
    for network, pair in _with_pairs(evidence):
        before, after = (float(np.min(data.y * t.outputs(data.X))) for t in (network, pair))
        yield (after - before) / network.squared_norm()


def _symmetrized_is_shorter(evidence: Evidence) -> Values:
    """|theta'| / |theta| over the drawn networks."""
    return [np.sqrt(pair.squared_norm() / network.squared_norm()) for network, pair in _with_pairs(evidence)]


def _maximiser_is_linear(evidence: Evidence) -> FloatArray:
    return differences_from_linear(evidence, evidence.recorded(MaximiserAndPairs).best.network)


THM_4_2 = Theorem(
    "lyu2021:thm4.2",
    Reference("lyu2021", "Thm 4.2"),
    r"On symmetric data the max-margin network of norm 1 is $((1 + \mathrm{leak})/4) \langle w^*, x\rangle$, for "
    r"every width of at least 2.",
    hypotheses=(assumed(LINEARLY_SEPARABLE), assumed(SYMMETRIC_SAMPLES), TWO_NEURONS_OR_MORE),
    conclusions=(
        Conclusion("margin", r"the global max margin is $((1 + \mathrm{leak})/4) \gamma^*$", _bracket_value),
        Conclusion(
            "linear",
            "the maximiser is linear",
            AtMost(_maximiser_is_linear, 1e-5, words="largest relative difference {measured:.2g} on the sphere"),
        ),
        Conclusion(
            "symmetrized",
            r"the symmetrised pair of any network has no smaller $q_{\min}$",
            AtLeast(_symmetrized_is_better, 0.0, allowance=ROUNDING),
        ),
        Conclusion("shorter", "and no larger norm", AtMost(_symmetrized_is_shorter, 1.0, allowance=ROUNDING)),
    ),
    predictions=Quantities({"global_margin": best_margin}),
    record=_maximiser_and_pairs,
    setting=SETTING,
    example=EXAMPLE,
    departs="Leak 0 is allowed too: the proof covers it.",
    diagnosed=DataHypotheses(losses=("logistic", "exponential")),
)

# App. C ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ActivationValues:
    """Numbers z with phi(z) and phi(-z)."""

    z: FloatArray
    there: FloatArray
    back: FloatArray


def _activation_values(evidence: Evidence) -> ActivationValues:
    """At the pre-activations of random networks."""
    drawn = drawn_networks(evidence).states
    z = np.concatenate([(s.network.w @ evidence.dataset.X.T).ravel() for s in drawn])
    return ActivationValues(z, *(leaky_relu(sign * z, evidence.leak) for sign in (1.0, -1.0)))


def _activation_part(evidence: Evidence, *, is_odd: bool) -> FloatArray:
    """|phi(z) - phi(-z) - (1 + leak) z| / |z| over pre-activations of the drawn networks, or the even part of phi."""
    values = evidence.recorded(ActivationValues)
    z = values.z
    if is_odd:
        gap = np.abs(values.there - values.back - (1.0 + evidence.leak) * z)
    else:
        gap = np.abs(values.there + values.back - (1.0 - evidence.leak) * np.abs(z))
    return np.asarray(gap / np.maximum(np.abs(z), 1e-300))


APP_C = Theorem(
    "lyu2021:appC",
    Reference("lyu2021", "App. C"),
    r"$\varphi(z) - \varphi(-z) = (1 + \mathrm{leak}) z$ and $\varphi(z) + \varphi(-z) = (1 - \mathrm{leak}) |z|$.",
    hypotheses=(),
    conclusions=(
        Conclusion(
            "odd",
            r"$\varphi(z) - \varphi(-z) = (1 + \mathrm{leak}) z$",
            AtMost(partial(_activation_part, is_odd=True), ROUNDING),
            Level.EXACT,
        ),
        Conclusion(
            "even",
            r"$\varphi(z) + \varphi(-z) = (1 - \mathrm{leak}) |z|$",
            AtMost(partial(_activation_part, is_odd=False), ROUNDING),
            Level.EXACT,
        ),
    ),
    record=_activation_values,
    setting=SETTING,
    example=EXAMPLE,
)
