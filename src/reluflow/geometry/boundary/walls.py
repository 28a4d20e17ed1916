"""Walls: the hyperplanes <w, x_k> = 0, one for each line of samples, and the pulls that a neuron feels on their sides.

Samples on one line through the origin (copies, multiples, opposites) x_k = c_k u share one wall with unit normal u. On
its plus side it pulls a neuron along u with the strength sum_k eta_k r_k c_k, eta_k = 1 where c_k > 0 and `leak` where
c_k < 0; on its minus side the other way round. On the wall itself the slopes are tied (eta of x and of -x add up to
1 + leak): the strength runs over the interval between the two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import BoolArray, FloatArray, IntArray, SignArray
from reluflow.errors import InvalidInputError
from reluflow.geometry.boundary.tolerance import ROUNDING


@dataclass(frozen=True, eq=False)
class Walls:
    """The distinct hyperplanes of some samples.

    Parameters
    ----------
    normals
        Unit normals, shape (num_walls, d); the first sample of each line gives its orientation.
    wall_of_sample
        Wall of each sample, shape (n,); 0 for a sample at the origin, which has none.
    first_sample
        One sample of each wall, shape (num_walls,), to name it by.
    orientation
        Sign of each sample along its wall's normal, shape (n,); 0 for a sample at the origin.
    length
        Norm of each sample, shape (n,).
    """

    normals: FloatArray
    wall_of_sample: IntArray
    first_sample: IntArray
    orientation: SignArray
    length: FloatArray

    @classmethod
    def of(cls, X: ArrayLike) -> Walls:
        """Gather the samples by the line they lie on.

        >>> Walls.of(np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 3.0]])).wall_of_sample
        array([0, 0, 1])
        """
        samples = np.array(X, dtype=np.float64)
        if samples.ndim != 2 or samples.size == 0:
            raise InvalidInputError(f"`X` must have shape (n, d) with n and d at least 1, got {samples.shape}.")
        if not np.all(np.isfinite(samples)):
            raise InvalidInputError(f"`X` must be finite, got {samples[~np.isfinite(samples)][0]}.")
        largest = np.max(np.abs(samples), axis=1)
        power = np.ldexp(np.ones(len(samples)), np.frexp(largest)[1])  # exact, and then squares do not underflow
        units = samples / power[:, None]
        size = np.sqrt(np.einsum("kd,kd->k", units, units))
        present = np.flatnonzero(largest > 0)
        units = units[present] / size[present, None]
        # a generic direction distinguishes the two ends of a line, and parallel samples are neighbours along it
        probe = np.random.default_rng(0).standard_normal((samples.shape[1],))
        probe /= np.linalg.norm(probe)
        projection = np.einsum("kd,d->k", units, probe)
        signs = np.where(projection < 0, -1, 1).astype(np.int8)
        first = _first_of_line(units * signs[:, None], np.abs(projection))
        leaders, wall = np.unique(first, return_inverse=True)
        wall_of_sample = np.zeros(len(samples), dtype=np.int64)
        orientation = np.zeros(len(samples), dtype=np.int8)
        wall_of_sample[present], orientation[present] = wall, signs * signs[first]
        normals = np.ascontiguousarray(units[leaders])
        return cls(normals, wall_of_sample, present[leaders], orientation, size * power)

    @property
    def num_samples(self) -> IntArray:
        """How many samples each wall stands for."""
        return np.bincount(self.wall_of_sample[self.orientation != 0], minlength=len(self.normals))

    def patterns(self, sides: SignArray) -> SignArray:
        """SignArray of <w, x_k>, shape (..., n), from sides of walls, shape (..., num_walls)."""
        if not len(self.normals):
            return np.zeros((*sides.shape[:-1], self.orientation.size), np.int8)
        return np.asarray(sides[..., self.wall_of_sample] * self.orientation)

    def slopes(self, sides: SignArray, leak: float) -> FloatArray:
        """Slope of the activation on each sample for a neuron on these sides of the walls; 0 on a wall itself."""
        pattern = self.patterns(sides)
        return np.where(pattern > 0, 1.0, np.where(pattern < 0, leak, 0.0))

    def pull_factors(self, side: int, leak: float) -> FloatArray:
        """What a unit force of each sample pulls along its wall's normal, seen from one side, shape (n,)."""
        slope = np.where(self.orientation * side > 0, 1.0, leak)
        return slope * self.orientation * self.length

    def strengths(self, forces: FloatArray, side: int, leak: float) -> FloatArray:
        """The pull of each wall along its normal on one side, shape (num_walls,)."""
        pulls = self.pull_factors(side, leak) * forces
        strengths = np.bincount(self.wall_of_sample, weights=pulls, minlength=len(self.normals))
        return strengths[: len(self.normals)].astype(np.float64)


