"""Plain gradient descent against a straightforward implementation, exact identities and published numbers."""

import signal
import threading

import numpy as np
import pytest

from dynamics.descent.descents import descend, random_problem
from problems import small_problem
from reluflow.data import Dataset
from reluflow.dynamics.descent.gradient_descent import DenseRun, GradientDescent, descent_of
from reluflow.dynamics.descent.grouped_descent import GroupedGradientDescent
from reluflow.dynamics.descent.stochastic_gradient_descent import StochasticGradientDescent
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome, TrainingInterrupted
from reluflow.errors import InvalidInputError
from reluflow.losses import ExponentialLoss, LogisticLoss, SquareLoss
from reluflow.network import Network
from reluflow.network.initialization import unbalanced_initialization

LOSSES = [SquareLoss(factor=2.0), LogisticLoss(), LogisticLoss(reduction="sum"), ExponentialLoss(factor=0.5)]


def straightforward(problem, lr, iterations):
    """Gradient descent as one would write it down: (w, a) after the last iteration."""
    network, X, y = problem.network.materialized(), problem.dataset.X, problem.dataset.y
    w, a, weight, leak = network.w, network.a, network.weight, network.leak
    c = problem.loss.factor / (len(y) if problem.loss.reduction == "mean" else 1)
    for _ in range(iterations):
        z = w @ X.T
        h = (weight * a) @ np.where(z > 0, z, leak * z)
        if problem.loss.name == "square":
            force = c * (y - h)
        elif problem.loss.name == "logistic":
            force = c * y / (1 + np.exp(y * h))
        else:
            force = c * y * np.exp(-y * h)
        D = (np.where(z > 0, 1, leak) * force) @ X
        w, a = w + lr * a[:, None] * D, a + lr * np.sum(w * D, axis=1)
    return w, a


def end_of(problem, solver) -> Network:
    run = solver.start(problem)
    run.iterate_to(run.iterations)
    return run.network()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}-{loss.reduction}")
@pytest.mark.parametrize("leak", [0.0, 0.3])
@pytest.mark.parametrize("d", [1, 2, 3, 20])
def test_equals_a_straightforward_implementation(rng, loss, leak, d):
    """One pass over the neurons up to 16 dimensions, matrix products beyond."""
    problem = random_problem(rng, loss=loss, leak=leak, d=d, width=700)  # two blocks, the second not full
    run = GradientDescent(lr=0.02, iterations=200).start(problem)
    run.iterate_to(200)
    network = run.network()
    assert run.outputs() == pytest.approx(network.outputs(problem.dataset.X), rel=1e-13, abs=1e-15)
    w, a = straightforward(problem, 0.02, 200)
    assert np.max(np.abs(network.w - w)) <= 1e-13 * np.max(np.abs(w))
    assert np.max(np.abs(network.a - a)) <= 1e-13 * np.max(np.abs(a))
    assert network.log_scale == 0.0
    assert np.array_equal(network.weight, problem.network.weight)


def test_bit_identical_again_in_chunks_and_on_all_cores(monkeypatch):
    problem = small_problem(width=5000, scale=1e-2, loss=SquareLoss(factor=2.0))
    reference = end_of(problem, GradientDescent(lr=1e-2, iterations=50))
    monkeypatch.setattr("reluflow.dynamics.descent.gradient_descent._SMALLEST_SHARED_WIDTH", 1)
    shared = GradientDescent(lr=1e-2, iterations=50).start(problem)
    for stop in (1, 2, 17, 50):
        shared.iterate_to(stop)
    assert np.array_equal(reference.w, shared.network().w)
    assert np.array_equal(reference.a, shared.network().a)


@pytest.mark.parametrize("d", [2, 20])
def test_slope_at_zero(d):
    """Min et al. (2024), App. E.3: x = e_1, y = -1, w = e_2, a = 1; a slope c > 0 at zero moves w once, to -lr c."""
    x, w = np.eye(d)[:1], np.eye(d)[1:2]
    problem = TrainingProblem(Dataset(x, [-1.0]), SquareLoss(), Network(w, [1.0]))
    for slope, expected in ((0.0, 0.0), (0.5, -0.05), (1.0, -0.1), ("minimum-norm", 0.0), (None, 0.0)):
        network = end_of(problem, GradientDescent(lr=0.1, iterations=20, slope_at_zero=slope))
        assert network.w[0, 0] == pytest.approx(expected)
        assert network.w[0, 1] == 1.0
        assert network.a[0] == 1.0


