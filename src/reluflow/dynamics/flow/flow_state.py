"""FlowState: the columns of a run between two events, and what can be read off them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reluflow.dynamics.flow.flow_kernels import (
    gradient_moments,
    group_forces,
    outputs_of,
    relative_forces,
    velocity,
    wall_forces,
)
from reluflow.dynamics.flow.group_kernels import heights_of
from reluflow.dynamics.flow.groups import GroupedNeurons
from reluflow.dynamics.flow.stationary_limit import polish
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import Gradient
from reluflow.dynamics.trajectory import Limit
from reluflow.network import Network

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_RESTING_PULL = 1e-6  # share of the initial pull below which a group counts as at rest
_LIGHTEST = -690.0  # ln of the size, beside log_scale, that a neuron is given where its own would underflow
_LARGE_COLUMN = 60.0  # squared norm of a frame's row beyond which the frame is taken into its neurons


class FlowState:
    """Columns, their layout, and the slopes at the start of the next step.

    Attributes
    ----------
    columns, layout
        What the kernels integrate.
    slopes, rates
        Room for the stages of a step; stage 0 holds the slopes here.
    log_rate
        ln R here; forces are relative to R (see `relative_forces`).
    """

    def __init__(self, problem: TrainingProblem, neurons: GroupedNeurons) -> None:
        self._problem = problem
        self._neurons = neurons
        self.rebuild()

    def rebuild(self) -> None:
        """New columns, after the groups or their frames have changed."""
        self.columns, self.layout = self._neurons.rebuild()
        self.slopes = np.zeros((16, *self.columns.shape))
        self.rates = np.ones(16)
        self.refresh_slopes()

    def refresh_slopes(self) -> None:
        """Forces and slopes at the columns as they are."""
        _, self.log_rate = relative_forces(self.outputs(), self.layout)
        velocity(self.columns, self.layout, self.log_rate, self.slopes[0])
        self.rates[0] = 1.0

    def sync(self) -> None:
        """Write the columns back into the neurons."""
        self._neurons.sync(self.columns, self.layout)

    def has_drifted(self) -> bool:
        """Whether a neuron column has drifted from norm 1 or a frame has grown enough to be taken into its neurons."""
        size = np.einsum("ci,ci->c", self.columns, self.columns)
        singles = self._neurons.column_neurons >= 0
        return bool(np.any(np.abs(size[singles] - 1.0) > 0.9)) or bool(np.any(size[~singles] > _LARGE_COLUMN))

    def outputs(self) -> FloatArray:
        """h(x_k), shape (n,)."""
        return np.asarray(outputs_of(self.columns, self.layout))

    def group_pulls(self) -> FloatArray:
        """D of every group relative to R, shape (G, d)."""
        forces, _ = relative_forces(self.outputs(), self.layout)
        return np.asarray(group_forces(forces, self.layout))

    def wall_pulls(self, columns: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Pull of every wall on its two sides, relative to R, here or at other columns."""
        outputs = outputs_of(self.columns if columns is None else columns, self.layout)
        forces, _ = relative_forces(outputs, self.layout)
        plus, minus = wall_forces(forces, self.layout)
        return np.asarray(plus), np.asarray(minus)

    def network(self) -> Network:
        """The network here; `log_scale` is 0 where the neurons fit a double.

        A neuron too light for a double beside the others keeps its direction at the smallest size there is, for zero
        would be another point: it has no direction, and every way is open to it.
        """
        self.sync()
        z, log_norm = self._neurons.on_quadric(), self._neurons.log_norm
        top = float(np.max(log_norm))
        log_scale = 0.0 if abs(top) < 300.0 else top
        z = z * np.exp(np.maximum(log_norm - log_scale, _LIGHTEST))[:, None]
        return Network(
            w=z[:, :-1], a=z[:, -1], leak=self._neurons.leak, weight=self._neurons.weight, log_scale=log_scale
        )

    def gradient(self) -> Gradient:
        """Norms and angles of the gradient, from the groups alone."""
        square, along, size = gradient_moments(self.columns, self.layout)
        if square == 0.0 or size == 0.0:
            return Gradient(-np.inf, 0.0, self.log_rate)
        cosine = along / np.sqrt(square) / np.sqrt(size)
        turning = float(np.sqrt(max(0.0, 1.0 - cosine**2)))
        return Gradient(0.5 * float(np.log(square)) + self.log_rate, turning, self.log_rate)

    def is_settled(self) -> bool:
        """Whether every neuron with a pull on it shrinks for ever against that pull, so that none will grow later."""
        pulls = self.group_pulls()
        strength = np.linalg.norm(pulls, axis=1)
        start = np.abs(self._problem.loss.label_forces(self._problem.dataset.y)) @ self._neurons.walls.length
        is_pulled = strength * np.exp(self.log_rate) > _RESTING_PULL * start
        members = np.flatnonzero(is_pulled[self._neurons.group])
        return not members.size or bool(np.all(self._cosines(members, pulls) <= -1.0 + 1e-9))

    def misalignment(self) -> float:
        """Largest 1 - cos(w_j, a_j D_j) over the neurons that are pulled."""
        pulls = self.group_pulls()
        members = np.flatnonzero(np.any(pulls, axis=1)[self._neurons.group])
        return float(1.0 - np.min(self._cosines(members, pulls), initial=1.0))

    def _cosines(self, members: IntArray, pulls: FloatArray) -> FloatArray:
        """cos(w_j, a_j D_j) of some neurons."""
        self.sync()
        z = self._neurons.actual(members)
        pull = pulls[self._neurons.group[members]]
        lengths = np.linalg.norm(z[:, :-1], axis=1) * np.linalg.norm(pull, axis=1)
        products = np.sign(z[:, -1]) * np.einsum("ji,ji->j", z[:, :-1], pull)
        return np.asarray(products / np.where(lengths > 0.0, lengths, 1.0))

    def last_state(self) -> Limit:
        """The state here as the end point of a run."""
        return Limit(self.network(), self.gradient().norm, False, 0, "The last state of the run, not polished.")

    def stationary_limit(self) -> Limit:
        """Where the flow tends to, by Newton's method in the final pattern; the state here where that fails."""
        here = self.last_state()
        found = polish(self.columns, self.layout, self._problem.loss)
        kept = self.columns
        self.columns = found.columns
        gradient, network = self.gradient().norm, self.network()
        sides = self._neurons.sides[self._neurons.group]
        has_crossed = bool(np.any(sides * heights_of(self._neurons.actual(), self._neurons.walls.normals) < -1e-9))
        self.columns = kept
        self.sync()
        if has_crossed:
            return replace(here, reason="Not polished: the rest of the way meets another boundary.")
        if gradient > here.gradient_norm:
            return replace(here, reason="Not polished: Newton's method did not reduce the gradient.")
        if found.num_iterations == 0:
            return replace(here, reason="Not polished: no Newton step in the final pattern brings the gradient down.")
        return Limit(network, gradient, True, found.num_iterations, "Polished by Newton's method in the final pattern.")
