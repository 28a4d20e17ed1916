"""Descent held against results of the flow: a miss that shrinks with the step size is allowed, another is not."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.data.registry import load
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.descent.stochastic_gradient_descent import StochasticGradientDescent
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import SquareLoss
from reluflow.network import initialization_named
from reluflow.theory.check import check
from reluflow.theory.comparison import at_most, fails, missing
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.theorem import Conclusion, Reference, Theorem

LR = 0.01
DESCENT = GradientDescent(lr=LR, iterations=50)


@pytest.fixture(scope="module")
def problem():
    data = load("three-points")
    network = initialization_named("balanced")(data, width=4, scale="1e-1", rng=np.random.default_rng(0), leak=0.0)
    return TrainingProblem(data, SquareLoss(), network)


def _step(evidence):
    run = evidence.run
    return run.time / run.steps


def _plan(evidence):
    return FlowPlan(times=(0.0, 0.25, 0.5))


def _theorem(measure, **more):
    conclusion = Conclusion("bound", "a part", measure)
    return Theorem("made2024:up", Reference("made2024", "Thm 0"), "made up", (), (conclusion,), plan=_plan, **more)


@pytest.mark.parametrize(
    ("measure", "kind"),
    [
        (lambda e: at_most(1.0, 2.0), "holds"),
        (lambda e: at_most(2.0 + 3.0 * _step(e), 2.0), "holds"),
        (lambda e: at_most(2.0 + 3.0 * _step(e) ** 2, 2.0), "holds"),
        (lambda e: at_most(2.1 + 3.0 * _step(e), 2.0), "inconclusive"),
        (lambda e: at_most(2.0 + {1: 0.5, 2: 0.4, 4: 0.2}[round(0.01 / _step(e))], 2.0), "holds"),  # uneven, over both
        (lambda e: fails("no number says by how much"), "inconclusive"),
        (lambda e: at_most(2.1, 2.0), "inconclusive"),
        (lambda e: missing("nothing kept"), "inconclusive"),
    ],
)
def test_a_miss_must_shrink_with_the_step_size(problem, measure, kind):
    verdict = check(_theorem(measure, holds_for_descent=True), problem, solver=DESCENT)
    assert verdict.kind == kind, verdict.why
    assert verdict.hypothesis("descent-follows").holds


def test_the_miss_is_told_in_units_of_the_step_size(problem):
    theorem = _theorem(lambda e: at_most(2.0 + 3.0 * _step(e), 2.0), holds_for_descent=True)
    verdict = check(theorem, problem, solver=DESCENT)
    words = "missed by 0.03, 0.015, 0.0075 at step size 0.01, a half and a quarter of it, at most 3 times the step size"
    assert verdict.conclusion("bound").detail.endswith(words)
    assert "bound is met up to 0.03" in verdict.why


@pytest.mark.parametrize("solver", [DESCENT, StochasticGradientDescent(lr=LR, batch=2, iterations=50, seed=0)])
def test_a_result_of_the_flow_alone_says_so(problem, solver):
    verdict = check(_theorem(lambda e: at_most(1.0, 2.0)), problem, solver=solver)
    assert verdict.kind == "not-applicable"
    assert "gradient-flow fails (the run is" in verdict.why
    assert "and the result is of the flow)" in verdict.why
    assert verdict.conclusion("bound").holds


def test_stochastic_descent_is_not_taken_for_descent(problem):
    solver = StochasticGradientDescent(lr=LR, batch=2, iterations=50, seed=0)
    verdict = check(_theorem(lambda e: at_most(1.0, 2.0), holds_for_descent=True), problem, solver=solver)
    assert verdict.kind == "not-applicable"


def test_a_descent_that_is_cut_short_decides_nothing(problem):
    theorem = _theorem(lambda e: at_most(1.0, 2.0), holds_for_descent=True)
    assert check(theorem, problem, solver=DESCENT, max_steps=10).kind in ("inconclusive", "not-applicable")
