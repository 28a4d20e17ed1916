"""Keep: what a run records. Its `start` makes the Recording that `train` fills."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import Snapshot
from reluflow.errors import BackendError, InvalidInputError

Measure = Callable[[AbstractRun], Any]

_FIRST_CHANGE = 0.02  # between two frames, before any is dropped
_FITTING_WEIGHT = 20.0  # frames for a change of h / (scale + |h|) by 1, against those for an e-fold of the outputs


@dataclass(frozen=True)
class Keep:
    """The moments at which a run is looked at closely, and what is kept there.

    Times and losses are kept after every step in any case. `Trajectory.snapshots` holds the network at each of `times`
    and `iterations`; with a `measure`, `Trajectory.measured` holds what it gave there instead.

    Parameters
    ----------
    times
        Exactly these times; the run goes on at least to the last of them, whatever the stopping rule says.
    iterations
        After exactly these steps, so far as the run comes.
    thinned
        Keep at most so many networks in `Trajectory.frames`: when there are more, every other one is dropped. Infinity
        keeps all.
    evenly
        How frames are spaced: over the `steps`, or over the `change` of the outputs: of their logarithm while they
        grow, of the outputs themselves while they fit.
    measure
        Called with the run at each of `times` and `iterations`; whatever it returns is kept in place of the network,
        which for a wide network may not fit into memory so often.
    recorder
        Called with the run at the start and after every step, for whoever keeps something else; it holds that itself.

    Examples
    --------
    >>> Keep(times=[3.0, 1.0], iterations=range(0, 30, 10))
    Keep(times=(1.0, 3.0), iterations=(0, 10, 20), thinned=0, evenly='steps', measure=None, recorder=None)
    """

    times: Sequence[float] | FloatArray = ()
    iterations: Sequence[int] | IntArray = ()
    thinned: float = 0
    evenly: Literal["steps", "change"] = "steps"
    measure: Measure | None = None
    recorder: Callable[[AbstractRun], None] | None = None

    def __post_init__(self) -> None:
        times = np.unique(np.asarray(self.times, dtype=np.float64).ravel())
        if times.size and not (np.all(np.isfinite(times)) and times[0] >= 0.0):
            raise InvalidInputError(f"`times` must hold finite times of at least 0, got {times[0]:g}.")
        steps = sorted({int(step) for step in self.iterations})
        if steps and steps[0] < 0:
            raise InvalidInputError(f"`iterations` must hold whole numbers of at least 0, got {steps[0]}.")
        if not self.thinned >= 0:
            raise InvalidInputError(f"`thinned` must be at least 0, got {self.thinned}.")
        if self.evenly not in ("steps", "change"):
            raise InvalidInputError(f"`evenly` must be 'steps' or 'change', got {self.evenly!r}.")
        object.__setattr__(self, "times", tuple(times.tolist()))
        object.__setattr__(self, "iterations", tuple(steps))

    def __repr__(self) -> str:
        return (
            f"Keep(times={self.times}, iterations={self.iterations}, thinned={self.thinned}, evenly={self.evenly!r}, "
            f"measure={_name(self.measure)}, recorder={_name(self.recorder)})"
        )

    def check_resumable(self) -> None:
        """Refuse what the next call of `train` could not know again, and so not go on with from a checkpoint."""
        if "<" in _name(self.measure):
            raise InvalidInputError(
                f"`measure` must be a function of a module where there is a checkpoint, got {_name(self.measure)}: "
                "whether the next one is the same could not be determined."
            )
        if self.recorder is not None:
            raise InvalidInputError(
                f"`recorder` must be None where there is a checkpoint, got {_name(self.recorder)}: what it holds is "
                "not in the file; `measure` is."
            )

    def with_times(self, times: Sequence[float] | FloatArray) -> Keep:
        """The same with more times."""
        return replace(self, times=(*self.times, *np.asarray(times, dtype=np.float64).ravel()))

    def start(self) -> Recording:
        """A recording with nothing in it."""
        return Recording(self)


class Recording:
    """What has been recorded of a run so far.

    Invariant, kept by `add`: one record for the start, one for each call of `advance` and for each moment it passed, in
    order; of the moments of `keep`, exactly those that the run has reached are in `snapshots` (or `measured`). It is
    pickled without its `keep`, which the call that goes on brings along.

    Attributes
    ----------
    records
        Time, log time and outputs after every step; losses follow from these.
    snapshots, frames, measured
        See `Keep`.
    next_time, has_all_times
        The next requested time, infinite if there is none; whether the run has come to the last.
    next_step
        The next requested iteration; a very large number if there is none.
    """

    def __init__(self, keep: Keep) -> None:
        self.keep = keep
        self.records: list[tuple[float, float, FloatArray]] = []
        self.snapshots: list[Snapshot] = []
        self.frames: list[Snapshot] = []
        self.measured: list[Any] = []
        self._num_times = self._num_iterations = 0
        self._pace: _EvenSteps | _EvenChange = _EvenSteps() if keep.evenly == "steps" else _EvenChange()
        self._look_ahead()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "keep"}

    def _look_ahead(self) -> None:
        """Note the next moments that are requested."""
        times, iterations = self.keep.times, self.keep.iterations
        self.has_all_times = self._num_times == len(times)
        self.next_time = np.inf if self.has_all_times else times[self._num_times]
        self.next_step = iterations[self._num_iterations] if self._num_iterations < len(iterations) else 1 << 62

    def add(self, run: AbstractRun) -> None:
        """Record the run as it is now."""
        outputs = run.outputs()
        # a sum of squares is finite only where they all are; where it overflows each is looked at
        if not math.isfinite(np.vdot(outputs, outputs)) and not np.isfinite(outputs).all():
            raise BackendError(
                f"the run must have finite outputs, got {outputs[~np.isfinite(outputs)][0]} at step {run.steps}; "
                "its solver should have ended before."
            )
        if run.passed:
            self.records.extend(run.passed)
            run.passed.clear()
        self.records.append((run.time, run.log_time, outputs))
        moments = []
        while self.next_time <= run.time and not self.has_all_times:
            moments.append(self.next_time)
            self._num_times += 1
            self._look_ahead()
        while self.next_step <= run.steps:
            if run.time not in moments:
                moments.append(run.time)
            self._num_iterations += 1
            self._look_ahead()
        for time in moments:
            if self.keep.measure is None:
                self.snapshots.append(self._snapshot(run, time, outputs))
            else:
                self.measured.append(self.keep.measure(run))
        if self.keep.thinned and self._pace.is_due(run, outputs):
            self.frames.append(self._snapshot(run, run.time, outputs))
            if len(self.frames) > self.keep.thinned:
                self.frames = self.frames[::2]
                self._pace.halve()
        if self.keep.recorder is not None:
            self.keep.recorder(run)

    @staticmethod
    def _snapshot(run: AbstractRun, time: float, outputs: FloatArray) -> Snapshot:
        loss = run.problem.loss.total(outputs, run.problem.dataset.y)
        return Snapshot(time, loss, outputs, run.network(), run.log_time, run.steps, run.log_sizes())


def _name(function: Callable[[AbstractRun], Any] | None) -> str:
    """Where a function is to be found; what it looks like if it is in no module."""
    if function is None or not hasattr(function, "__qualname__"):
        return repr(function)
    return f"{function.__module__}.{function.__qualname__}"


class _EvenSteps:
    """Every `stride`-th call is a frame."""

    def __init__(self) -> None:
        self._stride, self._seen = 1, 0

    def is_due(self, run: AbstractRun, outputs: FloatArray) -> bool:
        """Whether to keep the run as it is; called once after every step."""
        self._seen += 1
        return (self._seen - 1) % self._stride == 0

    def halve(self) -> None:
        """Keep half as many from now on."""
        self._stride *= 2


class _EvenChange:
    """A frame when the outputs have changed by `spacing` since the last; the start and the first step in any case."""

    def __init__(self) -> None:
        self._spacing, self._changed, self._seen = _FIRST_CHANGE, 0.0, 0
        self._size, self._bounded = 0.0, np.zeros(0)

    def is_due(self, run: AbstractRun, outputs: FloatArray) -> bool:
        """Whether to keep the run as it is; called once after every step."""
        labels, loss = run.problem.dataset.y, run.problem.loss
        scaled = outputs / (1.0 if loss.is_classification else float(np.max(np.abs(labels))) or 1.0)
        size = float(np.log(max(float(np.max(np.abs(scaled))), np.finfo(np.float64).tiny)))
        bounded = scaled / (1.0 + np.abs(scaled))
        if self._seen >= 2:
            self._changed += abs(size - self._size)
            self._changed += _FITTING_WEIGHT * float(np.max(np.abs(bounded - self._bounded)))
        self._size, self._bounded = size, bounded
        self._seen += 1
        if self._seen > 2 and self._changed < self._spacing:
            return False
        self._changed = 0.0
        return True

    def halve(self) -> None:
        """Keep half as many from now on."""
        self._spacing *= 2.0
