"""Classifiers whose growth is taken out of their neurons: the same direction, the same forces, at any size."""

import pickle
from functools import cache

import numpy as np
import pytest

from reluflow import CollocationFlow, Dataset, LogisticLoss, Network, TrainingProblem, balanced_initialization, train
from reluflow.certificates.limits.certified_limit import LimitIdentified, certified_limit
from reluflow.certificates.limits.directions import unit_norm
from reluflow.certificates.limits.nearest_direction import nearest_direction
from reluflow.certificates.steepest_ascent import steepest_multipliers
from reluflow.data.registry import load
from reluflow.dynamics.collocation import collocation_state, negligible_samples
from reluflow.dynamics.collocation.rescaling import margin_offsets_after
from reluflow.dynamics.collocation.tuning import FADED_LEAD, RESCALED_MARGIN
from reluflow.dynamics.stopping import AtTime, Exhausted
from reluflow.dynamics.trajectory import Outcome
from reluflow.losses import ExponentialLoss


def separable(seed: int, *, leak: float = 0.0, loss=None) -> TrainingProblem:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 5))
    data = Dataset(X, np.sign(X @ rng.standard_normal(5)))
    network = balanced_initialization(data, width=20, scale=1e-3, rng=rng, leak=leak)
    return TrainingProblem(data, loss or LogisticLoss(), network)


def log_norm_of(run) -> float:
    network = run.network()
    return network.log_scale + 0.5 * float(np.log(network.replace(log_scale=0.0).squared_norm()))


def directions(problem: TrainingProblem, log_norm: float) -> np.ndarray:
    """Unit directions after every step until ln |theta| is beyond a bound."""
    run, found = CollocationFlow(rtol=1e-8).start(problem), []
    while run.outcome is None and log_norm_of(run) <= log_norm:
        run.advance(np.inf, 1)
        unit = unit_norm(run.network())
        found.append(np.append(unit.w, unit.a))
    return np.array(found)


def distance_from(path: np.ndarray, point: np.ndarray) -> float:
    """From a point to the straight pieces of a path."""
    starts, ways = path[:-1], np.diff(path, axis=0)
    squares = np.einsum("ij,ij->i", ways, ways)
    shares = np.einsum("ij,ij->i", point - starts, ways) / np.where(squares > 0.0, squares, 1.0)
    return float(np.min(np.linalg.norm(starts + np.clip(shares, 0.0, 1.0)[:, None] * ways - point, axis=1)))


