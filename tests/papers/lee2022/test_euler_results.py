"""Theorem 4.1 and Lemma C.2: Euler's method and the comparison principle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from forging import Forgeries, Forgery
from papers.lee2022.neurons import neuron_problem
from papers.lee2022.tampering import plus, recorded, times
from reluflow.papers.lee2022.single_neuron import euler_prediction, printed_euler_bound
from reluflow.papers.lee2022.theorems.scalar_equations import TwoLayerCurve
from reluflow.theory.check import check
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract, own_problem

THEOREM_4_1, LEMMA_C_2 = theorem_named("lee2022:thm4.1"), theorem_named("lee2022:lemmaC.2")


def swapped(evidence):
    run = evidence.record
    return replace(evidence, record=replace(run, lower=run.upper, upper=run.lower))


def shifted(evidence):
    run = evidence.record
    curves = tuple(curve * (1.0 + 1e-4) for curve in run.curves)
    return replace(evidence, record=replace(run, curves=curves))


FORGERIES: Forgeries = {
    ("thm4.1", "uniform"): Forgery(recorded(level=lambda level: 0.9 * level), also=("second-order",)),
    ("thm4.1", "second-order"): Forgery(recorded(step_sizes=plus(1e-6, at=1))),
    ("lemmaC.2", "ordered"): Forgery(recorded(upper=times(-1.0)), also=("closed-forms",)),
    ("lemmaC.2", "closed-forms"): Forgery(recorded(times=plus(1e-6))),
}

CASES = (
    TheoremCase(
        "lee2022:thm4.1",
        forge=shifted,
        failing="moving-start",
        inapplicable=lambda: neuron_problem(1, np.sqrt(1.0 / np.pi), np.pi / 2),  # the fixed point: 1 - eps_0 = 1/pi
    ),
    TheoremCase(
        "lee2022:lemmaC.2",
        forge=swapped,
        failing="relu",
        inapplicable=lambda: replace(own_problem(LEMMA_C_2), network=own_problem(LEMMA_C_2).network.replace(leak=0.1)),
    ),
)


test_holds_and_forged_evidence_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def test_the_printed_constant_is_not_a_bound():
    """Erratum E4: g(x) = x - (1 - kappa) x^2/2, kappa = 0.0025, c = 1, eta = 0.002: error 1.34e-3 above 4.99e-4."""
    kappa, eta = 0.0025, 0.002

    def function(x):
        return x - 0.5 * (1.0 - kappa) * np.square(x)

    def slope(x):
        return 1.0 - (1.0 - kappa) * np.asarray(x)

    def inverse(w):
        return (1.0 - np.sqrt(1.0 - 2.0 * (1.0 - kappa) * w)) / (1.0 - kappa)

    values = [function(1.0)]
    for _ in range(8000):
        x = inverse(values[-1])
        values.append(values[-1] - eta * x * slope(x))
    steps = np.arange(len(values))
    error = np.max(np.abs(np.array(values) - function((1.0 - eta) ** steps)))
    bound = printed_euler_bound(rate=1.0, step_size=eta, curvature=1.0 - kappa)
    assert error == pytest.approx(1.34e-3, rel=5e-3)
    assert bound == pytest.approx(4.99e-4, rel=2e-3)
    # |1/g'| <= 1/kappa and |g' + x g''| <= 1: every hypothesis of the theorem holds
    assert eta < kappa
    corrected = np.max(np.abs(np.array(values) - euler_prediction(function, slope, steps, rate=1.0, step_size=eta)))
    assert corrected < 0.5 * error


def test_a_step_beyond_the_hypothesis_is_named():
    verdict = check(THEOREM_4_1, own_problem(THEOREM_4_1), step=0.5)
    assert verdict.failing_hypotheses == ("small-step",)


@pytest.mark.parametrize("ratio", [0.4, 1.5])
def test_curve_of_two_layers_by_an_integrator(ratio):
    curve = TwoLayerCurve(ratio, 0.8)
    solution = solve_ivp(
        lambda _, u: -0.5 * u * (u**2 - 0.8), (0.0, 4.0), [ratio], t_eval=[1.0, 4.0], rtol=1e-12, atol=1e-14
    )
    assert curve.value(np.exp(-0.8 * np.array([1.0, 4.0]))) == pytest.approx(solution.y[0], rel=1e-9)
    x, h = np.array([0.2, 0.9]), 1e-5
    assert curve.slope(x) == pytest.approx((curve.value(x + h) - curve.value(x - h)) / (2 * h), rel=1e-7)
    assert curve.curvature(x) == pytest.approx((curve.slope(x + h) - curve.slope(x - h)) / (2 * h), rel=1e-7)


def test_the_second_factor_is_not_always_the_better_one():
    """'(1 - c eta)^T is better than e^(-c eta T)' is no general rule: from v_0 = 0.1 it is four times worse."""
    level, initial, eta = 1.0, 0.1, 1e-3
    curve = TwoLayerCurve(initial, level)
    values = np.empty(20_001)
    values[0] = initial
    for k in range(20_000):
        values[k + 1] = values[k] - 0.5 * eta * values[k] * (values[k] ** 2 - level)
    steps = np.arange(values.size)
    with_power = np.max(np.abs(values - curve.value((1.0 - level * eta) ** steps)))
    with_exponential = np.max(np.abs(values - curve.value(np.exp(-level * eta * steps))))
    assert with_power / eta == pytest.approx(0.53, abs=0.02)
    assert with_exponential / eta == pytest.approx(0.13, abs=0.02)


def test_without_a_lipschitz_bound_solutions_may_cross():
    """Erratum E9: f = g = sqrt|x|, u = t^2/4 and v = 0 both solve it from 0, and u > v."""
    t = np.linspace(0.1, 2.0, 20)
    u, v = t**2 / 4.0, np.zeros_like(t)
    assert np.gradient(u, t)[1:-1] == pytest.approx(np.sqrt(np.abs(u))[1:-1], rel=1e-9)
    assert np.all(u > v)


@pytest.mark.parametrize("q", [1, 3])
def test_comparison_holds_from_above_too(q):
    evidence = gather(LEMMA_C_2, neuron_problem(q, 1.8, 1.0), parameters={"q": float(q)})
    verdict = LEMMA_C_2.check(evidence)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
