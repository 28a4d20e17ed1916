"""The comparison equation: elementary time function against an integrator, quadrature and the paper's 2F1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp
from scipy.special import hyp2f1

from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.comparison import (
    comparison_solution,
    escape_time,
    inflection,
    printed_upper_curve,
    scaled_time,
)


@pytest.mark.parametrize("q", [0, 1, 2, 3, 5, 6])
@pytest.mark.parametrize("ratio", [0.3, 0.95, 1.0, 1.2, 1.49, 1.51, 4.0])
def test_solution_against_an_integrator(q, ratio):
    level = 2.5
    fixed = level ** (1 / (q + 1))
    horizon = 4.0 * max(1.0, ratio ** (1 - q)) / fixed ** (2 * q)
    times = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 20) * horizon])

    def velocity(_, x):
        return -0.5 * np.exp((q - 1) * x) * (np.exp((q + 1) * x) - level)

    start = [np.log(ratio * fixed)]
    solution = solve_ivp(velocity, (0, horizon), start, method="LSODA", t_eval=times, rtol=1e-11, atol=1e-13)
    values = comparison_solution(q, ratio * fixed, level, times)
    np.testing.assert_allclose(np.log(values), solution.y[0], atol=3e-9)
    assert values[0] == pytest.approx(ratio * fixed, rel=1e-15)


@given(st.integers(2, 8), st.floats(0.05, 0.9), st.floats(1.1, 20.0))
def test_scaled_time_is_its_integral_on_both_sides(q, below, above):
    def integrand(y):  # du/(u^q (u^(q+1) - 1)) with u = e^y
        return np.exp((1 - q) * y) / np.expm1((q + 1) * y)

    for first, second in ((below, 0.95), (1.05, above)):
        area = quad(integrand, np.log(first), np.log(second), epsabs=0, epsrel=1e-12, limit=200)[0]
        measured = float(scaled_time(q, second) - scaled_time(q, first))
        assert measured == pytest.approx(area, rel=1e-10)


@pytest.mark.parametrize("q", [2, 3, 4, 5])
def test_scaled_time_is_the_papers_hypergeometric_function(q):
    u = np.array([0.1, 0.5, 0.9])
    printed = u ** (1 - q) / (q - 1) * hyp2f1(1, (1 - q) / (q + 1), 2 / (q + 1), u ** (q + 1))
    np.testing.assert_allclose(np.diff(scaled_time(q, u)), np.diff(printed), rtol=1e-12)
    big = np.array([1.2, 2.0, 5.0])
    other = -(big ** (-2.0 * q)) / (2 * q) * hyp2f1(1, 2 * q / (q + 1), (3 * q + 1) / (q + 1), big ** -(q + 1.0))
    np.testing.assert_allclose(scaled_time(q, big), other, rtol=1e-12)


def test_scipy_hypergeometric_function_is_useless_above_the_fixed_point():
    """Why the paper's formula is not evaluated as it stands; the elementary form is finite there."""
    assert np.isinf(hyp2f1(1, -1 / 3, 2 / 3, 1.5))
    assert np.isfinite(scaled_time(2, 1.5 ** (1 / 3)))


def test_late_solution_reaches_the_fixed_point():
    for q in (2, 3, 7):
        for initial in (0.2, 3.0):
            assert comparison_solution(q, initial, 1.0, [1e9])[0] == 1.0


def test_erratum_e1_printed_curve_does_not_start_at_the_start():
    assert printed_upper_curve(2, 0.1, 1 - 1 / np.pi, 1.0, [0.0])[0] == pytest.approx(0.0319, abs=5e-5)
    times = np.linspace(0.0, 50.0, 7)
    unchanged = printed_upper_curve(3, 0.3, 0.0, 2.0, times)  # eps_0 = 0: nothing to misprint
    np.testing.assert_allclose(unchanged, comparison_solution(3, 0.3, 2.0, times), rtol=1e-12)


@pytest.mark.parametrize("q", [0, 1, 2])
def test_erratum_e10_curvature_of_the_bounds(q):
    """The paper calls all bounds convex: from below they are convex up to the inflection and concave after it."""
    level = 0.8
    times = np.linspace(0.0, 30.0, 3001)
    rising = comparison_solution(q, 0.1, level, times)
    bend = rising[2:] - 2 * rising[1:-1] + rising[:-2]
    middle, turn = rising[1:-1], inflection(q, level)
    visible = np.abs(bend) > 1e-12
    clear = visible & (np.abs(middle - turn) > 0.01)
    assert np.all((bend > 0)[clear] == (middle < turn)[clear])
    assert np.any(bend[clear] < 0)
    falling = comparison_solution(q, 3.0, level, times)
    second = falling[2:] - 2 * falling[1:-1] + falling[:-2]
    assert np.all(second[np.abs(second) > 1e-12] > 0)
    assert inflection(1, level) == pytest.approx(np.sqrt(level / 3))


@pytest.mark.parametrize("q", [2, 3, 4])
def test_escape_time(q):
    level, initial = 0.5, 1e-4
    predicted = escape_time(q, initial, level)
    before, after = comparison_solution(q, initial, level, [0.99 * predicted, 1.01 * predicted])
    fixed = level ** (1 / (q + 1))
    assert before < 0.05 * fixed
    assert after > 0.9 * fixed


def test_refusals():
    with pytest.raises(InvalidInputError, match="`initial` must be positive"):
        comparison_solution(2, 0.0, 1.0, [1.0])
    with pytest.raises(InvalidInputError, match="at least 2"):
        scaled_time(1, 0.5)
    with pytest.raises(InvalidInputError, match="complex above"):
        printed_upper_curve(2, 0.9, 0.9, 1.0, [0.0])
