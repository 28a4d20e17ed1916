"""Forces of the samples relative to a rate, for many outputs at once, with their answer to a change of the outputs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.losses import AbstractLoss


class RelativeForces(NamedTuple):
    """r_k / R at some moments, (c l'')_k / R there, shapes (P, n), and ln R, shape (P,)."""

    forces: FloatArray
    curvatures: FloatArray
    log_rates: FloatArray


def relative_forces(
    outputs: FloatArray, labels: FloatArray, loss: AbstractLoss, counted: BoolArray | None = None
) -> RelativeForces:
    """Forces at outputs of shape (P, n): R = 1, or c sum |dl/dh| for a loss that fades, which never underflows.

    Samples that are not `counted` (no neuron acts on them, so their forces stay for ever while the others fade) are
    left out of R and have no force here.

    >>> from reluflow.losses import ExponentialLoss
    >>> relative_forces(np.array([[2000.0, 2001.0]]), np.array([1.0, 1.0]), ExponentialLoss()).forces.round(4)
    array([[0.7311, 0.2689]])
    """
    weight = loss.sample_weight(outputs.shape[1])
    if not loss.fades:
        forces = weight * loss.force(outputs, labels)
        return RelativeForces(forces, weight * loss.curvature(outputs, labels), np.zeros(len(outputs)))
    logs = loss.log_force(outputs, labels)
    ratio = np.exp(loss.log_curvature(outputs, labels) - logs)
    if counted is not None:
        logs = np.where(counted, logs, -np.inf)
    top = np.max(logs, axis=1, keepdims=True)
    shares = np.exp(logs - top)
    total = np.sum(shares, axis=1, keepdims=True)
    shares /= total
    return RelativeForces(shares * labels, shares * ratio, np.log(weight) + top[:, 0] + np.log(total[:, 0]))
