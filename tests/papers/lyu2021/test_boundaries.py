"""Appendix I.2: refraction on orthogonally separable data, the ridge of Fig. 3, and a valley on the hinted set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    scaled_neurons,
    with_record,
)
from reluflow.certificates.limits.certified_limit import LimitIdentified, certified_limit
from reluflow.data.registry import load
from reluflow.dynamics.event import KINDS, EventKind, EventLog
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome
from reluflow.losses import loss_named
from reluflow.network import Network
from reluflow.papers.lyu2021.theorems.boundaries import BoundaryKind, SignedSamples, boundary_at
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import (
    TheoremCase,
    contract,
    with_each_network,
)

APPENDIX_I_2 = theorem_named("lyu2021:appI.2")


def every_event_a_death(evidence: Evidence) -> Evidence:
    log = evidence.run.events
    events = EventLog(log.neurons, log.samples, log.times, np.full_like(log.codes, KINDS.index(EventKind.DEATH)))
    return replace(evidence, trajectory=replace(evidence.run, events=events))


def first_sample_opposite(evidence: Evidence) -> Evidence:
    """The first sample is on the other side, so that the data are not orthogonally separable."""
    z = evidence.recorded(SignedSamples).z.copy()
    z[0] *= -1.0
    return with_record(evidence, z=z)


FORGERIES: Forgeries = {
    ("appI.2", "events"): Forgery(every_event_a_death),
    ("appI.2", "speed"): Forgery(first_sample_opposite),
    ("appI.2", "one-way"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
}

CASES = (
    TheoremCase(
        "lyu2021:appI.2",
        forge=lambda evidence: with_each_network(evidence, lambda k, n: n.replace(w=-n.w) if k == 12 else n),
        failing="orthogonally-separable",
        inapplicable=lambda: example_problem(APPENDIX_I_2, "lyu-hinted"),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize("name", ["lyu-counterexample", "lyu-counterexample-mild", "orthogonally-separable:n=6,d=3"])
def test_other_orthogonally_separable_sets_only_refract(name):
    assert check(APPENDIX_I_2, example_problem(APPENDIX_I_2, name)).kind is VerdictKind.HOLDS


def _on_the_ridge(log_scale=-10.0, tilt=0.0):
    network = Network([[tilt, 1.0]], [np.hypot(tilt, 1.0)], leak=0.5, log_scale=log_scale)
    return TrainingProblem(load("lyu-ridge"), loss_named("logistic"), network)


def test_the_ridge_of_figure_3():
    """Normal speeds on x_1 are +0.075 a on the positive and -0.05 a on the negative side."""
    problem = _on_the_ridge()
    boundary = boundary_at(problem, problem.network, 0, 0)
    assert boundary.kind is BoundaryKind.RIDGE
    size = np.exp(-10.0)
    assert boundary.above == pytest.approx(0.075 * size, rel=1e-4)
    assert boundary.below == pytest.approx(-0.05 * size, rel=1e-4)
    assert boundary.slope == pytest.approx(0.7, abs=1e-4)
    assert train(problem, EventDrivenFlow(), until=AtTime(10.0)).outcome is Outcome.RIDGE


def test_off_the_ridge_neurons_part_and_meet_again():
    """Tilted by +-1e-9 they point along (0.34, 0.94) and (-0.24, 0.97) at |theta|^2 = 0.01, then both to w^+."""
    for tilt, expected in ((1e-9, [0.34, 0.94]), (-1e-9, [-0.24, 0.97])):
        problem = _on_the_ridge(log_scale=np.log(0.01), tilt=tilt)
        times = list(np.linspace(1.0, 150.0, 400))
        run = train(problem, EventDrivenFlow(), until=LimitIdentified(), times=times, log_horizon=300.0)
        sizes = np.array([s.network.squared_norm() for s in run.snapshots])
        w = run.snapshots[int(np.argmin(np.abs(np.log(sizes / 0.01))))].network.w[0]
        assert w / np.linalg.norm(w) == pytest.approx(expected, abs=6e-3)
        end = certified_limit(run).network.w[0]
        assert end / np.linalg.norm(end) == pytest.approx([0.38075, 0.92468], abs=1e-5)


def test_a_valley_on_the_hinted_set():
    """A negative neuron slides on a hint, and the classification by speeds says valley there."""
    problem = example_problem(APPENDIX_I_2, "lyu-hinted")
    run = train(problem, EventDrivenFlow(), until=LimitIdentified(), log_horizon=60.0)
    slides = run.events.of_kind(EventKind.SLIDE_ENTRY)
    assert len(slides) > 0
    entry = slides[0]
    assert problem.network.a[entry.neuron] < 0.0 < problem.dataset.y[entry.sample]
    at_entry = train(problem, EventDrivenFlow(), until=AtTime(entry.time), times=[entry.time]).snapshots[-1].network
    boundary = boundary_at(problem, at_entry, entry.neuron, entry.sample)
    assert boundary.kind is BoundaryKind.VALLEY
    assert 0.5 < boundary.slope < 1.0


def test_refractions_are_classified_as_such():
    problem = example_problem(APPENDIX_I_2)
    run = train(problem, EventDrivenFlow(), until=AtTime(20.0))
    passed = run.events.of_kind(EventKind.REFRACTION)
    assert len(passed) >= 5
    for event in list(passed)[:5]:
        network = train(problem, EventDrivenFlow(), until=AtTime(event.time), times=[event.time]).snapshots[-1].network
        assert boundary_at(problem, network, event.neuron, event.sample).kind is BoundaryKind.REFRACTION


def test_a_dead_side_is_no_ridge():
    """For ReLU a neuron that nothing pulls on one side stands still there."""
    network = Network([[0.0, 1.0]], [1.0], leak=0.0)
    problem = TrainingProblem(load("lyu-ridge").subset([0]), loss_named("logistic"), network)
    assert boundary_at(problem, network, 0, 0).kind is BoundaryKind.STILL


def test_unbalanced_neurons_are_not_spoken_of():
    problem = example_problem(APPENDIX_I_2)
    unbalanced = replace(problem, network=problem.network.replace(a=0.5 * problem.network.a))
    assert check(APPENDIX_I_2, unbalanced).failing_hypotheses == ("balanced",)


def test_erratum_e19_unbalanced_neurons_may_change_sign():
    """sgn a_k is constant because the neurons are balanced; with |a| < |w| it is not, on the same data."""
    data = load("lyu-counterexample-sharp")
    network = Network([[-1.0, 0.2]], [0.1], leak=0.5, log_scale=-5.0)
    run = train(TrainingProblem(data, loss_named("logistic"), network), EventDrivenFlow(), until=AtTime(3.0))
    assert run.events.count(EventKind.SIGN_CHANGE) > 0
