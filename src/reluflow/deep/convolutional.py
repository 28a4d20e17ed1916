"""ConvolutionalNetwork: six convolutions and two dense layers, Phuong & Lampert's network for MNIST."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from reluflow.deep.backend import Precision, checked_precision, equinox, jax
from reluflow.errors import InvalidInputError

SIDE = 28  # an image has 28 x 28 pixels
KERNELS = (32, 32, 32, 64, 64, 64)
HIDDEN = 128
_GEOMETRY = ((3, 1, 1), (3, 1, 1), (5, 2, 2), (3, 1, 1), (3, 1, 1), (5, 2, 2))  # size, stride, padding of each layer
_REMAINING = SIDE // 4  # two strides of 2: 28 -> 14 -> 7


class ConvolutionalNetwork(equinox.Module):
    """ReLU network with biases on images of 28 x 28 pixels, given as rows of 784.

    Parameters
    ----------
    convolutions
        Layers 1 to 6.
    dense, last
        Layers 7 and 8.

    References
    ----------
    Phuong & Lampert (2021), App. D, Table 1 [phuong2021].
    """

    convolutions: tuple[Any, ...]
    dense: Any
    last: Any

    def features(self, x: Any) -> tuple[Any, ...]:
        """f^1, ..., f^8 of one image: what each layer gives before its activation."""
        values = [self.convolutions[0](x.reshape(1, SIDE, SIDE))]
        for convolution in self.convolutions[1:]:
            values.append(convolution(jax.nn.relu(values[-1])))
        values.append(self.dense(jax.nn.relu(values[-1]).reshape(-1)))
        values.append(self.last(jax.nn.relu(values[-1])))
        return tuple(values)

    def __call__(self, x: Any) -> Any:
        return self.features(x)[-1][0]


def convolutional_network(
    *,
    rng: np.random.Generator,
    dense_scale: float = 0.05,
    kernels: tuple[int, ...] = KERNELS,
    hidden: int = HIDDEN,
    precision: Precision = "float32",
) -> ConvolutionalNetwork:
    """Draw the network of Table 1, weights and biases U(-1/sqrt(fan-in), 1/sqrt(fan-in)) as PyTorch does by default.

    Parameters
    ----------
    rng
        Source of randomness.
    dense_scale
        Factor on the weights of the two dense layers; their biases keep their law.
    kernels
        Numbers of kernels of the six convolutions; smaller ones give a smaller network of the same depth.
    hidden
        Width of the first dense layer.
    precision
        Of the numbers drawn.

    Examples
    --------
    >>> network = convolutional_network(rng=np.random.default_rng(0))
    >>> network.dense.weight.shape, network.last.weight.shape
    ((128, 3136), (1, 128))
    """
    checked_precision(precision)
    if len(kernels) != len(_GEOMETRY) or min(kernels) < 1 or hidden < 1:
        raise InvalidInputError(
            f"`kernels` must hold {len(_GEOMETRY)} numbers of at least 1 and `hidden` one, got {kernels} and {hidden}."
        )
    if not (np.isfinite(dense_scale) and dense_scale > 0):
        raise InvalidInputError(f"`dense_scale` must be positive and finite, got {dense_scale}.")
    convolutions = tuple(
        _drawn(equinox.nn.Conv2d, (before, after, size, stride, padding), before * size**2, 1.0, rng, precision)
        for before, after, (size, stride, padding) in zip((1, *kernels[:-1]), kernels, _GEOMETRY, strict=True)
    )
    inputs = kernels[-1] * _REMAINING**2
    return ConvolutionalNetwork(
        convolutions,
        dense=_drawn(equinox.nn.Linear, (inputs, hidden), inputs, dense_scale, rng, precision),
        last=_drawn(equinox.nn.Linear, (hidden, 1), hidden, dense_scale, rng, precision),
    )


def _drawn(
    layer: Any, sizes: tuple[int, ...], fan_in: int, scale: float, rng: np.random.Generator, precision: Precision
) -> Any:
    """A layer with uniform weights, multiplied by `scale`, and uniform biases, which are not."""
    shape = equinox.filter_eval_shape(lambda: layer(*sizes, key=jax.random.key(0)))
    weight, bias = (
        (rng.uniform(-1.0, 1.0, part.shape) / math.sqrt(fan_in)).astype(precision)
        for part in (shape.weight, shape.bias)
    )
    return equinox.tree_at(
        lambda part: (part.weight, part.bias), shape, (weight * np.dtype(precision).type(scale), bias)
    )
