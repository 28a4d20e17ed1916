"""Runs of the single-neuron population model: what each records, and the plans by which a theorem asks for it.

The network of the evidence is the student at time 0; the neuron that labels its dataset is the teacher.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.balanced_trajectory import BalancedTrajectory
from reluflow.papers.lee2022.single_neuron.bounds import Band, magnitude_band
from reluflow.papers.lee2022.single_neuron.descent import DescentRecord, planar_columns, population_descent
from reluflow.papers.lee2022.single_neuron.exact_orbit import balanced_orbit
from reluflow.papers.lee2022.single_neuron.full_parameter_flow import ParameterTrajectory, parameter_flow
from reluflow.papers.lee2022.single_neuron.population import NeuronParameters, population_gradient
from reluflow.papers.lee2022.teacher_and_student import start, student, teacher
from reluflow.theory.evidence import Evidence
from reluflow.theory.plan import AbstractPlan, RunOptions

MAX_STEPS = 20_000_000  # of descent: two seconds or so

_NUM_ANGLES = 240
_NUM_EARLY = 40
_NUM_STEPS = 400
_FINEST = 1e-13  # tolerance that the integrator of all coordinates takes


@dataclass(frozen=True, eq=False)
class NeuronDescent:
    """Population gradient descent of one neuron.

    Parameters
    ----------
    start
        The balanced neuron at step 0.
    step_size
        eta.
    steps
        Recorded step numbers, shape (num_records,).
    magnitude, gap
        |w| and the angle to the teacher, shape (num_records,).
    v
        The scalar layers, shape (num_records, q).
    """

    start: BalancedNeuron
    step_size: float
    steps: IntArray
    magnitude: FloatArray
    gap: FloatArray
    v: FloatArray


@dataclass(frozen=True, eq=False)
class EulerRuns:
    """Euler's method on u' = -u (u^2 - A)/2 from one start, for several step sizes.

    `curves[k]` holds all iterates at `step_sizes[k]`, from step 0 on.
    """

    initial: float
    level: float
    step_sizes: FloatArray
    curves: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class ComparisonCurves:
    """The comparison equation integrated at the levels V (1 - eps_0) (`lower`) and V (`upper`), shape (num_times,)."""

    start: BalancedNeuron
    times: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class UnbalancedRun:
    """The flow from layers off balance, and the student's layers with the second one negative, shape (q,)."""

    flow: ParameterTrajectory
    dead_layers: FloatArray


@dataclass(frozen=True, eq=False)
class BracketedRun:
    """The balanced flow, and the two curves of Theorem 3.8 between which it must run, at the same times."""

    flow: BalancedTrajectory
    curves: Band


def flow_times(neuron: BalancedNeuron, gap: float) -> FloatArray:
    """Times at which the balanced flow is recorded: even in log tan(phi/2) until `gap`, denser at first, and a tail.

    The tail is 40 relaxation times long, after which the distance to the teacher has shrunk by e^-40.
    """
    if not 0.0 < gap < neuron.gap:
        raise InvalidInputError(f"`gap` must lie between 0 and the gap at the start, {neuron.gap:.6g}, got {gap:g}.")
    orbit = balanced_orbit(neuron)
    last = -np.log(np.tan(0.5 * gap))
    psi = neuron.psi + (last - neuron.psi) * np.arange(1, _NUM_ANGLES + 1) / _NUM_ANGLES
    _, times = orbit.at_psi(np.minimum(psi, neuron.psi + orbit.offset[-1]))
    early = times[0] * np.geomspace(1e-3, 0.9, _NUM_EARLY)
    tail = times[-1] + np.linspace(0.5, 40.0, _NUM_EARLY) / neuron.clock
    return np.concatenate([[0.0], early, times, tail])


def _balanced_flow(evidence: Evidence, gap: float) -> BalancedTrajectory:
    neuron = start(evidence)
    return balanced_orbit(neuron).at_times(flow_times(neuron, gap))


