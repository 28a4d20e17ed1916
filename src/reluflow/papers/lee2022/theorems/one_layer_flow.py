"""One neuron without scalar layers: Propositions and theorems of Sec. 3.1, Eqs. (1) to (8) [lee2022]."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.papers.lee2022.paper import EXAMPLE, SETTING
from reluflow.papers.lee2022.single_neuron.bounds import Band, vanishing_start_band
from reluflow.papers.lee2022.single_neuron.descent import population_descent
from reluflow.papers.lee2022.single_neuron.full_parameter_flow import parameter_flow
from reluflow.papers.lee2022.single_neuron.one_layer import vanishing_start_upper_bound_holds_late
from reluflow.papers.lee2022.single_neuron.population import population_loss
from reluflow.papers.lee2022.teacher_and_student import start
from reluflow.papers.lee2022.theorems.flow_measures import (
    above_curve,
    above_lower,
    angle_grows,
    below_upper,
    distance_at_end,
    flow,
    flow_plan,
    gap_above_lower,
    gap_below_upper,
    sample_gradient,
    vector_against,
    vector_flow_plan,
    within_range,
)
from reluflow.papers.lee2022.theorems.population_model import ANGLE_BOUNDS, GAP, POPULATION_MODEL, START
from reluflow.theory.comparison import Comparison, Level, none_of, require
from reluflow.theory.condition import DataHypotheses
from reluflow.theory.elsewhere import definition, part
from reluflow.theory.evidence import Evidence
from reluflow.theory.theorem import Conclusion, Parameter, Reference, Theorem

EQ_1 = definition("lee2022:eq1", "Eq. (1)", population_loss, "the population loss in closed form")
EQ_2 = definition("lee2022:eq2", "Eq. (2)", parameter_flow, "the gradient flow of all parameters")
EQ_3 = definition("lee2022:eq3", "Eq. (3)", population_descent, "gradient descent on the population loss")

# Proposition 3.1 ------------------------------------------------------------------------------------------------------

PROP_3_1 = Theorem(
    "lee2022:prop3.1",
    Reference("lee2022", "Prop. 3.1, Eqs. (4)-(7)"),
    r"For $q = 0$, $dw/dt = -w/2 + (\varphi/(2 \pi)) w^* + (\sin\varphi/(2 \pi)) (|w^*|/|w|) w$, so that $|w|$ and "
    r"$\varphi$ obey a system of two equations: Eqs. (6) and (7).",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion(
            "magnitude",
            "the vector flow's $|w|$ solves Eq. (6)",
            partial(vector_against, part="magnitude"),
            Level.EXACT,
        ),
        Conclusion(
            "angle", r"the vector flow's $\varphi$ solves Eq. (7)", partial(vector_against, part="gap"), Level.EXACT
        ),
        Conclusion(
            "closed-form",
            r"$\cot \varphi(t) = \cot \varphi_0 - (v^*/(\pi c)) (e^{t/2} - 1)$",
            partial(vector_against, part="gap", reference="closed form"),
            Level.EXACT,
        ),
        Conclusion("sample-gradient", "the sample's gradient at the start is Eq. (4) up to sampling", sample_gradient),
    ),
    constants=START,
    parameters=(Parameter("gap", 0.0001, "angle to the teacher at which the run ends", low=1e-09, high=3.14),),
    plan=vector_flow_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E13: $\varphi = \pi - \theta$; the abstract's $\pi \theta$ is a misprint.",
)
EQ_4 = part("lee2022:eq4", "Eq. (4)", PROP_3_1, "$dw/dt$ for $q = 0$ as an expectation")
EQ_5 = part("lee2022:eq5", "Eq. (5)", PROP_3_1, "$dw/dt$ for $q = 0$ with the expectations of Lemma 2.1")
EQ_6 = part("lee2022:eq6", "Eq. (6)", PROP_3_1, "$d|w|/dt$ for $q = 0$")
EQ_7 = part("lee2022:eq7", "Eq. (7)", PROP_3_1, r"$d\varphi/dt$ for $q = 0$")

# Theorems 3.2 and 3.3 -------------------------------------------------------------------------------------------------

THM_3_2 = Theorem(
    "lee2022:thm3.2",
    Reference("lee2022", "Theorem 3.2"),
    r"For $q = 0$, $w_0 \ne 0$ and $0 < \varphi_0 < \pi$, $\varphi$ increases strictly to $\pi$ and $w$ tends to "
    r"$w^*$.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion("angle", r"$\varphi$ increases strictly", angle_grows, Level.EXACT),
        Conclusion("converges", "$w$ tends to $w^*$", distance_at_end, Level.EXACT),
    ),
    constants=START,
    parameters=(GAP,),
    plan=flow_plan,
    setting=SETTING,
    example=EXAMPLE,
    diagnosed=DataHypotheses(losses=("square",), leaks="relu"),
)

THM_3_3 = Theorem(
    "lee2022:thm3.3",
    Reference("lee2022", "Theorem 3.3"),
    r"For $q = 0$ and $t > 0$, $(1 - \varepsilon_0)(1 - e^{-t/2}) v^* + |w_0| e^{-t/2} < |w(t)| < (1 - e^{-t/2}) "
    r"v^* + |w_0| e^{-t/2}$.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion("lower", "$v(t)$ is above the lower curve", above_lower),
        Conclusion("upper", "$v(t)$ is below the upper curve", below_upper),
    ),
    constants=START,
    parameters=(GAP,),
    plan=flow_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E18: equality at $t = 0$, strict later.",
)

# Equation (8) ---------------------------------------------------------------------------------------------------------


def _vanishing_band(evidence: Evidence) -> Band:
    return vanishing_start_band(start(evidence), flow(evidence).times)


def _above_vanishing(evidence: Evidence) -> Comparison:
    return above_curve(evidence, _vanishing_band(evidence))


def _broken_at_first(evidence: Evidence) -> Comparison:
    """The printed upper half must be broken at the first recorded time: |w_0| > 0 = its value at t = 0."""
    run, band = flow(evidence), _vanishing_band(evidence)
    first = int(np.flatnonzero(run.times > 0.0)[0])
    excess = float(run.magnitude[first] - band.upper[first])
    words = f"$|w| - (1 - e^{{-t/2}}) v^*$ = {excess:.3g} at $t$ = {run.times[first]:.3g}"
    return none_of(int(excess <= 0.0), detail=words)


def _late_side(evidence: Evidence) -> Comparison:
    """The sign of the printed upper half's slack late in the run against the sign of pi cos phi_0 + sin phi_0."""
    run, band = flow(evidence), _vanishing_band(evidence)
    slack = (band.upper - run.magnitude) * np.exp(0.5 * run.times)  # the difference itself decays like e^(-t/2)
    late = np.flatnonzero((run.gap < 1e-2) & (np.abs(band.upper - run.magnitude) > 1e-11 * run.start.teacher_magnitude))
    require(late.size != 0, "no time is late enough and still resolved")
    phi = start(evidence).phi
    expected = bool(vanishing_start_upper_bound_holds_late(phi))
    measured = bool(slack[late[-1]] > 0.0)
    late_words = "it holds late" if measured else "it fails late"
    words = rf"$\pi\,\cos\varphi_0 + \sin\varphi_0$ = {np.pi * np.cos(phi) + np.sin(phi):.4g}; {late_words}"
    return none_of(int(measured is not expected), detail=words)