@dataclass(frozen=True, eq=False)
class PulledWalls:
    """Walls with frozen forces: strengths `plus` and `minus` along the normals on their two sides, (num_walls,)."""

    walls: Walls
    plus: FloatArray
    minus: FloatArray

    @classmethod
    def of(cls, X: ArrayLike, forces: ArrayLike, leak: float) -> PulledWalls:
        """Gather the samples and their forces.

        >>> pulled = PulledWalls.of([[0.0, 2.0], [0.0, -1.0]], [1.0, -3.0], leak=0.0)
        >>> pulled.walls.normals.tolist(), pulled.plus.tolist(), pulled.minus.tolist()
        ([[0.0, 1.0]], [2.0], [3.0])
        """
        walls, pulls = Walls.of(X), np.array(forces, dtype=np.float64)
        n = walls.length.size
        if pulls.shape != (n,):
            raise InvalidInputError(f"`forces` must hold one number for each of the {n} samples, got {pulls.shape}.")
        if not np.all(np.isfinite(pulls)):
            raise InvalidInputError(f"`forces` must be finite, got {pulls[~np.isfinite(pulls)][0]}.")
        if not 0.0 <= leak <= 1.0:
            raise InvalidInputError(f"`leak` must lie in [0, 1], got {leak}.")
        return cls(walls, walls.strengths(pulls, 1, leak), walls.strengths(pulls, -1, leak))

    @property
    def normals(self) -> FloatArray:
        """Unit normals of the walls."""
        return self.walls.normals

    @property
    def scale(self) -> float:
        """Sum of the largest strengths: what a force is small against."""
        return float(np.sum(np.maximum(np.abs(self.plus), np.abs(self.minus))))

    @property
    def has_kink(self) -> BoolArray:
        """Whether the strength jumps across each wall; not where odd forces on x and -x cancel."""
        return np.asarray(np.abs(self.plus - self.minus) > ROUNDING * self.scale)

    def vector(self, sides: SignArray) -> FloatArray:
        """D of a neuron with these sides that slides where they are 0: projected on those walls."""
        is_smooth = (sides == 0) & ~self.has_kink
        strengths = np.where((sides > 0) | is_smooth, self.plus, np.where(sides < 0, self.minus, 0.0))
        total = np.asarray(strengths @ self.normals)
        basis = orthonormal_rows(self.normals[(sides == 0) & self.has_kink])
        return np.asarray(total - (total @ basis.T) @ basis)

    def vectors_at(self, directions: FloatArray) -> FloatArray:
        """D at directions off every wall, shape (m, d)."""
        return np.asarray(np.where(directions @ self.normals.T > 0, self.plus, self.minus) @ self.normals)


def orthonormal_rows(vectors: FloatArray) -> FloatArray:
    """An orthonormal basis, as rows, of what some vectors span; walls that meet in one line may be dependent.

    >>> orthonormal_rows(np.array([[2.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])).shape
    (1, 3)
    """
    left, singular, _ = np.linalg.svd(vectors.T, full_matrices=False)
    return np.ascontiguousarray(left[:, singular > ROUNDING].T)


def _first_of_line(rays: FloatArray, projection: FloatArray) -> IntArray:
    """For each ray the first, in the given order, that equals it to rounding."""
    leader = np.arange(len(rays))
    order = np.argsort(projection, kind="stable")
    for place in range(1, len(order)):
        back = place - 1
        while back >= 0 and projection[order[place]] - projection[order[back]] <= ROUNDING:
            if np.linalg.norm(rays[order[place]] - rays[order[back]]) <= ROUNDING:
                leader[order[place]] = leader[order[back]]
                break
            back -= 1
    _, line = np.unique(leader, return_inverse=True)
    first = np.full(len(rays), len(rays))
    np.minimum.at(first, line, np.arange(len(rays)))
    return np.asarray(first[line])
