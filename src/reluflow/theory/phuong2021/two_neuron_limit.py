"""The limit of Theorem 1 in closed form: two max-margin vectors, the shares of the neurons, the growth rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.certificates.one_class import OneClassVector
from reluflow.errors import InvalidInputError
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.theory.evidence import Evidence
from reluflow.theory.phuong2021.sectors import Sign, two_groups


@dataclass(frozen=True, eq=False)
class TwoNeuronLimit:
    """W/|W| -> u w_+^T + z w_-^T, a/|a| -> u |w_+| - z |w_-|, for the groups that are not empty.

    Parameters
    ----------
    w_plus, w_minus
        The max-margin vectors of Eqs. (6) and (7), not of unit length, shape (d,).
    u, z
        Shape (num_neurons,), non-negative, never both positive.

    Notes
    -----
    With both groups |u|^2 = 1/(|w_+| (|w_+| + |w_-|)) and |z|^2 = 1/(|w_-| (|w_+| + |w_-|)), whatever the start; with
    one, |u| = 1/|w_+| and z = 0.

    References
    ----------
    Phuong & Lampert (2021), Thm. 1, Eqs. (8) and (9), erratum P7 [phuong2021]; the norms are ours.
    """

    w_plus: FloatArray
    w_minus: FloatArray
    u: FloatArray
    z: FloatArray

    @property
    def W(self) -> FloatArray:
        """Limit of W/|W|, shape (num_neurons, d)."""
        return np.asarray(np.outer(self.u, self.w_plus) + np.outer(self.z, self.w_minus))

    @property
    def a(self) -> FloatArray:
        """Limit of a/|a|, shape (num_neurons,)."""
        return np.asarray(self.u * np.linalg.norm(self.w_plus) - self.z * np.linalg.norm(self.w_minus))

    @property
    def function_weights(self) -> tuple[float, float]:
        """u and z of Corollary 1: f(x)/|theta|^2 -> u s(<w_+, x>) - z s(<w_-, x>)."""
        lengths = np.linalg.norm(self.w_plus), np.linalg.norm(self.w_minus)
        return float(0.5 * lengths[0] * self.u @ self.u), float(0.5 * lengths[1] * self.z @ self.z)

    def function(self, X: ArrayLike) -> FloatArray:
        """Limit of f(x)/|theta|^2, shape (n,)."""
        samples = np.asarray(X, dtype=np.float64)
        first, second = self.function_weights
        return np.asarray(
            first * np.maximum(samples @ self.w_plus, 0.0) - second * np.maximum(samples @ self.w_minus, 0.0)
        )


def class_vectors(evidence: Evidence) -> tuple[OneClassVector, OneClassVector]:
    """w_+ and w_- with their multipliers."""
    vectors = evidence.facts.one_class
    if vectors.positive is None or vectors.negative is None:
        raise InvalidInputError("`dataset` must hold samples of both classes, got one class only.")
    return vectors.positive, vectors.negative


def squared_norms(length_plus: float, length_minus: float) -> tuple[float, float]:
    """|u|^2 and |z|^2 with both groups present.

    >>> u, z = squared_norms(0.4714045208, 0.6139480626)
    >>> round(u, 8), round(z, 8)
    (1.95449882, 1.50071258)
    """
    total = length_plus + length_minus
    return 1.0 / (length_plus * total), 1.0 / (length_minus * total)


def limit_of(network: Network, evidence: Evidence) -> TwoNeuronLimit:
    """The limit of a run whose neurons are sorted as in `network` and share their groups as they do there."""
    plus, minus = class_vectors(evidence)
    code = two_groups(network, evidence.dataset)
    norms = np.sqrt(network.weight) * row_norms(network.w)
    shares = [np.where(code == sign, norms, 0.0) for sign in (1, -1)]
    sizes = [float(np.linalg.norm(share)) for share in shares]
    squares = list(squared_norms(plus.norm, minus.norm))
    if sizes[0] == 0.0:
        squares = [0.0, 1.0 / minus.norm**2]
    elif sizes[1] == 0.0:
        squares = [1.0 / plus.norm**2, 0.0]
    u, z = (
        np.sqrt(square) * share / size if size > 0.0 else share
        for square, share, size in zip(squares, shares, sizes, strict=True)
    )
    return TwoNeuronLimit(plus.w, minus.w, np.asarray(u), np.asarray(z))


def group_square(network: Network, evidence: Evidence, sign: Sign) -> float:
    """|W_+|^2 or |W_-|^2: the squared norms of one group, the scale included."""
    members = two_groups(network, evidence.dataset) == sign
    return float(np.exp(2.0 * network.log_scale) * np.sum((network.weight[:, None] * network.w**2)[members]))


def both_groups_probability(num_neurons: int, alive_positive: float, alive_negative: float) -> float:
    """Chance that neither group is empty, signs being fair coins and draws independent.

    `alive_positive` is the chance that a neuron with a > 0 survives, and likewise for a < 0.

    >>> both_groups_probability(2, 1.0, 1.0)
    0.5
    """
    first, second = 0.5 * alive_positive, 0.5 * alive_negative
    m = num_neurons
    return float(1.0 - (1.0 - first) ** m - (1.0 - second) ** m + (1.0 - first - second) ** m)
