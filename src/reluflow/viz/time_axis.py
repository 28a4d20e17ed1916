"""The time axis of a run: linear where it ends in finite time, logarithmic where it grows for ever."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.trajectory import Trajectory

_LONG = 8.0  # a run longer than this many times its alignment is shown over log t
_LATE = 3.0  # and ends this many decades after convergence began: what follows changes like log log t
_EARLY = 1.0 / 30.0  # a logarithmic axis begins at this share of the alignment, before which nothing is to be seen


@dataclass(frozen=True)
class TimeAxis:
    """How times become places on an axis; a logarithmic one is in powers of ten, also beyond the range of a double.

    `first` and `last` are the places at which the axis begins and ends.
    """

    is_logarithmic: bool
    first: float = 0.0
    last: float = float("inf")

    @classmethod
    def of(cls, trajectory: Trajectory) -> TimeAxis:
        """Logarithmic for a run that ends far later than its alignment."""
        first = next((phase.end for phase in trajectory.phases if phase.name == "alignment"), 0.0)
        is_long = not np.isfinite(trajectory.time) or bool(first > 0 and trajectory.time > _LONG * first)
        if not is_long:
            return cls(is_logarithmic=False)
        finite = trajectory.log_times[np.isfinite(trajectory.log_times)]
        start = np.log10(_EARLY * first) if first > 0 else float(finite[0]) / np.log(10.0)
        converging = next((phase.start for phase in trajectory.phases if phase.name == "convergence"), np.inf)
        last = min(np.log10(converging) + _LATE, trajectory.log_time / np.log(10.0))
        return cls(is_logarithmic=True, first=float(start), last=float(last))

    @property
    def label(self) -> str:
        """What stands under the axis."""
        return "$\\log_{10}$ of time $t$" if self.is_logarithmic else "time $t$"

    def cut_note(self, trajectory: Trajectory) -> str:
        """Words for a run that goes on beyond the axis, else nothing."""
        end = trajectory.log_time / np.log(10.0)
        return f" (the run goes on to $10^{{{end:.4g}}}$)" if self.is_logarithmic and end > self.last + 0.1 else ""

    def places(self, times: FloatArray, log_times: FloatArray) -> FloatArray:
        """Where times stand; -inf for time 0 on a logarithmic axis."""
        return np.asarray(log_times) / np.log(10.0) if self.is_logarithmic else np.asarray(times)

    def places_of_times(self, times: FloatArray) -> FloatArray:
        """Where times stand that are known only as doubles."""
        with np.errstate(divide="ignore"):
            return np.log10(times) if self.is_logarithmic else np.asarray(times)
