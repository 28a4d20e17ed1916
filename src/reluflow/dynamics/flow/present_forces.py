"""PresentForces: how exactly the forces of now are known, how much they cancel, and how they change."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.flow.lone_neurons import LoneNeurons
from reluflow.dynamics.flow.sample_forces import SampleForces
from reluflow.dynamics.gradient import RelativePulls
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.variant import velocities

_OUTPUT_EPS = 16.0 * float(np.finfo(np.float64).eps)  # what rounding leaves of the outputs, relative to the largest

_NEAR_ENOUGH = 0.3  # share of the largest force by which forces may be foretold to change by how they do now


class PresentForces:
    """What can be said of the forces on the samples (n,) at the neurons' present state.

    Parameters
    ----------
    problem
        What is trained, in the coordinates of the neurons.
    neurons, samples
        The neurons, which move, and the constants of the run.
    """

    def __init__(self, problem: TrainingProblem, neurons: LoneNeurons, samples: SampleForces) -> None:
        self._problem, self._neurons, self._samples = problem, neurons, samples
        self._lengths = np.linalg.norm(samples.X, axis=1)

    def rounding(self, outputs: FloatArray, forces: FloatArray) -> float:
        """What rounding of the outputs does to the forces, relative to the largest."""
        error = _OUTPUT_EPS * float(np.max(np.abs(outputs), initial=1.0))
        if self._samples.fades:
            return error
        size = self._samples.largest(forces[None])
        curvature = float(np.max(self._samples.relative(outputs[None]).curvatures))
        return error * curvature / size if size > 0.0 else np.inf

    def cancellation(self, forces: FloatArray, pulls: FloatArray, log_rate: float) -> float:
        """What the forces leave of each other: the root mean square pull, relative to that of all of them aligned."""
        mass = self._neurons.mass
        counted = self._samples.counted  # the forces of the others are cut; walls that hold neurons take them
        total = float(np.abs(forces) @ (self._lengths if counted is None else np.where(counted, self._lengths, 0.0)))
        moved, lever = pulls, mass
        if not self._problem.is_plain:  # at rest decay cancels the pulls; with a frozen a they act on w alone
            z = self._neurons.shapes
            moved = velocities(self._problem, z, RelativePulls(pulls, log_rate))
            lever = mass if self._problem.trains_output_layer else mass * np.square(z[:, -1])
        size = total**2 * float(np.sum(lever))
        return float(np.sqrt(mass @ np.einsum("ji,ji->j", moved, moved) / size)) if size > 0.0 else 1.0

    def slopes(self, outputs: FloatArray, forces: FloatArray, pulls: FloatArray) -> FloatArray:
        """How fast the forces change, shape (n,), without what weight decay does."""
        neurons, samples = self._neurons, self._samples
        w, a = neurons.shapes[:, :-1], neurons.shapes[:, -1]
        gains = np.einsum("ji,ji->j", w, pulls) if self._problem.trains_output_layer else np.zeros_like(a)
        turns = (a * a)[:, None] * pulls + gains[:, None] * w  # of a w
        active = neurons.walls.slopes(neurons.sides, neurons.leak)
        rates = np.einsum("j,jk,jk->k", neurons.mass, active, turns @ samples.X.T)
        answers = -samples.relative(outputs[None]).curvatures[0] * rates
        if samples.fades:  # forces are relative to their sum
            answers -= forces * (samples.labels @ answers)
            if samples.counted is not None:  # those of samples that no neuron acts on are cut
                answers[~samples.counted] = 0.0
        return np.asarray(answers)

    def ahead(self, outputs: FloatArray, forces: FloatArray, pulls: FloatArray, moments: FloatArray) -> FloatArray:
        """Forces some time from now, shape (len(moments), n), if they go on as they do; else, as they are now."""
        slopes, largest = self.slopes(outputs, forces, pulls), self._samples.largest
        is_near = float(np.max(moments)) * largest(slopes[None]) <= _NEAR_ENOUGH * largest(forces[None])
        return np.asarray(forces + np.outer(moments, slopes if is_near else np.zeros_like(slopes)))
