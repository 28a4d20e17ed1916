"""Sweep: neurons carried through one macro step, each alone, and which of them must be carried again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.dynamics.flow.lone_neurons import LoneNeurons
from reluflow.dynamics.flow.neuron_path_kernels import BUFFER_FULL, DONE, TOO_FAST, Paths, StepStart, carry_all
from reluflow.dynamics.flow.radau import RadauRule
from reluflow.dynamics.flow.relative_forces import RelativeForces
from reluflow.dynamics.flow.sample_forces import SampleForces
from reluflow.dynamics.flow.sliding_kernels import Pulls
from reluflow.threads import ThreadTeam, in_two

RULE = RadauRule.of_order(5)
CHECKS = np.array([0.16, 0.43, 0.72, 0.94])  # between the nodes, where the interpolant of the forces is tested
POINTS = np.sort(np.concatenate([RULE.nodes, CHECKS]))
IS_NODE = np.isin(POINTS, RULE.nodes)
_MORE_ROOM = 4  # times as many events, for neurons that meet more than there is room for
_MOST_EVENTS = 50  # a neuron that meets every wall so often follows forces that are none
_MOST_GROWTH = 40.0  # of ln |z|^2 that is foreseen
_NOTHING = 1e-20  # a pull below this share of the strongest is lost in its rounding; more must not be left out, as
# steps that are stiff magnify it: with 1e-10 the late steps of two thousand images stayed five times as short
_LARGE = 2**18  # numbers in one product from which single precision, where it is enough, saves time
_ROUGHNESS = 1e-7  # error of a product in single precision, relative to its factors' lengths
_LEAST_PART = 0.05  # share of the allowed misfit that rounding may make up
_MOST_PULLING = 0.7  # share of walls that pull up to which the others are left out
_WIDE = 2**22  # numbers of the pulls of all walls beyond which, or where these outnumber what neurons feel, they are
# taken power by power


class Sweep:
    """The neurons that move, at the start of a step and along it; kept: `places` of rows not yet carried are the start.

    Parameters
    ----------
    samples
        The constants of the run.
    neurons
        At the start of the step.
    event_room
        Events a neuron may have.
    length
        The step. Places are those without decay of whole neurons, which leaves `kept` of every mass at the points.
    team
        Who carries them.
    tolerance
        Misfit of the forces, relative to the largest, that is allowed.
    output_error
        Error of the outputs that does as much.
    """

    def __init__(
        self,
        samples: SampleForces,
        neurons: LoneNeurons,
        event_room: int,
        length: float,
        team: ThreadTeam,
        *,
        tolerance: float,
        output_error: float,
    ) -> None:
        self.samples, self._team = samples, team
        self.moving = np.arange(neurons.num_neurons) if samples.own_decay else _moving(neurons, samples.is_silent)
        self.mass = neurons.mass[self.moving]
        self.kept = np.exp(-2.0 * samples.shared_decay * length * POINTS)
        self._law = samples.moves_outputs, samples.own_decay * length
        sides = neurons.sides[self.moving]
        self._is_up, self._is_down = (sides > 0).astype(np.float64), (sides < 0).astype(np.float64)
        if samples.on_device is not None:
            self._sides_there = samples.on_device.sides(sides)
        normals = samples.walls.normals
        self._start = StepStart(
            self.moving,
            neurons.shapes,
            neurons.sides,
            neurons.pinned,
            neurons.can_change_sign,
            samples.heights(neurons.shapes[self.moving, :-1]),
        )
        slides = neurons.slides()
        self._slides = slides._replace(places=slides.places[self.moving])
        self.paths = _room_for(len(self.moving), len(normals), neurons.d, event_room)
        self.paths.places[:] = neurons.shapes[self.moving, None]
        self.outputs = np.empty((len(POINTS), len(samples.X)))
        is_large = len(self.moving) * normals.size >= _LARGE
        self._is_pull_rough = is_large and _LEAST_PART * tolerance >= _ROUGHNESS  # what changes of forces do to pulls
        longest = float(np.max(samples.walls.length)) or 1.0
        self._rough_way = is_large * _LEAST_PART * output_error / (_ROUGHNESS * longest)
        self.is_current = np.zeros(len(self.moving), dtype=bool)  # carried by the forces of now
        self._from_base: tuple[FloatArray, FloatArray] | None = None

    def face(self, base: FloatArray, coefficients: FloatArray) -> None:
        """Take forces for what is carried from now on: those at the start (n,) and changes as powers of tau (q, n)."""
        plus, minus = self.samples.of_walls(coefficients)
        if self._from_base is None:
            self._from_base = self.samples.of_walls(base[None])
            self._base_rests = self._rests(*self._from_base, is_rough=False)[:, 0]
        self.rests = self._rests(plus, minus, is_rough=self._is_pull_rough)
        self.rests[:, 0] += self._base_rests
        plus[0] += self._from_base[0][0]
        minus[0] += self._from_base[1][0]
        normals, is_silent = self.samples.walls.normals, self.samples.is_silent
        self._pulls = Pulls(normals, plus.T.copy(), minus.T.copy(), is_silent, *self._law)
        self.is_current[:] = False

    def _rests(self, plus: FloatArray, minus: FloatArray, *, is_rough: bool) -> FloatArray:
        """What walls that pull with these strengths (q, B) do to every neuron on its sides, shape (m, q, d).

        Where that `is_rough` enough, in single precision.
        """
        if self.samples.on_device is not None:
            return self.samples.on_device.felt(self._sides_there, plus, minus)[: len(self.moving)]
        normals: NDArray[Any] = self.samples.walls.normals
        up: NDArray[Any] = self._is_up
        down: NDArray[Any] = self._is_down
        has_below = bool(np.any(minus))
        if plus.size * normals.shape[1] <= min(_WIDE, plus.size * 2 * len(up)):
            flat = (len(normals), len(plus) * normals.shape[1])
            rests = up @ (plus.T[:, :, None] * normals[:, None, :]).reshape(flat)
            if has_below:
                rests += down @ (minus.T[:, :, None] * normals[:, None, :]).reshape(flat)
            return np.asarray(rests.reshape(len(self.moving), len(plus), normals.shape[1]))
        if is_rough:
            normals = self.samples.single_normals
        strengths = np.maximum(np.max(np.abs(plus), axis=0), np.max(np.abs(minus), axis=0))
        pulling = np.flatnonzero(strengths > _NOTHING * np.max(strengths, initial=0.0))
        if len(pulling) < _MOST_PULLING * len(normals):
            up, down, normals = up[:, pulling], down[:, pulling], normals[pulling]
            plus, minus = plus[:, pulling], minus[:, pulling]
        units = np.ones(len(plus))
        if is_rough:  # every power in its own unit, as a force may be too small for single precision
            units = np.max(np.abs(np.hstack([plus, minus])), axis=1, initial=0.0)
            units[units == 0.0] = 1.0
            up, down = up.astype(np.float32), down.astype(np.float32) if has_below else down
            plus = (plus / units[:, None]).astype(np.float32)
            minus = (minus / units[:, None]).astype(np.float32)
        rests = np.empty((len(self.moving), len(plus), normals.shape[1]))

        def fill(powers: slice) -> None:
            for power in range(powers.start, powers.stop):
                felt = up * plus[power] + down * minus[power] if has_below else up * plus[power]
                rests[:, power] = felt @ normals
                rests[:, power] *= units[power]

        in_two(fill, len(plus))
        return rests

    def carry(self, rows: IntArray) -> None:
        """Carry the neurons in some rows through the step, from its start."""

        def carry_part(part: IntArray) -> None:
            part = np.ascontiguousarray(part)  # one memory layout, one compilation
            carry_all(part, self._start, self._slides, self.rests[part], self._pulls, POINTS, self.paths)

        full = rows
        while full.size:
            self._team.share(carry_part, full)
            full = full[self.paths.statuses[full] == BUFFER_FULL]
            if self.paths.event_walls.shape[1] > _MOST_EVENTS * self.paths.sides.shape[1]:
                break
            if full.size:
                self.paths = _roomier(self.paths)
        self.is_current[rows] = True

    @property
    def waiting(self) -> IntArray:
        """Rows that have not been carried by the forces of now."""
        return np.flatnonzero(~self.is_current)

    @property
    def is_complete(self) -> bool:
        """Whether every neuron has been carried by the forces of now."""
        return bool(np.all(self.is_current))

    @property
    def is_out_of_bounds(self) -> bool:
        """Whether a neuron would grow, or meet walls, beyond all bounds."""
        statuses = self.paths.statuses
        return bool(np.any((statuses == TOO_FAST) | (statuses == BUFFER_FULL)))

    def outputs_at_nodes(self) -> FloatArray:
        """h at the nodes, shape (q, n)."""
        return self._outputs_at(IS_NODE)

    def outputs_between(self) -> FloatArray:
        """h between the nodes, at `CHECKS`."""
        return self._outputs_at(~IS_NODE)

    def _outputs_at(self, which: BoolArray) -> FloatArray:
        places, starts = self.paths.places[:, which], self._start.z[self.moving, :-1]
        is_near = self.samples.on_device is None and self._rough_way > 0.0
        if is_near and self._way(places, starts) <= self._rough_way:
            found = self.samples.outputs_near(starts, self._start.heights, places, self.mass)
        else:
            found = self.samples.outputs(places, self.mass)
        found *= self.kept[which, None]
        self.outputs[which] = found
        return found

    def _way(self, places: FloatArray, starts: FloatArray) -> float:
        """Largest sum over the neurons of mass |a| times how far w has come: an error of the way is one of outputs."""
        moves = places[:, :, :-1] - starts[:, None]
        lengths = np.sqrt(np.einsum("jpi,jpi->jp", moves, moves))
        return float(np.max(self.mass @ (np.abs(places[:, :, -1]) * lengths), initial=0.0))


class Staleness:
    """Which neurons must be carried again because the forces have changed since they were carried.

    A neuron's part of the outputs is at most mass |z|^2 |x|, and a change f of the forces changes it by about
    2 H |X| |f| of itself. Neurons whose changes together bend the forces by less than `allowed`, relative to the
    largest, are left as they are; those that were never carried count with all they may grow to.

    Parameters
    ----------
    sweep
        The neurons.
    now
        Forces at the start of the step.
    length
        The step.
    allowed
        Largest neglected change.
    """

    def __init__(self, sweep: Sweep, now: RelativeForces, length: float, allowed: float) -> None:
        self._sweep, self._allowed = sweep, allowed
        X = sweep.samples.X
        squares = np.einsum("ki,ki->k", X, X)
        self._size = sweep.samples.largest(now.forces)
        answer = float(np.max(now.curvatures * np.sqrt(squares)))
        self._answer = answer / self._size if self._size > 0.0 else np.inf  # of the forces to mass |z|^2
        self._turning = 2.0 * length * float(np.sqrt(np.sum(squares))) * self._size
        starts = sweep.paths.places[:, 0]
        self._sizes = np.einsum("ji,ji->j", starts, starts)
        self._carried = np.full(len(sweep.moving), -1)  # number of the forces it was carried by
        self._forces: list[FloatArray] = []

    def rows(self, at_nodes: FloatArray) -> IntArray:
        """The neurons to carry now that the forces at the nodes are these; they are taken for carried from here on.

        Forces may be told by their change since the start.
        """
        sweep = self._sweep
        ends = sweep.paths.places[:, -1]
        sizes = np.maximum(self._sizes, np.einsum("ji,ji->j", ends, ends))
        bends = self._answer * sweep.mass * sizes
        self._forces.append(at_nodes)
        largest = sweep.samples.largest
        changes = [largest(at_nodes - old) / (self._size or 1.0) for old in self._forces]
        factors = self._turning * np.asarray(changes)[self._carried]
        if len(changes) == 1:
            growths = np.sum(np.sqrt(np.einsum("jqi,jqi->jq", sweep.rests, sweep.rests)), axis=1)
            self._fresh = np.exp(np.minimum(2.0 * growths, _MOST_GROWTH))
        with np.errstate(invalid="ignore"):  # without forces the bound says nothing, and all are carried
            bends *= np.where(self._carried < 0, self._fresh, factors)
        order = np.argsort(bends)
        due = np.ones(len(bends), dtype=bool)
        due[order[np.cumsum(bends[order]) <= self._allowed]] = False
        due |= sweep.paths.statuses != DONE
        self._carried[due] = len(self._forces) - 1
        return np.flatnonzero(due)


def _moving(neurons: LoneNeurons, is_silent: BoolArray) -> IntArray:
    """Neurons on which something pulls, or which slide."""
    is_dead = np.all(np.where(neurons.sides > 0, is_silent[:, 1], (neurons.sides < 0) & is_silent[:, 0]), axis=1)
    return np.flatnonzero(~is_dead)


def _roomier(paths: Paths) -> Paths:
    """The same paths with room for more events."""
    more = ((0, 0), (0, (_MORE_ROOM - 1) * paths.event_walls.shape[1]))
    names = [name for name in Paths._fields if name.startswith("event_")]
    return paths._replace(**{name: np.pad(getattr(paths, name), more) for name in names})


def _room_for(num_neurons: int, num_walls: int, d: int, num_events: int) -> Paths:
    return Paths(
        places=np.zeros((num_neurons, len(POINTS), d + 1)),
        ends=np.zeros((num_neurons, d + 1)),
        sides=np.zeros((num_neurons, num_walls), dtype=np.int8),
        pinned=np.zeros((num_neurons, num_walls), dtype=np.int8),
        event_walls=np.zeros((num_neurons, num_events), dtype=np.int64),
        event_taus=np.zeros((num_neurons, num_events)),
        event_kinds=np.zeros((num_neurons, num_events), dtype=np.int8),
        event_sides=np.zeros((num_neurons, num_events), dtype=np.int8),
        event_kinks=np.zeros((num_neurons, num_events)),
        num_events=np.zeros(num_neurons, dtype=np.int64),
        statuses=np.full(num_neurons, DONE, dtype=np.int8),
        stops=np.ones(num_neurons),
    )
