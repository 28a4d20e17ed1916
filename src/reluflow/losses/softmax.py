"""The softmax cross-entropy of K classes.

Everything follows from the gaps h_c - h_y to the sample's own class y and from the logarithm of the rivals' sum,
z = ln sum_{c != y} exp(h_c - h_y): the loss is ln(1 + e^z), the logistic loss of the margin -z. No probability is
subtracted from 1, so the logarithms keep their digits at any margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reluflow.losses.coupled import CoupledFormulas
from reluflow.losses.loss import AbstractLoss


def _own_output(h: Any, y: Any) -> Any:
    """h_y."""
    own = h[0]
    for c in range(1, len(h)):
        own = np.where(y == c, h[c], own)
    return own


def _log_rivals(h: Any, y: Any, own: Any) -> Any:
    """ln sum_{c != y} exp(h_c - h_y), given h_y."""
    gaps = [np.where(y == c, -np.inf, h[c] - own) for c in range(len(h))]
    largest = gaps[0]
    for c in range(1, len(h)):
        largest = np.maximum(largest, gaps[c])
    total = np.exp(gaps[0] - largest)
    for c in range(1, len(h)):
        total = total + np.exp(gaps[c] - largest)
    return largest + np.log(total)


def _shared(h: Any, y: Any) -> Any:
    """h_y, z and ln(1 + e^-|z|)."""
    own = _own_output(h, y)
    rivals = _log_rivals(h, y, own)
    return own, rivals, np.log1p(np.exp(-np.abs(rivals)))


def _value(h: Any, y: Any, shared: Any) -> Any:
    return np.maximum(shared[1], 0.0) + shared[2]


def _log_probability(h: Any, y: Any, c: Any, shared: Any) -> Any:
    own, rivals, soft = shared
    return h[c] - own - np.maximum(rivals, 0.0) - soft


def _log_force(h: Any, y: Any, c: Any, shared: Any) -> Any:
    return np.where(y == c, np.minimum(shared[1], 0.0) - shared[2], _log_probability(h, y, c, shared))


def _force(h: Any, y: Any, c: Any, shared: Any) -> Any:
    return np.where(y == c, 1.0, -1.0) * np.exp(_log_force(h, y, c, shared))


def _log_curvature(h: Any, y: Any, c: Any, e: Any, shared: Any) -> Any:
    if c != e:
        return _log_probability(h, y, c, shared) + _log_probability(h, y, e, shared)
    size = np.abs(_log_rivals(h, c, h[c]))  # of the logarithm of the odds against c
    return -size - 2.0 * np.log1p(np.exp(-size))  # ln p_c (1 - p_c)


def _curvature(h: Any, y: Any, c: Any, e: Any, shared: Any) -> Any:
    sign = 1.0 if c == e else -1.0
    return sign * np.exp(_log_curvature(h, y, c, e, shared))


@dataclass(frozen=True)
class SoftmaxLoss(AbstractLoss):
    r"""Softmax cross-entropy $\ell(h, y) = \ln \sum_c e^{h_c} - h_y$ for K outputs and a class y in 0, ..., K - 1.

    Its force is $e_y - p$ with $p_c = e^{h_c} / \sum_e e^{h_e}$, its curvature $\mathrm{diag}\,p - p p^\top$, whose
    null vector is the
    vector of ones. With K = 2 it is the logistic loss of $h_y - h_c$.

    Parameters
    ----------
    reduction
        "mean" or "sum" over samples.
    factor
        Multiplies the loss.

    Examples
    --------
    >>> SoftmaxLoss().force([[0.0, 0.0]], [1.0])
    array([[-0.5,  0.5]])
    >>> SoftmaxLoss().log_force([[2e4, 0.0, -1.0]], [0.0]).round(4)
    array([[-19999.6867, -20000.    , -20001.    ]])
    """

    name: ClassVar[str] = "softmax"
    is_classification: ClassVar[bool] = True
    fades: ClassVar[bool] = True

    @property
    def formulas(self) -> CoupledFormulas:
        return CoupledFormulas(_shared, _value, _force, _curvature, _log_force, _log_curvature)
