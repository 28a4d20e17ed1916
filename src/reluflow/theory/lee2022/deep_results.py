"""Any number of scalar layers: Propositions 3.5 and 3.6, Theorems 3.7 to 3.9, Eq. (11), App. D.1 [lee2022]."""

from __future__ import annotations

import numpy as np

from reluflow.single_neuron.comparison import escape_time
from reluflow.single_neuron.full_parameter_flow import ParameterTrajectory
from reluflow.theory.evidence import Evidence, PopulationPlan
from reluflow.theory.lee2022.flow_measurements import (
    ANGLE_CONCLUSIONS,
    GAP,
    MAGNITUDE_CONCLUSIONS,
    angle_constants,
    angle_grows,
    distance_at_end,
    flow,
    flow_theorem,
    magnitudes,
    start_constants,
    within_range,
)
from reluflow.theory.lee2022.implicit_time import implicit_error
from reluflow.theory.lee2022.model import EXAMPLE, LAYERS, POPULATION_MODEL, SETTING, layers, start, student
from reluflow.theory.lee2022.one_layer_results import sample_gradient, vector_angle, vector_flow_plan, vector_magnitude
from reluflow.theory.lee2022.runs import UNBALANCED_FLOW, run_of
from reluflow.theory.measurement import Level, Measurement, at_least, at_most, nothing
from reluflow.theory.stating import conclusion, theorems_of
from reluflow.theory.theorem import Conclusion, Constants, Parameter

CONSERVED = 1e-8  # relative drift of v_k^2 - |w|^2; the integrator at 1e-11 leaves 4e-11


# Proposition 3.5 ------------------------------------------------------------------------------------------------------


@conclusion("positive", "every v_k stays positive", Level.EXACT)
def _positive_layers(evidence: Evidence) -> Measurement:
    run = run_of(evidence, ParameterTrajectory)
    smallest = float(np.min(run.v / run.v[0]))
    return at_least(smallest, np.finfo(float).tiny, detail=f"the least v_k(t)/v_k(0) is {smallest:.4g}")


def _conserved(evidence: Evidence) -> Measurement:
    run = run_of(evidence, ParameterTrajectory)
    drift = np.abs(run.balance - run.balance[0]) / np.maximum(np.square(run.v), np.square(run.magnitude)[:, None])
    return at_most(float(np.max(drift)), CONSERVED)


def nested_output(w: np.ndarray, v: np.ndarray, X: np.ndarray) -> np.ndarray:
    """f(x) = v_1 s(v_2 s(... s(v_q s(<w, x>)))), evaluated layer by layer for any signs of the v_k."""
    value = np.maximum(X @ w, 0.0)
    for scalar in v[:0:-1]:
        value = np.maximum(scalar * value, 0.0)
    return np.asarray(v[0] * value if v.size else value)


@conclusion("dead", "a negative v_2 makes the output vanish around it", Level.EXACT)
def _dead_layer(evidence: Evidence) -> Measurement:
    """Largest output on the samples with v_2 < 0, and with every parameter moved by 1e-3 of its size."""
    one = student(evidence)
    if one.q < 2:
        return nothing("with one scalar layer there is none below the first")
    v = one.v.copy()
    v[1] = -v[1]
    v = evidence.witness("dead layers", lambda: v)
    rng = np.random.default_rng(0)
    largest = 0.0
    for size in (0.0, 1e-3, 1e-3):
        moved_w = one.w * (1.0 + size * rng.standard_normal(one.w.size))
        moved_v = v * (1.0 + size * rng.standard_normal(v.size))
        largest = max(largest, float(np.max(np.abs(nested_output(moved_w, moved_v, evidence.dataset.X)))))
    return at_most(largest, 0.0, detail=f"largest output with v_2 < 0 is {largest:.3g}, also nearby")


_theorem = theorems_of("lee2022", setting=SETTING, example=EXAMPLE)

PROP_3_5 = _theorem(
    "prop3.5",
    "From v_k > 0 no scalar layer changes sign, and v_k^2 - |w|^2 is conserved; with some v_k <= 0, k >= 2, the "
    "output and its gradient vanish identically.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        _positive_layers,
        Conclusion("conserved", "v_k^2 - |w|^2 does not change", _conserved, level=Level.EXACT),
        _dead_layer,
    ),
    parameters=(
        Parameter("q", 3.0, "number of scalar layers above the neuron, a whole number", low=0.0, high=20.0),
        Parameter("spread", 1.7, "factor between |w_0| and the layers, up and down in turn", low=0.0),
        Parameter("relaxations", 8.0, "length of the run in units of the fastest relaxation time", low=0.0),
    ),
    plan=lambda e: PopulationPlan(
        UNBALANCED_FLOW,
        {"q": layers(e), "spread": e.parameter("spread"), "relaxations": e.parameter("relaxations")},
    ),
    erratum="E16: at v_k = 0 the velocity is 0, not positive, with s'(0) = 0; the argument needs the limit from above.",
    departs="The run starts off balance by `spread`, for the statement does not need balance.",
)


