"""Measures made of a function and a bound: sides, allowances, words, the worst of several, and nothing at all."""

from __future__ import annotations

import math
import pickle
from operator import attrgetter
from types import SimpleNamespace

import numpy as np
import pytest

from reluflow.theory import theorem
from reluflow.theory.check import example_problem
from reluflow.theory.comparison import Undecided, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import imbalance
from reluflow.theory.measures import Above, AtLeast, AtMost, Below, Equals, Quantities, ScaledDownTo
from reluflow.theory.registry import theorem_named

FOUND = attrgetter("found")
WANTED = attrgetter("wanted")


@pytest.mark.parametrize(
    ("found", "measure", "holds", "slack"),
    [
        (1.0, AtMost(FOUND, 3.0), True, 2.0),
        ([1.0, [2.0, 4.0]], AtMost(FOUND, 3.0), False, -1.0),
        ([1.0, [2.0, 4.0]], AtMost(FOUND, 3.0, allowance=1.5), True, -1.0),
        ([1.0, 2.0], AtLeast(FOUND, 1.5), False, -0.5),
        ([0.9, 1.05], Equals(FOUND, 1.0, allowance=0.2), True, 0.1),
        (2, Above(FOUND, 2), False, 0.0),
        (2, AtLeast(FOUND, 2), True, 0.0),
        (2, Below(FOUND, 3.0), True, 1.0),
        (2, Equals(FOUND, 2), True, None),
        (2, Equals(FOUND, 3), False, None),
    ],
)
def test_a_number_is_held_against_its_bound(found, measure, holds, slack):
    """Of several numbers the worst counts; an open side excludes the bound; plain equality has no slack."""
    measured = measure(SimpleNamespace(found=found))
    assert measured.holds is holds
    assert measured.slack == (None if slack is None else pytest.approx(slack))
    assert measured.margin == measured.slack


def test_the_words_speak_of_the_worst_the_count_and_the_evidence():
    several = AtMost(FOUND, 3.0, words="{measured:g} of {count} against {bound:g}")
    assert several(SimpleNamespace(found=[1.0, [2.0, 0.5]])).detail == "2 of 3 against 3"
    one = Above(FOUND, 1, words="{number} against {bound}, {evidence.wanted} wanted")
    assert one(SimpleNamespace(found=2, wanted=7)).detail == "2 against 1, 7 wanted"


def test_what_is_no_number_fails_and_nothing_is_no_pass():
    """A comparison kept as `worst = max(worst, value)` let a value that is no number pass unseen."""
    measure = AtMost(FOUND, 3.0)
    assert measure(SimpleNamespace(found=[1.0, math.nan, 2.0])).holds is False
    assert measure(SimpleNamespace(found=[])).is_empty
    assert Equals(FOUND, 3.0)(SimpleNamespace(found=[])).is_empty


def test_no_number_at_all_is_undecided_or_says_why():
    nothing = SimpleNamespace(found=[])
    with pytest.raises(Undecided, match="no snapshot"):
        AtMost(FOUND, 3.0, without="no snapshot")(nothing)
    assert "no neuron is mixed" in AtMost(FOUND, 3.0, empty="no neuron is mixed")(nothing).detail


def test_bound_and_allowance_may_be_found_in_the_evidence():
    evidence = SimpleNamespace(found=2.0, wanted=1.5)
    assert AtLeast(FOUND, WANTED)(evidence).slack == 0.5
    assert AtMost(FOUND, 1.0, allowance=WANTED)(evidence).holds


def test_a_constant_that_the_data_do_not_have_is_left_out():
    def missing(evidence):
        return require(None, "there is none")

    quantities = Quantities({"a": FOUND, "b": missing, "c": WANTED}, others=(lambda evidence: {"first": 1},))
    found = quantities(SimpleNamespace(found=np.array([1.0, 2.0]), wanted=np.float64(3.0)))
    assert list(found.items()) == [("first", 1), ("a", [1.0, 2.0]), ("c", 3.0)]
    assert type(found["c"]) is float


def test_a_scale_is_reached_from_above_only():
    find = ScaledDownTo(-5.0)
    assert find(SimpleNamespace(network=SimpleNamespace(log_scale=-2.0))) == -3.0
    assert find(SimpleNamespace(network=SimpleNamespace(log_scale=-7.0))) == 0.0


def test_measures_pickle():
    measure = AtMost(imbalance, 3.0, allowance=1e-9, words="{measured}")
    assert pickle.loads(pickle.dumps(measure)) == measure


def test_a_hypothesis_on_the_run_is_undecided_without_one():
    """It was a line in each of them, and one that forgot it raised in place of saying so."""
    result = theorem_named("lyu2021:thm3.1")
    asked = [h for h in result.hypotheses if h.needs_trajectory]
    assert [h.name for h in asked] == ["non-branching", "small-loss"]
    judged = [theorem._judged(h, Evidence(example_problem(result))) for h in asked]
    assert [(j.holds, j.detail) for j in judged] == [(None, "no run was made")] * 2