@pytest.mark.parametrize("d", [2, 20])
def test_minimum_norm_slope_cancels_what_it_can(d):
    """A neuron on the boundary of x_2 whose force can cancel the part of x_1 along x_2 stays on that boundary."""
    X = np.zeros((2, d))
    X[0, :2], X[1, 1] = (1.0, 1.0), 1.0
    problem = TrainingProblem(Dataset(X, [1.0, -2.0]), SquareLoss(reduction="sum"), Network(np.eye(d)[:1], [1.0]))
    network = end_of(problem, GradientDescent(lr=0.01, iterations=1, slope_at_zero="minimum-norm"))
    # h = (1, 0), so the forces are (0, -2): the shortest D takes slope 0 on x_2
    assert np.array_equal(network.w, np.eye(d)[:1])
    moved = TrainingProblem(Dataset(X, [3.0, -4.0]), SquareLoss(reduction="sum"), Network(np.eye(d)[:1], [1.0]))
    network = end_of(moved, GradientDescent(lr=0.01, iterations=1, slope_at_zero="minimum-norm"))
    # forces (2, -4): D = 2 x_1 - 4 eta x_2 is shortest at eta = 1/2, where it is 2 e_1
    assert network.w[0, :2] == pytest.approx([1.02, 0.0], abs=1e-15)


def test_loss_scaled_rate(rng):
    """Lyu et al. (2021), App. J: lr while L > ln 2/n, then lr (ln 2/n)/L; time is the sum of the rates."""
    dataset = Dataset([[1.0, 0.2], [0.3, 1.0], [-1.0, 0.1]], [1.0, 1.0, -1.0])
    network = Network(rng.standard_normal((20, 2)), rng.standard_normal(20), log_scale=np.log(0.1))
    problem = TrainingProblem(dataset, LogisticLoss(), network)
    history = descend(problem, GradientDescent(lr=0.1, iterations=200, loss_scaled=True), iterations=range(201))
    rates = np.diff(history.times)
    threshold = np.log(2.0) / 3
    expected = np.where(history.losses > threshold, 0.1, 0.1 * threshold / history.losses)[:-1]
    assert rates == pytest.approx(expected, rel=1e-9)
    assert history.losses[0] > threshold
    assert history.losses[-1] < 1e-3 * threshold
    descent = descent_of(problem, 0.1, None, loss_scaled=True)
    dense = DenseRun(problem, descent, iterations=200)
    dense.iterate_to(200)
    assert dense.time == pytest.approx(history.times[-1], rel=1e-10)
    assert dense.loss() == pytest.approx(history.losses[-1], rel=1e-9)
    options = {"lr": 0.1, "iterations": 5000, "loss_scaled": True}
    runs = [method(**options).start(problem) for method in (GradientDescent, GroupedGradientDescent)]
    for run in (*runs, DenseRun(problem, descent, iterations=5000)):
        run.iterate_to(5000)
        assert run.outcome is Outcome.VANISHED
        assert 200 < run.steps < 5000
        assert 0.0 < run.loss() < 1e-280


@pytest.mark.parametrize("method", [GradientDescent, GroupedGradientDescent])
def test_control_c_ends_training_in_a_consistent_state(method):
    """The signal comes while machine code runs; the run then stands at a whole iteration."""
    problem = small_problem(width=2000, scale=1e-2, loss=SquareLoss(factor=2.0))
    descend(problem, method(lr=1e-3, iterations=20))  # compile first
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(TrainingInterrupted) as raised:
        train(problem, method(lr=1e-3, iterations=10**9), times=[1e6])
    timer.join()
    trajectory = raised.value.trajectory
    assert trajectory.outcome is Outcome.INTERRUPTED
    assert trajectory.time == pytest.approx(1e-3 * trajectory.steps)
    replayed = end_of(problem, method(lr=1e-3, iterations=trajectory.steps))
    assert np.array_equal(trajectory.network.w, replayed.w)


def test_loss_scaled_advance_never_passes_the_limit(rng):
    dataset = Dataset([[1.0, 0.2], [-1.0, 0.1]], [1.0, -1.0])
    problem = TrainingProblem(dataset, LogisticLoss(), Network(rng.standard_normal((20, 2)), rng.standard_normal(20)))
    run = GradientDescent(lr=0.1, iterations=10**6, loss_scaled=True).start(problem)
    for _ in range(400):
        run.advance(7.25, 10)
        assert run.time <= 7.25
    assert run.time == 7.25


