"""Newton's method in force space: how a change of the forces at the nodes changes the forces the outputs give back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from reluflow.arrays import FloatArray, IntArray
from reluflow.budget import count
from reluflow.dynamics.collocation.curvatures import curved
from reluflow.dynamics.collocation.radau import RadauRule
from reluflow.dynamics.collocation.tuning import PLAIN_ITERATION_SHARE, SINGLE_PRECISION_STIFFNESS

# of 1e9 a second, for a matrix between forces and its kernel: fitted to 44 runs with those of `carried_neurons`
_OPERATIONS_A_MATRIX, _OPERATIONS_AN_ENTRY = 7e5, 2.4


class _Factored:
    """A square matrix in LU form; solving with one that is singular to rounding gives zeros: no correction."""

    def __init__(self, matrix: NDArray[Any]) -> None:
        factor: Any = get_lapack_funcs("getrf", (matrix,))
        self._lu, self._pivots, info = factor(matrix, overwrite_a=True)
        self._is_singular = info != 0

    def solve(self, right: NDArray[Any]) -> NDArray[Any]:
        if self._is_singular:
            return np.zeros_like(right)
        solver: Any = get_lapack_funcs("getrs", (self._lu, right))
        return np.asarray(solver(self._lu, self._pivots, right)[0])


def _by_modes(rule: RadauRule, factors: list[_Factored], right: FloatArray, length: float) -> FloatArray:
    """H A (I + H A (x) M)^-1 applied to `right` (q, r), with I + H mu M of every eigenvalue mu of A in LU form."""
    answers = np.zeros_like(right)
    for i, mu in enumerate(rule.eigenvalues):
        mode = rule.to_modes[i] @ right
        found = factors[i].solve(mode.real if mu.imag == 0.0 else mode)
        answers += np.real(np.outer(length * mu * rule.from_modes[:, i], found))
    return answers


def stiff_samples(answers: FloatArray) -> IntArray:
    """The samples that Newton's method must treat: all but those whose `answers` (H g_k K_kk) are small together.

    These are the diagonal of a positive semi-definite matrix, so their sum bounds what is left out.
    """
    order = np.argsort(answers)
    return np.sort(order[np.cumsum(answers[order]) > PLAIN_ITERATION_SHARE])


class FewModes:
    """(I + H A (x) J)^-1 for many samples, with the tangent kernel replaced by its largest modes.

    The other modes bend the forces little within a step; plain iteration mends that.

    Parameters
    ----------
    rule, curvatures, forces, labels, length
        As for `ForceNewton`.
    modes, values
        Columns (n, r) and numbers with kernel = modes diag(values) modes^T up to what is left out.
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
        count(_OPERATIONS_A_MATRIX + _OPERATIONS_AN_ENTRY * len(labels) ** 2)
        self._modes, self._forces, self._labels = modes, forces, labels
        self._answer = curved(curvatures, modes) * values  # (n K, r): what outputs of the modes do to the forces
        self.stiffness = length * float(np.max(np.sum(np.abs(self._answer), axis=1)))
        matrix = modes.T @ self._answer
        if forces is not None:
            matrix -= np.outer(forces @ modes, labels @ self._answer)
        identity = np.eye(len(values))
        self._factors = [
            _Factored(identity + matrix * (length * (mu.real if mu.imag == 0.0 else mu))) for mu in rule.eigenvalues
        ]

    def solve(self, residual: FloatArray) -> FloatArray:
        """The correction of the forces at the nodes, shape (q, n)."""
        change = _by_modes(self.rule, self._factors, residual @ self._modes, self.length) @ self._answer.T
        return np.asarray(residual - self._of_shares(change))

    def damped(self, residual: FloatArray) -> FloatArray:
        """What is left of a residual of the forces, shape (P, n), that lasts as long as the step."""
        mu = self.length * self.rule.eigenvalues[0].real
        change = mu * self._factors[0].solve((residual @ self._modes).T).T @ self._answer.T
        return np.asarray(residual - self._of_shares(change))

    def _of_shares(self, change: FloatArray) -> FloatArray:
        """Changes of forces that are relative to their sum, where they are."""
        if self._forces is None:
            return change
        return np.asarray(change - np.outer(change @ self._labels, self._forces))


class ForceNewton:
    """(I + H A (x) J)^-1 with J = -(d forces / d outputs) K, factored once for a step length.

    For a fading loss the forces are relative to their sum, so that d forces = -(I - f y^T) g dh.

    Parameters
    ----------
    rule
        The nodes.
    rows
        g_k K_kl for the samples k that matter, shape (r, n), with g = c l'', relative to the rate for a fading loss.
    active
        Those samples, shape (r,); the others are left to plain iteration.
    forces, labels
        f and y of a fading loss; None where forces are not relative.
    length
        H.
    """

    def __init__(
        self,
        rule: RadauRule,
        rows: FloatArray,
        active: IntArray,
        forces: FloatArray | None,
        labels: FloatArray,
        length: float,
    ) -> None:
        self.rule, self.length, self.rows, self.active = rule, length, rows, active
        self.forces, self.labels = forces, labels
        count(_OPERATIONS_A_MATRIX + _OPERATIONS_AN_ENTRY * len(labels) ** 2)
        matrix = rows[:, active]
        if forces is not None:
            matrix -= np.outer(rows @ forces, labels[active])
        self.factors = []
        self.stiffness = length * float(np.max(np.sum(np.abs(matrix), axis=1), initial=0.0))
        if self.stiffness <= SINGLE_PRECISION_STIFFNESS:
            matrix = matrix.astype(np.float32)
        for value in rule.eigenvalues if len(active) else ():
            factor = length * (value.real if value.imag == 0.0 else value)
            scaled = matrix * np.result_type(matrix.dtype, np.complex64 if value.imag else np.float32).type(factor)
            scaled.flat[:: len(scaled) + 1] += 1.0
            self.factors.append(_Factored(scaled))

    def solve(self, residual: FloatArray) -> FloatArray:
        """The correction of the forces at the nodes, shape (q, n)."""
        if not len(self.active):
            return residual.copy()
        return self._less(residual, _by_modes(self.rule, self.factors, residual @ self.rows.T, self.length))

    def damped(self, residual: FloatArray) -> FloatArray:
        """What is left of a residual of the forces, shape (P, n), that lasts as long as the step."""
        if not len(self.active):
            return residual.copy()
        mu = self.length * self.rule.eigenvalues[0].real
        return self._less(residual, mu * self.factors[0].solve((residual @ self.rows.T).T).T)

    def _less(self, residual: FloatArray, change: FloatArray) -> FloatArray:
        """A residual without a change of the active forces."""
        left = residual.copy()
        left[:, self.active] -= change
        if self.forces is not None:
            left += np.outer(change @ self.labels[self.active], self.forces)
        return left
