"""PresentForces: how exactly the forces of now are known, how much they cancel, and how they change."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.collocation.curvatures import curved
from reluflow.dynamics.collocation.lone_neurons import LoneNeurons
from reluflow.dynamics.collocation.sample_forces import SampleForces
from reluflow.dynamics.collocation.tuning import OUTPUT_ROUNDING, PREDICTED_CHANGE
from reluflow.dynamics.gradient import RelativePulls
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.variant import velocities


class PresentForces:
    """What can be said of the forces on the samples (n K,) at the neurons' present state.

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
        error = OUTPUT_ROUNDING * float(np.max(np.abs(outputs), initial=1.0))
        if self._samples.fades:
            return error
        size = self._samples.largest(forces[None])
        curvature = float(np.max(self._samples.relative(outputs[None]).curvatures))
        return error * curvature / size if size > 0.0 else np.inf

    def cancellation(self, forces: FloatArray, pulls: FloatArray, log_rate: float) -> float:
        """What the forces leave of each other: the root mean square pull, relative to that of all of them aligned."""
        mass = self._neurons.mass
        counted = self._samples.counted  # the forces of the others are cut; walls that hold neurons take them
        sizes = np.abs(forces)
        if self._neurons.num_outputs > 1:
            sizes = np.linalg.norm(forces.reshape(-1, self._neurons.num_outputs), axis=1)
        total = float(sizes @ (self._lengths if counted is None else np.where(counted, self._lengths, 0.0)))
        moved, lever = pulls.reshape(len(pulls), -1), mass
        # at rest decay cancels the pulls, and of several outputs D v = 0 and D^T w = 0 where D need not vanish; with a
        # frozen v pulls act on w alone
        if not self._problem.moves_freely or self._neurons.num_outputs > 1:
            moved = velocities(self._problem, self._neurons.shapes, RelativePulls(pulls, log_rate))
            v = self._neurons.v
            lever = mass if self._problem.trains_output_layer else mass * np.einsum("jc,jc->j", v, v)
        size = total**2 * float(np.sum(lever))
        return float(np.sqrt(mass @ np.einsum("ji,ji->j", moved, moved) / size)) if size > 0.0 else 1.0

    def slopes(self, outputs: FloatArray, forces: FloatArray, pulls: FloatArray) -> FloatArray:
        """How fast the forces change, shape (n K,), without what weight decay does."""
        neurons, samples = self._neurons, self._samples
        w, v = neurons.w, neurons.v
        active = neurons.walls.slopes(neurons.sides, neurons.leak)
        rates = np.empty((len(samples.X), v.shape[1]))
        for c in range(v.shape[1]):
            gains = np.einsum("ji,ji->j", w, pulls[:, c]) if self._problem.trains_output_layer else np.zeros(len(w))
            turns = np.einsum("je,jei->ji", v[:, c : c + 1] * v, pulls) + gains[:, None] * w  # of v_c w
            rates[:, c] = np.einsum("j,jk,jk->k", neurons.mass, active, turns @ samples.X.T)
        if samples.moves_bias:
            rates += np.sum(forces.reshape(rates.shape), axis=0)
        answers = -curved(samples.relative(outputs[None]).curvatures[0], rates.reshape(-1, 1))[:, 0]
        if samples.fades:  # forces are relative to their sum
            answers -= forces * (samples.rate_signs @ answers)
            counted = samples.counted_forces
            if counted is not None:  # those of samples that no neuron acts on are cut
                answers[~counted] = 0.0
        return np.asarray(answers)

    def ahead(self, outputs: FloatArray, forces: FloatArray, pulls: FloatArray, moments: FloatArray) -> FloatArray:
        """Forces some time from now, shape (len(moments), n K), if they go on as they do; else, as they are now."""
        slopes, largest = self.slopes(outputs, forces, pulls), self._samples.largest
        is_near = float(np.max(moments)) * largest(slopes[None]) <= PREDICTED_CHANGE * largest(forces[None])
        return np.asarray(forces + np.outer(moments, slopes if is_near else np.zeros_like(slopes)))
