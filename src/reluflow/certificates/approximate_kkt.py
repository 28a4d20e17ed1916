"""How nearly a network is a KKT point of the margin problem: the multipliers that leave least of it.

The margin problem (P) minimises |theta|^2 / 2 subject to q_i(theta) >= 1. A feasible theta is an (epsilon, delta)-KKT
point if some lambda >= 0 and h_i in the subdifferential of q_i have

    |theta - sum_i lambda_i h_i| <= epsilon    and    lambda_i (q_i - 1) <= delta for every i.

A KKT point has both 0. The network is taken at theta / sqrt(q_min), where its smallest margin is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.backends.active_set_kernel import nonnegative_least_squares
from reluflow.certificates.hard_margin import require_labels
from reluflow.certificates.kkt import normalized
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network


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
    slopes = np.where(products > 0.0, 1.0, network.leak)
    inner = dataset.X @ dataset.X.T
    gram = np.outer(dataset.y, dataset.y) * (
        inner * ((slopes * (network.weight * a**2)[:, None]).T @ slopes)
        + (activated * network.weight[:, None]).T @ activated
    )
    # <theta, grad q_i> = 2 q_i by Euler's identity; columns at unit length, so that one sample far out does not rule
    lengths = np.sqrt(np.maximum(np.diag(gram), 0.0))
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    found, _, _ = nonnegative_least_squares(
        np.ascontiguousarray(gram / np.outer(lengths, lengths)), 2.0 * q / lengths, np.zeros(dataset.n), 1e-13, 1e-13,
        50 * dataset.n,
    )  # fmt: skip
    multipliers = np.maximum(found, 0.0) / lengths
    pull = multipliers * dataset.y
    left_w = w - a[:, None] * ((slopes * pull) @ dataset.X)
    left_a = a - activated @ pull
    residual = float(np.sqrt(network.weight @ (np.sum(left_w**2, axis=1) + left_a**2)))
    norm = 1.0 / float(np.sqrt(margin))
    return ApproximateKKT(multipliers, residual, residual * norm, float(np.max(multipliers * (q / margin - 1.0))), norm)
