"""Sweep: neurons carried through one macro step, each alone, and which of them must be carried again."""

from __future__ import annotations

import numba
import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.dynamics.flow.lone_neurons import LoneNeurons
from reluflow.dynamics.flow.neuron_path_kernels import BUFFER_FULL, DONE, TOO_FAST, Paths, StepStart, carry_all
from reluflow.dynamics.flow.radau import RadauRule
from reluflow.dynamics.flow.relative_forces import RelativeForces
from reluflow.dynamics.flow.sample_forces import SampleForces
from reluflow.dynamics.flow.sliding_kernels import Pulls, slide_starts
from reluflow.dynamics.flow.threads import in_parts

RULE = RadauRule.of_order(5)
CHECKS = np.array([0.16, 0.43, 0.72, 0.94])  # between the nodes, where the interpolant of the forces is tested
POINTS = np.sort(np.concatenate([RULE.nodes, CHECKS]))
IS_NODE = np.isin(POINTS, RULE.nodes)
_MOST_GROWTH = 40.0  # of ln |z|^2 that is foreseen
_FEWEST_NUMBERS = 2000  # what is worth a thread of its own: neurons, times the width of each and
_FIXED_COST = 10  # what a neuron costs besides, in units of a coordinate
_NOTHING = 1e-20  # a pull below this share of the strongest is lost in its rounding
_MOST_PULLING = 0.7  # share of walls that pull up to which the others are left out
_WIDE = 2**22  # numbers of the pulls of all walls at once beyond which they are taken power by power


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
    """

    def __init__(self, samples: SampleForces, neurons: LoneNeurons, event_room: int, length: float) -> None:
        self.samples = samples
        self.moving = np.arange(neurons.num_neurons) if samples.own_decay else _moving(neurons, samples.is_silent)
        self.mass = neurons.mass[self.moving]
        self.kept = np.exp(-2.0 * samples.shared_decay * length * POINTS)
        self._law = samples.moves_outputs, samples.own_decay * length
        sides = neurons.sides[self.moving]
        self._is_up, self._is_down = (sides > 0).astype(np.float64), (sides < 0).astype(np.float64)
        normals = samples.walls.normals
        self._start = StepStart(
            self.moving,
            neurons.shapes,
            neurons.sides,
            neurons.pinned,
            neurons.can_change_sign,
            neurons.shapes[self.moving, :-1] @ normals.T,
        )
        self._slides = slide_starts(sides, normals)
        self.paths = _room_for(len(self.moving), len(normals), neurons.d, event_room)
        self.paths.places[:] = neurons.shapes[self.moving, None]
        self.outputs = np.empty((len(POINTS), len(samples.X)))
        self.is_current = np.zeros(len(self.moving), dtype=bool)  # carried by the forces of now
        self._from_base: tuple[FloatArray, FloatArray] | None = None

    def face(self, base: FloatArray, coefficients: FloatArray) -> None:
        """Take forces for what is carried from now on: those at the start (n,) and changes as powers of tau (q, n)."""
        plus, minus = self.samples.of_walls(coefficients)
        if self._from_base is None:
            self._from_base = self.samples.of_walls(base[None])
            self._base_rests = self._rests(*self._from_base)[:, 0]
        self.rests = self._rests(plus, minus)
        self.rests[:, 0] += self._base_rests
        plus[0] += self._from_base[0][0]
        minus[0] += self._from_base[1][0]
        normals, is_silent = self.samples.walls.normals, self.samples.is_silent
        self._pulls = Pulls(normals, plus.T.copy(), minus.T.copy(), is_silent, *self._law)
        self.is_current[:] = False

    def _rests(self, plus: FloatArray, minus: FloatArray) -> FloatArray:
        """What walls that pull with these strengths (q, B) do to every neuron on its sides, shape (m, q, d)."""
        normals = self.samples.walls.normals
        if plus.size * normals.shape[1] <= _WIDE:
            flat = (len(normals), len(plus) * normals.shape[1])
            rests = self._is_up @ (plus.T[:, :, None] * normals[:, None, :]).reshape(flat)
            if np.any(minus):
                rests += self._is_down @ (minus.T[:, :, None] * normals[:, None, :]).reshape(flat)
            return np.asarray(rests.reshape(len(self.moving), len(plus), normals.shape[1]))
        strengths = np.maximum(np.max(np.abs(plus), axis=0), np.max(np.abs(minus), axis=0))
        pulling = np.flatnonzero(strengths > _NOTHING * np.max(strengths, initial=0.0))
        up, down = self._is_up, self._is_down
        if len(pulling) < _MOST_PULLING * len(normals):
            up, down, normals = up[:, pulling], down[:, pulling], normals[pulling]
            plus, minus = plus[:, pulling], minus[:, pulling]
        one_by_one = [(up * above + down * below) @ normals for above, below in zip(plus, minus, strict=True)]
        return np.stack(one_by_one, axis=1)

    def carry(self, rows: IntArray) -> None:
        """Carry the neurons in some rows through the step, from its start."""

        def carry_part(part: IntArray) -> None:
            carry_all(part, self._start, self._slides, self.rests[part], self._pulls, POINTS, self.paths)

        if rows.size:
            width = self.paths.ends.shape[1]
            num_parts = min(numba.get_num_threads(), 1 + len(rows) * (_FIXED_COST + width) // _FEWEST_NUMBERS)
            in_parts(carry_part, [rows[first::num_parts] for first in range(num_parts)])
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
    def is_full(self) -> bool:
        """Whether a neuron has met more events than there is room for."""
        return bool(np.any(self.paths.statuses == BUFFER_FULL))

    @property
    def is_too_fast(self) -> bool:
        """Whether a neuron would grow beyond all bounds."""
        return bool(np.any(self.paths.statuses == TOO_FAST))

    def outputs_at_nodes(self) -> FloatArray:
        """h at the nodes, shape (q, n)."""
        return self._outputs_at(IS_NODE)

    def outputs_between(self) -> FloatArray:
        """h between the nodes, at `CHECKS`."""
        return self._outputs_at(~IS_NODE)

    def _outputs_at(self, which: BoolArray) -> FloatArray:
        self.outputs[which] = self.samples.outputs(self.paths.places[:, which], self.mass) * self.kept[which, None]
        return np.asarray(self.outputs[which])


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


def _room_for(num_neurons: int, num_walls: int, d: int, num_events: int) -> Paths:
    return Paths(
        places=np.zeros((num_neurons, len(POINTS), d + 1)),
        ends=np.zeros((num_neurons, d + 1)),
        sides=np.zeros((num_neurons, num_walls), dtype=np.int8),
        pinned=np.zeros((num_neurons, num_walls), dtype=np.int8),
        event_walls=np.zeros((num_neurons, num_events), dtype=np.int64),
        event_taus=np.zeros((num_neurons, num_events)),
        event_kinds=np.zeros((num_neurons, num_events), dtype=np.int8),
        event_kinks=np.zeros((num_neurons, num_events)),
        num_events=np.zeros(num_neurons, dtype=np.int64),
        statuses=np.full(num_neurons, DONE, dtype=np.int8),
        stops=np.ones(num_neurons),
    )
