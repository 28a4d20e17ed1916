"""What a study may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Allowed:
    """What a study may cost: steps of each run, and seconds in all, of work that is counted or else on the clock."""

    max_steps: float | None
    seconds: float
    counts_work: bool

    def in_words(self, share: float = 1.0) -> str:
        """A share of the seconds, in words."""
        return f"{share * self.seconds:g} s of work" if self.counts_work else f"{share * self.seconds:g} s"