EQ_8 = Theorem(
    "lee2022:eq8",
    Reference("lee2022", "Eq. (8)"),
    r"For $q = 0$, $(1 - \varepsilon_0)(1 - e^{-t/2}) v^* < |w(t)|$ always; $|w(t)| < (1 - e^{-t/2}) v^*$ fails "
    r"near $t = 0$ for every start and holds late exactly when $\pi\,\cos\varphi_0 + \sin\varphi_0 > 0$.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion("lower", "the lower half holds", _above_vanishing),
        Conclusion("early", "the upper half fails near $t = 0$", _broken_at_first, Level.EXACT),
        Conclusion("late", r"late it holds exactly if $\varphi_0 < \pi - \arctan \pi$", _late_side, Level.EXACT),
    ),
    constants=START,
    parameters=(GAP,),
    plan=flow_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E2: printed as two bounds for $|w_0|$ near 0; the upper one is a limit only.",
)

# Theorem 3.4 ----------------------------------------------------------------------------------------------------------

THM_3_4 = Theorem(
    "lee2022:thm3.4",
    Reference("lee2022", "Theorem 3.4"),
    r"For $q = 0$ and $r < |w| < R$, with $y = \cot(\varphi_0/2)$, $c = v^* \varphi_0/(2 \pi R)$ and "
    r"$C = v^*/(2r)$: $2y e^{-Ct} - (2/3) y^3 e^{-3Ct} < \pi - \varphi(t) < 2y e^{-ct}$.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion(
            "range",
            r"$r \le |w(t)| \le R$ for $r = \min(|w_0|, (1 - \varepsilon_0) v^*)$, $R = \max(|w_0|, v^*)$",
            within_range,
        ),
        Conclusion("lower", r"$\pi - \varphi$ is above the lower curve", gap_above_lower),
        Conclusion("upper", r"$\pi - \varphi$ is below the upper curve", gap_below_upper),
        Conclusion("sharp-lower", r"$\pi - \varphi > 2\,\arctan(y e^{-Ct})$", partial(gap_above_lower, sharp=True)),
        Conclusion("sharp-upper", r"$\pi - \varphi < 2\,\arctan(y e^{-ct})$", partial(gap_below_upper, sharp=True)),
    ),
    constants=ANGLE_BOUNDS,
    parameters=(GAP,),
    plan=flow_plan,
    setting=SETTING,
    example=EXAMPLE,
    departs="$r$ and $R$ are those that Theorem 3.3 gives, so that the hypothesis on $|w|$ always holds.",
)
