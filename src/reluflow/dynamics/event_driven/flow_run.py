"""FlowRun: one run of the event-driven flow, advanced step by step."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.bernstein_kernels import values_at
from reluflow.budget import count
from reluflow.compilation.kernel import direct
from reluflow.dynamics.event_driven.carrying_kernels import Arrivals
from reluflow.dynamics.event_driven.event_kernels import Way, reach_event
from reluflow.dynamics.event_driven.flow_state import FlowState
from reluflow.dynamics.event_driven.next_step_kernels import (
    NOT_TRIED,
    StateReading,
    StepPlan,
    TriedStep,
    next_step,
)
from reluflow.dynamics.event_driven.slides import SlideExit
from reluflow.dynamics.event_driven.step_kernels import columns_at, finish_step, restore_invariants
from reluflow.dynamics.event_driven.tuning import (
    AHEAD,
    AT_START,
    FIRST_RAPIDITY,
    KINK_SHARE,
    MOST_IDLE_STEPS,
    OPERATIONS_A_HEIGHT,
    OPERATIONS_A_STEP,
    OPERATIONS_A_WEIGHT,
    OUTPUT_ERROR,
    STEP_SHARE,
)
from reluflow.dynamics.gradient import Gradient
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import fit_doubles, sizes_beyond_doubles
from reluflow.dynamics.shared.fading_clock import LARGEST_LOG, ORDINARY, log_of_sum
from reluflow.dynamics.shared.frozen_start import FrozenStart
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import Limit, Outcome
from reluflow.geometry.boundary.decision import Ridge
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.network import Network


class NextStep(NamedTuple):
    """What the kernel `next_step` says of a step."""

    num_attempts: int
    length: float  # in rescaled time; 0 where the tolerance asks for one that would not move the clock
    planned: float  # of the one after it
    elapsed: float  # in units of the rate at its start
    log_rate_end: float
    is_clear: bool  # nothing can happen within it
    has_drifted: bool  # then: columns are to be taken into their neurons
    num_met: int  # else: how many neuron columns meet a wall


class FlowRun(AbstractRun):
    """The flow in the rescaled time s with ds = R dt; R = 1 unless the forces fade (see `relative_forces`)."""

    def __init__(self, problem: TrainingProblem, *, rtol: float, ridge: Ridge, max_steps: int) -> None:
        super().__init__(problem, last_step=max_steps)
        self._tolerance, self._ridge = STEP_SHARE * rtol, ridge
        self._rescaled_time = 0.0
        self._idle_steps = 0
        self._state = FlowState(problem, self.recorder, ridge)
        self._kink_budget = KINK_SHARE * self._tolerance
        self._sample_of_wall = np.append(self._state.neurons.walls.first_sample, -1)  # the last wall is a = 0
        self._longest = float(np.max(self._state.neurons.walls.length, initial=0.0))
        self._has_changed()
        self._state.output_error = OUTPUT_ERROR * rtol
        self._frozen: FrozenStart | None = FrozenStart(problem, rtol=rtol)
        if self._state.has_begun_on_wall or not problem.trains_output_layer:
            self._frozen = None
        strongest = float(np.max(np.linalg.norm(self._state.group_pulls(), axis=1), initial=0.0))
        self._step = FIRST_RAPIDITY / strongest if strongest > 0 else 1.0

    # -- reading ------------------------------------------------------------------------------------------------

    def outputs(self) -> FloatArray:
        """h(x_k) now, shape (n,)."""
        return self._state.outputs()

    def network(self) -> Network:
        """The network now; `log_scale` is 0 where the neurons fit a double."""
        return self._state.network()

    def log_sizes(self) -> FloatArray | None:
        """ln |(w_j, a_j)| now, where some neurons are too light for `network` to hold their sizes; else None."""
        neurons = self._state.neurons
        if fit_doubles(neurons.log_norm):
            return None
        self._state.sync()
        return sizes_beyond_doubles(neurons.on_quadric(), neurons.log_norm)

    def gradient(self) -> Gradient:
        """Norms and angles of the gradient now."""
        return self._state.gradient()

    def is_settled(self) -> bool:
        """Whether no neuron, however light, is still on its way under the present forces."""
        return self._state.is_settled()

    def misalignment(self) -> float:
        """Largest 1 - cos(w_j, a_j D_j) over the neurons that are pulled."""
        return self._state.misalignment()

    def balancedness_drift(self) -> float:
        """Largest change of a_j^2 - |w_j|^2 so far, relative to the neuron's largest squared norm so far.

        Weight decay lambda keeps e^(2 lambda t) times that; a frozen output layer keeps a_j itself, exactly.
        """
        self._state.sync()
        return self._state.neurons.balancedness_drift() if self.problem.trains_output_layer else 0.0

    def limit(self, outcome: Outcome) -> Limit:
        """The last state, or where Newton's method finds that it tends to."""
        return self._state.stationary_limit() if outcome is Outcome.STATIONARY else self._state.last_state()

    # -- stepping -----------------------------------------------------------------------------------------------

    def advance(self, limit: float, most_steps: int = 1) -> None:
        """Take one step, ending at the next event or at time `limit` if they come first."""
        if self.steps >= self.last_step:
            self.outcome = Outcome.MAX_STEPS
            return
        self.steps += 1
        num_columns, length = self._state.columns.shape
        a_force = num_columns * self.problem.dataset.n * (OPERATIONS_A_HEIGHT + OPERATIONS_A_WEIGHT * length)
        evaluations = self.force_evaluations
        self._step_or_jump(limit)
        count(OPERATIONS_A_STEP + a_force * (self.force_evaluations - evaluations))

    def _step_or_jump(self, limit: float) -> None:
        """One step, or while the outputs are negligible a jump."""
        if self._jump(limit):
            return
        began = self.log_time, self._rescaled_time
        state, time_left = self._state, self._time_left(limit)
        end, reading = np.empty_like(state.columns), state.new_reading()
        step = self._next_step(self._plan(time_left), end, reading)
        self.force_evaluations += 11 * step.num_attempts
        self._step = step.planned
        if step.length == 0.0:
            self.outcome = Outcome.STALLED
        elif step.is_clear:
            decayed = self._pass_time(step.elapsed, step.length)
            state.arrive(end, step.log_rate_end, decayed, reading)
            self._land(limit, step.elapsed, time_left)
            self._tidy(has_drifted=state.settle() if decayed else step.has_drifted)
        else:
            self._finish_with_events(step, end, time_left, limit)
        is_idle = (self.log_time, self._rescaled_time) == began  # a late clock does not show short steps
        self._idle_steps = self._idle_steps + 1 if is_idle else 0
        if self._idle_steps > MOST_IDLE_STEPS + state.neurons.num_neurons:
            self.outcome = Outcome.STALLED

    def _time_left(self, limit: float) -> float:
        """The time left until `limit`, in units of the present rate."""
        left, log_rate = limit - self.time, self._state.log_rate
        if not math.isfinite(limit) or left <= 0.0:
            return max(left, 0.0)
        # the rate itself may be subnormal while the product is an ordinary number
        return left * float(np.exp(log_rate)) if log_rate > -ORDINARY else float(np.exp(np.log(left) + log_rate))

    def _jump(self, limit: float) -> bool:
        """While the outputs are negligible, jump in closed form instead of stepping; whether it was done."""
        neurons = self._state.neurons
        if self._frozen is None or not self._frozen.is_worthwhile(neurons):
            self._frozen = None
            return False
        duration = min(self._frozen.longest(neurons), limit - self.time)
        with self._state.changing():
            taken = self._frozen.jump(neurons, self.recorder, self.time, duration)
            neurons.decay(self.problem.weight_decay * taken)
        self._has_changed()
        if taken < duration:
            self._frozen = None
        self.time = limit if taken == limit - self.time else self.time + taken
        self.log_time = float(np.log(self.time)) if self.time > 0 else -np.inf
        return True

    def _plan(self, time_left: float) -> StepPlan:
        """What the next step is tried with: not much longer than `time_left`."""
        state = self._state
        # where forces fade R falls along the way, so a little more is tried and the step is cut exactly
        length = min(self._step, 1.05 * time_left if state.layout.loss.fades else time_left)
        must_look = len(state.slides.pairs) > 0
        shortest = 1e-15 * self._rescaled_time
        return StepPlan(length, self._step, shortest, time_left, self._tolerance, state.log_rate, must_look)

    def _next_step(self, plan: StepPlan, end: FloatArray, reading: StateReading) -> NextStep:
        """See the kernel of this name; with weight decay the step is finished here."""
        state, table, members = self._state, self._state.neurons.column_table, self._state.neurons.members
        arguments = (state.columns, end, state.space, plan, state.layout, table, members, reading)
        taken = NextStep(*direct(next_step)(NOT_TRIED, *arguments))
        if taken.length == 0.0:
            return taken
        self.force_evaluations += 1
        if not self.problem.weight_decay:
            return taken
        self._restore(end, taken.elapsed)
        slopes, rates = state.space.slopes, state.space.rates
        log_rate_end = finish_step(slopes, rates, state.log_rate, state.layout, end, table.invariants)
        tried = TriedStep(taken.num_attempts, taken.length, taken.planned, taken.elapsed, log_rate_end)
        return NextStep(*direct(next_step)(tried, *arguments))

    def _finish_with_events(self, step: NextStep, end: FloatArray, time_left: float, limit: float) -> None:
        """Cut the step at the first event that matters, move there and act."""
        state, neurons = self._state, self._state.neurons
        slide_exit = state.slides.first_exit(state.space.dense)
        way = Way(step.length, step.elapsed, time_left, slide_exit.theta, self._longest, self._kink_budget)
        stop, elapsed, is_cut, num_evaluations, num_arrivals, rows, thetas = direct(reach_event)(
            state.columns,
            end,
            step.num_met,
            way,
            state.read(),
            state.space,
            state.layout,
            neurons.column_table,
            neurons.members,
            neurons.neighbours,
        )
        self.force_evaluations += 3 + state.slides.take_evaluations() + num_evaluations
        if len(rows) > num_arrivals:
            self._record(rows[num_arrivals:], thetas[num_arrivals:])
        if is_cut and neurons.is_wide:
            self._step = min(self._step, 2.0 * step.length * max(stop, 1e-3))
        if stop >= 1.0:
            state.arrive(end, step.log_rate_end, self._pass_time(elapsed, step.length))
        else:
            state.arrive_within(end, self._pass_time(elapsed, step.length * stop))
        self._land(limit, elapsed, time_left)
        arrivals = Arrivals(rows[:num_arrivals, 0], rows[:num_arrivals, 1], thetas[:num_arrivals])
        self._act(arrivals, slide_exit, stop)

    def _record(self, rows: IntArray, thetas: FloatArray) -> None:
        """Write down the events of light crossers within the step about to be passed, see `reach_event`."""
        crossers, walls, codes = rows.T
        times = self.time + values_at(self._state.space.clock, thetas) * _time_unit(self._state.log_rate)
        self.recorder.extend(crossers, self._sample_of_wall[walls], times, codes)

    def _restore(self, end: FloatArray, elapsed: float) -> None:
        """Put columns at the end of a step back on their quadric, which weight decay has shrunk meanwhile."""
        state, decayed = self._state, self._decay_in(elapsed)
        if not self.problem.trains_output_layer:
            return
        if decayed > 0.0:
            end *= np.exp(decayed)
        restore_invariants(end, state.layout, state.neurons.column_table.invariants)
        if decayed > 0.0:
            end *= np.exp(-decayed)

    def _decay_in(self, elapsed: float) -> float:
        """Weight decay times the time of a step from here, `elapsed` in units of the present rate."""
        decay = self.problem.weight_decay
        return decay * elapsed * _time_unit(self._state.log_rate) if decay else 0.0

    def _pass_time(self, elapsed: float, length: float) -> float:
        """Move the clocks by a step from here: `elapsed` in units of the present rate, `length` in rescaled time.

        Returns by which exponent the weights decay meanwhile.
        """
        decayed = self._decay_in(elapsed)
        log_rate = self._state.log_rate
        if elapsed > 0.0:
            log_elapsed = float(np.log(elapsed)) - log_rate
            self.log_time = log_of_sum(self.log_time, log_elapsed)
            if max(log_elapsed, -log_rate) < ORDINARY:
                self.time += elapsed * _time_unit(log_rate)
            else:
                self.time += float(np.exp(log_elapsed)) if log_elapsed < LARGEST_LOG else np.inf
        self._rescaled_time += length
        return decayed

    def _land(self, limit: float, elapsed: float, time_left: float) -> None:
        """Set the clock to the requested time itself where the step has reached it."""
        if math.isfinite(limit) and elapsed >= time_left * (1.0 - 1e-13):
            self.time, self.log_time = limit, float(np.log(limit))

    def _act(self, arrivals: Arrivals, slide_exit: SlideExit, stop: float) -> None:
        """Apply the events that stand at the end of the step just taken."""
        state = self._state
        is_leaving = slide_exit.theta <= stop
        if not is_leaving and not arrivals.neurons.size:
            lacks_slopes, has_drifted = not state.has_slopes, state.settle()
            self.force_evaluations += lacks_slopes and not has_drifted
            self._tidy(has_drifted=has_drifted)
            return
        # where nothing pushes a neuron off the wall at this very moment, the forces a little later decide
        ahead = state.wall_pulls(columns_at(state.space.dense, AHEAD)) if stop <= AT_START else None
        with state.changing():
            if is_leaving:
                state.boundary.leave_wall(slide_exit.group, slide_exit.wall, slide_exit.side, self.time)
            if arrivals.neurons.size:
                order = np.argsort(arrivals.thetas, kind="stable")
                pulls, rounding = (state.wall_pulls(), ROUNDING) if ahead is None else (ahead, 0.0)
                crossers, walls = arrivals.neurons[order], arrivals.walls[order]
                state.boundary.cross(crossers, walls, pulls, self.time, rounding=rounding)
        self._has_changed()

    def _tidy(self, *, has_drifted: bool) -> None:
        """After a step without events: take columns that have grown or shrunk into their neurons."""
        if has_drifted:
            self._state.take_columns_in()
            self._has_changed()

    def _has_changed(self) -> None:
        """After the groups have changed: the forces were computed once more, and a neuron may stand on a ridge."""
        self.force_evaluations += 1
        if self._state.boundary.met_ridge and self._ridge == "stop":
            self.outcome = Outcome.RIDGE


def _time_unit(log_rate: float) -> float:
    """1/R, infinite beyond what doubles hold; 1 where forces do not fade."""
    if log_rate == 0.0:
        return 1.0
    return float(np.exp(-log_rate)) if -log_rate <= LARGEST_LOG + 1.0 else np.inf
