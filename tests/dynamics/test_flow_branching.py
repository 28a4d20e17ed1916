"""Neurons whose way depends on the tolerance: one is put where it does, by bisection, and only it is named."""

import itertools

import numpy as np
import pytest

import reluflow
from reluflow import Network, TrainingProblem, train
from reluflow.data import Dataset
from reluflow.dynamics import CollocationFlow, EventDrivenFlow
from reluflow.dynamics.branching import branching_of
from reluflow.dynamics.stopping import AtTime, Exhausted
from reluflow.losses import ExponentialLoss, SquareLoss

DATA = Dataset(np.array([[1.0, 0.3], [0.4, 1.0], [0.9, -0.7]]), [1.5, -0.4, 0.8])
END = AtTime(12.0)


def problem_with(angle):
    """Two neurons that learn and turn D, and a light one near the direction that D repels."""
    w = np.array([[0.3, 0.1], [0.1, -0.3], [1e-6 * np.cos(angle), 1e-6 * np.sin(angle)]])
    a = np.array([1.0, -1.0, 1.0]) * np.linalg.norm(w, axis=1)
    return TrainingProblem(DATA, SquareLoss(), Network(w=w, a=a, leak=0.3))


def side_taken(angle, solver):
    w = train(problem_with(angle), solver, until=END).network.w[2]
    return np.arctan2(w[1], w[0])


def on_the_edge(solver):
    """An angle at which the light neuron goes one way, and one next to it at which it goes the other way."""
    ways = ((angle, side_taken(angle, solver)) for angle in np.linspace(0.0, 2.0 * np.pi, 25))
    low, high, end = next(
        (low, high, end) for (low, end), (high, other) in itertools.pairwise(ways) if abs(other - end) > 1.0
    )
    while high - low > 1e-12:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if abs(side_taken(middle, solver) - end) < 0.5 else (low, middle)
    return low, high


def test_a_neuron_on_the_edge_depends_on_the_tolerance():
    solver = CollocationFlow(rtol=1e-5)
    found = [branching_of(train(problem_with(a), solver, until=END), solver) for a in on_the_edge(solver)]
    assert sorted(len(one.branches) for one in found) == [0, 1]  # the exact way is one of the two
    named = next(one for one in found if one.branches)
    assert named.branches[0].neuron == 2
    assert named.branches[0].turn > 0.5
    assert named.branches[0].event is None or named.branches[0].event.neuron == 2
    assert named.output_change < 1e-4  # the outputs do not show it: the neuron is light
    assert "1 neuron (2) ends elsewhere" in named.sentence


@pytest.mark.parametrize("solver", [CollocationFlow(rtol=1e-6), EventDrivenFlow(rtol=1e-8)])
def test_an_ordinary_run_has_no_branches(solver):
    found = branching_of(train(problem_with(0.4), solver, until=END), solver)
    assert found.is_whole
    assert found.branches == ()
    assert "every neuron goes the same way" in found.sentence


def test_a_repetition_that_is_cut_short_says_nothing_of_the_neurons():
    solver = CollocationFlow(rtol=1e-5)
    found = branching_of(train(problem_with(0.4), solver, until=END), solver, max_seconds=1e-9)
    assert not found.is_whole
    assert found.branches == ()
    assert "nothing can be said" in found.sentence


def test_a_run_beyond_all_times_is_repeated():
    data = Dataset(np.array([[1.0, 0.2], [0.5, 0.9], [-0.8, -0.3], [-0.2, -1.0]]), [1.0, 1.0, -1.0, -1.0])
    network = reluflow.balanced_initialization(data, width=4, scale=1e-2, rng=np.random.default_rng(0))
    solver = CollocationFlow(rtol=1e-6)
    run = train(TrainingProblem(data, ExponentialLoss(), network), solver, until=Exhausted(), log_horizon=1000.0)
    assert run.log_time >= 1000.0
    assert branching_of(run, solver).is_whole
