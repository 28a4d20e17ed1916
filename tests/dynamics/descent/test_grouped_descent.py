"""Grouped gradient descent against plain gradient descent: same patterns at every iteration, same numbers."""

import numpy as np
import pytest

from dynamics.descent.descents import descend
from problems import small_problem
from reluflow.data import Dataset, load
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.descent.grouped_descent import GroupedGradientDescent
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import Stationary
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome
from reluflow.losses import AbstractLoss, ExponentialLoss, LogisticLoss, SquareLoss
from reluflow.network import Network
from reluflow.network.initialization import INITIALIZATIONS

TOLERANCE = 1e-12


def signs_of(dataset: Dataset) -> Dataset:
    return dataset.replace(y=np.array([1.0, -1.0, 1.0]), task="classification")


def scattered(n: int, d: int, loss: AbstractLoss, seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0) if loss.is_classification else rng.standard_normal(n)
    return Dataset(rng.standard_normal((n, d)), y)


def as_rows(network: Network) -> np.ndarray:
    return np.column_stack([network.w, network.a])


def distances(first, second):
    """Largest differences of the networks, relative to the largest weight, and of the outputs, to the largest."""
    rows = [
        np.max(np.abs(as_rows(a) - as_rows(b))) / np.max(np.abs(as_rows(b)))
        for a, b in zip(first.networks, second.networks, strict=True)
    ]
    return max(rows), np.max(np.abs(first.outputs - second.outputs)) / np.max(np.abs(second.outputs))


@pytest.mark.parametrize("init", ["balanced", "dominated", "unbalanced"])
@pytest.mark.parametrize(
    ("loss", "leak"),
    [
        (SquareLoss(factor=2.0), 0.0),
        (SquareLoss(factor=2.0), 0.2),
        (LogisticLoss(factor=2.0), 0.0),
        (ExponentialLoss(), 0.5),
    ],
)
def test_ten_thousand_iterations_equal_plain_descent(init, loss, leak, rng):
    dataset = signs_of(load("three-points")) if loss.is_classification else load("three-points")
    network = INITIALIZATIONS[init](dataset, width=2000, scale=1e-3, rng=rng, leak=leak)
    problem = TrainingProblem(dataset, loss, network)
    stops = range(0, 10_001, 1000)
    plain = descend(problem, GradientDescent(lr=1e-3, iterations=10_000), iterations=stops)
    grouped = descend(problem, GroupedGradientDescent(lr=1e-3, iterations=10_000), iterations=stops)
    weights, outputs = distances(grouped, plain)
    assert weights <= TOLERANCE
    assert outputs <= TOLERANCE
    assert grouped.losses == pytest.approx(plain.losses, rel=TOLERANCE)
    for ours, theirs in zip(grouped.networks, plain.networks, strict=True):
        assert np.array_equal(ours.patterns(dataset.X), theirs.patterns(dataset.X))


@pytest.mark.parametrize("seed", range(6))
def test_patterns_are_the_same_at_every_iteration_even_where_neurons_chatter(seed):
    """Large steps: neurons jump across boundaries and chatter around those they would slide on."""
    loss = (SquareLoss(), LogisticLoss(reduction="sum"), ExponentialLoss())[seed % 3]
    dataset = scattered(6, 2 + seed % 3, loss, seed)
    rng = np.random.default_rng(100 + seed)
    network = INITIALIZATIONS["unbalanced"](dataset, width=100, scale=0.1, rng=rng, leak=(0.0, 0.3)[seed % 2])
    problem = TrainingProblem(dataset, loss, network)
    plain = descend(problem, GradientDescent(lr=0.02, iterations=1500), iterations=range(1501))
    grouped = descend(problem, GroupedGradientDescent(lr=0.02, iterations=1500), iterations=range(1501))
    patterns = np.array([network.patterns(dataset.X) for network in plain.networks])
    assert np.array_equal(patterns, np.array([network.patterns(dataset.X) for network in grouped.networks]))
    changes = np.sum(np.diff(patterns, axis=0) != 0, axis=0)
    assert np.max(changes) >= 1
    weights, outputs = distances(grouped, plain)
    assert weights <= TOLERANCE
    assert outputs <= TOLERANCE


