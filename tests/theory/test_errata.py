"""Errata: every code named anywhere is an object with its two forms, and its cases distinguish them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reluflow.errors import InvalidInputError
from reluflow.found_papers import found_papers
from reluflow.theory.comparison import none_of
from reluflow.theory.erratum import Erratum, codes_in, errata_of, errata_page, measured
from reluflow.theory.registry import theorem_named, theorems

ROOT = Path(__file__).parents[2]
ALL = [erratum for paper in found_papers() for erratum in errata_of(paper)]


def test_keys_are_unique_and_complete():
    keys = [erratum.key for erratum in ALL]
    assert len(keys) == len(set(keys)) > 70
    assert all(e.paper in found_papers() and e.code and e.where and e.printed and e.corrected for e in ALL)


def test_every_erratum_has_both_cases_or_says_why_not():
    """Twenty-five once had neither, and the page showed an empty cell for each."""
    without = [e for e in ALL if e.failing is None or e.holding is None]
    assert all(len(e.unmeasured) > 20 for e in without)
    papers = [e.paper for e in without]
    assert len(papers) == len(set(papers)), "one of a paper's errata at most is beyond measuring; the others have cases"
    assert all(not e.unmeasured for e in ALL if e.failing is not None)


def test_an_erratum_without_cases_and_without_a_reason_is_refused():
    with pytest.raises(InvalidInputError, match="unmeasured"):
        Erratum("min2024:E99", None, None, "Sec. 1", "one", "other")
    with pytest.raises(InvalidInputError, match="unmeasured"):
        Erratum("min2024:E99", lambda: none_of(1), None, "Sec. 1", "one", "other", unmeasured="half of it is missing")


@pytest.mark.parametrize("erratum", [e for e in ALL if e.failing is not None], ids=lambda e: e.key)
def test_the_printed_form_fails_and_the_corrected_one_holds(erratum):
    failing, holding = measured(erratum.failing), measured(erratum.holding)
    assert failing.holds is False, failing.detail
    assert holding.holds is True, holding.detail


def test_every_code_a_theorem_names_is_an_erratum():
    known = {erratum.key for erratum in ALL}
    for theorem in theorems():
        assert set(theorem.errata) <= known, theorem.key
    assert theorem_named("boursier2024:thm2").errata == ("boursier2024:E3", "boursier2024:E7", "boursier2024:E8")


@pytest.mark.parametrize("paper", found_papers())
def test_every_code_in_the_sources_of_a_paper_is_an_erratum(paper):
    known = {erratum.code for erratum in errata_of(paper)}
    folders = [ROOT / "src/reluflow" / package / paper for package in ("theory", "papers")]
    for file in [file for folder in folders for file in sorted(folder.rglob("*.py"))]:
        for line in file.read_text().splitlines():
            named = {code for code in codes_in(line) if re.search(rf"([Ee]rrat\w+|\() ?{code}\b|\"{code}\b", line)}
            assert named <= known | {"E1", "E2", "E3", "E4", "E5"}, f"{file.name}: {line}"


def test_the_page_is_up_to_date():
    """`reluflow theorems --errata > docs/errata.md` writes it."""
    assert (ROOT / "docs" / "errata.md").read_text() == errata_page()
