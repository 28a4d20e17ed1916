"""One layer, q = 0: Proposition 3.1 and Theorems 3.2 to 3.4 with Eq. (8) [lee2022]."""

from __future__ import annotations

import numpy as np

from reluflow.single_neuron.bounds import Band, vanishing_start_band
from reluflow.single_neuron.full_parameter_flow import ParameterTrajectory
from reluflow.single_neuron.magnitude_angle_flow import balanced_flow
from reluflow.single_neuron.one_layer import one_layer_flow, vanishing_start_upper_bound_holds_late
from reluflow.single_neuron.population import population_gradient
from reluflow.theory.evidence import Evidence, PopulationPlan
from reluflow.theory.lee2022.flow_measurements import (
    ANGLE_CONCLUSIONS,
    GAP,
    MAGNITUDE_CONCLUSIONS,
    above_lower,
    angle_constants,
    angle_grows,
    distance_at_end,
    flow,
    flow_theorem,
    start_constants,
    within_range,
)
from reluflow.theory.lee2022.model import EXAMPLE, POPULATION_MODEL, SETTING, layers, start, student, teacher
from reluflow.theory.lee2022.runs import VECTOR_FLOW, run_of
from reluflow.theory.measurement import Level, Measurement, at_most, missing, none_of
from reluflow.theory.stating import conclusion, theorems_of
from reluflow.theory.theorem import Conclusion, Parameter

INTEGRATION = 1e-8  # relative for |w|, radians for the angle; the integrator runs at 1e-11, and 2e-9 was seen
STANDARD_ERRORS = 6.0  # two-sided chance 2e-9 under a Gaussian


def vector_flow_plan(evidence: Evidence) -> PopulationPlan:
    """All coordinates integrated at relative tolerance 1e-11."""
    return PopulationPlan(VECTOR_FLOW, {"q": layers(evidence), "gap": evidence.parameter("gap"), "rtol": 1e-11})


def _vector_against(evidence: Evidence, part: str, reference: str) -> Measurement:
    """Largest difference of the vector flow's |w| (relative) or gap from the two-variable system or the closed form."""
    run = run_of(evidence, ParameterTrajectory)
    neuron = start(evidence)
    other = one_layer_flow(neuron, run.times) if reference == "closed form" else balanced_flow(neuron, run.times)
    away = run.magnitude / other.magnitude - 1.0 if part == "magnitude" else run.gap - other.gap
    worst = float(np.max(np.abs(away)))
    return at_most(worst, INTEGRATION, detail=f"largest difference of the {part} from the {reference} {worst:.2g}")


def vector_magnitude(evidence: Evidence) -> Measurement:
    """|w| against the two-variable system."""
    return _vector_against(evidence, "magnitude", "two-variable system")


def vector_angle(evidence: Evidence) -> Measurement:
    """pi - phi against the two-variable system."""
    return _vector_against(evidence, "gap", "two-variable system")


def sample_gradient(evidence: Evidence) -> Measurement:
    """Gradient of the finite sample at the start against the population's, in standard errors of its coordinates."""
    one, other = student(evidence), teacher(evidence)
    X, y = evidence.dataset.X, evidence.dataset.y
    residuals = evidence.witness("residuals", lambda: one.outputs(X) - y)
    terms = (one.product * residuals * (X @ one.w > 0))[:, None] * X
    error = terms.std(axis=0, ddof=1) / np.sqrt(len(X))
    away = float(np.max(np.abs(terms.mean(axis=0) - population_gradient(one, other).w) / np.maximum(error, 1e-300)))
    return at_most(away, STANDARD_ERRORS, detail=f"largest deviation {away:.3g} standard errors over {len(X)} samples")


_theorem = theorems_of("lee2022", setting=SETTING, example=EXAMPLE)

PROP_3_1 = _theorem(
    "prop3.1",
    "For q = 0, dw/dt = -w/2 + (phi/(2 pi)) w* + (sin phi/(2 pi)) (|w*|/|w|) w, so that |w| and phi obey a system "
    "of two equations: Eqs. (6) and (7).",
    locator="Prop. 3.1, Eqs. (4)-(7)",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion("magnitude", "the vector flow's |w| solves Eq. (6)", vector_magnitude, level=Level.EXACT),
        Conclusion("angle", "the vector flow's phi solves Eq. (7)", vector_angle, level=Level.EXACT),
        Conclusion(
            "closed-form",
            "cot phi(t) = cot phi_0 - (v*/(pi c)) (e^(t/2) - 1)",
            lambda e: _vector_against(e, "gap", "closed form"),
            level=Level.EXACT,
        ),
        Conclusion("sample-gradient", "the sample's gradient at the start is Eq. (4) up to sampling", sample_gradient),
    ),
    constants=start_constants,
    parameters=(Parameter("gap", 1e-4, "angle to the teacher at which the run ends", low=1e-9, high=3.14),),
    plan=vector_flow_plan,
    erratum="E13: phi = pi - theta; the abstract's 'pi theta' is a misprint.",
)