@cache
def directions_of(seed: int, rescaled_margin: float, log_norm: float) -> np.ndarray:
    """`directions` where growth is taken out from these margins on: one run serves several tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collocation_state, "RESCALED_MARGIN", rescaled_margin)
        return directions(separable(seed), log_norm)


@pytest.mark.parametrize("seed", [*(pytest.param(k, marks=pytest.mark.slow) for k in (0, 1)), 3])
@pytest.mark.parametrize(("far", "allowed"), [(1e3, 1e-3), (RESCALED_MARGIN, 2e-5)])
def test_the_direction_takes_the_way_it_takes_at_its_true_size(seed, far, allowed):
    """Measured on six draws, outputs to 1e8: growth taken out from margins of 1e3 on costs 3e-4, from 1e4 on 8e-6."""
    at_its_size, without_growth = directions_of(seed, np.inf, 9.0), directions_of(seed, far, 9.3)
    last = at_its_size[len(at_its_size) // 2 :]
    assert np.linalg.norm(last[-1] - last[0]) > 30.0 * allowed, "it still turns, so that there is a way to compare"
    assert max(distance_from(without_growth, direction) for direction in last) <= allowed


def test_margin_offsets_left_out_take_another_way(monkeypatch):
    """The forgery: without them every shrinking lets forces jump, and steps are spent on their return."""
    steps = len(directions_of(3, RESCALED_MARGIN, 9.3))
    monkeypatch.setattr(collocation_state, "margin_offsets_after", lambda margins, *_: np.zeros_like(margins))
    forged = CollocationFlow(rtol=1e-8).start(separable(3))
    for _ in range(steps):
        forged.advance(np.inf, 1)
    assert log_norm_of(forged) < 8.0


@pytest.mark.parametrize("loss", [LogisticLoss(), ExponentialLoss(reduction="sum")])
@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_what_is_read_off_a_run_is_of_its_true_size(leak, loss):
    problem = separable(2, leak=leak, loss=loss)
    run = CollocationFlow().start(problem)
    while run._state.log_rescaling < 20.0:
        run.advance(np.inf, 1)
    outputs, network = run.outputs(), run.network()
    assert np.min(outputs * problem.dataset.y) > RESCALED_MARGIN * np.exp(35.0)
    np.testing.assert_allclose(outputs, network.outputs(problem.dataset.X), rtol=1e-10)
    assert run.log_time == pytest.approx(np.min(outputs * problem.dataset.y), rel=2.0 * FADED_LEAD / RESCALED_MARGIN)
    assert run.time == np.inf
    assert run.balancedness_drift() <= 1e-12
    assert run.gradient().log_norm == pytest.approx(-run.log_time, rel=2.0 * FADED_LEAD / RESCALED_MARGIN)
    assert run.gradient().turning < 0.1
    assert run.log_sizes() is None or np.max(run.log_sizes()) < np.inf


@pytest.fixture(scope="module")
def rescaled():
    """One run, pickled just beyond a rescaling by 5 (in logarithms), twenty steps later, and just beyond one by 20."""
    run, kept = CollocationFlow(rtol=1e-8).start(separable(1)), []

    def follow(log_rescaling, steps):
        until = run.steps + steps
        while run._state.log_rescaling < log_rescaling or run.steps < until:
            run.advance(np.inf, 1)
        kept.append(pickle.dumps(run))

    follow(5.0, 0)
    follow(0.0, 20)
    follow(20.0, 0)
    return kept


def test_taking_growth_out_keeps_every_force_that_is_felt(rescaled):
    run = pickle.loads(rescaled[0])
    state = run._state
    run.advance(np.inf, 1)
    before, smallest = state.forces.copy(), float(np.min(state.outputs * state.samples.labels))
    state.rescale()
    assert np.min(state.outputs * state.samples.labels) == pytest.approx(RESCALED_MARGIN) != smallest
    felt = np.abs(before) > np.exp(-FADED_LEAD)
    np.testing.assert_allclose(state.forces[felt], before[felt], rtol=1e-8)
    assert np.max(np.abs(state.forces[~felt]), initial=0.0) <= np.exp(1.0 - FADED_LEAD)


def test_negligible_samples_keep_their_outputs(monkeypatch):
    problem = separable(4)
    monkeypatch.setattr(negligible_samples, "NEGLIGIBLE_FROM_SIZE", 1)
    run = CollocationFlow(rtol=1e-8).start(problem)
    while run._state.log_rescaling < 10.0:
        run.advance(np.inf, 1)
    assert run._state.negligible is not None
    assert np.any(run._state.negligible.is_negligible)
    np.testing.assert_allclose(run.outputs(), run.network().outputs(problem.dataset.X), rtol=1e-10)
    run._state.take_all_samples()
    np.testing.assert_allclose(run.outputs(), run.network().outputs(problem.dataset.X), rtol=1e-10)


def test_its_forces_are_those_of_the_steepest_ascent(rescaled):
    """Another way to know the forces at infinity: multipliers by least squares, from the network alone."""
    problem, run = separable(1), pickle.loads(rescaled[2])
    assert run._state.samples.counted is None
    shares = np.abs(run._state.forces)
    found = steepest_multipliers(run.network(), problem.dataset, close=2.0 * FADED_LEAD / RESCALED_MARGIN)
    np.testing.assert_allclose(found, shares / np.max(shares), atol=1e-3)
    near = nearest_direction(run.network(), problem)  # its outputs alone would leave one sample with a force
    np.testing.assert_allclose(np.abs(near.forces), found, atol=1e-12)


def test_a_run_goes_on_bit_by_bit(rescaled):
    taken_up, uninterrupted = pickle.loads(rescaled[0]), pickle.loads(rescaled[1])
    assert not np.array_equal(taken_up.outputs(), uninterrupted.outputs())
    for _ in range(20):
        taken_up.advance(np.inf, 1)
    assert np.array_equal(taken_up.outputs(), uninterrupted.outputs())
    assert np.array_equal(taken_up.network().w, uninterrupted.network().w)
    assert taken_up.log_time == uninterrupted.log_time


def test_no_growth_is_taken_out_on_the_way_to_a_time():
    """A given network with outputs of 1e5 does not move before any time that can be asked for."""
    data = Dataset([[1.0, 0.0], [-1.0, 0.5]], [1.0, -1.0])
    start = Network([[400.0, 0.0], [-300.0, 100.0]], [400.0, -300.0])
    run = train(TrainingProblem(data, LogisticLoss(), start), CollocationFlow(), until=AtTime(1e6))
    assert run.time == 1e6
    np.testing.assert_allclose(run.network.w, start.w, rtol=1e-12)


@pytest.mark.parametrize(("size", "log_time"), [(1e-6, 1e3), (1e-300, 1e36)])
def test_a_takeover_is_waited_for_however_late_it_is(size, log_time):
    """Erratum E4: at 1e-300 the event-driven flow says that a light neuron will take over; here it has."""
    network = Network([[6.0, 0.0], [0.0, -size]], [6.0, -size], leak=0.1)
    problem = TrainingProblem(load("lyu-counterexample"), LogisticLoss(), network)
    run = train(problem, CollocationFlow(), until=LimitIdentified())
    assert run.outcome is Outcome.DIRECTION_CONVERGED
    assert (run.log_time > log_time) is (size < 1e-100)
    limit = certified_limit(run)
    assert limit.is_proof
    assert limit.certificate.margin == pytest.approx(0.66087, abs=5e-6)


@pytest.mark.slow
def test_a_run_ends_where_outputs_are_no_doubles_any_more():
    data = Dataset([[1.0, 0.0], [-1.0, 0.5]], [1.0, -1.0])
    network = Network([[1.0, 0.1], [-1.0, 0.3]], [1.1, -1.2])
    run = train(TrainingProblem(data, LogisticLoss(), network), CollocationFlow(), until=Exhausted())
    assert run.outcome is Outcome.ROUNDED
    assert np.all(np.isfinite(run.outputs[-1]))
    assert run.log_time > 1e260


def test_a_lead_that_is_felt_stays_and_a_faded_one_shrinks_no_further_than_it_must():
    leads = np.array([0.0, 5.0, FADED_LEAD, 2.0 * FADED_LEAD, 100.0 * FADED_LEAD])
    outputs, every = RESCALED_MARGIN + leads, np.ones(5, dtype=bool)
    after = 0.5 * outputs + margin_offsets_after(outputs, np.zeros(5), every, 0.5)
    np.testing.assert_allclose(after - after[0], [0.0, 5.0, FADED_LEAD, FADED_LEAD, 50.0 * FADED_LEAD])
    counted = np.array([True, False, True, True, True])
    assert margin_offsets_after(outputs, np.zeros(5), counted, 0.5)[1] == 0.0


def test_outputs_beyond_doubles_of_time_are_those_of_the_closed_form():
    """One balanced neuron on one sample: Ei(h) = 2 |x| t + const under the exponential loss.

    Of a run rescaled by 2 % too much nothing else said that its outputs and weights were not those at its time.
    """
    network = Network(w=[[0.1]], a=[0.1])
    run = CollocationFlow(1e-9).start(TrainingProblem(Dataset([[2.0]], [1.0]), ExponentialLoss(), network))
    while run.log_time < 1e30:
        run.advance(np.inf, 1)
        h = float(run.outputs()[0])
        if h > 50.0:  # Ei(h) = e^h / h (1 + 1/h + 2/h^2 + ...)
            series = np.sum(np.cumprod([1.0, *(np.arange(1, 12) / h)]))
            assert h - np.log(h) + np.log(series) - np.log(4.0) == pytest.approx(run.log_time, rel=1e-8)
            assert float(run.network().a[0]) ** 2 * 2.0 == pytest.approx(h, rel=1e-8)
    assert run.log_sizes() is None
    assert h > 1e30
