"""The data hyperplanes as neurons feel them: copies and opposites of a sample act as one.

Samples x_k = c_k u share one hyperplane with unit normal u. On its plus side it pulls a neuron along u with the
strength sum_k eta_k r_k c_k, eta_k = 1 where c_k > 0 and `leak` where c_k < 0; on its minus side the other way round.
On the hyperplane the slopes are tied (eta of x and of -x add up to 1 + leak): the strength runs over the interval
between the two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.errors import InvalidInputError
from reluflow.geometry.boundary_kernels import NO_KINK

SAME_DIRECTION = 1e-12  # two unit samples this close, coordinate by coordinate, span one hyperplane


@dataclass(frozen=True, eq=False)
class Hyperplanes:
    """Grouped samples with the strengths of their pull.

    Parameters
    ----------
    normals
        Unit normals, shape (num_hyperplanes, d).
    plus, minus
        Strength along the normal on its plus and on its minus side.
    index, orientation
        For each sample its hyperplane, -1 for a zero sample; and 1, -1 or 0: along the normal, against it, nowhere.
    """

    normals: FloatArray
    plus: FloatArray
    minus: FloatArray
    index: IntArray
    orientation: SignArray

    @classmethod
    def of(cls, X: ArrayLike, forces: ArrayLike, leak: float) -> Hyperplanes:
        """Group the samples; the first of each group gives the normal.

        >>> planes = Hyperplanes.of([[0.0, 2.0], [0.0, -1.0]], [1.0, -3.0], leak=0.0)
        >>> planes.normals.tolist(), planes.plus.tolist(), planes.minus.tolist()
        ([[0.0, 1.0]], [2.0], [3.0])
        """
        samples, pulls = np.array(X, dtype=np.float64), np.array(forces, dtype=np.float64)
        if samples.ndim != 2 or samples.size == 0:
            raise InvalidInputError(f"`X` must have shape (n, d) with n and d at least 1, got {samples.shape}.")
        n, d = samples.shape
        if pulls.shape != (n,):
            raise InvalidInputError(f"`forces` must hold one number for each of the {n} samples, got {pulls.shape}.")
        for name, values in (("X", samples), ("forces", pulls)):
            if not np.all(np.isfinite(values)):
                raise InvalidInputError(f"`{name}` must be finite, got {values[~np.isfinite(values)][0]}.")
        if not 0.0 <= leak <= 1.0:
            raise InvalidInputError(f"`leak` must lie in [0, 1], got {leak}.")
        largest = np.max(np.abs(samples), axis=1)
        unit = samples / np.where(largest > 0, largest, 1.0)[:, None]  # first, so that squares do not underflow
        size = np.linalg.norm(unit, axis=1)
        unit /= np.where(size > 0, size, 1.0)[:, None]
        index = np.full(n, -1, dtype=np.int64)
        orientation = np.zeros(n, dtype=np.int8)
        first: list[int] = []
        for k in range(n):
            if index[k] >= 0 or size[k] == 0:
                continue
            left = np.flatnonzero((index < 0) & (size > 0))
            for sign in (1, -1):
                same = left[np.max(np.abs(unit[left] - sign * unit[k]), axis=1) <= SAME_DIRECTION]
                index[same], orientation[same] = len(first), sign
            first.append(k)
        pull = pulls * size * largest * orientation
        on = np.where(orientation > 0, 1.0, leak) * pull
        off = np.where(orientation > 0, leak, 1.0) * pull
        is_sample = index >= 0
        plus, minus = np.zeros(len(first)), np.zeros(len(first))
        np.add.at(plus, index[is_sample], on[is_sample])
        np.add.at(minus, index[is_sample], off[is_sample])
        return cls(np.ascontiguousarray(unit[first]).reshape(-1, d), plus, minus, index, orientation)

    @property
    def scale(self) -> float:
        """Sum of the largest strengths: what a force is small against."""
        return float(np.sum(np.maximum(np.abs(self.plus), np.abs(self.minus))))

    @property
    def has_kink(self) -> NDArray[np.bool_]:
        """Whether the strength jumps across each hyperplane; not where odd forces on x and -x cancel."""
        return np.asarray(np.abs(self.plus - self.minus) > NO_KINK * self.scale)

    @property
    def members(self) -> IntArray:
        """How many samples each hyperplane stands for."""
        return np.bincount(self.index[self.index >= 0], minlength=self.plus.size)

    def patterns(self, sides: SignArray) -> SignArray:
        """SignArray of <w, x_k>, shape (m, n), from sides of hyperplanes, shape (m, num_hyperplanes)."""
        padded = np.hstack([sides, np.zeros((sides.shape[0], 1), np.int8)])
        return np.asarray(padded[:, self.index] * self.orientation)

    def vector(self, sides: SignArray) -> FloatArray:
        """D of a neuron with these sides that slides where they are 0: projected on those hyperplanes."""
        is_smooth = (sides == 0) & ~self.has_kink
        strengths = np.where((sides > 0) | is_smooth, self.plus, np.where(sides < 0, self.minus, 0.0))
        total = np.asarray(strengths @ self.normals)
        on = self.normals[(sides == 0) & self.has_kink]
        if on.size == 0:
            return total
        _, singular, basis = np.linalg.svd(on, full_matrices=False)
        basis = basis[singular > 1e-10]
        return np.asarray(total - (total @ basis.T) @ basis)

    def vectors_at(self, directions: FloatArray) -> FloatArray:
        """D at directions off every hyperplane, shape (m, d)."""
        return np.asarray(np.where(directions @ self.normals.T > 0, self.plus, self.minus) @ self.normals)
