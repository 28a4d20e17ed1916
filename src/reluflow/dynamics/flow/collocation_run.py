"""CollocationRun: one run of the flow in macro steps on which the forces are polynomials."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.flow.boundary_events import BoundaryEvents
from reluflow.dynamics.flow.fading_clock import LARGEST_LOG, ORDINARY, FadingClock
from reluflow.dynamics.flow.force_predictor import ForcePredictor
from reluflow.dynamics.flow.force_step import ForceStep, Solution, StepStatus
from reluflow.dynamics.flow.frozen_start import FrozenStart
from reluflow.dynamics.flow.lone_neurons import LoneNeurons
from reluflow.dynamics.flow.neuron_path_kernels import DONE
from reluflow.dynamics.flow.present_forces import PresentForces
from reluflow.dynamics.flow.resting_limit import polished
from reluflow.dynamics.flow.sample_forces import SampleForces
from reluflow.dynamics.flow.sleeping_samples import (
    FEW,
    Morning,
    SleepingSamples,
    awake_part,
    is_awake,
    may_sleep,
    those_asleep,
)
from reluflow.dynamics.flow.spanned_problem import SpannedProblem
from reluflow.dynamics.flow.sweep import POINTS, RULE
from reluflow.dynamics.gradient import Gradient, RelativePulls
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import RESTING_PULL, cosines_with, network_of, shrinks_for_ever, sizes_beyond_doubles
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import Limit, Outcome
from reluflow.dynamics.variant import gradient_of_variant, is_settled_variant, with_outputs_of
from reluflow.geometry.boundary.decision import Ridge
from reluflow.geometry.boundary.events import REFRACTION, EventKind
from reluflow.geometry.boundary.walls import Walls
from reluflow.network import Network

_FORCE_SHARE = 25.0  # misfit of the forces, in units of `rtol`: what it does to the outputs is measured in the docs
_LARGEST_MISFIT = 1e-3  # looser steps hardly save work; four times as loose, small problems need more of them
_CANCELLED = 1e-4  # pulls below this share of what makes them up are sums that cancel, so forces need more digits;
_LEAST_SHARE = 1e-6  # at least this share of the misfit is allowed all the same
_NOISE = 0.3  # a misfit that forces which are all rounding may have
_FIRST_RAPIDITY = 0.03  # first step: how far the fastest neuron is boosted
_MANY_EVENTS = (
    400  # events in one step from which shorter ones, whose forces are guessed well enough for one sweep, are
)
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

    has_own_threads = True

    def __init__(self, problem: TrainingProblem, *, rtol: float, ridge: Ridge, max_steps: int) -> None:
        super().__init__(problem, last_step=max_steps)
        self._rescaled_time, self._log_rate, self._step = 0.0, 0.0, 1.0
        self._waking = 0  # steps for which samples that no neuron acts on count all the same
        self._outputs: FloatArray = np.zeros(problem.dataset.n)
        self._neuron_pulls: FloatArray | None = None  # D of every neuron as it is, once it has been asked for
        self.rejected = 0
        self._ridge = ridge
        self._span = SpannedProblem.of(problem)
        inner = self._span.problem
        walls = Walls.of(inner.dataset.X)
        self._neurons = LoneNeurons(inner.network, walls, moves_outputs=problem.trains_output_layer)
        self._samples = SampleForces(inner, walls)
        self._sleeping: SleepingSamples | None = None  # samples that are left out of all that is kept here
        self._is_fading = self._samples.fades
        self._may_sleep = may_sleep(self._samples, self._neurons)
        self._num_awake = problem.dataset.n  # when they were last chosen
        self._allowed = min(_LARGEST_MISFIT, _FORCE_SHARE * rtol)  # misfit of the forces while they pull
        self._forces = ForceStep(self._samples)
        self._all_forces = self._forces
        self._start_strength = float(np.abs(problem.loss.label_forces(self._samples.labels)) @ walls.length)
        self._present = PresentForces(inner, self._neurons, self._samples)
        self._predictor = ForcePredictor(RULE)
        self._boundary = BoundaryEvents(self._neurons, self.recorder, ridge)
        self._refresh(slopes=self._slopes())
        self._neurons.give_signs(self._pulls())
        waiting = self._neurons.standing_on_walls()
        for j, walls_of_j in waiting:
            self._settle(j, walls_of_j, is_initial=True)
        self._frozen = None if waiting or not problem.trains_output_layer else FrozenStart(inner, rtol=rtol)
        self._step = self._first_step()

    # -- reading ------------------------------------------------------------------------------------------------

    def outputs(self) -> FloatArray:
        """h(x_k) now, shape (n,)."""
        return np.asarray(self._outputs) if self._sleeping is None else self._sleeping.outputs(self._outputs)

    def network(self) -> Network:
        """The network now; `log_scale` is 0 where the neurons fit a double."""
        neurons = self._neurons
        network = network_of(neurons.shapes, neurons.log_norm, neurons.leak, neurons.weight)
        network = network.replace(w=self._span.outward(network.w, network.log_scale, self._decayed()))
        return network if self.problem.trains_output_layer else with_outputs_of(self.problem.network, network)

    def log_sizes(self) -> FloatArray | None:
        """ln |(w_j, a_j)| now, where some neurons are too light for `network` to hold their sizes; else None."""
        return sizes_beyond_doubles(self._neurons.log_norm)

    def gradient(self) -> Gradient:
        """Norms and angles of the gradient now."""
        neurons, pulls = self._neurons, self._pulls()
        if not self.problem.is_plain:
            z, outward = self._outward(pulls)
            return gradient_of_variant(self.problem, z, neurons.mass, outward, 0.0)
        a, mass = neurons.shapes[:, -1], neurons.mass
        towards = np.einsum("ji,ji->j", neurons.shapes[:, :-1], pulls)
        square = float(mass @ (towards**2 + a**2 * np.einsum("ji,ji->j", pulls, pulls)))
        return Gradient.from_moments(square, float(2.0 * mass @ (a * towards)), float(np.sum(mass)), self._log_rate)

    def is_settled(self) -> bool:
        """Whether every neuron with a pull on it shrinks for ever against that pull, so that none will grow later."""
        pulls = self._pulls()
        if not self.problem.is_plain:
            return is_settled_variant(self.problem, *self._outward(pulls), self._outputs)
        strengths = np.linalg.norm(pulls, axis=1) * np.exp(self._log_rate)
        is_pulled = strengths > RESTING_PULL * self._start_strength
        z = self._neurons.shapes[is_pulled]
        return bool(np.all(shrinks_for_ever(z[:, :-1], z[:, -1], pulls[is_pulled])))

    def misalignment(self) -> float:
        """Largest 1 - cos(w_j, a_j D_j) over the neurons that are pulled."""
        pulls, z = self._pulls(), self._neurons.shapes
        is_pulled = np.any(pulls, axis=1)
        return float(1.0 - np.min(cosines_with(z[:, :-1], z[:, -1], pulls)[is_pulled], initial=1.0))

    def balancedness_drift(self) -> float:
        """Largest change of a_j^2 - |w_j|^2 so far, relative to the neuron's largest squared norm so far."""
        return self._neurons.balancedness_drift()

    def limit(self, outcome: Outcome) -> Limit:
        """The last state, or where Newton's method finds that it tends to."""
        here = Limit(self.network(), self.gradient().norm, False, 0, "The last state of the run, not polished.")
        if outcome is not Outcome.STATIONARY:
            return here
        if not self.problem.is_plain:
            return replace(here, reason=f"Not polished: with {self.problem.variant} the last state is given as it is.")
        self._wake_all()
        neurons, kept = self._neurons, self._neurons.shapes
        neurons.shapes, num_iterations = polished(neurons, self._samples)
        self._refresh(slopes=self._slopes())
        heights = neurons.shapes[:, :-1] @ neurons.walls.normals.T
        has_crossed = bool(np.any(neurons.sides * heights < -1e-9))
        there = Limit(
            self.network(),
            self.gradient().norm,
            True,
            num_iterations,
            "Polished by Newton's method in the final pattern.",
        )
        neurons.shapes = kept
        self._refresh(slopes=self._slopes())
        if has_crossed:
            return replace(here, reason="Not polished: the rest of the way meets another boundary.")
        if num_iterations == 0 or there.gradient_norm > here.gradient_norm:
            return replace(here, reason="Not polished: no Newton step in the final pattern brings the gradient down.")
        return there

    def _decayed(self) -> float:
        """Weight decay so far: what no pull moves has shrunk by e to minus this."""
        return self.problem.weight_decay * self.time if self.problem.weight_decay else 0.0  # not 0 times infinity

    def _outward(self, pulls: FloatArray) -> tuple[FloatArray, RelativePulls]:
        """Shapes and pulls of the neurons in the coordinates of the given problem."""
        z, log_norm = self._neurons.shapes, self._neurons.log_norm
        z = np.column_stack([self._span.outward(z[:, :-1], log_norm, self._decayed()), z[:, -1]])
        return z, RelativePulls(self._span.pulls_outward(pulls), self._log_rate)

    def _refresh(self, *, slopes: FloatArray | None) -> None:
        """Outputs and forces of the neurons as they are; `slopes` tell which samples count in the rate."""
        neurons, log_rate = self._neurons, self._log_rate
        has_changed = self._samples.count(slopes)
        self._outputs = self._samples.outputs(neurons.shapes[:, None, :], neurons.mass)[0]
        forces, _, log_rates = self._samples.relative(self._outputs[None], with_curvatures=False)
        self._sample_forces, self._log_rate = forces[0], float(log_rates[0])
        self._neuron_pulls = None
        if has_changed:  # another clock: the step covers the same time, unless that is no step at all there
            self._predictor.forget()
            first = self._first_step()
            step = self._step * float(np.exp(np.clip(self._log_rate - log_rate, -ORDINARY, ORDINARY)))
            self._step = min(max(step, _SHRINK * first), max(self._step, first))
        self.force_evaluations += 1

    def _misfit_allowed(self) -> float:
        """Misfit of the forces that leaves as many digits of the pulls, near rest too, where forces cancel in them."""
        left = self._present.cancellation(self._sample_forces, self._pulls(), self._log_rate)
        cancelled = self._allowed * max(left / _CANCELLED, _LEAST_SHARE)
        return min(max(min(self._allowed, cancelled), self._rounding()), _NOISE)

    def _rounding(self) -> float:
        return self._present.rounding(self._outputs, self._sample_forces)

    def _slopes(self) -> FloatArray:
        return self._neurons.walls.slopes(self._neurons.sides, self._neurons.leak)

    def _wall_pulls(self) -> tuple[FloatArray, FloatArray]:
        plus, minus = self._samples.of_walls(self._sample_forces[None])
        return plus[0], minus[0]

    def _pulls(self) -> FloatArray:
        if self._neuron_pulls is None:
            self._neuron_pulls = self._neurons.pulls(*self._wall_pulls())
        return self._neuron_pulls

    # -- stepping -----------------------------------------------------------------------------------------------

    def advance(self, limit: float, most_steps: int = 1) -> None:
        """Take one macro step, never past the time `limit`."""
        if self.steps >= self.last_step:
            self.outcome = Outcome.MAX_STEPS
            return
        self.steps += 1
        if self._is_fading and self._rounding() > self._allowed:
            self.outcome = Outcome.ROUNDED
        elif self._rounding() > _NOISE and not np.isinf(limit) and self.problem.weight_decay == 0.0:
            self.time, self.log_time = limit, float(np.log(limit))  # a fit to the last digit: nothing moves any more
        elif not self._jump(limit):
            self._macro_step(limit)

    def _jump(self, limit: float) -> bool:
        """While the outputs are negligible, jump in closed form instead of stepping; whether it was done."""
        if self._frozen is None:
            return False
        if not self._frozen.is_worthwhile(self._neurons):
            self._frozen = None
            return False
        duration = min(self._frozen.room(self._neurons), limit - self.time)
        taken = self._frozen.jump(self._neurons, self.recorder, self.time, duration)
        self._neurons.decay(self._samples.shared_decay * taken)
        if taken < duration:
            self._frozen = None
        self.time = limit if taken == limit - self.time else self.time + taken
        self.log_time = float(np.log(self.time)) if self.time > 0 else -np.inf
        self._refresh(slopes=self._slopes())
        return True

    def _macro_step(self, limit: float) -> None:
        """Solve a step, shorten it until it is exact enough and ends at `limit` at the latest, and take it."""
        self._let_sleep()
        tolerance = self._misfit_allowed()
        length = self._step
        left = limit - self.time if np.isfinite(limit) else np.inf
        if not self._is_fading:
            length = min(length, left)
        is_cut = length < self._step
        while True:
            if length <= 1e-15 * self._rescaled_time:
                if left <= _NEARLY * limit < np.inf:  # what is left of the time is rounding
                    self.time, self.log_time = limit, float(np.log(limit))
                else:
                    self.outcome = Outcome.STALLED
                return
            guess = self._predictor.guess(self._rescaled_time, length)
            if guess is None:
                guess = self._present.ahead(self._outputs, self._sample_forces, self._pulls(), length * RULE.nodes)
            found = self._forces.solve(self._neurons, self._outputs, guess, length, tolerance)
            is_solved = found.status is StepStatus.SOLVED
            wake = self._samples.first_wake(found.paths) if is_solved else np.inf  # else the paths follow false forces
            if wake < np.inf:
                soon = _AT_WAKE * self._first_step() / length
                if wake > soon:
                    length, is_cut = length * wake * _BEFORE_WAKE, True
                else:  # from here on that sample counts
                    self._wake(found, soon)
                    length, is_cut = min(self._step, left) if not self._is_fading else self._step, False
                continue
            if not is_solved or found.misfit > tolerance:
                self.rejected += 1
                ratio = found.misfit / tolerance
                shorter = max(_SHRINK, min(0.7, _SAFETY * ratio**-_POWER)) if np.isfinite(ratio) else 0.4
                kink = self._forces.first_heavy_kink(found, self._neurons) if np.isfinite(ratio) else np.inf
                is_cut = _EARLIEST_CUT < kink < 1.0
                self._step = min(self._step, 0.8 * length)
                if np.isfinite(found.misfit):
                    self._predictor.foresee(found.coefficients, self._rescaled_time, length)
                length *= kink * (1.0 + _BEYOND) if is_cut else shorter
            elif (1.0 - found.stop) * length > _AT_END * self._step:
                if found.stop * length <= _AT_END * self._step:
                    self._settle_paths(found)  # it is there already
                    return
                length = found.stop * length + 0.3 * _AT_END * self._step  # a little beyond, so that it is seen
                is_cut = True
            else:
                log_elapsed = self._log_elapsed(found, length)
                elapsed = float(np.exp(log_elapsed)) if log_elapsed < LARGEST_LOG else np.inf
                if elapsed <= left + _LANDED * limit:
                    morning = self._sleepers_after(found)
                    if self._sleeping is None or morning is not None:
                        break
                    continue
                length *= self._clock(found, length).place_of(float(np.log(left)) + self._log_rate)
                is_cut = True
        start, began = self._sample_forces, self._rescaled_time
        at_nodes = RULE.values(found.coefficients, RULE.nodes)
        self._predictor.learn(start, at_nodes, began, length, is_cut=is_cut)
        self._arrive(found, length, log_elapsed, morning)
        if np.isfinite(limit) and limit - self.time <= _LANDED * limit:
            self.time, self.log_time = limit, float(np.log(limit))
        growth = min(_GROW, _SAFETY * max(found.misfit / tolerance, 1e-12) ** -_POWER)
        worth_a_step = _MANY_EVENTS + len(found.moving) * self._samples.X.size // _PRODUCTS_AN_EVENT
        if int(np.sum(found.paths.num_events)) > worth_a_step and found.guess_gap > 0.0:
            growth = min(growth, max(_SHORTER, (_GUESSED * tolerance / found.guess_gap) ** _POWER))
        self._step = max(length * growth, self._step) if is_cut else length * growth

    def _wake(self, found: Solution, soon: float) -> None:
        """Let the neurons that meet samples on which none acted before tau = `soon` pass those walls, under all forces.

        These may be e^1000 times as large as those that brought the neurons there: under them nothing else moves, and
        what is left of the way to the wall would take for ever. So which way they go is decided before the clock
        changes, while the force of such a sample is large but not all there is.
        """
        waking = self._samples.waking(found.paths, soon)
        if self._sleeping is not None:
            waking = [(row, int(self._sleeping.awake_walls[wall])) for row, wall in waking]
            self._wake_all()
        neurons = self._neurons
        for row, wall in waking:
            j = int(found.moving[row])
            on_wall = neurons.sides[j] == 0
            on_wall[wall] = True
            self._settle(j, [int(b) for b in np.flatnonzero(on_wall)])
        self._predictor.forget()
        self._waking = _WAKING_STEPS
        self._refresh(slopes=None)
        self._step = self._first_step()

    def _first_step(self) -> float:
        """A step in which the neuron with the strongest pull turns by little, and none decays by much."""
        strongest = float(np.max(np.linalg.norm(self._pulls(), axis=1), initial=0.0))
        fastest = max(strongest, self.problem.weight_decay)
        return _FIRST_RAPIDITY / fastest if fastest > 0 else 1.0

    def _clock(self, found: Solution, length: float) -> FadingClock:
        log_rates = np.concatenate([[self._log_rate], found.log_rates]) - self._log_rate
        return FadingClock(RULE.nodes, log_rates, length)

    def _log_elapsed(self, found: Solution, length: float) -> float:
        """ln of the time that a step takes."""
        if not self._is_fading:
            return float(np.log(length))
        return float(self._clock(found, length).log_elapsed(np.ones(1))[0]) - self._log_rate

    def _arrive(self, found: Solution, length: float, log_elapsed: float, morning: Morning | None) -> None:
        """Take the step: neurons, events, clock."""
        self._record(found, length)
        if self._sleeping is not None and morning is not None:
            self._record_asleep(found, length, self._sleeping, morning)
            self._sleeping = replace(self._sleeping, now=morning)
        self._neurons.take(found.moving, found.paths.ends, found.paths.sides, found.paths.pinned)
        self._neurons.decay(self._samples.shared_decay * length)
        self.log_time = float(np.logaddexp(self.log_time, log_elapsed))
        self.time += float(np.exp(log_elapsed)) if log_elapsed < LARGEST_LOG else np.inf
        self._rescaled_time += length
        self._waking = max(0, self._waking - 1)
        self._refresh(slopes=None if self._waking else self._slopes())
        self._settle_paths(found)

    def _times_at(self, taus: FloatArray, found: Solution, length: float) -> tuple[FloatArray, FloatArray]:
        """Times and their logarithms at places of a step that starts now."""
        with np.errstate(divide="ignore"):
            logs = np.log(taus * length)
        if self._is_fading:
            logs = self._clock(found, length).log_elapsed(np.maximum(taus, 1e-300)) - self._log_rate
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
        if self._sleeping is None:
            moments = slice(len(outputs))
            self.passed.extend(zip(times[moments].tolist(), log_times[moments].tolist(), outputs, strict=True))
        if len(taus) > len(outputs):
            walls = paths.event_walls[is_event]
            names = self._samples.walls.first_sample
            if self._sleeping is not None:
                names = self._sleeping.whole.walls.first_sample[self._sleeping.awake_walls]
            samples = np.where(walls >= 0, names[walls], -1)
            who = np.repeat(found.moving, paths.num_events)
            self.recorder.extend(who, samples, times[len(outputs) :], paths.event_kinds[is_event])

    def _record_asleep(self, found: Solution, length: float, sleeping: SleepingSamples, morning: Morning) -> None:
        """Write the walls of sleeping samples that neurons cross in a step into the log."""
        places = np.concatenate([self._neurons.shapes[found.moving, None], found.paths.places], axis=1)
        crossings = sleeping.crossings(morning, found.moving, np.append(0.0, POINTS), places)
        if crossings:
            times, _ = self._times_at(np.array([crossing.tau for crossing in crossings]), found, length)
            self.recorder.extend(
                np.array([crossing.neuron for crossing in crossings]),
                np.array([crossing.sample for crossing in crossings]),
                times,
                np.full(len(crossings), REFRACTION),
            )

    # -- samples that move nobody ---------------------------------------------------------------------------------

    def _let_sleep(self) -> None:
        """Leave samples out of the steps where few of those that are in them still move somebody."""
        if not self._may_sleep or self._waking:
            return
        if np.count_nonzero(is_awake(self._samples, self._outputs)) <= FEW * self._num_awake:
            self._choose_awake(np.zeros(self.problem.dataset.n, dtype=bool))

    def _choose_awake(self, kept: BoolArray) -> None:
        """Choose the samples of the steps anew, those in `kept` among them."""
        was_awake = np.ones(len(kept), dtype=bool) if self._sleeping is None else ~self._sleeping.is_asleep
        self._wake_all(is_brief=True)
        self._sleeping = those_asleep(self._samples, self._span.problem, self._neurons, self._outputs, kept)
        samples, neurons = awake_part(self._sleeping, self._span.problem, self._neurons)
        self._go_on_with(neurons, samples, ForceStep(samples))
        if np.any(~was_awake & ~self._sleeping.is_asleep):
            self._predictor.forget()
        else:
            self._predictor.narrow(~self._sleeping.is_asleep[was_awake])
        self._refresh(slopes=self._slopes())
        self._num_awake = int(np.count_nonzero(is_awake(self._samples, self._outputs)))

    def _sleepers_after(self, found: Solution) -> Morning | None:
        """Where the sleeping samples are after a step; None, with those awake chosen anew, where it wakes some."""
        sleeping, samples = self._sleeping, self._samples
        if sleeping is None:
            return None
        morning = sleeping.at_end(self._neurons, found.moving, found.paths.ends)
        logs = samples.loss.log_force(found.outputs[-1], samples.labels)
        strongest = np.max(logs if samples.counted is None else logs[samples.counted])
        if not np.any(waking := sleeping.waking(morning, float(strongest))):
            return morning
        self._choose_awake(waking | ~sleeping.is_asleep)
        return None

    def _wake_all(self, *, is_brief: bool = False) -> None:
        """Take all samples into the steps again; forces are left to be told by `_refresh` where this `is_brief`."""
        sleeping = self._sleeping
        if sleeping is None:
            return
        whole, outputs = sleeping.whole, self.outputs()
        whole.counted = None
        if self._samples.counted is not None:
            whole.counted = sleeping.is_asleep.copy()
            whole.counted[~sleeping.is_asleep] = self._samples.counted
        neurons = sleeping.woken(self._neurons)
        self._sleeping, self._outputs = None, outputs
        self._go_on_with(neurons, whole, self._all_forces)
        if not is_brief:
            self._num_awake = len(outputs)
            self._predictor.forget()
            self._refresh(slopes=self._slopes())

    def _go_on_with(self, neurons: LoneNeurons, samples: SampleForces, forces: ForceStep) -> None:
        self._neurons, self._samples, self._forces = neurons, samples, forces
        self._present = PresentForces(self._span.problem, neurons, samples)
        self._boundary.follow(neurons)
        self._neuron_pulls = None

    # -- neurons that cannot go on alone --------------------------------------------------------------------------

    def _settle_paths(self, found: Solution) -> None:
        """Neurons whose paths could not go on alone (a ridge, the origin, a = 0 on a wall): decide from their state."""
        stopped = found.moving[(found.paths.statuses != DONE) & (found.paths.stops <= found.stop + _AT_END)]
        if stopped.size:
            self._wake_all()
        neurons = self._neurons
        for j in stopped.tolist():
            on_wall = (np.abs(neurons.walls.normals @ neurons.shapes[j, :-1]) <= _THERE) | (neurons.sides[j] == 0)
            if abs(neurons.shapes[j, -1]) <= _THERE and neurons.can_change_sign[j]:
                neurons.shapes[j, -1] = 0.0
                neurons.output_sign[j] = -neurons.output_sign[j]
                self.recorder.add(j, -1, self.time, EventKind.SIGN_CHANGE)
            self._refresh(slopes=None)  # a sample that no neuron acts on may pull one that leaves the origin
            self._settle(j, [int(b) for b in np.flatnonzero(on_wall)])
            self._refresh(slopes=self._slopes())
            self._predictor.forget()

    def _settle(self, j: int, walls: list[int], *, is_initial: bool = False) -> None:
        neurons = self._neurons
        self._neuron_pulls = None
        self._boundary.settle(j, walls, self._wall_pulls(), self.time, is_initial=is_initial)
        sign, key = int(neurons.output_sign[j]), neurons.sides[j].tobytes()
        for b in walls:
            neurons.pinned[j, b] = (key, sign, b) in self._boundary.ridges
        if self._boundary.met_ridge and self._ridge == "stop":
            self.outcome = Outcome.RIDGE