@dataclass(frozen=True)
class BalancedFlowPlan:
    """The balanced flow by quadrature, dense until the angle to the teacher is `gap`, and a tail."""

    gap: float
    num_states = 0

    def run(self, evidence: Evidence, ask: Callable[[Evidence], AbstractPlan | None], options: RunOptions) -> Evidence:
        """The evidence with a `BalancedTrajectory`."""
        return replace(evidence, record=_balanced_flow(evidence, self.gap), rtol=0.0)


@dataclass(frozen=True)
class BracketedFlowPlan:
    """The same with the curves of Theorem 3.8 beside it."""

    gap: float
    num_states = 0

    def run(self, evidence: Evidence, ask: Callable[[Evidence], AbstractPlan | None], options: RunOptions) -> Evidence:
        """The evidence with a `BracketedRun`."""
        flow = _balanced_flow(evidence, self.gap)
        return replace(evidence, record=BracketedRun(flow, magnitude_band(start(evidence), flow.times)), rtol=0.0)


@dataclass(frozen=True)
class _Packing:
    """How (w, v) lies in one state vector."""

    d: int

    def parameters(self, state: FloatArray) -> NeuronParameters:
        return NeuronParameters(state[: self.d], state[self.d :])


def _vector_flow(evidence: Evidence, gap: float, rtol: float) -> ParameterTrajectory:
    """The vector field in all d + q coordinates, with no reduction to the plane of student and teacher."""
    from scipy.integrate import solve_ivp

    one, other, neuron = student(evidence), teacher(evidence), start(evidence)
    packing = _Packing(one.w.size)
    orbit = balanced_orbit(neuron)
    last = -np.log(np.tan(0.5 * gap))
    _, times = orbit.at_psi(np.linspace(neuron.psi, max(last, neuron.psi), 60))

    def velocity(_: float, state: FloatArray) -> FloatArray:
        gradient = population_gradient(packing.parameters(state), other)
        return -np.concatenate([gradient.w, gradient.v])

    solution = solve_ivp(
        velocity,
        (0.0, float(times[-1])),
        np.concatenate([one.w, one.v]),
        method="DOP853",
        t_eval=times,
        rtol=rtol,
        atol=0.01 * rtol * min(one.norm, other.norm),
    )
    if not solution.success:
        raise InvalidInputError(f"`gap` asks for times that steps in t do not resolve ({solution.message}); raise it.")
    states = np.asarray(solution.y.T)
    return ParameterTrajectory(times, states[:, : packing.d], states[:, packing.d :], other)


@dataclass(frozen=True)
class VectorFlowPlan:
    """The flow in all d + q coordinates until the angle to the teacher is `gap`, at the tolerance `rtol`."""

    gap: float
    rtol: float = 1e-11
    num_states = 0

    def run(self, evidence: Evidence, ask: Callable[[Evidence], AbstractPlan | None], options: RunOptions) -> Evidence:
        """The evidence with a `ParameterTrajectory`."""
        rtol = max(self.rtol / options.refinement, _FINEST)
        return replace(evidence, record=_vector_flow(evidence, self.gap, rtol), rtol=rtol)


def _unbalanced_flow(evidence: Evidence, spread: float, relaxations: float) -> ParameterTrajectory:
    """From v_k = |w_0| spread^(+-1), alternating: positive and as far off balance as `spread` says."""
    one, other, neuron = student(evidence), teacher(evidence), start(evidence)
    exponents = np.where(np.arange(one.q) % 2, -1.0, 1.0)
    begin = NeuronParameters(one.w, one.norm * spread**exponents)
    # layers that start far above the teacher stay large, and with them the fastest rate: the steps are explicit
    fastest = 0.5 * max(float(np.max(begin.v, initial=begin.norm)), neuron.teacher_magnitude) ** (2 * one.q)
    return parameter_flow(begin, other, np.linspace(0.0, relaxations / fastest, 60))


@dataclass(frozen=True)
class UnbalancedFlowPlan:
    """The flow from layers that are `spread` off balance, over so many of its fastest relaxation times."""

    spread: float
    relaxations: float
    num_states = 0

    def run(self, evidence: Evidence, ask: Callable[[Evidence], AbstractPlan | None], options: RunOptions) -> Evidence:
        """The evidence with an `UnbalancedRun`."""
        v = student(evidence).v
        flow = _unbalanced_flow(evidence, self.spread, self.relaxations)
        return replace(evidence, record=UnbalancedRun(flow, np.where(np.arange(v.size) == 1, -v, v)))


