"""SpannedProblem: a training problem in coordinates of the space its samples span."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data import Dataset
from reluflow.dynamics.collocation.tuning import SMALL_DIMENSION, SPAN_SHARE
from reluflow.dynamics.problem import TrainingProblem

_TALL = 2  # with more rows per column the left factor, which is not needed, would cost most of the time


@dataclass(frozen=True, eq=False)
class SpannedProblem:
    """What moves of a problem: every pull is a sum of samples, so weights change only within their span.

    Parameters
    ----------
    problem
        The problem in coordinates of the span.
    basis
        Orthonormal rows spanning the samples, shape (r, d); None where the problem is the given one.
    outside
        The part of every w that no pull changes, shape (m, d), in units of the given network's scale.
    log_scale
        That scale.
    """

    problem: TrainingProblem
    basis: FloatArray | None
    outside: FloatArray
    log_scale: float

    @classmethod
    def of(cls, problem: TrainingProblem) -> SpannedProblem:
        """The problem in its span where that saves work.

        >>> from reluflow.losses import SquareLoss
        >>> from reluflow.network import Network
        >>> data = Dataset(np.eye(2, 40), [1.0, 2.0])
        >>> network = Network(w=np.ones((1, 40)), a=[1.0])
        >>> SpannedProblem.of(TrainingProblem(data, SquareLoss(), network)).problem.dataset.d
        2
        """
        X, network = np.asarray(problem.dataset.X), problem.network
        nothing = np.zeros((0, 0))
        if X.shape[1] <= SMALL_DIMENSION:
            return cls(problem, None, nothing, 0.0)
        triangle = np.linalg.qr(X, mode="r") if len(X) > _TALL * X.shape[1] else X
        _, singular, rows = np.linalg.svd(triangle, full_matrices=False)
        basis = rows[singular > np.finfo(np.float64).eps * max(X.shape) * singular[0]]
        if len(basis) > SPAN_SHARE * X.shape[1]:
            return cls(problem, None, nothing, 0.0)
        inside = network.w @ basis.T
        samples = Dataset(X @ basis.T, problem.dataset.y, task=problem.dataset.task, classes=problem.dataset.classes)
        inner = replace(problem, dataset=samples, network=network.replace(w=inside))
        return cls(inner, basis, np.asarray(network.w - inside @ basis), network.log_scale)

    def outward(self, w: FloatArray, log_unit: FloatArray | float, decayed: float = 0.0) -> FloatArray:
        """Input weights of the spanned problem as those of the given one.

        `log_unit` is the logarithm of what w is told in, for every neuron or for all; weight decay has shrunk what no
        pull changes by e^-decayed.
        """
        if self.basis is None:
            return w
        still = np.exp(self.log_scale - decayed - np.asarray(log_unit))
        return np.asarray(w @ self.basis + self.outside * (still[:, None] if still.ndim else still))

    def rotated(
        self, w: FloatArray, pulls: FloatArray, log_unit: FloatArray, decayed: float = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """Input weights and the pulls on them with the inner products that they have in the given coordinates.

        What no pull changes is one more coordinate.
        """
        if self.basis is None:
            return w, pulls
        still = np.linalg.norm(self.outside, axis=1) * np.exp(self.log_scale - decayed - log_unit)
        return np.column_stack([w, still]), np.concatenate([pulls, np.zeros((*pulls.shape[:-1], 1))], axis=-1)

    def pulls_outward(self, pulls: FloatArray) -> FloatArray:
        """Pulls on the neurons, which lie within the span, in the given coordinates."""
        return pulls if self.basis is None else np.asarray(pulls @ self.basis)
