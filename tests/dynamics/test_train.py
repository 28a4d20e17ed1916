"""The loop: snapshots, stopping, outcomes, phases, refusals, and the contract every solver meets."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from problems import small_problem
from reluflow.data import Dataset, load
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.event import EventKind
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.flow_choice import choose_flow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.phases import find_phases
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import Aligned, AtTime, DirectionConverged, Stationary
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome
from reluflow.errors import InvalidInputError
from reluflow.geometry.alignment import align_until
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network import Network, balanced_initialization, circle_quadrature


@pytest.fixture
def problem():
    return small_problem(width=30, scale=1e-2)


def test_requested_times_come_before_stopping(problem):
    trajectory = train(problem, EventDrivenFlow(), until=AtTime(1.0), times=[2.5])
    assert trajectory.snapshots[0].time == 2.5


def test_frames_are_even_in_what_changes(problem):
    """Most steps are taken where neurons cross and the outputs hardly move; frames went there and missed the fit."""
    largest = {}
    for evenly in ("steps", "change"):
        run = train(problem, EventDrivenFlow(), keep=Keep(thinned=20, evenly=evenly))
        assert 2 < len(run.frames) <= 20
        assert run.frames[0].time == 0.0
        outputs = np.array([frame.outputs for frame in (*run.frames, run.end)])
        largest[evenly] = np.max(np.abs(np.diff(outputs, axis=0)))
    assert largest["change"] < largest["steps"]
    with pytest.raises(InvalidInputError, match="`evenly` must be 'steps' or 'change', got 'time'"):
        Keep(evenly="time")


def test_a_recorder_sees_the_start_and_every_step(problem):
    seen = []
    run = train(problem, EventDrivenFlow(), until=AtTime(5.0), keep=Keep(recorder=lambda run: seen.append(run.time)))
    assert seen == run.times.tolist()


def test_outcomes(problem):
    assert train(problem, EventDrivenFlow()).outcome is Outcome.STATIONARY
    assert train(problem, EventDrivenFlow(), horizon=3.0).outcome is Outcome.HORIZON
    assert train(problem, EventDrivenFlow(), horizon=3.0).time == 3.0
    assert train(problem, EventDrivenFlow(max_steps=5)).outcome is Outcome.MAX_STEPS
    assert train(problem, EventDrivenFlow(), until=AtTime(2.0)).outcome is Outcome.HORIZON
    codes = [outcome.code for outcome in Outcome]
    assert len(set(codes)) == len(codes)
    assert all(outcome.sentence.endswith(".") for outcome in Outcome)
    assert str(Outcome.DIRECTION_CONVERGED) == "direction-converged"


def test_aligned_is_when_the_closed_form_says():
    problem = small_problem(width=20, scale=1e-12, seed=3)
    data, network = problem.dataset, problem.network
    trajectory = train(problem, EventDrivenFlow(), until=Aligned(1e-4))
    assert trajectory.outcome is Outcome.ALIGNED
    forces = problem.loss.label_forces(data.y)
    state = align_until(data.X, forces, network.w, network.a, trajectory.time)
    slope = np.where(state.w @ data.X.T > 1e-14, 1.0, 0.0)
    pull = (slope * forces) @ data.X
    moving = np.linalg.norm(pull, axis=1) > 0
    cosine = np.sum(state.w * pull, axis=1)[moving] * np.sign(state.a[moving])
    cosine /= np.linalg.norm(state.w, axis=1)[moving] * np.linalg.norm(pull, axis=1)[moving]
    assert np.min(cosine) > 1 - 1.001e-4


def test_direction_is_not_taken_as_converged_during_growth():
    """Aligned neurons under frozen forces do not turn either; only past every margin does it mean convergence."""
    dataset = Dataset([[2.0, 1.0], [1.0, 2.0], [-2.0, -0.5], [-0.6, -1.6]], [1.0, 1.0, -1.0, -1.0])
    network = balanced_initialization(dataset, width=8, scale=1e-4, rng=np.random.default_rng(4))
    trajectory = train(TrainingProblem(dataset, LogisticLoss(), network), EventDrivenFlow(), log_horizon=3000.0)
    assert trajectory.outcome is Outcome.DIRECTION_CONVERGED
    assert np.min(trajectory.predictions * dataset.y) >= 10.0


def test_data_that_no_network_separates_have_a_minimum():
    """One input with labels 1, 1, -1: the logistic loss ends at the log-odds ln 2, a minimum that Newton polishes."""
    dataset = Dataset([[1.0, 0.5]] * 3, [1.0, 1.0, -1.0])
    network = balanced_initialization(dataset, width=6, scale=0.3, rng=np.random.default_rng(0), leak=0.1)
    trajectory = train(TrainingProblem(dataset, LogisticLoss(), network), EventDrivenFlow())
    assert trajectory.outcome is Outcome.STATIONARY
    np.testing.assert_allclose(trajectory.predictions, np.log(2.0), atol=1e-12)  # log-odds of 2 to 1
    assert trajectory.limit.gradient_norm < 1e-13


def test_a_dead_network_is_stationary_at_once():
    problem = TrainingProblem(Dataset([[1.0, 0.0]], [1.0]), SquareLoss(), Network(w=[[-1.0, 0.3]], a=[2.0]))
    trajectory = train(problem, EventDrivenFlow())
    assert trajectory.outcome is Outcome.STATIONARY
    np.testing.assert_array_equal(trajectory.network.w, [[-1.0, 0.3]])


def test_neurons_may_start_with_silent_output(problem):
    """a = 0 is left at once, to the side that <w, D> decides; w and a then follow the same boost as from a = 1e-14."""
    silent = Network(w=[[0.4, 0.3], [-0.2, 0.5]], a=[0.0, 0.0])
    nearly = Network(w=[[0.4, 0.3], [-0.2, 0.5]], a=[1e-14, 1e-14])
    ends = [
        train(replace(problem, network=network), EventDrivenFlow(), until=AtTime(20.0)).network
        for network in (silent, nearly)
    ]
    np.testing.assert_allclose(ends[0].w, ends[1].w, atol=1e-10)
    assert np.all(np.abs(ends[0].a) > 0.1)


def test_the_newton_limit_is_where_the_flow_goes(problem):
    early = train(problem, EventDrivenFlow(), until=Stationary(1e-5))
    late = train(problem, EventDrivenFlow(rtol=1e-12), until=AtTime(600.0))
    assert early.limit.is_polished
    assert early.time < 150.0
    np.testing.assert_allclose(early.network.w, late.network.w, atol=1e-8)


def test_events_are_in_order_and_counted(problem):
    trajectory = train(problem, EventDrivenFlow(), until=AtTime(8.0))
    assert np.all(np.diff(trajectory.events.times) >= 0)
    assert trajectory.crossings == sum(trajectory.events.count(k) for k in ("refraction", "slide-entry", "death"))
    assert {event.kind for event in trajectory.events} <= set(EventKind)
    assert len(trajectory.events.of_kind("death")) == trajectory.events.count("death")
    assert trajectory.events[:3].times.shape == (3,)


def test_phases_of_a_run_without_training():
    t, h = np.array([0.0, 5.0]), np.array([[1e-9], [1e-9]])
    assert [phase.name for phase in find_phases(t, np.array([1.0, 1.0]), h, label_scale=1.0)] == ["alignment"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: EventDrivenFlow(rtol=0.0), "`rtol` must lie between"),
        (lambda p: EventDrivenFlow(ridge="left"), "`ridge` must be one of stop, positive, negative, stay"),
        (lambda p: EventDrivenFlow(max_steps=0), "`max_steps` must be at least 1"),
        (lambda p: Stationary(-1.0), "`atol` must be positive"),
        (lambda p: DirectionConverged(0.0), "`atol` must be positive"),
        (lambda p: Aligned(np.nan), "`atol` must be positive"),
        (lambda p: AtTime(0.0), "`time` must be positive"),
        (lambda p: train(p, EventDrivenFlow(), horizon=0.0), "`horizon` must be positive"),
        (lambda p: train(p, EventDrivenFlow(), times=[-1.0]), "`times` must hold finite times"),
        (lambda p: TrainingProblem(p.dataset, LogisticLoss(), p.network), "`y` must hold only the labels -1 and 1"),
        (
            lambda p: TrainingProblem(p.dataset.replace(X=0.0 * p.dataset.X), p.loss, p.network),
            "`dataset` must hold a sample that is not zero",
        ),
        (
            lambda p: TrainingProblem(p.dataset, p.loss, Network(w=[[1.0]], a=[1.0])),
            "`network` expects inputs of dimension 1 but `dataset` has dimension 2",
        ),
    ],
)
def test_refusals_say_what_was_expected(problem, call, words):
    with pytest.raises(InvalidInputError, match=words.replace("(", r"\(")):
        call(problem)


def test_a_sample_that_no_neuron_sees_leaves_no_finite_limit():
    """One sample ends at h = 0 with every neuron off while the others fade for ever: nothing comes to rest.

    Against the constant force of that sample the gradient once underflowed to 0, the run was called stationary, and
    Newton's method towards its limit ran away and overflowed.
    """
    X = np.array([[1.0, 0.2], [0.3, 1.0], [-1.0, -0.5]])
    problem = TrainingProblem(Dataset(X, [1.0, 1.0, 1.0]), LogisticLoss(), Network([[1.0, 1.0]], [1.0]))
    trajectory = train(problem, EventDrivenFlow(max_steps=3000), until=Stationary())
    assert trajectory.outcome is Outcome.MAX_STEPS
    assert trajectory.log_time > 750.0  # where e^-t was 0
    assert trajectory.predictions[2] == 0.0
    assert not trajectory.limit.is_polished
    assert np.all(np.isfinite(trajectory.network.w))


def test_labels_that_are_all_zero_have_an_end():
    """Relative to a loss of 0 nothing is ever fitted: the run went on for ever while the outputs faded like 1/t."""
    data = Dataset([[1.0, 0.5], [0.2, 1.0], [-1.0, 0.3]], [0.0, 0.0, 0.0])
    network = balanced_initialization(data, width=10, scale=1e-2, rng=np.random.default_rng(0))
    run = train(TrainingProblem(data, SquareLoss(), network), EventDrivenFlow(max_steps=20_000))
    assert run.outcome is Outcome.STATIONARY
    assert run.loss < 1e-9 * run.losses[0]


@pytest.mark.parametrize("solver", ["auto", "event-driven", "collocation"])
@pytest.mark.parametrize("rtol", [1e-2, 1e-4, 1e-6])
def test_every_tolerance_comes_to_rest(solver, rtol):
    """`train three-points --rtol 1e-4` never ended: the errors of its steps kept the gradient above the rule's 1e-8."""
    problem = small_problem(width=20, scale=1e-3)
    run = train(problem, choose_flow(problem, solver=solver, rtol=rtol, max_steps=2000).solver)
    assert run.outcome is Outcome.STATIONARY
    assert run.loss == pytest.approx(0.0875213675, abs=1e-8)


