"""Papers whose results are still tables: what they name exists, what exists is named. Goes with the last of them."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.found_papers import found_papers
from reluflow.theory import data_files, statements
from reluflow.theory.data_files import tables_of
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.registry import results_of
from reluflow.theory.setting import Setting
from reluflow.theory.statements import locator_of
from reluflow.theory.theorem import Theorem

PAPERS = [paper.key for paper in found_papers().values() if paper.is_tables]
THEORY = Path(data_files.__file__).parent
THEOREM_FIELDS = set(inspect.signature(Theorem).parameters) - {"key", "reference"} | {"locator"}
ELSEWHERE_FIELDS = {"locator", "status", "where", "note"}
HELD = {"at_most", "at_least", "equals"}
TOLD = {"words", "without", "empty"}
COMPARED = {"above", "below", *HELD}
HYPOTHESIS_KEYS = {"name", "says", "judge", "number", *COMPARED, "words", "guard"}
HYPOTHESIS_KEYS |= {"is_regime", "needs_trajectory", "is_setting"}
REFERENCE = re.compile(r"\b(?:theory\.)?(?:[a-z]+20\d\d\.)?(\w+)\.(\w+)")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_result_is_built_from_its_table(paper):
    """A name that does not exist, or a field that is none, does not get past here."""
    tables = tables_of(paper, "results")
    assert set(tables) <= {"defaults", "settings", "parameters", "quantities", "results"}
    assert [result.key for result in results_of(paper)] == [f"{paper}:{name}" for name in tables["results"]]
    for name, table in tables["results"].items():
        assert set(table) <= (ELSEWHERE_FIELDS if "status" in table else THEOREM_FIELDS), name
        for row in table.get("conclusions", {}).values():
            assert set(row) <= {"exact", "bound", "scaling", "guard", "says", *HELD, "allowance", *TOLD}, name
            assert len({"exact", "bound", "scaling"} & set(row)) == 1, name
            is_held = len(HELD & set(row))
            assert is_held <= 1, name
            assert is_held or not {"allowance", *TOLD} & set(row), name
    for result in results_of(paper):
        if isinstance(result, Theorem):
            functions = [result.constants, result.predictions, result.plan, *(c.measure for c in result.conclusions)]
            assert all(callable(function) for function in functions), result.key
            assert result.conclusions, result.key


@pytest.mark.parametrize("paper", PAPERS)
def test_every_parameter_in_the_table_is_used(paper):
    tables = tables_of(paper, "results")
    used = {name for table in tables["results"].values() for name in table.get("parameters", ())}
    assert used == set(tables.get("parameters", {}))


@pytest.mark.parametrize("paper", PAPERS)
def test_no_function_is_left_that_nothing_names(paper):
    """A measure whose conclusion is dropped from `results.toml` would stand there unseen: no linter knows of it."""
    data = "".join(file.read_text() for file in (THEORY / paper).glob("*.toml"))
    named = {f"{module}.{name}" for module, name in REFERENCE.findall(data)}
    for file in sorted((THEORY / paper).glob("*.py")):
        text = file.read_text()
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("_"):
                is_used = len(re.findall(rf"\b{node.name}\b", text)) > 1
                assert is_used or f"{file.stem}.{node.name}" in named, f"{file.name}: {node.name}"


def test_a_reference_takes_literals_after_the_evidence():
    function = data_files.reference("min2024", "theory.comparison.at_most(3.0, allowance=0.5)")
    assert function(1.0).slack == 2.0
    assert function(3.4).holds
    with pytest.raises(ValueError, match="malformed node"):
        data_files.reference("min2024", "theory.comparison.at_most(open('x'))")


def test_a_reference_takes_parts_and_what_other_references_find():
    function = data_files.reference("min2024", "theory.comparison.at_most(3.0).slack")
    assert function(1.0) == 2.0
    composed = data_files.reference("min2024", "theory.comparison.at_most(theory.comparison.at_most(3.0).slack)")
    assert composed(1.0).bound == 2.0
    item = data_files.reference("min2024", "theory.comparison.at_most(3.0).detail.split(' ')[-1]")
    assert item(1.0) == "3"
    own = data_files.reference("min2024", "evidence.real")
    assert own(1.5) == 1.5
    constant = data_files.reference("min2024", "theory.comparison.at_most(theory.facts.MAX_FACES)")
    assert constant(0.0).bound == 200_000


def _conclusion(**row):
    return statements._conclusion("lyu2021", "made-up", {"says": "so it is", **row})


def test_a_bound_may_be_a_reference_to_the_evidence():
    conclusion = _conclusion(bound="evidence.found", at_least="evidence.wanted")
    assert conclusion.measure(SimpleNamespace(found=2.0, wanted=1.5)).slack == 0.5


def _rows(paper):
    return {key: row for key, row in tables_of(paper, "hypotheses").items() if not isinstance(row, list)}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_of_a_hypothesis_is_read_and_asked_for(paper):
    """A flag that is misspelt would be no flag, and a row that nothing names would stand there unseen."""
    for key, row in _rows(paper).items():
        assert set(row) <= HYPOTHESIS_KEYS, key
        assert row["says"], key
        sides = COMPARED & set(row)
        assert (set(row) & {"judge"} == {"judge"}) != (len(sides) == 1 and {"number", "words"} <= set(row)), key
    papers = [paper]
    lists = [row for p in papers for row in tables_of(p, "hypotheses").values() if isinstance(row, list)]
    lists += [r.get("hypotheses", []) for p in papers for r in tables_of(p, "results")["results"].values()]
    assert set(tables_of(paper, "hypotheses")) <= {key for keys in lists for key in keys}


def test_a_hypothesis_that_is_nowhere_is_refused():
    with pytest.raises(InvalidInputError, match="no-such-hypothesis"):
        list(statements._hypotheses("lyu2021", "no-such-hypothesis"))


def test_a_plan_in_the_table_changes_some_fields_of_another():
    evidence = SimpleNamespace(plan=FlowPlan(times=(0.0, 1.0), horizon=5.0), sweep=(-1.0, -2.0))
    changed = statements._plan("min2024", {"of": "evidence.plan", "sweep": "evidence.sweep"})(evidence)
    assert changed == FlowPlan(times=(0.0, 1.0), horizon=5.0, sweep=(-1.0, -2.0))
    assert statements._plan("min2024", {"times": [0.0, 2.0]})(evidence) == FlowPlan(times=(0.0, 2.0))


def test_a_scale_in_the_table_is_reached_from_above_only():
    find = statements._log_scale("min2024", {"at_most": "evidence.wanted"})
    assert find(SimpleNamespace(wanted=-5.0, network=SimpleNamespace(log_scale=-2.0))) == -3.0
    assert find(SimpleNamespace(wanted=-5.0, network=SimpleNamespace(log_scale=-7.0))) == 0.0


def test_a_constant_that_the_data_do_not_have_is_left_out():
    find = statements._quantities("lyu2021", [{"a": "evidence.a", "b": "evidence.none.b"}, {"c": "evidence.c"}])
    found = find(SimpleNamespace(a=np.array([1.0, 2.0]), none=None, c=np.float64(3.0)))
    assert found == {"a": [1.0, 2.0], "c": 3.0}
    assert type(found["c"]) is float


def test_a_name_that_does_not_exist_is_refused():
    with pytest.raises(AttributeError, match="no_such_measure"):
        data_files.reference("min2024", "fitting.no_such_measure")


def test_a_setting_in_the_table_is_the_setting():
    assert statements._setting("min2024", {"leak": "own", "width": 6}) == Setting(leak=None, width=6)


def test_a_locator_must_be_given_where_the_key_does_not_tell():
    with pytest.raises(InvalidInputError, match="`locator` must be given for `stable-rank`"):
        locator_of("stable-rank")
