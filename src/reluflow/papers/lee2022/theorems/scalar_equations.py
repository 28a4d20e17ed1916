"""From flow to descent for a scalar equation: Theorem 4.1, and the comparison principle of Lemma C.2 [lee2022]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.papers.lee2022.paper import EXAMPLE, SETTING
from reluflow.papers.lee2022.plans import ComparisonCurves, ComparisonPlan, EulerPlan, EulerRuns
from reluflow.papers.lee2022.single_neuron.comparison import comparison_solution
from reluflow.papers.lee2022.single_neuron.euler_error import euler_prediction, printed_euler_bound
from reluflow.papers.lee2022.teacher_and_student import start
from reluflow.papers.lee2022.theorems.flow_measures import ROUNDING
from reluflow.papers.lee2022.theorems.population_model import GAP, LAYERS, POPULATION_MODEL, START, once_turning
from reluflow.theory.comparison import Comparison, Level, Values, at_least, at_most, judgement
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtLeast, AtMost, Below, Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

# Theorem 4.1 ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TwoLayerCurve:
    """g with u(t) = g(e^(-A t)) for u' = -u (u^2 - A)/2: g(x) = sqrt(A/(1 - b x)), b = 1 - A/u_0^2."""

    initial: float
    level: float

    @property
    def bend(self) -> float:
        """b; 0 where the start is the fixed point and g is constant."""
        return 1.0 - self.level / self.initial**2

    def value(self, x: ArrayLike) -> FloatArray:
        """g(x)."""
        return np.asarray(np.sqrt(self.level / (1.0 - self.bend * np.asarray(x))))

    def slope(self, x: ArrayLike) -> FloatArray:
        """g'(x)."""
        return np.asarray(0.5 * self.bend * np.sqrt(self.level) * (1.0 - self.bend * np.asarray(x)) ** -1.5)

    def curvature(self, x: ArrayLike) -> FloatArray:
        """g''(x)."""
        return np.asarray(0.75 * self.bend**2 * np.sqrt(self.level) * (1.0 - self.bend * np.asarray(x)) ** -2.5)


def _curve(evidence: Evidence) -> TwoLayerCurve:
    neuron = start(evidence)
    return TwoLayerCurve(neuron.magnitude, neuron.overlap * neuron.teacher_power)


def _bounds(evidence: Evidence) -> tuple[float, float, float]:
    """M_1 >= |1/g'|, M_2 >= |g' + x g''|, M_3 >= |g''| on [0, 1]."""
    x, curve = np.linspace(0.0, 1.0, 2001), _curve(evidence)
    slope, bend = curve.slope(x), curve.curvature(x)
    return float(np.max(1.0 / np.abs(slope))), float(np.max(np.abs(slope + x * bend))), float(np.max(np.abs(bend)))


def printed_bound(evidence: Evidence) -> float:
    """What Theorem 4.1 prints, at the largest step size."""
    rate = _curve(evidence).level
    return printed_euler_bound(rate=rate, step_size=evidence.parameter("step") / rate, curvature=_bounds(evidence)[2])


@once_turning
def _moves(evidence: Evidence) -> Comparison:
    bend = _curve(evidence).bend
    return judgement(abs(bend) > 1e-3, abs(bend) - 1e-3, f"$1 - A/u_0^2$ = {bend:.4g}; $g$ is constant where it is 0")


def _largest_step(evidence: Evidence) -> float:
    """1/(M_1 M_2)."""
    first, second, _ = _bounds(evidence)
    return 1.0 / (first * second)


def _errors(evidence: Evidence, *, corrected: bool) -> list[float]:
    """max over T of |u(T) - g((1 - c eta)^T)|, or with the leading term added, for each step size."""
    runs, curve = evidence.recorded(EulerRuns), _curve(evidence)
    found = []
    for step_size, values in zip(runs.step_sizes, runs.curves, strict=True):
        steps = np.arange(values.size)
        rate = runs.level
        if corrected:
            wanted = euler_prediction(curve.value, curve.slope, steps, rate=rate, step_size=float(step_size))
        else:
            wanted = curve.value(np.exp(steps * np.log1p(-rate * step_size)))
        found.append(float(np.max(np.abs(values - wanted))))
    return found


def _leading_constant(evidence: Evidence) -> float:
    """max over x of c x |g'(x) log(g'(x)/g'(1))|/2: the limit of max_T error/eta."""
    curve, x = _curve(evidence), np.linspace(1e-6, 1.0, 4001)
    bend = np.log(curve.slope(x) / curve.slope(1.0))
    return float(0.5 * curve.level * np.max(np.abs(x * curve.slope(x) * bend)))


def _uniform(evidence: Evidence) -> Comparison:
    """Largest error over eta at the smallest step, relative to its leading constant."""
    runs = evidence.recorded(EulerRuns)
    constant = _leading_constant(evidence)
    ratio = _errors(evidence, corrected=False)[-1] / float(runs.step_sizes[-1]) / constant
    relative = float(runs.step_sizes[-1]) * runs.level
    words = rf"$\max_T$ error over $\eta$ is {ratio:.6g} of its leading constant {constant:.4g}"
    return at_most(abs(ratio - 1.0), 20.0 * relative, detail=words)


