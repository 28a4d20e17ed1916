"""OutputsKernel: how forces on the samples move several outputs, and an output bias.

The kernel of n samples and K outputs is an (n K, n K) matrix, F F^T with a column of F for every weight. It is made
only among few samples (`KernelBlocks`); other products with it go neuron by neuron, at a cost that is linear in n, K
and the dimension. For one output without bias `TangentKernel` makes the (n, n) matrix from X X^T instead.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.dynamics.collocation.tuning import DEPENDENT_SINGULAR_VALUE
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.geometry.boundary.walls import Walls
from reluflow.threads import product

_BLOCK_NUMBERS = 2**20  # of what neurons feel of columns of forces, in one block: 8 MiB
_BLOCKS_NUMBERS = 2**25  # of a kernel that is made to multiply by: 128 MiB in single precision


class OutputsKernel:
    """dh_kc/dt per unit force on output e of sample l, for neurons z = (w, v) with given masses.

    K_(kc)(le) = sum_j mass_j s_jk s_jl (v_jc v_je <x_k, x_l> + [c = e] <w_j, x_k> <w_j, x_l>) + [c = e] bias_rate,
    where for a neuron that slides the samples are replaced by their projections along its walls.

    Parameters
    ----------
    z, mass
        The neurons, shape (m, d + K), and their squared sizes.
    walls, leak, X
        The samples' hyperplanes, the negative slope and the samples.
    heights
        <w_j, normal_b>, shape (m, num_walls).
    moves_outputs
        Whether output weights move; else the second term is not there.
    bias_rate
        How fast the output bias follows the forces; 0 where it is not trained.
    """

    def __init__(
        self,
        z: FloatArray,
        mass: FloatArray,
        walls: Walls,
        leak: float,
        X: FloatArray,
        *,
        heights: FloatArray,
        moves_outputs: bool = True,
        bias_rate: float = 0.0,
    ) -> None:
        w, v = z[:, : X.shape[1]], z[:, X.shape[1] :]
        is_on = np.abs(heights) <= ROUNDING * np.linalg.norm(z, axis=1)[:, None]
        sides = np.where(is_on, 0, np.sign(heights)).astype(np.int8)
        slopes = walls.slopes(sides, leak)
        self._pattern_slopes, self._slopes = slopes, slopes * np.sqrt(mass)[:, None]  # (m, n)
        self._inner = self._slopes * (w @ X.T) if moves_outputs else np.zeros((0, len(X)))
        self._X, self._w, self._v, self._mass, self._bias_rate = X, w, v, mass, bias_rate
        self._moves_outputs = moves_outputs
        self._crowds, self._others = self._by_pattern(sides)
        self._bases = {j: _span(walls.normals[is_on[j]]) for j in np.flatnonzero(np.any(is_on, axis=1)).tolist()}

    def _by_pattern(self, sides: SignArray) -> tuple[list[IntArray], IntArray]:
        """Neurons of one activation pattern that have more weights than d K together; and all others."""
        (_, d), num_outputs = self._X.shape, self._v.shape[1]
        named: dict[bytes, list[int]] = {}
        for j, side in enumerate(sides):
            named.setdefault(side.tobytes(), []).append(j)
        crowds, alone = [], list[int]()
        for members in named.values():
            if len(members) * (d + self._moves_outputs * num_outputs) > d * num_outputs:
                crowds.append(np.array(members))
            else:
                alone += members
        return crowds, np.array(alone, dtype=np.intp)

    @property
    def by_sample(self) -> tuple[FloatArray, FloatArray]:
        """s_jk and s_jk <w_j, x_k>, times the roots of the masses, shape (m, n); the latter zero if only w moves."""
        return self._slopes, self._inner if self._moves_outputs else np.zeros_like(self._slopes)

    @property
    def v(self) -> FloatArray:
        """The neurons' output weights, shape (m, K)."""
        return self._v

    @property
    def bias_rate(self) -> float:
        """How fast the output bias follows the forces."""
        return self._bias_rate

    def walls_slid_along(self, multiple: int) -> FloatArray:
        """Orthonormal rows that span the walls that neurons slide along, shape (m, s, d), s a multiple; else zeros."""
        most = max((len(basis) for basis in self._bases.values()), default=0)
        found = np.zeros((len(self._v), -(-most // multiple) * multiple, self._X.shape[1]))
        for j, basis in self._bases.items():
            found[j, : len(basis)] = basis
        return found

    @property
    def num_outputs(self) -> int:
        """K."""
        return int(self._v.shape[1])

    @property
    def num_forces(self) -> int:
        """n K."""
        return len(self._X) * self.num_outputs

    @property
    def num_factors(self) -> int:
        """Columns of F."""
        d, num_outputs = self._X.shape[1], self._v.shape[1]
        num_alone = len(self._others) * (d + self._moves_outputs * num_outputs)
        return int(len(self._crowds) * d * num_outputs + num_alone + (num_outputs if self._bias_rate > 0.0 else 0))

    def factors(self, forces: IntArray) -> FloatArray:
        """F with K = F F^T for some of the forces (n K,), shape (len(forces), num_factors).

        A column for every weight of a neuron. Many neurons of one pattern move the outputs as d K weights do.
        """
        num_outputs, d = self._v.shape[1], self._X.shape[1]
        samples, outputs = np.divmod(forces, num_outputs)
        X, found = self._X[samples], np.zeros((len(forces), self.num_factors))
        rows, column = np.arange(len(forces)), 0
        for which in self._crowds:
            root = self._root_of(which).reshape(num_outputs, d, -1)
            felt = self._pattern_slopes[which[0], samples][:, None] * X
            for c in range(num_outputs):
                of_output = outputs == c
                found[of_output, column : column + d * num_outputs] = felt[of_output] @ root[c]
            column += d * num_outputs
        for j in self._others:
            part = (self._slopes[j, samples] * self._v[j, outputs])[:, None] * X
            if j in self._bases:
                part -= (part @ self._bases[j].T) @ self._bases[j]
            found[:, column : column + d] = part
            column += d
            if self._moves_outputs:
                found[rows, column + outputs] = self._inner[j, samples]
                column += num_outputs
        if self._bias_rate > 0.0:
            found[rows, column + outputs] = np.sqrt(self._bias_rate)
        return found

    def _root_of(self, which: IntArray) -> FloatArray:
        """R with R R^T = sum_j mass_j (v_j v_j^T (x) P + 1 (x) w_j w_j^T), P along the walls of these neurons."""
        (_, d), num_outputs = self._X.shape, self._v.shape[1]
        scale = np.sqrt(self._mass[which])[:, None]
        v, w, along = scale * self._v[which], scale * self._w[which], np.eye(d)
        if which[0] in self._bases:
            along -= self._bases[which[0]].T @ self._bases[which[0]]
        blocks = (v.T @ v)[:, None, :, None] * along[None, :, None, :]
        if self._moves_outputs:
            blocks += np.eye(num_outputs)[:, None, :, None] * (w.T @ w)[None, :, None, :]
        values, vectors = np.linalg.eigh(blocks.reshape(num_outputs * d, -1))
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def rows(self, forces: IntArray) -> FloatArray:
        """K for some of the forces and all, shape (len(forces), n K).

        Block by block of two outputs: sums over neurons, each (r, n), times <x_k, x_l>, instead of over the d + K times
        as many columns of F. Neurons that slide lose what lies along their walls.
        """
        num_outputs = self._v.shape[1]
        samples, outputs = np.divmod(forces, num_outputs)
        along_walls, owners = self._along_walls
        found = np.zeros((len(forces), len(self._X), num_outputs))
        for c in range(num_outputs):
            places = np.flatnonzero(outputs == c)
            chosen = samples[places]
            gram, slopes, sliding = self._X[chosen] @ self._X.T, self._slopes[:, chosen].T, along_walls[chosen]
            for e in range(num_outputs):
                levers = self._v[:, c] * self._v[:, e]
                block = (slopes * levers) @ self._slopes
                block *= gram
                if owners.size:
                    block -= (sliding * levers[owners]) @ along_walls.T
                if c == e:
                    block += self._inner[:, chosen].T @ self._inner + self._bias_rate
                found[places, :, e] = block
        return found.reshape(len(forces), len(self._X) * num_outputs)

    @cached_property
    def _along_walls(self) -> tuple[NDArray[Any], IntArray]:
        """What samples have along the walls that neurons slide on, a column for each, and whose it is."""
        owners = np.array([j for j, basis in self._bases.items() for _ in basis], dtype=np.intp)
        if not owners.size:
            return np.zeros((len(self._X), 0), self._X.dtype), owners
        along = self._X @ np.vstack(list(self._bases.values())).T
        along *= self._slopes[owners].T
        return along, owners

    def among(self, samples: IntArray, dtype: np.dtype[Any]) -> OutputsKernel:
        """The same of some samples, in a precision; for products with it."""
        part = copy(self)
        vars(part).pop("_along_walls", None)
        part._X = self._X[samples].astype(dtype)
        part._slopes, part._inner = self._slopes[:, samples].astype(dtype), self._inner[:, samples].astype(dtype)
        part._v, part._bases = self._v.astype(dtype), {j: basis.astype(dtype) for j, basis in self._bases.items()}
        return part

    def in_blocks(self, num_products: int) -> KernelBlocks | None:
        """The kernel itself, where products with so many columns in all are cheaper with it than without."""
        (n, d), (m, num_outputs) = self._X.shape, self._v.shape
        num_pairs, num_walls = num_outputs * (num_outputs + 1) // 2, sum(map(len, self._bases.values()))
        making = n * (n * num_pairs * (m + num_walls) + d * (n + num_walls))
        saved = 2 * n * m * (d + num_outputs) - (n * num_outputs) ** 2  # by every product
        if num_pairs * n**2 > _BLOCKS_NUMBERS or making > num_products * saved:
            return None
        gram, (along_walls, owners) = self._X @ self._X.T, self._along_walls
        blocks = {}
        for c in range(num_outputs):
            for e in range(c, num_outputs):
                levers = self._v[:, c] * self._v[:, e]
                block = (self._slopes.T * levers) @ self._slopes
                block *= gram
                if owners.size:
                    block -= (along_walls * levers[owners]) @ along_walls.T
                if c == e:
                    block += self._inner.T @ self._inner
                    block += self._X.dtype.type(self._bias_rate)
                blocks[c, e] = blocks[e, c] = block
        return KernelBlocks(blocks, num_outputs)

    def diagonal(self) -> FloatArray:
        """K for every force and itself, shape (n K,)."""
        lengths = np.einsum("ki,ki->k", self._X, self._X)[:, None]
        found = lengths * (np.square(self._slopes).T @ np.square(self._v))
        along_walls, owners = self._along_walls
        found -= np.square(along_walls) @ np.square(self._v[owners])
        found += np.einsum("jk,jk->k", self._inner, self._inner)[:, None] + self._bias_rate
        return np.asarray(found.ravel())

    def times(self, forces: NDArray[Any]) -> NDArray[Any]:
        """K times columns of forces, shape (n K, r): block by block of samples, for all neurons at once."""
        (n, d), (num_neurons, num_outputs) = self._X.shape, self._v.shape
        columns = forces.reshape(n, num_outputs, -1)
        flat = columns.reshape(n, -1)
        num_columns = columns.shape[2]
        found = np.asarray(self._inner.T @ (self._inner @ flat)).reshape(columns.shape)
        found += self._bias_rate * np.sum(columns, axis=0)
        size = max(1, _BLOCK_NUMBERS // max(1, num_neurons * num_columns))
        blocks = [slice(first, first + size) for first in range(0, n, size)]
        pulls = np.zeros((d, num_neurons * num_columns), self._X.dtype)
        for part in blocks:
            felt = np.matmul(self._v, columns[part])  # (k, m, r)
            felt *= self._slopes.T[part, :, None]
            pulls += self._X[part].T @ felt.reshape(len(felt), -1)
        of_neurons = pulls.reshape(d, num_neurons, num_columns)
        for j, basis in self._bases.items():
            of_neurons[:, j] -= basis.T @ (basis @ of_neurons[:, j])
        for part in blocks:
            moved = (self._X[part] @ pulls).reshape(-1, num_neurons, num_columns)
            moved *= self._slopes.T[part, :, None]
            found[part] += np.matmul(self._v.T, moved)
        return np.asarray(found.reshape(forces.shape))


class KernelBlocks:
    """The kernel of several outputs as it is: a symmetric matrix (n, n) for every pair of outputs.

    Parameters
    ----------
    blocks
        By the two outputs, in both orders.
    num_outputs
        K.
    """

    def __init__(self, blocks: dict[tuple[int, int], NDArray[Any]], num_outputs: int) -> None:
        self._blocks, self._num_outputs = blocks, num_outputs

    def times(self, forces: NDArray[Any]) -> NDArray[Any]:
        """K times columns of forces, shape (n K, r)."""
        columns = forces.reshape(-1, self._num_outputs, forces.shape[1])
        given = [np.ascontiguousarray(columns[:, c]) for c in range(self._num_outputs)]
        found, moved = np.zeros_like(columns), np.empty_like(given[0])
        for (c, e), block in self._blocks.items():
            found[:, c] += product(block, given[e], moved)
        return found.reshape(forces.shape)


def _span(normals: FloatArray) -> FloatArray:
    """Orthonormal rows that span some unit normals."""
    if len(normals) == 1:
        return normals
    squares, vectors = np.linalg.eigh(normals @ normals.T)
    is_own = squares > DEPENDENT_SINGULAR_VALUE**2
    return np.asarray((vectors[:, is_own] / np.sqrt(squares[is_own])).T @ normals)
