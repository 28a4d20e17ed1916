"""The papers' data files: what they name exists, what exists is named, and nothing is said twice or in vain."""

from __future__ import annotations

import ast
import inspect
import math
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.experiments.check import example_problem
from reluflow.theory import data_files, statements, theorem
from reluflow.theory.bibliography import BIBLIOGRAPHY
from reluflow.theory.comparison import Undecided
from reluflow.theory.data_files import tables_of
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.lee2022 import descent_results
from reluflow.theory.lyu2021 import phase_one
from reluflow.theory.min2024 import activation_changes, solutions
from reluflow.theory.registry import results_of, theorem_named
from reluflow.theory.statements import locator_of
from reluflow.theory.theorem import Theorem

THEORY = Path(data_files.__file__).parent
THEOREM_FIELDS = set(inspect.signature(Theorem).parameters) - {"key", "reference"} | {"locator"}
ELSEWHERE_FIELDS = {"locator", "status", "where", "note"}
HELD = {"at_most", "at_least", "equals"}
TOLD = {"words", "without", "empty"}
COMPARED = {"above", "below", *HELD}
HYPOTHESIS_KEYS = {"name", "says", "judge", "number", *COMPARED, "words", "guard"}
HYPOTHESIS_KEYS |= {"is_regime", "needs_trajectory", "is_setting"}
REFERENCE = re.compile(r"\b(?:theory\.)?(?:[a-z]+20\d\d\.)?(\w+)\.(\w+)")


@pytest.mark.parametrize("paper", BIBLIOGRAPHY)
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


def test_the_guide_shows_keys_that_exist():
    """It showed a table without the half of what one may write in it."""
    text = (THEORY.parents[2] / "docs" / "adding-a-theorem.md").read_text()
    block = re.search(r"```toml\n(.*?)```", text, flags=re.S)[1]
    results, asked, errata = (tomllib.loads(part) for part in re.split(r"# (?:hypotheses|errata)\.toml.*\n", block))
    assert set(results) == {"settings", "quantities", "results"}
    (table,) = results["results"].values()
    assert set(table) <= THEOREM_FIELDS
    assert statements._setting("", results["settings"][table["setting"]]).width == 20
    (row,) = table["conclusions"].values()
    assert set(row) <= {"exact", "bound", "scaling", "says", *HELD, "allowance", *TOLD}
    for hypothesis in asked.values():
        assert isinstance(hypothesis, list) or set(hypothesis) <= HYPOTHESIS_KEYS
    assert set(errata["E1"]) == {"case", "values", "where", "printed", "corrected"}


def _rows(paper):
    return {key: row for key, row in tables_of(paper, "hypotheses").items() if not isinstance(row, list)}


@pytest.mark.parametrize("paper", ["", *BIBLIOGRAPHY])
def test_every_row_of_a_hypothesis_is_read_and_asked_for(paper):
    """A flag that is misspelt would be no flag, and a row that nothing names would stand there unseen."""
    for key, row in _rows(paper).items():
        assert set(row) <= HYPOTHESIS_KEYS, key
        assert row["says"], key
        sides = COMPARED & set(row)
        assert (set(row) & {"judge"} == {"judge"}) != (len(sides) == 1 and {"number", "words"} <= set(row)), key
    papers = [paper] if paper else list(BIBLIOGRAPHY)
    lists = [row for p in ("", *papers) for row in tables_of(p, "hypotheses").values() if isinstance(row, list)]
    lists += [r.get("hypotheses", []) for p in papers for r in tables_of(p, "results")["results"].values()]
    assert set(tables_of(paper, "hypotheses")) <= {key for keys in lists for key in keys}


@pytest.mark.parametrize(
    ("row", "holds", "margin"),
    [
        ({"above": 2}, False, 0.0),
        ({"at_least": 2}, True, 0.0),
        ({"below": "evidence.wanted"}, True, 1.0),
        ({"at_most": 1.5}, False, -0.5),
        ({"equals": 2}, True, None),
    ],
)
def test_a_number_of_a_hypothesis_is_compared_with_its_bound(row, holds, margin):
    """An open side excludes the bound; equality has no margin; the words may speak of the evidence."""
    row = {"number": "evidence.found", "words": "{number:g} against {bound:g} for {evidence.found}", **row}
    judged = statements._compared("lyu2021", row)(SimpleNamespace(found=2, wanted=3.0))
    assert (judged.holds, judged.margin) == (holds, margin)
    assert judged.detail.startswith("2 against ")
    assert judged.detail.endswith(" for 2")