def _second_order(evidence: Evidence) -> Comparison:
    """Order in eta of what the leading term leaves, from the two smaller steps."""
    left = _errors(evidence, corrected=True)
    order = float(np.log2(left[-2] / left[-1])) if left[-1] > 0.0 else np.inf
    return at_least(
        order, 1.8, detail=f"what is left falls like eta^{order:.4g}: {', '.join(f'{e:.3g}' for e in left)}"
    )


def _step(evidence: Evidence) -> float:
    return evidence.parameter("step")


@once_turning
def _is_below_the_largest_step(evidence: Evidence) -> Comparison:
    words = r"$c \eta$ = {number:g} against $1/(M_1 M_2)$ = {bound:.4g}"
    return Below(_step, _largest_step, words=words)(evidence)


def _rate(evidence: Evidence) -> float:
    return _curve(evidence).level


def _first_bound(evidence: Evidence) -> float:
    return _bounds(evidence)[0]


def _second_bound(evidence: Evidence) -> float:
    return _bounds(evidence)[1]


def _third_bound(evidence: Evidence) -> float:
    return _bounds(evidence)[2]


def _euler_plan(evidence: Evidence) -> EulerPlan:
    return EulerPlan(evidence.parameter("step"), evidence.parameter("relaxations"))


THM_4_1 = Theorem(
    "lee2022:thm4.1",
    Reference("lee2022", "Theorem 4.1"),
    r"Euler's method on a flow $g(e^{-ct})$, $g'$ without a zero on [0, 1], gives "
    r"$g(x) + c \eta x g'(x)\,\log(g'(x)/g'(1))/2 + O(\eta^2)$ at $x = (1 - c \eta)^T$, so its error is $O(\eta)$ "
    r"uniformly in $T$.",
    hypotheses=(
        *POPULATION_MODEL,
        Hypothesis("moving-start", "the scalar equation does not start at its fixed point", _moves),
        Hypothesis("small-step", r"$\eta < 1/(c M_1 M_2)$", _is_below_the_largest_step, is_regime=True),
    ),
    conclusions=(
        Conclusion("uniform", r"$\max_T$ error is $\eta$ times its leading constant", _uniform, Level.SCALING),
        Conclusion("second-order", r"what the leading term leaves is $O(\eta^2)$", _second_order, Level.SCALING),
    ),
    constants=Quantities(
        {
            "rate": _rate,
            "M_1": _first_bound,
            "M_2": _second_bound,
            "M_3": _third_bound,
            "leading_constant": _leading_constant,
            "printed_bound": printed_bound,
        }
    ),
    parameters=(
        Parameter("q", 1.0, "the scalar equation is that of one scalar layer", low=0.5, high=1.5),
        Parameter("step", 0.004, r"$c \eta$ of the largest of three step sizes", low=0.0, high=1.0),
        Parameter("relaxations", 12.0, "length of the run in units of $1/c$", low=0.0),
    ),
    plan=_euler_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E4: the printed constant $c \eta M_3/(2 (2 - c \eta))$ is not a bound; the leading term replaces it.",
    departs="The theorem is for every one-to-one $g$ with two derivatives; it is judged on one, that of the comparison "
    "equation of two layers, $u' = -u (u^2 - A)/2$, from the problem's start.",
)
EQ_12 = part("lee2022:eq12", "Eq. (12)", THM_4_1, r"Euler's method up to $O(T \eta^2)$")

# Lemma C.2 ------------------------------------------------------------------------------------------------------------


def _ordered(evidence: Evidence) -> FloatArray:
    curves = evidence.recorded(ComparisonCurves)
    return np.asarray((curves.upper - curves.lower)[1:] / curves.start.teacher_magnitude)


def _closed_forms(evidence: Evidence) -> Values:
    """Integrated curves against the elementary solution."""
    curves, neuron = evidence.recorded(ComparisonCurves), start(evidence)
    for level, curve in ((neuron.overlap, curves.lower), (1.0, curves.upper)):
        yield np.abs(
            curve / comparison_solution(neuron.q, neuron.magnitude, level * neuron.teacher_power, curves.times) - 1.0
        )


def _comparison_plan(evidence: Evidence) -> ComparisonPlan:
    return ComparisonPlan(evidence.parameter("gap"))


LEMMA_C_2 = Theorem(
    "lee2022:lemmaC.2",
    Reference("lee2022", "Lemma C.2"),
    r"$u' = f(u)$, $v' = g(v)$, $f \le g$, $f$ or $g$ locally Lipschitz, and $u \le v$ at first imply $u \le v$ "
    r"for ever.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion(
            "ordered",
            "the solution of the smaller right-hand side stays below",
            AtLeast(_ordered, 0.0, allowance=ROUNDING, words="smallest $v - u$ is {measured:.3g} $v^*$ after $t = 0$"),
        ),
        Conclusion(
            "closed-forms",
            "both solutions are the elementary ones",
            AtMost(_closed_forms, 1e-08, words="largest relative difference {measured:.2g}"),
            Level.EXACT,
        ),
    ),
    constants=START,
    parameters=(LAYERS, GAP),
    plan=_comparison_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E9: the Lipschitz hypothesis is missing; $f = g = \sqrt{|x|}$ has ordered starts and crossing solutions.",
    departs="The lemma is for any two right-hand sides; it is judged on the two comparison equations of Theorem 3.8, "
    "the use the paper makes of it.",
)
