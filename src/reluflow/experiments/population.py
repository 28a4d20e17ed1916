"""Run the single-neuron population model as a theorem's plan asks: flows by quadrature or integration, and descent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.single_neuron.balanced_trajectory import BalancedTrajectory
from reluflow.single_neuron.descent import DescentRecord, planar_columns, population_descent
from reluflow.single_neuron.exact_orbit import balanced_orbit
from reluflow.single_neuron.full_parameter_flow import ParameterTrajectory, parameter_flow
from reluflow.single_neuron.population import NeuronParameters, population_gradient
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import PopulationPlan
from reluflow.theory.lee2022 import runs
from reluflow.theory.lee2022.model import start, student, teacher
from reluflow.theory.lee2022.runs import ComparisonCurves, EulerRuns, NeuronDescent

Settings = Mapping[str, float]

_NUM_ANGLES = 240
_NUM_EARLY = 40
_NUM_STEPS = 400


def run_population(plan: PopulationPlan, evidence: Evidence) -> object:
    """What the plan asks for, started from the problem's neuron.

    Parameters
    ----------
    plan
        `balanced-flow`, `vector-flow`, `unbalanced-flow`, `descent`, `euler` or `comparison`, with its settings.
    evidence
        Its network is the student at time 0; the neuron that labels its dataset is the teacher.

    Returns
    -------
    object
        A `BalancedTrajectory`, `ParameterTrajectory`, `NeuronDescent`, `EulerRuns` or `ComparisonCurves`.
    """
    if plan.kind not in _RUNS:
        raise InvalidInputError(f"`kind` must be one of {', '.join(_RUNS)}, got {plan.kind!r}.")
    return _RUNS[plan.kind](plan.settings, evidence)


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


def _balanced_flow(settings: Settings, evidence: Evidence) -> BalancedTrajectory:
    neuron = start(evidence)
    return balanced_orbit(neuron).at_times(flow_times(neuron, settings["gap"]))


@dataclass(frozen=True)
class _Packing:
    """How (w, v) lies in one state vector."""

    d: int

    def parameters(self, state: FloatArray) -> NeuronParameters:
        return NeuronParameters(state[: self.d], state[self.d :])


def _vector_flow(settings: Settings, evidence: Evidence) -> ParameterTrajectory:
    """The vector field in all d + q coordinates, with no reduction to the plane of student and teacher."""
    from scipy.integrate import solve_ivp

    one, other, neuron = student(evidence), teacher(evidence), start(evidence)
    packing = _Packing(one.w.size)
    orbit = balanced_orbit(neuron)
    last = -np.log(np.tan(0.5 * settings["gap"]))
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
        rtol=settings["rtol"],
        atol=0.01 * settings["rtol"] * min(one.norm, other.norm),
    )
    if not solution.success:
        raise InvalidInputError(f"`gap` asks for times that steps in t do not resolve ({solution.message}); raise it.")
    states = np.asarray(solution.y.T)
    return ParameterTrajectory(times, states[:, : packing.d], states[:, packing.d :], other)


def _unbalanced_flow(settings: Settings, evidence: Evidence) -> ParameterTrajectory:
    """From v_k = |w_0| spread^(+-1), alternating: positive and as far off balance as the setting says."""
    one, other, neuron = student(evidence), teacher(evidence), start(evidence)
    exponents = np.where(np.arange(one.q) % 2, -1.0, 1.0)
    begin = NeuronParameters(one.w, one.norm * settings["spread"] ** exponents)
    # layers that start far above the teacher stay large, and with them the fastest rate: the steps are explicit
    fastest = 0.5 * max(float(np.max(begin.v, initial=begin.norm)), neuron.teacher_magnitude) ** (2 * one.q)
    return parameter_flow(begin, other, np.linspace(0.0, settings["relaxations"] / fastest, 60))


def _descent(settings: Settings, evidence: Evidence) -> NeuronDescent:
    """Population gradient descent, recorded at up to 400 steps, from the first on."""
    neuron = start(evidence)
    step_size, total = settings["eta"], int(np.ceil(settings["steps"]))
    if not 1 <= total <= runs.MAX_STEPS:
        raise InvalidInputError(
            f"this descent must take between 1 and {runs.MAX_STEPS} steps, got {total}; raise the step or the angle."
        )
    steps = np.unique(
        np.concatenate([np.arange(min(total, 60) + 1), np.geomspace(1, total, _NUM_STEPS).astype(np.int64)])
    )
    columns, target = planar_columns([neuron])
    record: DescentRecord = population_descent(columns, target, steps, step_size=step_size)
    return NeuronDescent(neuron, step_size, record.steps, record.magnitude[:, 0], record.gap[:, 0], record.v[:, :, 0])


def _euler(settings: Settings, evidence: Evidence) -> EulerRuns:
    """Euler's method on the two-layer comparison equation u' = -u (u^2 - A)/2 for three step sizes."""
    neuron = start(evidence)
    level = neuron.overlap * neuron.teacher_power
    step_sizes = settings["step"] / level / np.array([1.0, 2.0, 4.0])
    curves = []
    for step_size in step_sizes:
        total = int(np.ceil(settings["relaxations"] / (level * step_size)))
        values = np.empty(total + 1)
        values[0] = neuron.magnitude
        with np.errstate(over="ignore", invalid="ignore"):  # a step far too long leaves the range of doubles
            for k in range(total):
                values[k + 1] = values[k] - 0.5 * step_size * values[k] * (values[k] ** 2 - level)
        curves.append(values)
    return EulerRuns(neuron.magnitude, level, step_sizes, tuple(curves))


def _comparison(settings: Settings, evidence: Evidence) -> ComparisonCurves:
    """Both comparison equations by an integrator in log u, which knows nothing of their closed forms."""
    from scipy.integrate import solve_ivp

    neuron = start(evidence)
    q, fixed = neuron.q, neuron.teacher_magnitude
    times = flow_times(neuron, settings["gap"])
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


_RUNS: dict[str, Callable[[Settings, Evidence], object]] = {
    runs.BALANCED_FLOW: _balanced_flow,
    runs.VECTOR_FLOW: _vector_flow,
    runs.UNBALANCED_FLOW: _unbalanced_flow,
    runs.DESCENT: _descent,
    runs.EULER: _euler,
    runs.COMPARISON: _comparison,
}
