"""FlowRun: one run of the event-driven flow, advanced step by step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.bernstein_kernels import first_root, value_at
from reluflow.dynamics.event_driven.carrying_kernels import Arrivals
from reluflow.dynamics.event_driven.crossing_kernels import events_of_columns, stays_clear
from reluflow.dynamics.event_driven.flow_state import FlowState
from reluflow.dynamics.event_driven.light_crossers import LightCrossers
from reluflow.dynamics.event_driven.slides import SlideExit
from reluflow.dynamics.event_driven.step_kernels import (
    columns_at,
    finish_step,
    restore_invariants,
    take_step,
)
from reluflow.dynamics.event_driven.tuning import (
    AHEAD,
    AT_START,
    FIRST_RAPIDITY,
    GROW,
    MOST_IDLE_STEPS,
    OUTPUT_ERROR,
    SAFETY,
    SHRINK,
    STEP_SHARE,
)
from reluflow.dynamics.gradient import Gradient
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import sizes_beyond_doubles
from reluflow.dynamics.shared.fading_clock import LARGEST_LOG, ORDINARY
from reluflow.dynamics.shared.frozen_start import FrozenStart
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import Limit, Outcome
from reluflow.geometry.boundary.decision import Ridge
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.network import Network


class Step(NamedTuple):
    """A step that met the tolerance: length in rescaled time, end, elapsed time in units of 1/R at its start, ln R."""

    length: float
    end: FloatArray
    elapsed: float
    log_rate_end: float


class FlowRun(AbstractRun):
    """The flow in the rescaled time s with ds = R dt; R = 1 unless the forces fade (see `relative_forces`)."""

    def __init__(self, problem: TrainingProblem, *, rtol: float, ridge: Ridge, max_steps: int) -> None:
        super().__init__(problem, last_step=max_steps)
        self._tolerance, self._ridge = STEP_SHARE * rtol, ridge
        self._rescaled_time = 0.0
        self._idle_steps = 0
        self._state = FlowState(problem, self.recorder, ridge)
        self._light = LightCrossers(self._state, self.recorder, tolerance=self._tolerance)
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
        self._state.sync()
        return sizes_beyond_doubles(self._state.neurons.on_quadric(), self._state.neurons.log_norm)

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
        if self._jump(limit):
            return
        began = self.log_time, self._rescaled_time
        time_left = self._time_left(limit)
        step = self._accepted_step(time_left)
        if step is None:
            self.outcome = Outcome.STALLED
        elif (
            step.elapsed > time_left * (1.0 + 1e-14) or len(self._state.slides.pairs) or not self._is_clear(step.length)
        ):
            self._finish_with_events(step, time_left, limit)
        else:
            decayed = self._pass_time(step.elapsed, step.length)
            self._state.arrive(step.end, step.log_rate_end, decayed)
            self._land(limit, step.elapsed, time_left)
            self._tidy()
        is_idle = (self.log_time, self._rescaled_time) == began  # a late clock does not show short steps
        self._idle_steps = self._idle_steps + 1 if is_idle else 0
        if self._idle_steps > MOST_IDLE_STEPS + self._state.neurons.num_neurons:
            self.outcome = Outcome.STALLED

    def _time_left(self, limit: float) -> float:
        """The time left until `limit`, in units of the present rate."""
        left, log_rate = limit - self.time, self._state.log_rate
        if not np.isfinite(limit) or left <= 0.0:
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

    def _accepted_step(self, time_left: float) -> Step | None:
        """The next step that meets the tolerance, not much longer than `time_left`; None where it underflows."""
        state = self._state
        # where forces fade R falls along the way, so a little more is tried and the step is cut exactly
        length = min(self._step, 1.05 * time_left if state.layout.loss.fades else time_left)
        end, invariants = np.empty_like(state.columns), state.neurons.column_invariants
        while True:
            error, elapsed, log_rate_end = take_step(
                *(state.columns, state.slopes, state.rates, length, state.log_rate, state.layout, end),
                *(invariants, self._tolerance),
            )
            self.force_evaluations += 11
            ratio = error / self._tolerance
            if ratio <= 1.0:
                break
            length *= max(SHRINK, SAFETY * ratio ** (-1.0 / 8.0)) if np.isfinite(ratio) else SHRINK
            if length <= 1e-15 * self._rescaled_time:
                return None
            self._step = length
        if self.problem.weight_decay:
            self._restore(end, elapsed)
            log_rate_end = finish_step(state.slopes, state.rates, state.log_rate, state.layout, end, invariants)
        self.force_evaluations += 1
        growth = min(GROW, SAFETY * max(ratio, 1e-12) ** (-1.0 / 8.0))
        self._step = max(min(length, self._step), length * growth)
        return Step(length, end, elapsed, log_rate_end)

    def _is_clear(self, length: float) -> bool:
        """Whether no neuron can come to a wall within the step just computed, which is then written off their slack."""
        state, neurons = self._state, self._state.neurons
        return bool(
            stays_clear(state.columns, state.slopes, length, state.layout, neurons.column_watch, neurons.members())
        )

    def _finish_with_events(self, step: Step, time_left: float, limit: float) -> None:
        """Find the events of the step, cut it at the first one that matters, move there and act."""
        state, neurons = self._state, self._state.neurons
        dense, clock, crossers, walls, thetas = events_of_columns(
            state.columns,
            step.end,
            state.slopes,
            state.rates,
            step.length,
            step.elapsed,
            state.log_rate,
            state.layout,
            neurons.column_watch,
            neurons.column_neurons,
        )
        self.force_evaluations += 3
        arrivals = Arrivals(crossers, walls, thetas)
        slide_exit = state.slides.first_exit(dense)
        self.force_evaluations += state.slides.take_evaluations()
        stop = min(float(arrivals.thetas.min(initial=1.0)), slide_exit.theta)
        if float(value_at(clock, stop)) > time_left * (1.0 + 1e-14):
            stop = float(first_root(time_left - clock, 0.0)) if state.layout.loss.fades else time_left / step.length
        if neurons.frames:
            stop, more, is_cut = self._light.carry(dense, clock, step.length, stop, self.time)
            self.force_evaluations += self._light.take_evaluations()
            arrivals = Arrivals(*(np.concatenate(pair) for pair in zip(arrivals, more, strict=True)))
            if is_cut and neurons.is_wide:
                self._step = min(self._step, 2.0 * step.length * max(stop, 1e-3))
        if stop >= 1.0:
            elapsed = step.elapsed
            decayed = self._pass_time(elapsed, step.length)
            state.arrive(step.end, step.log_rate_end, decayed)
        else:
            # as the polynomial says, not put back on the quadric: a shift would take neurons across walls unseen
            elapsed = float(value_at(clock, stop))
            decayed = self._pass_time(elapsed, step.length * stop)
            state.arrive_within(np.asarray(columns_at(dense, stop)), decayed)
        self._land(limit, elapsed, time_left)
        if neurons.frames:
            self._light.refresh_expiry()
        self._act(arrivals, slide_exit, stop, dense)

    def _restore(self, end: FloatArray, elapsed: float) -> None:
        """Put columns at the end of a step back on their quadric, which weight decay has shrunk meanwhile."""
        state, decayed = self._state, self._decay_in(elapsed)
        if not self.problem.trains_output_layer:
            return
        if decayed > 0.0:
            end *= np.exp(decayed)
        restore_invariants(end, state.layout, state.neurons.column_invariants)
        if decayed > 0.0:
            end *= np.exp(-decayed)

    def _decay_in(self, elapsed: float) -> float:
        """Weight decay times the time of a step from here, `elapsed` in units of the present rate."""
        decay = self.problem.weight_decay
        return decay * elapsed * float(np.exp(-self._state.log_rate)) if decay else 0.0

    def _pass_time(self, elapsed: float, length: float) -> float:
        """Move the clocks by a step from here: `elapsed` in units of the present rate, `length` in rescaled time.

        Returns by which exponent the weights decay meanwhile.
        """
        decayed = self._decay_in(elapsed)
        log_rate = self._state.log_rate
        if elapsed > 0.0:
            log_elapsed = float(np.log(elapsed)) - log_rate
            self.log_time = float(np.logaddexp(self.log_time, log_elapsed))
            if max(log_elapsed, -log_rate) < ORDINARY:
                self.time += elapsed * float(np.exp(-log_rate))
            else:
                self.time += float(np.exp(log_elapsed)) if log_elapsed < LARGEST_LOG else np.inf
        self._rescaled_time += length
        return decayed

    def _land(self, limit: float, elapsed: float, time_left: float) -> None:
        """Set the clock to the requested time itself where the step has reached it."""
        if np.isfinite(limit) and elapsed >= time_left * (1.0 - 1e-13):
            self.time, self.log_time = limit, float(np.log(limit))

    def _act(self, arrivals: Arrivals, slide_exit: SlideExit, stop: float, dense: FloatArray) -> None:
        """Apply the events that stand at the end of the step just taken."""
        state = self._state
        due = arrivals.thetas <= stop + 1e-15
        if not np.all(due):
            due |= self._stands_on_wall(arrivals)
        is_leaving = slide_exit.theta <= stop
        if not is_leaving and not np.any(due):
            self._tidy()
            return
        # where nothing pushes a neuron off the wall at this very moment, the forces a little later decide
        ahead = state.wall_pulls(columns_at(dense, AHEAD)) if stop <= AT_START else None
        with state.changing():
            if is_leaving:
                state.boundary.leave_wall(slide_exit.group, slide_exit.wall, slide_exit.side, self.time)
            if np.any(due):
                order = np.flatnonzero(due)[np.argsort(arrivals.thetas[due], kind="stable")]
                pulls, rounding = (state.wall_pulls(), ROUNDING) if ahead is None else (ahead, 0.0)
                crossers, walls = arrivals.neurons[order], arrivals.walls[order]
                state.boundary.cross(crossers, walls, pulls, self.time, rounding=rounding)
        self._has_changed()

    def _stands_on_wall(self, arrivals: Arrivals) -> BoolArray:
        """Which later crossers are there already, to rounding: neurons parallel to one that is due arrive with it."""
        self._state.sync()
        z = self._state.neurons.actual(arrivals.neurons)
        normals = self._state.neurons.walls.normals
        covectors = np.zeros((len(normals) + 1, z.shape[1]))
        covectors[:-1, :-1] = normals
        covectors[-1, -1] = 1.0
        heights = np.einsum("ji,ji->j", z, covectors[arrivals.walls])
        sized = z if self.problem.trains_output_layer else z[:, :-1]
        return np.asarray(np.abs(heights) <= ROUNDING * np.sqrt(np.einsum("ji,ji->j", sized, sized)))

    def _tidy(self) -> None:
        """After a step without events: take grown frames into their neurons, or compute slopes that are due."""
        state = self._state
        if state.has_drifted():
            with state.changing():
                pass  # columns that have grown or shrunk are taken into their neurons
            self._has_changed()
        elif not state.has_slopes:
            state.refresh_slopes()
            self.force_evaluations += 1

    def _has_changed(self) -> None:
        """After the groups have changed: the forces were computed once more, and a neuron may stand on a ridge."""
        self.force_evaluations += 1
        if self._state.boundary.met_ridge and self._ridge == "stop":
            self.outcome = Outcome.RIDGE
