"""One neuron under scalar layers: Propositions 3.5 and 3.6, Theorems 3.7 to 3.9, Eqs. (9) and (10) [lee2022]."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.papers.lee2022.paper import EXAMPLE, SETTING
from reluflow.papers.lee2022.plans import BracketedFlowPlan, UnbalancedFlowPlan, UnbalancedRun
from reluflow.papers.lee2022.single_neuron.comparison import escape_time
from reluflow.papers.lee2022.single_neuron.full_parameter_flow import ParameterTrajectory
from reluflow.papers.lee2022.teacher_and_student import start, student
from reluflow.papers.lee2022.theorems.flow_measures import (
    above_lower,
    angle_grows,
    below_upper,
    distance_at_end,
    flow,
    flow_plan,
    gap_above_lower,
    gap_below_upper,
    largest_drift,
    magnitudes,
    sample_gradient,
    vector_against,
    vector_flow_plan,
    within_range,
)
from reluflow.papers.lee2022.theorems.population_model import ANGLE_BOUNDS, GAP, LAYERS, POPULATION_MODEL, START
from reluflow.theory.comparison import Comparison, Level, at_most, nothing, require, worst_compared
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtLeast, AtMost, Quantities
from reluflow.theory.theorem import Conclusion, Parameter, Reference, Theorem

CONSERVED = 1e-8  # relative drift of v_k^2 - |w|^2; the integrator at 1e-11 leaves 4e-11
TINY = float(np.finfo(np.float64).tiny)

# Proposition 3.5 ------------------------------------------------------------------------------------------------------


def _positive_layers(evidence: Evidence) -> FloatArray:
    run = evidence.recorded(UnbalancedRun).flow
    return np.asarray(run.v / run.v[0])


def _conserved(evidence: Evidence) -> FloatArray:
    return largest_drift(evidence.recorded(UnbalancedRun).flow)


def nested_output(w: FloatArray, v: FloatArray, X: FloatArray) -> FloatArray:
    """f(x) = v_1 s(v_2 s(... s(v_q s(<w, x>)))), evaluated layer by layer for any signs of the v_k."""
    value = np.maximum(X @ w, 0.0)
    for scalar in v[:0:-1]:
        value = np.maximum(scalar * value, 0.0)
    return np.asarray(v[0] * value if v.size else value)


def _dead_layer(evidence: Evidence) -> Comparison:
    """Largest output on the samples with v_2 < 0, and with every parameter moved by 1e-3 of its size."""
    one, rng = student(evidence), np.random.default_rng(0)
    if one.q < 2:
        return nothing("with one scalar layer there is none below the first")
    v = evidence.recorded(UnbalancedRun).dead_layers
    outputs = []
    for size in (0.0, 1e-3, 1e-3):
        moved_w = one.w * (1.0 + size * rng.standard_normal(one.w.size))
        moved_v = v * (1.0 + size * rng.standard_normal(v.size))
        outputs.append(np.abs(nested_output(moved_w, moved_v, evidence.dataset.X)))
    return worst_compared(outputs, "at_most", 0.0, words="largest output with $v_2 < 0$ is {measured:.3g}, also nearby")


def _unbalanced_plan(evidence: Evidence) -> UnbalancedFlowPlan:
    return UnbalancedFlowPlan(evidence.parameter("spread"), evidence.parameter("relaxations"))


PROP_3_5 = Theorem(
    "lee2022:prop3.5",
    Reference("lee2022", "Prop. 3.5"),
    r"From $v_k > 0$ no scalar layer changes sign, and $v_k^2 - |w|^2$ is conserved; with some $v_k \le 0$, "
    r"$k \ge 2$, the output and its gradient vanish identically.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion(
            "positive",
            "every $v_k$ stays positive",
            AtLeast(_positive_layers, TINY, words="the least $v_k(t)/v_k(0)$ is {measured:.4g}"),
            Level.EXACT,
        ),
        Conclusion("conserved", "$v_k^2 - |w|^2$ does not change", AtMost(_conserved, CONSERVED), Level.EXACT),
        Conclusion("dead", "a negative $v_2$ makes the output vanish around it", _dead_layer, Level.EXACT),
    ),
    parameters=(
        Parameter("q", 3.0, "number of scalar layers above the neuron, a whole number", low=0.0, high=20.0),
        Parameter("spread", 1.7, "factor between $|w_0|$ and the layers, up and down in turn", low=0.0),
        Parameter("relaxations", 8.0, "length of the run in units of the fastest relaxation time", low=0.0),
    ),
    plan=_unbalanced_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E16: at $v_k = 0$ the velocity is 0, not positive, with $s'(0) = 0$; the argument needs the limit "
    "from above.",
    departs="The run starts off balance by `spread`, for the statement does not need balance.",
)

# Proposition 3.6 ------------------------------------------------------------------------------------------------------


def _stays_balanced(evidence: Evidence) -> FloatArray:
    return largest_drift(evidence.recorded(ParameterTrajectory))


PROP_3_6 = Theorem(
    "lee2022:prop3.6",
    Reference("lee2022", "Prop. 3.6, Eqs. (9), (10)"),
    r"A balanced start stays balanced, and $dv/dt = -v^q (v^{q+1} - V (1 - \varepsilon))/2$, "
    r"$d\varphi/dt = v^{q-1} V \varphi\,\sin\varphi/(2 \pi)$.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion(
            "magnitude",
            "the vector flow's $|w|$ solves Eq. (9)",
            partial(vector_against, part="magnitude"),
            Level.EXACT,
        ),
        Conclusion(
            "angle", r"the vector flow's $\varphi$ solves Eq. (10)", partial(vector_against, part="gap"), Level.EXACT
        ),
        Conclusion("balanced", "$v_k = |w|$ for all $k$ and $t$", AtMost(_stays_balanced, CONSERVED), Level.EXACT),
        Conclusion("sample-gradient", "the sample's gradient at the start is the population's", sample_gradient),
    ),
    constants=START,
    parameters=(LAYERS, Parameter("gap", 0.001, "angle to the teacher at which the run ends", low=1e-09, high=3.14)),
    plan=vector_flow_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E14: the multi-layer case is $q \ge 1$, with $v_0 = |w|$ in the balance.",
)
EQ_9 = part("lee2022:eq9", "Eq. (9)", PROP_3_6, "$dv/dt$ of a balanced neuron")
EQ_10 = part("lee2022:eq10", "Eq. (10)", PROP_3_6, r"$d\varphi/dt$ of a balanced neuron")

# Theorem 3.7 ----------------------------------------------------------------------------------------------------------

THM_3_7 = Theorem(
    "lee2022:thm3.7",
    Reference("lee2022", "Theorem 3.7"),
    r"For $q \ge 1$, a balanced start, $w_0 \ne 0$, $0 < \varphi_0 < \pi$: $\varphi$ increases strictly to $\pi$ "
    r"and $w$ tends to $w^*$.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion("angle", r"$\varphi$ increases strictly", angle_grows, Level.EXACT),
        Conclusion("converges", "$w$ tends to $w^*$", distance_at_end, Level.EXACT),
        Conclusion(
            "away-from-0",
            r"$v(t) \ge \min(v_0, v^*(1 - \varepsilon_0)^{1/(q+1)})$, which the proof needs",
            within_range,
        ),
    ),
    constants=START,
    parameters=(LAYERS, GAP),
    plan=flow_plan,
    setting=SETTING,
    example=EXAMPLE,
)

# Theorem 3.8 ----------------------------------------------------------------------------------------------------------

_NUM_POINTS = 24
_AWAY = 1e-5  # relative distance to the fixed point below which time is no longer resolved by u


def printed_antiderivative(q: int, u: ArrayLike, level: float) -> FloatArray:
    """F(u; A) = u^(1-q)/((q-1) A) 2F1(1, (1-q)/(q+1); 2/(q+1); u^(q+1)/A), for q >= 2 and u below the fixed point.

    Notes
    -----
    SciPy's 2F1 is infinite for arguments above 1, so above the fixed point the integral itself is used.

    References
    ----------
    Lee et al. (2022), Thm. 3.8 [lee2022].
    """
    from scipy.special import hyp2f1

    value = np.asarray(u, dtype=np.float64)
    series = hyp2f1(1.0, (1.0 - q) / (q + 1.0), 2.0 / (q + 1.0), value ** (q + 1) / level)
    return np.asarray(value ** (1.0 - q) / ((q - 1) * level) * series)


def travel_time(q: int, initial: float, u: float, level: float) -> float:
    """t = 2 int_u^{u_0} ds/(s^q (s^(q+1) - A)) by adaptive quadrature in log s."""
    from scipy.integrate import quad

    def integrand(log_s: float) -> float:
        s = np.exp(log_s)
        return float(2.0 * s ** (1 - q) / (s ** (q + 1) - level))

    return float(quad(integrand, np.log(u), np.log(initial), epsabs=0.0, epsrel=1e-12, limit=400)[0])


def implicit_error(q: int, initial: float, level: float, curve: FloatArray, times: FloatArray) -> float:
    """Largest relative error of the time the implicit equation gives to points of a comparison curve.

    Points next to the fixed point are left out, where u no longer tells the time.
    """
    fixed = level ** (1.0 / (q + 1))
    seen = np.flatnonzero(
        (times > 0.0) & (np.abs(curve / fixed - 1.0) > _AWAY) & (np.abs(curve / initial - 1.0) > _AWAY)
    )
    if seen.size == 0:
        return 0.0
    chosen = np.unique(seen[np.linspace(0, seen.size - 1, _NUM_POINTS).astype(np.intp)])
    if q >= 2 and initial < fixed:
        found = 2.0 * (printed_antiderivative(q, initial, level) - printed_antiderivative(q, curve[chosen], level))
    else:
        found = np.array([travel_time(q, initial, float(u), level) for u in curve[chosen]])
    return float(np.max(np.abs(found / times[chosen] - 1.0)))


def _implicit(evidence: Evidence) -> Comparison:
    """Largest relative error of the implicit equation along the two comparison curves."""
    neuron, band, times = start(evidence), magnitudes(evidence), flow(evidence).times
    errors = [
        implicit_error(neuron.q, neuron.magnitude, level * neuron.teacher_power, curve, times)
        for level, curve in ((neuron.overlap, band.lower), (1.0, band.upper))
    ]
    return at_most(max(errors), 1e-8, detail=f"relative errors {errors[0]:.2g} (lower), {errors[1]:.2g} (upper)")


def _escape_time(evidence: Evidence) -> float:
    """How long a small start of two or more layers stays small."""
    neuron = start(evidence)
    require(neuron.q >= 2 and neuron.magnitude < neuron.threshold, "nothing to escape from")
    return escape_time(neuron.q, neuron.magnitude, neuron.teacher_power)


def _bracketed_plan(evidence: Evidence) -> BracketedFlowPlan:
    return BracketedFlowPlan(evidence.parameter("gap"))


THM_3_8 = Theorem(
    "lee2022:thm3.8",
    Reference("lee2022", "Theorem 3.8"),
    r"For $q \ge 1$ and $t > 0$, $u(t; \varepsilon_0) < v(t) < u(t; 0)$, where "
    r"$u' = -u^q (u^{q+1} - V(1 - \varepsilon))/2$ and $u(0) = v_0$; for $q \ge 2$, $F(u) - F(v_0) = -t/2$ with a "
    r"2F1 that has the same $\varepsilon$ in both terms.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion("lower", "$v(t)$ is above the lower curve", above_lower),
        Conclusion("upper", "$v(t)$ is below the upper curve", below_upper),
        Conclusion("implicit", "both curves satisfy the implicit equation", _implicit, Level.EXACT),
    ),
    constants=Quantities({"escape_time": _escape_time}, others=(START,)),
    parameters=(LAYERS, GAP),
    plan=_bracketed_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E1, E3: printed with $\varepsilon_0$ in the $v_0$-term of the upper curve too, which then does not "
    r"start at $v_0$.",
)

# Theorem 3.9 ----------------------------------------------------------------------------------------------------------

THM_3_9 = Theorem(
    "lee2022:thm3.9",
    Reference("lee2022", "Theorem 3.9"),
    r"For $q \ge 1$ and $r < v < R$, with $y = \cot(\varphi_0/2)$, $c = \varphi_0 r^{q-1} V/(2 \pi)$ and "
    r"$C = R^{q-1} V/2$: $2y e^{-Ct} - (2/3) y^3 e^{-3Ct} < \pi - \varphi(t) < 2y e^{-ct}$.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion(
            "range",
            r"$r \le v(t) \le R$ for $r = \min(v_0, v^*(1 - \varepsilon_0)^{1/(q+1)})$, $R = \max(v_0, v^*)$",
            within_range,
        ),
        Conclusion("lower", r"$\pi - \varphi$ is above the lower curve", gap_above_lower),
        Conclusion("upper", r"$\pi - \varphi$ is below the upper curve", gap_below_upper),
        Conclusion("sharp-lower", r"$\pi - \varphi > 2\,\arctan(y e^{-Ct})$", partial(gap_above_lower, sharp=True)),
        Conclusion("sharp-upper", r"$\pi - \varphi < 2\,\arctan(y e^{-ct})$", partial(gap_below_upper, sharp=True)),
    ),
    constants=ANGLE_BOUNDS,
    parameters=(LAYERS, GAP),
    plan=flow_plan,
    setting=SETTING,
    example=EXAMPLE,
    departs="$r$ and $R$ are those that Theorem 3.8 gives, so that the hypothesis on $v$ always holds.",
)
