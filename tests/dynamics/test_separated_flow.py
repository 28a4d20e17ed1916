"""The flow in independent parts is the flow, and takes no longer where one part waits for another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.event_driven.separated_flow import SeparatedFlow, separate_parts
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.train import train
from reluflow.losses import ExponentialLoss, LogisticLoss, SquareLoss
from reluflow.network import Network, initialization_named, neuron_rng

DATA = Dataset(
    [[2.0, 0.3], [1.5, -0.2], [-0.7, 0.1], [-0.6, -0.2]], [1.0, 1.0, -1.0, -1.0]
)  # the classes pull by 3.5, 1.3


def _problem(loss, *, scale="1e-8", leak=0.0, data=DATA):
    network = initialization_named("balanced")(data, width=10, scale=scale, rng=neuron_rng(1), leak=leak)
    return TrainingProblem(data, loss, network)


@pytest.mark.parametrize(
    "loss", [ExponentialLoss(reduction="sum"), ExponentialLoss(), LogisticLoss(factor=2.0)], ids=repr
)
@pytest.mark.parametrize("scale", ["1e-2", "1e-30"])
def test_parts_make_the_same_run_as_the_whole(loss, scale):
    problem = _problem(loss, scale=scale)
    last = 3.0 * (1.0 - problem.network.log_scale) * (4.0 if loss.reduction == "mean" else 1.0)
    times = np.linspace(0.0, last, 12)[1:]
    whole, parts = (train(problem, solver, until=last, times=times) for solver in (EventDrivenFlow(), SeparatedFlow()))
    assert parts.steps < whole.steps
    for one, other in zip(whole.snapshots, parts.snapshots, strict=True):
        assert other.time == one.time
        np.testing.assert_allclose(other.outputs, one.outputs, rtol=1e-7, atol=1e-9)
        rows = [np.column_stack([s.network.w, s.network.a]) for s in (one, other)]
        rows[1] *= np.exp(other.network.log_scale - one.network.log_scale)
        sizes = np.linalg.norm(rows[0], axis=1)
        assert float(np.max(np.linalg.norm(rows[1] - rows[0], axis=1) / sizes)) < 1e-7
    assert list(parts.events) == list(whole.events)
    assert parts.balancedness_drift < 1e-9


def test_a_class_that_is_fitted_does_not_wait_for_the_other_in_small_steps():
    """From e^-60000 the second class fits 30,000 time units after the first: there were 128,000 steps on the way."""
    problem = _problem(ExponentialLoss(reduction="sum"))
    problem = replace(problem, network=problem.network.scaled(-60_000.0))
    run = train(problem, SeparatedFlow(), until=60_000.0, times=[30_000.0, 60_000.0])
    assert run.steps < 100
    middle, end = run.snapshots
    assert np.min((DATA.y * middle.outputs)[:2]) > 5.0
    assert np.all(middle.outputs[2:] == 0.0)
    assert middle.log_sizes is not None
    assert np.min(middle.log_sizes) < -10_000.0
    assert np.min(DATA.y * end.outputs) > 5.0


def test_sizes_beyond_doubles_are_those_of_the_neurons():
    """`log_sizes` left out the part of a neuron's growth since its vector was last normalised: up to an e-fold."""
    problem = _problem(ExponentialLoss(reduction="sum"))
    problem = replace(problem, network=problem.network.scaled(-1500.0))
    times = [400.0, 500.0, 600.0]
    whole, parts = (train(problem, solver, until=600.0, times=times) for solver in (EventDrivenFlow(), SeparatedFlow()))
    for one, other in zip(whole.snapshots, parts.snapshots, strict=True):
        assert (one.log_sizes is None) == (other.log_sizes is None)
        if one.log_sizes is not None:
            np.testing.assert_allclose(one.log_sizes, other.log_sizes, rtol=0.0, atol=1e-6)
            heavy = one.log_sizes > -600.0
            held = np.linalg.norm(np.column_stack([one.network.w, one.network.a]), axis=1)
            np.testing.assert_allclose(one.log_sizes[heavy], np.log(held[heavy]), rtol=0.0, atol=1e-9)
    assert sum(snapshot.log_sizes is not None for snapshot in whole.snapshots) >= 2


def test_without_a_limit_the_clock_doubles():
    run = SeparatedFlow().start(_problem(ExponentialLoss(reduction="sum")))
    for _ in range(40):
        run.advance(np.inf, 1)
    assert run.outcome is None
    assert run.time > 1e4
    assert run.log_time == pytest.approx(np.log(run.time))


def _trapped(a=(1.0, -1.0)):
    return Network([[1.0, 0.0], [-1.0, 0.0]], a)


def test_parts_share_no_active_sample_and_every_neuron_is_trapped():
    parts = separate_parts(TrainingProblem(DATA, LogisticLoss(), _trapped()), _trapped())
    assert [(list(neurons), list(samples)) for neurons, samples in parts] == [([1], [2, 3]), ([0], [0, 1])]


def test_a_neuron_that_can_leave_its_pattern_keeps_the_whole_together():
    problem = TrainingProblem(DATA, LogisticLoss(), _trapped())
    assert separate_parts(problem, _trapped(a=(-1.0, -1.0))) is None  # pushed away from the samples it is active on
    tilted = Network([[0.1, 1.0], [-1.0, 0.0]], [1.0, -1.0])  # active on some of the negative samples too
    assert separate_parts(problem, tilted) is None
    acute = Dataset([[1.0, 0.2], [0.2, 1.0]], [1.0, -1.0])  # classes that pull each other's neurons across
    assert separate_parts(TrainingProblem(acute, LogisticLoss(), _trapped()), Network([[1.0, -0.9]], [1.0])) is None


def test_a_neuron_on_a_wall_is_dead_only_where_it_is_pushed_back():
    data = Dataset([[1.0, 0.0], [-1.0, 0.0]], [1.0, -1.0])
    problem = TrainingProblem(data, LogisticLoss(), _trapped())
    on_wall = Network([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 1.0])
    assert separate_parts(problem, on_wall) is None  # its own sample pulls it off the wall


@pytest.mark.parametrize(
    "problem",
    [
        _problem(SquareLoss(), data=Dataset(DATA.X, [1.0, 0.5, 0.2, -1.0])),
        _problem(LogisticLoss(), leak=0.2),
        replace(_problem(LogisticLoss()), weight_decay=0.1),
    ],
    ids=["square", "leaky", "decaying"],
)
def test_elsewhere_it_is_the_event_driven_flow(problem):
    one, other = (train(problem, solver, until=30.0, times=[30.0]) for solver in (EventDrivenFlow(), SeparatedFlow()))
    assert one.steps == other.steps
    assert np.array_equal(one.network.w, other.network.w)
