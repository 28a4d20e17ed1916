"""The logic of verdicts, on theorems made up for the purpose."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from reluflow.data.registry import load
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.losses import SquareLoss
from reluflow.network import initialization_named
from reluflow.theory.check import check, example_problem
from reluflow.theory.comparison import all_of, at_least, at_most, equals, fitted_slope, judgement, missing, none_of
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem
from reluflow.theory.verdict import VerdictKind


@pytest.fixture(scope="module")
def problem():
    data = load("three-points")
    network = initialization_named("balanced")(data, width=4, scale="1e-3", rng=np.random.default_rng(0), leak=0.0)
    return TrainingProblem(data, SquareLoss(), network)


def _theorem(*, hypothesis=True, conclusion=True, is_regime=False, **more):
    return Theorem(
        key="made2024:up",
        reference=Reference("made2024", "Thm 0", version="v1"),
        statement="made up",
        hypotheses=(
            Hypothesis("first", "the first", lambda e: judgement(True, 1.0, "fine")),
            Hypothesis("second", "the second", lambda e: judgement(hypothesis, -1.0, "so it is"), is_regime=is_regime),
        ),
        conclusions=(
            Conclusion(
                "end",
                "the end",
                lambda e: missing("nothing kept") if conclusion is None else at_most(1.0, 2.0 if conclusion else 0.5),
            ),
        ),
        **more,
    )


@pytest.mark.parametrize(
    ("hypothesis", "conclusion", "kind"),
    [
        (True, True, "holds"),
        (True, False, "fails"),
        (True, None, "inconclusive"),
        (None, True, "inconclusive"),
        (None, False, "inconclusive"),
        (False, True, "not-applicable"),
        (False, False, "not-applicable"),
    ],
)
def test_kinds(problem, hypothesis, conclusion, kind):
    verdict = _theorem(hypothesis=hypothesis, conclusion=conclusion).check(Evidence(problem))
    assert verdict.kind == kind
    if hypothesis is False:
        assert verdict.failing_hypotheses == ("second",)
        assert verdict.conclusions == ()
        assert verdict.why == "not applicable: second fails (so it is)"


def test_where_only_the_regime_fails_conclusions_are_measured(problem):
    verdict = _theorem(hypothesis=False, is_regime=True, conclusion=False).check(Evidence(problem))
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert verdict.failing_conclusions == ("end",)


def test_json_has_the_contracts_fields(problem):
    answer = _theorem(erratum="E1: a misprint").check(Evidence(problem)).as_json()
    assert answer["verdict"] == "holds"
    assert set(answer) >= {"theorem", "verdict", "hypotheses", "constants", "conclusions", "erratum"}
    assert set(answer["hypotheses"][0]) >= {"name", "holds", "margin"}
    assert set(answer["conclusions"][0]) >= {"name", "holds", "measured", "bound", "slack"}
    assert answer["conclusions"][0]["slack"] == 1.0
    assert answer["erratum"] == "E1: a misprint"


def test_parameters_are_checked(problem):
    theorem = _theorem(parameters=(Parameter("epsilon", 0.25, "the exponent", low=0.0, high=1.0 / 3.0),))
    assert theorem.parameter_values({}) == {"epsilon": 0.25}
    with pytest.raises(InvalidInputError, match=r"`epsilon` must lie in \(0, 0.333333\), got 0.5: the exponent"):
        theorem.check(Evidence(problem), epsilon=0.5)
    with pytest.raises(InvalidInputError, match="`delta` is no parameter of made2024:up; it has epsilon"):
        theorem.check(Evidence(problem), delta=0.5)


def test_a_hypothesis_on_data_is_judged_before_anything_is_run(problem):
    def plan(evidence):
        raise AssertionError("the run was asked for")

    assert check(_theorem(hypothesis=False, plan=plan), problem).kind == "not-applicable"


def test_descent_is_measured_but_proves_nothing(problem):
    theorem = _theorem(plan=lambda e: FlowPlan(times=(0.0, 0.5)))
    flow = check(theorem, problem, solver=EventDrivenFlow(rtol=1e-8))
    descent = check(theorem, problem, solver=GradientDescent(lr=0.01, iterations=50))
    assert flow.kind == "holds"
    assert descent.kind == "not-applicable"
    assert descent.failing_hypotheses == ("gradient-flow",)
    assert descent.conclusion("end").holds is True


def test_a_run_cut_short_decides_nothing(problem):
    theorem = _theorem(plan=lambda e: FlowPlan(times=(0.0, 50.0)))
    verdict = check(theorem, problem, max_steps=3)
    assert verdict.kind == "inconclusive"
    assert "completed is undecided (The largest allowed number of steps was taken" in verdict.why
    failing = _theorem(plan=lambda e: FlowPlan(times=(0.0, 50.0)), conclusion=False)
    assert check(failing, problem, max_steps=3).kind == "inconclusive"


def test_one_reason_is_given_once(problem):
    """A run cut short leaves many conclusions open; the report said six times that the allowed time was spent."""
    cut = check(_theorem(plan=lambda e: FlowPlan(times=(0.0, 50.0))), problem, max_steps=3)
    (first, *_) = cut.conclusions
    twice = replace(cut, conclusions=(replace(first, holds=None), replace(first, name="other", holds=None)))
    assert f"{first.name}, other are undecided ({first.detail})" in twice.why
    assert twice.why.count(first.detail) == 1


def test_a_sweep_runs_one_draw_at_other_scales(problem):
    theorem = _theorem(plan=lambda e: FlowPlan(times=(1.0,), other_scales=(-2.0, -4.0)))
    evidence = gather(theorem, problem)
    shifts = [e.network.log_scale - problem.network.log_scale for e in evidence.other_scales]
    assert shifts == pytest.approx([-2.0, -4.0])
    assert all(np.array_equal(e.network.w, problem.network.w) for e in evidence.other_scales)
    assert all(e.run.snapshots[0].time == 1.0 for e in evidence.other_scales)


def test_a_theorem_can_be_run_at_its_own_scale(problem):
    seen = []

    def plan(evidence):
        seen.append(evidence.network.log_scale)

    check(_theorem(plan=plan, log_scale=lambda e: -1000.0), problem, at_own_scale=True)
    assert seen == [problem.network.log_scale - 1000.0]


def test_without_a_run_there_is_no_verdict(problem):
    with pytest.raises(InvalidInputError, match="`trajectory` must be given to judge this result"):
        theorem_named("boursier2024:lemma1").check(Evidence(problem))


def test_what_is_computed_once_is_not_carried_to_other_evidence(problem):
    """A forged run must be measured anew: a value kept from the true one would let it pass."""
    asked = []

    @computed_once
    def count(evidence, step=1):
        asked.append(step)
        return sum(asked)

    evidence = Evidence(problem)
    assert [count(evidence), count(evidence), count(evidence, 10), count(evidence, 10)] == [1, 1, 11, 11]
    assert count(replace(evidence, record=5)) == 12


def test_measurements():
    assert at_most(math.nan, 1.0).holds is False
    assert at_least(math.nan, 1.0).holds is False
    assert equals(math.nan, 1.0, atol=1.0).holds is False
    assert at_most(1.0 + 1e-12, 1.0, allowance=1e-10).holds is True
    assert at_most(1.1, 1.0, allowance=1e-10).holds is False
    assert none_of(2, total=7).detail == "2 of 7 violate it"
    assert all_of([(True, "a"), (False, "b is wrong")]).detail == "b is wrong"
    assert all_of([(True, "a")]).holds is True
    assert missing("x").holds is None
    assert fitted_slope([0, 1, 2, 3], [1, -1, -3, -5]) == pytest.approx(-2.0)


def test_unknown_keys_are_refused_with_a_hint():
    with pytest.raises(InvalidInputError, match=r"got 'boursier2024:lemma1x'; did you mean boursier2024:lemma1"):
        theorem_named("boursier2024:lemma1x")


@pytest.mark.parametrize("key", ["lyu2021:thm3.1", "lyu2021:thmF.9", "phuong2021:sec3.1", "boursier2024:lemma6"])
def test_what_a_run_cut_short_has_not_reached_is_undecided(key):
    """Two moons: Theorem 3.1 was `not applicable` because the loss was not yet small when the steps were used up."""
    theorem = theorem_named(key)
    verdict = check(theorem, example_problem(theorem), at_own_scale=True, max_steps=3)
    assert verdict.kind is VerdictKind.INCONCLUSIVE
    assert all(hypothesis.holds is not False for hypothesis in verdict.hypotheses)
    assert "completed" in [hypothesis.name for hypothesis in verdict.hypotheses]


def test_no_run_is_made_after_one_that_was_cut_short():
    """The verdict is inconclusive by then; on two moons Theorem 5.6 made three such runs, a second and a half."""
    theorem = theorem_named("lyu2021:thm5.6")
    problem = example_problem(theorem)
    assert len(gather(theorem, problem).companions) == 3
    evidence = gather(theorem, problem, max_steps=1)
    assert len(evidence.companions) < 3
    assert theorem.check(evidence).kind is VerdictKind.INCONCLUSIVE
