"""How nearly a network is a KKT point of the margin problem: the multipliers that leave least of it.

The margin problem (P) minimises |theta|^2 / 2 subject to q_i(theta) >= 1. A feasible theta is an (epsilon, delta)-KKT
point if some lambda >= 0 and h_i in the subdifferential of q_i have

    |theta - sum_i lambda_i h_i| <= epsilon    and    lambda_i (q_i - 1) <= delta for every i.

A KKT point has both 0. The network is taken at theta / sqrt(q_min), where its smallest margin is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, IndexArray
from reluflow.certificates.backends.active_set_kernel import nonnegative_least_squares
from reluflow.certificates.hard_margin import require_labels
from reluflow.certificates.kkt import normalized
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network

_MOST_INSIDE = 1000  # samples that may have a multiplier at a time
_MOST_ROUNDS = 100
_EXPLAINS = 1e-12  # cosine of a gradient with what is left, as a share of the network, that is not rounding


@dataclass(frozen=True, eq=False)
class ApproximateKKT:
    """The nearest multipliers of a network that classifies every sample.

    Parameters
    ----------
    multipliers
        lambda >= 0, shape (n,), over all samples: those that make `residual` smallest. They do not change when theta
        is rescaled.
    residual
        |theta - sum_i lambda_i grad q_i| / |theta|, at most 1: the share of the network that no multipliers explain.
    epsilon, delta
        Of the definition, at theta / sqrt(q_min).
    norm
        |theta| / sqrt(q_min), what `epsilon` is to be compared with: 1/sqrt(normalised margin).
    """

    multipliers: FloatArray
    residual: float
    epsilon: float
    delta: float
    norm: float

    def sentence(self) -> str:
        """The verdict in words."""
        return (
            f"Scaled to smallest margin 1 it is an (epsilon, delta)-KKT point with epsilon = {self.epsilon:.4g} and "
            f"delta = {self.delta:.4g}: the best multipliers leave {self.residual:.3g} of its norm {self.norm:.4g}."
        )


def approximate_kkt(network: Network, dataset: Dataset) -> ApproximateKKT:
    """The non-negative multipliers that come nearest to the KKT conditions, over all samples, and what they leave.

    Parameters
    ----------
    network
        Classifies every sample; its scale does not matter.
    dataset
        Samples with labels -1 and 1.

    Examples
    --------
    >>> dataset = Dataset([[2.0, 0.0], [-1.0, 0.0]], [1, -1])
    >>> found = approximate_kkt(Network(w=[[1.0, 0.0], [-1.0, 0.0]], a=[1.0, -1.0]), dataset)
    >>> found.multipliers.tolist(), round(found.residual, 12), round(found.delta, 12)
    ([0.5, 1.0], 0.0, 0.5)

    Notes
    -----
    The slope at a kink is taken from the inactive side; what another slope would explain is left in the residual, so
    epsilon is one that holds, not always the smallest.

    References
    ----------
    Lyu & Li (2020), App. C, approximate KKT points [lyu2020]; Lyu et al. (2021), problem (P) and Def. B.8 [lyu2021].
    """
    require_labels(dataset)
    w, a, _ = normalized(network)
    products = w @ dataset.X.T  # (num_neurons, n)
    activated = np.maximum(products, network.leak * products)
    q = dataset.y * ((network.weight * a) @ activated)
    margin = float(np.min(q))
    if margin <= 0.0:
        raise InvalidInputError(f"`network` must classify every sample, got a smallest margin of {margin:.3g}.")
    gradients = _MarginGradients(w, a, network.weight, activated, np.where(products > 0.0, 1.0, network.leak), dataset)
    multipliers, residual = _nearest(gradients, q)
    norm = 1.0 / float(np.sqrt(margin))
    return ApproximateKKT(multipliers, residual, residual * norm, float(np.max(multipliers * (q / margin - 1.0))), norm)


@dataclass(frozen=True, eq=False)
class _MarginGradients:
    """grad q_i of all samples, never written out: a network (w, a) of unit norm, its masses, activations and slopes."""

    w: FloatArray
    a: FloatArray
    weight: FloatArray
    activated: FloatArray
    slopes: FloatArray
    dataset: Dataset

    def lengths(self) -> FloatArray:
        """|grad q_i|, 1 where that is 0, shape (n,)."""
        slopes = (self.weight * self.a**2) @ self.slopes**2
        squares = np.einsum("id,id->i", self.dataset.X, self.dataset.X) * slopes + self.weight @ self.activated**2
        return np.where(squares > 0.0, np.sqrt(squares), 1.0)

    def gram(self, samples: IndexArray) -> FloatArray:
        """<grad q_i, grad q_j> of some samples."""
        X, y = self.dataset.X[samples], self.dataset.y[samples]
        slopes, activated = self.slopes[:, samples], self.activated[:, samples]
        found = X @ X.T
        found *= (slopes * (self.weight * self.a**2)[:, None]).T @ slopes
        found += (activated * self.weight[:, None]).T @ activated
        found *= np.outer(y, y)
        return np.asarray(found)

    def left(self, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the multipliers leave of w and of a."""
        pull = multipliers * self.dataset.y
        left_w = self.w - self.a[:, None] * ((self.slopes * pull) @ self.dataset.X)
        return left_w, self.a - self.activated @ pull

    def along(self, left_w: FloatArray, left_a: FloatArray) -> FloatArray:
        """<left, grad q_i>, shape (n,)."""
        of_w = (self.weight * self.a)[:, None] * self.slopes * (left_w @ self.dataset.X.T)
        return np.asarray(self.dataset.y * (np.sum(of_w, axis=0) + (self.weight * left_a) @ self.activated))


def _nearest(gradients: _MarginGradients, q: FloatArray) -> tuple[FloatArray, float]:
    """The multipliers that leave least of the network, and how much that is.

    Only some samples are inside at a time, those of smallest margin first: where there are many, the others come in as
    long as one of them explains anything of what is left.
    """
    lengths = gradients.lengths()  # columns at unit length, so that one sample far out does not rule
    inside = np.sort(np.argsort(q, kind="stable")[:_MOST_INSIDE])
    multipliers = np.zeros(q.size)
    for _ in range(_MOST_ROUNDS):
        size = lengths[inside]
        gram = np.ascontiguousarray(gradients.gram(inside) / np.outer(size, size))
        # <theta, grad q_i> = 2 q_i by Euler's identity
        target, start = 2.0 * q[inside] / size, multipliers[inside] * size
        found, _, _ = nonnegative_least_squares(gram, target, start, 1e-13, 1e-13, 50 * inside.size)
        multipliers = np.zeros(q.size)
        multipliers[inside] = np.maximum(found, 0.0) / size
        left_w, left_a = gradients.left(multipliers)
        explains = gradients.along(left_w, left_a) / lengths
        explains[inside] = 0.0
        helpful = np.flatnonzero(explains > _EXPLAINS)
        if not helpful.size:
            break
        helpful = helpful[np.argsort(-explains[helpful], kind="stable")[: _MOST_INSIDE // 2]]
        inside = np.union1d(np.flatnonzero(multipliers), helpful)
    residual = float(np.sqrt(gradients.weight @ (np.sum(left_w**2, axis=1) + left_a**2)))
    return multipliers, residual
