"""FieldKind: how one field of an `Experiment` is read from text, written as text, and explained.

Every form of an experiment (options, documents, links) reads a value through the same function, so that the bounds of a
field and the sentence that refuses a value exist once.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from reluflow.errors import InvalidInputError
from reluflow.losses import LOSSES
from reluflow.network.scale import canonical_decimal, decimal_of, log_of_scale

Row = tuple[float, ...]
Reader = Callable[[str, str], Any]

LARGEST_WHOLE = 2**62


@dataclass(frozen=True)
class FieldKind:
    """What a field of an experiment is besides its type and default.

    Parameters
    ----------
    read
        Turns a name (for the sentence that refuses) and a text into the value.
    help
        What it means, in a line; empty for a field that no option sets.
    metavar
        What stands for the value in a help text.
    """

    read: Reader
    help: str = ""
    metavar: str | None = None

    @property
    def is_option(self) -> bool:
        """Whether the command line has an option for it."""
        return bool(self.help)


def text_of(value: Any) -> str:
    """A value as the text that the reader of its field turns into it again.

    >>> text_of(0.1), text_of(True), text_of(((1.0, 2.0), (3.0, 4.0)))
    ('0.1', 'true', '1.0,2.0;3.0,4.0')
    """
    if hasattr(value, "tolist"):  # an array, or a number taken from one
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | range):
        items = [item.tolist() if hasattr(item, "tolist") else item for item in value]
        is_table = any(isinstance(item, list | tuple) for item in items)
        if any(isinstance(item, str) for item in items):
            return _words_text(map(str, items))
        return (";" if is_table else ",").join(text_of(item) for item in items)
    return str(value)


def _words_text(words: Iterable[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(list(words))
    return text.getvalue()


def one_of(*words: str) -> Reader:
    """A word of a closed list."""

    def read(name: str, text: str) -> str:
        if text not in words:
            raise InvalidInputError(f"`{name}` must be one of {', '.join(words)}, got {text!r}.")
        return text

    return read


def loss_name(name: str, text: str) -> str:
    """The name of a loss, one registered by another package included."""
    return str(one_of(*LOSSES)(name, text))


def word(name: str, text: str) -> str:
    """Any text but the empty one."""
    if not text.strip():
        raise InvalidInputError(f"`{name}` must not be empty.")
    return text


def flag(name: str, text: str) -> bool:
    """True or false."""
    lowered = text.strip().lower()
    if lowered not in ("true", "false", "yes", "no", "1", "0"):
        raise InvalidInputError(f"`{name}` must be true or false, got {text!r}.")
    return lowered in ("true", "yes", "1")


def whole(least: int) -> Reader:
    """A whole number; `1e3` is one."""

    def read(name: str, text: str) -> int:
        try:
            number: Decimal | None = decimal_of(text)
        except InvalidInputError:
            number = None
        if number is None or abs(number) >= LARGEST_WHOLE or number != number.to_integral_value() or number < least:
            raise InvalidInputError(f"`{name}` must be a whole number of at least {least}, got {text!r}.")
        return int(number)

    return read


def number(name: str, text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInputError(f"`{name}` must be a finite number, got {text!r}.")
    return value


def positive(name: str, text: str) -> float:
    """A positive number."""
    value = number(name, text)
    if not value > 0:
        raise InvalidInputError(f"`{name}` must be positive, got {text!r}.")
    return value


def not_negative(name: str, text: str) -> float:
    """A number of at least 0."""
    value = number(name, text)
    if value < 0:
        raise InvalidInputError(f"`{name}` must be at least 0, got {text!r}.")
    return abs(value)  # -0.0 is 0.0


def in_unit_interval(name: str, text: str) -> float:
    """A number in [0, 1]."""
    value = number(name, text)
    if not 0.0 <= value <= 1.0:
        raise InvalidInputError(f"`{name}` must lie in [0, 1], got {text!r}.")
    return abs(value)


def time_bound(name: str, text: str) -> float | None:
    """A positive time; infinity is no horizon at all."""
    return None if text.strip().lower() in ("inf", "infinity") else positive(name, text)


def num_neurons(name: str, text: str) -> int | str:
    """A number of neurons, or "inf"."""
    if text.strip().lower() in ("inf", "infinity"):
        return "inf"
    try:
        return int(whole(1)(name, text))
    except InvalidInputError:
        raise InvalidInputError(f"`{name}` must be a whole number of at least 1, or inf, got {text!r}.") from None


def decimal_scale(name: str, text: str) -> str:
    """A positive decimal of any exponent, in one spelling."""
    log_of_scale(text)
    return canonical_decimal(text)


def rule(name: str, text: str) -> str:
    """When a run ends: the name of a rule, or a time."""
    if text in ("stationary", "aligned", "direction"):
        return text
    try:
        positive(name, text)
    except InvalidInputError:
        raise InvalidInputError(
            f"`{name}` must be stationary, aligned, direction or a positive time, got {text!r}."
        ) from None
    return text.strip()


def numbers(name: str, text: str) -> Row:
    """Numbers separated by commas."""
    try:
        return tuple(number(name, part) for part in text.split(",") if part.strip())
    except InvalidInputError:
        raise InvalidInputError(f"`{name}` must be numbers separated by commas, got {text[:60]!r}.") from None


def rows(name: str, text: str) -> tuple[Row, ...]:
    """Rows of numbers: commas within a row, semicolons between rows."""
    table = tuple(numbers(name, row) for row in text.split(";"))
    if not table[0] or any(len(row) != len(table[0]) for row in table):
        raise InvalidInputError(f"`{name}` must hold rows of the same length, at least one number in each.")
    return table
