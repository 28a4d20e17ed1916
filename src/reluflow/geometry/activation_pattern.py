"""Activation patterns: on which side of every sample's hyperplane a weight vector lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import BoolArray, SignArray
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


@dataclass(frozen=True, eq=False)
class LabelCones:
    """Membership of weight vectors in the three cones of Min et al. (2024), each of shape (...,).

    Parameters
    ----------
    positive
        S_+: active on exactly the samples with positive label.
    negative
        S_-: active on exactly the samples with negative label.
    dead
        S_dead: nonzero and active on no sample.
    """

    positive: BoolArray
    negative: BoolArray
    dead: BoolArray


def label_cones(w: ArrayLike, X: ArrayLike, y: ArrayLike) -> LabelCones:
    """Which weight vectors are active on exactly one class, or on no sample.

    Active means <w, x_k> > 0, compared exactly. Where a class is absent its cone is the dead one, the origin included.

    References
    ----------
    Min et al. (2024), Sec. 3, with S_dead as the digest corrects it [min2024].

    Examples
    --------
    >>> cones = label_cones([[1.0, -1.0], [-1.0, -1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    >>> cones.positive, cones.dead
    (array([ True, False, False]), array([False,  True, False]))
    """
    pattern = activation_pattern(w, X)
    labels = np.asarray(y, dtype=np.float64)
    if labels.shape != pattern.shape[-1:]:
        raise InvalidInputError(f"`y` must hold one label for each of the {pattern.shape[-1]} rows of `X`.")
    is_active = pattern > 0
    return LabelCones(
        positive=np.all(is_active == (labels > 0), axis=-1),
        negative=np.all(is_active == (labels < 0), axis=-1),
        dead=~np.any(is_active, axis=-1) & np.any(np.asarray(w, dtype=np.float64), axis=-1),
    )
