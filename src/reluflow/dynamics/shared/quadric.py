"""The quadric that a neuron never leaves: |v|^2 - |w|^2 of rows (w, v), and rows put back on it."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray

BALANCED = 1e-15  # |a^2 - |w|^2| below this fraction of |z|^2 is rounding: the neuron is balanced, however it shrinks


def invariants_of(z: FloatArray, num_outputs: int = 1) -> FloatArray:
    """|v|^2 - |w|^2 of rows (w, v), formed as (|v| - |w|)(|v| + |w|) so that balanced rows lose nothing.

    >>> invariants_of(np.array([[3.0, 4.0, -5.0]]))
    array([0.])
    """
    w, v = z[:, :-num_outputs], z[:, -num_outputs:]
    norm = np.sqrt(np.einsum("ji,ji->j", w, w))
    across = np.abs(v[:, 0]) if num_outputs == 1 else np.sqrt(np.einsum("jc,jc->j", v, v))
    return np.asarray((across - norm) * (across + norm))


def restored(z: FloatArray, invariant: FloatArray, num_outputs: int = 1) -> FloatArray:
    """Rows one Newton step nearer to |v|^2 - |w|^2 = invariant, keeping the directions of w and of v."""
    size = np.einsum("ji,ji->j", z, z)
    shift = ((invariant - invariants_of(z, num_outputs)) / (2.0 * np.where(size > 0, size, 1.0)))[:, None]
    result = np.empty(z.shape)
    np.multiply(z[:, :-num_outputs], 1.0 - shift, out=result[:, :-num_outputs])
    np.multiply(z[:, -num_outputs:], 1.0 + shift, out=result[:, -num_outputs:])
    return result
