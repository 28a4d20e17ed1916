"""NegligibleSamples: those a classifier fits so well that their forces move no neuron, left out of its steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import BarycentricInterpolator
from scipy.optimize import brentq

from reluflow.arrays import BoolArray, FloatArray, IntArray, SignArray
from reluflow.dynamics.collocation.lone_neurons import LoneNeurons
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
    """

    whole: SampleForces
    is_negligible: BoolArray
    is_wall_negligible: BoolArray
    samples: SampleForces
    now: NegligibleState

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
        return neurons.among(self.whole.walls, sides, pinned)

    def at_end(self, neurons: LoneNeurons, moved: IntArray, ends: FloatArray) -> NegligibleState:
        """Where they are when some neurons have moved on to `ends`."""
        shapes, walls = neurons.shapes.copy(), self.samples.walls
        shapes[moved] = ends
        weights = [neurons.mass * shapes[:, neurons.d + c] for c in range(neurons.num_outputs)]
        sides, outputs = np.empty_like(self.now.sides), np.zeros((len(walls.length), neurons.num_outputs))
        block = max(1, BLOCK_NUMBERS // max(1, len(walls.length)))
        for first in range(0, len(shapes), block):
            part = slice(first, first + block)
            heights = self.samples.heights(shapes[part, : neurons.d])
            sides[part] = np.sign(heights)
            heights = heights[:, walls.wall_of_sample] * (walls.orientation * walls.length)
            felt = np.where(heights > 0.0, heights, neurons.leak * heights)
            for c, weight in enumerate(weights):
                outputs[:, c] += weight[part] @ felt
        return NegligibleState(sides, outputs.ravel())

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
            heights = places[row, :, : self.samples.X.shape[1]] @ self.samples.walls.normals[wall]
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
    return NegligibleSamples(whole, is_negligible, ~is_wall_remaining, samples, now)


def remaining_part(
    negligible: NegligibleSamples, problem: TrainingProblem, neurons: LoneNeurons
) -> tuple[SampleForces, LoneNeurons]:
    """Forces of the remaining samples, and the neurons among their walls."""
    samples, walls = _part(negligible.whole, problem, ~negligible.is_negligible), negligible.remaining_walls
    return samples, neurons.among(samples.walls, neurons.sides[:, walls], neurons.pinned[:, walls])


def _part(whole: SampleForces, problem: TrainingProblem, which: BoolArray) -> SampleForces:
    """Forces of some of the samples, as they are among all."""
    samples = problem.dataset.subset(np.flatnonzero(which))
    part = SampleForces(
        replace(problem, dataset=samples), Walls.of(samples.X), num_samples=whole.num_samples, device=whole.device
    )
    if whole.counted is not None and not np.all(whole.counted[which]):
        part.counted = whole.counted[which]
    if whole.margin_offsets is not None:
        part.margin_offsets = whole.margin_offsets[whole.forces_of(which)]
    return part
