"""How the tests of lee2022 tamper with a run or a record: what several of their forgeries share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forging import ALL, Forge, with_record
from reluflow.arrays import FloatArray

Change = Callable[[Any], Any]


def times(factor: float, at: int | slice = ALL) -> Change:
    """Entries of a recorded array multiplied."""

    def change(array: FloatArray) -> FloatArray:
        changed = array.copy()
        changed[at] = (factor * changed[at]).astype(changed.dtype)
        return changed

    return change


def plus(shift: float, at: int | slice = ALL) -> Change:
    """Entries of a recorded array shifted."""

    def change(array: FloatArray) -> FloatArray:
        changed = array.copy()
        changed[at] += shift
        return changed

    return change


def recorded(**changes: Change) -> Forge:
    """Fields of the record changed."""
    return lambda e: with_record(e, **{name: change(getattr(e.record, name)) for name, change in changes.items()})
