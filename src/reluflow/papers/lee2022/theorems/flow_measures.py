"""Measures that the results on the flow share: the magnitude and the angle of a run between their curves [lee2022]."""

from __future__ import annotations

from typing import Literal

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.papers.lee2022.plans import BalancedFlowPlan, BracketedRun, VectorFlowPlan
from reluflow.papers.lee2022.single_neuron.balanced_trajectory import BalancedTrajectory
from reluflow.papers.lee2022.single_neuron.bounds import Band, angle_band, magnitude_band
from reluflow.papers.lee2022.single_neuron.full_parameter_flow import ParameterTrajectory
from reluflow.papers.lee2022.single_neuron.magnitude_angle_flow import balanced_flow
from reluflow.papers.lee2022.single_neuron.one_layer import one_layer_flow
from reluflow.papers.lee2022.single_neuron.population import population_gradient
from reluflow.papers.lee2022.teacher_and_student import magnitude_limits, start, student, teacher
from reluflow.theory.comparison import Comparison, at_least, at_most, require, worst_compared
from reluflow.theory.evidence import Evidence, computed_once

ROUNDING = 1e-12  # relative; quadrature and closed forms agree to 1e-13, and bounds touch the run at t = 0 and infinity

ARRIVED = 1e-10  # in units of v*
SMALLEST_GAP = 1e-12  # radians; below it an angle is rounding
CONVERGED = 1e-9  # the run ends 40 relaxation times after the angle has passed `gap`
INTEGRATION = 1e-8  # relative for |w|, radians for the angle; the integrator runs at 1e-11, and 2e-9 was seen
STANDARD_ERRORS = 6.0  # two-sided chance 2e-9 under a Gaussian


def flow_plan(evidence: Evidence) -> BalancedFlowPlan:
    """The balanced flow, dense until `gap`."""
    return BalancedFlowPlan(evidence.parameter("gap"))


def vector_flow_plan(evidence: Evidence) -> VectorFlowPlan:
    """The flow of all coordinates until `gap`."""
    return VectorFlowPlan(evidence.parameter("gap"))


def flow(evidence: Evidence) -> BalancedTrajectory:
    """The recorded run."""
    if isinstance(evidence.record, BracketedRun):
        return evidence.record.flow
    return evidence.recorded(BalancedTrajectory)


@computed_once
def magnitudes(evidence: Evidence) -> Band:
    """The curves of Theorems 3.3 and 3.8 from the start, at the recorded times."""
    if isinstance(evidence.record, BracketedRun):
        return evidence.record.curves
    return magnitude_band(start(evidence), flow(evidence).times)


def _smallest(slack: FloatArray, times: FloatArray, unit: str) -> Comparison:
    """The smallest slack over t > 0, with its time; a value that is no number counts as the smallest."""
    later = np.flatnonzero((times > 0.0) & (slack < np.inf) | np.isnan(slack))
    require(later.size != 0, "a recorded time at which the bound says something")
    index = later[np.argmin(slack[later])]
    value = float(slack[index])
    words = f"smallest slack {value:.3g} {unit}, at $t$ = {times[index]:.4g}; {ROUNDING:g} forgiven"
    return at_least(value, 0.0, allowance=ROUNDING, detail=words)


def has_arrived(evidence: Evidence) -> BoolArray:
    """Times at which the upper curve of the magnitude equals v* to nearly all digits: a difference from it is rounding.

    Said of the curve, not of the run: a run that claims to have arrived too early must not escape its bounds.
    """
    return np.asarray(np.abs(magnitudes(evidence).upper / start(evidence).teacher_magnitude - 1.0) < 1e-11)


def above_curve(evidence: Evidence, band: Band) -> Comparison:
    """v(t) above the lower curve, in units of v*."""
    run = flow(evidence)
    return _smallest((run.magnitude - band.lower) / run.start.teacher_magnitude, run.times, "$v^*$")


def above_lower(evidence: Evidence) -> Comparison:
    """The same above the lower curve of Theorems 3.3 and 3.8."""
    return above_curve(evidence, magnitudes(evidence))


def below_upper(evidence: Evidence) -> Comparison:
    """v(t) below the upper curve, in units of v*; where the curve has arrived ten of its roundings are forgiven."""
    run = flow(evidence)
    slack = (magnitudes(evidence).upper - run.magnitude) / run.start.teacher_magnitude
    return _smallest(slack + np.where(has_arrived(evidence), ARRIVED, 0.0), run.times, "$v^*$")