# Propositions and theorems of the balanced flow -----------------------------------------------------------------------

PROP_3_6 = _theorem(
    "prop3.6",
    "A balanced start stays balanced, and dv/dt = -v^q (v^(q+1) - V (1-eps))/2, "
    "dphi/dt = v^(q-1) V phi sin phi/(2 pi).",
    locator="Prop. 3.6, Eqs. (9), (10)",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion("magnitude", "the vector flow's |w| solves Eq. (9)", vector_magnitude, level=Level.EXACT),
        Conclusion("angle", "the vector flow's phi solves Eq. (10)", vector_angle, level=Level.EXACT),
        Conclusion("balanced", "v_k = |w| for all k and t", _conserved, level=Level.EXACT),
        Conclusion("sample-gradient", "the sample's gradient at the start is the population's", sample_gradient),
    ),
    constants=start_constants,
    parameters=(LAYERS, Parameter("gap", 1e-3, "angle to the teacher at which the run ends", low=1e-9, high=3.14)),
    plan=vector_flow_plan,
    erratum="E14: the multi-layer case is q >= 1, with v_0 = |w| in the balance.",
)

THEOREM_3_7 = flow_theorem(
    "thm3.7",
    "For q >= 1, a balanced start, w_0 != 0, 0 < phi_0 < pi: phi increases strictly to pi and w tends to w*.",
    conclusions=(
        Conclusion("angle", "phi increases strictly", angle_grows, level=Level.EXACT),
        Conclusion("converges", "w tends to w*", distance_at_end, level=Level.EXACT),
        Conclusion("away-from-0", "v(t) >= min(v_0, v*(1-eps_0)^(1/(q+1))), which the proof needs", within_range),
    ),
    constants=start_constants,
    parameters=(LAYERS, GAP),
)


@conclusion("implicit", "both curves satisfy the implicit equation", Level.EXACT)
def _implicit(evidence: Evidence) -> Measurement:
    """Largest relative error of the implicit equation along the two comparison curves."""
    neuron, band, times = start(evidence), magnitudes(evidence), flow(evidence).times
    errors = [
        implicit_error(neuron.q, neuron.magnitude, level * neuron.teacher_power, curve, times)
        for level, curve in ((neuron.overlap, band.lower), (1.0, band.upper))
    ]
    return at_most(max(errors), 1e-8, detail=f"relative errors {errors[0]:.2g} (lower), {errors[1]:.2g} (upper)")


def _theorem_3_8_constants(evidence: Evidence) -> Constants:
    neuron = start(evidence)
    constants = dict(start_constants(evidence))
    if neuron.q >= 2 and neuron.magnitude < neuron.threshold:
        constants["escape_time"] = escape_time(neuron.q, neuron.magnitude, neuron.teacher_power)
    return constants


THEOREM_3_8 = flow_theorem(
    "thm3.8",
    "For q >= 1 and t > 0, u(t; eps_0) < v(t) < u(t; 0), where u' = -u^q (u^(q+1) - V(1-eps))/2 and u(0) = v_0; "
    "for q >= 2, F(u) - F(v_0) = -t/2 with a 2F1 that has the same eps in both terms.",
    conclusions=(*MAGNITUDE_CONCLUSIONS, _implicit),
    constants=_theorem_3_8_constants,
    parameters=(LAYERS, GAP),
    erratum="E1, E3: printed with eps_0 in the v_0-term of the upper curve too, which then does not start at v_0.",
)

THEOREM_3_9 = flow_theorem(
    "thm3.9",
    "For q >= 1 and r < v < R, with y = cot(phi_0/2), c = phi_0 r^(q-1) V/(2 pi) and C = R^(q-1) V/2: "
    "2y e^(-Ct) - (2/3) y^3 e^(-3Ct) < pi - phi(t) < 2y e^(-ct).",
    conclusions=(
        Conclusion("range", "r <= v(t) <= R for r = min(v_0, v*(1-eps_0)^(1/(q+1))), R = max(v_0, v*)", within_range),
        *ANGLE_CONCLUSIONS,
    ),
    constants=angle_constants,
    parameters=(LAYERS, GAP),
    departs="r and R are those that Theorem 3.8 gives, so that the hypothesis on v always holds.",
)
