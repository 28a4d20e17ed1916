"""Machine-code kernels of the smooth flow: outputs, forces, one eighth-order step and its dense polynomial.

The state is a list of columns, each a vector (w, a) of R^(d+1) that belongs to one group; a group is an activation
pattern with its set of sliding walls, and all its columns obey dw = a D, da = <w, D> with one and the same D. A column
is either a neuron itself or, in a group with many neurons, one column of the group's propagator (a frame).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.integrate import DOP853

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SQUARE, LOGISTIC, EXPONENTIAL = 0, 1, 2

_STAGES = np.ascontiguousarray(DOP853.A)
_WEIGHTS = np.ascontiguousarray(DOP853.B)
_ERROR_FIFTH = np.ascontiguousarray(DOP853.E5[:12])
_ERROR_THIRD = np.ascontiguousarray(DOP853.E3[:12])
_EXTRA_STAGES = np.ascontiguousarray(DOP853.A_EXTRA)
_DENSE = np.ascontiguousarray(DOP853.D)


def _bernstein_of_dense() -> FloatArray:
    """Bernstein coefficients of the seven dense-output factors theta^i (1 - theta)^j, shape (8, 7)."""
    from math import comb

    powers = ((1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (4, 3))
    table = np.zeros((8, 7))
    for column, (i, j) in enumerate(powers):
        rest = 7 - i - j
        for extra in range(rest + 1):
            table[i + extra, column] += comb(rest, extra) / comb(7, i + extra)
    return table


_BERNSTEIN = _bernstein_of_dense()


class Layout(NamedTuple):
    """Everything the forces depend on besides the columns; n samples, B walls, G groups, C columns."""

    samples: FloatArray  # (n, d)
    labels: FloatArray  # (n,)
    loss_kind: int
    log_weight: float  # ln c
    wall_of_sample: IntArray  # (n,)
    slope_plus: FloatArray  # (n,) what a unit force of the sample adds along its wall's normal on the positive side
    slope_minus: FloatArray  # (n,)
    normals: FloatArray  # (B, d) unit
    eta: FloatArray  # (G, n) slopes; 0 on sliding walls, where the pre-activation is 0
    sides: NDArray[np.int8]  # (G, B)
    tangent_starts: IntArray  # (G + 1,) rows of `tangents` of each group
    tangents: FloatArray  # orthonormal rows spanning each group's sliding normals
    starts: IntArray  # (G + 1,) columns of each group
    column_group: IntArray  # (C,)
    frame_of_group: IntArray  # (G,) row of `moments`, or -1 where the columns are the neurons
    moments: FloatArray  # (F, d + 1, d + 1) sum of weight c c^T over the coefficients of a frame's neurons
    weights: FloatArray  # (C,) weight e^(2 log norm) of a neuron column


@njit(cache=True)
def outputs_of(columns: FloatArray, layout: Layout) -> FloatArray:
    """h(x_k), shape (n,), from the columns."""
    d = layout.samples.shape[1]
    outputs = np.zeros(layout.samples.shape[0])
    mean = np.zeros(d)
    for g in range(layout.sides.shape[0]):
        first, last = layout.starts[g], layout.starts[g + 1]
        if first == last:
            continue
        frame = layout.frame_of_group[g]
        mean[:] = 0.0
        if frame < 0:
            for c in range(first, last):
                factor = layout.weights[c] * columns[c, d]
                for i in range(d):
                    mean[i] += factor * columns[c, i]
        else:
            for p in range(d + 1):
                factor = 0.0
                for q in range(d + 1):
                    factor += layout.moments[frame, p, q] * columns[first + q, d]
                for i in range(d):
                    mean[i] += factor * columns[first + p, i]
        for k in range(outputs.shape[0]):
            slope = layout.eta[g, k]
            if slope != 0.0:
                total = 0.0
                for i in range(d):
                    total += layout.samples[k, i] * mean[i]
                outputs[k] += slope * total
    return outputs


@njit(cache=True)
def relative_forces(outputs: FloatArray, layout: Layout) -> tuple[FloatArray, float]:
    """Forces r_k divided by a positive rate R, and ln R: R = 1 (square) or c sum |dl/dh| (classification).

    The flow in the rescaled time ds = R dt has these relative forces, which never underflow together.
    """
    n = outputs.shape[0]
    forces = np.empty(n)
    if layout.loss_kind == SQUARE:
        weight = np.exp(layout.log_weight)
        for k in range(n):
            forces[k] = weight * (layout.labels[k] - outputs[k])
        return forces, 0.0
    largest = -np.inf
    for k in range(n):
        margin = layout.labels[k] * outputs[k]
        if layout.loss_kind == LOGISTIC:
            forces[k] = -(max(margin, 0.0) + np.log1p(np.exp(-abs(margin))))
        else:
            forces[k] = -margin
        largest = max(largest, forces[k])
    total = 0.0
    for k in range(n):
        forces[k] = np.exp(forces[k] - largest)
        total += forces[k]
    for k in range(n):
        forces[k] *= layout.labels[k] / total
    return forces, layout.log_weight + largest + np.log(total)


@njit(cache=True)
def wall_forces(forces: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
    """The pull along each wall's normal for a neuron on its positive and on its negative side, shapes (B,)."""
    plus = np.zeros(layout.normals.shape[0])
    minus = np.zeros(layout.normals.shape[0])
    for k in range(forces.shape[0]):
        b = layout.wall_of_sample[k]
        plus[b] += layout.slope_plus[k] * forces[k]
        minus[b] += layout.slope_minus[k] * forces[k]
    return plus, minus


