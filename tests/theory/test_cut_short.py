"""A run that ends before the times a result speaks of decides nothing, and breaks nothing.

`check --horizon 1` once said `fails` of Theorem 1 of Min et al., for no neuron was aligned by then; and what a measure
read of a run cut short after a step was missing, which was told as a warning of an error in the measure.
"""

from __future__ import annotations

import warnings

import pytest

from reluflow.after_run import StageFailed
from reluflow.theory.check import check, example_problem
from reluflow.theory.registry import theorem_named, theorems
from reluflow.theory.verdict import VerdictKind

OF_MANY_KINDS = ["min2024:thm1", "min2024:paths", "lyu2021:lemmaG.4", "lyu2021:eq3", "chistikov2023:thm7"]


def _judged(key, **limits):
    theorem = theorem_named(key)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StageFailed)
        return check(theorem, example_problem(theorem), at_own_scale=True, **limits)


@pytest.mark.parametrize("key", OF_MANY_KINDS)
def test_a_horizon_before_the_end_of_the_plan_leaves_the_verdict_open(key):
    verdict = _judged(key, horizon=1.0)
    assert verdict.kind is VerdictKind.INCONCLUSIVE, verdict.why
    assert "ended at $t$ = 1, before the times" in verdict.why


def test_a_horizon_beyond_the_end_of_the_plan_changes_nothing():
    assert _judged("min2024:thm1", horizon=1e9).kind is VerdictKind.HOLDS


@pytest.mark.parametrize("key", OF_MANY_KINDS)
def test_a_run_of_one_step_breaks_no_measure(key):
    assert _judged(key, max_steps=1).kind is VerdictKind.INCONCLUSIVE


@pytest.mark.slow
@pytest.mark.parametrize("key", [theorem.key for theorem in theorems()])
@pytest.mark.parametrize("limits", [{"max_steps": 1}, {"max_steps": 150}, {"horizon": 1e-3}, {"horizon": 1.0}], ids=str)
def test_no_proven_result_fails_on_a_part_of_its_run(key, limits):
    verdict = _judged(key, **limits)
    assert verdict.kind is not VerdictKind.FAILS, verdict.why
