"""Descent where the flow may cost no more: it goes on from there, downhill, and says what it was."""

import numpy as np
import pytest

from reluflow.data.registry import load
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import Stationary
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Law, Outcome
from reluflow.errors import InvalidInputError
from reluflow.losses import SquareLoss
from reluflow.network import Network, balanced_initialization
from reluflow.study.descent_continuation import descend_from, stable_step
from reluflow.study.flow_summary import _affordable_iterations, _descent_helps, follow_flow


@pytest.fixture(scope="module")
def cut():
    data = load("three-points")
    network = balanced_initialization(data, width=20, scale=1e-2, rng=np.random.default_rng(1))
    return train(TrainingProblem(data, SquareLoss(), network), EventDrivenFlow(), max_steps=12)


def test_it_ends_where_the_flow_does(cut):
    whole = train(cut.problem, EventDrivenFlow())
    joined, part = descend_from(cut, until=Stationary(atol=1e-7), max_iterations=200_000)
    assert joined.loss == pytest.approx(whole.loss, rel=1e-6)
    assert joined.law is Law.DESCENT
    assert part.exact_until == cut.time
    assert part.why == "max-steps"
    assert joined.steps == cut.steps + part.iterations
    assert np.all(np.diff(joined.times) >= 0)
    assert joined.losses[len(cut.losses) - 1] == cut.losses[-1]
    assert joined.losses[-1] < cut.losses[-1]
    assert joined.phases[0] == whole.phases[0] or joined.phases[0].name == whole.phases[0].name
    assert f"exact until t = {cut.time:.5g}" in str(part)
    assert "gradient descent" in str(part)


def test_too_few_iterations_are_no_end(cut):
    joined, part = descend_from(cut, until=Stationary(), max_iterations=5)
    assert part.iterations == 5
    assert joined.outcome.is_spent
    assert not joined.outcome.is_limit


def test_the_step_is_half_of_what_is_stable():
    """One neuron on one sample, h = a w: the curvature of (h - y)^2 / 2 at a fit is a^2 + w^2."""
    from reluflow.data.dataset import Dataset

    problem = TrainingProblem(Dataset([[1.0]], [6.0]), SquareLoss(), Network([[2.0]], [3.0]))
    assert stable_step(problem) == pytest.approx(0.5 / 13.0)


def test_a_time_beyond_doubles_is_refused(cut):
    from dataclasses import replace

    with pytest.raises(InvalidInputError, match="`flow` must have ended at a finite time"):
        descend_from(replace(cut, time=np.inf), until=Stationary(), max_iterations=5)


def test_a_descent_that_time_ended_says_so(cut):
    """Its outcome was `max-steps`, with the advice to raise `max_steps`, which nobody had given."""
    joined, part = descend_from(cut, until=Stationary(), max_iterations=10**12, max_seconds=1e-9)
    assert joined.outcome is Outcome.MAX_SECONDS
    assert part.iterations > 0


def test_no_descent_where_the_flow_is_ahead_of_it():
    """Circles of 100 samples: the flow was left at t = 37,639, and 51,750 steps of descent brought it to 41,899.

    In the same seconds the flow comes to t = 766,993 by itself, exactly.
    """
    data = load("three-points")
    network = balanced_initialization(data, width=20, scale=1e-2, rng=np.random.default_rng(1))
    problem = TrainingProblem(data, SquareLoss(), network)
    assert follow_flow(problem, max_steps=12).descent is not None
    behind = _affordable_iterations(problem) * stable_step(problem)
    outputs = network.outputs(data.X)
    assert _descent_helps(problem, network, outputs, 0.9 * behind)
    assert not _descent_helps(problem, network, outputs, 1.1 * behind)
