"""The registry of results: every theorem of the papers by key, and where the rest of each paper is covered."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache

from reluflow.errors import InvalidInputError
from reluflow.theory.bibliography import BIBLIOGRAPHY
from reluflow.theory.data_files import tables_of
from reluflow.theory.statements import Elsewhere, result_stated
from reluflow.theory.theorem import Theorem

PAPERS = tuple(BIBLIOGRAPHY)


@cache
def results_of(paper: str) -> tuple[Theorem | Elsewhere, ...]:
    """Every result of a paper in the paper's order."""
    if paper not in PAPERS:
        raise InvalidInputError(f"`paper` must be one of {', '.join(PAPERS)}, got {paper!r}.")
    return tuple(result_stated(paper, result) for result in tables_of(paper, "results")["results"])


@cache
def theorems(papers: Iterable[str] = PAPERS) -> tuple[Theorem, ...]:
    """Every result that can be checked, in the papers' order.

    >>> "boursier2024:thm1" in [theorem.key for theorem in theorems()]
    True
    """
    return tuple(result for paper in papers for result in results_of(paper) if isinstance(result, Theorem))


def theorem_named(key: str) -> Theorem:
    """The theorem of this key.

    >>> theorem_named("boursier2024:lemma1").reference.locator
    'Lemma 1'
    """
    paper, _, name = key.partition(":")
    if paper in PAPERS and name in tables_of(paper, "results")["results"]:
        result = result_stated(paper, name)  # it alone: what the paper's other results need is not loaded
        if isinstance(result, Theorem):
            return result
    keys = [theorem.key for theorem in theorems()]
    near = get_close_matches(key, keys, n=3) or [k for k in keys if k.startswith(paper)][:3]
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise InvalidInputError(f"`theorem` must be a key listed by `reluflow theorems`, got {key!r}{hint}")