@njit(cache=True)
def group_forces(forces: FloatArray, layout: Layout) -> FloatArray:
    """D of every group, shape (G, d): the sum over walls, made tangent to the sliding ones."""
    plus, minus = wall_forces(forces, layout)
    num_groups, d = layout.sides.shape[0], layout.normals.shape[1]
    pull = np.zeros((num_groups, d))
    for g in range(num_groups):
        if layout.starts[g] == layout.starts[g + 1]:
            continue
        for b in range(plus.shape[0]):
            side = layout.sides[g, b]
            if side == 0:
                continue
            strength = plus[b] if side > 0 else minus[b]
            if strength != 0.0:
                for i in range(d):
                    pull[g, i] += strength * layout.normals[b, i]
        for _ in range(2):  # twice, so that the normal part is gone to rounding
            for row in range(layout.tangent_starts[g], layout.tangent_starts[g + 1]):
                along = 0.0
                for i in range(d):
                    along += pull[g, i] * layout.tangents[row, i]
                for i in range(d):
                    pull[g, i] -= along * layout.tangents[row, i]
    return pull


@njit(cache=True)
def velocity(columns: FloatArray, layout: Layout, log_rate_at_start: float, slope: FloatArray) -> tuple[float, float]:
    """Write d(columns)/ds into `slope`; return dt/ds in units of its value at the start of the step, and ln R."""
    d = layout.samples.shape[1]
    forces, log_rate = relative_forces(outputs_of(columns, layout), layout)
    pull = group_forces(forces, layout)
    for c in range(columns.shape[0]):
        g = layout.column_group[c]
        along = 0.0
        for i in range(d):
            slope[c, i] = columns[c, d] * pull[g, i]
            along += columns[c, i] * pull[g, i]
        slope[c, d] = along
    return np.exp(log_rate_at_start - log_rate), log_rate


