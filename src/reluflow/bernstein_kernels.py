"""Machine-code kernels for polynomials in Bernstein form on [0, 1]: values and first roots.

Where all Bernstein coefficients have one sign there is no root; where they change sign once there is exactly one;
otherwise bisection by de Casteljau's rule separates the roots. So the first root is found whatever the polynomial does.
"""

from __future__ import annotations

from math import comb

import numpy as np

from reluflow.arrays import FloatArray, FloatVector
from reluflow.compilation.kernel import borrowing_kernel, kernel

NO_ROOT = 2.0
_MOST_POWERS = 33  # a series of 29 terms times the strength of a wall, a polynomial with 5
_INVERSE_BINOMIALS = np.array([[1.0 / max(comb(n, k), 1) for k in range(_MOST_POWERS)] for n in range(_MOST_POWERS)])


@borrowing_kernel()
def value_at(coefficients: FloatVector, theta: float) -> float:
    """A Bernstein polynomial at theta in [0, 1]."""
    degree = coefficients.shape[0] - 1
    rest, power, binomial = 1.0 - theta, 1.0, 1.0
    total = coefficients[0] * rest
    for i in range(1, degree):
        power *= theta
        binomial = binomial * (degree - i + 1) / i
        total = (total + power * binomial * coefficients[i]) * rest
    return float(total + power * theta * coefficients[degree])


@kernel(entry=True)
def values_at(coefficients: FloatVector, thetas: FloatVector) -> FloatArray:
    """A Bernstein polynomial at many places."""
    values = np.empty(thetas.shape[0])
    for index in range(thetas.shape[0]):
        values[index] = value_at(coefficients, thetas[index])
    return values


@kernel()
def first_root(coefficients: FloatVector, tolerance: float) -> float:
    """The first theta in [0, 1] at which a polynomial that starts positive turns negative, or `NO_ROOT`.

    A start within `tolerance` of zero counts as zero: a root that was already taken. If the polynomial starts below
    -tolerance the answer is 0. An excursion below zero of less than `tolerance` is rounding and is not reported. A root
    is located at zero itself, or, after a start at zero, where the polynomial falls below -tolerance.
    """
    size = coefficients.shape[0]
    smallest = coefficients[0]
    for b in range(1, size):
        smallest = min(smallest, coefficients[b])
    if smallest > 0.0 or smallest >= -tolerance:
        return NO_ROOT
    work = np.empty(size)
    for b in range(size):
        work[b] = coefficients[b]
    lead = 0
    while lead < size and abs(work[lead]) <= tolerance:
        work[lead] = 0.0
        lead += 1
    if work[0] < 0.0:
        return 0.0
    changes = 0
    for b in range(lead, size - 1):
        if (work[b] > 0.0) != (work[b + 1] > 0.0):
            changes += 1
    if changes == 1 and lead == 0 and work[size - 1] < -tolerance:
        return _bracketed_root(work, 0.0, 1.0)  # one change of sign of the coefficients: exactly one root
    below = _first_below(work, tolerance)
    if below > 1.0 or lead > 0:
        return below  # a zero at the start was taken before; what follows it is located to the tolerance only
    return _bracketed_root(work, 0.0, below)


@kernel()
def first_root_of_powers(powers: FloatVector, degree: int, before: float, tolerance: float, work: FloatVector) -> float:
    """`first_root` of a polynomial given by its powers, if it lies at or before `before`, else any later place.

    `work` has room for the Bernstein coefficients.
    """
    inverse = _INVERSE_BINOMIALS[degree]
    for k in range(degree + 1):
        work[k] = powers[k] * inverse[k]
    for level in range(1, degree + 1):
        for i in range(degree, level - 1, -1):
            work[i] += work[i - 1]
    changes, smallest = 0, work[0]
    for i in range(1, degree + 1):
        smallest = min(smallest, work[i])
        if (work[i] > 0.0) != (work[i - 1] > 0.0):
            changes += 1
    if smallest >= -tolerance:
        return NO_ROOT
    if changes == 1 and work[0] > tolerance and work[degree] < -tolerance:  # exactly one root
        end = min(before, 1.0)
        return NO_ROOT if _horner(powers, degree, end) > 0.0 else _only_root(powers, degree, end)
    return first_root(work[: degree + 1], tolerance)


@borrowing_kernel()
def _horner(powers: FloatVector, degree: int, theta: float) -> float:
    total = powers[degree]
    for i in range(degree - 1, -1, -1):
        total = total * theta + powers[i]
    return float(total)


@borrowing_kernel()
def _only_root(powers: FloatVector, degree: int, high: float) -> float:
    """The root between 0, where the polynomial is positive, and `high`, where it is not, to rounding (Newton)."""
    low, theta = 0.0, min(high, -powers[0] / powers[1]) if powers[1] < 0.0 else 0.5 * high
    for _ in range(100):
        value, slope = powers[degree], 0.0
        for i in range(degree - 1, -1, -1):
            slope = slope * theta + value
            value = value * theta + powers[i]
        if value > 0.0:
            low = theta
        elif value < 0.0:
            high = theta
        else:
            return theta
        following = theta - value / slope if slope != 0.0 else low
        if not low < following < high:
            following = 0.5 * (low + high)
            if not low < following < high:
                break
        if abs(following - theta) <= 2.3e-16 * theta:
            return following
        theta = following
    return high


@borrowing_kernel()
def _bracketed_root(coefficients: FloatVector, low: float, high: float) -> float:
    """A root between `low`, where the polynomial is positive, and `high`, where it is not, to rounding (Illinois)."""
    value_low, value_high = value_at(coefficients, low), value_at(coefficients, high)
    if value_high >= 0.0:
        return high
    side = 0
    for _ in range(100):
        middle = (low * value_high - high * value_low) / (value_high - value_low)
        if not low < middle < high:
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
        value = value_at(coefficients, middle)
        if value > 0.0:
            low, value_low = middle, value
            if side == 1:
                value_high *= 0.5
            side = 1
        elif value < 0.0:
            high, value_high = middle, value
            if side == -1:
                value_low *= 0.5
            side = -1
        else:
            return middle
        if high - low <= 2.3e-16 * high:
            break
    return high


@kernel()
def _first_below(coefficients: FloatVector, tolerance: float) -> float:
    """The first theta at which a polynomial falls below -tolerance, or `NO_ROOT`, by bisection."""
    size = coefficients.shape[0]
    work = np.empty(size)
    left = np.empty(size)
    stack = np.empty((64, size))
    ends = np.empty((64, 2))
    for b in range(size):
        stack[0, b] = coefficients[b]
    ends[0, 0], ends[0, 1] = 0.0, 1.0
    depth = 1
    while depth > 0:
        depth -= 1
        low, high = ends[depth, 0], ends[depth, 1]
        is_below = False
        for b in range(size):
            work[b] = stack[depth, b]
            if work[b] < -tolerance:
                is_below = True
        if not is_below:
            continue
        if work[0] < -tolerance:
            return float(low)
        middle = 0.5 * (low + high)
        if depth > 60 or middle <= low or middle >= high:
            return float(high)
        for level in range(size):
            left[level] = work[0]
            for b in range(size - 1 - level):
                work[b] = 0.5 * (work[b] + work[b + 1])
        for b in range(size):
            stack[depth, b] = work[b]  # the right half
            stack[depth + 1, b] = left[b]
        ends[depth, 0], ends[depth, 1] = middle, high
        ends[depth + 1, 0], ends[depth + 1, 1] = low, middle
        depth += 2
    return NO_ROOT
