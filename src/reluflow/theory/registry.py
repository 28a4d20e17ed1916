"""The registry of results: every theorem of the papers by key, and where the rest of each paper is covered."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache

from reluflow.errors import InvalidInputError
from reluflow.found_papers import found_papers
from reluflow.theory.elsewhere import Elsewhere
from reluflow.theory.theorem import Theorem


def papers() -> tuple[str, ...]:
    """Keys of the papers, in the order of lists."""
    return tuple(found_papers())


@cache
def results_of(paper: str) -> tuple[Theorem | Elsewhere, ...]:
    """Every result of a paper in the paper's order."""
    if paper not in found_papers():
        raise InvalidInputError(f"`paper` must be one of {', '.join(papers())}, got {paper!r}.")
    found = found_papers()[paper]
    results: tuple[Theorem | Elsewhere, ...] = found.values("theorems", "RESULTS", Theorem, Elsewhere)
    for result in results:
        if not result.key.startswith(f"{paper}:"):
            found.leave_out(f"`{result.key}` in `theorems.RESULTS`", f"a key must begin with {paper}:")
    return tuple(result for result in results if result.key.startswith(f"{paper}:"))


def theorems(among: Iterable[str] | None = None) -> tuple[Theorem, ...]:
    """Every result that can be checked, in the papers' order; of these papers alone where they are given.

    >>> "boursier2024:thm1" in [theorem.key for theorem in theorems()]
    True
    """
    keys = papers() if among is None else among
    return tuple(result for paper in keys for result in results_of(paper) if isinstance(result, Theorem))


def theorem_named(key: str) -> Theorem:
    """The theorem of this key.

    Parameters
    ----------
    key
        As listed by `reluflow theorems`: "boursier2024:thm1".

    Returns
    -------
    Theorem
        Its statement, hypotheses, conclusions and errata.

    Examples
    --------
    >>> theorem_named("boursier2024:lemma1").reference.locator
    'Lemma 1'
    """
    paper = key.partition(":")[0]
    known = results_of(paper) if paper in found_papers() else ()
    for result in known:
        if result.key == key and isinstance(result, Theorem):
            return result
    keys = [theorem.key for theorem in theorems()]
    near = get_close_matches(key, keys, n=3) or [k for k in keys if k.startswith(paper)][:3]
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise InvalidInputError(f"`theorem` must be a key listed by `reluflow theorems`, got {key!r}{hint}")
