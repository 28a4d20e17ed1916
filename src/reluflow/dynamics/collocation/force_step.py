"""ForceStep: the forces on one macro step as polynomials, iterated until the neurons they move give them back."""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.collocation.carried_neurons import CHECKS, RULE, CarriedNeurons, Staleness
from reluflow.dynamics.collocation.lone_neurons import LoneNeurons
from reluflow.dynamics.collocation.neuron_path_kernels import Paths
from reluflow.dynamics.collocation.newton_matrices import NewtonMatrices, curvatures_at_middle
from reluflow.dynamics.collocation.relative_forces import RelativeForces
from reluflow.dynamics.collocation.sample_forces import SampleForces
from reluflow.dynamics.collocation.tuning import (
    BEYOND_KINK,
    DAMPED_FROM,
    EARLIEST_KINK,
    EVENT_CAPACITY,
    GIVE_UP_FROM,
    HOPELESS_KINK,
    HOPELESS_MISFIT,
    KINK_MISFIT,
    MOST_ITERATIONS,
    MOST_RELATIVE_CHANGE,
    NEWTON_SHARE,
    NOT_CARRIED_SHARE,
    SLOW_CONTRACTION,
    START_MISFIT_SHARE,
    STIFF,
    STUCK_CONTRACTION,
    STUCK_FROM,
    WORTH_A_MATRIX,
)
from reluflow.threads import ThreadTeam

_CLOCK_PLACES = np.append(0.0, RULE.nodes)
_CLOCK_AT_CHECKS = CHECKS[:, None] ** np.arange(6) @ np.linalg.inv(_CLOCK_PLACES[:, None] ** np.arange(6))


class StepStatus(Enum):
    """How the iteration on one step ended."""

    SOLVED = auto()
    TOO_LONG = auto()  # the interpolant misses the forces, or the iteration does not contract
    KINKED = auto()  # forces as they are guessed meet an event on the way that no polynomial can follow


class Solution(NamedTuple):
    """A step: who moved, their paths, the forces as powers of tau, the rates at the nodes, the misfit."""

    status: StepStatus
    moving: IntArray
    paths: Paths
    coefficients: FloatArray  # (q, n K)
    log_rates: FloatArray  # (q,)
    curvatures: FloatArray  # (n K,) or (n, K, K) at mid-step
    size: float  # the largest force
    outputs: FloatArray  # (P, n K) at the points, where they are known
    bias: FloatArray | None  # (K,) at the end
    misfit: float  # of the interpolant, relative to `size`
    stop: float  # the first tau at which a path could not go on, or the kink of a step that is kinked, else 1
    guess_gap: float  # how far the guess of the forces was from what it gave back, relative to `size`


