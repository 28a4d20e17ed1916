"""Activation patterns: on which side of every sample's hyperplane a weight vector lies."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import SignArray
from reluflow.errors import InvalidInputError


def activation_pattern(w: ArrayLike, X: ArrayLike, *, rtol: float = 0.0) -> SignArray:
    """Sign of <w, x_k> for every sample, A(w) in {-1, 0, 1}^n.

    Parameters
    ----------
    w
        Weight vectors, last axis d.
    X
        Samples as rows, shape (n, d).
    rtol
        Inner products with |<w, x_k>| <= rtol |w| |x_k| count as 0.

    Returns
    -------
    SignArray
        Shape (..., n).

    References
    ----------
    Boursier & Flammarion (2024), Sec. 3 [boursier2024].

    Examples
    --------
    >>> activation_pattern([[1.0, 0.0], [-1.0, 1.0]], [[1.0, 1.0], [0.0, 2.0]])
    array([[1, 0],
           [0, 1]], dtype=int8)
    """
    weights = np.asarray(w, dtype=np.float64)
    samples = np.asarray(X, dtype=np.float64)
    if samples.ndim != 2 or weights.ndim == 0 or weights.shape[-1] != samples.shape[1]:
        raise InvalidInputError(
            f"`w` must have last axis d and `X` shape (n, d), got shapes {weights.shape} and {samples.shape}."
        )
    if not rtol >= 0:
        raise InvalidInputError(f"`rtol` must be at least 0, got {rtol}.")
    products = weights @ samples.T  # (..., n)
    pattern = np.sign(products).astype(np.int8)
    if rtol > 0:
        largest = np.max(np.abs(weights), axis=-1, keepdims=True)  # squares of weights below 1e-162 would underflow
        shapes = weights / np.where(largest > 0, largest, 1.0)
        lengths = np.linalg.norm(shapes, axis=-1)[..., None] * np.linalg.norm(samples, axis=1)
        pattern[np.abs(shapes @ samples.T) <= rtol * lengths] = 0
    return pattern
