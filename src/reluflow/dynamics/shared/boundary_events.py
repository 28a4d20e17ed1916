"""BoundaryEvents: what happens to neurons that stand on walls, applied to the groups and written into the log."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.collocation.lone_neurons import LoneNeurons
from reluflow.dynamics.event import EventRecorder
from reluflow.dynamics.event_driven.grouped_neurons import GroupedNeurons
from reluflow.geometry.boundary.decision import Resolution, Ridge, resolve, walls_stood_on
from reluflow.geometry.boundary.events import KINDS, EventKind
from reluflow.geometry.boundary.origin import leaves_origin
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.geometry.boundary.walls import orthonormal_rows


class BoundaryEvents:
    """Resolves neurons on walls from their state: refraction, sliding, death, ridge, change of sign.

    Parameters
    ----------
    neurons
        The groups, which are changed.
    recorder
        Where events are written.
    ridge
        What to do where the flow is not unique.
    pull_errors
        By how much the pulls of the walls may be off now, shape (num_walls,); asked only where a neuron seems to stand
        on a ridge. One that is gone without the pulls that are smaller than this is none: nothing pushes there, and
        the neuron stays where it is.
    """

    def __init__(
        self,
        neurons: GroupedNeurons | LoneNeurons,
        recorder: EventRecorder,
        ridge: Ridge,
        pull_errors: Callable[[], FloatArray],
    ) -> None:
        self._neurons = neurons
        self._recorder = recorder
        self._ridge = ridge
        self._pull_errors = pull_errors
        self.ridges: set[tuple[bytes, int, int]] = set()
        self.met_ridge = False
        self._along: dict[int, FloatArray] = {}

    def follow(self, neurons: LoneNeurons) -> None:
        """Go on with these."""
        self._neurons = neurons
        self._along = {}  # of other walls

    def leave_wall(self, g: int, b: int, side: int, time: float) -> None:
        """All neurons of a sliding group leave one of its walls together."""
        neurons = self._neurons
        members = neurons.members_of(g)
        sides, sign = neurons.sides[g].copy(), int(neurons.signs[g])
        still_on_ridge = [wall for key, s, wall in self.ridges if (key, s) == (sides.tobytes(), sign) and wall != b]
        sides[b] = side
        self.ridges.update((sides.tobytes(), sign, wall) for wall in still_on_ridge)
        neurons.move(members, sides, sign)
        count = len(members)
        self._recorder.extend(
            members,
            np.full(count, neurons.walls.first_sample[b]),
            np.full(count, time),
            np.full(count, KINDS.index(EventKind.SLIDE_EXIT)),
        )

    def cross(
        self,
        crossers: IntArray,
        walls: IntArray,
        pulls: tuple[FloatArray, FloatArray],
        time: float,
        *,
        rounding: float = ROUNDING,
    ) -> None:
        """Resolve neurons that have just arrived at a wall each (wall B: at a = 0)."""
        neurons = self._neurons
        normals = neurons.walls.normals
        for j, wall in zip(crossers.tolist(), walls.tolist(), strict=True):
            g = int(neurons.group[j])
            neurons.shapes[j] = neurons.actual(np.array([j]))[0]
            if wall == len(normals):
                self._change_sign(j, pulls, time)
            else:
                counts_output = neurons.keeps_balance  # a frozen a may be of any size beside w
                on_walls = walls_stood_on(normals, neurons.shapes[j], neurons.sides[g], wall, counts_output)
                self.settle(j, on_walls.tolist(), pulls, time, arriving=wall, rounding=rounding)

    def _change_sign(self, j: int, pulls: tuple[FloatArray, FloatArray], time: float) -> None:
        """The output weight passes through 0; on a sliding wall both sides then push away, which is a ridge."""
        neurons = self._neurons
        sides = neurons.sides[int(neurons.group[j])]
        neurons.output_sign[j] = -neurons.output_sign[j]
        neurons.shapes[j, -1] = 0.0
        self._recorder.add(j, -1, time, EventKind.SIGN_CHANGE)
        zero_walls = [int(b) for b in np.flatnonzero(sides == 0)]
        if zero_walls:
            self.settle(j, zero_walls, pulls, time)
        else:
            neurons.move(np.array([j]), sides, 0)

    def settle(
        self,
        j: int,
        zero_walls: list[int],
        pulls: tuple[FloatArray, FloatArray],
        time: float,
        *,
        arriving: int = -1,
        is_initial: bool = False,
        rounding: float = ROUNDING,
    ) -> None:
        """Decide where neuron j (whose shape is the neuron itself), standing on some walls, goes, and put it there."""
        neurons = self._neurons
        samples = neurons.walls.first_sample
        plus, minus = pulls
        before = neurons.sides[int(neurons.group[j])].copy()
        index = np.array(zero_walls, dtype=np.int64)
        sign = float(neurons.output_sign[j])
        choice = self._choice(j, index, pulls, rounding)
        sides = before.copy()
        sides[index] = choice.sides
        basis = self._spanned_by(index)
        w = neurons.shapes[j, : neurons.d]
        neurons.shapes[j, : neurons.d] = w - (basis @ w) @ basis
        if choice.is_ridge:
            is_known = self._is_known_ridge(j, index, pulls, rounding)
            self.met_ridge |= is_known
            for b in zero_walls:
                if is_known:
                    self._recorder.add(j, int(samples[b]), time, EventKind.RIDGE)
                if sides[b] == 0 and (plus[b] - minus[b]) * sign > 0:
                    self.ridges.add((sides.tobytes(), int(sign), b))
        for b, side in zip(zero_walls, choice.sides, strict=True):
            kind = _kind_of(int(before[b]), side, is_arriving=b == arriving, is_still=choice.is_still)
            if kind is not None and not (is_initial and side != 0):
                self._recorder.add(j, int(samples[b]), time, kind)
        neurons.move(np.array([j]), sides, int(neurons.output_sign[j]))

    def _spanned_by(self, index: IntArray) -> FloatArray:
        """Orthonormal rows that span some normals; those of a single wall, which most neurons meet, are kept."""
        if len(index) != 1:
            return orthonormal_rows(self._neurons.walls.normals[index])
        wall = int(index[0])
        if wall not in self._along:
            self._along[wall] = orthonormal_rows(self._neurons.walls.normals[index])
        return self._along[wall]

    def _choice(self, j: int, index: IntArray, pulls: tuple[FloatArray, FloatArray], rounding: float) -> Resolution:
        """Where neuron j, standing on the walls of `index`, goes under these pulls."""
        neurons, normals = self._neurons, self._neurons.walls.normals
        before, sign = neurons.sides[int(neurons.group[j])], float(neurons.output_sign[j])
        if len(index) == len(normals) > 1:
            return leaves_origin(normals, *pulls, sign, -neurons.shapes[j, : neurons.d], self._ridge)
        return resolve(normals, *pulls, index, before, sign, self._ridge, rounding=rounding)

    def _is_known_ridge(self, j: int, index: IntArray, pulls: tuple[FloatArray, FloatArray], rounding: float) -> bool:
        """Whether the ridge is still there without the pulls whose sign is not known."""
        errors = self._pull_errors()
        plus, minus = (np.where(np.abs(pull) <= errors, 0.0, pull) for pull in pulls)
        return self._choice(j, index, (plus, minus), rounding).is_ridge


def _kind_of(before: int, after: int, *, is_arriving: bool, is_still: bool) -> EventKind | None:
    """What to call a change of side; nothing where the side is kept."""
    if after == 0:
        return EventKind.SLIDE_ENTRY if before != 0 or is_arriving else None
    if before == 0:
        return EventKind.SLIDE_EXIT
    if before == after:
        return None
    return EventKind.DEATH if is_still else EventKind.REFRACTION
