"""Forces of the samples relative to a rate, for many outputs at once, with their answer to a change of the outputs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.flow.flow_kernels import LARGEST_LOG_FORCE
from reluflow.losses import AbstractLoss


class RelativeForces(NamedTuple):
    """r_k / R at some moments, (c l'')_k / R there, shapes (P, n), and ln R, shape (P,)."""

    forces: FloatArray
    curvatures: FloatArray
    log_rates: FloatArray


def relative_forces(
    outputs: FloatArray,
    labels: FloatArray,
    loss: AbstractLoss,
    counted: BoolArray | None = None,
    *,
    num_samples: int | None = None,
    fades: bool = True,
    with_curvatures: bool = True,
) -> RelativeForces:
    """Forces at outputs of shape (P, n): R = 1, or c sum |dl/dh| for a loss that fades, which never underflows.

    `fades` is False where something else, such as weight decay, keeps the forces of such a loss from fading: R = 1.
    Samples that are not `counted` (no neuron acts on them, so their forces stay for ever while the others fade) are
    left out of R. They still hold neurons that slide along their walls; forces beyond what any slide needs are cut.
    These may be some of `num_samples` that the loss is of.
    Curvatures are half the work: without them they are given as an empty array.

    >>> from reluflow.losses import ExponentialLoss
    >>> relative_forces(np.array([[2000.0, 2001.0]]), np.array([1.0, 1.0]), ExponentialLoss()).forces.round(4)
    array([[0.7311, 0.2689]])
    """
    weight = loss.sample_weight(num_samples or outputs.shape[1])
    if not (loss.fades and fades):
        curvatures = weight * loss.curvature(outputs, labels) if with_curvatures else np.zeros((0, 0))
        return RelativeForces(weight * loss.force(outputs, labels), curvatures, np.zeros(len(outputs)))
    logs = loss.log_force(outputs, labels)
    in_rate = logs if counted is None else np.where(counted, logs, -np.inf)
    top = np.max(in_rate, axis=1, keepdims=True)
    total = np.sum(np.exp(in_rate - top), axis=1, keepdims=True)
    shares = np.exp(np.minimum(logs - top, LARGEST_LOG_FORCE)) / total
    curvatures = np.zeros((0, 0))
    if with_curvatures:
        curvatures = shares * np.exp(loss.log_curvature(outputs, labels) - logs)
        curvatures = curvatures if counted is None else np.where(counted, curvatures, 0.0)
    return RelativeForces(shares * labels, curvatures, np.log(weight) + top[:, 0] + np.log(total[:, 0]))