def test_the_chattering_set_is_carried_neuron_by_neuron():
    """Two points that pull neurons with a > 0 onto a boundary: plain descent jumps across it again and again."""
    dataset = Dataset([[1.0, 0.3], [0.2, 1.0]], [1.0, -1.0])
    rng = np.random.default_rng(3)
    network = INITIALIZATIONS["balanced"](dataset, width=300, scale=1e-2, rng=rng)
    problem = TrainingProblem(dataset, SquareLoss(reduction="sum"), network)
    plain = descend(problem, GradientDescent(lr=0.01, iterations=1000), iterations=range(1001))
    grouped_run = GroupedGradientDescent(lr=0.01, iterations=1000).start(problem)
    walkers = []
    for iteration in range(1001):
        grouped_run.iterate_to(iteration)
        walkers.append(grouped_run.num_walkers)
        assert np.array_equal(
            grouped_run.network().patterns(dataset.X), plain.networks[iteration].patterns(dataset.X)
        ), iteration
    changes = np.sum(np.diff([n.patterns(dataset.X) for n in plain.networks], axis=0) != 0, axis=(0, 2))
    assert np.max(changes) > 20
    assert 0 < walkers[500] < 300
    assert grouped_run.num_cones >= 1


def test_distance_to_plain_descent_is_the_rounding_of_plain_descent():
    """Neuron by neuron, grouped descent is no farther from the iterates in extended precision than plain descent.

    Neurons that shrink before they grow magnify rounding by e^(2 path), so no fixed tolerance serves each of them.
    """
    lr, iterations = 1e-3, 6000
    problem = small_problem(width=400, scale=1e-3, seed=1, loss=SquareLoss(factor=2.0))
    dataset, network = problem.dataset, problem.network.materialized()
    X, y = dataset.X.astype(np.longdouble), dataset.y.astype(np.longdouble)
    w, a = network.w.astype(np.longdouble), network.a.astype(np.longdouble)
    rate, c = np.longdouble(lr), np.longdouble(problem.loss.sample_weight(3))
    for _ in range(iterations):
        z = w @ X.T
        D = ((z > 0) * (c * (y - a @ np.maximum(z, 0)))) @ X
        w, a = w + rate * a[:, None] * D, a + rate * np.sum(w * D, axis=1)
    exact = np.column_stack([w, a])
    ends = [
        as_rows(descend(problem, solver, iterations=[iterations]).networks[0])
        for solver in (
            GradientDescent(lr=lr, iterations=iterations),
            GroupedGradientDescent(lr=lr, iterations=iterations),
        )
    ]
    errors = [
        np.linalg.norm((end - exact).astype(float), axis=1) / np.linalg.norm(exact.astype(float), axis=1)
        for end in ends
    ]
    assert np.max(errors[0]) > 1e-12
    for share in (0.5, 0.95, 1.0):
        assert np.quantile(errors[1], share) <= np.quantile(errors[0], share)


def test_many_cones_need_more_room():
    loss = SquareLoss()
    dataset = scattered(14, 4, loss, 7)
    network = INITIALIZATIONS["unbalanced"](dataset, width=1500, scale=0.05, rng=np.random.default_rng(8))
    problem = TrainingProblem(dataset, loss, network)
    run = GroupedGradientDescent(lr=0.01, iterations=600).start(problem)
    run.iterate_to(600)
    plain = descend(problem, GradientDescent(lr=0.01, iterations=600), iterations=[600])
    assert run.num_cones > 64  # the room at the start
    assert np.max(np.abs(as_rows(run.network()) - as_rows(plain.networks[0]))) <= TOLERANCE
    assert run.outputs() == pytest.approx(plain.outputs[0], abs=1e-13)


