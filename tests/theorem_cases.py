"""The contract every theorem goes through: a problem on which it holds, one it does not apply to, and forgeries.

Every conclusion has its own forgery, a function in the `FORGERIES` of the file that tests its theorem: evidence on
which it says no, though every hypothesis holds. Alone where that is possible; where a violation carries others with it,
they are named under `also`, and exactly those must fail. A conclusion without a forgery is none.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from forging import Forgeries
from forging import with_network as replace_network
from reluflow.dynamics.problem import TrainingProblem
from reluflow.network import Network
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.theorem import Theorem
from reluflow.theory.verdict import Verdict, VerdictKind


def own_problem(theorem: Theorem) -> TrainingProblem:
    """The theorem's example, at the scale it asks for."""
    problem = example_problem(theorem)
    if theorem.log_scale is not None:
        bare = Evidence(problem, parameters=theorem.parameter_values({}))
        problem = replace(problem, network=problem.network.scaled(theorem.log_scale(bare)))
    return problem


@dataclass(frozen=True)
class TheoremCase:
    """What the contract needs to know of one theorem.

    `problem` is one it holds on; `inapplicable` one on which the hypothesis named `failing` fails, or None for a result
    without hypotheses, with `universal` saying so; `forge` turns the evidence of `problem` into false evidence in a way
    of its own, beside those.
    """

    key: str
    forge: Callable[[Evidence], Evidence] | None = None
    failing: str = ""
    inapplicable: Callable[[], TrainingProblem] | None = None
    problem: Callable[[Theorem], TrainingProblem] = own_problem
    universal: str = ""

    @property
    def theorem(self) -> Theorem:
        return theorem_named(self.key)


def folder_of(paper: str) -> Path:
    """The tests of what is known of a paper."""
    return Path(__file__).parent / "papers" / paper


@cache
def contract_files_of(paper: str) -> tuple[ModuleType, ...]:
    """The test files of a paper that list `CASES` and `FORGERIES`."""
    found = []
    for file in sorted(folder_of(paper).glob("test_*.py")):
        spec = spec_from_file_location(f"contract_of_{paper}_{file.stem}", file)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        if hasattr(module, "CASES"):
            found.append(module)
    return tuple(found)


def contract(
    cases: Sequence[TheoremCase], forgeries: Forgeries
) -> tuple[Callable[[TheoremCase], None], Callable[[TheoremCase], None]]:
    """The two tests that every theorem of a file goes through, once for each case."""

    def holds(case: TheoremCase) -> None:
        assert_holds_and_forgeries_fail(case, forgeries)

    def names_the_failing(case: TheoremCase) -> None:
        assert_not_applicable(case)

    for_each = pytest.mark.parametrize("case", cases, ids=lambda case: case.key)
    return for_each(holds), for_each(names_the_failing)


def assert_holds_and_forgeries_fail(case: TheoremCase, forgeries: Forgeries) -> None:
    """One run serves all: the true evidence holds with its slack, and every forgery fails where it should."""
    theorem = case.theorem
    evidence = theorem.recorded(gather(theorem, case.problem(theorem)))
    verdict = theorem.check(evidence)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.conclusions
    assert all(c.detail for c in verdict.conclusions)
    assert any(c.slack is not None for c in verdict.conclusions)
    assert verdict.failing_conclusions == (), "on its case what is ours holds too"
    assert [c.name for c in verdict.conclusions if c.is_empty] == [], "on its case every conclusion measures something"
    assert_a_cut_run_is_no_pass(theorem, evidence)
    for (result, name), forgery in forgeries.items():
        if theorem.key != f"{theorem.paper}:{result}":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # forged numbers may leave the domain of a logarithm
            forged = theorem.check(forgery.forge(evidence))
        expected = {name, *forgery.also}
        assert forged.kind is kind_without(forged, expected), f"{name}: {forged.why}"
        assert not_upheld(forged) == expected, f"{name}: {forged.why}"
    if case.forge is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            forged = theorem.check(case.forge(evidence))
        assert not_upheld(forged), forged.why
        assert forged.kind is kind_without(forged, not_upheld(forged)), forged.why


def not_upheld(verdict: Verdict) -> set[str]:
    """The conclusions that fail; of one that is true only as t goes to infinity, also that it is undecided."""
    return {c.name for c in verdict.conclusions if c.holds is False or (c.is_asymptotic and c.holds is None)}


def kind_without(verdict: Verdict, names: set[str]) -> VerdictKind:
    """The verdict where exactly these conclusions are not upheld: one of the paper's fails it, one of ours does not."""
    forged = [c for c in verdict.deciding if c.name in names]
    if any(not c.is_asymptotic or c.is_certified for c in forged):
        return VerdictKind.FAILS
    return VerdictKind.INCONCLUSIVE if forged else VerdictKind.HOLDS


def assert_a_cut_run_is_no_pass(theorem: Theorem, evidence: Evidence) -> None:
    """Twenty-eight conclusions once held of a run without a state: the largest of nothing is 0; others raised."""
    plan = theorem.plan(evidence)
    asked = 0 if plan is None else plan.num_states
    for count in range(min(asked, 2)):
        assert evidence.trajectory is not None
        cut = replace(evidence.trajectory, snapshots=evidence.trajectory.snapshots[:count])
        verdict = theorem.check(replace(evidence, trajectory=cut))
        assert verdict.kind in (VerdictKind.INCONCLUSIVE, VerdictKind.NOT_APPLICABLE), verdict.why
        assert all(c.holds is None for c in verdict.conclusions)


def assert_not_applicable(case: TheoremCase) -> None:
    """The verdict names the failing hypothesis."""
    if case.inapplicable is None:
        assert case.universal
        assert not case.theorem.hypotheses
        return
    verdict = check(case.theorem, case.inapplicable())
    assert verdict.kind is VerdictKind.NOT_APPLICABLE, verdict.why
    assert case.failing in verdict.failing_hypotheses
    assert case.failing in verdict.why


def with_each_network(evidence: Evidence, change: Callable[[int, Network], Network]) -> Evidence:
    """Forged evidence: every snapshot's network replaced; `change` gets its index and the true network."""
    run = evidence.run
    snapshots = tuple(replace_network(s, change(k, s.network), run) for k, s in enumerate(run.snapshots))
    return replace(evidence, trajectory=replace(run, snapshots=snapshots))
