"""Benchmarks: the peers compute the same thing, the command reports ratios, no second is asserted."""

import numpy as np
import pytest

from reluflow import balanced_initialization, train
from reluflow.bench import dense
from reluflow.bench.benchmark import Timing, best_time
from reluflow.bench.dense import right_and_on, whole_mnist
from reluflow.bench.general_solvers import diffrax_outputs_end, scipy_end
from reluflow.bench.linear_programs import cells_by_linear_programs
from reluflow.bench.outputs import FirstAllRight, real_classes
from reluflow.bench.registry import ALL, benchmarks_named
from reluflow.bench.roofline import (
    AlgorithmWork,
    MachineRates,
    SamplesInSteps,
    least_work,
    roofline_words,
    this_machine,
)
from reluflow.bench.sweep import differing_rows
from reluflow.data import Dataset, load
from reluflow.data.classified import wrongly_classified
from reluflow.data.mnist import has_full_mnist
from reluflow.dynamics import CollocationFlow, EventDrivenFlow, TrainingProblem
from reluflow.dynamics.collocation import negligible_samples
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.stopping import AtTime, Exhausted
from reluflow.errors import InvalidInputError
from reluflow.geometry.cones import activation_cones
from reluflow.losses import LogisticLoss, SquareLoss


def test_linear_programs_find_the_same_cells():
    X = np.random.default_rng(8).standard_normal((6, 3))
    theirs = {tuple(row) for row in cells_by_linear_programs(X).tolist()}
    ours = {tuple(row) for row in activation_cones(X, open_only=True).patterns.tolist()}
    assert theirs == ours


def test_ratio_is_the_peer_over_ours():
    assert Timing("a", 2.0, "b", 6.0, "").ratio == 3.0
    assert Timing("a", 2.0, "b", None, "").ratio is None


def test_best_time_warms_up_once():
    calls = []
    seconds, result = best_time(lambda: calls.append(1) or len(calls), repeats=2)
    assert len(calls) == 3
    assert result == 3
    assert seconds >= 0.0


def test_names():
    assert benchmarks_named(None) == ALL
    assert {b.name.partition("/")[0] for b in benchmarks_named("geometry")} == {"geometry"}
    with pytest.raises(InvalidInputError, match="`NAME` must be one of"):
        benchmarks_named("speed")


def test_extremal_benchmark_agrees():
    (comparison,) = benchmarks_named("geometry/extremal")[0].run()
    assert "the same" in comparison.agreement
    assert comparison.ratio is not None


def test_rows_of_two_sweeps_are_compared_to_the_last_bit_and_an_empty_error_is_no_difference(tmp_path):
    """Every row was said to differ: the empty `error` of one table is not equal to that of the other."""
    pandas = pytest.importorskip("pandas")
    rows = {"seed": [0, 1, 2], "loss": [0.1, 0.2, float("nan")], "error": [None, None, "a sentence"]}
    for name, loss in (("one", 0.2), ("two", 0.2), ("three", np.nextafter(0.2, 1))):
        (tmp_path / name).mkdir()
        rows["loss"][1] = loss
        pandas.DataFrame(rows).to_parquet(tmp_path / name / "table.parquet")
    assert differing_rows(tmp_path / "one", tmp_path / "two") == 0
    assert differing_rows(tmp_path / "one", tmp_path / "three") == 1


def test_general_solvers_start_from_the_whole_network():
    """They were given the weights without the scale of the network, and were 28 times the outputs off."""
    data = Dataset([[1.0, 0.2], [0.3, 1.0], [-0.5, 0.8]], [1.0, -0.5, 0.7], task="regression")
    network = balanced_initialization(data, width=4, scale=1e-2, rng=np.random.default_rng(0))
    assert network.log_scale != 0.0
    problem = TrainingProblem(data, SquareLoss(), network)
    expected = train(problem, EventDrivenFlow(rtol=1e-10), until=AtTime(1.0)).network.materialized()
    _, has_arrived, weights = scipy_end(problem, 1.0, 1e-8, method="DOP853")
    assert has_arrived
    np.testing.assert_allclose(weights[:8].reshape(4, 2), expected.w, atol=1e-9)


def test_a_run_that_goes_on_counts_the_time_until_all_are_right():
    data = load("mnist-0-1")
    few = data.subset(np.concatenate([np.flatnonzero(data.y > 0.0)[:6], np.flatnonzero(data.y < 0.0)[:6]]))
    network = balanced_initialization(few, width=8, scale=1e-2, rng=np.random.default_rng(0))
    fitted, ended = right_and_on(TrainingProblem(few, LogisticLoss(), network), CollocationFlow(rtol=1e-5))
    assert fitted.name == "dense/mnist-12"
    assert "12 of 12 images right" in fitted.agreement
    assert ended.ours_s > fitted.ours_s
    assert "direction-converged" in ended.agreement


