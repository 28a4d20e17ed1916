"""Events: what is counted over seeds, `kind=max-margin` or a measure that is true or false."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reluflow.arrays import BoolArray
from reluflow.errors import InvalidInputError


@dataclass(frozen=True)
class CountedEvent:
    """Whether a measure has a value.

    >>> parse_event("end=interpolates").happened(["interpolates", "other", None]).tolist()
    [True, False, False]
    """

    measure: str
    value: str | None = None

    @property
    def words(self) -> str:
        """For a label."""
        return self.measure if self.value is None else f"{self.measure} = {self.value}"

    def happened(self, values: Any) -> BoolArray:
        """For each value whether it is the event's; a missing one is not."""
        if self.value is None:
            return np.array([value is not None and value == value and bool(value) for value in values], dtype=bool)
        return np.array([str(value) == self.value for value in values], dtype=bool)


def parse_event(text: str) -> CountedEvent:
    """`MEASURE=VALUE`, or `MEASURE` for one that is true or false."""
    measure, equals, value = text.partition("=")
    if not measure or (equals and not value):
        raise InvalidInputError(f"`event` must read MEASURE=VALUE or MEASURE, got {text!r}.")
    return CountedEvent(measure.strip(), value.strip() if equals else None)
