"""Machine-code kernels for vectors, and for polynomials that have a part for every output.

A pull D(tau) on a neuron has d rows and K columns, one for each output, and moves w by D v. Its columns are kept one
after the other: row c q + l of a (K q, d) matrix is the coefficient of tau^l of column c, and likewise for strengths
(K q,). What a neuron feels of them is their sum along the direction of its v, a unit vector; of one output that is 1,
and the sign of a is kept apart.
"""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatMatrix, FloatVector
from reluflow.compilation.kernel import borrowing_kernel

FAST = {"reassoc", "contract"}


@borrowing_kernel()
def copy_vector(source: FloatVector, target: FloatVector) -> None:
    """target = source; Numba takes a second to compile the same for slices, which may have any shape."""
    for i in range(target.shape[0]):
        target[i] = source[i]


@borrowing_kernel(fastmath=FAST)
def dot(one: FloatVector, two: FloatVector) -> float:
    """<one, two>."""
    total = 0.0
    for i in range(one.shape[0]):
        total += one[i] * two[i]
    return total


@borrowing_kernel()
def norm(vector: FloatVector) -> float:
    """|vector|."""
    return float(np.sqrt(dot(vector, vector)))


@borrowing_kernel()
def value(coefficients: FloatVector, tau: float) -> float:
    """A polynomial in powers of tau."""
    total = 0.0
    for power in range(coefficients.shape[0] - 1, -1, -1):
        total = total * tau + coefficients[power]
    return total


@borrowing_kernel()
def value_along(coefficients: FloatVector, direction: FloatVector, tau: float) -> float:
    """Polynomials of every output (K q,), summed along a direction of the outputs (K,)."""
    q = coefficients.shape[0] // direction.shape[0]
    total = 0.0
    for c in range(direction.shape[0]):
        total += direction[c] * value(coefficients[c * q : (c + 1) * q], tau)
    return total


@borrowing_kernel()
def column_along(matrix: FloatMatrix, column: int, direction: FloatVector, tau: float) -> float:
    """`value_along` of a column of a matrix (K q, ...)."""
    q = matrix.shape[0] // direction.shape[0]
    total = 0.0
    for c in range(direction.shape[0]):
        part = 0.0
        for row in range((c + 1) * q - 1, c * q - 1, -1):
            part = part * tau + matrix[row, column]
        total += direction[c] * part
    return total


@borrowing_kernel(fastmath=FAST)
def pull_at(pull: FloatMatrix, tau: float, out: FloatVector) -> None:
    """D at tau, of one output."""
    if pull.shape[0] == 5:  # in one pass: this is done at every event
        row0, row1, row2, row3, row4 = pull[0], pull[1], pull[2], pull[3], pull[4]
        for axis in range(out.shape[0]):
            out[axis] = row0[axis] + tau * (row1[axis] + tau * (row2[axis] + tau * (row3[axis] + tau * row4[axis])))
        return
    copy_vector(pull[pull.shape[0] - 1], out)
    for row in range(pull.shape[0] - 2, -1, -1):
        for axis in range(out.shape[0]):
            out[axis] = out[axis] * tau + pull[row, axis]


@borrowing_kernel(fastmath=FAST)
def pull_along(pull: FloatMatrix, direction: FloatVector, tau: float, out: FloatVector) -> None:
    """D at tau times a direction of the outputs; of one output D itself."""
    if direction.shape[0] == 1:
        pull_at(pull, tau, out)
        return
    q = pull.shape[0] // direction.shape[0]
    for axis in range(out.shape[0]):
        out[axis] = 0.0
    for c in range(direction.shape[0]):
        factor = direction[c]
        for row in range(c * q, (c + 1) * q):
            source = pull[row]
            for axis in range(out.shape[0]):
                out[axis] += factor * source[axis]
            factor *= tau


@borrowing_kernel()
def square_of(vector: FloatVector) -> float:
    """|vector|^2, summed in order."""
    total = 0.0
    for i in range(vector.shape[0]):
        total += vector[i] * vector[i]
    return total


@borrowing_kernel()
def push_of(w: FloatVector, pull: FloatMatrix, tau: float, out: FloatVector) -> None:
    """D^T w at tau, shape (K,): how fast v moves."""
    q = pull.shape[0] // out.shape[0]
    for c in range(out.shape[0]):
        part = 0.0
        for row in range((c + 1) * q - 1, c * q - 1, -1):
            part = part * tau + dot(w, pull[row])
        out[c] = part


@borrowing_kernel()
def face_outputs(w: FloatVector, v: FloatVector, pull: FloatMatrix, tau: float, direction: FloatVector) -> float:
    """Write the direction of v, or where v is 0 the one that D^T w is about to give it; 1, or 0 where there is none."""
    length = norm(v)
    if length > 0.0:
        for c in range(v.shape[0]):
            direction[c] = v[c] / length
        return 1.0
    push_of(w, pull, tau, direction)
    length = norm(direction)
    if length > 0.0:
        for c in range(v.shape[0]):
            direction[c] /= length
        return 1.0
    return 0.0