def test_train_goes_to_the_last_iteration_or_the_requested_time(rng):
    problem = random_problem(rng, loss=SquareLoss(), scale=0.01)
    trajectory = train(problem, GradientDescent(lr=0.01, iterations=50), times=[0.0, 0.105, 0.3])
    assert trajectory.outcome is Outcome.HORIZON
    assert trajectory.steps == 50
    assert trajectory.time == 0.01 * 50
    for snapshot, iteration in zip(trajectory.snapshots, (0, 10, 30), strict=True):
        expected = descend(problem, GradientDescent(lr=0.01, iterations=50), iterations=[iteration]).networks[0]
        assert np.array_equal(snapshot.network.w, expected.w)
    stopped = train(problem, GradientDescent(lr=0.01, iterations=50), until=AtTime(0.2))
    assert (stopped.steps, stopped.time) == (20, 0.2)


def test_gradient_is_the_change_of_an_iteration(rng):
    problem = random_problem(rng, loss=LogisticLoss(), leak=0.2)
    run = GradientDescent(lr=0.125, iterations=3).start(problem)
    before, gradient = run.network(), run.gradient()
    run.iterate_to(1)
    velocity = np.column_stack([run.network().w - before.w, run.network().a - before.a]) / 0.125
    square = np.sum(before.weight[:, None] * velocity**2)
    assert gradient.norm == pytest.approx(np.sqrt(square), rel=1e-12)
    along = np.sum(before.weight[:, None] * velocity * np.column_stack([before.w, before.a]))
    assert gradient.turning == pytest.approx(np.sqrt(1 - along**2 / (square * before.squared_norm())), rel=1e-9)
    assert 0.0 <= run.misalignment() <= 2.0
    assert not run.is_settled()


@pytest.mark.parametrize(
    "solver",
    [
        GradientDescent(lr=50.0, iterations=1000),
        GroupedGradientDescent(lr=50.0, iterations=1000),
        StochasticGradientDescent(lr=50.0, batch=6, iterations=1000),
    ],
    ids=lambda solver: type(solver).__name__,
)
@pytest.mark.parametrize("d", [3, 20])
def test_overflow_ends_the_run_at_the_last_finite_iterate(rng, solver, d):
    problem = random_problem(rng, loss=SquareLoss(), scale=3.0, d=d)
    history = descend(problem, solver)
    assert history.outcome is Outcome.DIVERGED
    run = solver.start(problem)
    run.iterate_to(1000)
    assert 0 < run.steps < 20
    network = run.network()
    with np.errstate(all="ignore"):
        w, _ = straightforward(problem, 50.0, run.steps)
        beyond, _ = straightforward(problem, 50.0, run.steps + 1)
    assert np.max(np.abs(w)) < 1e70
    assert not np.max(np.abs(beyond)) < 1e50
    assert network.w == pytest.approx(w, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lr": 0.0}, "`lr` must be positive"),
        ({"lr": np.nan}, "`lr` must be positive"),
        ({"iterations": 0}, "`iterations` must be a whole number of at least 1, got 0"),
        ({"iterations": 2.5}, "got 2.5"),
        ({"slope_at_zero": "half"}, "'minimum-norm', got 'half'"),
    ],
)
def test_refuses_bad_options(changes, words):
    with pytest.raises(InvalidInputError, match=words):
        GradientDescent(**{"lr": 0.1, "iterations": 10, **changes})


def test_refuses_what_does_not_fit_the_problem(rng):
    problem = random_problem(rng, loss=SquareLoss(), leak=0.3)
    with pytest.raises(InvalidInputError, match=r"\[leak, 1\] = \[0.3, 1\]"):
        GradientDescent(lr=0.1, iterations=1, slope_at_zero=0.0).start(problem)
    with pytest.raises(InvalidInputError, match="`loss_scaled` must be False for the square loss"):
        GradientDescent(lr=0.1, iterations=1, loss_scaled=True).start(problem)
    tiny = unbalanced_initialization(problem.dataset, width=5, scale="1e-400", rng=rng)
    with pytest.raises(InvalidInputError, match="`EventDrivenFlow` takes any"):
        GradientDescent(lr=0.1, iterations=1).start(TrainingProblem(problem.dataset, SquareLoss(), tiny))
    with pytest.raises(InvalidInputError, match="at most the 5 of the solver, got 6"):
        descend(problem, GradientDescent(lr=0.1, iterations=5), iterations=[6])
