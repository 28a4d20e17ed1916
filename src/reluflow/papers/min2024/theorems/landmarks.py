"""When things will happen and when they did: plans around predicted times, t_2 measured on the snapshots [min2024]."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.event_driven.separated_flow import SeparatedFlow
from reluflow.dynamics.flow_choice import choose_flow
from reluflow.geometry.alignment import align, align_until
from reluflow.papers.min2024.theorems.constants import certified_horizon, data_constants, proof_constants
from reluflow.papers.min2024.theorems.moving_neurons import ON_BOUNDARY, Moment, moments
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.plan import AbstractPlan, RunOptions

FITTED = 0.25  # t_2^+- is when the largest own output first exceeds this
LATEST = 2000.0  # how long after t_2 the 1/t law is followed
NEWTON_STEPS = 5  # at scale 1e-2 and below the fourth moves t_2 by less than 1e-9; it only places snapshots
NEAR_FIT = (-0.5, -0.05, 0.0, 0.03, 0.06, 0.1, 0.16, 0.3)  # around the predicted t_2, in units of 1/|x_+-|


@dataclass(frozen=True)
class Landmarks:
    """Predicted from the closed-form flow with forces frozen at zero output.

    Parameters
    ----------
    alignment
        When the last neuron changes its pattern for the last time.
    crossings
        All times at which a neuron changes its pattern.
    fitted
        (t_2^+, t_2^-), inf for a side without neurons or samples.
    """

    alignment: float
    crossings: tuple[float, ...]
    fitted: tuple[float, float]

    @property
    def last_fitted(self) -> float:
        """t_2, over the sides that ever fit; the alignment time where none does."""
        return max([t for t in self.fitted if math.isfinite(t)], default=self.alignment)


@computed_once
def landmarks(evidence: Evidence) -> Landmarks:
    """Predict the alignment time and t_2^+- without a run."""
    network, data = evidence.network, data_constants(evidence)
    forces = evidence.loss.label_forces(data.y)
    moving = np.any(network.w != 0.0, axis=1)
    w, a = network.w[moving], network.a[moving]
    aligned = align(data.X, forces, w, a, leak=network.leak)
    alignment = float(np.max(aligned.times, initial=0.0))
    state = align_until(data.X, forces, w, a, alignment + 1.0, leak=network.leak)
    crossings = tuple(float(t) for t in np.unique(state.events.times))
    plus, minus = (_predicted_fit(evidence, s, w[np.sign(a) == s], a[np.sign(a) == s], alignment) for s in (1, -1))
    return Landmarks(alignment, crossings, (plus, minus))


def _predicted_fit(evidence: Evidence, sign: int, w: FloatArray, a: FloatArray, settled: float) -> float:
    """Time at which the frozen flow brings the own outputs of one sign of neurons to 1/4.

    Once aligned their logarithm grows at the rate 2 |x_+-|, so Newton's method with that slope is there in a few steps.
    """
    data = data_constants(evidence)
    own = data.X[data.members(sign)]
    if not len(own) or not len(a):
        return math.inf
    forces = evidence.loss.label_forces(data.y)
    scale = np.full(len(a), evidence.network.log_scale)
    rate = 2.0 * float(np.linalg.norm(forces[data.members(sign)] @ own))
    time = settled
    for _ in range(NEWTON_STEPS):
        state = align_until(data.X, forces, w, a, time, log_norm=scale, leak=evidence.leak)
        pushed = np.maximum(state.w @ own.T, 0.0)
        if not np.any(pushed > ON_BOUNDARY):
            return math.inf  # all of them died: nothing grows
        weights = 2.0 * state.log_norms
        shift = float(np.max(weights[np.any(pushed > ON_BOUNDARY, axis=1)]))
        shares = (np.exp(np.minimum(weights - shift, 0.0)) * np.abs(state.a)) @ pushed
        time = max(0.0, time + (math.log(FITTED) - shift - math.log(float(np.max(shares)))) / rate)
    return time


def alignment_plan(evidence: Evidence, *, num_times: int = 12) -> FlowPlan:
    """Snapshots on [0, T], two thirds of them where neurons still change their patterns, the rest evenly after."""
    horizon = certified_horizon(evidence)
    if horizon <= 0.0:
        return FlowPlan(times=(0.0, 1.0))
    turning = min(horizon, 1.2 * landmarks(evidence).alignment + 0.01)
    times = {*np.linspace(0.0, turning, num_times), *np.linspace(turning, horizon, 1 + num_times // 2)}
    return FlowPlan(times=tuple(sorted(float(t) for t in times)))


def crossing_plan(evidence: Evidence) -> FlowPlan:
    """Snapshots at the predicted crossings: exact to rounding where the outputs are below rounding."""
    marks = landmarks(evidence)
    return FlowPlan(times=(0.0, *marks.crossings, 1.1 * marks.alignment + 0.01))


@dataclass(frozen=True)
class TrappedPlan(FlowPlan):
    """A plan whose run goes on class by class once every neuron is trapped, so that neither waits for the other.

    From eps = e^-60000 a class with a longer aggregate fits thousands of e-folds before the other, which would take
    minutes of steps.
    """

    def run(self, evidence: Evidence, ask: Callable[[Evidence], AbstractPlan | None], options: RunOptions) -> Evidence:
        """The run, by the flow that separates what is trapped where no other solver is asked for."""
        separated = SeparatedFlow(ridge=self.ridge)
        usual = choose_flow(evidence.problem, rtol=separated.rtol).solver
        if options.solver is None and isinstance(usual, EventDrivenFlow):
            options = replace(options, solver=separated)
        return super().run(evidence, ask, options)


def whole_plan(evidence: Evidence) -> FlowPlan:
    """Snapshots through alignment, growth and fit: 0, t_1, T, around t_2^+-, and up to t_2 + 2000."""
    marks, data = landmarks(evidence), data_constants(evidence)
    constants = proof_constants(evidence)
    times = {0.0, *np.linspace(0.0, 1.1 * marks.alignment + 0.01, 4)}
    latest = marks.last_fitted
    if math.isfinite(constants.t_1):
        times |= {constants.t_1, *np.linspace(constants.t_1, max(latest, constants.t_1), 5)}
    if 0.0 < constants.horizon < latest:
        times.add(constants.horizon)
    for sign, fitted in zip((1, -1), marks.fitted, strict=True):
        if math.isfinite(fitted):
            pull = float(np.linalg.norm(data.total(sign)))
            times |= {fitted + offset / pull for offset in NEAR_FIT}
    late = max(latest, constants.t_1 if math.isfinite(constants.t_1) else 0.0)
    times |= {late + after for after in np.geomspace(0.5, LATEST, 7)}
    return TrappedPlan(times=tuple(sorted({float(t) for t in times if t >= 0.0})))


def own_output(moment: Moment, sign: int, neurons: BoolArray) -> tuple[float, float]:
    """max over own samples of |f_+-(x_i)| with the given neurons alone, and its time derivative."""
    data, network = moment.data, moment.network
    own = data.X[data.members(sign)]
    w, a, pulls = network.w[neurons], network.a[neurons], moment.pulls[neurons]
    z = w @ own.T
    scale = math.exp(2.0 * network.log_scale)
    values = scale * (a @ np.maximum(z, 0.0))
    speeds = scale * (np.sum(w * pulls, axis=1) @ np.maximum(z, 0.0) + (a**2) @ ((z > 0.0) * (pulls @ own.T)))
    place = int(np.argmax(np.abs(values)))
    return float(abs(values[place])), float(np.sign(values[place]) * speeds[place])


@computed_once
def fitted_time(evidence: Evidence, sign: int) -> float | None:
    """t_2^+ (sign 1) or t_2^- (sign -1), by cubic Hermite interpolation between snapshots; None if not seen.

    The neurons are those of the sign that are in their cone; the derivative of the output is exact.

    References
    ----------
    Min et al. (2024), App. D.2 [min2024].
    """
    if not data_constants(evidence).count(sign):
        return None
    before: tuple[float, float, float] | None = None
    for moment in moments(evidence):
        neurons = (moment.signs == sign) & (moment.cones == sign)
        if not np.any(neurons):
            continue
        value, speed = own_output(moment, sign, neurons)
        if value > FITTED:
            return moment.time if before is None else _hermite_root(before, (moment.time, value, speed))
        before = (moment.time, value, speed)
    return None


def _hermite_root(left: tuple[float, float, float], right: tuple[float, float, float]) -> float:
    """Where the cubic through two values with their slopes meets `FITTED`; of the logarithm, which is nearly linear."""
    (start, low, low_speed), (end, high, high_speed) = left, right
    if low <= 0.0:
        return end
    width = end - start
    values = (math.log(low), math.log(high))
    slopes = (low_speed / low * width, high_speed / high * width)

    def gap(s: float) -> float:
        rising = values[0] * (1 + 2 * s) * (1 - s) ** 2 + slopes[0] * s * (1 - s) ** 2
        return rising + values[1] * s**2 * (3 - 2 * s) + slopes[1] * s**2 * (s - 1) - math.log(FITTED)

    below, above = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (below + above)
        below, above = (middle, above) if gap(middle) < 0.0 else (below, middle)
    return start + 0.5 * (below + above) * width


def last_fitted_time(evidence: Evidence) -> float | None:
    """t_2 = max(t_2^+, t_2^-) over the classes present; None where one of them was not seen."""
    times = [fitted_time(evidence, sign) for sign in data_constants(evidence).classes]
    known = [t for t in times if t is not None]
    return max(known) if len(known) == len(times) else None
