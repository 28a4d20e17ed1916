"""CarriedNeurons: neurons carried through one macro step, each alone, and which of them must be carried again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.budget import count
from reluflow.dynamics.collocation.lone_neurons import LoneNeurons
from reluflow.dynamics.collocation.neuron_path_kernels import BUFFER_FULL, DONE, TOO_FAST, Paths, StepStart, carry_all
from reluflow.dynamics.collocation.radau import RadauRule
from reluflow.dynamics.collocation.relative_forces import RelativeForces
from reluflow.dynamics.collocation.sample_forces import SampleForces
from reluflow.dynamics.collocation.sliding_kernels import Pulls
from reluflow.dynamics.collocation.tuning import (
    CAPACITY_FACTOR,
    CHECK_PLACES,
    LARGE_PRODUCT,
    MOST_EVENTS_PER_WALL,
    MOST_FORESEEN_GROWTH,
    NEGLIGIBLE_PULL,
    NUM_NODES,
    PULLING_WALLS,
    ROUNDING_SHARE,
    SINGLE_ROUNDING,
    WIDE_PULLS,
)
from reluflow.threads import ThreadTeam, in_two

RULE = RadauRule.of_order(NUM_NODES)
CHECKS = np.array(CHECK_PLACES)  # between the nodes, where the interpolant of the forces is tested
POINTS = np.sort(np.concatenate([RULE.nodes, CHECKS]))
IS_NODE = np.isin(POINTS, RULE.nodes)

# of 1e9 a second, of an iteration and of the crossings in it: fitted to 44 runs, to a factor 2 (`benchmarks/work.py`)
_OPERATIONS_AN_ITERATION, _OPERATIONS_A_CROSSING = 8e5, 4e3
_OPERATIONS_A_HEIGHT, _OPERATIONS_A_WEIGHT = 30.0, 0.2  # of a neuron on a force: in all, and per input


class CarriedNeurons:
    """The neurons that move, at the start of a step and along it; kept: `places` of rows not yet carried are the start.

    Parameters
    ----------
    samples
        The constants of the run.
    neurons
        At the start of the step.
    event_capacity
        Events a neuron may have.
    length
        The step. Places are those without decay of whole neurons, which leaves `kept` of every mass at the points.
    team
        Who carries them.
    bias
        The output bias at the start of the step, shape (K,), or None.
    tolerance
        Misfit of the forces, relative to the largest, that is allowed.
    output_error
        Error of the outputs that does as much.
    """

    def __init__(
        self,
        samples: SampleForces,
        neurons: LoneNeurons,
        event_capacity: int,
        length: float,
        team: ThreadTeam,
        *,
        tolerance: float,
        output_error: float,
        bias: FloatArray | None = None,
        bias_rate: float = 1.0,
    ) -> None:
        self.samples, self._team = samples, team
        self._start_bias, self.bias_rate = bias, bias_rate
        self.bias = None if bias is None else np.tile(bias, (len(POINTS), 1))  # (P, K) at the points
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
            samples.heights(neurons.w[self.moving]),
        )
        slides = neurons.slides()
        self._slides = slides._replace(places=slides.places[self.moving])
        self.paths = _empty_paths(len(self.moving), len(normals), neurons.shapes.shape[1], event_capacity)
        self.paths.places[:] = neurons.shapes[self.moving, None]
        self.outputs = np.empty((len(POINTS), len(samples.X) * samples.num_outputs))
        is_large = len(self.moving) * normals.size >= LARGE_PRODUCT
        self._is_pull_rough = (
            is_large and ROUNDING_SHARE * tolerance >= SINGLE_ROUNDING
        )  # what changes of forces do to pulls
        longest = float(np.max(samples.walls.length)) or 1.0
        self._rough_way = is_large * ROUNDING_SHARE * output_error / (SINGLE_ROUNDING * longest)
        self.is_current = np.zeros(len(self.moving), dtype=bool)  # carried by the forces of now
        self._from_base: tuple[FloatArray, FloatArray] | None = None

    def face(self, base: FloatArray, coefficients: FloatArray) -> None:
        """Take forces for what is carried from now on: at the start (n K,), and changes as powers of tau (q, n K)."""
        plus, minus = self.samples.of_walls(coefficients)
        if self._from_base is None:
            self._from_base = self.samples.of_walls(base[None])
            self._base_rests = self._rests(*self._from_base, is_rough=False)
        self.rests = self._rests(plus, minus, is_rough=self._is_pull_rough)
        constants = slice(None, None, len(coefficients))  # of every output
        self.rests[:, constants] += self._base_rests
        plus[constants] += self._from_base[0]
        minus[constants] += self._from_base[1]
        normals, is_silent = self.samples.walls.normals, self.samples.is_silent
        self._pulls = Pulls(normals, plus.T.copy(), minus.T.copy(), is_silent, *self._law)
        self.is_current[:] = False
        if self._start_bias is not None and self.samples.moves_bias:
            self.bias = self._start_bias + self.bias_rate * self._bias_moved(base, coefficients)

    def _bias_moved(self, base: FloatArray, coefficients: FloatArray) -> FloatArray:
        """How far the output bias, whose speed is the sum of all forces, has come at the points, shape (P, K)."""
        rows = np.vstack([base, coefficients]).reshape(-1, len(self.samples.X), self.samples.num_outputs)
        sums = np.sum(rows, axis=1)  # (q + 1, K)
        powers = POINTS[:, None] ** np.arange(1, len(sums)) / np.arange(1, len(sums))
        return np.asarray(np.outer(POINTS, sums[0]) + powers @ sums[1:])

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
        if plus.size * normals.shape[1] <= min(WIDE_PULLS, plus.size * 2 * len(up)):
            flat = (len(normals), len(plus) * normals.shape[1])
            rests = up @ (plus.T[:, :, None] * normals[:, None, :]).reshape(flat)
            if has_below:
                rests += down @ (minus.T[:, :, None] * normals[:, None, :]).reshape(flat)
            return np.asarray(rests.reshape(len(self.moving), len(plus), normals.shape[1]))
        if is_rough:
            normals = self.samples.single_normals
        strengths = np.maximum(np.max(np.abs(plus), axis=0), np.max(np.abs(minus), axis=0))
        pulling = np.flatnonzero(strengths > NEGLIGIBLE_PULL * np.max(strengths, initial=0.0))
        if len(pulling) < PULLING_WALLS * len(normals):
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
            if self.paths.event_walls.shape[1] > MOST_EVENTS_PER_WALL * self.paths.sides.shape[1]:
                break
            if full.size:
                self.paths = _with_more_capacity(self.paths)
        self.is_current[rows] = True
        count(_OPERATIONS_A_CROSSING * int(np.sum(self.paths.num_events[rows])))

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
        """h at the nodes, shape (q, n K): once in an iteration, whose work is counted here."""
        num_samples, d = self.samples.X.shape
        products = num_samples * self.samples.num_outputs * len(self.moving)
        count(_OPERATIONS_AN_ITERATION + (_OPERATIONS_A_HEIGHT + _OPERATIONS_A_WEIGHT * d) * products)
        return self._outputs_at(IS_NODE)

    def outputs_between(self) -> FloatArray:
        """h between the nodes, at `CHECKS`."""
        return self._outputs_at(~IS_NODE)

    def _outputs_at(self, which: BoolArray) -> FloatArray:
        places, starts = self.paths.places[:, which], self._start.z[self.moving, : self.samples.X.shape[1]]
        is_near = self.samples.on_device is None and self._rough_way > 0.0
        if is_near and self._way(places, starts) <= self._rough_way:
            found = self.samples.outputs_near(starts, self._start.heights, places, self.mass)
        else:
            found = self.samples.outputs(places, self.mass)
        found *= self.kept[which, None]
        if self.bias is not None:
            found += np.tile(self.bias[which], len(self.samples.X))
        self.outputs[which] = found
        return found

    def sizes(self) -> FloatArray:
        """What tangent kernels grow like: squared sizes of all that are carried, at the points, shape (P,).

        Of output weights alone where these do not move: then the kernel knows no others.
        """
        places = self.paths.places if self.samples.moves_outputs else self.paths.places[:, :, self.samples.X.shape[1] :]
        return np.asarray(self.kept * (self.mass @ np.einsum("jpi,jpi->jp", places, places)))

    def _way(self, places: FloatArray, starts: FloatArray) -> float:
        """Largest sum over the neurons of mass |v| times how far w has come: an error of the way is one of outputs."""
        d = starts.shape[1]
        moves, v = places[:, :, :d] - starts[:, None], places[:, :, d:]
        lengths = np.sqrt(np.einsum("jpi,jpi->jp", moves, moves) * np.einsum("jpc,jpc->jp", v, v))
        return float(np.max(self.mass @ lengths, initial=0.0))


class Staleness:
    """Which neurons must be carried again because the forces have changed since they were carried.

    A neuron's part of the outputs is at most mass |z|^2 |x|, and a change f of the forces changes it by about
    2 H |X| |f| of itself. Neurons whose changes together bend the forces by less than `allowed`, relative to the
    largest, are left as they are; those that were never carried count with all they may grow to.

    Parameters
    ----------
    carried
        The neurons.
    now
        Forces at the start of the step.
    length
        The step.
    allowed
        Largest neglected change.
    """

    def __init__(self, carried: CarriedNeurons, now: RelativeForces, length: float, allowed: float) -> None:
        self._neurons, self._allowed = carried, allowed
        X = carried.samples.X
        squares = np.einsum("ki,ki->k", X, X)
        self._size = carried.samples.largest(now.forces)
        largest_curvatures = now.curvatures.reshape(len(X), -1).max(axis=1) if len(now.curvatures) else 0.0
        answer = float(np.max(largest_curvatures * np.sqrt(squares)))
        self._answer = answer / self._size if self._size > 0.0 else np.inf  # of the forces to mass |z|^2
        self._turning = 2.0 * length * float(np.sqrt(np.sum(squares))) * self._size
        starts = carried.paths.places[:, 0]
        self._sizes = np.einsum("ji,ji->j", starts, starts)
        self._carried = np.full(len(carried.moving), -1)  # number of the forces it was carried by
        self._forces: list[FloatArray] = []

    def rows(self, at_nodes: FloatArray) -> IntArray:
        """The neurons to carry now that the forces at the nodes are these; they are taken for carried from here on.

        Forces may be told by their change since the start.
        """
        carried = self._neurons
        ends = carried.paths.places[:, -1]
        sizes = np.maximum(self._sizes, np.einsum("ji,ji->j", ends, ends))
        bends = self._answer * carried.mass * sizes
        self._forces.append(at_nodes)
        largest = carried.samples.largest
        changes = [largest(at_nodes - old) / (self._size or 1.0) for old in self._forces]
        factors = self._turning * np.asarray(changes)[self._carried]
        if len(changes) == 1:
            growths = np.sum(np.sqrt(np.einsum("jqi,jqi->jq", carried.rests, carried.rests)), axis=1)
            self._fresh = np.exp(np.minimum(2.0 * growths, MOST_FORESEEN_GROWTH))
        with np.errstate(invalid="ignore"):  # without forces the bound says nothing, and all are carried
            bends *= np.where(self._carried < 0, self._fresh, factors)
        order = np.argsort(bends)
        due = np.ones(len(bends), dtype=bool)
        due[order[np.cumsum(bends[order]) <= self._allowed]] = False
        due |= carried.paths.statuses != DONE
        self._carried[due] = len(self._forces) - 1
        return np.flatnonzero(due)


def _moving(neurons: LoneNeurons, is_silent: BoolArray) -> IntArray:
    """Neurons on which something pulls, or which slide."""
    is_dead = np.all(np.where(neurons.sides > 0, is_silent[:, 1], (neurons.sides < 0) & is_silent[:, 0]), axis=1)
    return np.flatnonzero(~is_dead)


def _with_more_capacity(paths: Paths) -> Paths:
    """The same paths with capacity for more events."""
    more = ((0, 0), (0, (CAPACITY_FACTOR - 1) * paths.event_walls.shape[1]))
    names = [name for name in Paths._fields if name.startswith("event_")]
    return paths._replace(**{name: np.pad(getattr(paths, name), more) for name in names})


def _empty_paths(num_neurons: int, num_walls: int, num_weights: int, num_events: int) -> Paths:
    return Paths(
        places=np.zeros((num_neurons, len(POINTS), num_weights)),
        ends=np.zeros((num_neurons, num_weights)),
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
