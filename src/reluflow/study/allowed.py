"""What a study may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Allowed:
    """What a study may cost: steps of a run, and seconds in all; None leaves the first to the size of the problem."""

    max_steps: float | None = None
    max_seconds: float | None = None