def test_weights_loss_scaling_zero_neurons_and_exact_zeros():
    dataset = Dataset([[1.0, 0.0], [0.5, 1.0], [-1.0, 0.5], [0.0, 0.0]], [1.0, 1.0, -1.0, -1.0])
    rng = np.random.default_rng(5)
    w, a = rng.standard_normal((50, 2)), rng.standard_normal(50)
    w[0], a[0] = 0.0, 0.0
    w[1], a[1] = 0.0, 1.0
    w[2] = (0.0, 2.0)  # on the boundary of the first sample
    network = Network(w, a, leak=0.25, weight=rng.uniform(0.5, 2.0, 50), log_scale=-3.0)
    problem = TrainingProblem(dataset, LogisticLoss(), network)
    for slope in (None, 0.25, 1.0, "minimum-norm"):
        options = {"lr": 0.05, "iterations": 3000, "slope_at_zero": slope, "loss_scaled": True}
        plain = descend(problem, GradientDescent(**options), iterations=[1, 100, 3000])
        grouped = descend(problem, GroupedGradientDescent(**options), iterations=[1, 100, 3000])
        weights, outputs = distances(grouped, plain)
        assert weights <= TOLERANCE
        assert outputs <= TOLERANCE
        assert grouped.times == pytest.approx(plain.times, rel=1e-11)
        assert np.all(as_rows(grouped.networks[-1])[0] == 0.0)


def test_chunks_do_not_matter_and_the_same_run_gives_the_same_bits():
    problem = small_problem(width=3000, scale=1e-2, seed=2, init="unbalanced", loss=SquareLoss(factor=2.0))
    solver = GroupedGradientDescent(lr=1e-3, iterations=5000)
    once = descend(problem, solver, iterations=[5000])
    often = descend(problem, solver, iterations=[*range(0, 5000, 7), 5000])
    assert np.array_equal(as_rows(once.networks[-1]), as_rows(often.networks[-1]))


def test_long_run_reaches_least_squares_cheaply():
    """Boursier & Flammarion (2024), Fig. 2 at m = 20,000: two cones are left, at the least-squares fit."""
    problem = small_problem(width=20_000, scale=1e-3, loss=SquareLoss(factor=2.0))
    dataset = problem.dataset
    run = GroupedGradientDescent(lr=1e-3, iterations=400_000).start(problem)
    run.iterate_to(400_000)
    least_squares = dataset.X @ np.linalg.lstsq(dataset.X, dataset.y, rcond=None)[0]
    assert run.outputs() == pytest.approx(least_squares, abs=1e-9)
    assert run.num_cones + run.num_walkers <= 3
    assert run.outputs() == pytest.approx(run.network().outputs(dataset.X), abs=1e-12)


def test_train_runs_it_and_stops_it():
    problem = small_problem(width=500, scale=1e-3, loss=SquareLoss(factor=2.0))
    trajectories = [
        train(problem, method(lr=1e-3, iterations=1_000_000), until=Stationary(atol=1e-6), times=[1.0, 6.504])
        for method in (GroupedGradientDescent, GradientDescent)
    ]
    for trajectory in trajectories:
        assert trajectory.outcome is Outcome.STATIONARY
        assert [snapshot.time for snapshot in trajectory.snapshots] == [1.0, 6.504]
        assert trajectory.limit.gradient_norm <= 1e-6
        assert trajectory.outputs[-1] == pytest.approx([0.68974359, 0.67435897, 0.63589744], abs=1e-4)
        assert trajectory.method.endswith("gradient descent, lr 0.001, slope at zero leak")
    ours, theirs = trajectories
    assert np.array_equal(ours.times, theirs.times)
    assert ours.losses == pytest.approx(theirs.losses, rel=TOLERANCE)
    assert ours.snapshots[1].outputs == pytest.approx(theirs.snapshots[1].outputs, rel=TOLERANCE)
    assert [phase.name for phase in ours.phases] == [phase.name for phase in theirs.phases]
    assert [phase.end for phase in ours.phases] == pytest.approx([phase.end for phase in theirs.phases], rel=1e-9)
    assert ours.balancedness_drift == pytest.approx(theirs.balancedness_drift, rel=1e-6)
