"""Walls as neurons with several outputs feel them: on either side a wall pulls along its normal, once for each output.

A neuron (w, v) with v in R^K feels the strengths along its v alone: wall i pulls w along its unit normal with
<plus[i], v> on its plus side and <minus[i], v> on its minus side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import BoolArray, FloatArray, SignArray
from reluflow.errors import InvalidInputError
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.geometry.boundary.walls import Walls, orthonormal_rows
from reluflow.geometry.landscape import check_leak


@dataclass(frozen=True, eq=False)
class OutputWalls:
    """Walls with frozen forces: strengths `plus` and `minus` along the normals on their two sides, (num_walls, K)."""

    walls: Walls
    plus: FloatArray
    minus: FloatArray

    @classmethod
    def of(cls, X: ArrayLike, forces: ArrayLike, leak: float) -> OutputWalls:
        """Gather the samples and their forces, shape (n, K).

        >>> pulled = OutputWalls.of([[0.0, 2.0]], [[1.0, -1.0]], leak=0.5)
        >>> pulled.plus.tolist(), pulled.minus.tolist()
        ([[2.0, -2.0]], [[1.0, -1.0]])
        """
        walls = Walls.of(X)
        pulls = check_output_forces(forces, walls.length.size)
        check_leak(leak)
        sides = [np.stack([walls.strengths(column, side, leak) for column in pulls.T], axis=1) for side in (1, -1)]
        return cls(walls, np.ascontiguousarray(sides[0]), np.ascontiguousarray(sides[1]))

    @property
    def normals(self) -> FloatArray:
        """Unit normals of the walls."""
        return self.walls.normals

    @property
    def num_outputs(self) -> int:
        """K."""
        return int(self.plus.shape[1])

    @cached_property
    def scale(self) -> float:
        """Sum of the largest strengths: what a force is small against."""
        return float(np.sum(np.maximum(np.linalg.norm(self.plus, axis=1), np.linalg.norm(self.minus, axis=1))))

    @cached_property
    def has_kink(self) -> BoolArray:
        """Whether the strength jumps across each wall."""
        return np.asarray(np.linalg.norm(self.plus - self.minus, axis=1) > ROUNDING * self.scale)

    def strengths(self, sides: SignArray) -> FloatArray:
        """Strengths of the walls on these sides, (num_walls, K); 0 on a wall itself, unless it has no kink."""
        on = (self.plus + self.minus) * (0.5 * ~self.has_kink)[:, None]
        return np.asarray(np.where(sides[:, None] > 0, self.plus, np.where(sides[:, None] < 0, self.minus, on)))

    def pull(self, sides: SignArray) -> FloatArray:
        """D, shape (d, K), of a neuron with these sides, tangent to the walls it slides on, where they are 0."""
        total = self.normals.T @ self.strengths(sides)
        basis = orthonormal_rows(self.normals[(sides == 0) & self.has_kink])
        return np.asarray(total - basis.T @ (basis @ total))


def check_output_forces(forces: ArrayLike, n: int) -> FloatArray:
    """The forces (n, K) as floats, refusing another shape and values that are not finite."""
    pulls = np.array(forces, dtype=np.float64)
    if pulls.ndim != 2 or pulls.shape[0] != n or not np.all(np.isfinite(pulls)):
        raise InvalidInputError(
            f"`forces` must be finite, one row of K numbers for each of the {n} samples, got shape {pulls.shape}."
        )
    return pulls
