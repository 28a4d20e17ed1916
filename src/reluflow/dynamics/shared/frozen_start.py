"""The start of a run at a tiny scale: while outputs are too small to bend the forces, jump by closed-form boosts."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray, SignArray
from reluflow.dynamics.collocation.lone_neurons import LoneNeurons
from reluflow.dynamics.event import EventRecorder
from reluflow.dynamics.event_driven.grouped_neurons import GroupedNeurons
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.shared.tuning import FROZEN_SHARE
from reluflow.geometry.alignment import AlignedState, align_until


class FrozenStart:
    """Decides how far the forces may be taken as frozen at their value for zero output, and jumps there.

    Outputs are at most |x| sum_j weight_j |z_j|^2 / 2, and |z_j| grows at most like exp(B t), B = sum_k |r_k| |x_k|; so
    from any state the forces stay frozen to the tolerance for a time that is known beforehand. A scale of 1e-4000
    takes a handful of such jumps.

    Parameters
    ----------
    problem
        What is trained.
    rtol
        Tolerance of the run.

    Notes
    -----
    Changes of sign of an output weight (|a| < |w| only) happen in a jump as they should, but are not logged.
    """

    def __init__(self, problem: TrainingProblem, *, rtol: float) -> None:
        self._X = np.asarray(problem.dataset.X)
        self._forces = problem.loss.label_forces(problem.dataset.y)
        self._leak = problem.network.leak
        length = np.linalg.norm(self._X, axis=1)
        self._fastest = float(np.abs(self._forces) @ length)
        output_scale = problem.loss.output_scale(problem.dataset.y)
        with np.errstate(divide="ignore"):
            self._log_limit = float(np.log(FROZEN_SHARE * rtol * output_scale) - np.log(np.max(length)))

    def longest(self, neurons: GroupedNeurons | LoneNeurons) -> float:
        """For how long the forces can be frozen from now; 0 or less where not at all."""
        if self._fastest == 0.0:
            return 0.0
        log_mass = 2.0 * neurons.log_norm + np.log(neurons.weight)
        top = float(np.max(log_mass))
        log_total = top + float(np.log(np.sum(np.exp(log_mass - top))))
        return (self._log_limit - log_total) / (2.0 * self._fastest)

    def is_worthwhile(self, neurons: GroupedNeurons | LoneNeurons) -> bool:
        """Whether a jump would go at least as far as an ordinary step or two."""
        return self.longest(neurons) * self._fastest > 1.0

    def jump(
        self, neurons: GroupedNeurons | LoneNeurons, recorder: EventRecorder, time: float, duration: float
    ) -> float:
        """Carry all neurons through frozen forces for up to `duration`; return how long it was.

        A neuron that reaches a place from which the flow is not unique ends the jump just before it.
        """
        z = neurons.actual()
        state = self._aligned(neurons, z, duration)
        if np.any(state.times < duration):
            duration = float(np.min(state.times)) * (1.0 - 1e-9)
            state = self._aligned(neurons, z, duration)
        neurons.place(np.hstack([state.w, state.a[:, None]]), state.log_norms, self._sides(neurons, state))
        events = state.events
        walls = neurons.walls
        # an event at the very start is a dead neuron found dead again
        is_first = np.isin(events.samples, walls.first_sample) & (events.times > 0.0)
        recorder.extend(
            events.neurons[is_first],
            events.samples[is_first],
            time + events.times[is_first],
            events.kinds[is_first],
        )
        return duration

    def _aligned(self, neurons: GroupedNeurons | LoneNeurons, z: FloatArray, duration: float) -> AlignedState:
        return align_until(
            self._X, self._forces, z[:, :-1], z[:, -1], duration, log_norm=neurons.log_norm, leak=self._leak
        )

    def _sides(self, neurons: GroupedNeurons | LoneNeurons, state: AlignedState) -> SignArray:
        """Sides of the walls, 0 where a neuron slides; a dead neuron on a wall is put on the side where it is dead."""
        first = neurons.walls.first_sample
        sides = state.patterns[:, first].astype(np.int8)
        died = (sides == 0) & ~state.is_sliding[:, first]
        plus = np.bincount(
            neurons.walls.wall_of_sample,
            weights=np.abs(neurons.walls.pull_factors(1, self._leak) * self._forces),
            minlength=len(first),
        )
        return np.where(died, np.where(plus > 0, -1, 1), sides).astype(np.int8)
