"""The words for what happens to a neuron at a wall, and their numbers, which kernels write.

`docs/vocabulary.md` explains them.
"""

from __future__ import annotations

from enum import StrEnum


class EventKind(StrEnum):
    """What happens to a neuron at a wall, or at a = 0."""

    REFRACTION = "refraction"
    SLIDE_ENTRY = "slide-entry"
    SLIDE_EXIT = "slide-exit"
    DEATH = "death"
    RIDGE = "ridge"
    SIGN_CHANGE = "sign-change"


KINDS: tuple[EventKind, ...] = tuple(EventKind)
REFRACTION, SLIDE_ENTRY, SLIDE_EXIT, DEATH, RIDGE, SIGN_CHANGE = range(len(KINDS))
