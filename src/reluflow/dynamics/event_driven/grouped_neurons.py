"""GroupedNeurons: the neurons of a run, gathered by activation pattern and sliding walls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import BoolArray, FloatArray, IntArray, SignArray
from reluflow.compilation.kernel import direct
from reluflow.dynamics.event_driven.grouped_neurons_kernels import (
    BEGIN,
    END,
    RESET,
    ColumnTable,
    Members,
    Neighbours,
    frame_changes,
    gather,
    heights_of,
    off_unit_norm,
    through_frames,
    write_back,
    write_missing_moments,
)
from reluflow.dynamics.event_driven.tuning import FRAME_FROM, SPARE_GROUPS, WIDE
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import lengths_of
from reluflow.dynamics.shared.flow_kernels import Layout, counted_in_rate
from reluflow.dynamics.shared.quadric import BALANCED, invariants_of, restored
from reluflow.geometry.boundary.tolerance import GIVEN
from reluflow.geometry.boundary.walls import Walls, orthonormal_rows
from reluflow.losses.compiled import compiled

Entry = TypeVar("Entry", bound=np.generic)


class GroupedNeurons:
    """Mutable book-keeping of one run: who is in which group, and the columns the kernels integrate.

    Neuron j is exp(`log_norm[j]`) times `shapes[j]` @ frame of its group, or exp(`log_norm[j]`) times `shapes[j]` in
    a group whose columns are its neurons. A frame has as rows the images of the unit vectors under the group's
    propagator since the frame was last reset.
    `members` and `neighbours` are these very arrays as the kernels take them, since the last `rebuild`.
    """

    def __init__(self, problem: TrainingProblem, walls: Walls) -> None:
        network, dataset = problem.network, problem.dataset
        self.walls = walls
        self.leak = network.leak
        self.weight = np.asarray(network.weight)
        self.num_neurons, self.d = network.w.shape
        self.is_wide = False
        self._may_have_frames = problem.is_plain  # within a step their columns would leave the Lorentz group
        self.keeps_balance = problem.trains_output_layer
        self._constants: dict[str, Any] = {
            "samples": np.array(dataset.X, order="C"),  # writeable: to Numba read-only arrays are another type
            "labels": np.array(dataset.y, order="C"),
            "loss": compiled(problem.loss),
            "log_weight": float(np.log(problem.loss.sample_weight(dataset.n))),
            "weight_decay": float(problem.weight_decay),
            "moves_outputs": bool(problem.trains_output_layer),
            "wall_of_sample": walls.wall_of_sample,
            "slope_plus": walls.pull_factors(1, network.leak),
            "slope_minus": walls.pull_factors(-1, network.leak),
            "normals": walls.normals,
        }
        self.shapes = np.hstack([network.w, network.a[:, None]])
        norm = lengths_of(self.shapes)  # also of a neuron given as 1e-200 beside others
        norm = np.where(norm > 0, norm, 1.0)
        self.shapes /= norm[:, None]
        self.log_norm = network.log_scale + np.log(norm)
        self.mass = self.weight * np.exp(2.0 * self.log_norm)
        self.invariant = invariants_of(self.shapes)
        self.invariant[np.abs(self.invariant) <= BALANCED] = 0.0
        self.start_invariant = self.invariant.copy()
        self.start_log_norm = self.log_norm.copy()
        self.largest_log_norm = self.log_norm.copy()
        self.output_sign = np.sign(self.shapes[:, -1]).astype(np.int8)
        self.can_change_sign = (self.invariant < 0.0) & self.keeps_balance
        self.group = np.zeros(self.num_neurons, dtype=np.int64)
        self.expiry = np.zeros(self.num_neurons)
        self.column_table = ColumnTable(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int8))
        self._all_samples = np.ones(dataset.n, dtype=bool)
        self._no_tangents = np.zeros((0, self.d))
        self._tangents_of = {np.zeros(len(walls.normals), dtype=bool).tobytes(): self._no_tangents}
        self._clear_groups()

    def _clear_groups(self) -> None:
        self.sides = np.zeros((0, len(self.walls.normals)), dtype=np.int8)
        self.signs = np.zeros(0, dtype=np.int8)
        self.path = np.zeros(0)
        num_walls = len(self.walls.normals)
        self.beyond = np.zeros((0, num_walls), dtype=np.int64)  # group on the other side of each wall, or -1
        self.upon = np.zeros((0, num_walls, 2), dtype=np.int64)  # group sliding on it with a < 0 and a > 0, or -1
        self.sliding_groups: list[int] = []
        self._index: dict[bytes, int] = {}
        self._clear_frames()
        self._of_groups: dict[str, Any] = {}  # parts of the layout
        self._of_columns: dict[str, Any] = {}
        self._known_by: tuple[bytes, ...] = ()

    def _clear_frames(self) -> None:
        width = self.d + 1
        self.frame_of_group = np.full(len(self.sides), -1, dtype=np.int64)  # row of the three below, or -1
        self.frames = np.zeros((0, width, width))
        self.moments = np.zeros((0, width, width))
        self._has_moment = np.zeros(0, dtype=bool)
        self.moment_trace = np.zeros(len(self.sides))

    # -- groups -------------------------------------------------------------------------------------------------

    def give_signs(self, pulls: FloatArray) -> None:
        """Neurons that start with a = 0 get the sign that <w, D> is about to give it (`pulls` is D of every group)."""
        silent = np.flatnonzero(self.output_sign == 0)
        growth = np.einsum("ji,ji->j", self.shapes[silent, :-1], pulls[self.group[silent]])
        self.output_sign[silent] = np.sign(growth).astype(np.int8)

    def group_with(self, sides: SignArray, sign: int) -> int:
        """The group of these sides (and, where it slides, this sign of a), made if it does not exist."""
        is_sliding = 0 in sides.tolist()
        key_sign = int(sign) if is_sliding else 0
        key = sides.tobytes() + bytes([key_sign + 1])
        if key not in self._index:
            self._index[key] = len(self.sides)
            if is_sliding:
                self.sliding_groups.append(len(self.sides))
            self.sides = _extended(self.sides, sides)
            self.signs = _extended(self.signs, key_sign)
            self.path = _extended(self.path, 0.0)
            self.moment_trace = _extended(self.moment_trace, 0.0)
            self.frame_of_group = _extended(self.frame_of_group, -1)
            self._of_groups = {}
            self._link(self._index[key])
        return self._index[key]

    def _link(self, g: int) -> None:
        """Enter a new group into the tables of neighbours: those that differ from it at a single wall."""
        self.beyond, self.upon = _extended(self.beyond, -1), _extended(self.upon, -1)
        differs = self.sides[:g] != self.sides[g]  # (g, num_walls)
        num_zeros = int(np.count_nonzero(self.sides[g] == 0))
        for other in np.flatnonzero(np.count_nonzero(differs, axis=1) == 1):
            b = int(np.argmax(differs[other]))
            mine, theirs = int(self.sides[g, b]), int(self.sides[other, b])
            if num_zeros == 0 and theirs == -mine:
                self.beyond[g, b], self.beyond[other, b] = other, g
            elif num_zeros == 0 and self.signs[other] != 0:  # it differs by lying on wall b
                self.upon[g, b, 1 if self.signs[other] > 0 else 0] = other
            elif num_zeros == 1 and mine == 0:
                self.upon[other, b, 1 if self.signs[g] > 0 else 0] = g

    def assign_initial_groups(self) -> list[tuple[int, list[int]]]:
        """Put every neuron off the walls into its group; return the others with the walls they stand on."""
        heights = heights_of(self.shapes, self.walls.normals)  # (num_neurons, num_walls)
        size = np.sqrt(np.einsum("ji,ji->j", self.shapes[:, :-1], self.shapes[:, :-1]))
        on_wall = np.abs(heights) <= GIVEN * size[:, None]
        sides = np.where(on_wall, 0, np.sign(heights)).astype(np.int8)
        is_waiting = np.any(on_wall, axis=1)
        free = np.flatnonzero(~is_waiting)
        self._assign(free, sides[free])
        waiting = np.flatnonzero(is_waiting)
        for j in waiting:
            self.group[j] = self.group_with(sides[j], int(self.output_sign[j]))
        return [(int(j), [int(b) for b in np.flatnonzero(on_wall[j])]) for j in waiting]

    def _assign(self, neurons: IntArray, sides: SignArray) -> None:
        """Put neurons into the groups of their sides, which are made where they do not exist."""
        if not neurons.size:
            return
        sliding = np.any(sides == 0, axis=1)
        signs = np.where(sliding, self.output_sign[neurons], 0).astype(np.int8)
        rows = np.ascontiguousarray(np.hstack([sides, signs[:, None]]))
        keys = rows.view(np.dtype((np.void, rows.shape[1]))).ravel()  # sorts whole rows as one word each
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        ids = np.array([self.group_with(rows[i, :-1].copy(), int(rows[i, -1])) for i in first], dtype=np.int64)
        self.group[neurons] = ids[inverse.ravel()]
        self.is_wide = self._may_have_frames and self.num_neurons >= WIDE * (self.d + 1) * len(self.sides)

    def place(self, z: FloatArray, log_norm: FloatArray, sides: SignArray) -> None:
        """Start anew from neurons exp(log_norm) z on given sides of the walls (0: sliding)."""
        norm = np.sqrt(np.einsum("ji,ji->j", z, z))
        norm = np.where(norm > 0, norm, 1.0)
        self.shapes = z / norm[:, None]
        self.log_norm = log_norm + np.log(norm)
        self.mass = self.weight * np.exp(2.0 * self.log_norm)
        self.largest_log_norm = np.maximum(self.largest_log_norm, self.log_norm)
        shrinking = np.where(self.start_invariant == 0.0, 0.0, self.start_log_norm - self.log_norm)
        self.invariant = self.start_invariant * np.exp(2.0 * shrinking)  # only balanced neurons shrink without end
        self.output_sign = np.sign(self.shapes[:, -1]).astype(np.int8)
        self._clear_groups()
        self._assign(np.arange(self.num_neurons), sides)

    def move(self, members: IntArray, sides: SignArray, sign: int) -> int:
        """Put neurons whose shapes are the neurons themselves into the group with these sides."""
        target = self.group_with(sides, sign)
        row = self.frame_of_group[target]
        if row >= 0:
            self.shapes[members] = np.linalg.solve(self.frames[row].T, self.shapes[members].T).T
            self.expiry[members] = 0.0
        for g in {target, *self.group[members].tolist()}:
            if self.frame_of_group[g] >= 0:
                self._has_moment[self.frame_of_group[g]] = False
        self.group[members] = target
        return target

    # -- neurons ------------------------------------------------------------------------------------------------

    def actual(self, neurons: IntArray | None = None) -> FloatArray:
        """Rows (w, a) of the neurons, each without its exp(log_norm), from the stored frames."""
        index = np.arange(self.num_neurons) if neurons is None else neurons
        return np.asarray(through_frames(self.shapes, self.group, index, self.frames, self.frame_of_group))

    def on_quadric(self) -> FloatArray:
        """All neurons as `actual`, each put back on a^2 - |w|^2 = its invariant, keeping the direction of w."""
        return restored(self.actual(), self.invariant) if self.keeps_balance else self.actual()

    def sync(self, columns: FloatArray, layout: Layout) -> None:
        """Write the columns back into the neurons and the frames."""
        direct(write_back)(
            columns, layout.starts, self.column_table.neurons, self.frame_of_group, self.frames, self.shapes
        )

    def renormalise(self, neurons: IntArray) -> None:
        """Move the norm of neurons whose shapes are themselves into `log_norm`."""
        z = self.shapes[neurons]
        norm = np.sqrt(np.einsum("ji,ji->j", z, z))
        norm = np.where(norm > 0, norm, 1.0)
        self.shapes[neurons] = z / norm[:, None]
        self.log_norm[neurons] += np.log(norm)
        self.mass[neurons] = self.weight[neurons] * np.exp(2.0 * self.log_norm[neurons])
        self.largest_log_norm[neurons] = np.maximum(self.largest_log_norm[neurons], self.log_norm[neurons])
        self.invariant[neurons] /= norm**2

    def decay(self, amount: float) -> None:
        """Shrink all neurons by exp(-amount), with what is measured against their sizes."""
        for sizes in (self.log_norm, self.start_log_norm, self.largest_log_norm):
            sizes -= amount
        self.mass *= np.exp(-2.0 * amount)

    def members_of(self, g: int) -> IntArray:
        """The neurons of a group, with its frame taken into them where it has one."""
        return self.reset_frames([g]) if self.frame_of_group[g] >= 0 else np.flatnonzero(self.group == g)

    def reset_frames(self, groups: Sequence[int]) -> IntArray:
        """Take the frames of some groups into their neurons, and return them."""
        index = np.asarray(groups, dtype=np.int64)
        rows = self.frame_of_group[index]
        is_reset = np.zeros(len(self.sides), dtype=bool)
        is_reset[index] = True
        members = np.flatnonzero(is_reset[self.group])
        z = self.actual(members)
        for g in set(groups).intersection(self.sliding_groups):
            own = np.flatnonzero(self.group[members] == g)
            for direction in self._tangents(g):  # remove what rounding has put across the walls it slides on
                w = z[own, :-1]
                z[own, :-1] = w - np.einsum("ji,i->j", w, direction)[:, None] * direction
        self.shapes[members] = restored(z, self.invariant[members])
        self.renormalise(members)
        self.frames[rows] = np.eye(self.d + 1)
        self._has_moment[rows] = False
        self.path[index] = 0.0
        self.expiry[members] = 0.0
        return members

    def balancedness_drift(self) -> float:
        """Largest change of a_j^2 - |w_j|^2 so far, relative to the neuron's largest squared norm so far."""
        z = self.on_quadric()
        size = np.maximum(np.einsum("ji,ji->j", z, z), 1e-300)
        largest = np.maximum(self.largest_log_norm, self.log_norm + 0.5 * np.log(size))
        now = invariants_of(z) * np.exp(2.0 * (self.log_norm - largest))
        start = self.start_invariant * np.exp(2.0 * (self.start_log_norm - largest))
        return float(np.max(np.abs(now - start), initial=0.0))

    # -- columns ------------------------------------------------------------------------------------------------

    def rebuild(self) -> tuple[FloatArray, Layout]:
        """Columns and layout of the groups as they are now."""
        counts = np.bincount(self.group, minlength=len(self.sides))
        num_occupied = int(np.count_nonzero(counts))
        if len(counts) - num_occupied > max(SPARE_GROUPS if self.is_wide else 0, num_occupied):
            self._drop_empty_groups(counts)
            counts = np.bincount(self.group, minlength=len(self.sides))
        self.counts = counts
        self._choose_frames(counts)
        self.members = members = Members(
            self.group,
            self.shapes,
            self.mass,
            self.output_sign,
            self.can_change_sign,
            self.expiry,
            self.path,
            self.moment_trace,
        )
        self.neighbours = Neighbours(self.beyond, self.upon)
        has_far, gathered = direct(gather)(members, self.invariant, counts, self.frame_of_group, self.frames)
        if has_far:
            self.renormalise(off_unit_norm(members, self.frame_of_group))
            _, gathered = gather(members, self.invariant, counts, self.frame_of_group, self.frames)
        self.column_table = gathered.table
        direct(write_missing_moments)(members, self.frame_of_group, self.moments, self._has_moment)
        if not self._of_groups:
            eta = np.ascontiguousarray(self.walls.slopes(self.sides, self.leak))  # one layout, one compilation
            self._of_groups = {"eta": eta, "sides": self.sides.copy()}
        known_by = (gathered.starts.tobytes(), self.frame_of_group.tobytes())
        if known_by != self._known_by:
            self._known_by, self._of_columns = known_by, self._parts_of_layout(gathered.starts)
        layout = Layout(
            **self._constants,
            **self._of_groups,
            **self._of_columns,
            starts=gathered.starts,
            column_group=gathered.column_group,
            moments=self.moments,
            weights=gathered.weights,
        )
        return gathered.columns, layout

    def _choose_frames(self, counts: IntArray) -> None:
        """Give a frame to groups with many neurons, and in a wide network to every group."""
        are_any, changes = direct(frame_changes)(
            counts, self.frame_of_group, self.frames, self._may_have_frames, self.is_wide, FRAME_FROM
        )
        if not are_any:
            return
        grown, beginning, ending = ((changes == kind).nonzero()[0].tolist() for kind in (RESET, BEGIN, END))
        if grown or ending:
            self.reset_frames([*grown, *ending])
        if ending:
            is_kept = np.ones(len(self.frames), dtype=bool)
            is_kept[self.frame_of_group[ending]] = False
            self.frame_of_group[ending] = -1
            self._keep_frames(is_kept)
        if beginning:
            width, num_new = self.d + 1, len(beginning)
            self.frame_of_group[beginning] = len(self.frames) + np.arange(num_new)
            self.frames = np.concatenate([self.frames, np.tile(np.eye(width), (num_new, 1, 1))])
            self.moments = np.concatenate([self.moments, np.zeros((num_new, width, width))])
            self._has_moment = np.append(self._has_moment, np.zeros(num_new, dtype=bool))
            self.path[beginning] = 0.0
            self.expiry[np.isin(self.group, beginning)] = 0.0

    def _keep_frames(self, is_kept: BoolArray) -> None:
        """Forget the other frames, of which no group is left."""
        renumber = np.append(np.cumsum(is_kept) - 1, -1)
        self.frame_of_group = renumber[self.frame_of_group]
        self.frames, self.moments = self.frames[is_kept], self.moments[is_kept]
        self._has_moment = self._has_moment[is_kept]

    def _drop_empty_groups(self, counts: IntArray) -> None:
        """Forget the groups without neurons and number the others anew."""
        kept = np.flatnonzero(counts)
        sides, signs, path = self.sides[kept], self.signs[kept], self.path[kept]
        frame_of_group, frames = self.frame_of_group[kept], (self.frames, self.moments, self._has_moment)
        renumber = np.full(len(counts), -1, dtype=np.int64)
        renumber[kept] = np.arange(len(kept))
        self._clear_groups()
        for row in range(len(kept)):
            self.group_with(sides[row], int(signs[row]))
        self.path = path
        self.group = renumber[self.group]
        self.frame_of_group, (self.frames, self.moments, self._has_moment) = frame_of_group, frames
        is_kept = np.zeros(len(self.frames), dtype=bool)
        is_kept[frame_of_group[frame_of_group >= 0]] = True
        self._keep_frames(is_kept)

    def _parts_of_layout(self, starts: IntArray) -> dict[str, Any]:
        """What changes only with the columns of the groups, and which of them are frames."""
        tangent_starts = np.zeros(len(starts), dtype=np.int64)
        tangents = [self._no_tangents]
        for g in self.sliding_groups:
            if starts[g] < starts[g + 1]:
                tangents.append(self._tangents(g))
                tangent_starts[g + 1] = len(tangents[-1])
        acted_on = self._all_samples
        if self._constants["loss"].fades:
            acted_on = counted_in_rate(self._of_groups["eta"], starts)
        return {
            "tangent_starts": np.cumsum(tangent_starts),
            "tangents": np.concatenate(tangents),
            "frame_of_group": self.frame_of_group.copy(),
            "counted": acted_on,
        }

    def _tangents(self, g: int) -> FloatArray:
        """Orthonormal rows spanning the sliding normals of a group."""
        sliding = self.sides[g] == 0
        key = sliding.tobytes()
        if key not in self._tangents_of:
            self._tangents_of[key] = orthonormal_rows(self.walls.normals[sliding])
        return self._tangents_of[key]


def _extended(table: NDArray[Entry], row: NDArray[Entry] | float) -> NDArray[Entry]:
    """A table with one more row; `np.append` and `np.vstack` take four times as long."""
    longer = np.empty((len(table) + 1, *table.shape[1:]), dtype=table.dtype)
    longer[:-1], longer[-1] = table, row
    return longer
