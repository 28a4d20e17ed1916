"""Checkpoints: a run that was stopped goes on bit by bit as if it had not been."""

import os
import signal

import numpy as np
import pytest

from reluflow.data.registry import load
from reluflow.dynamics.checkpoint import Checkpoint
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.descent.grouped_descent import GroupedGradientDescent
from reluflow.dynamics.descent.stochastic_gradient_descent import StochasticGradientDescent
from reluflow.dynamics.flow.event_driven import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import AtTime, Exhausted
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome
from reluflow.errors import InvalidInputError
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network import INITIALIZATIONS


def problem(spec="three-points", init="balanced", width=40, loss=None):
    data = load(spec)
    network = INITIALIZATIONS[init](data, width=width, scale=1e-3, rng=np.random.default_rng(1))
    return TrainingProblem(data, loss or SquareLoss(), network)


SOLVERS = [
    (EventDrivenFlow(), problem(), AtTime(15.0)),
    (EventDrivenFlow(), problem("stewart-digitised", "unbalanced", 30), AtTime(20.0)),
    (EventDrivenFlow(), problem("phuong-toy", "sphere", 8, LogisticLoss()), AtTime(50.0)),
    (GradientDescent(lr=1e-2, iterations=3000), problem(), Exhausted()),
    (GroupedGradientDescent(lr=1e-2, iterations=3000), problem(), Exhausted()),
    (StochasticGradientDescent(lr=1e-2, batch=2, iterations=3000, seed=4), problem(), Exhausted()),
]


@pytest.mark.parametrize(("solver", "task", "rule"), SOLVERS, ids=lambda value: type(value).__name__)
def test_resumed_run_equals_the_uninterrupted_one(tmp_path, solver, task, rule):
    whole = train(task, solver, until=rule, times=[2.0])
    checkpoint = Checkpoint(tmp_path / "run.checkpoint", seconds=0.0)
    stops = [len(whole.times) // 3, len(whole.times) // 2]
    for stop in stops:
        count = 0

        def interrupt(run, stop=stop):
            nonlocal count
            count += 1
            if run.steps >= whole.steps * stop / len(whole.times):
                raise KeyboardInterrupt

        part = train(task, solver, until=rule, times=[2.0], checkpoint=checkpoint, progress=interrupt)
        assert part.outcome is Outcome.INTERRUPTED
        assert checkpoint.path.exists()
    resumed = train(task, solver, until=rule, times=[2.0], checkpoint=checkpoint)
    for field in ("times", "log_times", "losses", "outputs"):
        assert np.array_equal(getattr(resumed, field), getattr(whole, field)), field
    assert np.array_equal(resumed.network.w, whole.network.w)
    assert np.array_equal(resumed.network.a, whole.network.a)
    assert list(resumed.events) == list(whole.events)
    assert np.array_equal(resumed.snapshots[0].network.w, whole.snapshots[0].network.w)
    assert resumed.steps == whole.steps
    assert not checkpoint.path.exists()


def test_ctrl_c_waits_for_the_step_and_keeps_what_was_done(tmp_path):
    task = problem()

    def press(run):
        if run.steps == 20:
            os.kill(os.getpid(), signal.SIGINT)

    checkpoint = Checkpoint(tmp_path / "run.checkpoint")
    part = train(task, EventDrivenFlow(), until=AtTime(15.0), checkpoint=checkpoint, progress=press)
    assert part.outcome is Outcome.INTERRUPTED
    assert len(part.times) == 21
    assert checkpoint.path.exists()
    whole = train(task, EventDrivenFlow(), until=AtTime(15.0))
    resumed = train(task, EventDrivenFlow(), until=AtTime(15.0), checkpoint=checkpoint)
    assert np.array_equal(resumed.outputs, whole.outputs)


def test_another_run_is_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.checkpoint", seconds=0.0)

    def interrupt(run):
        raise KeyboardInterrupt

    train(problem(), EventDrivenFlow(), until=AtTime(5.0), checkpoint=checkpoint, progress=interrupt)
    with pytest.raises(InvalidInputError, match="checkpoint of another run"):
        train(problem(width=41), EventDrivenFlow(), until=AtTime(5.0), checkpoint=checkpoint)
    with pytest.raises(InvalidInputError, match="checkpoint of another run"):
        train(problem(), EventDrivenFlow(rtol=1e-9), until=AtTime(5.0), checkpoint=checkpoint)
    checkpoint.path.write_bytes(b"torn")
    with pytest.raises(InvalidInputError, match="not a checkpoint that can be read"):
        train(problem(), EventDrivenFlow(), until=AtTime(5.0), checkpoint=checkpoint)


def test_folder_must_exist(tmp_path):
    with pytest.raises(InvalidInputError, match="folder that exists"):
        Checkpoint(tmp_path / "none" / "run.checkpoint")
