"""FlowState: the state of a run, the order in which it may change, and what can be read off it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.compilation.kernel import direct
from reluflow.dynamics.event import EventRecorder
from reluflow.dynamics.event_driven.grouped_neurons import GroupedNeurons
from reluflow.dynamics.event_driven.grouped_neurons_kernels import heights_of
from reluflow.dynamics.event_driven.next_step_kernels import StateReading, read_columns, step_space
from reluflow.dynamics.event_driven.slides import KnownSlides, SlideWatch
from reluflow.dynamics.gradient import Gradient, RelativePulls
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import RESTING_PULL, cosines_with, network_of, shrinks_for_ever
from reluflow.dynamics.shared.boundary_events import BoundaryEvents
from reluflow.dynamics.shared.flow_kernels import (
    wall_pulls_of,
)
from reluflow.dynamics.shared.pull_errors import GIVEN_OUTPUTS, pull_errors
from reluflow.dynamics.shared.stationary_limit import polish
from reluflow.dynamics.trajectory import Limit
from reluflow.dynamics.variant import gradient_of_variant, is_settled_variant, with_outputs_of
from reluflow.geometry.boundary.decision import Ridge
from reluflow.geometry.boundary.walls import Walls
from reluflow.network import Network


class FlowState:
    """The one owner of what changes in a run: the neurons in their groups, and the columns that are integrated.

    Invariants, each kept by the method named:

    1. `columns` and `layout` are the neurons; `neurons` holds them as they were at the last `sync`. So whoever reads
       `neurons` calls `sync` before (`network`, `is_settled`, `misalignment` do).
    2. Groups change inside `with state.changing() as neurons`, which syncs before and rebuilds `columns`, `layout`,
       slopes and `slides` after, so that these four always belong together. The one exception are light crossers, who
       pass from frame to frame within a step: their moments in `layout` move with them, and no column changes.
    3. The slopes of stage 0 and `log_rate` belong to `columns`, except after `arrive_within`, where `has_slopes` is
       False until `settle`.

    Attributes
    ----------
    neurons, boundary
        The groups, and what happens to neurons that stand on walls.
    columns, layout
        What the kernels integrate.
    space
        Room for a step; stage 0 holds the slopes here.
    log_rate
        ln R here; forces are relative to R (see `relative_forces`).
    slides
        Who slides on which wall.
    output_error
        Of the outputs, relative to the largest output or label: that of the given neurons until a run carries them on.
    """

    def __init__(self, problem: TrainingProblem, recorder: EventRecorder, ridge: Ridge) -> None:
        self._problem, self._is_plain, self._num_samples = problem, problem.is_plain, problem.dataset.n
        self.neurons = GroupedNeurons(problem, Walls.of(problem.dataset.X))
        self.output_error = GIVEN_OUTPUTS
        self.log_rate = 0.0
        self._known_slides: KnownSlides = {}
        self.space = step_space(0, self.neurons.d + 1)
        self._spare: StateReading | None = None
        self.boundary = BoundaryEvents(self.neurons, recorder, ridge, self.pull_errors)
        waiting = self.neurons.assign_initial_groups()
        self._rebuild()
        with self.changing() as neurons:
            neurons.give_signs(self.group_pulls())
            pulls = self.wall_pulls()
            for j, zero_walls in waiting:
                self.boundary.settle(j, zero_walls, pulls, 0.0, is_initial=True)
        self.has_begun_on_wall = bool(waiting)

    @property
    def columns(self) -> FloatArray:
        """The columns, shape (C, d + 1); whoever sets them leaves behind what was read off the last ones."""
        return self._columns

    @columns.setter
    def columns(self, columns: FloatArray) -> None:
        self._columns = columns
        self._reading: StateReading | None = None

    @contextmanager
    def changing(self) -> Iterator[GroupedNeurons]:
        """The neurons as they are, to be put into other groups; all that is derived from them is made anew after."""
        self.sync()
        yield self.neurons
        self._rebuild()

    def take_columns_in(self) -> None:
        """Take columns that have grown or shrunk into their neurons, which keep their groups."""
        self.sync()
        self._rebuild()

    def _rebuild(self) -> None:
        self.columns, self.layout = self.neurons.rebuild()
        if self.space.dense.shape[1:] != self.columns.shape:
            self.space = step_space(*self.columns.shape)
        self.has_slopes = False
        self._shape_of_pulls = len(self.layout.sides), self.neurons.d
        self._spare = None
        self._read_columns(may_drift=False)
        self.slides = SlideWatch(self.neurons, self.layout, self.boundary.ridges, self._known_slides)

    def new_reading(self) -> StateReading:
        """Room for what is read off the columns next; whoever asks for the outputs may keep them."""
        if self._spare is None:
            self._spare = StateReading(np.empty(self._num_samples), np.empty(self._shape_of_pulls), np.empty(3))
        return self._spare

    def settle(self) -> bool:
        """Read off the columns what is to be known, unless one has drifted from norm 1 or has grown; whether one has.

        Such columns are to be taken into their neurons.
        """
        return self._read_columns(may_drift=True)

    def _read_columns(self, *, may_drift: bool) -> bool:
        reading = self.new_reading()
        has_drifted, self.log_rate = direct(read_columns)(
            self.columns,
            self.space,
            self.layout,
            self.neurons.column_table,
            self.log_rate,
            self.has_slopes,
            may_drift,
            reading,
        )
        if not has_drifted:
            self.has_slopes, self._reading, self._spare = True, reading, None
        return bool(has_drifted)

    def arrive(self, columns: FloatArray, log_rate: float, decayed: float, reading: StateReading | None = None) -> None:
        """Move to the end of a whole step, whose slopes are in stage 0 already; all has shrunk by e^-decayed."""
        self.columns, self.log_rate = columns, log_rate
        if reading is not None:
            self._reading, self._spare = reading, None
        self._take_out(decayed)

    def arrive_within(self, columns: FloatArray, decayed: float) -> None:
        """Move to a point within a step that was cut short; the slopes there are not known."""
        self.columns, self.has_slopes = columns, False
        self._take_out(decayed)

    def _take_out(self, decayed: float) -> None:
        """Move the weight decay of a step from the columns, back on their quadric then, into the neurons' sizes."""
        if decayed > 0.0 and self._problem.trains_output_layer:
            factor = np.exp(decayed)
            self.columns *= factor  # which forgets what was read off them
            self.space.slopes[0] *= factor
            self.layout.weights[:] /= factor**2
            self.neurons.decay(decayed)

    def sync(self) -> None:
        """Write the columns back into the neurons."""
        self.neurons.sync(self.columns, self.layout)

    def outputs(self) -> FloatArray:
        """h(x_k), shape (n,); the same array until the state changes."""
        return self.read().outputs

    def read(self) -> StateReading:
        """What is known of the columns as they are."""
        if self._reading is None:
            self._read_columns(may_drift=False)
        reading = self._reading
        assert reading is not None
        return reading

    def group_pulls(self) -> FloatArray:
        """D of every group relative to R, shape (G, d)."""
        return self.read().pulls

    def wall_pulls(self, columns: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Pull of every wall on its two sides, relative to R, here or at other columns."""
        plus, minus = direct(wall_pulls_of)(self.columns if columns is None else columns, self.layout)
        return plus, minus

    def pull_errors(self) -> FloatArray:
        """By how much the pulls of the walls may be off, shape (num_walls,)."""
        return pull_errors(self._problem, self.neurons.walls, self.outputs(), self.output_error)

    def network(self) -> Network:
        """The network here; `log_scale` is 0 where the neurons fit a double."""
        self.sync()
        z, log_norm = self.neurons.on_quadric(), self.neurons.log_norm
        network = network_of(z, log_norm, self.neurons.leak, self.neurons.weight)
        return network if self._problem.trains_output_layer else with_outputs_of(self._problem.network, network)

    def gradient(self) -> Gradient:
        """Norms and angles of the gradient, from the groups alone."""
        if not self._is_plain:  # without frames: every column is a neuron
            pulls = RelativePulls(self.group_pulls()[self.layout.column_group], self.log_rate)
            return gradient_of_variant(self._problem, self.columns, self.layout.weights, pulls, 0.0)
        square, along, size = self.read().moments.tolist()
        return Gradient.from_moments(square, along, size, self.log_rate)

    def is_settled(self) -> bool:
        """Whether every neuron with a pull on it shrinks for ever against that pull, so that none will grow later."""
        pulls = self.group_pulls()
        if not self._is_plain:
            each = RelativePulls(pulls[self.layout.column_group], self.log_rate)
            return is_settled_variant(self._problem, self.columns, each, self.outputs())
        strength = np.linalg.norm(pulls, axis=1)
        start = np.abs(self._problem.loss.label_forces(self._problem.dataset.y)) @ self.neurons.walls.length
        is_pulled = strength * np.exp(self.log_rate) > RESTING_PULL * start
        members = np.flatnonzero(is_pulled[self.neurons.group])
        self.sync()
        z = self.neurons.actual(members)
        return bool(np.all(shrinks_for_ever(z[:, :-1], z[:, -1], pulls[self.neurons.group[members]])))

    def misalignment(self) -> float:
        """Largest 1 - cos(w_j, a_j D_j) over the neurons that are pulled."""
        pulls = self.group_pulls()
        members = np.flatnonzero(np.any(pulls, axis=1)[self.neurons.group])
        self.sync()
        z = self.neurons.actual(members)
        towards = np.sign(z[:, -1:]) * pulls[self.neurons.group[members]]
        cosines = cosines_with(z[:, :-1], towards)
        return float(1.0 - np.min(cosines, initial=1.0))

    def last_state(self) -> Limit:
        """The state here as the end point of a run."""
        return Limit(self.network(), self.gradient().norm, False, 0, "The last state of the run, not polished.")

    def stationary_limit(self) -> Limit:
        """Where the flow tends to, by Newton's method in the final pattern; the state here where that fails."""
        if not self._is_plain:
            reason = f"Not polished: with {self._problem.variant} the last state is given as it is."
            return replace(self.last_state(), reason=reason)
        kept, gradient_here = self.columns, self.gradient().norm
        self.columns, num_iterations = polish(kept, self.layout, self._problem.loss)
        gradient, network = self.gradient().norm, self.network()
        sides = self.neurons.sides[self.neurons.group]
        has_crossed = bool(np.any(sides * heights_of(self.neurons.actual(), self.neurons.walls.normals) < -1e-9))
        self.columns = kept
        self.sync()
        if has_crossed:
            return replace(self.last_state(), reason="Not polished: the rest of the way meets another boundary.")
        if gradient > gradient_here:
            return replace(self.last_state(), reason="Not polished: Newton's method did not reduce the gradient.")
        if num_iterations == 0:
            reason = "Not polished: no Newton step in the final pattern brings the gradient down."
            return replace(self.last_state(), reason=reason)
        return Limit(network, gradient, True, num_iterations, "Polished by Newton's method in the final pattern.")
