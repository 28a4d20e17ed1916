"""The registry of results: every theorem of the papers by key, and where the rest of each paper is covered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from reluflow.errors import InvalidInputError
from reluflow.theory.bibliography import BIBLIOGRAPHY
from reluflow.theory.erratum import table_rows
from reluflow.theory.theorem import Theorem

PAPERS = tuple(BIBLIOGRAPHY)


@dataclass(frozen=True)
class Elsewhere:
    """A result that is no theorem object: an assumption, a definition, an algorithm, or one that is left out.

    Parameters
    ----------
    key
        `paper:result`.
    locator
        As the paper numbers it.
    status
        `condition` (judged by `reluflow diagnose`), `definition` (computed by a function), `part` (contained in
        another result's check), `ours` (an algorithm or a repair that the paper does not have) or `left out`.
    where
        The condition's key, the function's dotted name, or the containing result's key; empty where left out.
    note
        What it says, or the reason for leaving it out.
    """

    key: str
    locator: str
    status: str
    where: str
    note: str


def results_table(paper: str, text: str) -> tuple[Theorem | Elsewhere, ...]:
    """Read a paper's table of results.

    A line with a key alone stands for the theorem of that key, wherever in the paper's folder it is defined. Other
    lines have five cells, `key | locator | status | place | note`; the place is a condition's key, a dotted name within
    this package, or the key of the containing result. An indented line goes on with the one before.
    """
    known = _theorems_in(paper)
    found: list[Theorem | Elsewhere] = []
    for line in table_rows(text):
        cells = [cell.strip() for cell in line.split(" | ", 4)]
        if len(cells) == 1:
            found.append(known[f"{paper}:{cells[0]}"])
            continue
        key, locator, status, place, note = cells
        prefix = {"definition": "reluflow.", "ours": "reluflow.", "part": f"{paper}:"}.get(status, "")
        found.append(Elsewhere(f"{paper}:{key}", locator, status, prefix + place, note))
    return tuple(found)


def _theorems_in(paper: str) -> dict[str, Theorem]:
    """Every theorem defined in the modules of a paper's folder, by key."""
    folder = import_module(f"reluflow.theory.{paper}")
    names = [
        module.name for module in iter_modules(folder.__path__) if not module.name.startswith(("results", "errata"))
    ]
    modules = [import_module(f"{folder.__name__}.{name}") for name in sorted(names)]
    return {value.key: value for module in modules for value in vars(module).values() if isinstance(value, Theorem)}


@cache
def results_of(paper: str) -> tuple[Theorem | Elsewhere, ...]:
    """Every result of a paper in the paper's order."""
    if paper not in PAPERS:
        raise InvalidInputError(f"`paper` must be one of {', '.join(PAPERS)}, got {paper!r}.")
    results: tuple[Theorem | Elsewhere, ...] = import_module(f"reluflow.theory.{paper}.results").RESULTS
    return results


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
    paper = key.partition(":")[0]
    among = theorems((paper,)) if paper in PAPERS else theorems()
    for theorem in among:
        if theorem.key == key:
            return theorem
    keys = [theorem.key for theorem in theorems()]
    near = get_close_matches(key, keys, n=3) or [k for k in keys if k.startswith(paper)][:3]
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise InvalidInputError(f"`theorem` must be a key listed by `reluflow theorems`, got {key!r}{hint}")