@njit(cache=True)
def attempt_step(
    columns: FloatArray,
    slopes: FloatArray,
    rates: FloatArray,
    step: float,
    log_rate: float,
    layout: Layout,
    end: FloatArray,
) -> tuple[float, float]:
    """One step of order eight into `end`; returns its error per unit of tolerance 1 and the elapsed time.

    `slopes` (16, C, d + 1) and `rates` (16,) hold the stages; stage 0 is given. The error is the largest over the
    columns of |error| / |column|: relative, so that a neuron of norm 1e-300 is as exact in direction as any other.
    """
    num_columns, width = columns.shape
    for stage in range(1, 12):
        for c in range(num_columns):
            for i in range(width):
                total = 0.0
                for s in range(stage):
                    total += _STAGES[stage, s] * slopes[s, c, i]
                end[c, i] = columns[c, i] + step * total
        rates[stage] = velocity(end, layout, log_rate, slopes[stage])[0]
    worst = 0.0
    for c in range(num_columns):
        size_start, size_end, fifth, third = 0.0, 0.0, 0.0, 0.0
        for i in range(width):
            total, first, second = 0.0, 0.0, 0.0
            for s in range(12):
                total += _WEIGHTS[s] * slopes[s, c, i]
                first += _ERROR_FIFTH[s] * slopes[s, c, i]
                second += _ERROR_THIRD[s] * slopes[s, c, i]
            end[c, i] = columns[c, i] + step * total
            size_start += columns[c, i] ** 2
            size_end += end[c, i] ** 2
            fifth += first**2
            third += second**2
        if fifth > 0.0:
            size = np.sqrt(max(size_start, size_end))
            worst = max(worst, step * fifth / np.sqrt(fifth + 0.01 * third) / size)
    elapsed, first, second = 0.0, 0.0, 0.0
    for s in range(12):
        elapsed += _WEIGHTS[s] * rates[s]
        first += _ERROR_FIFTH[s] * rates[s]
        second += _ERROR_THIRD[s] * rates[s]
    if first != 0.0:
        worst = max(worst, first**2 / np.sqrt(first**2 + 0.01 * second**2) / abs(elapsed))
    if not np.isfinite(worst):
        worst = np.inf
    return worst, step * elapsed


@njit(cache=True)
def restore_invariants(columns: FloatArray, layout: Layout, invariants: FloatArray) -> None:
    """Put the columns back on the quadric the exact flow never leaves, in place.

    A neuron column keeps a^2 - |w|^2 (one Newton step along its gradient, which keeps the direction of w); a frame
    keeps F^T J F = J with J = diag(1, ..., 1, -1), by the Newton-Schulz step F (3 I - J F^T J F) / 2.
    """
    d = layout.samples.shape[1]
    for g in range(layout.sides.shape[0]):
        first, last = layout.starts[g], layout.starts[g + 1]
        if first == last:
            continue
        if layout.frame_of_group[g] < 0:
            for c in range(first, last):
                for _ in range(2):
                    square = 0.0
                    for i in range(d):
                        square += columns[c, i] ** 2
                    size = columns[c, d] ** 2 + square
                    if size == 0.0:
                        break
                    shift = (invariants[c] - (columns[c, d] ** 2 - square)) / (2.0 * size)
                    for i in range(d):
                        columns[c, i] *= 1.0 - shift
                    columns[c, d] *= 1.0 + shift
            continue
        restore_frame(columns[first:last])


@njit(cache=True)
def restore_frame(frame: FloatArray) -> None:
    """One Newton-Schulz step F (3 I - J F^T J F) / 2 towards the Lorentz group; the rows are the columns of F."""
    width = frame.shape[0]
    d = width - 1
    product = np.empty((width, width))
    fixed = np.empty((width, width))
    for p in range(width):
        for q in range(width):
            total = -frame[p, d] * frame[q, d]
            for i in range(d):
                total += frame[p, i] * frame[q, i]
            if p == d:
                total = -total
            product[p, q] = (3.0 if p == q else 0.0) - total
    for q in range(width):
        for i in range(width):
            total = 0.0
            for p in range(width):
                total += frame[p, i] * product[p, q]
            fixed[q, i] = 0.5 * total
    frame[:] = fixed


