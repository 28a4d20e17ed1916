"""Newton's method in force space: how a change of the forces at the nodes changes the forces the outputs give back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve

from reluflow.dynamics.flow.radau import RadauRule
from reluflow.geometry.boundary.walls import Walls, orthonormal_rows

FloatArray = NDArray[np.float64]

_ON_WALL = 1e-12  # a pre-activation below this fraction of |z| is that of a neuron that slides
_ACTIVE = 1e-4  # samples whose force answers a change of the outputs by less than this are left to plain iteration


def tangent_kernel(
    z: FloatArray, mass: FloatArray, walls: Walls, leak: float, X: FloatArray, gram: FloatArray
) -> FloatArray:
    """dh_k/dt per unit force on sample l, shape (n, n), for neurons z with given masses.

    K_kl = sum_j mass_j s_jk s_jl (a_j^2 <x_k, x_l> + <w_j, x_k> <w_j, x_l>), where for a neuron that slides the samples
    are replaced by their projections along its walls.
    """
    heights = z[:, :-1] @ walls.normals.T
    sides = np.where(np.abs(heights) <= _ON_WALL * np.linalg.norm(z, axis=1)[:, None], 0, np.sign(heights))
    slopes = walls.slopes(sides.astype(np.int8), leak)
    outer = slopes * (np.sqrt(mass) * np.abs(z[:, -1]))[:, None]
    inner = slopes * (z[:, :-1] @ X.T) * np.sqrt(mass)[:, None]
    kernel = (outer.T @ outer) * gram + inner.T @ inner
    sliding = np.flatnonzero(np.any(sides == 0, axis=1))
    if sliding.size:
        across = [orthonormal_rows(walls.normals[sides[j] == 0]) @ X.T * outer[j] for j in sliding]
        normal = np.vstack(across)
        kernel -= normal.T @ normal
    return np.asarray(kernel)


class ForceNewton:
    """(I + H A (x) J)^-1 with J = -(d forces / d outputs) K, factored once for a step length.

    For a fading loss the forces are relative to their sum, so that d forces = -(I - f y^T) g dh.

    Parameters
    ----------
    rule
        The nodes.
    kernel
        The tangent kernel.
    curvatures
        g_k = c l'', relative to the rate for a fading loss, shape (n,).
    forces, labels
        f and y of a fading loss; None where forces are not relative.
    length
        H.
    """

    def __init__(
        self,
        rule: RadauRule,
        kernel: FloatArray,
        curvatures: FloatArray,
        forces: FloatArray | None,
        labels: FloatArray,
        length: float,
    ) -> None:
        self.rule, self.length = rule, length
        self.active = np.flatnonzero(curvatures * np.diag(kernel) * length > _ACTIVE)
        self.forces, self.labels = forces, labels
        rows = curvatures[self.active, None] * kernel[self.active]  # (n_active, n)
        self.rows = rows
        matrix = rows[:, self.active].copy()
        if forces is not None:
            matrix -= np.outer(rows @ forces, labels[self.active])
        identity = np.eye(len(self.active))
        self.factors = []
        for value in rule.eigenvalues:
            scaled = matrix * (length * (value.real if value.imag == 0.0 else value))
            self.factors.append(lu_factor(identity + scaled, check_finite=False) if len(identity) else None)

    def solve(self, residual: FloatArray) -> FloatArray:
        """The correction of the forces at the nodes, shape (q, n)."""
        correction = np.zeros_like(residual)
        for i, value in enumerate(self.rule.eigenvalues):
            mode = self.rule.to_modes[i] @ residual
            if value.imag == 0.0:
                mode, value = mode.real, value.real
            answer = mode.copy()
            if self.factors[i] is not None:
                found = lu_solve(self.factors[i], self.rows @ mode, check_finite=False)
                answer[self.active] -= self.length * value * found
                if self.forces is not None:
                    answer += self.length * value * self.forces * (self.labels[self.active] @ found)
            correction += np.real(np.outer(self.rule.from_modes[:, i], answer))
        return correction