def test_snapshots_are_had_by_their_time():
    run = train(small_problem(width=5, scale=1e-2), EventDrivenFlow(), times=[1.0, 2.0], until=3.0)
    assert run.snapshot_at(2.0) is run.snapshots[1]
    with pytest.raises(InvalidInputError, match=r"`time` must be one at which a snapshot was taken \(1, 2\), got 1.5"):
        run.snapshot_at(1.5)


@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
def test_infinitely_many_neurons_come_to_rest_at_every_tolerance(rtol):
    # at 1e-6 the errors of the steps kept forty thousand nodes moving for ever, at rest in all digits shown
    data = load("three-points")
    network = circle_quadrature(data, num_nodes=1000, scale="1e-3")
    run = train(TrainingProblem(data, SquareLoss(), network), EventDrivenFlow(rtol=rtol), max_steps=3000)
    assert run.outcome is Outcome.STATIONARY


@pytest.mark.parametrize(
    ("solver", "has_own"), [(CollocationFlow(), True), (GradientDescent(lr=0.1, iterations=2), False)]
)
def test_products_keep_to_one_core_beside_threads_of_the_solver(solver, has_own, monkeypatch):
    """With two threads of the library 12,665 images were right after 345 s, with one after 245."""
    asked = []

    @contextmanager
    def noted(num_samples, dimension, *, has_own_threads):
        asked.append(has_own_threads)
        yield

    monkeypatch.setattr("reluflow.dynamics.train.matrix_threads", noted)
    train(small_problem(width=4, scale=0.1), solver, max_steps=2)
    assert asked == [has_own]
