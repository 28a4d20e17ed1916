"""Every result of the papers is checkable or listed with its reason, and the coverage page says so."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from reluflow.geometry.extremal import extremal_vectors
from reluflow.theory.coverage import coverage_of, coverage_page, status_of
from reluflow.theory.diagnosis import assumptions, main_theorems
from reluflow.theory.elsewhere import Elsewhere
from reluflow.theory.registry import papers, results_of, theorem_named, theorems
from reluflow.theory.theorem import Theorem
from theorem_cases import contract_files_of, folder_of

PAPERS = papers()
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_named_result_has_a_row(paper):
    listed = [
        line.strip()
        for file in sorted(folder_of(paper).glob("results*.txt"))
        for line in file.read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    assert len(listed) > 10
    covered = [result.key for result in results_of(paper)]
    assert len(covered) == len(set(covered))
    assert len(listed) == len(set(listed))
    assert sorted(set(listed) - set(covered)) == []
    assert all(key.startswith(f"{paper}:") for key in covered)
    counted = [result.key for result in results_of(paper) if status_of(result) not in ("part", "ours")]
    assert sorted(set(counted) - set(listed)) == [], "what counts as a result stands in the list made from the paper"


def test_every_theorem_went_through_the_contract():
    """Each key stands in a test file's CASES: it holds somewhere, is refused somewhere, and fails if forged."""
    found = [case.key for paper in PAPERS for module in contract_files_of(paper) for case in module.CASES]
    keys = [theorem.key for theorem in theorems()]
    assert sorted(set(keys) - set(found)) == []


@pytest.mark.parametrize("paper", PAPERS)
def test_every_conclusion_has_its_forgery(paper):
    """Evidence that violates it and no hypothesis, in the file that takes its theorem through the contract."""
    written: dict[str, set[str]] = {}
    for module in contract_files_of(paper):
        taken = {case.key for case in module.CASES}
        for result, conclusion in module.FORGERIES:
            assert f"{paper}:{result}" in taken
            written.setdefault(f"{paper}:{result}", set()).add(conclusion)
    assert written == {theorem.key: {c.name for c in theorem.conclusions} for theorem in theorems((paper,))}


def test_the_theorems_diagnose_speaks_of_can_be_checked():
    keys = {theorem.key for theorem in theorems()}
    assert {theorem.key for theorem in main_theorems()} <= keys


@pytest.mark.parametrize("theorem", theorems(), ids=lambda theorem: theorem.key)
def test_a_theorem_is_complete(theorem):
    assert isinstance(theorem, Theorem)
    assert theorem.key.startswith(f"{theorem.paper}:")
    assert len(theorem.statement) > 20
    assert theorem.conclusions
    assert theorem.example
    names = [h.name for h in theorem.hypotheses]
    assert len(names) == len(set(names))
    names = [c.name for c in theorem.conclusions]
    assert len(names) == len(set(names))
    assert all(p.low < p.default < p.high for p in theorem.parameters)


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_covered_elsewhere_is_there(paper):
    conditions = {assumption.key for assumption in assumptions()}
    keys = {result.key for result in results_of(paper)}
    for result in results_of(paper):
        if not isinstance(result, Elsewhere):
            continue
        assert result.note
        if result.status == "condition":
            assert result.where in conditions, result
        elif result.status in ("definition", "ours"):
            assert _is_there(result.where), result
        elif result.status == "part":
            assert result.where in keys, result
            theorem = theorem_named(result.where)
            parts = {part.name for part in (*theorem.hypotheses, *theorem.conclusions)}
            assert set(re.findall(r"`([\w.-]+)`", result.note)) <= parts, result
        else:
            assert result.status == "left out", result
            assert not result.where


@pytest.mark.parametrize("paper", PAPERS)
def test_no_result_is_counted_twice(paper):
    """317 rows were counted: some results twice, some that no paper has, and Lemma F.10 both checked and left out."""
    rows = [r for r in results_of(paper) if status_of(r) not in ("part", "ours")]
    locators = [r.locator if isinstance(r, Elsewhere) else r.reference.locator for r in rows]
    assert len(locators) == len(set(locators))
    names = [
        name
        for locator in locators
        for name in re.findall(r"(?:Lemma|Theorem|Prop\.|Cor\.) [A-Z]?\.?[\d.]+\b", locator)
    ]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("page", ["README.md", "CITATION.cff", "docs/index.md", "docs/for-whom.md"])
def test_numbers_of_papers_are_on_generated_pages_alone(page):
    """A copy in the README had fallen behind, and every paper changed four pages."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert not re.search(r"\b(\d+|five|six|seven|eight|nine|ten) papers\b", text)


def _is_there(dotted: str) -> bool:
    """Whether a dotted name leads to a function, a class, or a field or property of a class."""
    parts = dotted.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            fields = getattr(found, "__dataclass_fields__", {})
            if not hasattr(found, name) and name not in fields:
                return False
            found = getattr(found, name, fields.get(name))
        return True
    return False


def test_the_page_names_tests_that_are_there():
    for line in "\n".join(coverage_of(paper) for paper in PAPERS).splitlines():
        if "| **theorem** `" in line:
            assert re.search(r"`tests/(theory|papers)/", line), line
        for word in line.split("`"):
            if word.startswith("tests/"):
                assert (ROOT / word).is_file(), line


def test_the_pages_are_up_to_date():
    """`reluflow theorems --coverage > docs/coverage.md` and `reluflow theorems PAPER --coverage` write them."""
    assert (ROOT / "docs" / "coverage.md").read_text() == coverage_page()
    for paper in PAPERS:
        assert (ROOT / "docs" / "coverage" / f"{paper}.md").read_text() == coverage_of(paper)


def test_extremal_vectors_is_where_definition_1_says():
    definitions = {r.where for r in results_of("boursier2024") if isinstance(r, Elsewhere) and r.status == "definition"}
    assert f"{extremal_vectors.__module__}.{extremal_vectors.__name__}" in definitions
