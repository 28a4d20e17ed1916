"""CoupledFormulas: a loss that depends on all K outputs of a sample at once, and its evaluation on arrays.

The outputs come as h with `h[c]` output c: a number, or an array over samples. The label y is a class, 0 to K - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError


class CoupledFormulas(NamedTuple):
    """A loss of K outputs h and a class y, each formula stated once under the rules of `Formulas`.

    Besides NumPy's elementwise functions a formula may loop over `range(len(h))`, compare the outputs c and e, which
    are ordinary numbers, and call functions of its own file that keep to the same. What the formulas of a sample have
    in common, `shared`, is computed once for all of them.
    """

    shared: Callable[[Any, Any], Any]  # of h, y
    value: Callable[[Any, Any, Any], Any]  # l, of h, y, shared
    force: Callable[[Any, Any, Any, Any], Any]  # -dl/dh_c, of h, y, c, shared
    curvature: Callable[[Any, Any, Any, Any, Any], Any]  # d^2 l/dh_c dh_e, of h, y, c, e, shared
    log_force: Callable[[Any, Any, Any, Any], Any]  # ln |dl/dh_c|, exact where the force itself underflows
    log_curvature: Callable[[Any, Any, Any, Any, Any], Any]  # ln |d^2 l/dh_c dh_e|, likewise


def value_of_outputs(formulas: CoupledFormulas, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
    """l(h_k, y_k), shape (..., n), of outputs (..., n, K) and classes (n,)."""
    h, y = _by_output(outputs, labels)
    return np.asarray(formulas.value(h, y, formulas.shared(h, y)))


def margins_of_outputs(outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
    """min_{c != y_k} h_y - h_c, shape (..., n): positive where the own class wins.

    >>> margins_of_outputs([[3.0, 1.0, 2.5], [0.0, 1.0, 0.0]], [0, 2])
    array([ 0.5, -1. ])
    """
    h, y = _by_output(outputs, labels)
    is_own = np.arange(len(h)).reshape(-1, *(1,) * (h.ndim - 1)) == y
    own = np.max(np.where(is_own, h, -np.inf), axis=0)
    return np.asarray(np.min(np.where(is_own, np.inf, own - h), axis=0))


def each_output(
    formulas: CoupledFormulas, of_one: Callable[[Any, Any, Any, Any], Any], outputs: ArrayLike, labels: ArrayLike
) -> FloatArray:
    """A formula of every output, shape (..., n, K)."""
    h, y = _by_output(outputs, labels)
    shared = formulas.shared(h, y)
    return np.stack([of_one(h, y, c, shared) for c in range(len(h))], axis=-1)


def each_pair(
    formulas: CoupledFormulas, of_two: Callable[[Any, Any, Any, Any, Any], Any], outputs: ArrayLike, labels: ArrayLike
) -> FloatArray:
    """A formula of every pair of outputs, shape (..., n, K, K)."""
    h, y = _by_output(outputs, labels)
    shared = formulas.shared(h, y)
    blocks = np.empty((*h.shape[1:], len(h), len(h)))
    for c in range(len(h)):
        for e in range(c + 1):
            blocks[..., c, e] = blocks[..., e, c] = of_two(h, y, c, e, shared)
    return blocks


def _by_output(outputs: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Outputs (K, ..., n) and classes (n,)."""
    h, y = np.asarray(outputs, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if h.ndim < 2 or h.shape[-1] < 2 or y.shape != h.shape[-2:-1]:
        raise InvalidInputError(
            f"`outputs` must hold at least 2 numbers for each sample, shape (n, K), with one class each in `labels`, "
            f"got shapes {h.shape} and {y.shape}."
        )
    by_output = h.transpose(h.ndim - 1, *range(h.ndim - 1))
    return np.ascontiguousarray(by_output), y  # in one piece, formulas take half the time
