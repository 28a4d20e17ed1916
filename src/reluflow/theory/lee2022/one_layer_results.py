"""One layer, q = 0: Proposition 3.1 and Theorems 3.2 to 3.4 with Eq. (8) [lee2022]."""

from __future__ import annotations

import numpy as np

from reluflow.single_neuron.bounds import Band, vanishing_start_band
from reluflow.single_neuron.full_parameter_flow import ParameterTrajectory
from reluflow.single_neuron.magnitude_angle_flow import balanced_flow
from reluflow.single_neuron.one_layer import one_layer_flow, vanishing_start_upper_bound_holds_late
from reluflow.single_neuron.population import population_gradient
from reluflow.theory.evidence import Evidence, PopulationPlan
from reluflow.theory.lee2022.flow_measurements import above_lower, flow
from reluflow.theory.lee2022.model import layers, start, student, teacher
from reluflow.theory.lee2022.runs import VECTOR_FLOW, run_of
from reluflow.theory.measurement import Measurement, at_most, need, none_of

INTEGRATION = 1e-8  # relative for |w|, radians for the angle; the integrator runs at 1e-11, and 2e-9 was seen
STANDARD_ERRORS = 6.0  # two-sided chance 2e-9 under a Gaussian


def vector_flow_plan(evidence: Evidence) -> PopulationPlan:
    """All coordinates integrated at relative tolerance 1e-11."""
    return PopulationPlan(VECTOR_FLOW, {"q": layers(evidence), "gap": evidence.parameter("gap"), "rtol": 1e-11})


def _vector_against(evidence: Evidence, part: str, reference: str = "two-variable system") -> Measurement:
    """Largest difference of the vector flow's |w| (relative) or gap from the two-variable system or the closed form."""
    run = run_of(evidence, ParameterTrajectory)
    neuron = start(evidence)
    other = one_layer_flow(neuron, run.times) if reference == "closed form" else balanced_flow(neuron, run.times)
    away = run.magnitude / other.magnitude - 1.0 if part == "magnitude" else run.gap - other.gap
    worst = float(np.max(np.abs(away)))
    return at_most(worst, INTEGRATION, detail=f"largest difference of the {part} from the {reference} {worst:.2g}")


def sample_gradient(evidence: Evidence) -> Measurement:
    """Gradient of the finite sample at the start against the population's, in standard errors of its coordinates."""
    one, other = student(evidence), teacher(evidence)
    X, y = evidence.dataset.X, evidence.dataset.y
    residuals = evidence.witness("residuals", lambda: one.outputs(X) - y)
    terms = (one.product * residuals * (X @ one.w > 0))[:, None] * X
    error = terms.std(axis=0, ddof=1) / np.sqrt(len(X))
    away = float(np.max(np.abs(terms.mean(axis=0) - population_gradient(one, other).w) / np.maximum(error, 1e-300)))
    return at_most(away, STANDARD_ERRORS, detail=f"largest deviation {away:.3g} standard errors over {len(X)} samples")


def _vanishing_band(evidence: Evidence) -> Band:
    return vanishing_start_band(start(evidence), flow(evidence).times)


def _broken_at_first(evidence: Evidence) -> Measurement:
    """The printed upper half must be broken at the first recorded time: |w_0| > 0 = its value at t = 0."""
    run, band = flow(evidence), _vanishing_band(evidence)
    first = int(np.flatnonzero(run.times > 0.0)[0])
    excess = float(run.magnitude[first] - band.upper[first])
    words = f"|w| - (1 - e^(-t/2)) v* = {excess:.3g} at t = {run.times[first]:.3g}"
    return none_of(int(excess <= 0.0), detail=words)


def _late_side(evidence: Evidence) -> Measurement:
    """The sign of the printed upper half's slack late in the run against the sign of pi cos phi_0 + sin phi_0."""
    run, band = flow(evidence), _vanishing_band(evidence)
    slack = (band.upper - run.magnitude) * np.exp(0.5 * run.times)  # the difference itself decays like e^(-t/2)
    late = np.flatnonzero((run.gap < 1e-2) & (np.abs(band.upper - run.magnitude) > 1e-11 * run.start.teacher_magnitude))
    need(late.size != 0, "no time is late enough and still resolved")
    phi = start(evidence).phi
    expected = bool(vanishing_start_upper_bound_holds_late(phi))
    measured = bool(slack[late[-1]] > 0.0)
    late_words = "it holds late" if measured else "it fails late"
    words = f"pi cos phi_0 + sin phi_0 = {np.pi * np.cos(phi) + np.sin(phi):.4g}; {late_words}"
    return none_of(int(measured is not expected), detail=words)


def _eq8_lower(evidence: Evidence) -> Measurement:
    return above_lower(evidence, _vanishing_band(evidence))
