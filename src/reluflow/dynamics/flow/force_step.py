"""ForceStep: the forces on one macro step as polynomials, iterated until the neurons they move give them back."""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.dynamics.flow.force_newton import FewModes, ForceNewton, largest_modes, tangent_kernel
from reluflow.dynamics.flow.lone_neurons import LoneNeurons
from reluflow.dynamics.flow.neuron_path_kernels import BUFFER_FULL, DONE, TOO_FAST, Paths, carry_all
from reluflow.dynamics.flow.radau import RadauRule
from reluflow.dynamics.flow.relative_forces import RelativeForces, relative_forces
from reluflow.dynamics.flow.sliding_kernels import Pulls
from reluflow.geometry.boundary.walls import Walls
from reluflow.losses import AbstractLoss

RULE = RadauRule.of_order(5)
_CHECKS = np.array([0.16, 0.43, 0.72, 0.94])  # between the nodes, where the interpolant of the forces is tested
POINTS = np.sort(np.concatenate([RULE.nodes, _CHECKS]))
_IS_NODE = np.isin(POINTS, RULE.nodes)
_MIDDLE_NODE = 2
_MIDDLE = int(np.flatnonzero(_IS_NODE)[_MIDDLE_NODE])  # among the points
_MANY_SAMPLES = 400  # from here on Newton's matrix uses the largest modes of the tangent kernel only
_LARGE = 3000
_WEAK_MODE = 0.1  # a mode that bends the forces by less than this within a step is left to plain iteration
_AT_START = 0.3  # how much the misfit at the start, an extrapolation, counts beside the misfits between the nodes
_NEWTON_SHARE = 0.03  # the iteration ends when the forces change by less than this share of the tolerance
_EARLY = 10.0  # once the iteration is this close, in units of the tolerance, a hopeless step is given up
_MOST_SWEEPS = 12
_EVENT_ROOM = 48  # events a neuron may have in one step
_STALE = 0.25  # |ln| of the change of the step length beyond which Newton's matrix is factored anew
_SLOW = 0.25  # a contraction worse than this asks for a new tangent kernel
_KINK = 0.03  # misfit of the interpolant beside a kink, in units of the kink's jump of slope per step
_AT_ONCE = 1e-3  # a kink so early in a step is not worth another one
_CHUNK = 2**24  # numbers in one block of pre-activations


class StepStatus(Enum):
    """How the iteration on one step ended."""

    SOLVED = auto()
    TOO_LONG = auto()  # the interpolant misses the forces, or the iteration does not contract


class Solution(NamedTuple):
    """A step: who moved, their paths, the forces as powers of tau, the rates at the nodes, the misfit."""

    status: StepStatus
    moving: IntArray
    paths: Paths
    coefficients: FloatArray  # (q, n)
    log_rates: FloatArray  # (q,)
    curvatures: FloatArray  # (n,) at mid-step
    size: float  # the largest force
    outputs: FloatArray  # (P, n) at the points, where they are known
    misfit: float  # of the interpolant, relative to `size`
    stop: float  # the first tau at which a path could not go on, else 1


