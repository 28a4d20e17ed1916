"""Newton's method in force space: how a change of the forces at the nodes changes the forces the outputs give back."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from reluflow.arrays import FloatArray
from reluflow.dynamics.flow.radau import RadauRule
from reluflow.dynamics.flow.tangent_kernels import normal_rows
from reluflow.geometry.boundary.walls import Walls

_ON_WALL = 1e-12  # a pre-activation below this fraction of |z| is that of a neuron that slides
_BLOCK = 1024
_FEWEST_MODES = 32
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
    kernel = outer.T.astype(gram.dtype) @ outer.astype(gram.dtype)
    kernel *= gram
    inner = inner.astype(gram.dtype)
    for first in range(0, len(kernel), _BLOCK):  # in place, as a second kernel may not fit
        kernel[first : first + _BLOCK] += inner[:, first : first + _BLOCK].T @ inner
    counts = np.count_nonzero(sides == 0, axis=1)
    if np.any(counts):
        starts = np.concatenate([[0], np.cumsum(counts)])
        normal = np.empty((starts[-1], len(X)), dtype=gram.dtype)
        normal_rows(sides.astype(np.int8), walls.first_sample, gram, outer.astype(gram.dtype), starts, normal)
        for first in range(0, len(kernel), _BLOCK):
            kernel[first : first + _BLOCK] -= normal[:, first : first + _BLOCK].T @ normal
    return np.asarray(kernel)


class FewModes:
    """(I + H A (x) J)^-1 for many samples, with the tangent kernel replaced by its largest modes.

    The other modes bend the forces little within a step; plain iteration mends that.

    Parameters
    ----------
    rule, curvatures, forces, labels, length
        As for `ForceNewton`.
    modes, values
        Orthonormal columns (n, r) and eigenvalues of the kernel.
    """

    def __init__(
        self,
        rule: RadauRule,
        modes: FloatArray,
        values: FloatArray,
        curvatures: FloatArray,
        forces: FloatArray | None,
        labels: FloatArray,
        length: float,
    ) -> None:
        self.rule, self.length = rule, length
        self._modes, self._forces, self._labels = modes, forces, labels
        self._answer = curvatures[:, None] * modes * values  # (n, r): what outputs of the modes do to the forces
        matrix = modes.T @ self._answer
        if forces is not None:
            matrix -= np.outer(forces @ modes, labels @ self._answer)
        identity = np.eye(len(values))
        self._factors = [
            lu_factor(identity + matrix * (length * (mu.real if mu.imag == 0.0 else mu)), check_finite=False)
            for mu in rule.eigenvalues
        ]

    def solve(self, residual: FloatArray) -> FloatArray:
        """The correction of the forces at the nodes, shape (q, n)."""
        correction = np.zeros_like(residual)
        for i, mu in enumerate(self.rule.eigenvalues):
            mode = self.rule.to_modes[i] @ residual
            if mu.imag == 0.0:
                mode, mu = mode.real, mu.real
            change = self._answer @ lu_solve(self._factors[i], mode @ self._modes, check_finite=False)
            if self._forces is not None:
                change = change - self._forces * (self._labels @ change)
            correction += np.real(np.outer(self.rule.from_modes[:, i], mode - self.length * mu * change))
        return correction


def largest_modes(
    kernel: FloatArray, smallest: float, guess: FloatArray | None
) -> tuple[FloatArray, FloatArray] | None:
    """Eigenvectors and eigenvalues of a symmetric kernel down to `smallest`, by subspace iteration; None if too many.

    `guess` is what an earlier kernel had.
    """
    n = len(kernel)
    rng = np.random.default_rng(0)
    rank = _FEWEST_MODES if guess is None else guess.shape[1]
    basis = np.zeros((n, 0), dtype=kernel.dtype) if guess is None else guess.astype(kernel.dtype)
    while rank <= n // 3:
        if basis.shape[1] < rank:
            basis = np.hstack([basis, rng.standard_normal((n, rank - basis.shape[1])).astype(kernel.dtype)])
        for _ in range(2):
            basis, _ = np.linalg.qr(kernel @ basis)
        values, vectors = np.linalg.eigh(basis.T @ (kernel @ basis))
        basis = basis @ vectors[:, ::-1]
        if values[0] <= smallest:
            return basis.astype(np.float64), values[::-1].astype(np.float64)
        rank *= 2
    return None


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
        for value in rule.eigenvalues if len(self.active) else ():
            scaled = matrix * (length * (value.real if value.imag == 0.0 else value))
            self.factors.append(lu_factor(identity + scaled, check_finite=False))

    def solve(self, residual: FloatArray) -> FloatArray:
        """The correction of the forces at the nodes, shape (q, n)."""
        correction = np.zeros_like(residual)
        for i, value in enumerate(self.rule.eigenvalues):
            mode = self.rule.to_modes[i] @ residual
            if value.imag == 0.0:
                mode, value = mode.real, value.real
            answer = mode.copy()
            if len(self.active):
                found = lu_solve(self.factors[i], self.rows @ mode, check_finite=False)
                answer[self.active] -= self.length * value * found
                if self.forces is not None:
                    answer += self.length * value * self.forces * (self.labels[self.active] @ found)
            correction += np.real(np.outer(self.rule.from_modes[:, i], answer))
        return correction
