"""What a study may cost."""

from __future__ import annotations

from dataclasses import dataclass

FLOW_SHARE = 0.7  # of the seconds of a study, for its first run, which everything that is not quick waits for
GEOMETRY_SHARE = 0.25  # of them, for diagnosis, extremal vectors, alignments and the path at vanishing scale, each
DRAWING_SHARE = 0.1  # of them, where the clock counts, for what comes after the last task
LONGEST_BY_CLOCK = 15.0  # seconds on the clock for each second of work, after which a study ends all the same


@dataclass(frozen=True)
class Allowed:
    """What a study may cost: steps of each run, and seconds in all, of work that is counted or else on the clock."""

    max_steps: float | None
    seconds: float
    counts_work: bool

    def in_words(self, share: float = 1.0) -> str:
        """A share of the seconds, in words."""
        return f"{share * self.seconds:g} s of work" if self.counts_work else f"{share * self.seconds:g} s"

    @property
    def longest(self) -> float:
        """Seconds on the clock after which no more is computed."""
        return self.seconds * (LONGEST_BY_CLOCK if self.counts_work else 1.0 - DRAWING_SHARE)

    @property
    def longest_in_words(self) -> str:
        """The same as it is told."""
        words = "on the clock of a slow or busy machine"
        return f"{self.longest:g} s {words}" if self.counts_work else f"{self.seconds:g} s in all"