class SampleForces:
    """The samples as walls that pull on neurons: the constants of a run.

    Parameters
    ----------
    X, labels, loss
        The samples (n, d), their labels and the loss.
    walls
        Their hyperplanes.
    leak
        Negative slope of the activation.
    """

    def __init__(self, X: FloatArray, labels: FloatArray, loss: AbstractLoss, walls: Walls, leak: float) -> None:
        self.X, self.labels, self.loss, self.walls, self.leak = X, labels, loss, walls, leak
        self._factors = (walls.pull_factors(1, leak), walls.pull_factors(-1, leak))
        self.counted: BoolArray | None = None  # samples in the rate of a fading loss; None: all
        self.is_silent = np.ones((len(walls.normals), 2), dtype=bool)  # which walls pull nothing, on - and on +
        for column, factor in enumerate(reversed(self._factors)):
            np.logical_and.at(self.is_silent[:, column], walls.wall_of_sample, factor == 0.0)

    def of_walls(self, forces: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What every wall pulls along its normal on its positive and negative side, shapes (P, B)."""
        both = []
        for factor in self._factors:
            pull = np.zeros((len(forces), len(self.walls.normals)))
            if len(self.X) == pull.shape[1]:
                pull[:, self.walls.wall_of_sample] = forces * factor
            else:
                np.add.at(pull.T, self.walls.wall_of_sample, (forces * factor).T)
            both.append(pull)
        return both[0], both[1]

    def relative(self, outputs: FloatArray) -> RelativeForces:
        """Forces relative to the rate at outputs of shape (P, n)."""
        return relative_forces(outputs, self.labels, self.loss, self.counted)

    def count(self, slopes: FloatArray | None) -> bool:
        """Leave samples on which no neuron acts out of the rate; with None, take all of them. Whether that changed."""
        acted_on = np.ones(len(self.X), dtype=bool)
        if slopes is not None and self.loss.fades and np.any(slopes):
            acted_on = np.any(slopes, axis=0)
        before = acted_on | True if self.counted is None else self.counted
        self.counted = None if np.all(acted_on) else acted_on
        return not np.array_equal(before, acted_on)

    def wakes(self, paths: Paths) -> bool:
        """Whether a neuron meets the wall of a sample that was not counted."""
        if self.counted is None:
            return False
        met = paths.event_walls[np.arange(paths.event_walls.shape[1]) < paths.num_events[:, None]]
        return bool(np.isin(met[met >= 0], self.walls.wall_of_sample[~self.counted]).any())

    def outputs(self, places: FloatArray, mass: FloatArray) -> FloatArray:
        """h at P moments, shape (P, n), from places (m, P, d + 1) of neurons with given masses."""
        num_neurons, num_points, width = places.shape
        outputs = np.zeros((num_points, len(self.X)))
        block = max(1, _CHUNK // max(1, num_points * len(self.X)))
        weights = places[:, :, -1] * mass[:, None]
        for first in range(0, num_neurons, block):
            part = slice(first, first + block)
            heights = places[part, :, :-1].reshape(-1, width - 1) @ self.X.T
            np.maximum(heights, self.leak * heights, out=heights)
            heights = heights.reshape(-1, num_points, len(self.X))
            for point in range(num_points):
                outputs[point] += weights[part, point] @ heights[:, point]
        return outputs


class ForceStep:
    """Solves macro steps one after the other, keeping Newton's matrix while it serves.

    Parameters
    ----------
    samples
        The constants of the run.
    tolerance
        Allowed misfit of the forces, relative to the largest one.
    """

    def __init__(self, samples: SampleForces, tolerance: float) -> None:
        self.samples, self.tolerance = samples, tolerance
        self.sweeps = 0
        self._event_room = _EVENT_ROOM
        # beyond this size Newton's matrix, which only steers the iteration, is kept in single precision
        rows = samples.X if len(samples.X) <= _LARGE else samples.X.astype(np.float32)
        self._gram: FloatArray = np.asarray(rows @ rows.T)
        self._newton: ForceNewton | FewModes | None = None
        self._modes: FloatArray | None = None

    def solve(self, neurons: LoneNeurons, forces: FloatArray, guess: FloatArray, length: float) -> Solution:
        """Move the neurons for a rescaled time `length`, from `forces` now and a guess at the nodes."""
        samples = self.samples
        moving = _moving(neurons, samples.is_silent)
        sides, mass = neurons.sides[moving], neurons.mass[moving]
        is_up, is_down = sides > 0, sides < 0
        heights = neurons.shapes[moving, :-1] @ samples.walls.normals.T
        paths = _room_for(len(moving), len(samples.walls.normals), neurons.d, self._event_room)
        at_nodes, was_checked, last = guess, False, np.inf
        for sweep in range(_MOST_SWEEPS):
            coefficients = RULE.to_powers @ at_nodes
            plus, minus = samples.of_walls(coefficients * length)
            strengths = is_up[:, None, :] * plus + is_down[:, None, :] * minus  # (m, q, B)
            rests = strengths.reshape(-1, plus.shape[1]) @ samples.walls.normals
            carry_all(
                *(moving, neurons.shapes, neurons.sides, neurons.pinned),
                *(rests.reshape(len(moving), len(plus), neurons.d), heights, neurons.can_change_sign),
                Pulls(samples.walls.normals, plus.T.copy(), minus.T.copy(), samples.is_silent),
                *(POINTS, paths),
            )
            self.sweeps += 1
            if np.any(paths.statuses == BUFFER_FULL):
                self._event_room *= 2
                return self.solve(neurons, forces, guess, length)
            if np.any(paths.statuses == TOO_FAST):
                return _too_long(moving, paths, coefficients)
            outputs = np.empty((len(POINTS), len(samples.X)))
            outputs[_IS_NODE] = samples.outputs(paths.places[:, _IS_NODE], mass)
            given_back = samples.relative(outputs[_IS_NODE])
            residual = given_back.forces - at_nodes
            size = float(np.max(np.abs(given_back.forces)))
            gap = float(np.max(np.abs(residual))) / size
            stop = float(np.min(paths.stops, initial=1.0))
            is_solved = gap <= _NEWTON_SHARE * self.tolerance
            misfit = np.inf
            if is_solved or (gap <= _EARLY * self.tolerance and not was_checked):
                outputs[~_IS_NODE] = samples.outputs(paths.places[:, ~_IS_NODE], mass)
                misfit = self._misfit(outputs[~_IS_NODE], coefficients, forces, size)
                was_checked = True
            found = Solution(
                *(StepStatus.SOLVED, moving, paths, coefficients, given_back.log_rates),
                *(given_back.curvatures[_MIDDLE_NODE], size, outputs, misfit, stop),
            )
            if is_solved:
                return found
            is_hopeless = was_checked and 2.0 * self.tolerance + gap < misfit < np.inf and stop >= 1.0
            is_stuck = not np.isfinite(gap) or (sweep >= 3 and gap > 0.7 * last)
            if is_hopeless or is_stuck:
                return found._replace(status=StepStatus.TOO_LONG)
            is_slow = sweep >= 1 and gap > _SLOW * last
            self._newton = self._prepare(mass, given_back, length, paths.places, is_slow=is_slow)
            last = gap
            at_nodes = at_nodes + self._newton.solve(residual)
        return found._replace(status=StepStatus.TOO_LONG, misfit=np.inf)

    def first_heavy_kink(self, found: Solution, neurons: LoneNeurons) -> float:
        """Where the first event lies that bends the forces by more than the tolerance, else infinity."""
        paths = found.paths
        largest = float(np.max(self.samples.walls.length)) * float(np.max(found.curvatures, initial=0.0)) / found.size
        which = np.arange(paths.event_walls.shape[1]) < paths.num_events[:, None]
        bends = _KINK * largest * neurons.mass[found.moving][:, None] * paths.event_kinks
        heavy = which & (bends > self.tolerance) & (paths.event_taus > _AT_ONCE) & (paths.event_taus < 1.0 - _AT_ONCE)
        return float(np.min(paths.event_taus[heavy], initial=np.inf))

    def _misfit(self, outputs: FloatArray, coefficients: FloatArray, forces: FloatArray, size: float) -> float:
        """How far the interpolant is from the forces between the nodes and at the start, relative to the largest."""
        between = self.samples.relative(outputs).forces
        misfit = float(np.max(np.abs(between - RULE.values(coefficients, _CHECKS)))) / size
        return max(misfit, _AT_START * float(np.max(np.abs(forces - coefficients[0]))) / size)

    def _prepare(
        self, mass: FloatArray, given_back: RelativeForces, length: float, places: FloatArray, *, is_slow: bool
    ) -> ForceNewton | FewModes:
        """Newton's matrix for this step: the old one if it is near, a new one at mid-step where that was slow."""
        if self._newton is not None and abs(np.log(self._newton.length / length)) <= _STALE and not is_slow:
            return self._newton
        samples = self.samples
        kernel = tangent_kernel(places[:, _MIDDLE], mass, samples.walls, samples.leak, samples.X, self._gram)
        curvatures = given_back.curvatures[_MIDDLE_NODE]
        forces = given_back.forces[_MIDDLE_NODE] if samples.loss.fades else None
        found = None
        if len(kernel) > _MANY_SAMPLES:
            found = largest_modes(kernel, _WEAK_MODE / (length * float(np.max(curvatures))), self._modes)
        if found is None:
            return ForceNewton(RULE, kernel, curvatures, forces, samples.labels, length)
        self._modes = found[0]
        return FewModes(RULE, *found, curvatures, forces, samples.labels, length)


def _too_long(moving: IntArray, paths: Paths, coefficients: FloatArray) -> Solution:
    """A step whose iteration has left all bounds."""
    nothing = np.zeros(0)
    return Solution(StepStatus.TOO_LONG, moving, paths, coefficients, nothing, nothing, 1.0, nothing, np.inf, 1.0)


def _moving(neurons: LoneNeurons, is_silent: NDArray[np.bool_]) -> IntArray:
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
