"""How the files of a paper state its results: hypotheses and conclusions beside what judges them, theorems by key."""

from __future__ import annotations

import re
from collections.abc import Callable, Sized
from typing import Any, TypeVar

from reluflow.errors import InvalidInputError
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Level, Measurement, missing
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

Found = TypeVar("Found")


def hypothesis(
    name: str, statement: str, *, is_regime: bool = False, needs_trajectory: bool = False, is_setting: bool = False
) -> Callable[[Callable[[Evidence], Judgement]], Hypothesis]:
    """The hypothesis that the decorated function judges."""
    return lambda judge: Hypothesis(name, statement, judge, is_regime, needs_trajectory, is_setting)


def conclusion(
    name: str, statement: str, level: Level = Level.BOUND
) -> Callable[[Callable[[Evidence], Measurement]], Conclusion]:
    """The conclusion that the decorated function measures.

    >>> from reluflow.theory.measurement import at_least
    >>> @conclusion("wide", "there are at least two neurons", Level.EXACT)
    ... def is_wide(evidence: Evidence) -> Measurement:
    ...     return at_least(evidence.network.num_neurons, 2)
    >>> is_wide.name, str(is_wide.level)
    ('wide', 'exact')
    """
    return lambda measure: Conclusion(name, statement, measure, level)


def needs(
    find: Callable[[Evidence], Found | None], what: str, *, at_least: int = 1
) -> Callable[[Callable[[Evidence, Found], Measurement]], Callable[[Evidence], Measurement]]:
    """The decorated measure where there is something to measure on; elsewhere undecided, for `what` is missing.

    `find` gives what the measure takes as its second argument, or None, or fewer than `at_least` of them.

    >>> @needs(lambda evidence: evidence.sweep, "a sweep of two scales", at_least=2)
    ... def ends(evidence: Evidence, sweep: tuple[Evidence, ...]) -> Measurement: ...
    """

    def guard(measure: Callable[[Evidence, Found], Measurement]) -> Callable[[Evidence], Measurement]:
        def guarded(evidence: Evidence) -> Measurement:
            found = find(evidence)
            is_short = found is None or (isinstance(found, Sized) and len(found) < at_least)
            return missing(what) if found is None or is_short else measure(evidence, found)

        return guarded

    return guard


_LOCATORS = {
    "thm": "Theorem",
    "lemma": "Lemma",
    "prop": "Prop.",
    "cor": "Cor.",
    "remark": "Remark",
    "def": "Def.",
    "example": "Example",
}
_NUMBERED = re.compile(r"([a-z]+)([A-Z]?[.\d]+)")


def locator_of(result: str) -> str:
    """Where a result stands, read off its key.

    >>> locator_of("thm3.1"), locator_of("lemmaB.15"), locator_of("eq28")
    ('Theorem 3.1', 'Lemma B.15', 'Eq. (28)')
    """
    found = _NUMBERED.fullmatch(result)
    if found is None or found[1] not in (*_LOCATORS, "eq"):
        raise InvalidInputError(f"`locator` must be given for `{result}`, whose key does not tell where it stands.")
    return f"Eq. ({found[2]})" if found[1] == "eq" else f"{_LOCATORS[found[1]]} {found[2]}"


def theorems_of(paper: str, **shared: Any) -> Callable[..., Theorem]:
    """How a file states results of a paper: key, statement, and the fields of `Theorem` they do not share.

    The locator is read off the key where it can be: `lemma4` is Lemma 4.

    >>> lemma = theorems_of("min2024", example="min-toy")("lemma4", "made up", hypotheses=(), conclusions=())
    >>> lemma.key, str(lemma.reference), lemma.example
    ('min2024:lemma4', 'Lemma 4 [min2024]', 'min-toy')
    """

    def theorem(result: str, statement: str, *, locator: str = "", **fields: Any) -> Theorem:
        where = Reference(paper, locator or locator_of(result))
        return Theorem(f"{paper}:{result}", where, statement, **{**shared, **fields})

    return theorem
