"""StepAttempt: a step of a run that is being tried."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class StepAttempt:
    """A step that is tried: its length in rescaled time, and what it must keep to.

    `is_cut` is whether it was shortened for a reason that says nothing about the next one; `left` is the time up to
    `limit`, which it must not pass. `longest_next` is how long the next one may be.
    """

    length: float
    is_cut: bool
    tolerance: float
    left: float
    limit: float
    longest_next: float = np.inf

    def cut(self, length: float) -> None:
        """Try a shorter step, to end at some place."""
        self.length, self.is_cut = length, True
