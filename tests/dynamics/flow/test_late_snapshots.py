"""Snapshots at times near the end of the range of a double."""

import itertools

import numpy as np

from reluflow import EventDrivenFlow, LogisticLoss, TrainingProblem, balanced_initialization, load, train
from reluflow.dynamics.stopping import Exhausted
from reluflow.network import initialization_named, neuron_rng


def test_snapshots_up_to_the_largest_double():
    """The smallest margin minus ln t must go on rising slowly up to ln t = 708.

    The clock went to infinity as soon as 1/rate left the ordinary doubles, near ln t = 692, and every later snapshot
    was taken then and there.
    """
    data = load("phuong-toy")
    network = balanced_initialization(data, width=6, scale=1e-3, rng=np.random.default_rng(0))
    logs = np.array([600.0, 680.0, 690.0, 700.0, 708.0])
    problem = TrainingProblem(data, LogisticLoss(reduction="sum"), network)
    run = train(problem, EventDrivenFlow(), times=np.exp(logs), horizon=float(np.exp(logs[-1])))
    excess = [float(np.min(s.outputs * data.y)) - log for s, log in zip(run.snapshots, logs, strict=True)]
    assert all(0.0 < later - earlier < 0.2 for earlier, later in itertools.pairwise(excess))
    assert run.log_time == logs[-1]


def test_a_step_that_leaves_the_range_of_a_double_is_not_taken():
    """After 2,259 steps, at ln t = 361, a step of length 1e156 was tried and passed the error test with outputs NaN."""
    data = load("linear-teacher")
    draw = initialization_named("lyu-balanced")
    network = draw(data, width=12, scale="1e-30", rng=neuron_rng(0), leak=0.0)
    run = train(TrainingProblem(data, LogisticLoss(), network), EventDrivenFlow(max_steps=2300), until=Exhausted())
    assert run.steps > 2250
    assert np.all(np.isfinite(run.outputs))
    assert np.all(np.isfinite(run.network.w))
