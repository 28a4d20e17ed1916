"""NegligibleSamples: those a classifier fits so well that their forces move no neuron, left out of its steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import BarycentricInterpolator
from scipy.optimize import brentq

from reluflow.arrays import BoolArray, FloatArray, IntArray, SignArray
from reluflow.data import Dataset
from reluflow.dynamics.collocation.lone_neurons import LoneNeurons
from reluflow.dynamics.collocation.output_kernels import add_outputs
from reluflow.dynamics.collocation.remaining_span import RemainingSpan, SeenSamples
from reluflow.dynamics.collocation.sample_forces import SampleForces
from reluflow.dynamics.collocation.tuning import (
    BLOCK_NUMBERS,
    FELT_LOG_FORCE,
    NEGLIGIBLE_FROM_SIZE,
    NEGLIGIBLE_LOG_FORCE,
    NEGLIGIBLE_MARGIN_SHARE,
)
from reluflow.dynamics.problem import TrainingProblem
from reluflow.geometry.boundary.walls import Walls


@dataclass(frozen=True, eq=False)
class NegligibleState:
    """Where negligible samples are at some moment.

    Parameters
    ----------
    sides
        Of their walls, shape (m, num_walls).
    outputs
        Shape (num_samples K,).
    """

    sides: SignArray
    outputs: FloatArray


@dataclass(frozen=True, eq=False)
class NegligibleSamples:
    """The samples that are left out, on which side of them every neuron is, and what it takes to bring them back.

    Parameters
    ----------
    whole
        The forces of all samples.
    is_negligible
        Which of them are negligible, shape (n,): always all samples of a wall.
    is_wall_negligible
        Their walls, shape (num_walls,).
    samples
        Those that are negligible, with their walls.
    now
        Sides of their walls and their outputs now.
    span
        Coordinates of the remaining samples, in which the neurons of the steps are told; None: those of all samples.
    seen
        The negligible samples as the neurons see them from there, or None.
    """

    whole: SampleForces
    is_negligible: BoolArray
    is_wall_negligible: BoolArray
    samples: SampleForces
    now: NegligibleState
    span: RemainingSpan | None
    seen: SeenSamples | None

    @property
    def remaining_walls(self) -> IntArray:
        """The walls of the steps, by their numbers among all."""
        return np.flatnonzero(~self.is_wall_negligible)

    def outputs(self, remaining: FloatArray) -> FloatArray:
        """h of all samples, from h of the remaining ones."""
        is_negligible = self.whole.forces_of(self.is_negligible)
        outputs = np.empty(len(is_negligible))
        outputs[~is_negligible], outputs[is_negligible] = remaining, self.now.outputs
        return outputs

    def among_all_walls(self, neurons: LoneNeurons) -> LoneNeurons:
        """The neurons of the steps among all walls."""
        sides = np.zeros((neurons.num_neurons, len(self.is_wall_negligible)), dtype=np.int8)
        sides[:, ~self.is_wall_negligible], sides[:, self.is_wall_negligible] = neurons.sides, self.now.sides
        pinned = np.zeros_like(sides)
        pinned[:, ~self.is_wall_negligible] = neurons.pinned
        return neurons.among(self.whole.walls, sides, pinned, told_by_all(neurons.w, self))

    def at_end(self, neurons: LoneNeurons, moved: IntArray, ends: FloatArray) -> NegligibleState:
        """Where they are when some neurons have moved on to `ends`."""
        shapes, walls = neurons.shapes.copy(), self.samples.walls
        shapes[moved] = ends
        weights = (neurons.mass[:, None] * shapes[:, neurons.d :]).T[:, :, None]  # (K, m, 1)
        sides, outputs = np.empty(self.now.sides.shape, np.int8), np.zeros((neurons.num_outputs, 1, len(walls.length)))
        has_own_walls = len(walls.first_sample) == len(walls.length)
        block = max(1, BLOCK_NUMBERS // max(1, len(walls.length)))
        for first in range(0, len(shapes), block):
            part = slice(first, first + block)
            heights = self._heights(shapes[part, : neurons.d], part)
            of_walls = heights if has_own_walls else heights[:, walls.first_sample]
            np.subtract((of_walls > 0.0).view(np.int8), (of_walls < 0.0).view(np.int8), out=sides[part])
            add_outputs(heights, np.ascontiguousarray(weights[:, part]), neurons.leak, outputs)
        return NegligibleState(sides, outputs[:, 0].T.ravel())

    def _heights(self, w: FloatArray, part: slice) -> FloatArray:
        """Pre-activations of a part of the neurons, from their input weights of the steps, shape (len(w), n)."""
        if self.seen is None:
            walls = self.samples.walls
            heights = np.take(self.samples.heights(w), walls.wall_of_sample, axis=1)
            heights *= walls.orientation * walls.length
            return heights
        return self.seen.heights(w, part)

    def _heights_along(self, w: FloatArray, neuron: int, wall: int) -> FloatArray:
        """How far from a wall a neuron is at some places, up to a factor."""
        if self.seen is None:
            return np.asarray(w @ self.samples.walls.normals[wall])
        return self.seen.heights_along(w, neuron, int(self.samples.walls.first_sample[wall]))

    def returning(self, after: NegligibleState, strongest: float) -> BoolArray:
        """Which samples have come within reach of the strongest force, given by its logarithm, shape (n,)."""
        found = np.zeros(len(self.is_negligible), dtype=bool)
        logs = self.samples.log_forces(after.outputs)
        found[self.is_negligible] = logs > strongest - FELT_LOG_FORCE
        return found

    def rescaled(self, ratio: float) -> NegligibleSamples:
        """The same at a `ratio` of all outputs, with the margin offsets that all samples have by then."""
        assert self.whole.margin_offsets is not None
        self.samples.margin_offsets = self.whole.margin_offsets[self.whole.forces_of(self.is_negligible)]
        return replace(self, now=replace(self.now, outputs=ratio * self.now.outputs))

    def crossings(
        self, after: NegligibleState, moved: IntArray, taus: FloatArray, places: FloatArray
    ) -> list[Crossing]:
        """Which of their walls the neurons have crossed, from places (len(moved), P, d + K) at `taus`, 0 the first.

        A neuron that has crossed a wall and come back is not seen; the sample feels nothing of either.
        """
        found = []
        names = self.whole.walls.first_sample[self.is_wall_negligible]
        for row, wall in np.argwhere(after.sides[moved] != self.now.sides[moved]).tolist():
            heights = self._heights_along(places[row, :, : -self.whole.num_outputs], int(moved[row]), wall)
            first = int(np.flatnonzero(heights * heights[0] <= 0.0)[0]) if np.any(heights * heights[0] <= 0.0) else -1
            height = BarycentricInterpolator(taus, heights)
            tau = brentq(lambda at, h=height: float(h(at)), taus[first - 1], taus[first]) if first > 0 else taus[-1]
            found.append(Crossing(int(moved[row]), int(names[wall]), float(tau)))
        return found


@dataclass(frozen=True)
class Crossing:
    """A neuron that crosses the wall of a negligible sample at the place tau of a step."""

    neuron: int
    sample: int
    tau: float


def told_by_all(w: FloatArray, negligible: NegligibleSamples | None) -> FloatArray:
    """Input weights, or pulls on them, of the steps in the coordinates of all samples."""
    return w if negligible is None or negligible.span is None else negligible.span.outward(w)


def may_leave_out(samples: SampleForces, neurons: LoneNeurons) -> bool:
    """Whether leaving samples out would save more than looking after them costs."""
    is_large = samples.X.size * neurons.num_neurons >= NEGLIGIBLE_FROM_SIZE
    has_one_rate = samples.num_outputs == 1 or samples.loss.is_coupled  # of all forces on a sample
    return samples.fades and has_one_rate and not samples.moves_bias and is_large


def is_felt(samples: SampleForces, outputs: FloatArray) -> BoolArray:
    """Which samples may move a neuron before long at these outputs, shape (n,)."""
    logs = samples.log_forces(outputs)
    strongest = int(np.argmax(logs if samples.counted is None else np.where(samples.counted, logs, -np.inf)))
    far = NEGLIGIBLE_LOG_FORCE + NEGLIGIBLE_MARGIN_SHARE * max(0.0, samples.smallest_margins(outputs)[strongest])
    return np.asarray(logs > logs[strongest] - far)


def choose_negligible(
    whole: SampleForces, problem: TrainingProblem, neurons: LoneNeurons, outputs: FloatArray, kept: BoolArray
) -> NegligibleSamples:
    """Which samples to leave out at these outputs, never those in `kept`.

    Parameters
    ----------
    whole
        The forces of all samples, with those `counted` that some neuron acts on.
    problem
        What is trained, in the coordinates of the neurons.
    neurons
        Among all walls.
    outputs
        h of all samples now.
    kept
        Samples that have just come to matter again.
    """
    walls = whole.walls
    remaining = is_felt(whole, outputs) | kept | (walls.orientation == 0)
    is_wall_remaining = np.any((neurons.sides == 0) | (neurons.pinned != 0), axis=0)
    is_wall_remaining[walls.wall_of_sample[remaining & (walls.orientation != 0)]] = True
    is_negligible = ~is_wall_remaining[walls.wall_of_sample] & ~remaining
    samples = _part(whole, problem, is_negligible)
    now = NegligibleState(neurons.sides[:, ~is_wall_remaining], outputs[whole.forces_of(is_negligible)])
    span = RemainingSpan.of(whole.X[~is_negligible], neurons.w)
    seen = None if span is None else span.seen(samples.X)
    return NegligibleSamples(whole, is_negligible, ~is_wall_remaining, samples, now, span, seen)


def remaining_part(
    negligible: NegligibleSamples, problem: TrainingProblem, neurons: LoneNeurons
) -> tuple[SampleForces, LoneNeurons]:
    """Forces of the remaining samples, and the neurons among their walls, in the coordinates of their span."""
    which, walls, span = ~negligible.is_negligible, negligible.remaining_walls, negligible.span
    samples, w = _part(negligible.whole, problem, which, span), neurons.w if span is None else span.inward(neurons.w)
    return samples, neurons.among(samples.walls, neurons.sides[:, walls], neurons.pinned[:, walls], w)


def _part(
    whole: SampleForces, problem: TrainingProblem, which: BoolArray, span: RemainingSpan | None = None
) -> SampleForces:
    """Forces of some of the samples, as they are among all, in the coordinates of a span."""
    samples, network = problem.dataset.subset(np.flatnonzero(which)), problem.network
    if span is not None:
        samples = Dataset(span.of_samples(samples.X), samples.y, task=samples.task, classes=samples.classes)
        network = network.replace(w=span.inward(network.w))
    part = SampleForces(
        replace(problem, dataset=samples, network=network),
        Walls.of(samples.X),
        num_samples=whole.num_samples,
        device=whole.device,
    )
    if whole.counted is not None and not np.all(whole.counted[which]):
        part.counted = whole.counted[which]
    if whole.margin_offsets is not None:
        part.margin_offsets = whole.margin_offsets[whole.forces_of(which)]
    return part
