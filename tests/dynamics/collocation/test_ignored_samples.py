"""A sample that no neuron acts on for ages, and is then met: the clocks of before and after differ by e^1000."""

from dataclasses import replace

import numpy as np
import pytest

from reluflow import (
    CollocationFlow,
    Dataset,
    EventDrivenFlow,
    LogisticLoss,
    Network,
    SoftmaxLoss,
    TrainingProblem,
    balanced_initialization,
    train,
)
from reluflow.certificates.direction import ignored_samples
from reluflow.certificates.hard_margin import hard_margin
from reluflow.certificates.limits.certified_limit import LimitIdentified, certified_limit
from reluflow.dynamics.collocation.carried_neurons import _empty_paths
from reluflow.dynamics.collocation.sample_forces import SampleForces
from reluflow.dynamics.event import EventKind
from reluflow.dynamics.stopping import AtTime, DirectionConverged
from reluflow.dynamics.trajectory import Outcome
from reluflow.geometry.boundary.events import REFRACTION, SLIDE_ENTRY, SLIDE_EXIT
from reluflow.geometry.boundary.walls import Walls

ANGLE = np.arctan2(0.8, 1.0)  # of the direction of largest margin of the first two samples


def late_meeting(width: float) -> TrainingProblem:
    """A neuron that turns to the best direction of two samples like 0.03/ln t and meets a third `width` before it."""
    beyond = [np.sin(ANGLE + width), -np.cos(ANGLE + width)]
    data = Dataset([[1.0, 0.0], [0.2, 1.0], beyond], [1.0, 1.0, 1.0])
    return TrainingProblem(data, LogisticLoss(), Network([[0.1, 1.0]], [np.hypot(0.1, 1.0)]))


@pytest.mark.parametrize("solver", [CollocationFlow(rtol=1e-8), EventDrivenFlow()], ids=["collocation", "events"])
@pytest.mark.parametrize("width", [1e-4, 2e-5])
def test_a_sample_met_after_e1000_is_learnt(width, solver):
    """It pulls e^1000 times as hard as the others: the step was stretched by that factor, and the run stalled.

    At 2,000 digits of MNIST, where it was found, an ignored image is met at ln t = 2356. In the event-driven flow such
    a sample held the clock: steps grew with t, to 1e156, where their squares are infinite and outputs were nan.
    """
    problem = late_meeting(width)
    run = train(problem, solver, until=LimitIdentified())
    assert run.outcome is Outcome.DIRECTION_CONVERGED
    assert [event.sample for event in run.events] == [2]
    limit = certified_limit(run)
    assert limit.is_proof
    best = hard_margin(problem.dataset.X)  # all labels are 1
    assert np.allclose(
        limit.network.w[0] / np.linalg.norm(limit.network.w[0]), best.w / np.linalg.norm(best.w), atol=1e-12
    )


def test_it_is_met_when_the_other_solver_meets_it():
    problem = late_meeting(1e-3)
    one = train(problem, CollocationFlow(rtol=1e-9), until=LimitIdentified())
    two = train(problem, EventDrivenFlow(rtol=1e-10), until=LimitIdentified())
    assert [event.sample for event in two.events] == [2]
    assert one.events[0].time == pytest.approx(two.events[0].time, rel=1e-6)  # 1.6e12; measured 4e-8
    assert certified_limit(one).certificate.margin == pytest.approx(certified_limit(two).certificate.margin, rel=1e-12)


def in_three_dimensions(seed: int) -> TrainingProblem:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((16, 3))
    data = Dataset(X, np.sign(X[:, 0] + 0.3 * X[:, 1]))
    return TrainingProblem(data, LogisticLoss(), balanced_initialization(data, width=6, scale=1e-2, rng=rng))


@pytest.mark.parametrize("seed", [191, 219])
def test_a_neuron_leaves_the_wall_of_an_ignored_sample_where_it_is_off(seed):
    """That wakes nobody. It was taken for a meeting: the clock changed, changed back, and the run stalled at t = 1e19.

    12,665 digits of MNIST hung there for good. Measured against the event-driven flow: 4e-8 and 6e-9.
    """
    problem, until = in_three_dimensions(seed), AtTime(1e30)
    run = train(problem, CollocationFlow(rtol=1e-9), until=until)
    assert run.time == 1e30
    ignored = ignored_samples(run.network, problem.dataset)
    assert any(event.sample in ignored and event.kind is EventKind.SLIDE_EXIT for event in run.events)
    other = train(problem, EventDrivenFlow(rtol=1e-10), until=until).end.outputs
    assert np.max(np.abs(run.end.outputs - other)) <= 1e-6 * np.max(np.abs(other))


