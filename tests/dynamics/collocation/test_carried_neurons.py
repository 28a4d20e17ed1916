"""Carrying neurons through a step: room for events, threads, single precision, what is kept between steps."""

import numpy as np
import pytest

from reluflow import balanced_initialization, threads, train
from reluflow.data import Dataset
from reluflow.dynamics import CollocationFlow, TrainingProblem
from reluflow.dynamics.collocation import carried_neurons, force_step
from reluflow.dynamics.collocation.collocation_run import CollocationRun
from reluflow.dynamics.collocation.lone_neurons import LoneNeurons
from reluflow.dynamics.collocation.sample_forces import SampleForces
from reluflow.dynamics.stopping import AtTime
from reluflow.geometry.boundary.walls import Walls
from reluflow.losses import LogisticLoss, SoftmaxLoss, SquareLoss


def wide_problem(loss=None, *, n=60, d=40, m=12, leak=0.0, seed=0, num_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[3] = -2.0 * X[7]  # two samples with one wall
    y = np.sign(X @ rng.standard_normal(d))
    data = Dataset(X, y)
    if num_classes > 2:
        names = tuple(f"class {c}" for c in range(num_classes))
        data = Dataset(X, np.argmax(X @ rng.standard_normal((d, num_classes)), axis=1), classes=names)
        loss = loss or SoftmaxLoss()
    network = balanced_initialization(data, width=m, scale=0.3, rng=rng).replace(leak=leak)
    return TrainingProblem(data, loss or LogisticLoss(), network)


def test_room_for_events_changes_no_bit_and_makes_nothing_be_solved_again(monkeypatch):
    """A step with more events than there was room for was solved anew, up to twice: half the time of the first steps of
    two thousand images."""
    problem = wide_problem()
    counts = []
    solve = force_step.ForceStep.solve

    def counted(self, *given, **others):
        counts.append(1)
        return solve(self, *given, **others)

    monkeypatch.setattr(force_step.ForceStep, "solve", counted)
    roomy = train(problem, CollocationFlow(rtol=1e-6), until=AtTime(1.2))
    solved, _ = len(counts), counts.clear()
    monkeypatch.setattr(force_step, "EVENT_CAPACITY", 1)
    tight = train(problem, CollocationFlow(rtol=1e-6), until=AtTime(1.2))
    assert roomy.crossings == tight.crossings > 100
    assert np.array_equal(roomy.end.network.w, tight.end.network.w)
    assert len(counts) == solved


def test_threads_change_no_bit(monkeypatch):
    problem = wide_problem(SquareLoss())
    alone = train(problem, CollocationFlow(rtol=1e-6), until=AtTime(1.0))
    parts = []
    in_parts = threads.in_parts
    monkeypatch.setattr(threads.numba, "get_num_threads", lambda: 3)
    monkeypatch.setattr(threads, "_WORTH_A_THREAD", 1e-9)
    monkeypatch.setattr(threads, "in_parts", lambda work, rows: (parts.append(len(rows)), in_parts(work, rows))[1])
    shared = train(problem, CollocationFlow(rtol=1e-6), until=AtTime(1.0))
    assert max(parts) == 3
    assert np.array_equal(alone.end.network.w, shared.end.network.w)


@pytest.mark.parametrize("num_outputs", [1, 3])
@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_outputs_from_changes_in_single_precision(leak, num_outputs):
    problem = wide_problem(leak=leak, num_classes=max(2, num_outputs))
    walls = Walls.of(problem.dataset.X)
    samples = SampleForces(problem, walls)
    rng = np.random.default_rng(1)
    starts = rng.standard_normal((12, 40 + num_outputs))
    places = starts[:, None] + 1e-2 * rng.standard_normal((12, 5, 40 + num_outputs))
    w, v, start = places[:, :, :40], places[:, :, 40:], starts[:, :40]
    mass = rng.uniform(0.5, 2.0, 12)
    exact = samples.outputs(places, mass)
    heights = np.maximum(w @ problem.dataset.X.T, leak * (w @ problem.dataset.X.T))
    by_hand = np.einsum("j,jpc,jpk->pkc", mass, v, heights).reshape(5, -1)
    np.testing.assert_allclose(exact, by_hand, atol=1e-12)
    near = samples.outputs_near(start, start @ walls.normals.T, places, mass)
    way = np.max(mass @ (np.linalg.norm(v, axis=2) * np.linalg.norm(w - start[:, None], axis=2)))
    error = np.max(np.abs(near - exact))
    assert 1e-10 < error <= 0.5 * carried_neurons.SINGLE_ROUNDING * way * np.max(walls.length)


@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize(("rtol", "has_rough_pulls"), [(1e-5, True), pytest.param(1e-9, False, marks=pytest.mark.slow)])
def test_single_precision_costs_no_digit_that_is_asked_for(rtol, has_rough_pulls, num_classes, monkeypatch):
    problem, until = wide_problem(num_classes=num_classes), AtTime(2.0)
    double = train(problem, CollocationFlow(rtol=rtol), until=until)  # too small a problem to be rough
    exact = train(problem, CollocationFlow(rtol=0.01 * rtol), until=until).outputs[-1]
    kinds = set()
    near, rests = SampleForces.outputs_near, carried_neurons.CarriedNeurons._rests

    def outputs_near(self, *given):
        kinds.add("outputs")
        return near(self, *given)

    def rests_of(self, *given, is_rough):
        kinds.update(["pulls"] if is_rough else [])
        return rests(self, *given, is_rough=is_rough)

    monkeypatch.setattr(SampleForces, "outputs_near", outputs_near)
    monkeypatch.setattr(carried_neurons.CarriedNeurons, "_rests", rests_of)
    monkeypatch.setattr(carried_neurons, "LARGE_PRODUCT", 1)
    rough = train(problem, CollocationFlow(rtol=rtol), until=until)
    assert kinds == ({"outputs", "pulls"} if has_rough_pulls else {"outputs"})
    errors = [float(np.max(np.abs(run.outputs[-1] - exact))) for run in (rough, double)]
    assert errors[0] <= 2.0 * errors[1] < rtol
    assert rough.steps <= 1.1 * double.steps  # rounding that is felt shortens the steps


def test_slides_are_gathered_anew_only_where_they_have_changed():
    problem = wide_problem()
    walls = Walls.of(problem.dataset.X)
    neurons = LoneNeurons(problem.network, walls)
    rng = np.random.default_rng(2)
    for _ in range(6):
        changed = rng.integers(12, size=3)
        neurons.sides[changed] = rng.choice([-1, 0, 1], size=(3, neurons.sides.shape[1]), p=[0.48, 0.04, 0.48])
        kept = neurons.slides()
        fresh = LoneNeurons(problem.network, walls)
        fresh.sides = neurons.sides.copy()
        for found, expected in zip(kept, fresh.slides(), strict=True):
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("loss", [SquareLoss(), LogisticLoss()])
def test_forces_are_predicted_by_how_they_change_now(loss):
    problem = wide_problem(loss, leak=0.2)
    run = CollocationRun(problem, rtol=1e-10, ridge="stop", max_steps=1000)
    before = run._state.forces
    slopes = run._state._present.slopes(run.outputs(), before, run._state.pulls())
    run.advance(1e-7)
    while run.time < 1e-7:
        run.advance(1e-7)
    change = (run._state.forces - before) / run._rescaled_time
    np.testing.assert_allclose(change, slopes, rtol=2e-4, atol=2e-4 * np.max(np.abs(slopes)))
