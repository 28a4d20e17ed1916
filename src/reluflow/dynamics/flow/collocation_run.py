"""CollocationRun: one run of the flow in macro steps on which the forces are polynomials."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.flow.collocation_state import CollocationState
from reluflow.dynamics.flow.fading_clock import LARGEST_LOG, ORDINARY, FadingClock
from reluflow.dynamics.flow.far_growth import MOST_GROWN
from reluflow.dynamics.flow.force_step import Solution, StepStatus
from reluflow.dynamics.flow.frozen_start import FrozenStart
from reluflow.dynamics.flow.neuron_path_kernels import DONE
from reluflow.dynamics.flow.sample_forces import Device
from reluflow.dynamics.flow.sleeping_samples import Morning, SleepingSamples
from reluflow.dynamics.flow.sweep import POINTS, RULE
from reluflow.dynamics.gradient import Gradient
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import sizes_beyond_doubles
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import Limit, Outcome
from reluflow.geometry.boundary.decision import Ridge
from reluflow.geometry.boundary.events import REFRACTION, EventKind
from reluflow.network import Network

_FORCE_SHARE = 25.0  # misfit of the forces, in units of `rtol`: what it does to the outputs is measured in the docs
_LARGEST_MISFIT = 1e-3  # looser steps hardly save work; four times as loose, small problems need more of them
_CANCELLED = 1e-4  # pulls below this share of what makes them up are sums that cancel, so forces need more digits;
_LEAST_SHARE = 1e-6  # at least this share of the misfit is allowed all the same
_NOISE = 0.3  # a misfit that forces which are all rounding may have
_MANY_EVENTS = 400  # events in a step from which shorter ones, with forces guessed well enough for one sweep, are
_PRODUCTS_AN_EVENT = 5000  # cheaper, and how many products of numbers in a step take as long as another event;
_GUESSED, _SHORTER = 0.2, 0.6  # the gap of the guess that is aimed at, in units of the tolerance, and the least growth
_SAFETY, _SHRINK, _GROW, _POWER = 0.8, 0.1, 2.5, 0.25
_NEARLY = 1e-9  # a time so close, as a fraction of it, that no step fits in between is reached
_LANDED = 1e-13  # a step that ends so close to the requested time, as a fraction of it, has reached it
_EARLIEST_CUT = 0.2  # a heavy kink so early in a step, in units of it, is better left behind by shrinking the step
_BEYOND = 1e-9  # how far beyond a heavy kink a step ends, in units of the step
_AT_WAKE = 1e-8  # a sample that no neuron acted on is met: so close, in units of a first step
_BEFORE_WAKE = 1.0 - 1e-4  # a step that would go further ends at this share of the way
_WAKING_STEPS = 2  # after that, samples on which still no neuron acts are left out again
_AT_END = 1e-9  # a path that stops so close to an end of a step, in units of the usual step, stops there
_THERE = 1e-8  # a pre-activation or output weight below this fraction of |z|, where a path stops, is 0


class CollocationRun(AbstractRun):
    """The flow in the rescaled time s with ds = R dt; R = 1 for the square loss (see `relative_forces`)."""

    farthest_margin = float(np.exp(2.0 * MOST_GROWN))
    has_own_threads = True

    def __init__(
        self, problem: TrainingProblem, *, rtol: float, ridge: Ridge, max_steps: int, device: Device = "cpu"
    ) -> None:
        super().__init__(problem, last_step=max_steps)
        self._state = CollocationState(problem, self.recorder, ridge, device)
        self._is_fading = self._state.samples.fades
        self._allowed = min(_LARGEST_MISFIT, _FORCE_SHARE * rtol)  # misfit of the forces while they pull
        self._rescaled_time = 0.0
        self._waking = 0  # steps for which samples that no neuron acts on count all the same
        self.rejected = 0
        has_closed_form = problem.trains_output_layer and not self._state.has_begun_on_wall
        self._frozen = FrozenStart(self._state.spanned, rtol=rtol) if has_closed_form else None
        self.force_evaluations = self._state.num_evaluations
        self._see_ridge()
        self._state.output_error = rtol

    # -- reading ------------------------------------------------------------------------------------------------

    def outputs(self) -> FloatArray:
        """h(x_k) now, shape (n,)."""
        return self._state.all_outputs()

    def network(self) -> Network:
        """The network now; `log_scale` is 0 where the neurons fit a double."""
        return self._state.network()

    def log_sizes(self) -> FloatArray | None:
        """ln |(w_j, a_j)| now, where some neurons are too light for `network` to hold their sizes; else None."""
        return sizes_beyond_doubles(self._state.log_sizes)

    def gradient(self) -> Gradient:
        """Norms and angles of the gradient now."""
        return self._state.gradient()

    def is_settled(self) -> bool:
        """Whether every neuron with a pull on it shrinks for ever against that pull, so that none will grow later."""
        return self._state.is_settled()

    def misalignment(self) -> float:
        """Largest 1 - cos(w_j, a_j D_j) over the neurons that are pulled."""
        return self._state.misalignment()

    def balancedness_drift(self) -> float:
        """Largest change of a_j^2 - |w_j|^2 so far, relative to the neuron's largest squared norm so far."""
        return self._state.neurons.balancedness_drift()

    def limit(self, outcome: Outcome) -> Limit:
        """The last state, or where Newton's method finds that it tends to."""
        return self._state.stationary_limit() if outcome is Outcome.STATIONARY else self._state.last_state()

    def _misfit_allowed(self) -> float:
        """Misfit of the forces that leaves as many digits of the pulls, near rest too, where forces cancel in them."""
        cancelled = self._allowed * max(self._state.cancellation() / _CANCELLED, _LEAST_SHARE)
        return min(max(min(self._allowed, cancelled), self._state.rounding()), _NOISE)

    # -- stepping -----------------------------------------------------------------------------------------------

    def advance(self, limit: float, most_steps: int = 1) -> None:
        """Take one macro step, never past the time `limit`."""
        state = self._state
        if self.steps >= self.last_step:
            self.outcome = Outcome.MAX_STEPS
            return
        self.steps += 1
        if np.isinf(limit):
            state.take_out_growth()
        if self._is_fading and (state.rounding() > self._allowed or state.grown > MOST_GROWN):
            self.outcome = Outcome.ROUNDED
        elif self._stands_still_until(limit):
            self.time, self.log_time = limit, float(np.log(limit))
        elif not self._jump(limit):
            self._macro_step(limit)
        self.force_evaluations = state.num_evaluations
        self._see_ridge()

    def _stands_still_until(self, limit: float) -> bool:
        """Whether nothing moves up to a time: at a fit to the last digit, or where all forces have faded by then."""
        if np.isinf(limit) or self.problem.weight_decay != 0.0:
            return False
        if self._is_fading:
            return self._state.log_rate + float(np.log(limit - self.time)) < -ORDINARY
        return self._state.rounding() > _NOISE

    def _jump(self, limit: float) -> bool:
        """While the outputs are negligible, jump in closed form instead of stepping; whether it was done."""
        state = self._state
        if self._frozen is None:
            return False
        if not self._frozen.is_worthwhile(state.neurons):
            self._frozen = None
            return False
        duration = min(self._frozen.room(state.neurons), limit - self.time)
        taken = self._frozen.jump(state.neurons, self.recorder, self.time, duration)
        state.decay(taken)
        if taken < duration:
            self._frozen = None
        self.time = limit if taken == limit - self.time else self.time + taken
        self.log_time = float(np.log(self.time)) if self.time > 0 else -np.inf
        state.refresh()
        return True

    def _macro_step(self, limit: float) -> None:
        """Solve a step, shorten it until it is exact enough and ends at `limit` at the latest, and take it."""
        state = self._state
        if not self._waking:
            state.let_sleep()
        tolerance = self._misfit_allowed()
        length = state.step
        left = limit - self.time if np.isfinite(limit) else np.inf
        if not self._is_fading:
            length = min(length, left)
        is_cut = length < state.step
        while True:
            if length <= 1e-15 * self._rescaled_time:
                if left <= _NEARLY * limit < np.inf:  # what is left of the time is rounding
                    self.time, self.log_time = limit, float(np.log(limit))
                else:
                    self.outcome = Outcome.STALLED
                return
            guess = state.predictor.guess(self._rescaled_time, length)
            if guess is None:
                guess = state.forces_ahead(length * RULE.nodes)
            found = state.force_step.solve(state.neurons, state.outputs, guess, length, tolerance)
            is_solved = found.status is StepStatus.SOLVED
            wake = state.samples.first_wake(found.paths) if is_solved else np.inf  # else paths follow false forces
            if wake < np.inf:
                soon = _AT_WAKE * state.first_step() / length
                if wake > soon:
                    length, is_cut = length * wake * _BEFORE_WAKE, True
                else:  # from here on that sample counts
                    self._wake(found, soon)
                    length, is_cut = min(state.step, left) if not self._is_fading else state.step, False
                continue
            if not is_solved or found.misfit > tolerance:
                self.rejected += 1
                ratio = found.misfit / tolerance
                shorter = max(_SHRINK, min(0.7, _SAFETY * ratio**-_POWER)) if np.isfinite(ratio) else 0.4
                kink = state.force_step.first_heavy_kink(found, state.neurons) if np.isfinite(ratio) else np.inf
                is_cut = _EARLIEST_CUT < kink < 1.0
                state.step = min(state.step, 0.8 * length)
                if np.isfinite(found.misfit):
                    state.predictor.foresee(found.coefficients, self._rescaled_time, length)
                length *= kink * (1.0 + _BEYOND) if is_cut else shorter
            elif (1.0 - found.stop) * length > _AT_END * state.step:
                if found.stop * length <= _AT_END * state.step:
                    self._settle_paths(found)  # it is there already
                    return
                length = found.stop * length + 0.3 * _AT_END * state.step  # a little beyond, so that it is seen
                is_cut = True
            else:
                log_elapsed = self._log_elapsed(found, length)
                elapsed = float(np.exp(log_elapsed)) if log_elapsed < LARGEST_LOG else np.inf
                if elapsed <= left + _LANDED * limit:
                    morning = None if state.sleeping is None else state.sleepers_after(found)
                    if state.sleeping is None or morning is not None:
                        break
                    continue
                length *= self._clock(found, length).place_of(float(np.log(left)) + state.log_rate)
                is_cut = True
        start, began = state.forces, self._rescaled_time
        at_nodes = RULE.values(found.coefficients, RULE.nodes)
        state.predictor.learn(start, at_nodes, began, length, is_cut=is_cut)
        self._arrive(found, length, log_elapsed, morning)
        if np.isfinite(limit) and limit - self.time <= _LANDED * limit:
            self.time, self.log_time = limit, float(np.log(limit))
        next_step = length * self._growth(found, tolerance)
        state.step = max(next_step, state.step) if is_cut else next_step

    def _growth(self, found: Solution, tolerance: float) -> float:
        """How much longer than a step that was taken the next one may be."""
        growth = min(_GROW, _SAFETY * max(found.misfit / tolerance, 1e-12) ** -_POWER)
        worth_a_step = _MANY_EVENTS + len(found.moving) * self._state.samples.X.size // _PRODUCTS_AN_EVENT
        if int(np.sum(found.paths.num_events)) > worth_a_step and found.guess_gap > 0.0:
            growth = min(growth, max(_SHORTER, (_GUESSED * tolerance / found.guess_gap) ** _POWER))
        return float(growth)

    def _wake(self, found: Solution, soon: float) -> None:
        """Let the neurons that meet samples on which none acted before tau = `soon` pass those walls, under all forces.

        These may be e^1000 times as large as those that brought the neurons there: under them nothing else moves, and
        what is left of the way to the wall would take for ever. So which way they go is decided before the clock
        changes, while the force of such a sample is large but not all there is.
        """
        state = self._state
        waking = state.samples.waking(found.paths, soon)
        if state.sleeping is not None:
            waking = [(row, int(state.sleeping.awake_walls[wall])) for row, wall in waking]
            state.wake_all()
        neurons = state.neurons
        for row, wall in waking:
            j = int(found.moving[row])
            on_wall = neurons.sides[j] == 0
            on_wall[wall] = True
            state.settle(j, [int(b) for b in np.flatnonzero(on_wall)], self.time)
        state.predictor.forget()
        self._waking = _WAKING_STEPS
        state.refresh(counts_all=True)
        state.step = state.first_step()

    def _clock(self, found: Solution, length: float) -> FadingClock:
        log_rates = np.concatenate([[self._state.log_rate], found.log_rates]) - self._state.log_rate
        return FadingClock(RULE.nodes, log_rates, length)

    def _log_elapsed(self, found: Solution, length: float) -> float:
        """ln of the time that a step takes; where growth has been taken out it is beyond all that are asked for."""
        if not self._is_fading:
            return float(np.log(length))
        if self._state.grown > 0.0:
            return np.inf
        return float(self._clock(found, length).log_elapsed(np.ones(1))[0]) - self._state.log_rate

    def _arrive(self, found: Solution, length: float, log_elapsed: float, morning: Morning | None) -> None:
        """Take the step: neurons, events, clock."""
        state = self._state
        self._record(found, length)
        if state.sleeping is not None and morning is not None:
            self._record_asleep(found, length, state.sleeping, morning)
            state.sleeping = replace(state.sleeping, now=morning)
        state.neurons.take(found.moving, found.paths.ends, found.paths.sides, found.paths.pinned)
        state.decay(length)
        self._rescaled_time += length
        self._waking = max(0, self._waking - 1)
        state.refresh(counts_all=self._waking > 0)
        if state.grown > 0.0:  # so late, ln t is -ln R up to the logarithm of what is left of it
            log_elapsed = -state.log_total_force()
        self.log_time = float(np.logaddexp(self.log_time, log_elapsed))
        self.time += float(np.exp(log_elapsed)) if log_elapsed < LARGEST_LOG else np.inf
        self._settle_paths(found)

    def _times_at(self, taus: FloatArray, found: Solution, length: float) -> tuple[FloatArray, FloatArray]:
        """Times and their logarithms at places of a step that starts now."""
        if self._state.grown > 0.0:
            return np.full(len(taus), np.inf), np.full(len(taus), self.log_time)
        with np.errstate(divide="ignore"):
            logs = np.log(taus * length)
        if self._is_fading:
            logs = self._clock(found, length).log_elapsed(np.maximum(taus, 1e-300)) - self._state.log_rate
        elapsed = np.where(logs < LARGEST_LOG, np.exp(np.minimum(logs, LARGEST_LOG)), np.inf)
        return self.time + elapsed, np.logaddexp(self.log_time, logs)

    def _record(self, found: Solution, length: float) -> None:
        """Write the events of a step into the log, and the moments on its way where the outputs are known."""
        paths = found.paths
        is_event = np.arange(paths.event_walls.shape[1]) < paths.num_events[:, None]
        is_inner = POINTS < 1.0
        taus = np.concatenate([POINTS[is_inner], paths.event_taus[is_event]])
        times, log_times = self._times_at(taus, found, length)
        outputs = found.outputs[is_inner]
        if self._state.sleeping is None and self._state.grown == 0.0:
            moments = slice(len(outputs))
            self.passed.extend(zip(times[moments].tolist(), log_times[moments].tolist(), outputs, strict=True))
        if len(taus) > len(outputs):
            walls = paths.event_walls[is_event]
            samples = np.where(walls >= 0, self._state.wall_names()[walls], -1)
            who = np.repeat(found.moving, paths.num_events)
            self.recorder.extend(who, samples, times[len(outputs) :], paths.event_kinds[is_event])

    def _record_asleep(self, found: Solution, length: float, sleeping: SleepingSamples, morning: Morning) -> None:
        """Write the walls of sleeping samples that neurons cross in a step into the log."""
        places = np.concatenate([self._state.neurons.shapes[found.moving, None], found.paths.places], axis=1)
        crossings = sleeping.crossings(morning, found.moving, np.append(0.0, POINTS), places)
        if crossings:
            times, _ = self._times_at(np.array([crossing.tau for crossing in crossings]), found, length)
            self.recorder.extend(
                np.array([crossing.neuron for crossing in crossings]),
                np.array([crossing.sample for crossing in crossings]),
                times,
                np.full(len(crossings), REFRACTION),
            )

    # -- neurons that cannot go on alone --------------------------------------------------------------------------

    def _settle_paths(self, found: Solution) -> None:
        """Neurons whose paths could not go on alone (a ridge, the origin, a = 0 on a wall): decide from their state."""
        state = self._state
        stopped = found.moving[(found.paths.statuses != DONE) & (found.paths.stops <= found.stop + _AT_END)]
        if stopped.size:
            state.wake_all()
        neurons = state.neurons
        for j in stopped.tolist():
            on_wall = (np.abs(neurons.walls.normals @ neurons.shapes[j, :-1]) <= _THERE) | (neurons.sides[j] == 0)
            if abs(neurons.shapes[j, -1]) <= _THERE and neurons.can_change_sign[j]:
                neurons.shapes[j, -1] = 0.0
                neurons.output_sign[j] = -neurons.output_sign[j]
                self.recorder.add(j, -1, self.time, EventKind.SIGN_CHANGE)
            state.refresh(counts_all=True)  # a sample that no neuron acts on may pull one that leaves the origin
            state.settle(j, [int(b) for b in np.flatnonzero(on_wall)], self.time)
            state.refresh()
            state.predictor.forget()

    def _see_ridge(self) -> None:
        if self._state.has_stopped_on_ridge:
            self.outcome = Outcome.RIDGE
