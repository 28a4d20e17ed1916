"""Descent that records the walls its neurons meet: the same iterates as plain descent, the right events."""

import numpy as np
import pytest

from problems import small_problem
from reluflow import Dataset, EventDrivenFlow, GradientDescent, Keep, Network, SquareLoss, TrainingProblem, train
from reluflow.errors import InvalidInputError
from reluflow.learning_rates.watched_descent import DescentRule, WatchedDescent
from reluflow.learning_rates.watched_descent_kernels import CROSSING, SLIDE_ENTRY, SLIDE_EXIT


def test_iterates_are_those_of_gradient_descent():
    problem = small_problem(width=12, scale=1e-1, seed=3)
    descent = WatchedDescent(problem, DescentRule(0.02))
    descent.advance(500)
    plain = train(problem, GradientDescent(lr=0.02, iterations=500), keep=Keep(iterations=[500])).snapshots[-1]
    np.testing.assert_allclose(descent.network().w, plain.network.w, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(descent.outputs(), plain.outputs, rtol=1e-10)
    assert descent.time == pytest.approx(10.0)


def test_momentum_and_decay_by_hand():
    problem = TrainingProblem(Dataset([[2.0]], [3.0]), SquareLoss(), Network([[0.5]], [0.4]), weight_decay=0.1)
    descent = WatchedDescent(problem, DescentRule(0.1, momentum=0.9))
    descent.advance(3)
    w, a, velocity = 0.5, 0.4, np.zeros(2)
    for _ in range(3):
        force = 3.0 - 2.0 * w * a
        velocity = 0.9 * velocity + np.array([2.0 * a * force - 0.1 * w, 2.0 * w * force - 0.1 * a])
        w, a = w + 0.1 * velocity[0], a + 0.1 * velocity[1]
    np.testing.assert_allclose([descent.network().w[0, 0], descent.network().a[0]], [w, a], rtol=1e-13)


def test_a_batch_of_every_sample_once_is_unbiased():
    """The force of a drawn sample counts n / batch times, so that the mean over draws is the full gradient."""
    problem = small_problem(width=3, scale=0.5, seed=0)
    start = problem.network.materialized()
    moves = []
    for seed in range(4000):
        descent = WatchedDescent(problem, DescentRule(1e-3, batch=1, seed=seed))
        descent.advance(1)
        moves.append(descent.network().w - start.w)
    full = WatchedDescent(problem, DescentRule(1e-3))
    full.advance(1)
    error = np.std(moves, axis=0) / np.sqrt(len(moves))
    assert np.all(np.abs(np.mean(moves, axis=0) - (full.network().w - start.w)) < 5.0 * error + 1e-15)


def one_neuron(labels, w, *, a=1.0, leak=0.0):
    """Samples along the axes, one neuron."""
    return TrainingProblem(Dataset(np.eye(2), labels), SquareLoss(reduction="sum"), Network([w], [a], leak=leak))


def test_a_crossing_is_one_event():
    """Pulled away from the first sample, which then no longer acts: the neuron passes its wall once."""
    problem = one_neuron([-2.0, 3.0], [0.2, 1.0], leak=0.5)
    descent = WatchedDescent(problem, DescentRule(0.01))
    descent.advance(300)
    events = descent.events()
    assert (events.neurons.tolist(), events.walls.tolist(), events.kinds.tolist()) == ([0], [0], [CROSSING])
    assert events.sides.tolist() == [-1]
    step = round(events.times[0] / 0.01)
    before, after = (WatchedDescent(problem, DescentRule(0.01)) for _ in range(2))
    before.advance(step - 1)
    after.advance(step)
    assert before.network().w[0, 0] > 0.0 >= after.network().w[0, 0]


def test_chattering_is_a_slide():
    """Two points on which a neuron of the flow slides; descent jumps to and fro across that wall."""
    data = Dataset([[1.0, 0.0], [0.5, 1.0]], [1.0, -1.0], task="regression")
    problem = TrainingProblem(data, SquareLoss(), Network([[0.3, 0.2], [0.2, -0.4]], [0.5, -0.5]))
    flow = train(problem, EventDrivenFlow(), until=10.0).events
    descent = WatchedDescent(problem, DescentRule(1e-3))
    descent.advance(10_000)
    found = descent.events()
    kinds = {"refraction": CROSSING, "death": CROSSING, "slide-entry": SLIDE_ENTRY, "slide-exit": SLIDE_EXIT}
    assert SLIDE_ENTRY in found.kinds
    assert found.kinds.tolist() == [kinds[event.kind.value] for event in flow]
    assert found.walls.tolist() == [event.sample for event in flow]
    np.testing.assert_allclose(found.times, flow.times, atol=5e-3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lr": 0.0}, "`lr` must be positive and finite, got 0"),
        ({"lr": 0.1, "momentum": 1.0}, r"`momentum` must lie in \[0, 1\), got 1"),
        ({"lr": 0.1, "batch": 0}, "`batch` must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_rules_are_refused(settings, words):
    with pytest.raises(InvalidInputError, match=words):
        DescentRule(**settings)


def test_an_overflow_ends_the_descent():
    descent = WatchedDescent(one_neuron([-2.0, 3.0], [0.2, 1.0], leak=0.5), DescentRule(50.0))
    descent.advance(10_000)
    assert descent.has_overflowed
    assert descent.steps < 100