def gap_above_lower(evidence: Evidence, *, sharp: bool = False) -> Comparison:
    """log of gap over its lower curve; a lower curve at or below 0 binds nothing."""
    run = flow(evidence)
    band = angle_band(start(evidence), run.times, sharp=sharp)
    slack = np.full_like(run.gap, np.inf)
    seen = band.lower > SMALLEST_GAP  # at the very end the rates are lost to rounding of the exponent
    with np.errstate(divide="ignore"):  # a gap of 0 lies below every curve
        slack[seen] = np.log(run.gap[seen]) - np.log(band.lower[seen])
    return _smallest(slack, run.times, r"in $\log(\pi - \varphi)$")


def gap_below_upper(evidence: Evidence, *, sharp: bool = False) -> Comparison:
    """log of the upper curve over the gap."""
    run = flow(evidence)
    band = angle_band(start(evidence), run.times, sharp=sharp)
    slack = np.log(np.maximum(band.upper, SMALLEST_GAP)) - np.log(np.maximum(run.gap, SMALLEST_GAP))
    return _smallest(slack, run.times, r"in $\log(\pi - \varphi)$")


def within_range(evidence: Evidence) -> Comparison:
    """r <= v(t) <= R with r = min(v_0, v*(1-eps_0)^(1/(q+1))), R = max(v_0, v*), in units of v*."""
    run, limits = flow(evidence), magnitude_limits(evidence)
    slack = np.minimum(run.magnitude - limits.smallest, limits.largest - run.magnitude)
    return _smallest(slack / run.start.teacher_magnitude, run.times, "$v^*$")


def angle_grows(evidence: Evidence) -> Comparison:
    """Smallest increment of log tan(phi/2) between recorded times."""
    psi = flow(evidence).psi
    words = rf"$\log\,\tan(\varphi/2)$ grows by at least {{measured:.3g}} between recorded times, to {psi[-1]:.4g}"
    return worst_compared(np.diff(psi), "at_least", np.finfo(np.float64).tiny, words=words)


def distance_at_end(evidence: Evidence) -> Comparison:
    """|w - w*|/v* at the last time, from magnitude and angle."""
    run = flow(evidence)
    ratio, gap = float(np.exp(run.log_ratio[-1])), float(run.gap[-1])
    distance = float(np.hypot(np.expm1(run.log_ratio[-1]), 2.0 * np.sqrt(ratio) * np.sin(0.5 * gap)))
    return at_most(distance, CONVERGED, detail=f"$|w - w^*|$ = {distance:.2g} $v^*$ at $t$ = {run.times[-1]:.4g}")


def vector_against(
    evidence: Evidence,
    part: Literal["magnitude", "gap"],
    reference: Literal["two-variable system", "closed form"] = "two-variable system",
) -> Comparison:
    """Largest difference of the vector flow's |w| (relative) or gap from the two-variable system or the closed form."""
    run = evidence.recorded(ParameterTrajectory)
    neuron = start(evidence)
    other = one_layer_flow(neuron, run.times) if reference == "closed form" else balanced_flow(neuron, run.times)
    away = run.magnitude / other.magnitude - 1.0 if part == "magnitude" else run.gap - other.gap
    worst = float(np.max(np.abs(away)))
    return at_most(worst, INTEGRATION, detail=f"largest difference of the {part} from the {reference} {worst:.2g}")


def sample_gradient(evidence: Evidence) -> Comparison:
    """Gradient of the finite sample at the start against the population's, in standard errors of its coordinates."""
    one, other = student(evidence), teacher(evidence)
    X, y = evidence.dataset.X, evidence.dataset.y
    residuals = one.outputs(X) - y
    terms = (one.product * residuals * (X @ one.w > 0))[:, None] * X
    error = terms.std(axis=0, ddof=1) / np.sqrt(len(X))
    away = float(np.max(np.abs(terms.mean(axis=0) - population_gradient(one, other).w) / np.maximum(error, 1e-300)))
    return at_most(away, STANDARD_ERRORS, detail=f"largest deviation {away:.3g} standard errors over {len(X)} samples")


def largest_drift(run: ParameterTrajectory) -> FloatArray:
    """Changes of v_k^2 - |w|^2 since the start, relative to the larger of the two squares."""
    size = np.maximum(np.square(run.v), np.square(run.magnitude)[:, None])
    return np.asarray(np.abs(run.balance - run.balance[0]) / size)
