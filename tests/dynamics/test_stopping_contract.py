"""What every stopping rule keeps: it is settings, and what a run has to remember is made by `start`."""

import ast
import importlib
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import reluflow
from problems import small_problem
from reluflow import EventDrivenFlow, LogisticLoss, SquareLoss, train
from reluflow.bench.dense import EverySampleRight
from reluflow.certificates.limits.certified_limit import LimitIdentified
from reluflow.certificates.limits.levelling import LevelledOff
from reluflow.dynamics.stopping import Aligned, AtTime, DirectionConverged, Exhausted, FirstOf, LossBelow, Stationary
from reluflow.dynamics.trajectory import Outcome
from reluflow.errors import InvalidInputError
from reluflow.papers.lyu2021.figures.training_run import SquaredNorm
from reluflow.study.flow_summary import TimeLeftForDescent
from reluflow.vanishing_scale.orbit import Arrival

SOURCE = Path(reluflow.__file__).parent
RULES = (  # each with the outcome it gives on `min-toy`, whose classifier grows for ever
    (Stationary(), Outcome.HORIZON),
    (DirectionConverged(atol=0.3, margin=2.0), Outcome.DIRECTION_CONVERGED),
    (FirstOf((AtTime(3.0), LimitIdentified())), Outcome.HORIZON),
    (Exhausted(), Outcome.HORIZON),
    (Aligned(atol=0.1), Outcome.ALIGNED),
    (LossBelow(0.3), Outcome.REACHED),
    (AtTime(2.0), Outcome.HORIZON),
    (LimitIdentified(), Outcome.DIRECTION_CONVERGED),
    (LevelledOff(), Outcome.HORIZON),
    (SquaredNorm(5.0), Outcome.REACHED),
    (EverySampleRight(1.0), Outcome.REACHED),
    (Arrival(0.7), Outcome.STATIONARY),
    (TimeLeftForDescent(Stationary(), 1e9), Outcome.HORIZON),
)


PROBLEM = small_problem("min-toy", width=8, scale=1e-3, loss=LogisticLoss())


def test_every_stopping_rule_is_here():
    found = {
        getattr(importlib.import_module(".".join(("reluflow", *path.relative_to(SOURCE).with_suffix("").parts))), name)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "AbstractStoppingRule" for base in node.bases)
        for name in [node.name]
    }
    assert found == {type(rule) for rule, _ in RULES}


@pytest.mark.parametrize(("rule", "outcome"), RULES, ids=lambda value: type(value).__name__)
def test_a_rule_is_settings_and_serves_twice(rule, outcome):
    """`LimitIdentified` kept its next attempt in itself, `Arrival` the gradients it had seen: a second run differed.

    A value that can be hashed holds nothing that changes; and two runs with one rule are the same.
    """
    hash(rule)
    as_given = pickle.dumps(rule)
    runs = [train(PROBLEM, EventDrivenFlow(), until=rule, log_horizon=500.0) for _ in range(2)]
    assert pickle.dumps(rule) == as_given
    assert [run.outcome for run in runs] == [outcome, outcome]
    assert runs[0].steps == runs[1].steps
    assert np.array_equal(runs[0].outputs, runs[1].outputs)


def test_a_loss_that_was_reached_is_no_direction_that_converged():
    """Theorem B.19's run stopped at a loss level and said that its direction had stopped turning."""
    run = train(replace(PROBLEM, loss=SquareLoss()), EventDrivenFlow(), until=LossBelow(0.2))
    assert run.outcome is Outcome.REACHED
    assert run.losses[-1] <= 0.2 < run.losses[-2]
    assert not run.outcome.is_limit
    assert not run.outcome.is_cut_short
    with pytest.raises(InvalidInputError, match=r"`level` must be positive and finite, got 0"):
        LossBelow(0.0)
