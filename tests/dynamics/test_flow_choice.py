"""Which solver `auto` takes when a loose tolerance is asked for, and that it meets the same events."""

import numpy as np
import pytest

import reluflow
from reluflow.data.dataset import Dataset
from reluflow.dynamics import CollocationFlow, EventDrivenFlow, TrainingProblem, choose_flow
from reluflow.dynamics.stopping import AtTime
from reluflow.losses import SquareLoss


def random_problem(n, d, m, seed=1):
    rng = np.random.default_rng(seed)
    data = Dataset(rng.standard_normal((n, d)), rng.standard_normal(n), task="regression")
    network = reluflow.balanced_initialization(data, width=m, scale=1e-3, rng=rng)
    return TrainingProblem(data, SquareLoss(), network)


@pytest.mark.parametrize(
    ("size", "rtol", "name"),
    [
        ((10, 2, 50), None, "event-driven"),
        ((10, 2, 50), 1e-10, "event-driven"),
        ((10, 2, 50), 1e-7, "event-driven"),
        ((10, 3, 100), 1e-6, "event-driven"),
        ((10, 3, 100), 1e-5, "collocation"),
        ((10, 3, 100), 1e-4, "collocation"),
        ((10, 2, 50), 1e-4, "event-driven"),
        ((5, 2, 20), 1e-4, "event-driven"),  # so small that nothing is gained
        ((3, 2, 300), 1e-4, "event-driven"),  # many neurons in few cones
    ],
)
def test_a_loose_tolerance_takes_the_solver_that_it_makes_faster(size, rtol, name):
    """An `rtol` of 1e-4 cost as much as 1e-10: event-driven steps end at events, whatever is asked."""
    assert choose_flow(random_problem(*size), rtol=rtol).name == name


@pytest.mark.parametrize("seed", range(3))
def test_loose_runs_meet_the_events_of_tight_ones_in_their_order(seed):
    problem = random_problem(10, 2, 40, seed)
    exact = reluflow.train(problem, EventDrivenFlow(), until=AtTime(50.0))
    for rtol in (1e-6, 1e-4):
        loose = reluflow.train(problem, CollocationFlow(rtol=rtol), until=AtTime(50.0))
        own = [events_of(loose, j) for j in range(40)]
        assert own == [events_of(exact, j) for j in range(40)]
        np.testing.assert_allclose(
            loose.predictions, exact.predictions, atol=20.0 * rtol * np.max(np.abs(problem.dataset.y))
        )


def events_of(run, neuron):
    """(sample, kind) of what a neuron meets, in the order of time."""
    of_neuron = run.events.neurons == neuron
    return list(zip(run.events.samples[of_neuron].tolist(), run.events.codes[of_neuron].tolist(), strict=True))
