"""Whose a conclusion is, what is true only in the limit, and the second run without which nothing `fails`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reluflow.data.registry import load
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import SquareLoss
from reluflow.network import initialization_named
from reluflow.theory.check import check
from reluflow.theory.comparison import Source, at_most, certified, missing
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.theorem import Conclusion, Reference, Theorem


@pytest.fixture(scope="module")
def problem():
    data = load("three-points")
    network = initialization_named("balanced")(data, width=4, scale="1e-3", rng=np.random.default_rng(0), leak=0.0)
    return TrainingProblem(data, SquareLoss(), network)


def _concluding(*conclusions, **more):
    return Theorem("made2024:up", Reference("made2024", "Thm 0"), "made up", (), conclusions, **more)


def _said(name, holds, **more):
    measured = missing("no evidence") if holds is None else at_most(1.0, 2.0 if holds else 0.5)
    return Conclusion(name, "a part", lambda e: measured, **more)


OURS = {"source": Source.RELUFLOW}


@pytest.mark.parametrize(
    ("paper", "ours", "kind"),
    [(True, False, "holds"), (True, None, "holds"), (False, True, "fails"), (None, True, "inconclusive")],
)
def test_only_the_papers_conclusions_decide(problem, paper, ours, kind):
    """`boursier2024:thm2` said `fails` of a rate that we had fitted and the theorem does not state."""
    verdict = _concluding(_said("limit", paper), _said("rate", ours, **OURS)).check(Evidence(problem))
    assert verdict.kind == kind
    assert [c.name for c in verdict.deciding] == ["limit"]
    assert [c.name for c in verdict.also_measured] == ["rate"]
    assert [c["source"] for c in verdict.as_json()["conclusions"]] == ["paper", "reluflow"]
    assert ("also measured, not in the paper: rate is not so" in verdict.why) == (ours is False)


@pytest.mark.parametrize("holds", [True, False, None])
def test_with_only_ours_left_nothing_is_said_of_the_theorem(problem, holds):
    verdict = _concluding(_said("rate", holds, **OURS)).check(Evidence(problem))
    assert verdict.kind == "inconclusive"
    assert verdict.why.startswith("inconclusive: every conclusion measured here is ours, none is the paper's")


@pytest.mark.parametrize(("holds", "kind"), [(True, "holds"), (False, "fails")])
def test_a_statement_that_is_ours_as_a_whole_is_decided_by_its_own(problem, holds, kind):
    verdict = _concluding(_said("rate", holds, **OURS), **OURS).check(Evidence(problem))
    assert verdict.kind == kind
    assert verdict.as_json()["source"] == "reluflow"


def test_what_is_true_in_the_limit_is_undecided_at_the_end_of_a_run(problem):
    """`lyu2021:thm3.1` said `fails` where a tenth of the distance was not gone yet, of a limit without a rate."""
    verdict = _concluding(_said("direction", False, is_asymptotic=True)).check(Evidence(problem))
    assert verdict.kind == "inconclusive"
    assert verdict.conclusion("direction").slack == -0.5
    assert "true only in the limit" in verdict.why


def test_a_certificate_of_the_limit_decides_it(problem):
    conclusion = Conclusion("direction", "a part", lambda e: certified(at_most(1.0, 0.5)), is_asymptotic=True)
    assert _concluding(conclusion).check(Evidence(problem)).kind == "fails"


def _plan(evidence):
    return FlowPlan(times=(0.0, 1.0))


def _by_tolerance(loose, tight):
    """A theorem whose bound 1 is held against one number at rtol 1e-10 and another at the finer one."""

    def measure(evidence):
        return at_most(loose if evidence.rtol >= 1e-10 else tight, 1.0)

    return _concluding(Conclusion("bound", "a part", measure), plan=_plan)


def test_a_fails_is_confirmed_by_a_second_run(problem):
    verdict = check(_by_tolerance(1.5, 1.4999), problem)
    assert verdict.kind == "fails"
    assert verdict.why.endswith("confirmed by a second run at rtol 1e-12 instead of 1e-10")
    assert verdict.as_json()["notes"] == ["confirmed by a second run at rtol 1e-12 instead of 1e-10"]


def test_where_the_second_run_does_not_fail_it_decides(problem):
    """`chistikov2023:lemma28` said `fails` with no allowance at all, of a quantity below the accuracy of the run."""
    verdict = check(_by_tolerance(1.0 + 1e-9, 1.0 - 1e-12), problem)
    assert verdict.kind == "holds"
    assert "a second run at rtol 1e-12 instead of 1e-10 decided: the first failed in bound" in verdict.why


def test_a_bound_missed_by_less_than_the_runs_differ_is_undecided(problem):
    verdict = check(_by_tolerance(1.0 + 1e-9, 1.0 + 1e-11), problem)
    assert verdict.kind == "inconclusive"
    assert "the change from one run to a more exact one" in verdict.why
    assert "fails by less than the two differ" in verdict.why


def test_a_second_run_that_is_cut_short_confirms_nothing(problem):
    asked = []

    def counted(evidence):
        asked.append(evidence)
        return FlowPlan(times=(0.0, 1e-3 if len(asked) == 1 else 1e3))

    theorem = replace(_by_tolerance(1.5, 1.5), plan=counted)
    verdict = check(theorem, problem, max_steps=20)
    assert verdict.kind == "inconclusive", verdict.why
    assert "decided: the first failed in bound" in verdict.why


def test_the_finest_tolerance_leaves_nothing_to_confirm_with(problem):
    verdict = check(_concluding(_said("bound", False), plan=_plan), problem, solver=EventDrivenFlow(rtol=1e-14))
    assert verdict.kind == "inconclusive"
    assert "at rtol 1e-14 no more exact one can confirm it" in verdict.why


def test_what_no_solver_computed_fails_at_once(problem):
    assert check(_concluding(_said("bound", False)), problem).kind == "fails"
