"""The values a name runs through: `a,b,c`, `0..19`, `1e-1..1e-12:log:12`, `0..1:lin:5`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal

from reluflow.errors import InvalidInputError
from reluflow.network.scale import canonical_decimal, decimal_of

_DIGITS = 15  # of a computed value: 0.3 and not 0.30000000000000004, and nothing is lost that a double holds
_CONTEXT = Context(prec=40, Emin=-999_999_999, Emax=999_999_999)
_RANGE = re.compile(r"^(?P<first>[^:]+?)\.\.(?P<last>[^:]+?)(?::(?P<spacing>[a-z]+)(?::(?P<count>[^:]*))?)?$")
MOST_VALUES = 10_000_000


@dataclass(frozen=True)
class Interval:
    """A stretch of a line between two numbers, evenly spaced in the number or in its logarithm.

    >>> Interval("1e-1", "1e-4", is_log=True).spaced(4)
    ('0.1', '0.01', '0.001', '0.0001')
    """

    first: str
    last: str
    is_log: bool = False

    def spaced(self, count: int) -> tuple[str, ...]:
        """`count` values with both ends, as decimal text; ends outside the range of a double stay what they are."""
        if count == 1:
            return (canonical_decimal(decimal_of(self.first)),)
        return tuple(self.at(Decimal(step) / Decimal(count - 1)) for step in range(count))

    def at(self, share: Decimal | float) -> str:
        """The value at a share between 0 (the first end) and 1 (the last)."""
        part = Decimal(share)
        first, last = decimal_of(self.first), decimal_of(self.last)
        if part in (0, 1):
            return canonical_decimal(last if part else first)
        if self.is_log:
            low, high = (_CONTEXT.log10(end) for end in (first, last))
            value = _CONTEXT.power(Decimal(10), _CONTEXT.add(low, _CONTEXT.multiply(part, high - low)))
        else:
            value = _CONTEXT.add(first, _CONTEXT.multiply(part, last - first))
        return canonical_decimal(Context(prec=_DIGITS, Emin=-999_999_999, Emax=999_999_999).plus(value))


def parse_values(text: str, *, name: str) -> tuple[str, ...]:
    """The values of `--over NAME=VALUES` as texts, in the order written.

    Parameters
    ----------
    text
        Pieces between commas; each is one value, `first..last` (whole numbers, both ends included), or
        `first..last:log:count` or `first..last:lin:count`.
    name
        For the error message.

    Examples
    --------
    >>> parse_values("10,100,1000", name="width")
    ('10', '100', '1000')
    >>> parse_values("0..3", name="seed")
    ('0', '1', '2', '3')
    >>> parse_values("1e-1..1e-3:log:3", name="scale")
    ('0.1', '0.01', '0.001')
    """
    if not text.strip():
        raise InvalidInputError(f"`{name}` must have values: a,b,c or 0..19 or 1e-1..1e-12:log:12, got none.")
    values: list[str] = []
    for piece in text.split(","):
        word = piece.strip()
        if not word:
            raise InvalidInputError(f"`{name}` must have a value between its commas, got {text!r}.")
        found = _RANGE.match(word)
        values.extend(_range(found, name, word) if found else (word,))
        if len(values) > MOST_VALUES:
            raise InvalidInputError(f"`{name}` must have at most {MOST_VALUES:,} values, got more in {text!r}.")
    return tuple(values)


def parse_interval(text: str, *, name: str) -> Interval:
    """An interval without a number of points: `first..last`, `first..last:lin` or `first..last:log`.

    >>> parse_interval("1e-1..1e-8:log", name="scale").is_log
    True
    """
    found = _RANGE.match(text.strip())
    if not found or found["count"] is not None or found["spacing"] not in (None, "lin", "log"):
        raise InvalidInputError(f"`{name}` must be an interval such as 1e-1..1e-8:log or 2..200, got {text!r}.")
    return _interval(found, name, text)


def _range(found: re.Match[str], name: str, word: str) -> tuple[str, ...]:
    if found["spacing"] is None:
        return _whole_numbers(found, name, word)
    if found["spacing"] not in ("lin", "log") or found["count"] is None:
        raise InvalidInputError(f"`{name}` must read first..last:log:count or first..last:lin:count, got {word!r}.")
    if not found["count"].isdigit() or not 1 <= int(found["count"]) <= MOST_VALUES:
        raise InvalidInputError(f"`{name}` must have a whole number of values after the colon, got {word!r}.")
    return _interval(found, name, word).spaced(int(found["count"]))


def _interval(found: re.Match[str], name: str, word: str) -> Interval:
    try:
        ends = decimal_of(found["first"]), decimal_of(found["last"])
    except InvalidInputError as error:
        raise InvalidInputError(f"`{name}` must have numbers at both ends of `..`, got {word!r}.") from error
    if found["spacing"] == "log" and min(ends) <= 0:
        raise InvalidInputError(f"`{name}` must be positive to be spaced evenly in the logarithm, got {word!r}.")
    return Interval(found["first"].strip(), found["last"].strip(), is_log=found["spacing"] == "log")


def _whole_numbers(found: re.Match[str], name: str, word: str) -> tuple[str, ...]:
    try:
        first, last = int(found["first"]), int(found["last"])
    except ValueError as error:
        raise InvalidInputError(
            f"`{name}` must have whole numbers around `..`, got {word!r}; first..last:lin:count spaces any numbers."
        ) from error
    if abs(last - first) >= MOST_VALUES:
        raise InvalidInputError(f"`{name}` must have at most {MOST_VALUES:,} values, got {word!r}.")
    step = 1 if last >= first else -1
    return tuple(str(value) for value in range(first, last + step, step))
