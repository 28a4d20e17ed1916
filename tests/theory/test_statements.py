"""The papers' data files: what they name exists, what exists is named, and nothing is said twice or in vain."""

from __future__ import annotations

import ast
import inspect
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.theory import data_files, statements, theorem
from reluflow.theory.bibliography import BIBLIOGRAPHY
from reluflow.theory.data_files import tables_of
from reluflow.theory.registry import results_of
from reluflow.theory.statements import locator_of
from reluflow.theory.theorem import Theorem

THEORY = Path(data_files.__file__).parent
THEOREM_FIELDS = set(inspect.signature(Theorem).parameters) - {"key", "reference"} | {"locator"}
ELSEWHERE_FIELDS = {"locator", "status", "where", "note"}
HELD = {"at_most", "at_least", "equals"}
REFERENCE = re.compile(r"\b(?:theory\.)?(?:[a-z]+20\d\d\.)?(\w+)\.(\w+)")


@pytest.mark.parametrize("paper", BIBLIOGRAPHY)
def test_every_result_is_built_from_its_table(paper):
    """A name that does not exist, or a field that is none, does not get past here."""
    tables = tables_of(paper, "results")
    assert set(tables) <= {"defaults", "parameters", "results"}
    assert [result.key for result in results_of(paper)] == [f"{paper}:{name}" for name in tables["results"]]
    for name, table in tables["results"].items():
        assert set(table) <= (ELSEWHERE_FIELDS if "status" in table else THEOREM_FIELDS), name
        for row in table.get("conclusions", {}).values():
            assert set(row) <= {"exact", "bound", "scaling", "guard", "says", *HELD, "allowance", "words"}, name
            assert len({"exact", "bound", "scaling"} & set(row)) == 1, name
            is_held = len(HELD & set(row))
            assert is_held <= 1, name
            assert is_held or not {"allowance", "words"} & set(row), name
    for result in results_of(paper):
        if isinstance(result, Theorem):
            functions = [result.constants, result.predictions, result.plan, *(c.measure for c in result.conclusions)]
            assert all(callable(function) for function in functions), result.key
            assert result.conclusions, result.key


@pytest.mark.parametrize("paper", BIBLIOGRAPHY)
def test_every_parameter_in_the_table_is_used(paper):
    tables = tables_of(paper, "results")
    used = {name for table in tables["results"].values() for name in table.get("parameters", ())}
    assert used == set(tables.get("parameters", {}))


@pytest.mark.parametrize("paper", BIBLIOGRAPHY)
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
    function = statements._function("min2024", "theory.measurement.at_most(3.0, allowance=0.5)")
    assert function(1.0).slack == 2.0
    assert function(3.4).holds
    with pytest.raises(ValueError, match="malformed node"):
        statements._function("min2024", "theory.measurement.at_most(open('x'))")


def test_a_reference_takes_parts_and_what_other_references_find():
    function = statements._function("min2024", "theory.measurement.at_most(3.0).slack")
    assert function(1.0) == 2.0
    composed = statements._function("min2024", "theory.measurement.at_most(theory.measurement.at_most(3.0).slack)")
    assert composed(1.0).bound == 2.0
    item = statements._function("min2024", "theory.measurement.at_most(3.0).detail.split(' ')[-1]")
    assert item(1.0) == "3"
    own = statements._function("min2024", "evidence.real")
    assert own(1.5) == 1.5
    constant = statements._function("min2024", "theory.measurement.at_most(theory.facts.MAX_FACES)")
    assert constant(0.0).bound == 200_000


def _conclusion(**row):
    return statements._conclusion("lyu2021", "made-up", {"says": "so it is", **row})


@pytest.mark.parametrize(
    ("found", "row", "holds", "slack"),
    [
        (1.0, {"at_most": 3.0}, True, 2.0),
        ([1.0, [2.0, 4.0]], {"at_most": 3.0}, False, -1.0),
        ([1.0, [2.0, 4.0]], {"at_most": 3.0, "allowance": 1.5}, True, -1.0),
        ([1.0, 2.0], {"at_least": 1.5}, False, -0.5),
        ([0.9, 1.05], {"equals": 1.0, "allowance": 0.2}, True, 0.1),
    ],
)
def test_a_number_is_held_against_the_bound_in_the_table(found, row, holds, slack):
    """Of several numbers the worst counts, and the words are told of it."""
    words = "{measured:g} of {count} against {bound:g}"
    measured = _conclusion(bound="evidence.found", words=words, **row).measure(SimpleNamespace(found=found))
    assert measured.holds is holds
    assert measured.slack == pytest.approx(slack)
    assert measured.detail.startswith(f"{measured.measured:g} of ")


def test_what_is_no_number_fails_and_nothing_is_no_pass():
    """A comparison kept as `worst = max(worst, value)` let a value that is no number pass unseen."""
    conclusion = _conclusion(bound="evidence.found", at_most=3.0)
    assert conclusion.measure(SimpleNamespace(found=[1.0, math.nan, 2.0])).holds is False
    assert conclusion.measure(SimpleNamespace(found=[])).is_empty
    assert _conclusion(bound="evidence.found", equals=3.0).measure(SimpleNamespace(found=[])).is_empty


def test_a_bound_may_be_a_reference_to_the_evidence():
    conclusion = _conclusion(bound="evidence.found", at_least="evidence.wanted")
    assert conclusion.measure(SimpleNamespace(found=2.0, wanted=1.5)).slack == 0.5


def test_a_constant_that_the_data_do_not_have_is_left_out():
    find = statements._quantities("lyu2021", [{"a": "evidence.a", "b": "evidence.none.b"}, {"c": "evidence.c"}])
    found = find(SimpleNamespace(a=np.array([1.0, 2.0]), none=None, c=np.float64(3.0)))
    assert found == {"a": [1.0, 2.0], "c": 3.0}
    assert type(found["c"]) is float


def test_a_name_that_does_not_exist_is_refused():
    with pytest.raises(AttributeError, match="no_such_measure"):
        statements._function("min2024", "fitting.no_such_measure")


def test_a_setting_in_the_table_is_the_setting():
    assert statements._setting("min2024", {"leak": "own", "width": 6}) == theorem.Setting(leak=None, width=6)


def test_a_locator_must_be_given_where_the_key_does_not_tell():
    with pytest.raises(InvalidInputError, match="`locator` must be given for `stable-rank`"):
        locator_of("stable-rank")
