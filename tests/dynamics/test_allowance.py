"""What a run may cost: the bound ends it, says so, and leaves it where the same call with more goes on."""

import time

import numpy as np
import pytest

from problems import small_problem
from reluflow.dynamics.checkpoint import Checkpoint
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.stopping import Stationary
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome
from reluflow.errors import InvalidInputError


@pytest.fixture
def problem():
    return small_problem(width=20, scale=1e-2, seed=1)


def test_steps_end_a_run_whatever_was_asked(problem):
    run = train(problem, EventDrivenFlow(), times=[1e6], max_steps=7)
    assert run.outcome is Outcome.MAX_STEPS
    assert run.steps == 7
    assert run.outcome.is_spent
    assert run.outcome.is_cut_short
    assert "max_steps" in run.outcome.sentence


def test_a_descent_takes_exactly_the_steps_allowed(problem):
    run = train(problem, GradientDescent(lr=1e-3, iterations=100_000), max_steps=777)
    assert (run.outcome, run.steps) == (Outcome.MAX_STEPS, 777)


def test_seconds_end_a_run(problem):
    began = time.monotonic()
    run = train(problem, GradientDescent(lr=1e-9, iterations=10**12), max_seconds=0.2)
    assert run.outcome is Outcome.MAX_SECONDS
    assert time.monotonic() - began < 60.0  # some chunks of a tenth of a second, on a busy machine
    assert "max_seconds" in run.outcome.sentence


def test_a_run_that_was_cut_goes_on_bit_by_bit(tmp_path, problem):
    """`max_steps` was a setting of the solver alone, so a run that it ended could never be taken up again."""
    whole = train(problem, EventDrivenFlow(), until=Stationary())
    checkpoint = Checkpoint(tmp_path / "run.checkpoint")
    for most in (10, 20, np.inf):
        run = train(problem, EventDrivenFlow(), until=Stationary(), max_steps=most, checkpoint=checkpoint)
        assert checkpoint.path.exists() == run.outcome.is_spent
    assert run.steps == whole.steps
    np.testing.assert_array_equal(run.network.w, whole.network.w)
    np.testing.assert_array_equal(run.losses, whole.losses)


def test_a_run_cut_by_the_clock_goes_on(tmp_path, problem):
    checkpoint = Checkpoint(tmp_path / "run.checkpoint")
    cut = train(problem, EventDrivenFlow(), until=Stationary(), max_seconds=1e-9, checkpoint=checkpoint)
    assert (cut.outcome, cut.steps) == (Outcome.MAX_SECONDS, 1)
    whole = train(problem, EventDrivenFlow(), until=Stationary(), checkpoint=checkpoint)
    np.testing.assert_array_equal(whole.network.w, train(problem, EventDrivenFlow(), until=Stationary()).network.w)


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ({"max_steps": 0}, "`max_steps` must be at least 1, got 0"),
        ({"max_seconds": 0.0}, "`max_seconds` must be positive, got 0.0"),
        ({"max_seconds": float("nan")}, "`max_seconds` must be positive, got nan"),
    ],
)
def test_no_allowance_is_refused(problem, bound, words):
    with pytest.raises(InvalidInputError, match=words):
        train(problem, EventDrivenFlow(), **bound)


def test_waiting_for_a_core_does_not_cut_a_run_short(problem, monkeypatch):
    """A study on a busy machine answered "exact until t = 0.027973, from there by gradient descent".

    Its seconds were counted on a clock that went on while other programs had the processor.
    """
    from reluflow.compilation import clock

    waited = iter(np.arange(0.0, 1e6, 0.5))  # half a second of waiting before every look at the clock
    monkeypatch.setattr(clock, "computing_time", lambda: next(waited))
    whole = train(problem, EventDrivenFlow(), until=Stationary())
    run = train(problem, EventDrivenFlow(), until=Stationary(), max_seconds=whole.steps)
    assert run.outcome is Outcome.STATIONARY
    assert run.steps == whole.steps


def test_a_run_that_only_waits_ends(problem, monkeypatch):
    from reluflow.compilation import clock

    waited = iter(np.arange(0.0, 1e6, 0.5))
    monkeypatch.setattr(clock, "computing_time", lambda: next(waited))
    run = train(problem, EventDrivenFlow(), until=Stationary(), max_seconds=1.0)
    assert run.outcome is Outcome.MAX_SECONDS
    assert run.steps == 8  # four seconds of the clock for each of the processor, half a second a step
