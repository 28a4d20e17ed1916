"""CollocationRun: one run of the flow in macro steps on which the forces are polynomials."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.collocation.carried_neurons import POINTS, RULE
from reluflow.dynamics.collocation.collocation_state import CollocationState
from reluflow.dynamics.collocation.force_step import Solution, StepStatus
from reluflow.dynamics.collocation.negligible_samples import NegligibleSamples, NegligibleState
from reluflow.dynamics.collocation.neuron_path_kernels import DONE
from reluflow.dynamics.collocation.sample_forces import Device
from reluflow.dynamics.collocation.step_attempt import StepAttempt
from reluflow.dynamics.collocation.tuning import (
    AT_CONTACT,
    AT_STEP_END,
    AT_ZERO,
    BEFORE_CONTACT,
    BEYOND_KINK,
    BEYOND_STOP,
    CANCELLED_PULLS,
    DIVERGED_SHRINKAGE,
    EARLIEST_CUT,
    GUESS_GAP_GOAL,
    LARGEST_MISFIT,
    LEAST_GROWTH_BY_GUESS,
    LEAST_MISFIT_SHARE,
    MANY_EVENTS,
    MISFIT_OF_ROUNDING,
    MISFIT_PER_RTOL,
    MOST_LOG_RESCALING,
    MOST_STEP_GROWTH,
    MOST_STEP_SHRINKAGE,
    PRODUCTS_PER_EVENT,
    REJECTED_SHRINKAGE,
    SHORTER_NEXT,
    SHORTEST_STEP,
    SMALLEST_MISFIT_RATIO,
    STEP_EXPONENT,
    STEP_LANDED,
    STEP_SAFETY,
    STEPS_COUNTING_ALL,
    TIME_REACHED,
)
from reluflow.dynamics.gradient import Gradient
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import sizes_beyond_doubles
from reluflow.dynamics.shared.fading_clock import LARGEST_LOG, ORDINARY, FadingClock, duration_of
from reluflow.dynamics.shared.frozen_start import FrozenStart
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import Limit, Outcome
from reluflow.geometry.boundary.decision import Ridge
from reluflow.geometry.boundary.events import REFRACTION, EventKind
from reluflow.network import Network


class CollocationRun(AbstractRun):
    """The flow in the rescaled time s with ds = R dt; R = 1 for the square loss (see `relative_forces`)."""

    farthest_margin = float(np.exp(2.0 * MOST_LOG_RESCALING))
    has_own_threads = True

    def __init__(
        self, problem: TrainingProblem, *, rtol: float, ridge: Ridge, max_steps: int, device: Device = "cpu"
    ) -> None:
        super().__init__(problem, last_step=max_steps)
        self._state = CollocationState(problem, self.recorder, ridge, device)
        self._is_fading = self._state.samples.fades
        self._allowed = min(LARGEST_MISFIT, MISFIT_PER_RTOL * rtol)  # misfit of the forces while they pull
        self._rescaled_time = 0.0
        self._steps_counting_all = 0  # steps for which samples that no neuron acts on count all the same
        self.rejected = 0
        is_closed = problem.has_single_output and problem.trains_output_layer and not self._state.has_begun_on_wall
        self._frozen = FrozenStart(self._state.spanned, rtol=rtol) if is_closed else None
        self.force_evaluations = self._state.num_evaluations
        self._see_ridge()
        self._state.output_error = rtol

    def outputs(self) -> FloatArray:
        """h(x_k) now, shape (n,) or (n, K)."""
        return self._state.all_outputs()

    def network(self) -> Network:
        """The network now; `log_scale` is 0 where the neurons fit a double."""
        return self._state.network()

    @property
    def num_samples_in_steps(self) -> int:
        """How many samples the steps are made with now, without those that are negligible."""
        return len(self._state.samples.X)

    def log_sizes(self) -> FloatArray | None:
        """ln |(w_j, v_j)| now, where some neurons are too light for `network` to hold their sizes; else None."""
        return sizes_beyond_doubles(self._state.neurons.shapes, self._state.log_sizes)

    def gradient(self) -> Gradient:
        """Norms and angles of the gradient now."""
        return self._state.gradient()

    def is_settled(self) -> bool:
        """Whether every neuron with a pull on it shrinks for ever against that pull, so that none will grow later."""
        return self._state.is_settled()

    def misalignment(self) -> float:
        """Largest 1 - cos(w_j, D_j v_j) over the neurons that are pulled."""
        return self._state.misalignment()

    def balancedness_drift(self) -> float:
        """Largest change of |v_j|^2 - |w_j|^2 so far, relative to the neuron's largest squared norm so far."""
        return self._state.neurons.balancedness_drift()

    def limit(self, outcome: Outcome) -> Limit:
        """The last state, or where Newton's method finds that it tends to."""
        return self._state.stationary_limit() if outcome is Outcome.STATIONARY else self._state.last_state()

    def _misfit_allowed(self) -> float:
        """Misfit of the forces that leaves as many digits of the pulls, near rest too, where forces cancel in them."""
        share = min(1.0, max(self._state.cancellation() / CANCELLED_PULLS, LEAST_MISFIT_SHARE))
        return min(max(self._allowed * share, self._state.rounding()), MISFIT_OF_ROUNDING)

    def advance(self, limit: float, most_steps: int = 1) -> None:
        """Take one macro step, never past the time `limit`."""
        state = self._state
        if self.steps >= self.last_step:
            self.outcome = Outcome.MAX_STEPS
            return
        self.steps += 1
        if np.isinf(limit):
            state.rescale()
        if self._is_fading and (state.rounding() > self._allowed or state.log_rescaling > MOST_LOG_RESCALING):
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
        return self._state.rounding() > MISFIT_OF_ROUNDING

    def _jump(self, limit: float) -> bool:
        """While the outputs are negligible, jump in closed form instead of stepping; whether it was done."""
        state = self._state
        if self._frozen is None:
            return False
        if not self._frozen.is_worthwhile(state.neurons):
            self._frozen = None
            return False
        duration = min(self._frozen.longest(state.neurons), limit - self.time)
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
        if not self._steps_counting_all:
            state.leave_out_negligible()
        attempt = self._first_attempt(limit)
        while True:
            if attempt.length <= SHORTEST_STEP * self._rescaled_time:
                self._end_without_step(attempt)
                return
            found = self._solve(attempt)
            is_solved = found.status is StepStatus.SOLVED
            contact = state.samples.first_contact(found.paths) if is_solved else np.inf  # else forces are false
            if contact < np.inf:
                self._come_to_contact(attempt, found, contact)
            elif found.status is StepStatus.KINKED:
                self.rejected += 1
                attempt.end_at_kink(found.stop, state.force_step.relaxation)
            elif not is_solved or found.misfit > attempt.tolerance:
                self._reject(attempt, found)
            elif (1.0 - found.stop) * attempt.length > AT_STEP_END * state.step:
                if found.stop * attempt.length <= AT_STEP_END * state.step:
                    self._settle_paths(found)  # it is there already
                    return
                attempt.cut(found.stop * attempt.length + BEYOND_STOP * AT_STEP_END * state.step)
            else:
                log_elapsed = self._log_elapsed(found, attempt.length)
                if duration_of(log_elapsed) > attempt.left + STEP_LANDED * limit:
                    attempt.cut(attempt.length * self._place_of_limit(attempt, found))
                    continue
                after = None if state.negligible is None else state.negligible_after(found)
                if state.negligible is None or after is not None:
                    break
        self._accept(attempt, found, log_elapsed, after)

    def _first_attempt(self, limit: float) -> StepAttempt:
        """The step that is tried first."""
        usual = self._state.step
        left = limit - self.time if np.isfinite(limit) else np.inf
        length = usual if self._is_fading else min(usual, left)
        return StepAttempt(length, length < usual, self._misfit_allowed(), left, limit)

    def _end_without_step(self, attempt: StepAttempt) -> None:
        """No step moves the clock: what is left of the time is rounding, or the run is stuck."""
        if attempt.left <= TIME_REACHED * attempt.limit < np.inf:
            self.time, self.log_time = attempt.limit, float(np.log(attempt.limit))
        else:
            self.outcome = Outcome.STALLED

    def _solve(self, attempt: StepAttempt) -> Solution:
        """The forces and paths on a step of that length."""
        state = self._state
        guess = state.predictor.guess(self._rescaled_time, attempt.length)
        if guess is None:
            guess = state.forces_ahead(attempt.length * RULE.nodes)
        given = (state.neurons, state.outputs, guess, attempt.length, attempt.tolerance)
        bias_rate = float(np.exp(-2.0 * state.log_rescaling))
        return state.force_step.solve(*given, clock_tolerance=self._allowed, bias=state.bias, bias_rate=bias_rate)

    def _come_to_contact(self, attempt: StepAttempt, found: Solution, contact: float) -> None:
        """End the step where a neuron meets a sample that none acted on; or, there, count that sample from here on."""
        state = self._state
        soon = AT_CONTACT * state.first_step() / attempt.length
        if contact > soon:
            attempt.cut(attempt.length * contact * BEFORE_CONTACT)
        else:
            self._pass_contacts(found, soon)
            attempt.length = state.step if self._is_fading else min(state.step, attempt.left)
            attempt.is_cut = False

    def _reject(self, attempt: StepAttempt, found: Solution) -> None:
        """Shorten a step that was not exact enough: to its first heavy kink, or by what its misfit asks for."""
        state, length = self._state, attempt.length
        self.rejected += 1
        ratio = found.misfit / attempt.tolerance
        shorter, kink = DIVERGED_SHRINKAGE, np.inf
        if np.isfinite(ratio):
            by_misfit = min(REJECTED_SHRINKAGE, STEP_SAFETY * ratio**-STEP_EXPONENT)
            shorter = max(MOST_STEP_SHRINKAGE, by_misfit)
            kink = state.force_step.first_heavy_kink(found, state.neurons)
        attempt.is_cut = EARLIEST_CUT < kink < 1.0
        state.step = min(state.step, SHORTER_NEXT * length)
        if np.isfinite(found.misfit):
            state.predictor.foresee(found.coefficients, self._rescaled_time, length)
        attempt.length *= kink * (1.0 + BEYOND_KINK) if attempt.is_cut else shorter

    def _place_of_limit(self, attempt: StepAttempt, found: Solution) -> float:
        """Where in a step the requested time lies."""
        return self._clock(found, attempt.length).place_of(float(np.log(attempt.left)) + self._state.log_rate)

    def _accept(self, attempt: StepAttempt, found: Solution, log_elapsed: float, after: NegligibleState | None) -> None:
        """Take a step, learn from it, and choose the length of the next."""
        state, length, limit = self._state, attempt.length, attempt.limit
        at_nodes = RULE.values(found.coefficients, RULE.nodes)
        state.predictor.learn(state.forces, at_nodes, self._rescaled_time, length, is_cut=attempt.is_cut)
        self._arrive(found, length, log_elapsed, after)
        if np.isfinite(limit) and limit - self.time <= STEP_LANDED * limit:
            self.time, self.log_time = limit, float(np.log(limit))
        following = length * self._growth(found, attempt.tolerance)
        state.step = min(max(following, state.step) if attempt.is_cut else following, attempt.longest_next)

    def _growth(self, found: Solution, tolerance: float) -> float:
        """How much longer than a step that was taken the next one may be."""
        ratio = max(found.misfit / tolerance, SMALLEST_MISFIT_RATIO)
        growth = min(MOST_STEP_GROWTH, STEP_SAFETY * ratio**-STEP_EXPONENT)
        worth_a_step = MANY_EVENTS + len(found.moving) * self._state.samples.X.size // PRODUCTS_PER_EVENT
        if int(np.sum(found.paths.num_events)) > worth_a_step and found.guess_gap > 0.0:
            by_guess = (GUESS_GAP_GOAL * tolerance / found.guess_gap) ** STEP_EXPONENT
            growth = min(growth, max(LEAST_GROWTH_BY_GUESS, by_guess))
        return float(growth)

    def _pass_contacts(self, found: Solution, soon: float) -> None:
        """Let the neurons that meet samples on which none acted before tau = `soon` pass those walls, under all forces.

        These may be e^1000 times as large as those that brought the neurons there: under them nothing else moves, and
        what is left of the way to the wall would take for ever. So which way they go is decided before the clock
        changes, while the force of such a sample is large but not all there is.
        """
        state = self._state
        contacts = state.samples.contacts(found.paths, soon)
        if state.negligible is not None:
            contacts = [(row, int(state.negligible.remaining_walls[wall])) for row, wall in contacts]
            state.take_all_samples()
        neurons = state.neurons
        for row, wall in contacts:
            j = int(found.moving[row])
            on_wall = neurons.sides[j] == 0
            on_wall[wall] = True
            state.settle(j, [int(b) for b in np.flatnonzero(on_wall)], self.time)
        state.predictor.forget()
        self._steps_counting_all = STEPS_COUNTING_ALL
        state.refresh(counts_all=True)
        state.step = state.first_step()

    def _clock(self, found: Solution, length: float) -> FadingClock:
        log_rates = np.concatenate([[self._state.log_rate], found.log_rates]) - self._state.log_rate
        return FadingClock(RULE.nodes, log_rates, length)

    def _log_elapsed(self, found: Solution, length: float) -> float:
        """ln of the time that a step takes; where growth has been taken out it is beyond all that are asked for."""
        if not self._is_fading:
            return float(np.log(length))
        if self._state.log_rescaling > 0.0:
            return np.inf
        return float(self._clock(found, length).log_elapsed(np.ones(1))[0]) - self._state.log_rate

    def _arrive(self, found: Solution, length: float, log_elapsed: float, after: NegligibleState | None) -> None:
        """Take the step: neurons, events, clock."""
        state = self._state
        self._record(found, length)
        if state.negligible is not None and after is not None:
            self._record_negligible(found, length, state.negligible, after)
            state.negligible = replace(state.negligible, now=after)
        state.neurons.take(found.moving, found.paths.ends, found.paths.sides, found.paths.pinned)
        state.bias = found.bias
        state.decay(length)
        self._rescaled_time += length
        self._steps_counting_all = max(0, self._steps_counting_all - 1)
        state.refresh(counts_all=self._steps_counting_all > 0)
        if state.log_rescaling > 0.0:  # so late R = 1/(kappa t), where ln R falls by kappa = |grad L|^2/R^2 in s
            self.log_time = max(self.log_time, state.log_total_force() - 2.0 * state.gradient().log_norm)
        else:
            self.log_time = float(np.logaddexp(self.log_time, log_elapsed))
        self.time += duration_of(log_elapsed)
        self._settle_paths(found)

    def _times_at(self, taus: FloatArray, found: Solution, length: float) -> tuple[FloatArray, FloatArray]:
        """Times and their logarithms at places of a step that starts now."""
        if self._state.log_rescaling > 0.0:
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
        if self._state.negligible is None and self._state.log_rescaling == 0.0:
            moments = slice(len(outputs))
            passed = outputs.reshape(len(outputs), *self.problem.dataset.zero_outputs().shape)
            self.passed.extend(zip(times[moments].tolist(), log_times[moments].tolist(), passed, strict=True))
        if len(taus) > len(outputs):
            walls = paths.event_walls[is_event]
            samples = np.where(walls >= 0, self._state.wall_names()[walls], -1)
            who = np.repeat(found.moving, paths.num_events)
            self.recorder.extend(who, samples, times[len(outputs) :], paths.event_kinds[is_event])

    def _record_negligible(
        self, found: Solution, length: float, negligible: NegligibleSamples, after: NegligibleState
    ) -> None:
        """Write the walls of negligible samples that neurons cross in a step into the log."""
        places = np.concatenate([self._state.neurons.shapes[found.moving, None], found.paths.places], axis=1)
        crossings = negligible.crossings(after, found.moving, np.append(0.0, POINTS), places)
        if crossings:
            times = self._times_at(np.array([crossing.tau for crossing in crossings]), found, length)[0]
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
        stopped = found.moving[(found.paths.statuses != DONE) & (found.paths.stops <= found.stop + AT_STEP_END)]
        if stopped.size:
            state.take_all_samples()
        neurons = state.neurons
        for j in stopped.tolist():
            on_wall = (np.abs(neurons.walls.normals @ neurons.w[j]) <= AT_ZERO) | (neurons.sides[j] == 0)
            if abs(neurons.shapes[j, -1]) <= AT_ZERO and neurons.can_change_sign[j]:
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
