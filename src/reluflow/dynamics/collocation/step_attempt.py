"""StepAttempt: a step of a run that is being tried."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.dynamics.collocation.tuning import BEYOND_KINK, STIFF


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

    def end_at_kink(self, kink: float, relaxation: float) -> None:
        """Try a step to just beyond a kink: beyond it forces change as fast as they answer to themselves."""
        self.cut(self.length * kink * (1.0 + BEYOND_KINK))
        self.longest_next = STIFF / relaxation if relaxation > 0.0 else np.inf
