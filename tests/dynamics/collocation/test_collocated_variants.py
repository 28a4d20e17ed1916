"""Weight decay and a frozen output layer in collocation: against the event-driven flow, quadrature and certificates."""

from dataclasses import replace

import numpy as np
import pytest

from dynamics.problems_at_random import random_problem
from reluflow.certificates.regularised import certify_variant
from reluflow.data import Dataset
from reluflow.dynamics import CollocationFlow, EventDrivenFlow, TrainingProblem
from reluflow.dynamics.collocation.neuron_series_kernels import (
    PullAhead,
    expand_straight,
    make_series,
    place,
    shifted,
)
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.network import Network

VARIANTS = [(0.05, True), (0.5, True), (0.0, False), (0.1, False), (2.0, False)]


def weights(network):
    plain = network.materialized()
    return np.column_stack([plain.w, plain.a])


def log_of(run):
    """Who meets which wall, how and when, neuron by neuron: events of different neurons at one time have no order.

    One that lets go of two walls at one time may touch the other again at once, to rounding: that is left out.
    """
    log = sorted((event.neuron, event.time, str(event.kind), event.sample) for event in run.events)
    again = {
        entry: leave
        for leave in log
        for entry in log
        if (leave[0], leave[3]) == (entry[0], entry[3])
        and (leave[2], entry[2]) == ("slide-exit", "slide-entry")
        and 0.0 <= entry[1] - leave[1] < 1e-3
    }
    return [event for event in log if event not in again and event not in again.values()]


@pytest.mark.parametrize(("decay", "trains"), VARIANTS)
def test_agrees_with_the_event_driven_flow(decay, trains):
    """Three losses and three leaks, of every kind of start; states on the way, and every event at its time."""
    slides = 0
    for seed in (0, 4, 8, 10, 12, 14, 18, 20, 25):
        drawn = random_problem(seed)
        problem = replace(drawn.problem, weight_decay=decay, trains_output_layer=trains)
        keep = Keep(times=[0.3 * drawn.end, 0.6 * drawn.end, drawn.end])
        exact, found = (
            train(problem, solver, until=AtTime(drawn.end), keep=keep)
            for solver in (EventDrivenFlow(rtol=1e-10), CollocationFlow(rtol=1e-8))
        )
        assert found.outcome == exact.outcome
        for here, there in zip(found.snapshots, exact.snapshots, strict=True):
            size = np.max(np.abs(weights(there.network)))
            np.testing.assert_allclose(weights(here.network), weights(there.network), rtol=0, atol=1e-6 * size)
        ours, theirs = log_of(found), log_of(exact)
        assert [(who, *what) for who, _, *what in ours] == [(who, *what) for who, _, *what in theirs]
        np.testing.assert_allclose([e[1] for e in ours], [e[1] for e in theirs], rtol=1e-5, atol=1e-5)
        slides += exact.slides
    assert slides


@pytest.mark.parametrize("decay", [0.0, 0.6])
def test_the_series_of_a_frozen_neuron_is_its_integral(decay):
    """w(x) = e^(-decay x) w + a integral of e^(-decay (x - s)) D(s) ds, by quadrature; a polynomial without decay."""
    rng = np.random.default_rng(0)
    w, a, pull = rng.standard_normal(3), 0.7, rng.standard_normal((5, 3))
    ahead = PullAhead(pull, np.linalg.norm(pull, axis=1), np.empty((5, 5)), np.empty(5))
    series = make_series(1, 5, 3)
    degree = expand_straight(np.linalg.norm(w), a, ahead, np.ones(5), decay, series)
    if decay == 0.0:
        assert degree == len(pull)
    nodes, quadrature = np.polynomial.legendre.leggauss(20)
    for at in (0.3, 1.0):
        s = 0.5 * at * (1.0 + nodes)
        forces = np.polynomial.polynomial.polyval(s, pull).T
        moved = 0.5 * at * (quadrature * np.exp(-decay * (at - s))) @ forces
        here, output = np.empty(3), np.empty(1)
        place(series, pull, degree, at, w, here, output, np.empty(6))
        assert output[0] == a
        np.testing.assert_allclose(here, np.exp(-decay * at) * w + a * moved, rtol=0, atol=1e-14)


@pytest.mark.parametrize("trains", [True, False])
def test_what_no_sample_sees_decays_too(trains):
    """A run in the span of its samples: the rest of w is e^(-lambda t) times what it was, and counts at the end."""
    rng = np.random.default_rng(1)
    data = Dataset(rng.standard_normal((4, 30)) / 5, rng.standard_normal(4))
    network = Network(w=0.3 * rng.standard_normal((5, 30)), a=0.5 * rng.standard_normal(5))
    problem = TrainingProblem(data, "square", network, weight_decay=0.2, trains_output_layer=trains)
    exact, found = (train(problem, solver, until=AtTime(3.0)) for solver in (EventDrivenFlow(), CollocationFlow(1e-9)))
    np.testing.assert_allclose(weights(found.network), weights(exact.network), atol=1e-8)
    _, _, rows = np.linalg.svd(data.X, full_matrices=True)
    unseen = rows[4:].T
    np.testing.assert_allclose(found.network.w @ unseen, np.exp(-0.6) * network.w @ unseen, atol=1e-14)
    end = train(problem, CollocationFlow())
    assert end.outcome.code == "stationary"
    assert np.max(np.abs(end.network.w @ unseen)) < 1e-5 * np.max(np.abs(network.w))


