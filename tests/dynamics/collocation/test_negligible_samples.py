"""Samples whose forces move no neuron are left out of the steps: nothing else may change by that."""

import pickle

import numpy as np
import pytest

from reluflow import (
    CollocationFlow,
    Dataset,
    ExponentialLoss,
    LogisticLoss,
    Network,
    SoftmaxLoss,
    TrainingProblem,
    balanced_initialization,
    train,
)
from reluflow.certificates.limits.certified_limit import LimitIdentified, certified_limit
from reluflow.dynamics.collocation import negligible_samples
from reluflow.dynamics.collocation.collocation_run import CollocationRun
from reluflow.dynamics.collocation.negligible_samples import NegligibleSamples
from reluflow.dynamics.stopping import AtTime

RTOL = 1e-7
LATE = 1e200


@pytest.fixture
def leave_out_negligible(monkeypatch):
    """Leave negligible samples out in small problems too, or never."""

    def set_to(is_on):
        monkeypatch.setattr(negligible_samples, "NEGLIGIBLE_FROM_SIZE", 1 if is_on else np.inf)

    return set_to


def of_many_sizes(seed, loss, n=30, d=4, m=8):
    """Two classes with a gap, samples of lengths 1 to 10: the longest are soon fitted by e^100."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, 0] += np.sign(X[:, 0])
    y = np.sign(X[:, 0])
    data = Dataset(X * rng.uniform(1.0, 10.0, (n, 1)), y)
    network = balanced_initialization(data, width=m, scale=1e-2, rng=rng, leak=(0.0, 0.2)[seed % 2])
    return TrainingProblem(data, loss, network)


def classes_of_many_sizes(seed, n=36, d=4, m=8):
    """Three classes with gaps, samples of lengths 1 to 10."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), np.arange(n) % 3
    X[np.arange(n), y] = np.max(np.abs(X[:, :3]), axis=1) + 1.0
    data = Dataset(X * rng.uniform(1.0, 10.0, (n, 1)), y, classes=("one", "two", "three"))
    network = balanced_initialization(data, width=m, scale=1e-2, rng=rng, leak=(0.0, 0.2)[seed % 2])
    return TrainingProblem(data, SoftmaxLoss(), network)


