"""Angles that never cancel: the gap to alignment, its logarithmic coordinate, and the deficit eps.

Throughout this package phi = pi - angle(w, w*) lies in (0, pi) and phi -> pi means aligned; the *gap* is
delta = pi - phi = angle(w, w*), and psi = log tan(phi/2) resolves both ends of the interval.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError

# sin x - x cos x = sum_k (-1)^(k+1) 2k x^(2k+1) / (2k+1)!; nine terms reach the last bit for |x| <= 1.
_SERIES = tuple((-1.0) ** (k + 1) * 2 * k / math.factorial(2 * k + 1) for k in range(9, 0, -1))
LARGEST_EXPONENT = 700.0  # whose exponential is a double


def arc_excess(x: ArrayLike) -> FloatArray:
    """sin x - x cos x to full relative accuracy, also where it behaves as x^3/3.

    >>> f"{arc_excess(1e-5):.12e}"
    '3.333333333300e-16'
    """
    angle = np.asarray(x, dtype=np.float64)
    is_small = np.abs(angle) < 1.0
    square = np.square(np.where(is_small, angle, 0.0))
    direct = np.sin(angle) - angle * np.cos(angle)
    return np.asarray(np.where(is_small, _series(square) * square * angle, direct))


def arc_excess_at(x: float) -> float:
    """The same of one angle, for integrators, which ask for one at a time."""
    if abs(x) < 1.0:
        square = x * x
        return float(_series(square) * square * x)
    return math.sin(x) - x * math.cos(x)


def overlap(phi: ArrayLike) -> FloatArray:
    """1 - eps = (sin phi - phi cos phi)/pi: twice E[s(<u,x>) s(<v,x>)] for unit u, v at angle pi - phi.

    References
    ----------
    Lee et al. (2022), Lemma 2.1 and Prop. 3.1 [lee2022].
    """
    return np.asarray(arc_excess(phi) / np.pi)


def deficit(gap: ArrayLike) -> FloatArray:
    """eps = 1 - (sin phi - phi cos phi)/pi from the gap delta = pi - phi; about delta^2/2 near alignment.

    >>> round(float(deficit(np.pi / 2)), 8)
    0.68169011

    References
    ----------
    Lee et al. (2022), Eq. (9) [lee2022].
    """
    delta = np.asarray(gap, dtype=np.float64)
    return np.asarray(2.0 * np.square(np.sin(0.5 * delta)) - arc_excess(delta) / np.pi)


def deficit_at(gap: float) -> float:
    """The same of one gap."""
    return float(2.0 * math.sin(0.5 * gap) ** 2 - arc_excess_at(gap) / math.pi)


def phi_of_psi(psi: ArrayLike) -> FloatArray:
    """phi = 2 arctan(exp psi)."""
    return np.asarray(2.0 * np.arctan(_exponential(psi)))


def gap_of_psi(psi: ArrayLike) -> FloatArray:
    """delta = 2 arctan(exp(-psi))."""
    return np.asarray(2.0 * np.arctan(_exponential(-np.asarray(psi, dtype=np.float64))))


def psi_of_phi(phi: ArrayLike) -> FloatArray:
    """psi = log tan(phi/2)."""
    return np.asarray(np.log(np.tan(0.5 * np.asarray(phi, dtype=np.float64))))


def psi_of_gap(gap: ArrayLike) -> FloatArray:
    """psi = -log tan(delta/2)."""
    return np.asarray(-np.log(np.tan(0.5 * np.asarray(gap, dtype=np.float64))))


def gap_between(w: ArrayLike, teacher: ArrayLike) -> FloatArray:
    """Angle between each column of `w` (or the vector `w`) and the teacher, as atan2 of its two components.

    An arccos would lose half the digits near alignment.

    >>> float(gap_between([1.0, 1e-12], [2.0, 0.0]))
    1e-12
    """
    student, target = np.asarray(w, dtype=np.float64), np.asarray(teacher, dtype=np.float64)
    if target.ndim != 1 or student.ndim not in (1, 2) or student.shape[0] != target.shape[0]:
        raise InvalidInputError(
            f"`w` must be a vector or a matrix of columns of the dimension of `teacher`, got shapes {student.shape} "
            f"and {target.shape}."
        )
    unit = target / np.linalg.norm(target)
    parallel = unit @ student
    perpendicular = np.linalg.norm(student - np.multiply.outer(unit, parallel), axis=0)
    return np.asarray(np.arctan2(perpendicular, parallel))


def _exponential(values: ArrayLike) -> FloatArray:
    """Exp that saturates below infinity, where the arctangent is pi/2 all the same."""
    return np.asarray(np.exp(np.minimum(values, LARGEST_EXPONENT)))


def _series(square: Any) -> Any:
    """The series of the arc excess over x^3, of one x^2 or of many."""
    total: Any = 0.0
    for coefficient in _SERIES:
        total = total * square + coefficient
    return total
