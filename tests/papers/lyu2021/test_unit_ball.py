"""The data scaling law, the M-norm, gradients and velocities that the checks of Lyu et al. rest on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.train import train
from reluflow.losses import LogisticLoss
from reluflow.network import Network
from reluflow.papers.lyu2021.theorems.unit_ball import UnitBall, log_m_norm, m_norm, output_gradients, pull, velocity


def _network(seed: int, *, m: int = 5, d: int = 2, log_scale: float = 0.0) -> Network:
    rng = np.random.default_rng(seed)
    return Network(rng.standard_normal((m, d)), rng.standard_normal(m), leak=0.5, log_scale=log_scale)


def test_the_flow_on_scaled_samples_is_the_same_flow_at_another_scale_and_speed():
    data, factor = load("lyu-symmetric"), 3.0
    network = _network(0, log_scale=-2.0)
    times = [1.0, 4.0, 9.0, 20.0]
    large = Dataset(factor * data.X, data.y)
    inside = train(
        TrainingProblem(data, LogisticLoss(), network.scaled(0.5 * np.log(factor))),
        EventDrivenFlow(),
        times=times,
        horizon=21.0,
    )
    outside = train(
        TrainingProblem(large, LogisticLoss(), network),
        EventDrivenFlow(),
        times=[t / factor for t in times],
        horizon=21.0 / factor,
    )
    for one, two in zip(inside.snapshots, outside.snapshots, strict=True):
        np.testing.assert_allclose(one.outputs, two.outputs, rtol=1e-8)
        here, there = one.network.materialized(), two.network.scaled(0.5 * np.log(factor)).materialized()
        np.testing.assert_allclose(here.w, there.w, rtol=1e-7, atol=1e-10)


def test_the_unit_ball_form_keeps_outputs():
    data, network = load("lyu-symmetric"), _network(1)
    ball = UnitBall.of(data)
    assert np.max(np.linalg.norm(ball.X, axis=1)) == pytest.approx(1.0)
    np.testing.assert_allclose(ball.network(network).outputs(ball.X), network.outputs(data.X), rtol=1e-14)
    np.testing.assert_allclose(m_norm(ball.neurons(network)), np.exp(ball.log_norm(network)), rtol=1e-14)


def test_log_m_norm_reaches_below_the_range_of_doubles():
    assert log_m_norm(_network(2, log_scale=-5000.0)) == pytest.approx(log_m_norm(_network(2)) - 5000.0)


@given(seed=st.integers(0, 10_000), factor=st.floats(-10.0, 10.0))
@settings(max_examples=30, deadline=None)
def test_m_norm_is_a_norm(seed, factor):
    rng = np.random.default_rng(seed)
    one, two = rng.standard_normal((2, 4, 3))
    assert m_norm(factor * one) == pytest.approx(abs(factor) * m_norm(one))
    assert m_norm(one + two) <= m_norm(one) + m_norm(two) + 1e-14


def test_gradients_agree_with_finite_differences():
    data, network, step = load("lyu-symmetric"), _network(3), 1e-6
    gradient = output_gradients(network, data.X)
    for k in range(network.num_neurons):
        for p in range(network.d + 1):
            w, a = network.w.copy(), network.a.copy()
            moved = []
            for sign in (1.0, -1.0):
                w_moved, a_moved = w.copy(), a.copy()
                if p < network.d:
                    w_moved[k, p] += sign * step
                else:
                    a_moved[k] += sign * step
                moved.append(network.replace(w=w_moved, a=a_moved).outputs(data.X))
            np.testing.assert_allclose(gradient[:, k, p], (moved[0] - moved[1]) / (2 * step), atol=1e-8)


def test_the_velocity_is_minus_the_gradient_and_that_of_the_flow():
    data, network, loss = load("lyu-symmetric"), _network(4), LogisticLoss()
    outputs = network.outputs(data.X)
    moved = velocity(network, outputs, data, loss)
    np.testing.assert_allclose(moved, pull(network, data.X, loss.forces(outputs, data.y)), atol=1e-15)
    step = 1e-5
    run = train(TrainingProblem(data, loss, network), EventDrivenFlow(), times=[step], horizon=2 * step)
    after = run.snapshots[0].network.materialized()
    np.testing.assert_allclose((after.w - network.w) / step, moved[:, :-1], atol=1e-4)
    np.testing.assert_allclose((after.a - network.a) / step, moved[:, -1], atol=1e-4)


def test_a_sliding_neuron_moves_along_its_boundary():
    data = Dataset([[1.0, 0.0], [0.2, 1.0]], [-1.0, 1.0])
    network = Network([[0.0, 1.0]], [1.0], leak=0.5)  # <w, x_1> = 0, pushed to it from both sides
    forces = np.array([-0.25, 0.25])
    speeds = [eta * forces[0] + forces[1] * 0.2 for eta in (1.0, 0.5)]
    moved = velocity(network, np.zeros(2), data, LogisticLoss())
    shortest = min(speeds, key=abs) if speeds[0] * speeds[1] > 0 else 0.0
    assert moved[0, 0] == pytest.approx(shortest)
