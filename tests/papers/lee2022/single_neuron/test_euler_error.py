"""Theorem 4.1: Euler's method against its corrected leading term, and the printed constant that fails (E4)."""

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.euler_error import euler_prediction, printed_euler_bound

KAPPA = 0.0025  # g(x) = x - (1 - kappa) x^2/2 satisfies every hypothesis: g' >= kappa > 0 on [0, 1]


def curve(x):
    return x - 0.5 * (1 - KAPPA) * x**2


def slope(x):
    return 1 - (1 - KAPPA) * x


def inverse(w):
    return (1 - np.sqrt(1 - 2 * (1 - KAPPA) * w)) / (1 - KAPPA)


def euler(step_size, count, invert=inverse, g_slope=slope, start=None):
    """The method itself, on w' = -x g'(x), x = g^(-1)(w), with rate c = 1."""
    w = curve(1.0) if start is None else start
    values = [w]
    for _ in range(count):
        x = invert(w)
        w -= step_size * x * g_slope(x)
        values.append(w)
    return np.array(values)


def test_erratum_e4_the_printed_constant_is_not_a_bound():
    eta = 0.002
    steps = np.arange(6001)
    error = np.abs(euler(eta, 6000) - curve((1 - eta) ** steps)).max()
    bound = printed_euler_bound(rate=1.0, step_size=eta, curvature=1 - KAPPA)
    assert bound == pytest.approx(4.99e-4, rel=2e-3)
    assert error == pytest.approx(1.34e-3, rel=5e-3)
    assert error / bound == pytest.approx(2.68, abs=0.02)


def test_leading_term_leaves_a_quadratic_error():
    """The two-layer comparison equation from v_0 = 0.1: u = g(e^(-t)), g(x) = (1 + 99 x)^(-1/2)."""

    def g(x):
        return (1 + 99 * x) ** -0.5

    def g_slope(x):
        return -49.5 * (1 + 99 * x) ** -1.5

    plain, residual = [], []
    for eta in (0.02, 0.01, 0.005, 0.0025):
        steps = np.arange(int(30 / eta) + 1)
        run = euler(eta, steps[-1], lambda w: (w**-2 - 1) / 99, g_slope, start=0.1)
        plain.append(np.abs(run - g((1 - eta) ** steps)).max() / eta)
        residual.append(np.abs(run - euler_prediction(g, g_slope, steps, rate=1.0, step_size=eta)).max() / eta**2)
    assert max(plain) < 1.1 * min(plain)
    assert max(residual) < 1.3 * min(residual)
    assert plain[-1] == pytest.approx(0.53, abs=0.01)
    eta = 0.0025
    steps = np.arange(int(30 / eta) + 1)
    run = euler(eta, steps[-1], lambda w: (w**-2 - 1) / 99, g_slope, start=0.1)
    assert np.abs(run - g(np.exp(-eta * steps))).max() / eta == pytest.approx(0.13, abs=0.01)


def test_refusals():
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        printed_euler_bound(rate=1.0, step_size=2.0, curvature=1.0)