THEOREM_3_2 = flow_theorem(
    "thm3.2",
    "For q = 0, w_0 != 0 and 0 < phi_0 < pi, phi increases strictly to pi and w tends to w*.",
    conclusions=(
        Conclusion("angle", "phi increases strictly", angle_grows, level=Level.EXACT),
        Conclusion("converges", "w tends to w*", distance_at_end, level=Level.EXACT),
    ),
    constants=start_constants,
    parameters=(GAP,),
)

THEOREM_3_3 = flow_theorem(
    "thm3.3",
    "For q = 0 and t > 0, (1-eps_0)(1-e^(-t/2)) v* + |w_0| e^(-t/2) < |w(t)| < (1-e^(-t/2)) v* + |w_0| e^(-t/2).",
    conclusions=(*MAGNITUDE_CONCLUSIONS,),
    constants=start_constants,
    parameters=(GAP,),
    erratum="E18: equality at t = 0, strict later.",
)


def _vanishing_band(evidence: Evidence) -> Band:
    return vanishing_start_band(start(evidence), flow(evidence).times)


@conclusion("early", "the upper half fails near t = 0", Level.EXACT)
def _broken_at_first(evidence: Evidence) -> Measurement:
    """The printed upper half must be broken at the first recorded time: |w_0| > 0 = its value at t = 0."""
    run, band = flow(evidence), _vanishing_band(evidence)
    first = int(np.flatnonzero(run.times > 0.0)[0])
    excess = float(run.magnitude[first] - band.upper[first])
    words = f"|w| - (1 - e^(-t/2)) v* = {excess:.3g} at t = {run.times[first]:.3g}"
    return none_of(int(excess <= 0.0), detail=words)


@conclusion("late", "late it holds exactly if phi_0 < pi - arctan pi", Level.EXACT)
def _late_side(evidence: Evidence) -> Measurement:
    """The sign of the printed upper half's slack late in the run against the sign of pi cos phi_0 + sin phi_0."""
    run, band = flow(evidence), _vanishing_band(evidence)
    slack = (band.upper - run.magnitude) * np.exp(0.5 * run.times)  # the difference itself decays like e^(-t/2)
    late = np.flatnonzero((run.gap < 1e-2) & (np.abs(band.upper - run.magnitude) > 1e-11 * run.start.teacher_magnitude))
    if late.size == 0:
        return missing("no time is late enough and still resolved")
    phi = start(evidence).phi
    expected = bool(vanishing_start_upper_bound_holds_late(phi))
    measured = bool(slack[late[-1]] > 0.0)
    late_words = "it holds late" if measured else "it fails late"
    words = f"pi cos phi_0 + sin phi_0 = {np.pi * np.cos(phi) + np.sin(phi):.4g}; {late_words}"
    return none_of(int(measured is not expected), detail=words)


EQUATION_8 = flow_theorem(
    "eq8",
    "For q = 0, (1-eps_0)(1-e^(-t/2)) v* < |w(t)| always; |w(t)| < (1-e^(-t/2)) v* fails near t = 0 for every "
    "start and holds late exactly when pi cos phi_0 + sin phi_0 > 0.",
    conclusions=(
        Conclusion("lower", "the lower half holds", lambda e: above_lower(e, _vanishing_band(e))),
        _broken_at_first,
        _late_side,
    ),
    constants=start_constants,
    parameters=(GAP,),
    erratum="E2: printed as two bounds for |w_0| near 0; the upper one is a limit only.",
)

THEOREM_3_4 = flow_theorem(
    "thm3.4",
    "For q = 0 and r < |w| < R, with y = cot(phi_0/2), c = v* phi_0/(2 pi R) and C = v*/(2r): "
    "2y e^(-Ct) - (2/3) y^3 e^(-3Ct) < pi - phi(t) < 2y e^(-ct).",
    conclusions=(
        Conclusion("range", "r <= |w(t)| <= R for r = min(|w_0|, (1-eps_0) v*), R = max(|w_0|, v*)", within_range),
        *ANGLE_CONCLUSIONS,
    ),
    constants=angle_constants,
    parameters=(GAP,),
    departs="r and R are those that Theorem 3.3 gives, so that the hypothesis on |w| always holds.",
)