@njit(cache=True)
def dense_polynomial(
    columns: FloatArray,
    end: FloatArray,
    slopes: FloatArray,
    rates: FloatArray,
    step: float,
    elapsed: float,
    log_rate: float,
    layout: Layout,
) -> tuple[FloatArray, FloatArray]:
    """Bernstein coefficients over the step of the columns, (8, C, d + 1), and of the elapsed time, (8,).

    Stage 12 must hold the slope at `end`. Three more stages are taken.
    """
    num_columns, width = columns.shape
    scratch = np.empty((num_columns, width))
    for extra in range(3):
        for c in range(num_columns):
            for i in range(width):
                total = 0.0
                for s in range(13 + extra):
                    total += _EXTRA_STAGES[extra, s] * slopes[s, c, i]
                scratch[c, i] = columns[c, i] + step * total
        rates[13 + extra] = velocity(scratch, layout, log_rate, slopes[13 + extra])[0]
    coefficients = np.empty((8, num_columns, width))
    factors = np.empty(7)
    for c in range(num_columns):
        for i in range(width):
            change = end[c, i] - columns[c, i]
            factors[0] = change
            factors[1] = step * slopes[0, c, i] - change
            factors[2] = 2.0 * change - step * (slopes[12, c, i] + slopes[0, c, i])
            for row in range(4):
                total = 0.0
                for s in range(16):
                    total += _DENSE[row, s] * slopes[s, c, i]
                factors[3 + row] = step * total
            for b in range(8):
                total = columns[c, i]
                for f in range(7):
                    total += _BERNSTEIN[b, f] * factors[f]
                coefficients[b, c, i] = total
    factors[0] = elapsed
    factors[1] = step * rates[0] - elapsed
    factors[2] = 2.0 * elapsed - step * (rates[12] + rates[0])
    for row in range(4):
        total = 0.0
        for s in range(16):
            total += _DENSE[row, s] * rates[s]
        factors[3 + row] = step * total
    clock = np.zeros(8)
    for b in range(8):
        for f in range(7):
            clock[b] += _BERNSTEIN[b, f] * factors[f]
    return coefficients, clock


@njit(cache=True)
def columns_at(coefficients: FloatArray, theta: float) -> FloatArray:
    """The columns at the fraction `theta` of the step, by de Casteljau's rule."""
    work = coefficients.copy()
    for level in range(1, 8):
        for b in range(8 - level):
            work[b] = (1.0 - theta) * work[b] + theta * work[b + 1]
    return work[0].copy()


@njit(cache=True)
def gradient_moments(columns: FloatArray, layout: Layout) -> tuple[float, float, float]:
    """|grad L|^2, <parameters, -grad L> and |parameters|^2, the gradient relative to the rate R."""
    d = layout.samples.shape[1]
    forces, _ = relative_forces(outputs_of(columns, layout), layout)
    pull = group_forces(forces, layout)
    square, along, size = 0.0, 0.0, 0.0
    moment = np.empty((d + 1, d + 1))
    for g in range(layout.sides.shape[0]):
        first, last = layout.starts[g], layout.starts[g + 1]
        if first == last:
            continue
        frame = layout.frame_of_group[g]
        moment[:] = 0.0
        if frame < 0:
            for c in range(first, last):
                for p in range(d + 1):
                    for q in range(d + 1):
                        moment[p, q] += layout.weights[c] * columns[c, p] * columns[c, q]
        else:
            for e in range(d + 1):
                for f in range(d + 1):
                    for p in range(d + 1):
                        for q in range(d + 1):
                            moment[p, q] += layout.moments[frame, e, f] * columns[first + e, p] * columns[first + f, q]
        strength = 0.0
        for i in range(d):
            strength += pull[g, i] ** 2
            along += 2.0 * moment[i, d] * pull[g, i]
            size += moment[i, i]
            for k in range(d):
                square += moment[i, k] * pull[g, i] * pull[g, k]
        square += moment[d, d] * strength
        size += moment[d, d]
    return square, along, size
