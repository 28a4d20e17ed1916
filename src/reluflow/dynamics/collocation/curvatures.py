"""How forces answer to outputs: curvatures as numbers (N,) for every force, or as blocks (n, K, K) for every sample."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray, IntArray


def curved(curvatures: FloatArray, rows: FloatArray) -> FloatArray:
    """C times a matrix with a row for every force, shape (N, r).

    >>> curved(np.array([[[1.0, -1.0], [-1.0, 1.0]]]), np.array([[3.0], [1.0]])).ravel()
    array([ 2., -2.])
    """
    if curvatures.ndim == 1:
        return np.asarray(curvatures[:, None] * rows)
    n, num_outputs = curvatures.shape[:2]
    return np.asarray(np.matmul(curvatures, rows.reshape(n, num_outputs, rows.shape[1])).reshape(rows.shape))


def roots(curvatures: FloatArray) -> FloatArray:
    """B with C = B B^T, in the form of C."""
    if curvatures.ndim == 1:
        return np.sqrt(curvatures)
    values, vectors = np.linalg.eigh(curvatures)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])


def answers_of(curvatures: FloatArray, diagonal: FloatArray) -> FloatArray:
    """A bound of trace(C_k K_k) for every force or sample, from the diagonal (N,) of a kernel K."""
    if curvatures.ndim == 1:
        return np.asarray(curvatures * diagonal)
    sizes = np.sqrt(np.maximum(diagonal, 0.0)).reshape(curvatures.shape[:2])
    return np.asarray(np.einsum("kce,kc,ke->k", np.abs(curvatures), sizes, sizes))


def forces_of(curvatures: FloatArray, which: IntArray) -> IntArray:
    """The forces of what `answers_of` has a number for."""
    if curvatures.ndim == 1:
        return which
    num_outputs = curvatures.shape[1]
    return np.asarray((which[:, None] * num_outputs + np.arange(num_outputs)).ravel())
