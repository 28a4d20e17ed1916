"""Fully connected and residual ReLU networks without biases, and the laws their weights are drawn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from reluflow.deep.backend import equinox, jax
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network


class FullyConnected(equinox.Module):
    """f(x) = W_L s(W_{L-1} ... s(W_1 x)), no biases, s the ReLU with slope 0 at 0.

    Parameters
    ----------
    weights
        W_1, ..., W_L, shapes (width_l, width_{l-1}), the last with one row; L is the depth.

    References
    ----------
    Lee et al. (2022), App. D.2 [lee2022].
    """

    weights: tuple[Any, ...]

    def features(self, x: Any) -> tuple[Any, ...]:
        """f^1, ..., f^L of one sample: what each layer gives before its activation."""
        values = [self.weights[0] @ x]
        for weight in self.weights[1:]:
            values.append(weight @ jax.nn.relu(values[-1]))
        return tuple(values)

    def __call__(self, x: Any) -> Any:
        return self.features(x)[-1][0]


class Residual(equinox.Module):
    """f^1 = W_1 x, f^l = f^{l-1} + W_l s(f^{l-1}) for 1 < l < L, and f = W_L s(f^{L-1}), no biases.

    Parameters
    ----------
    weights
        W_1 of shape (m, d), then square ones, the last of shape (1, m).

    References
    ----------
    Phuong & Lampert (2021), Eq. (30) [phuong2021].
    """

    weights: tuple[Any, ...]

    def features(self, x: Any) -> tuple[Any, ...]:
        """f^1, ..., f^L of one sample, before the activations."""
        values = [self.weights[0] @ x]
        for weight in self.weights[1:-1]:
            values.append(values[-1] + weight @ jax.nn.relu(values[-1]))
        values.append(self.weights[-1] @ jax.nn.relu(values[-1]))
        return tuple(values)

    def __call__(self, x: Any) -> Any:
        return self.features(x)[-1][0]


def gaussian_layers(sizes: Sequence[int], *, std: float, rng: np.random.Generator) -> FullyConnected:
    """A fully connected network with independent N(0, std^2) weights.

    Parameters
    ----------
    sizes
        Dimension of the input, the hidden widths, and 1.
    std
        Standard deviation of every entry.
    rng
        Source of randomness.

    Examples
    --------
    >>> network = gaussian_layers((100, 50, 50, 50, 50, 1), std=0.2, rng=np.random.default_rng(0))
    >>> [weight.shape for weight in network.weights]
    [(50, 100), (50, 50), (50, 50), (50, 50), (1, 50)]
    """
    if not (np.isfinite(std) and std > 0):
        raise InvalidInputError(f"`std` must be positive and finite, got {std}.")
    return FullyConnected(tuple(std * rng.standard_normal(shape) for shape in _shapes(sizes)))


def uniform_layers(
    sizes: Sequence[int], *, scale: float, rng: np.random.Generator, is_residual: bool = False
) -> FullyConnected | Residual:
    """A network with weights `scale` times U(-1/sqrt(fan-in), 1/sqrt(fan-in)), the default of PyTorch's linear layer.

    Parameters
    ----------
    sizes
        Dimension of the input, the hidden widths, and 1; a residual network has one hidden width, repeated.
    scale
        Factor on every weight.
    rng
        Source of randomness.
    is_residual
        Whether the hidden layers add to what comes in.

    References
    ----------
    Phuong & Lampert (2021), Secs. 5.1 and 5.2, which leave the law before the factor open [phuong2021].
    """
    if not (np.isfinite(scale) and scale > 0):
        raise InvalidInputError(f"`scale` must be positive and finite, got {scale}.")
    shapes = _shapes(sizes)
    if is_residual and len({columns for _, columns in shapes[1:]}) != 1:
        raise InvalidInputError(f"`sizes` must repeat one hidden width for a residual network, got {tuple(sizes)}.")
    weights = tuple(scale * rng.uniform(-1.0, 1.0, shape) / math.sqrt(shape[1]) for shape in shapes)
    return Residual(weights) if is_residual else FullyConnected(weights)


def two_layer(network: Network) -> FullyConnected:
    """A two-layer network of plain ReLU neurons as a fully connected one of depth 2."""
    if network.leak != 0.0 or not np.all(network.weight == 1.0):
        raise InvalidInputError("`network` must have leak 0 and neurons of weight 1 to become a fully connected one.")
    plain = network.materialized()
    return FullyConnected((np.array(plain.w), np.array(plain.a[None, :])))


def _shapes(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Shapes (rows, columns) of the matrices between consecutive sizes."""
    if len(sizes) < 2 or min(sizes) < 1 or sizes[-1] != 1:
        raise InvalidInputError(
            f"`sizes` must hold the input dimension, hidden widths of at least 1, and 1 last, got {tuple(sizes)}."
        )
    return [(rows, columns) for columns, rows in pairwise(sizes)]