def test_a_dead_neuron_with_a_frozen_output_decays():
    """Nothing pulls on it, so no step would carry it: w is e^(-lambda t) times what it was, and a what it was."""
    data = Dataset([[1.0, 0.2], [0.8, -0.1]], [1.0, 0.5])
    network = Network(w=[[1.0, 0.0], [-1.0, 0.1]], a=[0.6, -0.7])
    problem = TrainingProblem(data, "square", network, weight_decay=0.3, trains_output_layer=False)
    run = train(problem, CollocationFlow(), until=AtTime(7.0))
    np.testing.assert_allclose(run.network.w[1], np.exp(-2.1) * network.w[1], rtol=1e-12)
    assert run.network.a.tolist() == [0.6, -0.7]


@pytest.mark.parametrize("size", [1e-9, 1e9])
@pytest.mark.parametrize("solver", [EventDrivenFlow(), CollocationFlow(1e-9)])
def test_a_frozen_output_of_any_size_beside_the_inputs(solver, size):
    """(w/c, c a) has the outputs of (w, a) and moves c^2 times as fast.

    The event-driven flow measured errors of w against |(w, a)|, and its outputs were off by 7e-4 for c^2 = 1e9.
    """
    rng = np.random.default_rng(2)
    X, w, y = rng.standard_normal((4, 3)), rng.standard_normal((6, 3)), rng.standard_normal(4)
    a, c = rng.choice([-1.0, 1.0], 6), np.sqrt(size)
    usual, scaled = (
        TrainingProblem(Dataset(X, y), "square", network, trains_output_layer=False)
        for network in (Network(w, a), Network(w / c, c * a))
    )
    exact = train(usual, EventDrivenFlow(), until=AtTime(3.0))
    found = train(scaled, solver, until=AtTime(3.0 / size))
    np.testing.assert_allclose(found.predictions, exact.predictions, atol=1e-7)
    assert found.steps < 300


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_frozen_outputs_above_inputs_that_start_at_zero(decay):
    """w = 0 stands on every wall, and the forces alone say where it goes; w' = a D - lambda w from there."""
    rng = np.random.default_rng(3)
    data = Dataset(rng.standard_normal((5, 3)), rng.standard_normal(5))
    network = Network(w=np.zeros((4, 3)), a=[0.5, -0.5, 1.0, -1.0])
    problem = TrainingProblem(data, "square", network, weight_decay=decay, trains_output_layer=False)
    solvers = EventDrivenFlow(ridge="positive"), CollocationFlow(1e-9, ridge="positive")
    exact, found = (train(problem, solver, until=AtTime(4.0)) for solver in solvers)
    assert np.max(np.abs(exact.network.w)) > 0.1
    np.testing.assert_allclose(weights(found.network), weights(exact.network), atol=1e-8)


def test_little_decay_is_stiff_and_comes_to_rest():
    """Along the fits decay moves slowly what forces hold fast: steps from event to event are as short as those ask.

    On this draw they were at t = 8601 after 3000 steps; collocation is at rest after some 150, at 6e4.
    """
    rng = np.random.default_rng(1)
    X, w, a = rng.standard_normal((6, 3)), 0.5 * rng.standard_normal((8, 3)), 0.5 * rng.standard_normal(8)
    problem = TrainingProblem(
        Dataset(X, rng.standard_normal(6)),
        "square",
        Network(w, a, weight=rng.uniform(0.5, 2.0, 8)),
        weight_decay=1e-3,
    )
    run = train(problem, CollocationFlow(max_steps=500))
    assert run.outcome.code == "stationary"
    assert run.time > 1e4
    certificate = certify_variant(run.network, problem.dataset, problem.loss, weight_decay=1e-3)
    assert certificate.residuals["stationarity"] < 1e-6


@pytest.mark.parametrize("solver", [EventDrivenFlow(), CollocationFlow()])
def test_a_frozen_classifier_ends_in_direction(solver):
    """It fades for ever as one with both layers does, w growing like log t: the default rule waited for a minimum."""
    data = Dataset([[1.0, 0.3], [-1.0, 0.2]], [1.0, -1.0])
    network = Network(w=[[0.3, 0.1], [-0.2, 0.1]], a=[0.5, -0.5])
    run = train(TrainingProblem(data, "logistic", network, trains_output_layer=False), solver)
    assert run.outcome.code == "direction-converged"
    assert run.network.a.tolist() == [0.5, -0.5]


@pytest.mark.parametrize("q", [4, 5])
def test_a_shifted_pull_is_the_same_polynomial(q):
    # five coefficients go through one pass of their own, any other number through Horner's scheme
    rng = np.random.default_rng(q)
    pull, out, strengths = rng.standard_normal((q, 3)), np.empty((q, 3)), np.empty(q)
    shifted(pull, 0.37, out, strengths)
    for x in (-0.2, 0.0, 0.6):
        there = np.polynomial.polynomial.polyval(0.37 + x, pull)
        np.testing.assert_allclose(np.polynomial.polynomial.polyval(x, out), there, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(strengths, np.linalg.norm(out, axis=1), rtol=1e-14)