def _descent(evidence: Evidence, eta: float, steps: float) -> NeuronDescent:
    """Population gradient descent, recorded at up to 400 steps, from the first on."""
    neuron = start(evidence)
    total = int(np.ceil(steps))
    if not 1 <= total <= MAX_STEPS:
        raise InvalidInputError(
            f"this descent must take between 1 and {MAX_STEPS} steps, got {total}; raise the step or the angle."
        )
    recorded = np.unique(
        np.concatenate([np.arange(min(total, 60) + 1), np.geomspace(1, total, _NUM_STEPS).astype(np.int64)])
    )
    columns, target = planar_columns([neuron])
    record: DescentRecord = population_descent(columns, target, recorded, step_size=eta)
    return NeuronDescent(neuron, eta, record.steps, record.magnitude[:, 0], record.gap[:, 0], record.v[:, :, 0])


@dataclass(frozen=True)
class DescentPlan:
    """Population gradient descent: `steps` steps of size `eta`."""

    eta: float
    steps: float
    num_states = 0

    def run(self, evidence: Evidence, ask: Callable[[Evidence], AbstractPlan | None], options: RunOptions) -> Evidence:
        """The evidence with a `NeuronDescent`."""
        return replace(evidence, record=_descent(evidence, self.eta, self.steps), rtol=0.0)


def _euler(evidence: Evidence, step: float, relaxations: float) -> EulerRuns:
    """Euler's method on the two-layer comparison equation u' = -u (u^2 - A)/2 for three step sizes."""
    neuron = start(evidence)
    level = neuron.overlap * neuron.teacher_power
    step_sizes = step / level / np.array([1.0, 2.0, 4.0])
    curves = []
    for step_size in step_sizes:
        total = int(np.ceil(relaxations / (level * step_size)))
        values = np.empty(total + 1)
        values[0] = neuron.magnitude
        with np.errstate(over="ignore", invalid="ignore"):  # a step far too long leaves the range of doubles
            for k in range(total):
                values[k + 1] = values[k] - 0.5 * step_size * values[k] * (values[k] ** 2 - level)
        curves.append(values)
    return EulerRuns(neuron.magnitude, level, step_sizes, tuple(curves))


@dataclass(frozen=True)
class EulerPlan:
    """Euler's method at c eta = `step`, a half and a quarter of it, over `relaxations` of 1/c."""

    step: float
    relaxations: float
    num_states = 0

    def run(self, evidence: Evidence, ask: Callable[[Evidence], AbstractPlan | None], options: RunOptions) -> Evidence:
        """The evidence with `EulerRuns`."""
        return replace(evidence, record=_euler(evidence, self.step, self.relaxations), rtol=0.0)


def _comparison(evidence: Evidence, gap: float) -> ComparisonCurves:
    """Both comparison equations by an integrator in log u, which knows nothing of their closed forms."""
    from scipy.integrate import solve_ivp

    neuron = start(evidence)
    q, fixed = neuron.q, neuron.teacher_magnitude
    times = flow_times(neuron, gap)
    curves = []
    for level in (neuron.overlap, 1.0):

        def velocity(_: float, state: FloatArray, level: float = level) -> FloatArray:
            return np.asarray(-np.exp((q - 1) * state) * (np.exp((q + 1) * state) - level))

        solution = solve_ivp(
            velocity,
            (0.0, float(neuron.clock * times[-1])),
            [neuron.log_ratio],
            method="DOP853",
            t_eval=neuron.clock * times,
            rtol=1e-12,
            atol=1e-14,
        )
        curves.append(fixed * np.exp(solution.y[0]))
    return ComparisonCurves(neuron, times, curves[0], curves[1])


@dataclass(frozen=True)
class ComparisonPlan:
    """The comparison equations at the times of the balanced flow."""

    gap: float
    num_states = 0

    def run(self, evidence: Evidence, ask: Callable[[Evidence], AbstractPlan | None], options: RunOptions) -> Evidence:
        """The evidence with `ComparisonCurves`."""
        return replace(evidence, record=_comparison(evidence, self.gap))
