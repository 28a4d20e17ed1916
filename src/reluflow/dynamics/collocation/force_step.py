"""ForceStep: the forces on one macro step as polynomials, iterated until the neurons they move give them back."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.collocation.carried_neurons import CHECKS, IS_NODE, RULE, CarriedNeurons, Staleness
from reluflow.dynamics.collocation.curvatures import answers_of, curved, forces_of
from reluflow.dynamics.collocation.force_newton import FewModes, ForceNewton, stiff_samples
from reluflow.dynamics.collocation.largest_modes import largest_modes
from reluflow.dynamics.collocation.lone_neurons import LoneNeurons
from reluflow.dynamics.collocation.neuron_path_kernels import Paths
from reluflow.dynamics.collocation.outputs_kernel import OutputsKernel
from reluflow.dynamics.collocation.outputs_modes import largest_modes_by_device, largest_modes_of_outputs
from reluflow.dynamics.collocation.radau import RadauRule
from reluflow.dynamics.collocation.relative_forces import RelativeForces
from reluflow.dynamics.collocation.sample_forces import SampleForces
from reluflow.dynamics.collocation.tangent_kernel import TangentKernel
from reluflow.dynamics.collocation.tuning import (
    BEYOND_KINK,
    DAMPED_FROM,
    DOUBLE_PRECISION_STIFFNESS,
    EARLIEST_KINK,
    EVENT_CAPACITY,
    FEW_WEIGHTS,
    GIVE_UP_FROM,
    HOPELESS_KINK,
    HOPELESS_MISFIT,
    KINK_MISFIT,
    MATRICES_UNTIL_MODES,
    MODES_FROM_SAMPLES,
    MOST_ITERATIONS,
    MOST_RELATIVE_CHANGE,
    NEARLY_ALL_SAMPLES,
    NEWTON_SHARE,
    NOT_CARRIED_SHARE,
    SLOW_CONTRACTION,
    STALE_LENGTH,
    START_MISFIT_SHARE,
    STIFF,
    STUCK_CONTRACTION,
    STUCK_FROM,
    WEAK_MODE,
    WORTH_A_MATRIX,
)
from reluflow.threads import ThreadTeam

_MIDDLE_NODE = 2
_MIDDLE = int(np.flatnonzero(IS_NODE)[_MIDDLE_NODE])  # among the points
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


class _KernelModes(NamedTuple):
    """Columns and numbers with kernel = modes diag(values) modes^T, and the size of the neurons then."""

    modes: FloatArray  # (n K, r)
    values: FloatArray  # (r,)
    size: float


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
        self.num_matrices = 0
        self._event_capacity, self._team = EVENT_CAPACITY, ThreadTeam()
        self._gram = samples.gram() if samples.has_one_force_each else np.zeros((0, 0))
        is_large = len(samples.X) > MODES_FROM_SAMPLES
        self._single_gram: NDArray[Any] = self._gram.astype(np.float32, copy=False) if is_large else self._gram
        self._memory: NDArray[Any] = np.empty(0, dtype=self._single_gram.dtype)
        self._newton: ForceNewton | FewModes | None = None
        self._modes: FloatArray | None = None
        self._kernel: _KernelModes | None = None  # of several outputs: Newton's matrix of other lengths has them, too
        self._untried = 0

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_memory": self._memory[:0]}

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
                misfit = self._misfit(carried, given_back, length, base, coefficients, size, log_rates)
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
                return found._replace(curvatures=self._curvatures(carried))
            is_hopeless = HOPELESS_MISFIT * self.tolerance + gap < misfit < np.inf and stop >= 1.0
            is_stuck = not np.isfinite(gap) or (number >= STUCK_FROM and gap > STUCK_CONTRACTION * last)
            if is_hopeless or is_stuck:
                return found._replace(status=StepStatus.TOO_LONG, curvatures=self._curvatures(carried))
            is_slow = number >= 1 and self._is_slow(gap, last, is_of_this_step=self.num_matrices > num_matrices)
            self._newton = self._prepare(carried, given_back, length, is_slow=is_slow)
            last = gap
            changes = changes + self._newton.solve(residual)
            if samples.fades and samples.largest(changes) > MOST_RELATIVE_CHANGE:
                break
            if samples.counted is not None:  # samples that no neuron acts on answer nothing: as they are given back
                others = ~samples.counted.repeat(samples.num_outputs)
                changes[:, others] = (given_back.forces - base)[:, others]
        return found._replace(status=StepStatus.TOO_LONG, curvatures=self._curvatures(carried), misfit=np.inf)

    def _curvatures(self, carried: CarriedNeurons) -> FloatArray:
        """How forces answer to outputs at mid-step."""
        return np.asarray(self.samples.relative(carried.outputs[None, _MIDDLE]).curvatures[0])

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
        return 0.0 if self._newton is None else self._newton.stiffness / self._newton.length

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
        misfit, newton = self.samples.largest(misfits) / size, self._newton
        is_stiff = newton is not None and newton.stiffness * length > STIFF * newton.length
        if is_stiff and misfit > DAMPED_FROM * self.tolerance:
            newton = self._newton = self._prepare(carried, given_back, length, is_slow=False)
            misfit = min(misfit, self.samples.largest(newton.damped(misfits)) / size)
        fall = float(np.max(np.abs(log_rates - log_rates[0])))
        clock_misfit = float(np.max(np.abs(between.log_rates - _CLOCK_AT_CHECKS @ log_rates))) / (1.0 + fall)
        return max(misfit, clock_misfit * self.tolerance / self.clock_tolerance)

    def _prepare(
        self,
        carried: CarriedNeurons,
        given_back: RelativeForces,
        length: float,
        *,
        is_slow: bool,
    ) -> ForceNewton | FewModes:
        """Newton's matrix for this step: the old one if it is near, a new one at mid-step where that was slow."""
        if self._newton is not None and abs(np.log(self._newton.length / length)) <= STALE_LENGTH and not is_slow:
            return self._newton
        if self._kernel is not None and not is_slow:
            return self._few_modes(self._kernel, carried, given_back, length)
        self.num_matrices += 1
        return self._made(carried, given_back, length)

    def _few_modes(
        self, kernel: _KernelModes, carried: CarriedNeurons, given_back: RelativeForces, length: float
    ) -> FewModes:
        """Newton's matrix from the modes of a kernel of now or of an earlier step."""
        samples, size = self.samples, carried.sizes()[_MIDDLE]
        forces = given_back.forces[_MIDDLE_NODE] if samples.fades else None
        values = kernel.values * (size / kernel.size if size > 0.0 and kernel.size > 0.0 else 1.0)
        given = (self._curvatures(carried), forces, samples.rate_signs, length)
        return FewModes(_rule_of(carried), kernel.modes, values, *given)

    def _made(self, carried: CarriedNeurons, given_back: RelativeForces, length: float) -> ForceNewton | FewModes:
        """A new matrix at mid-step."""
        samples, curvatures = self.samples, self._curvatures(carried)
        middles, mass = carried.paths.places[:, _MIDDLE], carried.mass * carried.kept[_MIDDLE]
        is_stiff = self._newton is not None and self._newton.stiffness > DOUBLE_PRECISION_STIFFNESS
        kernel: TangentKernel | OutputsKernel
        heights = samples.heights(middles[:, : samples.X.shape[1]])
        if samples.has_one_force_each:
            kernel = TangentKernel(
                *(middles, mass, samples.walls, samples.leak, samples.X, self._gram if is_stiff else self._single_gram),
                heights=heights,
                moves_outputs=samples.moves_outputs,
            )
        else:
            kernel = OutputsKernel(
                *(middles, mass, samples.walls, samples.leak, samples.X),
                heights=heights,
                moves_outputs=samples.moves_outputs,
                bias_rate=carried.bias_rate if samples.moves_bias else 0.0,
            )
        self._kernel = None
        rule, size = _rule_of(carried), carried.sizes()[_MIDDLE]
        forces = given_back.forces[_MIDDLE_NODE] if samples.fades else None
        if curvatures.ndim == 1:
            active = stiff_samples(length * curvatures * kernel.diagonal())
        else:
            active = forces_of(curvatures, stiff_samples(length * answers_of(curvatures, kernel.diagonal())))
        # of a kernel that is not made the largest modes cost less than a matrix for many weights
        has_few_weights = isinstance(kernel, TangentKernel) or self._untried or kernel.num_factors <= MODES_FROM_SAMPLES
        if has_few_weights and kernel.num_factors < FEW_WEIGHTS * len(active):
            modes = np.zeros((len(samples.rate_signs), kernel.num_factors))
            modes[active] = kernel.factors(active)
            kept = _KernelModes(modes, np.ones(kernel.num_factors), size)
            self._kernel = None if isinstance(kernel, TangentKernel) else kept
            return FewModes(rule, modes, kept.values, curvatures, forces, samples.rate_signs, length)
        self._untried = max(0, self._untried - 1)
        if len(active) > MODES_FROM_SAMPLES and not self._untried:
            if isinstance(kernel, OutputsKernel):
                which = np.unique(active // samples.num_outputs)
                dtype = np.dtype(np.float64 if is_stiff else np.float32)
                found = self._largest_modes_of_outputs(kernel, curvatures, WEAK_MODE / length, which, dtype)
                self._kernel = None if found is None else _KernelModes(*found, size)
            else:
                found = self._largest_modes(kernel, active, np.sqrt(curvatures[active]), WEAK_MODE / length)
            if found is not None:
                return FewModes(rule, *found, curvatures, forces, samples.rate_signs, length)
            self._untried = MATRICES_UNTIL_MODES
        rows = kernel.rows(active)
        if curvatures.ndim == 1:
            rows *= curvatures[active, None]
        else:
            rows = curved(curvatures[active[:: samples.num_outputs] // samples.num_outputs], rows)
        return ForceNewton(rule, rows, active, forces, samples.rate_signs, length)

    def _largest_modes_of_outputs(
        self, kernel: OutputsKernel, curvatures: FloatArray, smallest: float, which: IntArray, dtype: np.dtype[Any]
    ) -> tuple[FloatArray, FloatArray] | None:
        """The same of a kernel that is not made, among all forces on some samples, for all forces."""
        device = self.samples.on_device
        if device is not None:
            found = largest_modes_by_device(device, kernel, curvatures, smallest, self._modes)
        else:
            found = largest_modes_of_outputs(kernel, curvatures, smallest, which, dtype, self._modes)
        if found is None:
            return None
        self._modes = found.likely
        return found.modes, found.values

    def _largest_modes(
        self, kernel: TangentKernel, active: IntArray, weights: FloatArray, smallest: float
    ) -> tuple[FloatArray, FloatArray] | None:
        """Modes (n, r) of the kernel on active samples, seen through `weights`, and their strengths; None: too many."""
        n, device = len(self._gram), self.samples.on_device
        which, seen = active, weights
        if (
            device is not None or len(active) > NEARLY_ALL_SAMPLES * n
        ):  # to pick some out of a large matrix takes its time
            which, seen = np.arange(n), np.zeros(n)
            seen[active] = weights
        guess = None if self._modes is None else self._modes[which]
        if device is not None:
            found = device.largest_modes(kernel.parts, seen, smallest, guess)
        else:
            if self._memory.dtype != kernel.dtype or self._memory.size < len(which) ** 2:
                self._memory = np.empty(len(which) ** 2, dtype=kernel.dtype)  # kept: fresh memory takes its time, too
            found = largest_modes(kernel.among(which, seen, self._memory), smallest, guess)
        if found is None:
            return None
        modes = self._modes = np.zeros((n, len(found[1])))
        modes[which] = found[0]
        unseen = np.zeros_like(modes)
        unseen[active] = modes[active] / weights[:, None]
        return unseen, found[1]


def _rule_of(carried: CarriedNeurons) -> RadauRule:
    """The rule of a step along which kernels grow as neurons do."""
    sizes = carried.sizes()
    return RULE.grown(sizes[IS_NODE] / sizes[_MIDDLE]) if sizes[_MIDDLE] > 0.0 else RULE


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