def lopsided(seed, n=40, d=4, m=8):
    """Neurons of sizes 1e-4 to 1: the light ones take over late and turn the network."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sign(X[:, 0] + 0.5 * np.abs(X[:, 1]) - 0.3)
    X = np.hstack([X, np.ones((n, 1))]) * rng.uniform(1.0, 10.0, (n, 1))
    w = rng.standard_normal((m, d + 1))
    w *= (10.0 ** rng.uniform(-4.0, 0.0, m) / np.linalg.norm(w, axis=1))[:, None]
    a = rng.choice([-1.0, 1.0], m) * np.linalg.norm(w, axis=1)
    return TrainingProblem(Dataset(X, y), ExponentialLoss(), Network(w, a, leak=0.1))


def meets_an_ignored_sample():
    """One neuron, which turns to the best direction of two samples and meets a third; five are soon negligible."""
    angle = np.arctan2(0.8, 1.0)
    beyond = [np.sin(angle + 1e-3), -np.cos(angle + 1e-3)]
    turns = angle + np.array([-0.2, -0.1, 0.05, 0.15, 0.3])
    long_samples = 20.0 * np.column_stack([np.cos(turns), np.sin(turns)])
    data = Dataset(np.vstack([long_samples, [[1.0, 0.0], [0.2, 1.0], beyond]]), np.ones(8))
    return TrainingProblem(data, LogisticLoss(), Network([[0.1, 1.0]], [np.hypot(0.1, 1.0)]))


def run_through(problem, times):
    """A run to some times: outputs at each, how few samples were in its steps, and the run."""
    run, outputs, fewest = CollocationFlow(rtol=RTOL).start(problem), [], problem.dataset.n
    for time in times:
        while run.time < time and run.outcome is None:
            run.advance(time, 1)
            fewest = min(fewest, len(run._state.samples.X))
        outputs.append(run.outputs())
    return np.array(outputs), fewest, run


def events_of(run):
    return sorted((event.neuron, event.sample, event.kind, np.log(event.time)) for event in run.recorder.log())


@pytest.mark.parametrize("loss", [LogisticLoss(), ExponentialLoss()], ids=["logistic", "exponential"])
@pytest.mark.parametrize("seed", [0, 1, 4, 17])
def test_outputs_and_events_are_those_of_all_samples(leave_out_negligible, seed, loss):
    """Measured on 60 problems at rtol 1e-7: outputs to 2e-8, every event in both lists, ln t of it to 2.5e-6."""
    compare_with_all(leave_out_negligible, of_many_sizes(seed, loss))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_outputs_of_classes_are_those_of_all_samples(leave_out_negligible, seed):
    """Only with one output were samples left out: steps of 2,000 images in three classes carried all of them.

    Measured at rtol 1e-7: outputs to 4e-10; ln t to 4e-8 and in one of 503 events, placed by interpolation, to 6e-5.
    """
    compare_with_all(leave_out_negligible, classes_of_many_sizes(seed), rtol_of_times=1e-4)


@pytest.mark.parametrize(
    "problem",
    [of_many_sizes(1, LogisticLoss(), n=100, d=60, m=12), classes_of_many_sizes(1, n=80, d=90, m=12)],
    ids=["one output", "classes"],
)
def test_steps_in_the_span_of_the_others_are_those_of_all(leave_out_negligible, problem):
    """Late steps with 200 of 12,665 images carried every neuron through 579 dimensions, and multiplied all images.

    Measured at rtol 1e-7: outputs to 6e-9 with one output, 2e-10 with three.
    """
    run = compare_with_all(leave_out_negligible, problem, share=0.7)
    span = run._state.negligible.span
    assert len(span.basis) + 1 == run._state.neurons.d < problem.dataset.d
    assert np.any(span.across)
    before = run.outputs(), run.network().w
    settled = run.is_settled()
    run._state.take_all_samples()
    np.testing.assert_allclose(run.outputs(), before[0], rtol=1e-12)
    np.testing.assert_allclose(run.network().w, before[1], rtol=1e-12, atol=1e-13 * np.max(np.abs(before[1])))
    assert run.is_settled() == settled


def compare_with_all(leave_out_negligible, problem, rtol_of_times=1e-5, share=0.5):
    """Outputs and events of a run without negligible samples, which is given back, against one with all of them."""
    times = [1e5, 1e20, 1e60, LATE]
    leave_out_negligible(True)
    some, fewest, run = run_through(problem, times)
    leave_out_negligible(False)
    of_all, every, whole = run_through(problem, times)
    assert every == problem.dataset.n
    assert fewest < share * every
    some, of_all = some.reshape(len(times), -1), of_all.reshape(len(times), -1)
    assert np.all(np.max(np.abs(some - of_all), axis=1) <= RTOL * np.max(np.abs(of_all), axis=1))
    assert np.allclose(run.outputs(), run.network().outputs(problem.dataset.X), rtol=1e-12)
    ours, theirs = events_of(run), events_of(whole)
    assert [event[:3] for event in ours] == [event[:3] for event in theirs]
    assert np.allclose([event[3] for event in ours], [event[3] for event in theirs], rtol=rtol_of_times, atol=1e-8)
    return run


@pytest.mark.parametrize("seed", [pytest.param(20, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow)])
def test_a_sample_that_comes_back_is_returned(leave_out_negligible, monkeypatch, seed):
    """A light neuron turns the network so far that a negligible sample has the smallest margin.

    Measured at rtol 1e-9: 1.5e-10 and 5e-11. Left out, the outputs are off by 1.2 % and by all there is.
    """
    problem, solver, until = lopsided(seed), CollocationFlow(rtol=1e-9), AtTime(1e300)
    leave_out_negligible(False)
    of_all = train(problem, solver, until=until).end.outputs
    leave_out_negligible(True)
    returned, returning = [], NegligibleSamples.returning

    def watched(self, after, strongest):
        returned.extend(np.flatnonzero(found := returning(self, after, strongest)).tolist())
        return found

    monkeypatch.setattr(NegligibleSamples, "returning", watched)
    outputs = train(problem, solver, until=until).end.outputs
    assert returned
    assert np.max(np.abs(outputs - of_all)) <= 1e-9 * np.max(np.abs(of_all))
    monkeypatch.setattr(
        NegligibleSamples, "returning", lambda self, after, strongest: np.zeros(problem.dataset.n, bool)
    )
    forged = train(problem, solver, until=until).end.outputs
    assert np.max(np.abs(forged - of_all)) > 1e-2 * np.max(np.abs(of_all))


def test_a_run_goes_on_bit_by_bit_while_samples_are_left_out(leave_out_negligible):
    leave_out_negligible(True)
    problem = of_many_sizes(1, LogisticLoss())
    _, _, run = run_through(problem, [1e40])
    assert run._state.negligible is not None
    again = pickle.loads(pickle.dumps(run))
    for one in (run, again):
        while one.time < LATE:
            one.advance(LATE, 1)
    assert np.array_equal(run.outputs(), again.outputs())
    assert np.array_equal(run.network().w, again.network().w)
    assert events_of(run) == events_of(again)


def test_an_ignored_sample_stays_out_of_the_rate_when_others_wake(leave_out_negligible):
    """Its force never fades: taken for one of the others it would leave all of them out."""
    leave_out_negligible(True)
    run = CollocationFlow(rtol=1e-7).start(meets_an_ignored_sample())
    while run._state.negligible is None:
        run.advance(np.inf, 1)
    state = run._state
    assert state.all_outputs()[-1] == 0.0
    state._restore_all(state.negligible)
    assert state.samples.counted.tolist() == [True] * 7 + [False]


def test_a_step_is_one_by_another_clock_too(leave_out_negligible):
    """Where an ignored sample comes to count, the rate is e^20 times what it was, and the old step no step at all."""
    leave_out_negligible(False)
    run = CollocationFlow(rtol=1e-7).start(meets_an_ignored_sample())
    while run.log_time < 20.0:
        run.advance(np.inf, 1)
    state = run._state
    before, slow = state.step, state.log_rate
    state.refresh(counts_all=True)
    assert state.log_rate > slow + 15.0
    assert 0.1 * state.first_step() <= state.step <= max(before, state.first_step())
    state.refresh()
    assert state.log_rate == pytest.approx(slow)
    assert 0.1 * state.first_step() <= state.step <= max(before, state.first_step())


def test_an_ignored_sample_is_met_while_others_are_left_out(leave_out_negligible, monkeypatch):
    """The neuron turns to the best direction of two samples and meets a third at t = 1.6e12, long ones left out."""
    problem = meets_an_ignored_sample()
    ends, were_left_out, passing = [], [], CollocationRun._pass_contacts

    def watched(run, found, soon):
        were_left_out.append(run._state.negligible is not None)
        passing(run, found, soon)

    monkeypatch.setattr(CollocationRun, "_pass_contacts", watched)
    for is_on in (True, False):
        leave_out_negligible(is_on)
        run = train(problem, CollocationFlow(rtol=1e-9), until=LimitIdentified())
        ends.append((run, certified_limit(run)))
    assert were_left_out == [True, False]
    (run, limit), (whole, limit_of_all) = ends
    assert [event.sample for event in run.events] == [event.sample for event in whole.events] == [7]
    assert run.events[0].time == pytest.approx(whole.events[0].time, rel=1e-6)
    assert limit.is_proof
    assert limit_of_all.is_proof
    assert limit.certificate.margin == pytest.approx(limit_of_all.certificate.margin, rel=1e-12)
