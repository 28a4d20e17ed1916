"""Kernels that the alignment phase begins with: the work space of one neuron, and the first root of a quadratic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import FloatMatrix, FloatVector, IntVector, SignVector
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.geometry.boundary import decision


class Scratch(NamedTuple):
    """Work space of one neuron's flow, for num walls in dimension d."""

    now: SignVector  # (num,) side of each wall, 0 on it
    touched: IntVector  # (num,) the walls it is on
    none: SignVector  # (num,) zeros: no side is kept
    normals: FloatMatrix  # (num, d) of the walls it is on, with their strengths
    plus: FloatVector  # (num,)
    minus: FloatVector  # (num,)
    rest: FloatVector  # (d,) the pull of the others
    e: FloatVector  # (d,)
    perp: FloatVector  # (d,)
    basis: FloatMatrix  # (d + 1, d)
    triangle: FloatMatrix  # (d + 1, d + 1)
    choice: decision.Choice


@kernel()
def make_scratch(num: int, d: int) -> Scratch:
    """Work space for any neuron."""
    return Scratch(
        np.zeros(num, np.int8), np.zeros(num, np.int64), np.zeros(num, np.int8), np.zeros((num, d)), np.zeros(num),
        np.zeros(num), np.zeros(d), np.zeros(d), np.zeros(d), np.zeros((d + 1, d)), np.zeros((d + 1, d + 1)),
        decision.make_choice(num, d),
    )  # fmt: skip


@borrowing_kernel()
def first_root(quadratic: float, linear: float, constant: float) -> float:
    """Smallest e > 0 with quadratic e^2 + linear e + constant = 0 and a change of sign there; inf if none."""
    if constant == 0.0:
        return -linear / quadratic if quadratic * linear < 0 else np.inf
    if constant < 0.0:
        quadratic, linear, constant = -quadratic, -linear, -constant
    if quadratic == 0.0:
        return -constant / linear if linear < 0 else np.inf
    if quadratic > 0.0 and linear >= 0.0:
        return np.inf
    discriminant = linear * linear - 4.0 * quadratic * constant
    if discriminant <= 0.0:
        return np.inf
    root = np.sqrt(discriminant)
    return float(2.0 * constant / (root - linear) if linear < 0 else (linear + root) / (-2.0 * quadratic))