def test_words_that_quote_a_constant_quote_it_right():
    """They were made of the constants where they stood in Python."""
    lyu, lee = (tables_of(paper, "hypotheses") for paper in ("lyu2021", "lee2022"))
    assert f" {phase_one.INTEGRATION:g} " in lyu["vanishing-scale"]["says"]
    assert lee["small-step"]["says"].endswith(f"<= {descent_results.SMALL}")
    rows = [
        row for r in tables_of("min2024", "results")["results"].values() for row in r.get("conclusions", {}).values()
    ]
    words = {row.get("bound", row.get("exact")): row.get("words", "") for row in rows}
    assert f"(rounding {activation_changes.ROUNDING:g})" in words["activation_changes._monotone"]
    assert words["solutions._euler_stops"].endswith(f" {solutions.STEPS[-1]:g}")


def test_a_group_of_hypotheses_is_each_of_them_in_order():
    found = [h.name for h in statements._hypotheses("boursier2024", "FACETS")]
    assert found == ["loss", "relu", "dominated", "positive-neuron", "boursier-a4", "boursier-a5"]


def test_a_hypothesis_that_is_nowhere_is_refused():
    with pytest.raises(KeyError, match="no-such-hypothesis"):
        list(statements._hypotheses("lyu2021", "no-such-hypothesis"))


def test_a_hypothesis_on_the_run_is_undecided_without_one():
    """It was a line in each of them, and one that forgot it raised in place of saying so."""
    result = theorem_named("lyu2021:thm3.1")
    asked = [h for h in result.hypotheses if h.needs_trajectory]
    assert [h.name for h in asked] == ["non-branching", "small-loss"]
    judged = [theorem._judged(h, Evidence(example_problem(result))) for h in asked]
    assert [(j.holds, j.detail) for j in judged] == [(None, "no run was made")] * 2


def test_a_plan_in_the_table_changes_some_fields_of_another():
    evidence = SimpleNamespace(plan=FlowPlan(times=(0.0, 1.0), horizon=5.0), sweep=(-1.0, -2.0))
    changed = statements._plan("min2024", {"of": "evidence.plan", "sweep": "evidence.sweep"})(evidence)
    assert changed == FlowPlan(times=(0.0, 1.0), horizon=5.0, sweep=(-1.0, -2.0))
    assert statements._plan("min2024", {"times": [0.0, 2.0]})(evidence) == FlowPlan(times=(0.0, 2.0))


def test_a_scale_in_the_table_is_reached_from_above_only():
    find = statements._log_scale("min2024", {"at_most": "evidence.wanted"})
    assert find(SimpleNamespace(wanted=-5.0, network=SimpleNamespace(log_scale=-2.0))) == -3.0
    assert find(SimpleNamespace(wanted=-5.0, network=SimpleNamespace(log_scale=-7.0))) == 0.0


def test_no_number_at_all_is_undecided_or_says_why():
    row = {"bound": "evidence.found", "at_most": 3.0}
    with pytest.raises(Undecided, match="no snapshot"):
        _conclusion(**row, without="no snapshot").measure(SimpleNamespace(found=[]))
    assert "no neuron" in _conclusion(**row, empty="no neuron is mixed").measure(SimpleNamespace(found=[])).detail


def test_a_constant_that_the_data_do_not_have_is_left_out():
    find = statements._quantities("lyu2021", [{"a": "evidence.a", "b": "evidence.none.b"}, {"c": "evidence.c"}])
    found = find(SimpleNamespace(a=np.array([1.0, 2.0]), none=None, c=np.float64(3.0)))
    assert found == {"a": [1.0, 2.0], "c": 3.0}
    assert type(found["c"]) is float


def test_a_name_that_does_not_exist_is_refused():
    with pytest.raises(AttributeError, match="no_such_measure"):
        data_files.reference("min2024", "fitting.no_such_measure")


def test_a_setting_in_the_table_is_the_setting():
    assert statements._setting("min2024", {"leak": "own", "width": 6}) == theorem.Setting(leak=None, width=6)


def test_a_locator_must_be_given_where_the_key_does_not_tell():
    with pytest.raises(InvalidInputError, match="`locator` must be given for `stable-rank`"):
        locator_of("stable-rank")
