"""Claim: one statement of a paper, what was measured, and whether it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from reluflow.errors import InvalidInputError
from reluflow.experiments.store import as_plain
from reluflow.theory.comparison import Comparison, at_least, at_most, equals, worst_compared

Number = float | int
Measurement = float | int | str | tuple[float, ...]


@dataclass(frozen=True)
class Claim:
    """One statement of a paper about a figure, judged from a computation.

    Parameters
    ----------
    text
        The statement, in one sentence.
    holds
        Whether it does here; None where this size cannot decide it (then `why` says why).
    measured
        What came out: a number, a few numbers or words.
    expected
        What the statement asks for, in the same terms, such as "below 0.03".
    why
        Why it does not hold, or what one should know.
    finding
        Whether its failure is known and explained in `why`: a published statement that does not reproduce. It is
        shown with a cross like any other and does not make the command fail.
    ours
        Whether the statement is our own, a check or a sharper form that the paper does not make.

    Examples
    --------
    >>> Claim.below("the loss vanishes", 0.2, 0.1).holds
    False
    """

    text: str
    holds: bool | None
    measured: Measurement
    expected: Measurement
    why: str = ""
    finding: bool = False
    ours: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "holds", None if self.holds is None else bool(self.holds))
        for name in ("measured", "expected"):
            value = as_plain(getattr(self, name))
            object.__setattr__(self, name, tuple(value) if isinstance(value, list) else value)
        if not self.text.strip():
            raise InvalidInputError("`text` of a claim must be a sentence, got none.")
        if (self.finding or self.holds is None) and not self.why:
            raise InvalidInputError(
                f"`why` must say why for a finding or an undecided claim, got none for {self.text!r}."
            )

    @property
    def is_failure(self) -> bool:
        """Whether it fails without a known reason."""
        return self.holds is False and not self.finding

    @property
    def remark(self) -> str:
        """`why` with its opening: beside a statement that holds it is what one should know, not a reason against it.

        >>> Claim.below("no run diverges", 0, 0, why="Some draws would.").remark
        'Note: Some draws would.'
        """
        return f"{'Note' if self.holds else 'Why'}: {self.why}" if self.why else ""

    @classmethod
    def of(cls, text: str, comparison: Comparison, expected: str, *, why: str = "", **words: Any) -> Claim:
        """What a comparison says; where it is undecided, its detail says why."""
        measured = math.nan if comparison.measured is None else comparison.measured
        reason = why or (comparison.detail if comparison.holds is None else "")
        return cls(text, comparison.holds, measured, expected, why=reason, **words)

    @classmethod
    def near(
        cls, text: str, measured: Number, expected: Number, *, atol: float = 0.0, rtol: float = 0.0, **words: Any
    ) -> Claim:
        """|measured - expected| <= atol + rtol |expected|."""
        room = atol + rtol * abs(expected)
        return cls.of(text, equals(measured, expected, atol=room), f"{expected:.6g} ± {room:.2g}", **words)

    @classmethod
    def below(cls, text: str, measured: Number, bound: Number, **words: Any) -> Claim:
        """measured <= bound."""
        return cls.of(text, at_most(measured, bound), f"at most {bound:.6g}", **words)

    @classmethod
    def above(cls, text: str, measured: Number, bound: Number, **words: Any) -> Claim:
        """measured >= bound."""
        return cls.of(text, at_least(measured, bound), f"at least {bound:.6g}", **words)

    @classmethod
    def between(cls, text: str, measured: Number, low: Number, high: Number, **words: Any) -> Claim:
        """low <= measured <= high."""
        sides = (at_least(measured, low), at_most(measured, high))
        worse = next((side for side in sides if not side.holds), sides[0])
        return cls.of(text, worse, f"{low:.6g} to {high:.6g}", **words)

    @classmethod
    def equal(cls, text: str, measured: int, expected: int, **words: Any) -> Claim:
        """Two counts that must be the same."""
        counts = worst_compared(int(measured), "equals", int(expected))
        return cls(text, counts.holds, int(measured), int(expected), **words)


def in_words(value: Measurement) -> str:
    """A measurement for the reader.

    >>> in_words(0.123456789), in_words((1.0, 2.5)), in_words("two"), in_words(200000)
    ('0.123457', '(1, 2.5)', 'two', '200,000')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | list):
        return "(" + ", ".join(in_words(item) for item in value) + ")"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if math.isfinite(value) else str(value)
