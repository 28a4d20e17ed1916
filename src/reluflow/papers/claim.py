"""Claim: one statement about a figure, who makes it, what was measured, and whether it holds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from reluflow.errors import InvalidInputError
from reluflow.papers.store import as_plain
from reluflow.theory.comparison import Comparison, at_least, at_most, equals, worst_compared

Number = float | int
Measurement = float | int | str | tuple[float, ...]

OURS = "ours"  # the source of a statement that the paper does not make


@dataclass(frozen=True)
class Claim:
    """One statement about a figure, judged from a computation.

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
    source
        Who makes the statement: the place in the paper, such as "Sec. 6" or "Fig. 2, caption", or `OURS` for a check
        or a sharper form that the paper does not make.

    Examples
    --------
    >>> claim = Claim.below("the loss vanishes", 0.2, 0.1, source="Sec. 4")
    >>> claim.holds, claim.is_ours
    (False, False)
    """

    text: str
    holds: bool | None
    measured: Measurement
    expected: Measurement
    why: str = ""
    finding: bool = False
    _: KW_ONLY
    source: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "holds", None if self.holds is None else bool(self.holds))
        for name in ("measured", "expected"):
            value = as_plain(getattr(self, name))
            object.__setattr__(self, name, tuple(value) if isinstance(value, list) else value)
        if not self.text.strip():
            raise InvalidInputError("`text` of a claim must be a sentence, got none.")
        if not self.source.strip():
            raise InvalidInputError(
                f"`source` must name the place in the paper, or be OURS for a statement of our own, got none for "
                f"{self.text!r}."
            )
        if (self.finding or self.holds is None) and not self.why:
            raise InvalidInputError(
                f"`why` must say why for a finding or an undecided claim, got none for {self.text!r}."
            )

    @property
    def is_ours(self) -> bool:
        """Whether the paper does not make the statement."""
        return self.source == OURS

    @property
    def is_failure(self) -> bool:
        """Whether it fails without a known reason."""
        return self.holds is False and not self.finding

    @property
    def remark(self) -> str:
        """`why` with its opening: beside a statement that holds it is what one should know, not a reason against it.

        >>> Claim.below("no run diverges", 0, 0, why="Some draws would.", source=OURS).remark
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
        allowance = atol + rtol * abs(expected)
        return cls.of(text, equals(measured, expected, atol=allowance), f"{expected:.6g} ± {allowance:.2g}", **words)

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


@dataclass(frozen=True)
class Tally:
    """How many statements there are, and of these how many hold, do not (some of them known), and are open."""

    total: int
    holding: int
    failing: int
    known: int
    undecided: int

    @classmethod
    def of(cls, claims: Iterable[Claim]) -> Tally:
        """Count statements."""
        every = tuple(claims)
        failing = [claim for claim in every if claim.holds is False]
        return cls(
            len(every),
            sum(claim.holds is True for claim in every),
            len(failing),
            sum(claim.finding for claim in failing),
            sum(claim.holds is None for claim in every),
        )

    @property
    def in_words(self) -> str:
        """The counts that are not 0.

        >>> Tally(5, 3, 1, 1, 1).in_words, Tally(0, 0, 0, 0, 0).in_words
        ('3 hold, 1 does not, 1 is open', 'none')
        """
        one, several = ("holds", "does not", "is open"), ("hold", "do not", "are open")
        counts = (self.holding, self.failing, self.undecided)
        parts = [
            f"{count} {one[place] if count == 1 else several[place]}" for place, count in enumerate(counts) if count
        ]
        return ", ".join(parts) or "none"


def tallies(claims: Iterable[Claim]) -> tuple[Tally, Tally]:
    """The paper's statements and ours, counted apart.

    >>> both = tallies([Claim("x", True, 1, 1, source="Sec. 2"), Claim("y", False, 1, 2, source=OURS)])
    >>> [tally.in_words for tally in both]
    ['1 holds', '1 does not']
    """
    every = tuple(claims)
    return Tally.of(claim for claim in every if not claim.is_ours), Tally.of(claim for claim in every if claim.is_ours)


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
