"""ForceStep: the forces on one macro step as polynomials, iterated until the neurons they move give them back."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.flow.force_newton import FewModes, ForceNewton, stiff_samples
from reluflow.dynamics.flow.largest_modes import largest_modes
from reluflow.dynamics.flow.lone_neurons import LoneNeurons
from reluflow.dynamics.flow.neuron_path_kernels import Paths
from reluflow.dynamics.flow.relative_forces import RelativeForces
from reluflow.dynamics.flow.sample_forces import SampleForces
from reluflow.dynamics.flow.sweep import CHECKS, IS_NODE, RULE, Staleness, Sweep
from reluflow.dynamics.flow.tangent_kernel import TangentKernel
from reluflow.threads import ThreadTeam

_MIDDLE_NODE = 2
_MIDDLE = int(np.flatnonzero(IS_NODE)[_MIDDLE_NODE])  # among the points
_CLOCK_PLACES = np.append(0.0, RULE.nodes)
_CLOCK_AT_CHECKS = CHECKS[:, None] ** np.arange(6) @ np.linalg.inv(_CLOCK_PLACES[:, None] ** np.arange(6))
_MANY_SAMPLES = 400  # where more than these matter, Newton's matrix uses the largest modes of the tangent kernel only
_NEARLY_ALL = 0.6
_ANOTHER_TRY = 16  # unless these were too many; matrices made until that is tried again
_FEW_WEIGHTS = 0.7  # weights, per sample that matters, up to which Newton's matrix is made for them
_STIFF = 1e4  # norm of H J beyond which the tangent kernel is made in double precision
_WEAK_MODE = 0.1  # a mode that bends the forces by less than this within a step is left to plain iteration
_AT_START = 0.3  # how much the misfit at the start, an extrapolation, counts beside the misfits between the nodes
_NEWTON_SHARE = 0.3  # the iteration ends when the forces change by less than this share of the tolerance
_LEFT_OUT = 0.5  # share of that by which neurons that are not carried again may bend the forces
_EARLY = 30.0  # once the iteration is this close, in units of the tolerance, a hopeless step is given up
_MOST_SWEEPS = 12
_EVENT_ROOM = 48  # events of a neuron in one step for which there is room at first
_STALE = 0.25  # |ln| of the change of the step length beyond which Newton's matrix is factored anew
_SLOW = 0.25  # a contraction worse than this asks for a new tangent kernel
_KINK = 0.03  # misfit of the interpolant beside a kink, in units of the kink's jump of slope per step
_MOST_CHANGE = 2.0  # relative forces are shares of a whole: larger ones are none, and neurons would zigzag under them
_AT_ONCE = 1e-3  # a kink so early in a step is not worth another one


class StepStatus(Enum):
    """How the iteration on one step ended."""

    SOLVED = auto()
    TOO_LONG = auto()  # the interpolant misses the forces, or the iteration does not contract


class Solution(NamedTuple):
    """A step: who moved, their paths, the forces as powers of tau, the rates at the nodes, the misfit."""

    status: StepStatus
    moving: IntArray
    paths: Paths
    coefficients: FloatArray  # (q, n)
    log_rates: FloatArray  # (q,)
    curvatures: FloatArray  # (n,) at mid-step
    size: float  # the largest force
    outputs: FloatArray  # (P, n) at the points, where they are known
    misfit: float  # of the interpolant, relative to `size`
    stop: float  # the first tau at which a path could not go on, else 1
    guess_gap: float  # how far the guess of the forces was from what it gave back, relative to `size`


class ForceStep:
    """Solves macro steps one after the other, keeping Newton's matrix while it serves.

    Parameters
    ----------
    samples
        The constants of the run.
    """

    def __init__(self, samples: SampleForces) -> None:
        self.samples, self.tolerance = samples, 0.0
        self.sweeps = 0
        self._event_room, self._team = _EVENT_ROOM, ThreadTeam()
        self._gram = samples.gram()
        is_large = len(samples.X) > _MANY_SAMPLES
        self._single_gram: NDArray[Any] = self._gram.astype(np.float32, copy=False) if is_large else self._gram
        self._room: NDArray[Any] = np.empty(0, dtype=self._single_gram.dtype)
        self._newton: ForceNewton | FewModes | None = None
        self._modes: FloatArray | None = None
        self._untried = 0

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_room": self._room[:0]}

    def solve(
        self, neurons: LoneNeurons, outputs: FloatArray, guess: FloatArray, length: float, tolerance: float
    ) -> Solution:
        """Move the neurons for a rescaled time `length`, from the outputs now and a guess of the forces at the nodes.

        `tolerance` is the allowed misfit of the forces, relative to the largest one.
        Neurons that hardly bend the outputs are left out of the iteration and carried once it has converged. Forces are
        told by how they differ from those now: where they cancel in long steps, every digit of the difference counts.
        """
        samples, self.tolerance = self.samples, tolerance
        now = samples.relative(outputs[None])
        answer = float(np.max(now.curvatures, initial=0.0)) or np.inf
        output_error = tolerance * samples.largest(now.forces) / answer
        sweep = Sweep(
            *(samples, neurons, self._event_room, length, self._team), tolerance=tolerance, output_error=output_error
        )
        base = now.forces[0]
        changes, last, misfit, guess_gap = guess - base, np.inf, np.inf, np.inf
        stale = Staleness(sweep, now, length, _LEFT_OUT * _NEWTON_SHARE * self.tolerance)
        for number in range(_MOST_SWEEPS):
            coefficients = RULE.to_powers @ changes
            sweep.face(base * length, coefficients * length)
            sweep.carry(stale.rows(changes))
            while True:
                self.sweeps += 1
                if sweep.is_out_of_bounds:
                    return _too_long(sweep, _raised(coefficients, base))
                given_back = samples.relative(sweep.outputs_at_nodes(), with_curvatures=False)
                residual = (given_back.forces - base) - changes
                size = samples.largest(given_back.forces) or float(np.finfo(np.float64).tiny)
                gap = samples.largest(residual) / size
                is_close = gap <= _NEWTON_SHARE * self.tolerance
                if not is_close or sweep.is_complete:
                    break
                sweep.carry(sweep.waiting)
            if gap <= _EARLY * self.tolerance:
                log_rates = np.append(now.log_rates, given_back.log_rates)
                misfit = self._misfit(sweep.outputs_between(), base, coefficients, size, log_rates)
            stop = float(np.min(sweep.paths.stops, initial=1.0))
            guess_gap = gap if number == 0 else guess_gap
            found = Solution(
                status=StepStatus.SOLVED,
                moving=sweep.moving,
                paths=sweep.paths,
                coefficients=_raised(coefficients, base),
                log_rates=given_back.log_rates,
                curvatures=samples.relative(sweep.outputs[None, _MIDDLE]).curvatures[0],
                size=size,
                outputs=sweep.outputs,
                misfit=misfit,
                stop=stop,
                guess_gap=guess_gap,
            )
            if is_close:
                self._event_room = max(_EVENT_ROOM, 2 * int(np.max(sweep.paths.num_events, initial=0)))
                return found
            is_hopeless = 2.0 * self.tolerance + gap < misfit < np.inf and stop >= 1.0
            is_stuck = not np.isfinite(gap) or (number >= 3 and gap > 0.7 * last)
            if is_hopeless or is_stuck:
                return found._replace(status=StepStatus.TOO_LONG)
            is_slow = number >= 1 and gap > _SLOW * last
            self._newton = self._prepare(sweep, given_back, found.curvatures, length, is_slow=is_slow)
            last = gap
            changes = changes + self._newton.solve(residual)
            if samples.fades and samples.largest(changes) > _MOST_CHANGE:
                return found._replace(status=StepStatus.TOO_LONG, misfit=np.inf)
            if samples.counted is not None:  # samples that no neuron acts on answer nothing: as they are given back
                changes[:, ~samples.counted] = (given_back.forces - base)[:, ~samples.counted]
        return found._replace(status=StepStatus.TOO_LONG, misfit=np.inf)

    def first_heavy_kink(self, found: Solution, neurons: LoneNeurons) -> float:
        """Where the first event lies that bends the forces by more than the tolerance, else infinity."""
        paths = found.paths
        largest = float(np.max(self.samples.walls.length)) * float(np.max(found.curvatures, initial=0.0)) / found.size
        which = np.arange(paths.event_walls.shape[1]) < paths.num_events[:, None]
        bends = _KINK * largest * neurons.mass[found.moving][:, None] * paths.event_kinks
        heavy = which & (bends > self.tolerance) & (paths.event_taus > _AT_ONCE) & (paths.event_taus < 1.0 - _AT_ONCE)
        return float(np.min(paths.event_taus[heavy], initial=np.inf))

    def _misfit(
        self, outputs: FloatArray, base: FloatArray, coefficients: FloatArray, size: float, log_rates: FloatArray
    ) -> float:
        """How far the interpolants are from the forces between the nodes and at the start, relative to the largest.

        And how far ln R is from its own, relative to its fall: where one sample counts its share is 1 whatever R does.
        """
        between = self.samples.relative(outputs, with_curvatures=False)
        misfit = self.samples.largest(between.forces - base - RULE.values(coefficients, CHECKS)) / size
        fall = float(np.max(np.abs(log_rates - log_rates[0])))
        clock_misfit = float(np.max(np.abs(between.log_rates - _CLOCK_AT_CHECKS @ log_rates))) / (1.0 + fall)
        return max(misfit, clock_misfit, _AT_START * self.samples.largest(coefficients[:1]) / size)

    def _prepare(
        self, sweep: Sweep, given_back: RelativeForces, curvatures: FloatArray, length: float, *, is_slow: bool
    ) -> ForceNewton | FewModes:
        """Newton's matrix for this step: the old one if it is near, a new one at mid-step where that was slow."""
        if self._newton is not None and abs(np.log(self._newton.length / length)) <= _STALE and not is_slow:
            return self._newton
        samples = self.samples
        middles, mass = sweep.paths.places[:, _MIDDLE], sweep.mass * sweep.kept[_MIDDLE]
        is_stiff = self._newton is not None and self._newton.stiffness > _STIFF
        kernel = TangentKernel(
            *(middles, mass, samples.walls, samples.leak, samples.X, self._gram if is_stiff else self._single_gram),
            heights=samples.heights(middles[:, :-1]),
            moves_outputs=samples.moves_outputs,
        )
        forces = given_back.forces[_MIDDLE_NODE] if samples.fades else None
        active = stiff_samples(length * curvatures * kernel.diagonal())
        if kernel.num_factors < _FEW_WEIGHTS * len(active):
            modes = np.zeros((len(curvatures), kernel.num_factors))
            modes[active] = kernel.factors(active)
            return FewModes(RULE, modes, np.ones(kernel.num_factors), curvatures, forces, samples.labels, length)
        self._untried = max(0, self._untried - 1)
        if len(active) > _MANY_SAMPLES and not self._untried:
            found = self._largest_modes(kernel, active, np.sqrt(curvatures[active]), _WEAK_MODE / length)
            if found is not None:
                return FewModes(RULE, *found, curvatures, forces, samples.labels, length)
            self._untried = _ANOTHER_TRY
        rows = kernel.rows(active)
        rows *= curvatures[active, None]
        return ForceNewton(RULE, rows, active, forces, samples.labels, length)

    def _largest_modes(
        self, kernel: TangentKernel, active: IntArray, weights: FloatArray, smallest: float
    ) -> tuple[FloatArray, FloatArray] | None:
        """Modes (n, r) of the kernel on active samples, seen through `weights`, and their strengths; None: too many."""
        n, device = len(self._gram), self.samples.on_device
        which, seen = active, weights
        if device is not None or len(active) > _NEARLY_ALL * n:  # to pick some out of a large matrix takes its time
            which, seen = np.arange(n), np.zeros(n)
            seen[active] = weights
        guess = None if self._modes is None else self._modes[which]
        if device is not None:
            found = device.largest_modes(kernel.parts, seen, smallest, guess)
        else:
            if self._room.dtype != kernel.dtype or self._room.size < len(which) ** 2:
                self._room = np.empty(len(which) ** 2, dtype=kernel.dtype)  # kept: fresh memory takes its time, too
            found = largest_modes(kernel.among(which, seen, self._room), smallest, guess)
        if found is None:
            return None
        modes = self._modes = np.zeros((n, len(found[1])))
        modes[which] = found[0]
        unseen = np.zeros_like(modes)
        unseen[active] = modes[active] / weights[:, None]
        return unseen, found[1]


def _raised(coefficients: FloatArray, base: FloatArray) -> FloatArray:
    """Powers of tau with `base` added."""
    raised = coefficients.copy()
    raised[0] += base
    return raised


def _too_long(sweep: Sweep, coefficients: FloatArray) -> Solution:
    """A step whose iteration has left all bounds."""
    nothing, status = np.zeros(0), StepStatus.TOO_LONG
    return Solution(
        status, sweep.moving, sweep.paths, coefficients, nothing, nothing, 1.0, nothing, np.inf, 1.0, np.inf
    )
