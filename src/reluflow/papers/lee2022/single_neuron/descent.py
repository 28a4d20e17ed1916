"""Full-batch gradient descent of one deep neuron, many starts at once: on the population and on samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.angle import deficit, gap_between
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.descent_kernels import descend_column
from reluflow.papers.lee2022.single_neuron.population import NeuronParameters


@dataclass(frozen=True, eq=False)
class NeuronColumns:
    """Several starts of one depth, one per column: `w` (d, num_starts), `v` (q, num_starts), all v positive."""

    w: FloatArray
    v: FloatArray

    def __init__(self, w: ArrayLike, v: ArrayLike) -> None:
        weights, scalars = np.array(w, dtype=np.float64), np.array(v, dtype=np.float64)
        if weights.ndim != 2 or scalars.ndim != 2 or scalars.shape[1] != weights.shape[1] or 0 in weights.shape:
            raise InvalidInputError(
                f"`w` and `v` must have shapes (d, num_starts) and (q, num_starts), got {weights.shape} and "
                f"{scalars.shape}; for q = 0 give `v` the shape (0, num_starts)."
            )
        if not np.all(np.isfinite(weights)) or not np.all(np.any(weights != 0, axis=0)):
            raise InvalidInputError("`w` must have finite columns other than 0.")
        if not (np.all(np.isfinite(scalars)) and np.all(scalars > 0)):
            raise InvalidInputError("`v` must be positive and finite.")
        object.__setattr__(self, "w", weights)
        object.__setattr__(self, "v", scalars)


@dataclass(frozen=True, eq=False)
class DescentRecord:
    """Gradient descent at recorded steps; a column is NaN from the step where it diverged or a layer died.

    Parameters
    ----------
    steps
        Recorded step numbers, shape (num_records,).
    magnitude, gap, loss
        |w|, the angle to the teacher and the loss, shape (num_records, num_starts).
    v
        Scalar layers, shape (num_records, q, num_starts).
    """

    steps: IntArray
    magnitude: FloatArray
    gap: FloatArray
    loss: FloatArray
    v: FloatArray

    @property
    def phi(self) -> FloatArray:
        """Pi minus the angle to the teacher."""
        return np.asarray(np.pi - self.gap)

    @property
    def has_diverged(self) -> BoolArray:
        """Which columns did not survive to the last step."""
        return np.asarray(~np.isfinite(self.magnitude[-1]))


def balanced_columns(w: ArrayLike, *, q: int) -> NeuronColumns:
    """Starts with v_1 = ... = v_q = |w|, one column of `w` (d, num_starts) each."""
    weights = np.asarray(w, dtype=np.float64)
    return NeuronColumns(weights, np.tile(np.linalg.norm(weights, axis=0), (q, 1)))


def planar_columns(starts: Sequence[BalancedNeuron]) -> tuple[NeuronColumns, NeuronParameters]:
    """Balanced neurons as columns in the plane, and their common teacher along the first axis."""
    if not starts or len({(start.q, start.teacher_magnitude) for start in starts}) != 1:
        raise InvalidInputError("`starts` must hold at least one neuron, all with the same `q` and teacher.")
    target, q = starts[0].teacher_magnitude, starts[0].q
    magnitude, psi = np.array([start.magnitude for start in starts]), np.array([start.psi for start in starts])
    w = magnitude * np.stack([np.tanh(psi), 1.0 / np.cosh(psi)])  # cos(gap) = tanh(psi), sin(gap) = 1/cosh(psi)
    columns = NeuronColumns(w, np.tile(magnitude, (q, 1)))
    return columns, NeuronParameters([target, 0.0], np.full(q, target))


def population_descent(
    columns: NeuronColumns, teacher: NeuronParameters, steps: ArrayLike, *, step_size: float
) -> DescentRecord:
    """Gradient descent on the population loss, in the plane of student and teacher.

    Parameters
    ----------
    columns
        Starts.
    teacher
        w* and its scalar layers.
    steps
        Step numbers to record, non-decreasing whole numbers.
    step_size
        eta.

    References
    ----------
    Lee et al. (2022), Eq. (3) [lee2022].
    """
    recorded = _checked(columns, teacher.w, steps, step_size)
    gap = gap_between(columns.w, teacher.w)
    norm = np.linalg.norm(columns.w, axis=0)
    target = teacher.product * teacher.norm
    num_starts, q = columns.w.shape[1], columns.v.shape[0]
    table = np.empty((num_starts, recorded.size, 2 + q))
    for j in range(num_starts):
        parallel, perpendicular = norm[j] * np.cos(gap[j]), norm[j] * np.sin(gap[j])
        descend_column(parallel, perpendicular, columns.v[:, j].copy(), target, float(step_size), recorded, table[j])
    magnitude = np.hypot(table[:, :, 0], table[:, :, 1]).T
    angle = np.arctan2(table[:, :, 1], table[:, :, 0]).T
    v = np.moveaxis(table[:, :, 2:], 0, -1)
    gain = np.prod(v, axis=1) * magnitude
    loss = 0.25 * (np.square(gain - target) + 2.0 * gain * target * deficit(angle))
    return DescentRecord(recorded, magnitude, angle, loss, v)


def sample_descent(
    columns: NeuronColumns,
    dataset: Dataset,
    teacher_direction: ArrayLike,
    steps: ArrayLike,
    *,
    step_size: float,
) -> DescentRecord:
    """Full-batch gradient descent on L = sum_k (f(x_k) - y_k)^2 / (2n); all starts share one matrix product.

    Parameters
    ----------
    columns
        Starts.
    dataset
        Samples and the teacher's labels.
    teacher_direction
        w*, to which the recorded angle refers.
    steps, step_size
        As in `population_descent`.

    References
    ----------
    Lee et al. (2022), Sec. 5 and App. D.3 [lee2022].
    """
    recorded = _checked(columns, np.asarray(teacher_direction, dtype=np.float64), steps, step_size)
    if dataset.d != columns.w.shape[0]:
        raise InvalidInputError(f"`columns` must have dimension {dataset.d} as `dataset`, got {columns.w.shape[0]}.")
    X, y = dataset.X, dataset.y[:, None]
    w, v = columns.w.copy(), columns.v.copy()
    num_starts = w.shape[1]
    shape = (recorded.size, num_starts)
    magnitude, gap, loss = np.empty(shape), np.empty(shape), np.empty(shape)
    layers = np.empty((recorded.size, v.shape[0], num_starts))
    active, residual = np.empty((dataset.n, num_starts)), np.empty((dataset.n, num_starts))
    step = 0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for row, target in enumerate(recorded):
            while True:
                product = np.prod(v, axis=0)
                np.matmul(X, w, out=active)
                np.maximum(active, 0.0, out=active)
                np.multiply(active, product, out=residual)
                residual -= y
                if step == target:
                    break
                residual *= active > 0
                pull = X.T @ residual / dataset.n
                # Euler's identity for s: the mean of residual * s(<w, x>) is <w, pull>, so no second pass is needed.
                slope = np.einsum("dj,dj->j", w, pull)
                w -= step_size * product * pull
                v -= step_size * (product / v) * slope
                w[:, ~np.all(v > 0, axis=0)] = np.nan
                step += 1
            magnitude[row] = np.linalg.norm(w, axis=0)
            gap[row] = gap_between(w, teacher_direction)
            loss[row] = 0.5 * np.mean(np.square(residual), axis=0)
            layers[row] = v
    return DescentRecord(recorded, magnitude, gap, loss, layers)


def _checked(columns: NeuronColumns, teacher: FloatArray, steps: ArrayLike, step_size: float) -> IntArray:
    """The recorded steps as whole numbers; refuses what no descent can take."""
    if teacher.shape != columns.w.shape[:1]:
        raise InvalidInputError(f"the teacher must have dimension {columns.w.shape[0]}, got shape {teacher.shape}.")
    if not (np.isfinite(step_size) and step_size > 0):
        raise InvalidInputError(f"`step_size` must be positive and finite, got {step_size}.")
    values = np.atleast_1d(np.asarray(steps))
    if values.ndim != 1 or values.size == 0 or not np.issubdtype(values.dtype, np.integer):
        raise InvalidInputError("`steps` must be a vector of whole numbers.")
    if values[0] < 0 or np.any(np.diff(values) < 0):
        raise InvalidInputError("`steps` must start at 0 or later and never decrease.")
    return np.ascontiguousarray(values, dtype=np.int64)
