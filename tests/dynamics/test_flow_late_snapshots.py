"""Snapshots at times near the end of the range of a double."""

import itertools

import numpy as np

from problems import small_problem
from reluflow import EventDrivenFlow, LogisticLoss, TrainingProblem, load, train
from reluflow.dynamics.trajectory import Outcome
from reluflow.network import initialization_named, neuron_rng


def test_snapshots_up_to_the_largest_double():
    """The smallest margin minus ln t must go on rising slowly up to ln t = 708.

    The clock went to infinity as soon as 1/rate left the ordinary doubles, near ln t = 692, and every later snapshot
    was taken then and there.
    """
    logs = np.array([600.0, 680.0, 690.0, 700.0, 708.0])
    problem = small_problem("phuong-toy", width=6, scale=1e-3, loss=LogisticLoss(reduction="sum"))
    run = train(problem, EventDrivenFlow(), times=np.exp(logs), horizon=float(np.exp(logs[-1])))
    excess = [float(np.min(s.outputs * problem.dataset.y)) - log for s, log in zip(run.snapshots, logs, strict=True)]
    assert all(0.0 < later - earlier < 0.2 for earlier, later in itertools.pairwise(excess))
    assert run.log_time == logs[-1]


def test_samples_that_are_ignored_do_not_stretch_the_steps():
    """After 2,259 steps, at ln t = 361, a step of length 1e156 was tried and passed the error test with outputs NaN.

    Two samples on which no neuron acts kept their forces and so the rate R: the rescaled time was the time itself, the
    other forces e^-361 of R, and steps as long as t; beyond 1e154 their squares are infinite. Out of the rate, they
    leave the clock to the others.
    """
    data = load("linear-teacher")
    draw = initialization_named("lyu-balanced")
    network = draw(data, width=12, scale="1e-30", rng=neuron_rng(0), leak=0.0)
    run = EventDrivenFlow(max_steps=2400).start(TrainingProblem(data, LogisticLoss(), network))
    while run.outcome is None:
        before = run._rescaled_time
        run.advance(np.inf)
        assert run._rescaled_time - before < 1.0
    assert run.outcome is Outcome.MAX_STEPS
    assert run.log_time > 400.0
    assert np.count_nonzero(run.outputs() == 0.0) == 2
    assert np.all(np.isfinite(run.network().w))
