"""Checkpoints: only the very same run goes on from one. That it goes on bit by bit is the solvers' contract."""

import dataclasses
from functools import partial

import numpy as np
import pytest

from problems import small_problem
from reluflow import numerics_version
from reluflow.certificates.limits.certified_limit import LimitIdentified
from reluflow.dynamics.checkpoint import Checkpoint, settings_of
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.stopping import AtTime, FirstOf, Stationary
from reluflow.dynamics.train import train
from reluflow.errors import InvalidInputError
from reluflow.losses import LogisticLoss, SquareLoss


def interrupt(run):
    if run.steps >= 3:
        raise KeyboardInterrupt


PROBLEM = small_problem(width=20, scale=1e-3, seed=1)
FLOW = {"problem": PROBLEM, "solver": EventDrivenFlow(), "until": AtTime(5.0), "keep": Keep(times=[1.0])}
DESCENT = FLOW | {"solver": GradientDescent(lr=0.1, iterations=40)}


@pytest.mark.parametrize(
    ("first", "changes", "names"),
    [
        (FLOW, {"problem": small_problem(width=21, scale=1e-3, seed=1)}, "another `problem`;"),
        (FLOW, {"problem": dataclasses.replace(PROBLEM, loss=SquareLoss(factor=2.0))}, "another `problem`;"),
        (FLOW, {"solver": EventDrivenFlow(rtol=1e-9)}, "another `solver`;"),
        (FLOW, {"solver": EventDrivenFlow(max_steps=7)}, "another `solver`;"),
        (FLOW, {"until": AtTime(6.0)}, "another `until`;"),
        (FLOW, {"until": FirstOf((AtTime(5.0), Stationary()))}, "another `until`;"),
        (FLOW, {"keep": Keep(times=[1.0], thinned=5)}, "another `keep`;"),
        (FLOW, {"keep": Keep(times=[1.0], measure=EventDrivenFlow.describe)}, "another `keep`;"),
        (FLOW, {"horizon": 9.0, "log_horizon": 3.0}, "another `horizon` and another `log_horizon`;"),
        (DESCENT, {"solver": GradientDescent(lr=0.1, iterations=41)}, "another `solver`;"),
        (DESCENT, {"keep": Keep(times=[1.0], iterations=[8])}, "another `keep`;"),
    ],
    ids=str,
)
def test_a_run_with_other_settings_is_refused(tmp_path, first, changes, names):
    """The fingerprint once left out `until`, `iterations` and `max_steps`: a resumed run kept the old ones."""
    checkpoint = Checkpoint(tmp_path / "run.checkpoint")
    with pytest.raises(KeyboardInterrupt):
        train(**first, checkpoint=checkpoint, progress=interrupt)
    with pytest.raises(InvalidInputError, match="checkpoint of another run, which had " + names):
        train(**first | changes, checkpoint=checkpoint)
    assert train(**first, checkpoint=checkpoint).time > 0.0


def test_a_run_of_other_numerics_is_refused(tmp_path, monkeypatch):
    """Between two releases a solver may change: half a run of each was taken for one."""
    checkpoint = Checkpoint(tmp_path / "run.checkpoint")
    with pytest.raises(KeyboardInterrupt):
        train(**FLOW, checkpoint=checkpoint, progress=interrupt)
    monkeypatch.setattr(numerics_version, "NUMERICS_VERSION", numerics_version.NUMERICS_VERSION + 1)
    with pytest.raises(InvalidInputError, match="another run, which had another `version`;"):
        train(**FLOW, checkpoint=checkpoint)


@dataclasses.dataclass(frozen=True)
class WeighedLoss(SquareLoss):
    weights: np.ndarray = None


def test_every_number_of_an_array_among_the_settings_counts():
    """Arrays print eight digits of six entries: a loss with other weights was taken for the same."""
    weights = np.linspace(1.0, 2.0, 5000)
    others = [weights.copy() for _ in range(2)]
    others[0][2500] += 0.1  # in the middle, which a long array does not print
    others[1][0] += 1e-14
    one, again, *rest = (
        settings_of(dataclasses.replace(PROBLEM, loss=WeighedLoss(weights=w)), EventDrivenFlow())
        for w in (weights, weights.copy(), *others)
    )
    assert all(other["problem"] != one["problem"] for other in rest)
    assert one == again


def test_what_cannot_be_known_again_is_refused_beside_a_checkpoint(tmp_path):
    """Two closures of one function had one name, so that the second half of a run was measured otherwise; a partial
    function had none, and failed even without a checkpoint."""
    checkpoint = Checkpoint(tmp_path / "run.checkpoint")
    for measure in (lambda run: run.time, partial(look, digits=3)):
        keep = Keep(times=[1.0], measure=measure)
        assert len(train(**FLOW | {"keep": keep}).measured) == 1
        with pytest.raises(InvalidInputError, match="`measure` must be a function of a module"):
            train(**FLOW | {"keep": keep}, checkpoint=checkpoint)
    with pytest.raises(InvalidInputError, match="`recorder` must be None"):
        train(**FLOW | {"keep": Keep(recorder=interrupt)}, checkpoint=checkpoint)
    assert not checkpoint.path.exists()


def test_settings_are_told_to_a_checkpoint_only(monkeypatch):
    """Every run of a sweep of thousands read the package's version from disk, for a checkpoint that it had not."""
    monkeypatch.setattr("reluflow.dynamics.train.settings_of", None)
    assert train(**FLOW).time == 5.0


def look(run, digits=6):
    return round(run.time, digits)


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.checkpoint")
    checkpoint.path.write_bytes(b"torn")
    with pytest.raises(InvalidInputError, match="not a checkpoint that can be read"):
        train(**FLOW, checkpoint=checkpoint)
    with pytest.raises(InvalidInputError, match="folder that exists"):
        Checkpoint(tmp_path / "none" / "run.checkpoint")


def test_the_state_of_a_rule_goes_on(tmp_path):
    """What `LimitIdentified` has to remember, its next attempt, is in the file."""
    task = small_problem("min-toy", width=8, scale=1e-3, seed=1, loss=LogisticLoss())
    rule = LimitIdentified()
    whole = train(task, EventDrivenFlow(), until=rule)
    checkpoint = Checkpoint(tmp_path / "run.checkpoint")

    def late(run):
        if run.steps == whole.steps - 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(task, EventDrivenFlow(), until=rule, checkpoint=checkpoint, progress=late)
    assert train(task, EventDrivenFlow(), until=rule, checkpoint=checkpoint).steps == whole.steps
