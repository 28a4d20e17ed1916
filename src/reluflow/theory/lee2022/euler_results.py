"""From flow to descent for a scalar equation: Theorem 4.1, and the comparison principle of Lemma C.2 [lee2022]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.single_neuron.comparison import comparison_solution
from reluflow.single_neuron.euler_error import euler_prediction, printed_euler_bound
from reluflow.theory.comparison import Comparison, Values, at_least, at_most, judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.lee2022.model import start
from reluflow.theory.lee2022.runs import ComparisonCurves, EulerRuns, run_of


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


def _moves(evidence: Evidence) -> Comparison:
    bend = _curve(evidence).bend
    return judgement(abs(bend) > 1e-3, abs(bend) - 1e-3, f"1 - A/u_0^2 = {bend:.4g}; g is constant where it is 0")


def _largest_step(evidence: Evidence) -> float:
    """1/(M_1 M_2)."""
    first, second, _ = _bounds(evidence)
    return 1.0 / (first * second)


def _errors(evidence: Evidence, *, corrected: bool) -> list[float]:
    """max over T of |u(T) - g((1 - c eta)^T)|, or with the leading term added, for each step size."""
    runs, curve = run_of(evidence, EulerRuns), _curve(evidence)
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
    runs = run_of(evidence, EulerRuns)
    constant = _leading_constant(evidence)
    ratio = _errors(evidence, corrected=False)[-1] / float(runs.step_sizes[-1]) / constant
    relative = float(runs.step_sizes[-1]) * runs.level
    words = f"max_T error/eta is {ratio:.6g} of its leading constant {constant:.4g}"
    return at_most(abs(ratio - 1.0), 20.0 * relative, detail=words)


def _second_order(evidence: Evidence) -> Comparison:
    """Order in eta of what the leading term leaves, from the two smaller steps."""
    left = _errors(evidence, corrected=True)
    order = float(np.log2(left[-2] / left[-1])) if left[-1] > 0.0 else np.inf
    return at_least(
        order, 1.8, detail=f"what is left falls like eta^{order:.4g}: {', '.join(f'{e:.3g}' for e in left)}"
    )


# Lemma C.2 ------------------------------------------------------------------------------------------------------------


def _ordered(evidence: Evidence) -> FloatArray:
    curves = run_of(evidence, ComparisonCurves)
    return np.asarray((curves.upper - curves.lower)[1:] / curves.start.teacher_magnitude)


def _closed_forms(evidence: Evidence) -> Values:
    """Integrated curves against the elementary solution."""
    curves, neuron = run_of(evidence, ComparisonCurves), start(evidence)
    for level, curve in ((neuron.overlap, curves.lower), (1.0, curves.upper)):
        yield np.abs(
            curve / comparison_solution(neuron.q, neuron.magnitude, level * neuron.teacher_power, curves.times) - 1.0
        )