def test_an_ignored_sample_does_not_tighten_the_steps():
    """Its force, cut at 1e6 of the largest, counted as one that the others cancel: forces got two digits more.

    And what was guessed of the next step took it for one that changes with the others.
    """
    problem = in_three_dimensions(191)
    run = CollocationFlow(rtol=1e-7).start(problem)
    while run.time < 1e10:
        run.advance(1e10, 1)
    is_ignored = ~run._state.samples.counted
    assert np.any(is_ignored)
    forces, pulls = run._state.forces, run._state.pulls()
    without = np.where(is_ignored, 0.0, forces)
    assert np.max(np.abs(forces[is_ignored])) > 1e4 * np.max(np.abs(without))
    left = run._state._present.cancellation(forces, pulls, run._state.log_rate)
    assert left == run._state._present.cancellation(without, pulls, run._state.log_rate)
    assert np.all(run._state._present.slopes(run._state.outputs, forces, pulls)[is_ignored] == 0.0)


@pytest.mark.parametrize(("sides", "kinds", "wakes"), [
    ((-1, 0), (SLIDE_EXIT, SLIDE_ENTRY), False),
    ((0,), (SLIDE_ENTRY,), False),
    ((1, 0), (REFRACTION, SLIDE_ENTRY), True),
    ((-1, 1), (SLIDE_EXIT, REFRACTION), True),
])  # fmt: skip
def test_who_leaves_the_wall_of_an_ignored_sample_and_comes_back_within_a_step_has_not_met_it(sides, kinds, wakes):
    """Where an event leads was read off the end of the step: a neuron that leaves such a wall where it is off, and
    slides along it again before the step ends, was taken for one that meets the sample.

    12,665 digits of MNIST hung there for good, at an output of 1e9: the clock changed to and fro.
    """
    data = Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    problem = TrainingProblem(data, LogisticLoss(), Network([[1.0, -1.0]], [1.0]))
    walls = Walls.of(data.X)
    samples = SampleForces(problem, walls)
    samples.counted = np.array([True, False])
    ignored = int(walls.wall_of_sample[1])
    paths = _empty_paths(1, 2, 2, 4)
    for place, (side, kind) in enumerate(zip(sides, kinds, strict=True)):
        paths.event_walls[0, place], paths.event_taus[0, place] = ignored, 0.1 * place
        paths.event_kinds[0, place], paths.event_sides[0, place] = kind, side * walls.orientation[1]
    paths.num_events[0] = len(sides)
    assert (samples.first_contact(paths) < np.inf) is wakes
    assert bool(samples.contacts(paths, 1.0)) is wakes


@pytest.mark.parametrize("is_binary", [True, False])
def test_a_direction_converges_beside_an_ignored_sample(is_binary):
    """Two of 2,000 images that no neuron acts on kept every run of three classes from ever coming to its direction.

    The margin of an ignored sample is 0 for ever. While another is classified wrongly nothing has converged.
    """
    X = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]
    if is_binary:
        data = Dataset(X, [1.0, -1.0, 1.0])
        network = Network([[0.1, 0.0], [0.0, 0.1]], [0.1, -0.1])
        problem = TrainingProblem(data, LogisticLoss(), network)
    else:
        data = Dataset(X, [0, 1, 2], classes=("a", "b", "c"))
        network = Network([[0.1, 0.0], [0.0, 0.1]], v=[[0.1, 0.0, 0.0], [0.0, 0.1, 0.0]])
        problem = TrainingProblem(data, SoftmaxLoss(), network)
    run = train(problem, CollocationFlow(), until=DirectionConverged(atol=1e-2), max_steps=500)
    assert run.outcome is Outcome.DIRECTION_CONVERGED
    assert np.all(run.predictions[2] == 0.0)
    assert np.all(problem.loss.margins(run.predictions, data.y)[:2] >= 10.0)
    wrong = replace(problem, dataset=replace(data, y=np.roll(data.y, 1) if is_binary else np.array([1.0, 0.0, 2.0])))
    start = CollocationFlow().start(replace(wrong, network=run.network))
    assert DirectionConverged(atol=1e-2).start()(start) is None
