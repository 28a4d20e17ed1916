"""Appendices E.3 and E.4: one sample, one neuron on its hyperplane, no solution or many [min2024].

The sample is x = (1, 0) and the neuron starts at w = (0, 1), a = 1, with the exponential loss. Only w_1 and a move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def boundary_field(
    w_1: FloatArray, a: FloatArray, *, label: float, slope_at_zero: float
) -> tuple[FloatArray, FloatArray]:
    """(dw_1/dt, da/dt) with sigma'(0) = `slope_at_zero`."""
    slope = np.where(w_1 > 0.0, 1.0, np.where(w_1 == 0.0, slope_at_zero, 0.0))
    force = label * np.exp(-label * a * np.maximum(w_1, 0.0))
    return np.asarray(a * slope * force), np.asarray(np.maximum(w_1, 0.0) * force)


def euler_path(*, label: float, slope_at_zero: float, step: float, num_steps: int) -> FloatArray:
    """w_1 along explicit Euler steps from the hyperplane, shape (num_steps + 1,).

    With label -1 and a positive slope at zero it moves once, to -step * slope, and stops there.
    """
    if step <= 0.0 or num_steps < 1:
        raise InvalidInputError(f"`step` must be positive and `num_steps` at least 1, got {step} and {num_steps}.")
    w_1, a = np.zeros(1), np.ones(1)
    path = [0.0]
    for _ in range(num_steps):
        move, turn = boundary_field(w_1, a, label=label, slope_at_zero=slope_at_zero)
        w_1, a = w_1 + step * move, a + step * turn
        path.append(float(w_1[0]))
    return np.array(path)


@dataclass(frozen=True, eq=False)
class LeavingPath:
    """The solution for label 1 that waits until `wait` and then leaves: w_1 = sinh s, a = cosh s.

    Its clock is t = wait + int_0^s exp(sinh(2u)/2) du.
    """

    wait: float = 0.0

    def clock(self, s: float) -> float:
        """The time at parameter s, by Gauss-Legendre quadrature on pieces of length at most 1/4."""
        pieces = max(1, math.ceil(4.0 * s))
        edges = np.linspace(0.0, s, pieces + 1)
        total = 0.0
        for left, right in pairwise(edges):
            u = 0.5 * (right - left) * (_NODES + 1.0) + left
            total += 0.5 * (right - left) * float(_WEIGHTS @ np.exp(0.5 * np.sinh(2.0 * u)))
        return self.wait + total

    def parameter(self, time: float) -> float:
        """The s with clock(s) = time, 0 while it waits; bisection, for the clock is increasing."""
        if time <= self.wait:
            return 0.0
        low, high = 0.0, 1.0
        while self.clock(high) < time:
            high *= 2.0
        for _ in range(70):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.clock(middle) < time else (low, middle)
        return 0.5 * (low + high)

    def __call__(self, times: ArrayLike) -> FloatArray:
        """(w_1, a) at the given times, shape (k, 2)."""
        parameters = np.array([self.parameter(float(t)) for t in np.ravel(times)])
        return np.column_stack([np.sinh(parameters), np.cosh(parameters)])


def path_residual(
    path: Callable[[FloatArray], FloatArray],
    end: float,
    *,
    label: float,
    slope_at_zero: float,
    breaks: tuple[float, ...] = (),
) -> float:
    """|theta(end) - theta(0) - int_0^end F(theta(s)) ds| of a path by quadrature on pieces between `breaks`.

    References
    ----------
    Min et al. (2024), App. E.1 [min2024].
    """
    edges = [0.0, *(b for b in breaks if 0.0 < b < end), end]
    total = np.zeros(2)
    for left, right in pairwise(edges):
        s = 0.5 * (right - left) * (_NODES + 1.0) + left
        states = path(s)
        move, turn = boundary_field(states[:, 0], states[:, 1], label=label, slope_at_zero=slope_at_zero)
        total += 0.5 * (right - left) * np.array([_WEIGHTS @ move, _WEIGHTS @ turn])
    ends = path(np.array([0.0, end]))
    return float(np.linalg.norm(ends[1] - ends[0] - total))
