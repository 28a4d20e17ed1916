"""Machine-code kernels that step the smooth flow: one step of order eight, its dense polynomial, the invariants.

The coefficients are those of DOP853 (Hairer, Norsett & Wanner), as SciPy carries them.
"""

from __future__ import annotations

from math import comb

import numpy as np
from scipy.integrate import DOP853

from reluflow.arrays import FloatArray, FloatCube, FloatMatrix, FloatVector, IntVector
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.dynamics.event_driven.tuning import DRIFTED, LARGE_COLUMN
from reluflow.dynamics.shared.flow_kernels import Layout, make_forces, write_velocity

_STAGES = np.ascontiguousarray(DOP853.A)
_WEIGHTS = np.ascontiguousarray(DOP853.B)
_ERROR_FIFTH = np.ascontiguousarray(DOP853.E5[:12])
_ERROR_THIRD = np.ascontiguousarray(DOP853.E3[:12])
_EXTRA_STAGES = np.ascontiguousarray(DOP853.A_EXTRA)
_DENSE = np.ascontiguousarray(DOP853.D)


def _bernstein_of_dense() -> FloatArray:
    """Bernstein coefficients of the seven dense-output factors theta^i (1 - theta)^j, shape (8, 7)."""
    powers = ((1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (4, 3))
    table = np.zeros((8, 7))
    for column, (i, j) in enumerate(powers):
        rest = 7 - i - j
        for extra in range(rest + 1):
            table[i + extra, column] += comb(rest, extra) / comb(7, i + extra)
    return table


_BERNSTEIN = _bernstein_of_dense()
_PIECE = 512  # entries that stay in the cache while stages are added to them
LARGEST_COLUMN = 1e150  # columns beyond it have squares that are no doubles


@borrowing_kernel()
def write_sum(slopes: FloatCube, weights: FloatVector, num_stages: int, total: FloatMatrix) -> None:
    """Write sum_s weights[s] slopes[s] over the first stages, in pieces that the processor adds many at a time."""
    rows, sums = slopes.reshape(slopes.shape[0], total.size), total.reshape(total.size)
    for first in range(0, total.size, _PIECE):
        piece = sums[first : first + _PIECE]
        piece[:] = 0.0
        for s in range(num_stages):
            weight, row = weights[s], rows[s, first : first + _PIECE]
            for e in range(piece.shape[0]):
                piece[e] += weight * row[e]


@borrowing_kernel()
def write_towards(
    columns: FloatMatrix, slopes: FloatCube, weights: FloatVector, num_stages: int, step: float, end: FloatMatrix
) -> None:
    """Write columns + step * `write_sum`."""
    write_sum(slopes, weights, num_stages, end)
    starts, ends = columns.reshape(columns.size), end.reshape(end.size)
    for e in range(ends.shape[0]):
        ends[e] = starts[e] + step * ends[e]


@kernel()
def attempt_step(
    columns: FloatMatrix,
    slopes: FloatCube,
    rates: FloatVector,
    step: float,
    log_rate: float,
    layout: Layout,
    end: FloatMatrix,
) -> tuple[float, float]:
    """One step of order eight into `end`; returns its error per unit of tolerance 1 and the elapsed time.

    `slopes` (16, C, d + 1) and `rates` (16,) hold the stages; stage 0 is given. The error is the largest over the
    columns of |error| / |column|: relative, so that a neuron of norm 1e-300 is as exact in direction as any other.
    """
    num_columns, width = columns.shape
    made, tableau, weights = make_forces(layout), _STAGES.copy(), _WEIGHTS.copy()  # constants are of another type
    for stage in range(1, 12):
        write_towards(columns, slopes, tableau[stage], stage, step, end)
        rates[stage] = write_velocity(end, layout, log_rate, slopes[stage], made)[0]
    num_stages = weights.shape[0]
    write_towards(columns, slopes, weights, num_stages, step, end)
    error_fifth, error_third = np.empty((num_columns, width)), np.empty((num_columns, width))
    write_sum(slopes, _ERROR_FIFTH.copy(), num_stages, error_fifth)
    write_sum(slopes, _ERROR_THIRD.copy(), num_stages, error_third)
    worst = 0.0
    for c in range(num_columns):
        size_start, size_end, fifth, third = 0.0, 0.0, 0.0, 0.0
        for i in range(width):
            if layout.moves_outputs or i < width - 1:  # a frozen a may be of any size beside w
                size_start += columns[c, i] ** 2
                size_end += end[c, i] ** 2
            fifth += error_fifth[c, i] ** 2
            third += error_third[c, i] ** 2
        if fifth > 0.0:
            size = np.sqrt(max(size_start, size_end))
            error = step * fifth / np.sqrt(fifth + 0.01 * third) / size
            if not error < np.inf:  # squares that overflow give nan, which a maximum passes over
                return np.inf, np.inf
            worst = max(worst, error)
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


@kernel(entry=True)
def restore_invariants(columns: FloatMatrix, layout: Layout, invariants: FloatVector) -> None:
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


@kernel()
def restore_frame(frame: FloatMatrix) -> None:
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
    for q in range(width):
        for i in range(width):
            frame[q, i] = fixed[q, i]


@kernel()
def write_dense(
    columns: FloatMatrix,
    end: FloatMatrix,
    slopes: FloatCube,
    rates: FloatVector,
    step: float,
    elapsed: float,
    log_rate: float,
    layout: Layout,
    dense: FloatCube,
    clock: FloatVector,
) -> None:
    """Write the Bernstein coefficients over the step of the columns, (8, C, d + 1), and of the elapsed time, (8,).

    Stage 12 must hold the slope at `end`. Three more stages are taken.
    """
    num_columns, width = columns.shape
    scratch = np.empty((num_columns, width))
    made, tableau = make_forces(layout), _EXTRA_STAGES.copy()
    for extra in range(3):
        write_towards(columns, slopes, tableau[extra], 13 + extra, step, scratch)
        rates[13 + extra] = write_velocity(scratch, layout, log_rate, slopes[13 + extra], made)[0]
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
                dense[b, c, i] = total
    factors[0] = elapsed
    factors[1] = step * rates[0] - elapsed
    factors[2] = 2.0 * elapsed - step * (rates[12] + rates[0])
    for row in range(4):
        total = 0.0
        for s in range(16):
            total += _DENSE[row, s] * rates[s]
        factors[3 + row] = step * total
    for b in range(8):
        clock[b] = 0.0
        for f in range(7):
            clock[b] += _BERNSTEIN[b, f] * factors[f]


@kernel()
def take_step(
    columns: FloatMatrix,
    slopes: FloatCube,
    rates: FloatVector,
    step: float,
    log_rate: float,
    layout: Layout,
    end: FloatMatrix,
    invariants: FloatVector,
    tolerance: float,
) -> tuple[float, float, float]:
    """`attempt_step` and, where that meets the tolerance, `finish_step`: the error, the elapsed time and ln R there.

    The error is infinite where the step left the range of a double, or its squares did, and the estimate shows nothing.
    With weight decay the step is left unfinished.
    """
    error, elapsed = attempt_step(columns, slopes, rates, step, log_rate, layout, end)
    if not np.isfinite(elapsed):
        return np.inf, elapsed, 0.0
    for c in range(end.shape[0]):
        for i in range(end.shape[1]):
            if not abs(end[c, i]) < LARGEST_COLUMN:
                return np.inf, elapsed, 0.0
    if not error / tolerance <= 1.0 or layout.weight_decay > 0.0:
        return error, elapsed, 0.0
    return error, elapsed, finish_step(slopes, rates, log_rate, layout, end, invariants)


@kernel(entry=True)
def finish_step(
    slopes: FloatCube,
    rates: FloatVector,
    log_rate: float,
    layout: Layout,
    end: FloatMatrix,
    invariants: FloatVector,
) -> float:
    """Put the end of a step back on its quadric, write the slope there into stage 12 and return ln R there."""
    if layout.moves_outputs and layout.weight_decay == 0.0:
        restore_invariants(end, layout, invariants)
    rates[12], log_rate_end = write_velocity(end, layout, log_rate, slopes[12], make_forces(layout))
    return float(log_rate_end)


@borrowing_kernel()
def have_drifted(columns: FloatMatrix, column_neurons: IntVector) -> bool:
    """Whether a neuron column has drifted from norm 1, or the row of a propagator has grown too large."""
    for c in range(columns.shape[0]):
        size = 0.0
        for i in range(columns.shape[1]):
            size += columns[c, i] ** 2
        if abs(size - 1.0) > DRIFTED if column_neurons[c] >= 0 else size > LARGE_COLUMN:
            return True
    return False


@kernel(entry=True)
def columns_at(coefficients: FloatCube, theta: float) -> FloatArray:
    """The columns at the fraction `theta` of the step."""
    columns = np.empty((coefficients.shape[1], coefficients.shape[2]))
    write_columns_at(coefficients, 0, theta, columns)
    return columns


@borrowing_kernel()
def write_columns_at(coefficients: FloatCube, first: int, theta: float, columns: FloatMatrix) -> None:
    """Write the columns from `first` on at the fraction `theta` of the step, as many as there is room for."""
    binomials = (1.0, 7.0, 21.0, 35.0, 35.0, 21.0, 7.0, 1.0)
    columns[:, :] = 0.0
    for b in range(8):
        weight = binomials[b] * theta**b * (1.0 - theta) ** (7 - b)
        for c in range(columns.shape[0]):
            for i in range(columns.shape[1]):
                columns[c, i] += weight * coefficients[b, first + c, i]