class ForceStep:
    """Solves macro steps one after the other, keeping Newton's matrix while it serves.

    Parameters
    ----------
    samples
        The constants of the run.
    """

    def __init__(self, samples: SampleForces) -> None:
        self.samples, self.tolerance, self.clock_tolerance = samples, 0.0, 0.0
        self.iterations = 0
        self._event_capacity, self._team = EVENT_CAPACITY, ThreadTeam()
        self._matrices = NewtonMatrices(samples)

    @property
    def num_matrices(self) -> int:
        """How many of Newton's matrices were made."""
        return self._matrices.num_made

    def solve(
        self,
        neurons: LoneNeurons,
        outputs: FloatArray,
        guess: FloatArray,
        length: float,
        tolerance: float,
        *,
        clock_tolerance: float,
        bias: FloatArray | None = None,
        bias_rate: float = 1.0,
    ) -> Solution:
        """Move the neurons for a rescaled time `length`, from the outputs now and a guess of the forces at the nodes.

        `tolerance` is the allowed misfit of the forces, relative to the largest one; `clock_tolerance` that of ln R.
        Neurons that hardly bend the outputs are left out of the iteration and carried once it has converged. Forces are
        told by how they differ from those now: where they cancel in long steps, every digit of the difference counts.
        """
        samples, self.tolerance, self.clock_tolerance = self.samples, tolerance, clock_tolerance
        now = samples.relative(outputs[None])
        answer = float(np.max(now.curvatures, initial=0.0)) or np.inf
        output_error = tolerance * samples.largest(now.forces) / answer
        carried = CarriedNeurons(
            *(samples, neurons, self._event_capacity, length, self._team),
            tolerance=tolerance,
            output_error=output_error,
            bias=bias,
            bias_rate=bias_rate,
        )
        base = now.forces[0]
        changes, last, misfit, guess_gap = guess - base, np.inf, np.inf, np.inf
        stale = Staleness(carried, now, length, NOT_CARRIED_SHARE * NEWTON_SHARE * self.tolerance)
        num_matrices = self.num_matrices
        for number in range(MOST_ITERATIONS):
            coefficients = RULE.to_powers @ changes
            carried.face(base * length, coefficients * length)
            carried.carry(stale.rows(changes))
            if number == 0 and (kink := self._hopeless_kink(carried, now, length)) < 1.0:
                return _unsolved(StepStatus.KINKED, carried, _raised(coefficients, base), stop=kink)
            while True:
                self.iterations += 1
                if carried.is_out_of_bounds:
                    return _unsolved(StepStatus.TOO_LONG, carried, _raised(coefficients, base))
                given_back = samples.relative(carried.outputs_at_nodes(), with_curvatures=False)
                residual = (given_back.forces - base) - changes
                size = samples.largest(given_back.forces) or float(np.finfo(np.float64).tiny)
                gap = samples.largest(residual) / size
                is_close = gap <= NEWTON_SHARE * self.tolerance
                if not is_close or carried.is_complete:
                    break
                carried.carry(carried.waiting)
            if is_close or (gap <= GIVE_UP_FROM * self.tolerance and misfit > self.tolerance):
                log_rates = np.append(now.log_rates, given_back.log_rates)
                misfit = self._misfit(carried, given_back, residual, length, base, coefficients, size, log_rates)
            stop = float(np.min(carried.paths.stops, initial=1.0))
            guess_gap = gap if number == 0 else guess_gap
            found = Solution(
                status=StepStatus.SOLVED,
                moving=carried.moving,
                paths=carried.paths,
                coefficients=_raised(coefficients, base),
                log_rates=given_back.log_rates,
                curvatures=np.empty(0),  # half of the work of forces: filled in where the iteration ends
                size=size,
                outputs=carried.outputs,
                bias=None if carried.bias is None else carried.bias[-1],
                misfit=misfit,
                stop=stop,
                guess_gap=guess_gap,
            )
            if is_close:
                self._event_capacity = max(EVENT_CAPACITY, 2 * int(np.max(carried.paths.num_events, initial=0)))
                return found._replace(curvatures=curvatures_at_middle(samples, carried))
            is_hopeless = HOPELESS_MISFIT * self.tolerance + gap < misfit < np.inf and stop >= 1.0
            is_stuck = not np.isfinite(gap) or (number >= STUCK_FROM and gap > STUCK_CONTRACTION * last)
            if is_hopeless or is_stuck:
                return found._replace(status=StepStatus.TOO_LONG, curvatures=curvatures_at_middle(samples, carried))
            is_slow = number >= 1 and self._is_slow(gap, last, is_of_this_step=self.num_matrices > num_matrices)
            last = gap
            changes = changes + self._matrices.correction(carried, given_back, residual, length, is_slow=is_slow)
            if samples.fades and samples.largest(changes) > MOST_RELATIVE_CHANGE:
                break
            if samples.counted is not None:  # samples that no neuron acts on answer nothing: as they are given back
                others = ~samples.counted.repeat(samples.num_outputs)
                changes[:, others] = (given_back.forces - base)[:, others]
        return found._replace(
            status=StepStatus.TOO_LONG, curvatures=curvatures_at_middle(samples, carried), misfit=np.inf
        )

    def first_heavy_kink(self, found: Solution, neurons: LoneNeurons) -> float:
        """Where the first event lies that bends the forces by more than the tolerance, else infinity."""
        answer = float(np.max(found.curvatures, initial=0.0)) / found.size
        return self._first_kink(found.paths, neurons.mass[found.moving], answer, self.tolerance, EARLIEST_KINK)

    def _hopeless_kink(self, carried: CarriedNeurons, now: RelativeForces, length: float) -> float:
        """Where the first event lies that no step goes past, else infinity; a stiff step damps what an event bends."""
        largest, answers = self.samples.largest(now.forces) or np.inf, max(1.0, self.relaxation * length)
        answer = float(np.max(now.curvatures, initial=0.0)) / largest
        allowed, margin = HOPELESS_KINK * (1.0 + answers / STIFF) * self.tolerance, EARLIEST_KINK / answers
        return self._first_kink(carried.paths, carried.mass, answer, allowed, max(margin, 10.0 * BEYOND_KINK))

    def _first_kink(self, paths: Paths, mass: FloatArray, answer: float, allowed: float, margin: float) -> float:
        """Where the first event lies that bends the forces by more, off the ends of the step by a margin.

        `answer` is that of the forces to the outputs, relative to the largest.
        """
        which = np.arange(paths.event_walls.shape[1]) < paths.num_events[:, None]
        bends = KINK_MISFIT * float(np.max(self.samples.walls.length)) * answer * mass[:, None] * paths.event_kinks
        heavy = which & (bends > allowed) & (paths.event_taus > margin) & (paths.event_taus < 1.0 - margin)
        return float(np.min(paths.event_taus[heavy], initial=np.inf))

    @property
    def relaxation(self) -> float:
        """The rate at which the forces answer to themselves at most, as Newton's matrix has it."""
        newton = self._matrices.latest
        return 0.0 if newton is None else newton.stiffness / newton.length

    def _is_slow(self, gap: float, last: float, *, is_of_this_step: bool) -> bool:
        """Whether a new matrix would help an iteration that came from one gap to another."""
        if gap > SLOW_CONTRACTION * last:
            return True
        left, gained = np.log(gap / (NEWTON_SHARE * self.tolerance)), np.log(last / gap)
        return bool(not is_of_this_step and left > WORTH_A_MATRIX * gained)

    def _misfit(
        self,
        carried: CarriedNeurons,
        given_back: RelativeForces,
        residual: FloatArray,
        length: float,
        base: FloatArray,
        coefficients: FloatArray,
        size: float,
        log_rates: FloatArray,
    ) -> float:
        """How far the interpolants are from the forces between the nodes and at the start, relative to the largest.

        In a stiff step the forces answer to what they miss: true ones, which the neurons would bend at once, are nearer
        to the interpolants than those given back. Newton's matrix tells how near.

        And how far ln R is from its own, relative to its fall: where one sample counts its share is 1 whatever R does.
        That bends the clock alone, which needs no more digits where forces cancel.
        """
        between = self.samples.relative(carried.outputs_between(), with_curvatures=False)
        missed = between.forces - base - RULE.values(coefficients, CHECKS)
        misfits = np.vstack([missed, START_MISFIT_SHARE * coefficients[:1]])
        misfit, newton = self.samples.largest(misfits) / size, self._matrices.latest
        is_stiff = newton is not None and newton.stiffness * length > STIFF * newton.length
        if is_stiff and misfit > DAMPED_FROM * self.tolerance:
            newton = self._matrices.prepare(carried, given_back, residual, length, is_slow=False)
            misfit = min(misfit, self.samples.largest(newton.damped(misfits)) / size)
        fall = float(np.max(np.abs(log_rates - log_rates[0])))
        clock_misfit = float(np.max(np.abs(between.log_rates - _CLOCK_AT_CHECKS @ log_rates))) / (1.0 + fall)
        return max(misfit, clock_misfit * self.tolerance / self.clock_tolerance)


def _raised(coefficients: FloatArray, base: FloatArray) -> FloatArray:
    """Powers of tau with `base` added."""
    raised = coefficients.copy()
    raised[0] += base
    return raised


def _unsolved(status: StepStatus, carried: CarriedNeurons, coefficients: FloatArray, *, stop: float = 1.0) -> Solution:
    """A step whose iteration is given up before its forces are known."""
    nothing = np.zeros(0)
    return Solution(
        status, carried.moving, carried.paths, coefficients, nothing, nothing, 1.0, nothing, None, np.inf, stop, np.inf
    )
