"""Where a run with several outputs tends to, from a state near it."""

import numpy as np
import pytest
from scipy.linalg import expm

from reluflow import CollocationFlow, Dataset, SquareLoss, TrainingProblem, balanced_initialization, train
from reluflow.dynamics.collocation import collocation_state, resting_limit
from reluflow.dynamics.collocation.resting_limit import RestingLimit
from reluflow.dynamics.shared.stationary_limit import turned
from reluflow.dynamics.stopping import AtTime, Stationary
from reluflow.dynamics.trajectory import Outcome


def two_outputs(*, has_bias):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((4, 2))
    data = Dataset(X, np.maximum(X, 0.0) + 0.3 * rng.standard_normal((4, 2)))
    network = balanced_initialization(data, width=10, scale=1.0, rng=rng, leak=0.2)
    return TrainingProblem(data, SquareLoss(), network.replace(b=np.zeros(2)) if has_bias else network)


@pytest.mark.parametrize("num_outputs", [1, 2, 5])
def test_a_neuron_turned_by_constant_pulls_is_an_exponential(rng, num_outputs):
    pull, z = rng.standard_normal((num_outputs, 3)), rng.standard_normal(3 + num_outputs)
    generator = np.block([[np.zeros((3, 3)), pull.T], [pull, np.zeros((num_outputs, num_outputs))]])
    np.testing.assert_allclose(turned(z, pull), expm(generator) @ z, rtol=0, atol=1e-13 * np.exp(4.0))


@pytest.mark.parametrize("has_bias", [False, True])
def test_the_limit_is_where_a_longer_run_goes(has_bias):
    """Rotations of a neuron that change no output are limits as well, so weights are compared, too."""
    problem = two_outputs(has_bias=has_bias)
    solver = CollocationFlow(1e-9)
    run = solver.start(problem)
    while run.time < 1500.0:
        run.advance(1500.0, 1)
    here, limit = run.limit(Outcome.HORIZON), run.limit(Outcome.STATIONARY)
    late = train(problem, solver, until=AtTime(15000.0)).network
    assert limit.is_polished, limit.reason
    assert limit.gradient_norm <= 1e-12
    distances = [
        max(np.max(np.abs(part.w - late.w)), np.max(np.abs(part.v - late.v))) for part in (here.network, limit.network)
    ]
    if has_bias:
        assert np.max(np.abs(limit.network.b - late.b)) <= 1e-12
    assert np.array_equal(run.network().w, here.network.w)
    assert distances[1] <= 1e-4 * distances[0]


def test_a_limit_that_raises_the_gradient_is_not_given(monkeypatch):
    def forged(neurons, samples, bias):
        return RestingLimit(neurons.shapes * 1.5, bias, 3)

    monkeypatch.setattr(collocation_state, "polished", forged)
    run = train(two_outputs(has_bias=False), CollocationFlow(1e-8), until=Stationary(atol=1e-3))
    assert not run.limit.is_polished
    assert "no Newton step" in run.limit.reason


def test_many_forces_are_left_as_they_are(monkeypatch):
    monkeypatch.setattr(resting_limit, "MOST_POLISHED_FORCES", 7)
    run = train(two_outputs(has_bias=False), CollocationFlow(1e-8), until=Stationary(atol=1e-3))
    assert not run.limit.is_polished
