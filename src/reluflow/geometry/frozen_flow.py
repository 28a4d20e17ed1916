"""Neurons under frozen forces, checked, and the call that carries them all through the kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IntArray
from reluflow.errors import InvalidInputError
from reluflow.geometry import alignment_kernels as kernels
from reluflow.geometry.alignment_kernels import FrozenPath
from reluflow.geometry.boundary.walls import PulledWalls
from reluflow.threads import in_parts

_WORTH_A_THREAD = 1000  # neurons times walls


@dataclass(frozen=True, eq=False)
class FrozenFlow:
    """Walls and the neurons (w, a), shapes (m, d) and (m,), that move among them."""

    pulled: PulledWalls
    w: FloatArray
    a: FloatArray

    @classmethod
    def of(cls, X: ArrayLike, forces: ArrayLike, w: ArrayLike, a: ArrayLike, leak: float) -> FrozenFlow:
        """Check the arguments and group the samples."""
        pulled = PulledWalls.of(X, forces, leak)
        d = pulled.normals.shape[1]
        inner, outer = np.array(w, dtype=np.float64, order="C"), np.array(a, dtype=np.float64)
        if inner.ndim != 2 or inner.shape[1] != d or inner.shape[0] == 0:
            raise InvalidInputError(f"`w` must have shape (m, {d}) with m at least 1, got {inner.shape}.")
        if outer.shape != inner.shape[:1]:
            raise InvalidInputError(
                f"`a` must hold one number for each row of `w`, ({len(inner)},), got {outer.shape}."
            )
        for name, values in (("w", inner), ("a", outer)):
            if not np.all(np.isfinite(values)):
                raise InvalidInputError(f"`{name}` must be finite, got {values[~np.isfinite(values)][0]}.")
        return cls(pulled, inner, outer)

    def run(
        self,
        *,
        horizon: float,
        carry: bool,
        max_events: int,
        log_norm: FloatArray | None = None,
        rows: IntArray | None = None,
    ) -> FrozenPath:
        """Carry every neuron to its end or the horizon; with `rows`, the events per neuron, keep those too."""
        if max_events < 1:
            raise InvalidInputError(f"`max_events` must be at least 1, got {max_events}.")
        out = self._path(log_norm, 0 if rows is None else int(np.sum(rows)))
        start = np.zeros(len(self.a), np.int64) if rows is None else np.cumsum(rows) - rows
        pulled, m = self.pulled, len(self.a)
        walls = kernels.FrozenWalls(pulled.normals, pulled.plus, pulled.minus, pulled.walls.num_samples, pulled.scale)
        extent = kernels.Extent(horizon, carry, max_events)

        def flow(chosen: IntArray) -> None:
            kernels.flow_neurons(chosen, walls, extent, out, rows is not None, start)

        num_parts = min(numba.get_num_threads(), max(m, 1), 1 + m * len(pulled.plus) // _WORTH_A_THREAD)
        in_parts(flow, [np.arange(first, m, num_parts) for first in range(num_parts)])
        return out

    def some(self, block: slice) -> FrozenFlow:
        """Some of the neurons."""
        return FrozenFlow(self.pulled, self.w[block], self.a[block])

    def untouched(self, status: int) -> FrozenPath:
        """The neurons as they are, with this status: they were not carried anywhere."""
        path = self._path(None, 0)
        path.statuses[:] = status
        path.sides[:] = np.sign(path.w @ self.pulled.normals.T)
        size = np.sqrt(np.sum(path.w**2, axis=1) + path.a**2)
        size[size == 0] = 1.0
        path.w[:], path.a[:] = path.w / size[:, None], path.a / size
        path.log_norms[:] += np.log(size)
        return path

    def _path(self, log_norm: FloatArray | None, num_events: int) -> FrozenPath:
        """The start of every neuron's path, with room for the events of all."""
        m, d = self.w.shape
        # Squares of the components must neither under- nor overflow, so a neuron is brought to size one first.
        size = np.maximum(np.max(np.abs(self.w), axis=1), np.abs(self.a))
        size[size == 0] = 1.0
        return FrozenPath(
            w=self.w / size[:, None],
            a=self.a / size,
            log_norms=np.log(size) + (0.0 if log_norm is None else log_norm),
            sides=np.zeros((m, self.pulled.plus.size), np.int8),
            vectors=np.zeros((m, d)),
            statuses=np.zeros(m, np.int8),
            times=np.zeros(m),
            crossings=np.zeros(m, np.int64),
            slides=np.zeros(m, np.int64),
            rows=np.zeros(m, np.int64),
            tends_to_vector=np.zeros(m, np.bool_),
            is_saddle=np.zeros(m, np.bool_),
            keys=np.zeros(m, np.uint64),
            event_walls=np.zeros(num_events, np.int64),
            event_times=np.zeros(num_events),
            event_kinds=np.zeros(num_events, np.int8),
        )