def test_the_whole_of_mnist_is_left_out_where_its_files_are_not(tmp_path, monkeypatch):
    monkeypatch.setenv("RELUFLOW_DATA", str(tmp_path))
    assert whole_mnist() == []
    np.savez(tmp_path / "mnist_train.npz", images=np.zeros((2, 28, 28), dtype=np.uint8), labels=np.arange(2))
    assert has_full_mnist()


def test_descent_and_a_general_solver_agree_with_the_flow_of_several_outputs():
    problem = real_classes("wine", 4)
    few = problem.dataset.subset(np.arange(0, problem.dataset.n, 12))
    problem = TrainingProblem(few, problem.loss, problem.network)
    ours = train(problem, CollocationFlow(rtol=1e-9), until=AtTime(0.2)).predictions
    descent = train(problem, GradientDescent(lr=1e-4, iterations=2_000), until=Exhausted()).predictions
    np.testing.assert_allclose(descent, ours, atol=1e-3 * np.max(np.abs(ours)))
    pytest.importorskip("diffrax")
    _, has_arrived, theirs = diffrax_outputs_end(problem, 0.2, 1e-6)
    assert has_arrived
    np.testing.assert_allclose(theirs, ours, atol=3e-4 * np.max(np.abs(ours)))


def test_the_moment_at_which_every_class_is_right_is_noted_on_the_way():
    """A run that never got there was followed twice, each time for all that it was allowed."""
    problem, first = real_classes("wine", 10), FirstAllRight()
    run = train(problem, CollocationFlow(rtol=1e-5), until=AtTime(1000.0), keep=Keep(recorder=first), max_steps=400)
    assert first.noted is not None
    steps, log_time, _, _ = first.noted
    assert 0 < steps < run.steps
    assert log_time < run.log_time
    until_then = train(problem, CollocationFlow(rtol=1e-5), max_steps=steps)
    assert not wrongly_classified(problem.dataset, until_then.predictions).any()
    before = train(problem, CollocationFlow(rtol=1e-5), max_steps=steps - 1)
    assert wrongly_classified(problem.dataset, before.predictions).any()


def test_least_work_of_a_step_counted_by_hand():
    """Two neurons, three samples in four dimensions: the samples span three of these.

    Outputs at five nodes and four checks and pulls at five nodes are 14 products of a 2 x 3 with a 3 x 3 matrix and 14
    sums of 2 terms for each of three samples and one output.
    """
    work = least_work(n=3, d=4, m=2, outputs=1, steps=1)
    assert work == AlgorithmWork(flops=14 * 2 * (2 * 3 * 3) + 14 * 2 * (2 * 3), bytes=2 * 8 * (3 * 3))
    assert least_work(n=3, d=4, m=2, outputs=1, steps=7).flops == 7 * work.flops


def test_roofline_is_the_slower_of_operations_and_traffic():
    machine = MachineRates(flops_per_s=10.0, bytes_per_s=2.0)
    assert machine.seconds(AlgorithmWork(flops=30.0, bytes=2.0)) == 3.0
    assert machine.seconds(AlgorithmWork(flops=30.0, bytes=20.0)) == 10.0


def test_the_roofline_counts_the_samples_that_steps_are_made_with(monkeypatch):
    """12,665 images came to 140 % of the roofline: late steps are made with 200 of them, and all were counted."""
    monkeypatch.setattr(negligible_samples, "NEGLIGIBLE_FROM_SIZE", 1)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6)) * np.geomspace(1.0, 10.0, 60)[:, None]
    data = Dataset(X, np.sign(X[:, 0]))
    network = balanced_initialization(data, width=8, scale=0.1, rng=rng)
    counted = SamplesInSteps()
    problem = TrainingProblem(data, LogisticLoss(), network)
    run = train(problem, CollocationFlow(1e-6), until=AtTime(1e30), keep=Keep(recorder=counted))
    assert counted.steps_with.total() == run.steps
    assert max(counted.steps_with) == 60
    assert min(counted.steps_with) < 40
    share = float(roofline_words(run, 1.0, counted).partition(" %")[0])
    assert share < float(roofline_words(run, 1.0).partition(" %")[0])


def test_no_run_takes_less_than_the_roofline_says(monkeypatch):
    """The share is below one on a task that is all products, and every row of `bench dense` states it."""
    monkeypatch.setattr(dense, "best_time", lambda task: best_time(task, repeats=1))
    (comparison,) = benchmarks_named("dense/plane")[0].run()
    words = comparison.agreement.rpartition(", ")[2]
    assert words.endswith(" % of the roofline")
    assert 0.0 < float(words.removesuffix(" % of the roofline")) < 100.0
    assert this_machine().flops_per_s > this_machine().bytes_per_s / 8.0
