"""Results of the flow that hold for descent up to a term of the order of its step size, judged for descent."""

from __future__ import annotations

import warnings

import pytest

from reluflow.after_run import StageFailed
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.theory.check import check, example_problem
from reluflow.theory.registry import theorem_named, theorems
from reluflow.theory.verdict import VerdictKind

SHORT = GradientDescent(lr=0.01, iterations=1000)
FOR_DESCENT = [theorem.key for theorem in theorems() if theorem.holds_for_descent]


def test_there_is_more_than_balancedness():
    """A result that forgets to say that it holds for descent is `not applicable` to every descent."""
    bounds = {"boursier2024:eq32", "min2024:remark1", "lyu2021:corB.18", "phuong2021:lemmaB.1"}
    assert {"boursier2024:lemma1", *bounds} <= set(FOR_DESCENT)


@pytest.mark.parametrize("key", FOR_DESCENT)
def test_what_holds_for_descent_is_judged_for_it(key):
    theorem = theorem_named(key)
    verdict = check(theorem, example_problem(theorem), solver=SHORT)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.hypothesis("descent-follows").holds


@pytest.mark.parametrize("key", ["lyu2021:lemma5.2", "lyu2021:eq3", "lyu2021:lemma5.4"])
def test_a_descent_that_ends_before_the_first_state_breaks_no_measure(key):
    """What a measure read was missing, which was told as a warning of an error in the measure."""
    theorem = theorem_named(key)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StageFailed)
        verdict = check(theorem, example_problem(theorem), solver=SHORT)
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
