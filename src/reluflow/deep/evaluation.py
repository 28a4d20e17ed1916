"""Outputs and features of a deep network on many samples, and the norms of its layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.deep.backend import Precision, arithmetic, checked_precision, equinox, jax, jnp, on_device

BLOCK = 512  # samples at once: what six convolutions of a full-size network keep of them fills 150 MiB


def outputs(network: Any, X: ArrayLike, *, precision: Precision = "float64") -> FloatArray:
    """f(x_k) of any network of this package, shape (n,), as doubles."""
    checked_precision(precision)
    with arithmetic(precision):
        values = outputs_on_device(on_device(network, precision), on_device(np.asarray(X), precision))
        return np.asarray(values, dtype=np.float64)


def features(network: Any, X: ArrayLike, *, precision: Precision = "float64") -> tuple[FloatArray, ...]:
    """f^l(x_k) of every layer before its activation, each of shape (n, width of layer l), as doubles."""
    checked_precision(precision)
    with arithmetic(precision):
        layers = _in_blocks(_features, on_device(network, precision), on_device(np.asarray(X), precision))
        return tuple(np.asarray(layer, dtype=np.float64).reshape(len(layer), -1) for layer in layers)


def similarities(network: Any, X: ArrayLike, *, precision: Precision = "float64") -> tuple[FloatArray, ...]:
    """<f^l(x_i), f^l(x_j)> of all pairs of samples, each of shape (n, n), for l = 0 (the samples), 1, 2, ..."""
    checked_precision(precision)
    with arithmetic(precision):
        samples = on_device(np.asarray(X), precision)
        layers = (samples, *_in_blocks(_features, on_device(network, precision), samples))
        return tuple(np.asarray(_products(layer), dtype=np.float64) for layer in layers)


def parameter_norms(network: Any) -> Any:
    """Euclidean norm of every array of weights, in the order of the layers; JAX code, for use in a measure."""
    arrays = jax.tree.leaves(equinox.filter(network, equinox.is_inexact_array))
    return jnp.stack([jnp.linalg.norm(array.ravel()) for array in arrays])


def outputs_on_device(network: Any, samples: Any) -> Any:
    """f of every row, shape (n,), on JAX's device; network and samples are there already."""
    return _in_blocks(_outputs, network, samples)


def _in_blocks(function: Callable[[Any, Any], Any], network: Any, samples: Any) -> Any:
    """Apply a compiled function to blocks of one shape: a loop in Python, as compiled loops slow convolutions down."""
    count = samples.shape[0]
    if count <= BLOCK:
        return function(network, samples)
    padded = jnp.pad(samples, ((0, -count % BLOCK), (0, 0)))
    parts = [function(network, padded[first : first + BLOCK]) for first in range(0, count, BLOCK)]
    return jax.tree.map(lambda *arrays: jnp.concatenate(arrays)[:count], *parts)


@equinox.filter_jit
def _outputs(network: Any, samples: Any) -> Any:
    return jax.vmap(network)(samples)


@equinox.filter_jit
def _features(network: Any, samples: Any) -> Any:
    return jax.vmap(network.features)(samples)


@equinox.filter_jit
def _products(layer: Any) -> Any:
    flat = layer.reshape(layer.shape[0], -1)
    return flat @ flat.T
