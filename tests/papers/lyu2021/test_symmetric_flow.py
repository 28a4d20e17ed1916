"""The quantities of phases I and II: growth rate, linear flow, embedding, times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.geometry.landscape import circle_potential
from reluflow.losses import LogisticLoss
from reluflow.network import initialization_named
from reluflow.papers.lyu2021.theorems.symmetric_flow import (
    SymmetricFlow,
    embed,
    embedding_norms,
    is_good_embedding,
    network_of,
    relative_linear_flow,
)
from reluflow.theory.evidence import Evidence


def _flow(seed: int = 0, *, name: str = "lyu-symmetric", leak: float = 0.5, scale: str = "1e-3") -> SymmetricFlow:
    data = load(name, seed=0)
    network = initialization_named("lyu-gaussian")(
        data, width=6, scale=scale, rng=np.random.default_rng(seed), leak=leak
    )
    return SymmetricFlow.of(Evidence(TrainingProblem(data, LogisticLoss(), network)))


@pytest.mark.parametrize("leak", [0.1, 0.5, 0.9])
def test_the_growth_rate_is_the_largest_potential_on_the_circle(leak):
    """Erratum E1: ((1 + leak)/4) |mu|; the printed ((1 + leak)/2) |mu| is twice the true maximum."""
    flow = _flow(leak=leak)
    ball = flow.ball
    potential = circle_potential(ball.X, ball.y / (2.0 * len(ball.y)), leak=leak)
    largest = np.max(np.abs(potential(np.linspace(0.0, 2.0 * np.pi, 100_001))))
    assert flow.growth == pytest.approx(largest, rel=1e-8)
    printed = 0.5 * (1.0 + leak) * np.linalg.norm(ball.y @ ball.X / len(ball.y))
    assert printed == pytest.approx(2.0 * largest, rel=1e-8)


@given(seed=st.integers(0, 1000), angle=st.floats(0.0, 6.0))
@settings(max_examples=25, deadline=None)
def test_the_linear_flow_is_the_matrix_exponential(seed, angle):
    rng = np.random.default_rng(seed)
    rows, direction = rng.standard_normal((4, 4)), rng.standard_normal(3)
    direction /= np.linalg.norm(direction)
    generator = np.zeros((4, 4))
    generator[:3, 3] = generator[3, :3] = direction
    np.testing.assert_allclose(
        relative_linear_flow(rows, direction, angle),
        np.exp(-angle) * rows @ expm(angle * generator),
        rtol=1e-9,
        atol=1e-9,
    )


def test_the_top_eigenvector_of_the_linear_flow():
    flow = _flow()
    mean = np.append(flow.mean_direction, 1.0)[None]
    np.testing.assert_allclose(relative_linear_flow(mean, flow.mean_direction, 2.0), mean, rtol=1e-12)


def test_times_add_up_whatever_the_radius():
    flow = _flow()
    for log_r in (-1.0, -3.0, -10.0):
        assert flow.phase_one_time(log_r) + flow.phase_two_time(log_r) == pytest.approx(flow.joint_time)
    assert _flow(scale="1e-6").joint_time - flow.joint_time == pytest.approx(3.0 * np.log(10.0) / flow.growth)


def test_the_embedding_vector_is_small_and_is_the_projection_on_the_top_eigenvector():
    flow = _flow(3)
    assert np.max(np.abs(flow.embedding)) <= 1.0 / np.sqrt(6.0) + 1e-15
    top = np.append(flow.mean_direction, 1.0) / np.sqrt(2.0)
    np.testing.assert_allclose(flow.aligned, np.outer(flow.shape @ top, top), atol=1e-15)


@given(seed=st.integers(0, 10_000), m=st.integers(2, 8))
@settings(max_examples=30, deadline=None)
def test_embedding_keeps_the_function_and_the_norm(seed, m):
    rng = np.random.default_rng(seed)
    b = rng.standard_normal(m)
    b[:2] = np.abs(b[:2]) * [1.0, -1.0]
    pair = rng.standard_normal((2, 4))
    pair[:, -1] = np.abs(pair[:, -1]) * [1.0, -1.0]
    wide, x = embed(pair, b), rng.standard_normal((7, 3))
    np.testing.assert_allclose(network_of(wide, 0.3)(x), network_of(pair, 0.3)(x), atol=1e-12)
    assert np.linalg.norm(wide) == pytest.approx(np.linalg.norm(pair))
    assert np.all(np.sign(wide[:, -1]) == np.sign(b))


def test_the_aligned_pair_embeds_to_the_aligned_network():
    flow = _flow()
    np.testing.assert_allclose(embed(flow.aligned_pair, flow.embedding), flow.aligned, atol=1e-15)
    plus, minus = embedding_norms(flow.embedding)
    assert plus > 0.0 > minus
    assert plus**2 + minus**2 == pytest.approx(np.sum(flow.embedding**2))


def test_refusals():
    assert not is_good_embedding([1.0, 0.0, -1.0])
    with pytest.raises(InvalidInputError, match="`b` must have a negative entry, got none"):
        embed(np.ones((2, 3)), [1.0, 2.0])
    with pytest.raises(InvalidInputError, match="two neurons as rows"):
        embed(np.ones((3, 3)), [1.0, -2.0])
