"""Forces of the samples relative to a rate, for many outputs at once, with their answer to a change of the outputs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.collocation.class_forces_kernels import share_out
from reluflow.dynamics.shared.flow_kernels import LARGEST_LOG_FORCE
from reluflow.losses import AbstractLoss


class RelativeForces(NamedTuple):
    """r / R at some moments and -dr/dh / R there, and ln R, shape (P,); forces of K outputs stand sample by sample.

    `forces` have shape (P, n K). `curvatures` have the same shape where every force answers to its own output alone;
    of a loss that couples the outputs of a sample they are blocks, shape (P, n, K, K).
    """

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
    """Forces at outputs of shape (P, n) or (P, n, K).

    R is 1, or of a loss that fades c sum |dl/dh|, of classes with h that of the own class, which never underflows.
    `fades` is False where something else, such as weight decay, keeps the forces of such a loss from fading: R = 1.
    Samples that are not `counted` (no neuron acts on them, so their forces stay for ever while the others fade) are
    left out of R. They still hold neurons that slide along their walls; forces beyond what any slide needs are cut.
    These may be some of `num_samples` that the loss is of.
    Curvatures are half the work: without them they are given as an empty array.

    >>> from reluflow.losses import ExponentialLoss
    >>> relative_forces(np.array([[2000.0, 2001.0]]), np.array([1.0, 1.0]), ExponentialLoss()).forces.round(4)
    array([[0.7311, 0.2689]])
    """
    num_points, n = outputs.shape[:2]
    weight, none = loss.sample_weight(num_samples or n), np.zeros((0, 0))
    if not (loss.fades and fades):
        forces = (weight * loss.force(outputs, labels)).reshape(num_points, -1)
        if not with_curvatures:
            return RelativeForces(forces, none, np.zeros(num_points))
        curvatures = weight * loss.curvature(outputs, labels)
        if outputs.ndim == 3 and not loss.is_coupled:
            curvatures = np.diagonal(curvatures, axis1=-2, axis2=-1).reshape(num_points, -1)
        return RelativeForces(forces, curvatures, np.zeros(num_points))
    if loss.is_coupled:
        return _of_classes(outputs, labels, loss, counted, np.log(weight), with_curvatures=with_curvatures)
    logs = loss.log_force(outputs, labels)
    in_rate = logs if counted is None else np.where(counted, logs, -np.inf)
    top = np.max(in_rate, axis=1, keepdims=True)
    total = np.sum(np.exp(in_rate - top), axis=1, keepdims=True)
    shares = np.exp(np.minimum(logs - top, LARGEST_LOG_FORCE)) / total
    curvatures = none
    if with_curvatures:
        curvatures = shares * np.exp(loss.log_curvature(outputs, labels) - logs)
        curvatures = curvatures if counted is None else np.where(counted, curvatures, 0.0)
    return RelativeForces(shares * labels, curvatures, np.log(weight) + top[:, 0] + np.log(total[:, 0]))


def _of_classes(
    outputs: FloatArray,
    labels: FloatArray,
    loss: AbstractLoss,
    counted: BoolArray | None,
    log_weight: float,
    *,
    with_curvatures: bool,
) -> RelativeForces:
    """Forces e_y - p and curvatures diag p - p p^T of the softmax loss, from the logarithms of p.

    The force on the own class is the sum of the others, so that the forces on a sample cancel to rounding.
    """
    num_points, n, num_outputs = outputs.shape
    own = labels.astype(np.intp)
    logs = loss.log_force(outputs, labels)  # ln p of the other classes, ln (1 - p) of the own one
    shares, forces, log_rates = np.empty_like(logs), np.empty_like(logs), np.empty(num_points)
    share_out(logs, own, np.ones(n, dtype=bool) if counted is None else counted, shares, forces, log_rates)
    curvatures = np.zeros((0, 0))
    if with_curvatures:
        is_own = own[:, None] == np.arange(num_outputs)  # (n, K)
        p = np.where(is_own, -np.expm1(logs), np.exp(logs))
        from_others = -shares[..., :, None] * p[..., None, :]  # -p_c p_e of another class c
        rows = np.where(is_own[:, :, None], np.swapaxes(from_others, -2, -1), from_others)
        on_diagonal = np.where(is_own, p * shares, shares * (1.0 - p))
        curvatures = np.where(np.eye(num_outputs, dtype=bool), on_diagonal[..., None], rows)
        if counted is not None:
            curvatures = np.where(counted[:, None, None], curvatures, 0.0)
    return RelativeForces(forces.reshape(num_points, -1), curvatures, log_weight + log_rates)
