"""What the mathematics keeps: balancedness, decreasing loss, permutations, rotations, splitting, data scaling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamics.problems_at_random import random_problem
from problems import small_problem
from reluflow.data import Dataset
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.losses import SquareLoss
from reluflow.network import Network

SEEDS = st.integers(min_value=1000, max_value=3000)


def run(problem, end, **options):
    return train(problem, EventDrivenFlow(**options), until=AtTime(end))


@given(seed=SEEDS)
@settings(max_examples=20)
def test_balancedness_is_kept_and_the_loss_never_rises(seed):
    drawn = random_problem(seed)
    trajectory = run(drawn.problem, drawn.end)
    assert trajectory.balancedness_drift < 1e-12
    assert np.all(np.diff(trajectory.losses) <= 1e-13 * trajectory.losses[0])
    start, end = drawn.problem.network, trajectory.network
    largest = np.maximum(start.a**2 + np.sum(start.w**2, axis=1), end.a**2 + np.sum(end.w**2, axis=1))
    assert np.max(np.abs(end.balancedness() - start.balancedness()) / largest) < 1e-12


@given(seed=SEEDS)
@settings(max_examples=10)
def test_permuting_neurons_permutes_the_run(seed):
    drawn = random_problem(seed)
    order = np.random.default_rng(seed).permutation(drawn.problem.network.num_neurons)
    moved = TrainingProblem(drawn.problem.dataset, drawn.problem.loss, drawn.problem.network.permuted(order))
    first, second = run(drawn.problem, drawn.end), run(moved, drawn.end)
    assert first.time == pytest.approx(second.time, rel=1e-9)
    np.testing.assert_allclose(second.network.w, first.network.w[order], atol=1e-9)
    np.testing.assert_allclose(second.network.a, first.network.a[order], atol=1e-9)


@given(seed=SEEDS)
@settings(max_examples=10)
def test_rotating_data_and_weights_rotates_the_run(seed):
    drawn = random_problem(seed)
    d = drawn.problem.dataset.d
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    turned = TrainingProblem(
        drawn.problem.dataset.rotated(rotation), drawn.problem.loss, drawn.problem.network.rotated(rotation)
    )
    first, second = run(drawn.problem, drawn.end), run(turned, drawn.end)
    assert first.time == pytest.approx(second.time, rel=1e-9)
    np.testing.assert_allclose(second.network.w, first.network.w @ rotation.T, atol=1e-8)
    np.testing.assert_allclose(second.network.a, first.network.a, atol=1e-8)


@given(seed=SEEDS)
@settings(max_examples=10)
def test_one_neuron_is_two_halves_or_one_of_weight_two(seed):
    """z = (w, a) counts as two neurons z / sqrt(2), and two equal neurons as one of weight 2."""
    drawn = random_problem(seed)
    network = drawn.problem.network
    whole = run(drawn.problem, drawn.end)
    half = np.sqrt(0.5)
    split = network.replace(
        w=np.repeat(network.w, 2, axis=0) * half, a=np.repeat(network.a, 2) * half, weight=np.ones(2 * len(network.a))
    )
    halves = run(TrainingProblem(drawn.problem.dataset, drawn.problem.loss, split), drawn.end)
    weighted = network.replace(w=network.w * half, a=network.a * half, weight=np.full(len(network.a), 2.0))
    doubles = run(TrainingProblem(drawn.problem.dataset, drawn.problem.loss, weighted), drawn.end)
    assert halves.time == pytest.approx(whole.time, rel=1e-9)
    np.testing.assert_allclose(halves.predictions, whole.predictions, atol=1e-8)
    np.testing.assert_allclose(doubles.network.w, whole.network.w * half, atol=1e-8)
    np.testing.assert_allclose(halves.network.w[::2], halves.network.w[1::2], atol=1e-12)


@given(seed=SEEDS, log_factor=st.floats(min_value=-2.0, max_value=2.0))
@settings(max_examples=10)
def test_data_scaling_law(seed, log_factor):
    """Lyu et al. (2021), digest 1.5: cX with weights W is X with weights sqrt(c) W, and time c t."""
    drawn = random_problem(seed)
    factor = float(np.exp(log_factor))
    problem = drawn.problem
    scaled = TrainingProblem(problem.dataset.replace(X=problem.dataset.X * factor), problem.loss, problem.network)
    grown = problem.network.replace(w=problem.network.w * np.sqrt(factor), a=problem.network.a * np.sqrt(factor))
    first = run(scaled, drawn.end / factor)
    second = run(TrainingProblem(problem.dataset, problem.loss, grown), drawn.end)
    assert first.time * factor == pytest.approx(second.time, rel=1e-9)
    size = 1.0 + np.max(np.abs(second.predictions))
    np.testing.assert_allclose(first.predictions, second.predictions, atol=1e-8 * size)


@pytest.mark.parametrize("init", ["balanced", "unbalanced"])
def test_wide_networks_agree_with_neurons_taken_one_by_one(init, monkeypatch):
    """Propagators per group and light crossers, against every neuron as its own column with every crossing exact."""
    problem = small_problem(width=300, scale=0.3, seed=5, init=init)
    wide = run(problem, 6.0, ridge="stay")
    monkeypatch.setattr("reluflow.dynamics.event_driven.grouped_neurons.WIDE", 10**9)
    monkeypatch.setattr("reluflow.dynamics.event_driven.grouped_neurons.FRAME_FROM", 10**9)
    single = run(problem, 6.0, ridge="stay")
    assert wide.crossings == single.crossings > 100
    np.testing.assert_allclose(wide.network.w, single.network.w, atol=1e-8)
    for ours, theirs in zip(
        sorted((e.neuron, e.sample, e.time) for e in wide.events),
        sorted((e.neuron, e.sample, e.time) for e in single.events),
        strict=True,
    ):
        assert ours == pytest.approx(theirs, abs=1e-7)


def test_clear_steps_use_up_the_slack_of_neurons(monkeypatch):
    """A step found clear of crossings by a bound once moved neurons without noting it, and some crossed unseen."""
    rng = np.random.default_rng(1001104)
    dataset = Dataset(rng.standard_normal((6, 1)), rng.standard_normal(6))
    w = rng.standard_normal((100, 1))
    a = rng.choice([-1.0, 1.0], 100) * np.abs(w[:, 0]) * rng.uniform(1.0, 3.0, 100)
    network = Network(w=w, a=a, leak=0.9, log_scale=-4.3)
    problem = TrainingProblem(dataset, SquareLoss(), network)
    grouped = run(problem, 13.0, rtol=1e-12, ridge="stay")
    monkeypatch.setattr("reluflow.dynamics.event_driven.grouped_neurons.WIDE", 10**9)
    monkeypatch.setattr("reluflow.dynamics.event_driven.grouped_neurons.FRAME_FROM", 10**9)
    single = run(problem, 13.0, rtol=1e-12, ridge="stay")
    assert single.crossings > 20
    np.testing.assert_allclose(grouped.events.times, single.events.times, atol=1e-8)
    np.testing.assert_allclose(grouped.predictions, single.predictions, atol=1e-9)


@given(seed=SEEDS)
@settings(max_examples=8)
def test_groups_agree_with_single_neurons(seed):
    """Many copies of each neuron of a random problem, slightly apart, in groups and one by one."""
    import reluflow.dynamics.event_driven.grouped_neurons as groups

    drawn = random_problem(seed)
    rng = np.random.default_rng(seed)
    start = drawn.problem.network
    w = np.repeat(start.w, 12, axis=0) * (1.0 + 0.3 * rng.standard_normal((12 * len(start.a), 1)))
    w += 0.1 * np.std(start.w) * rng.standard_normal(w.shape)
    a = np.repeat(start.a, 12)
    network = Network(w=w, a=a, leak=start.leak, weight=np.full(len(a), 1.0 / 12.0))
    problem = TrainingProblem(drawn.problem.dataset, drawn.problem.loss, network)
    grouped = run(problem, 0.5 * drawn.end)
    kept = groups.WIDE, groups.FRAME_FROM
    try:
        groups.WIDE = groups.FRAME_FROM = 10**9
        single = run(problem, 0.5 * drawn.end)
    finally:
        groups.WIDE, groups.FRAME_FROM = kept
    assert grouped.outcome is single.outcome
    assert grouped.time == pytest.approx(single.time, rel=1e-8)
    np.testing.assert_allclose(grouped.predictions, single.predictions, atol=1e-7)


def test_halving_the_tolerance_changes_a_wide_run_by_no_more_than_the_tolerance():
    problem = small_problem(width=2000, scale=1e-3, seed=1)
    fine, coarse = run(problem, 12.0, rtol=1e-12), run(problem, 12.0, rtol=1e-9)
    assert fine.crossings == coarse.crossings
    np.testing.assert_allclose(coarse.predictions, fine.predictions, rtol=1e-7)
    assert fine.balancedness_drift < 1e-12


def test_mirrored_samples_keep_a_mirrored_network_mirrored():
    """The pair x, -x with labels y, -y; Lyu et al. (2021), Sec. 4.1."""
    X, y = np.array([[1.0, 0.3], [0.2, -1.0]]), np.array([1.0, -0.5])
    network = Network(w=[[0.1, 0.2], [-0.3, 0.1], [0.2, -0.2]], a=[0.3, -0.35, 0.3], leak=0.2)
    mirrored = Dataset(np.vstack([X, -X]), np.concatenate([y, -y]), task="regression")
    flipped = network.replace(w=-np.asarray(network.w), a=-np.asarray(network.a))
    ends = [run(TrainingProblem(mirrored, SquareLoss(), start), 9.0).network for start in (network, flipped)]
    np.testing.assert_allclose(ends[1].w, -ends[0].w, atol=1e-9)
