"""How the files of a paper judge: hypotheses beside their statement, measures beside what they need."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import TypeVar

from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import need
from reluflow.theory.theorem import Hypothesis

Found = TypeVar("Found")
Result = TypeVar("Result")


def hypothesis(
    name: str, statement: str, *, is_regime: bool = False, needs_trajectory: bool = False, is_setting: bool = False
) -> Callable[[Callable[[Evidence], Judgement]], Hypothesis]:
    """The hypothesis that the decorated function judges."""
    return lambda judge: Hypothesis(name, statement, judge, is_regime, needs_trajectory, is_setting)


def needs(
    find: Callable[[Evidence], Found | None], what: str, *, at_least: int = 1
) -> Callable[[Callable[[Evidence, Found], Result]], Callable[[Evidence], Result]]:
    """The decorated measure where there is something to measure on; elsewhere undecided, for `what` is missing.

    `find` gives what the measure takes as its second argument, or None, or fewer than `at_least` of them.

    >>> @needs(lambda evidence: evidence.sweep, "a sweep of two scales", at_least=2)
    ... def ends(evidence: Evidence, sweep: tuple[Evidence, ...]) -> float: ...
    """

    def guard(measure: Callable[[Evidence, Found], Result]) -> Callable[[Evidence], Result]:
        def guarded(evidence: Evidence) -> Result:
            found = need(find(evidence), what)
            need(not isinstance(found, Sized) or len(found) >= at_least, what)
            return measure(evidence, found)

        return guarded

    return guard
