"""Descent beside the flow where a study and a sweep ask for it."""

import pickle
from dataclasses import replace

import pytest

from problems import small_problem
from reluflow import EventDrivenFlow, train
from reluflow.study.descent_rates import compare_with_descent, is_comparable
from reluflow.study.flow_summary import FlowSummary, follow_flow
from reluflow.sweep.measures import measure_named


@pytest.fixture(scope="module")
def problem():
    return small_problem(width=6, scale=0.1, seed=0)


@pytest.fixture(scope="module")
def answer(problem):
    return compare_with_descent(problem, max_seconds=20.0)


def test_a_study_compares_small_problems_whose_flow_has_ended(problem):
    flow = follow_flow(problem)
    assert isinstance(flow, FlowSummary)
    assert is_comparable(problem, flow)
    assert not is_comparable(small_problem(width=3, scale="1e-400"), flow)
    unfinished = follow_flow(problem, max_steps=3, fallback=False)
    assert not is_comparable(problem, unfinished)


def test_the_answer_travels_to_another_process(answer):
    again = pickle.loads(pickle.dumps(answer))
    assert again.sentence() == answer.sentence()
    assert "gradient descent ends at the" in again.sentence()


def test_a_sweep_measures_the_rates(problem, answer):
    run = train(problem, EventDrivenFlow())
    for name, expected in (
        ("stable_below", answer.stable_below),
        ("same_gates_up_to", answer.same_gates.up_to),
        ("same_limit_up_to", answer.same_limit.up_to),
    ):
        assert measure_named(name)(run) == pytest.approx(expected, rel=1e-6)


def test_what_draws_nothing_has_no_interval():
    from reluflow.learning_rates.stochastic import ShareAtLimit
    from reluflow.learning_rates.watched_descent import DescentRule

    heavy = ShareAtLimit(DescentRule(0.1, momentum=0.9), 1, 1)
    assert heavy.sentence() == "Gradient descent with momentum 0.9 at learning rate 0.1 ends at the flow's limit."
    assert "does not end" in replace(heavy, ended_there=0).sentence()
