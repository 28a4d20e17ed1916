"""SleepingSamples: those a classifier fits so well that their forces move nobody, left out of its steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import BarycentricInterpolator
from scipy.optimize import brentq

from reluflow.arrays import BoolArray, FloatArray, IntArray, SignArray
from reluflow.dynamics.flow.lone_neurons import LoneNeurons
from reluflow.dynamics.flow.sample_forces import SampleForces
from reluflow.dynamics.problem import TrainingProblem
from reluflow.geometry.boundary.walls import Walls

_LARGE = 2**22  # numbers n d m of a problem from which leaving samples out is worth looking after them
FEW = 0.8  # share of the samples awake up to which the others are left out, and of those awake to choose again
_ASLEEP, _AND_MORE = 50.0, 0.1  # ln of how much weaker than the strongest force, with this share of its margin added
_AWAKE = 46.0  # a force within this of the strongest, e^-46 = 1e-20, is felt: steps that are stiff magnify it
_CHUNK = 2**24  # numbers in one block of heights


@dataclass(frozen=True, eq=False)
class Morning:
    """Where samples that slept through a step are at its end.

    Parameters
    ----------
    sides
        Of their walls, shape (m, num_walls).
    outputs
        Shape (num_samples,).
    """

    sides: SignArray
    outputs: FloatArray


@dataclass(frozen=True, eq=False)
class SleepingSamples:
    """The samples that are left out, on which side of them every neuron is, and what it takes to bring them back.

    Parameters
    ----------
    whole
        The forces of all samples.
    is_asleep
        Which of them sleep, shape (n,): always all samples of a wall.
    is_wall_asleep
        Their walls, shape (num_walls,).
    samples
        Those that sleep, with their walls.
    now
        Sides of their walls and their outputs now.
    """

    whole: SampleForces
    is_asleep: BoolArray
    is_wall_asleep: BoolArray
    samples: SampleForces
    now: Morning

    @property
    def awake_walls(self) -> IntArray:
        """The walls of the steps, by their numbers among all."""
        return np.flatnonzero(~self.is_wall_asleep)

    def outputs(self, awake: FloatArray) -> FloatArray:
        """h of all samples, from h of those that are awake."""
        outputs = np.empty(len(self.is_asleep))
        outputs[~self.is_asleep], outputs[self.is_asleep] = awake, self.now.outputs
        return outputs

    def woken(self, neurons: LoneNeurons) -> LoneNeurons:
        """The neurons of the steps among all walls."""
        sides = np.zeros((neurons.num_neurons, len(self.is_wall_asleep)), dtype=np.int8)
        sides[:, ~self.is_wall_asleep], sides[:, self.is_wall_asleep] = neurons.sides, self.now.sides
        pinned = np.zeros_like(sides)
        pinned[:, ~self.is_wall_asleep] = neurons.pinned
        return neurons.among(self.whole.walls, sides, pinned)

    def at_end(self, neurons: LoneNeurons, moved: IntArray, ends: FloatArray) -> Morning:
        """Where they are when some neurons have moved on to `ends`."""
        shapes, walls = neurons.shapes.copy(), self.samples.walls
        shapes[moved] = ends
        weights = neurons.mass * shapes[:, -1]
        sides, outputs = np.empty_like(self.now.sides), np.zeros(len(walls.length))
        block = max(1, _CHUNK // max(1, len(walls.length)))
        for first in range(0, len(shapes), block):
            part = slice(first, first + block)
            heights = self.samples.heights(shapes[part, :-1])
            sides[part] = np.sign(heights)
            heights = heights[:, walls.wall_of_sample] * (walls.orientation * walls.length)
            outputs += weights[part] @ np.where(heights > 0.0, heights, neurons.leak * heights)
        return Morning(sides, outputs)

    def waking(self, morning: Morning, strongest: float) -> BoolArray:
        """Which samples have come within reach of the strongest force, given by its logarithm, shape (n,)."""
        found = np.zeros(len(self.is_asleep), dtype=bool)
        logs = self.samples.log_forces(morning.outputs)
        found[self.is_asleep] = logs > strongest - _AWAKE
        return found

    def shrunk(self, ratio: float) -> SleepingSamples:
        """The same at a `ratio` of all outputs, with the head starts that all samples have by then."""
        assert self.whole.head_starts is not None
        self.samples.head_starts = self.whole.head_starts[self.is_asleep]
        return replace(self, now=replace(self.now, outputs=ratio * self.now.outputs))

    def crossings(self, morning: Morning, moved: IntArray, taus: FloatArray, places: FloatArray) -> list[Crossing]:
        """Which of their walls the neurons have crossed, from places (len(moved), P, d + 1) at `taus`, 0 the first.

        A neuron that has crossed a wall and come back is not seen; the sample feels nothing of either.
        """
        found = []
        names = self.whole.walls.first_sample[self.is_wall_asleep]
        for row, wall in np.argwhere(morning.sides[moved] != self.now.sides[moved]).tolist():
            heights = places[row, :, :-1] @ self.samples.walls.normals[wall]
            after = int(np.flatnonzero(heights * heights[0] <= 0.0)[0]) if np.any(heights * heights[0] <= 0.0) else -1
            height = BarycentricInterpolator(taus, heights)
            tau = brentq(lambda at, h=height: float(h(at)), taus[after - 1], taus[after]) if after > 0 else taus[-1]
            found.append(Crossing(int(moved[row]), int(names[wall]), float(tau)))
        return found


@dataclass(frozen=True)
class Crossing:
    """A neuron that crosses the wall of a sleeping sample at the place tau of a step."""

    neuron: int
    sample: int
    tau: float


def may_sleep(samples: SampleForces, neurons: LoneNeurons) -> bool:
    """Whether leaving samples out would save more than looking after them costs."""
    return samples.fades and samples.X.size * neurons.num_neurons >= _LARGE


def is_awake(samples: SampleForces, outputs: FloatArray) -> BoolArray:
    """Which samples may move somebody before long at these outputs, shape (n,)."""
    logs = samples.log_forces(outputs)
    strongest = int(np.argmax(logs if samples.counted is None else np.where(samples.counted, logs, -np.inf)))
    far = _ASLEEP + _AND_MORE * max(0.0, float(outputs[strongest] * samples.labels[strongest]))
    return np.asarray(logs > logs[strongest] - far)


def those_asleep(
    whole: SampleForces, problem: TrainingProblem, neurons: LoneNeurons, outputs: FloatArray, kept: BoolArray
) -> SleepingSamples:
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
        Samples that have just been woken.
    """
    walls = whole.walls
    awake = is_awake(whole, outputs) | kept | (walls.orientation == 0)
    is_wall_awake = np.any((neurons.sides == 0) | (neurons.pinned != 0), axis=0)
    is_wall_awake[walls.wall_of_sample[awake & (walls.orientation != 0)]] = True
    is_asleep = ~is_wall_awake[walls.wall_of_sample] & ~awake
    samples = _part(whole, problem, is_asleep)
    now = Morning(neurons.sides[:, ~is_wall_awake], outputs[is_asleep])
    return SleepingSamples(whole, is_asleep, ~is_wall_awake, samples, now)


def awake_part(
    sleeping: SleepingSamples, problem: TrainingProblem, neurons: LoneNeurons
) -> tuple[SampleForces, LoneNeurons]:
    """Forces of the samples that are awake, and the neurons among their walls."""
    samples, walls = _part(sleeping.whole, problem, ~sleeping.is_asleep), sleeping.awake_walls
    return samples, neurons.among(samples.walls, neurons.sides[:, walls], neurons.pinned[:, walls])


def _part(whole: SampleForces, problem: TrainingProblem, which: BoolArray) -> SampleForces:
    """Forces of some of the samples, as they are among all."""
    samples = problem.dataset.subset(np.flatnonzero(which))
    part = SampleForces(
        replace(problem, dataset=samples), Walls.of(samples.X), num_samples=whole.num_samples, device=whole.device
    )
    if whole.counted is not None and not np.all(whole.counted[which]):
        part.counted = whole.counted[which]
    if whole.head_starts is not None:
        part.head_starts = whole.head_starts[which]
    return part
