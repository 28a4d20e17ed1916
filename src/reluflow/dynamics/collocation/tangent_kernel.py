"""TangentKernel: how forces on the samples move the outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.collocation.tangent_kernels import normal_rows
from reluflow.dynamics.collocation.tuning import DEPENDENT_SINGULAR_VALUE, KERNEL_BLOCK, NEARLY_ALL_SAMPLES
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.geometry.boundary.walls import Walls
from reluflow.threads import in_two


class TangentKernel:
    """dh_k/dt per unit force on sample l, for neurons z with given masses.

    K_kl = sum_j mass_j s_jk s_jl (a_j^2 <x_k, x_l> + <w_j, x_k> <w_j, x_l>), where for a neuron that slides the samples
    are replaced by their projections along its walls. Only the rows that are asked for are made.

    Parameters
    ----------
    z, mass
        The neurons, shape (m, d + 1), and their squared sizes.
    walls, leak, X
        The samples' hyperplanes, the negative slope and the samples.
    gram
        X X^T, in the precision that the kernel is to have.
    heights
        <w_j, normal_b>, shape (m, num_walls), where they are known.
    moves_outputs
        Whether output weights move; else the second term is not there.
    """

    def __init__(
        self,
        z: FloatArray,
        mass: FloatArray,
        walls: Walls,
        leak: float,
        X: FloatArray,
        gram: FloatArray,
        *,
        heights: FloatArray | None = None,
        moves_outputs: bool = True,
    ) -> None:
        heights = z[:, :-1] @ walls.normals.T if heights is None else heights
        sides = np.where(np.abs(heights) <= ROUNDING * np.linalg.norm(z, axis=1)[:, None], 0, np.sign(heights))
        sides = sides.astype(np.int8)
        slopes = walls.slopes(sides, leak)
        outer = np.ascontiguousarray(slopes) * (np.sqrt(mass) * np.abs(z[:, -1]))[:, None]
        inner = slopes * (z[:, :-1] @ X.T) * (moves_outputs * np.sqrt(mass))[:, None]
        self._gram, self._X, self._sides, self._walls = gram, X, sides, walls
        self._outer, self._inner = outer.astype(gram.dtype), inner.astype(gram.dtype)
        counts = np.count_nonzero(sides == 0, axis=1)
        starts = np.concatenate([[0], np.cumsum(counts)])
        self._normal = np.empty((starts[-1], len(X)), dtype=gram.dtype)
        if len(self._normal):
            normal_rows(sides, walls.first_sample, gram, self._outer, starts, self._normal)

    def diagonal(self) -> FloatArray:
        """K_kk, shape (n,)."""
        parts = [np.einsum("jk,jk->k", part, part) for part in (self._outer, self._inner, self._normal)]
        return np.asarray(parts[0] * np.diag(self._gram) + parts[1] - parts[2])

    @property
    def parts(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """A, B, C, each with a column for every sample: K = (A^T A) o X X^T + B^T B - C^T C."""
        return self._outer, self._inner, self._normal

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the kernel's numbers."""
        return self._gram.dtype

    def rows(self, samples: IntArray) -> FloatArray:
        """K_kl for some k and all l, shape (len(samples), n)."""
        n = len(self._gram)
        if n <= KERNEL_BLOCK and len(samples) > NEARLY_ALL_SAMPLES * n:
            return self._of_few() if len(samples) == n else self._of_few()[samples]
        found = np.empty((len(samples), n), dtype=self._gram.dtype)
        for first in range(0, len(samples), KERNEL_BLOCK):  # block by block, as a second kernel may not fit
            part = samples[first : first + KERNEL_BLOCK]
            block = found[first : first + KERNEL_BLOCK]
            np.matmul(self._outer[:, part].T, self._outer, out=block)
            block *= self._gram[part]
            block += self._inner[:, part].T @ self._inner
            if len(self._normal):
                block -= self._normal[:, part].T @ self._normal
        return found

    def among(self, samples: IntArray, weights: FloatArray, memory: NDArray[Any]) -> NDArray[Any]:
        """weight_k K_kl weight_l of some samples, shape (len(samples), len(samples)), in the memory of `memory`."""
        is_all = len(samples) == len(self._gram)
        found = memory[: len(samples) ** 2].reshape(len(samples), len(samples))
        scales = weights.astype(self._gram.dtype)
        outer, inner, normal = (part[:, samples] * scales for part in (self._outer, self._inner, self._normal))

        def fill(rows: slice) -> None:
            for first in range(rows.start, rows.stop, KERNEL_BLOCK):
                part = slice(first, min(first + KERNEL_BLOCK, rows.stop))
                np.matmul(outer[:, part].T, outer, out=found[part])
                found[part] *= self._gram[part] if is_all else self._gram[np.ix_(samples[part], samples)]
                found[part] += inner[:, part].T @ inner
                if len(normal):
                    found[part] -= normal[:, part].T @ normal

        in_two(fill, len(samples))
        return found

    @property
    def num_factors(self) -> int:
        """Columns of `factors`."""
        return int(len(self._outer) * (self._X.shape[1] + 1))

    def factors(self, samples: IntArray) -> FloatArray:
        """F with K = F F^T for some samples, a column for every weight of every neuron: (len(samples), num_factors).

        Cheaper than the kernel itself where there are fewer weights than samples.
        """
        X = self._X[samples]
        found = np.empty((len(self._outer), X.shape[1] + 1, len(samples)), dtype=self._gram.dtype)
        found[:, :-1] = self._outer[:, None, samples] * X.T
        found[:, -1] = self._inner[:, samples]
        for j in np.flatnonzero(np.any(self._sides == 0, axis=1)).tolist():
            basis, strengths, _ = np.linalg.svd(self._walls.normals[self._sides[j] == 0].T, full_matrices=False)
            basis = basis[:, strengths > DEPENDENT_SINGULAR_VALUE]
            found[j, :-1] -= basis @ (basis.T @ found[j, :-1])
        return np.asarray(found.reshape(-1, len(samples)).T)

    def whole(self) -> FloatArray:
        """K, shape (n, n)."""
        return self.rows(np.arange(len(self._gram)))

    def _of_few(self) -> FloatArray:
        """The same at once: products of matrices with themselves take half as long."""
        found = self._outer.T @ self._outer
        found *= self._gram
        found += self._inner.T @ self._inner
        if len(self._normal):
            found -= self._normal.T @ self._normal
        return np.asarray(found)
