"""The largest learning rate up to which something holds, and how ragged the boundary is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reluflow.errors import InvalidInputError

_CLOSE = 1.02  # ratio of the ends of the bracket at which bisection ends
_WIDER = 1.6  # ratio of rates by which the search is widened
_NEARBY = np.geomspace(0.7, 1.4, 12)  # rates around the boundary, relative to it, that tell how ragged it is


@dataclass(frozen=True)
class RateBoundary:
    """Up to which learning rate something holds.

    Parameters
    ----------
    up_to
        The largest rate tried at which it holds, with all smaller ones that were tried; None if it holds at none.
    fails_at
        The smallest rate tried at which it does not; None if it holds at all, or none could be judged.
    is_ragged
        Whether it holds again at a larger rate near by.
    share_above
        Share of the rates tried beyond `fails_at`, up to 1.5 times `up_to`, at which it holds all the same.
    """

    up_to: float | None
    fails_at: float | None
    is_ragged: bool = False
    share_above: float = 0.0


def find_boundary(
    holds: Callable[[float], bool | None], known: dict[float, bool] | None = None, *, rates: Sequence[float] = (),
    looks_around: bool = True, widenings: int = 0, is_spent: Callable[[], bool] = bool,
) -> RateBoundary:  # fmt: skip
    """Bracket the boundary by the rates given, narrow it by bisection, and look around it.

    Parameters
    ----------
    holds
        Judges one rate; each is asked once. None, where it cannot be told, ends the search.
    known
        What has been judged before; what is judged here is added.
    rates
        Rates to bracket it with.
    looks_around
        Whether to try rates beyond the boundary, where it may hold again.
    widenings
        How often a larger rate is asked where all hold, and a smaller one where none does.
    is_spent
        Whether nothing more may be asked.

    Examples
    --------
    >>> boundary = find_boundary(lambda rate: rate < 0.3, rates=[0.01, 0.1, 1.0])
    >>> round(boundary.up_to, 2), boundary.is_ragged
    (0.3, False)
    """
    answers = {} if known is None else known
    if not rates and known is None:
        raise InvalidInputError("`rates` must hold a learning rate to begin with, got none.")
    is_open = False

    def ask(rate: float) -> None:
        nonlocal is_open
        if rate not in answers and not is_open:
            answer = holds(rate)
            if answer is None:
                is_open = True
            else:
                answers[rate] = answer

    def may_go_on() -> bool:
        return not is_open and not is_spent()

    for rate in rates:
        ask(rate)
    for _ in range(widenings):
        if not answers or _bracket(answers) is not None or not may_go_on():
            break
        ask(max(answers) * _WIDER if any(answers.values()) else min(answers) / _WIDER)
    while (bracket := _bracket(answers)) is not None and bracket[1] / bracket[0] > _CLOSE and may_go_on():
        ask(float(np.sqrt(bracket[0] * bracket[1])))
    if not answers:
        return RateBoundary(None, None)
    if bracket is None:
        has_any = any(answers.values())
        return RateBoundary(max(answers) if has_any else None, None if has_any else min(answers))
    if looks_around:
        for factor in _NEARBY:
            if may_go_on():
                ask(float(bracket[0] * factor))
    low, high = _bracket(answers) or (None, min(answers))
    top = 1.5 * (low if low is not None else high)
    above = [answers[rate] for rate in answers if high < rate <= top]
    share = float(np.mean(above)) if above else 0.0
    return RateBoundary(low, high, any(above), share)


def _bracket(answers: dict[float, bool]) -> tuple[float, float] | None:
    """The largest rate below which all hold, and the smallest that does not; None where all agree."""
    failing = min((rate for rate, answer in answers.items() if not answer), default=None)
    if failing is None:
        return None
    holding = max((rate for rate in answers if rate < failing), default=None)
    return None if holding is None else (holding, failing)
