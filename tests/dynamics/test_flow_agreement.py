"""The flow against two independent references: event-splitting DOP853, and gradient descent with its step to zero."""

import json
from pathlib import Path

import numpy as np
import pytest

from dynamics.problems_at_random import random_problem
from dynamics.reference_flow import Reference
from reluflow.data import Dataset
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import AtTime, Exhausted
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome
from reluflow.losses import loss_named
from reluflow.network import Network

CASES = json.loads((Path(__file__).parent / "fixtures" / "flow_cases.json").read_text())["cases"]


def distance(network, w, a):
    """Largest difference of a weight, relative to the largest weight where that exceeds 1."""
    size = max(1.0, float(np.max(np.abs(w))), float(np.max(np.abs(a))))
    return max(float(np.max(np.abs(network.w - w))), float(np.max(np.abs(network.a - a)))) / size


@pytest.mark.parametrize(("solver", "atol"), [(EventDrivenFlow(rtol=1e-10), 1e-9), (CollocationFlow(rtol=1e-9), 2e-9)])
@pytest.mark.parametrize("name", CASES)
def test_stored_reference_trajectories(name, solver, atol):
    """Measured by collocation at rtol 1e-9: weights within 4.7e-10 of the references, outputs within 6.3e-10."""
    case = CASES[name]
    problem = TrainingProblem(
        Dataset(case["X"], case["y"]),
        loss_named(case["loss"], reduction="sum" if case["c"] == 1.0 else "mean"),
        Network(w=case["w"], a=case["a"], leak=case["gamma"]),
    )
    trajectory = train(problem, solver, until=AtTime(case["times"][-1]), times=case["times"])
    assert [snapshot.time for snapshot in trajectory.snapshots] == case["times"]
    for ours, theirs in zip(trajectory.snapshots, case["snapshots"], strict=True):
        assert distance(ours.network, np.array(theirs["w"]), np.array(theirs["a"])) < atol
        np.testing.assert_allclose(ours.outputs, theirs["h"], atol=atol)
        assert ours.loss == pytest.approx(theirs["loss"], abs=atol)
    assert trajectory.slides == case["info"]["slides"]
    assert trajectory.balancedness_drift < 1e-12


def compare(seed):
    """Run one random problem both ways; returns the trajectory and the reference at the same time."""
    drawn = random_problem(seed)
    problem = drawn.problem
    trajectory = train(problem, EventDrivenFlow(rtol=1e-10), until=AtTime(drawn.end))
    network, loss = problem.network, problem.loss
    reference = Reference(
        np.asarray(problem.dataset.X),
        np.asarray(problem.dataset.y),
        loss.name,
        loss.sample_weight(problem.dataset.n),
        network.leak,
        network.w,
        network.a,
        network.weight,
    )
    reference.run(trajectory.time)
    return trajectory, reference


def assert_same(trajectory, reference):
    assert distance(trajectory.network, reference.w, reference.a) < 1e-8
    assert trajectory.balancedness_drift < 1e-12
    assert np.all(np.diff(trajectory.losses) <= 1e-12 * trajectory.losses[0])
    if trajectory.outcome is Outcome.RIDGE:
        # only where the output weight changes sign on a sliding wall, or where w = 0 is met with |a| > |w|
        assert trajectory.events.count("ridge") > 0
        start = trajectory.problem.network
        assert not np.allclose(np.abs(start.a), np.linalg.norm(start.w, axis=1))
        return
    assert trajectory.outcome is Outcome.HORIZON
    ours = without_instants(
        [(e.neuron, e.sample, e.time, e.kind) for e in trajectory.events if e.kind != "sign-change"]
    )
    theirs = without_instants([(j, k, t, "") for j, k, t, *_ in reference.events])
    assert len(ours) == len(theirs)
    for (j, k, t, kind), (j_ref, k_ref, t_ref, _) in zip(ours, theirs, strict=True):
        assert (j, k) == (j_ref, k_ref)
        # a slide ends tangentially, and the reference sees a pre-activation only once it is below -1e-13
        assert t == pytest.approx(t_ref, abs=(1e-5 if kind == "slide-exit" else 1e-7) * (1.0 + t_ref))


def without_instants(events):
    """Events in order of neuron and sample, less pairs that undo each other at once.

    Where a force passes through zero, several slides of a neuron end together and one of them starts again; whether
    that is logged as an end and a start or as nothing is a matter of taste.
    """
    kept = []
    for event in sorted(events):
        if kept and kept[-1][:2] == event[:2] and event[2] - kept[-1][2] < 1e-5 * (1.0 + event[2]):
            kept.pop()
        else:
            kept.append(event)
    return kept


@pytest.mark.parametrize("seed", range(27))
def test_random_problems(seed):
    assert_same(*compare(seed))


@pytest.mark.slow
def test_two_hundred_random_problems_most_of_which_slide():
    num_sliding = num_compared = 0
    for seed in range(27, 243):
        trajectory, reference = compare(seed)
        assert_same(trajectory, reference)
        num_compared += trajectory.outcome is Outcome.HORIZON
        num_sliding += trajectory.slides > 0
    assert num_compared >= 195
    assert num_sliding >= num_compared / 2


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 8, 9, 13, 15])
def test_gradient_descent_tends_to_the_flow_at_first_order(seed):
    """Where neurons slide it chatters, and still tends to the flow."""
    drawn = random_problem(seed)
    problem, end = drawn.problem, 0.3 * drawn.end
    trajectory = train(problem, EventDrivenFlow(), until=AtTime(end))
    errors = []
    for num_steps in (4000, 8000, 16000):
        descent = train(problem, GradientDescent(lr=end / num_steps, iterations=num_steps), until=Exhausted()).network
        errors.append(distance(trajectory.network, descent.w, descent.a))
    assert errors[2] < 2e-3
    ratios = [errors[0] / errors[1], errors[1] / errors[2]]
    assert 1.5 < np.sqrt(ratios[0] * ratios[1]) < 2.7
