"""Frames: the states of a run that travel to the page, chosen evenly in how much the network changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray, SignArray
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import Snapshot, Trajectory
from reluflow.network import Network
from reluflow.network.network import row_norms

SingleArray = NDArray[np.float32]

MOST_FRAMES = 240
FEWEST_FRAMES = 30
MOST_NUMBERS = 6_000_000  # of all frames together: 24 MB
LARGE_CHANGE = 0.12  # of one step: neurons turn by several degrees, so states in between are worked out
BETWEEN = 0.04  # change between those
MOST_STRETCHES = 8
MOST_BETWEEN = 160  # states worked out in one stretch
USUAL_GROWTH = 60.0  # e-folds that neurons grow by: of a run in which they grow by more, each counts less
MOST_AFTER = 24  # of them after the last event


@dataclass(frozen=True, eq=False)
class Frame:
    """The network at one moment, in single precision: enough for a picture, with sizes as logarithms.

    Parameters
    ----------
    time, log_time, loss
        When, and L there.
    units
        w_j/|w_j|, shape (m, d).
    log_w, log_a
        ln |w_j| and ln |v_j|, the scale included, shape (m,): also where the sizes themselves would underflow.
    outs
        v_j/|v_j|, shape (m, K); of one output the sign of a_j.
    b
        The output bias, shape (K,); zeros where there is none.
    change
        How much changed since the frame before.
    """

    time: float
    log_time: float
    loss: float
    units: SingleArray
    log_w: SingleArray
    log_a: SingleArray
    outs: SingleArray
    b: SingleArray
    change: float

    @property
    def signs(self) -> SignArray:
        """Signs of a_j, of one output; of several, 1."""
        is_single = self.outs.shape[1] == 1
        return np.asarray(np.sign(self.outs[:, 0]) if is_single else np.ones(len(self.outs)), dtype=np.int8)


@dataclass(frozen=True, eq=False)
class Stretch:
    """Consecutive steps in each of which much changed, as in the closed-form start of a run at a tiny scale.

    Parameters
    ----------
    network, time
        Where the stretch begins.
    log_excess
        ln of the size of each neuron as the network holds it over its own, which may be too light for a double.
    ends, changes
        The time at the end of each step, and how much changed in it.
    """

    network: Network
    time: float
    log_excess: FloatArray
    ends: list[float]
    changes: list[float]

    def times(self, event_times: FloatArray) -> FloatArray:
        """Moments inside the stretch, since its beginning, the more of them in a step the more changes in it.

        A step under constant forces may last a thousand times as long as the turning in it: neurons turn from one
        event of the run to the next, so there are moments at the events and between them, and after the last one
        moments evenly in the logarithm of the time.
        """
        starts = [self.time, *self.ends[:-1]]
        counts = np.ceil(np.array(self.changes) / BETWEEN)
        counts = np.maximum(2, np.minimum(counts, counts * MOST_BETWEEN / counts.sum())).astype(int)
        parts = [  # cubes, because a direction relaxes early in a step that was taken under constant forces
            start + (end - start) * np.linspace(0.0, 1.0, count, endpoint=False) ** 3
            for start, end, count in zip(starts, self.ends, counts, strict=True)
        ]
        moments = np.concatenate([*parts, self._around(event_times)]) - self.time
        return np.unique(moments[(moments > 0) & (moments < self.ends[-1] - self.time)])

    def _around(self, event_times: FloatArray) -> FloatArray:
        """The events within the stretch, moments between two of them, and moments after the last."""
        inside = np.unique(event_times[(event_times > self.time) & (event_times < self.ends[-1])])
        if not len(inside):
            return np.zeros(0)
        inside = inside[np.unique(np.linspace(0, len(inside) - 1, MOST_BETWEEN // 2).round().astype(np.intp))]
        between = 0.5 * (inside + np.concatenate([[self.time], inside[:-1]]))
        last = float(inside[-1]) - self.time
        after = self.time + np.geomspace(last, max(self.ends[-1] - self.time, last), MOST_AFTER)
        return np.concatenate([inside, between, after])


class FrameKeeper:
    """The recorder of a run; keeps states so that the last picked ones are even in what changed.

    Parameters
    ----------
    network
        The network at the start.
    loss
        L there.
    """

    def __init__(self, network: Network, loss: float) -> None:
        self._most = most_frames(network.num_neurons, network.d)
        self._first_loss = loss if loss > 0 else 1.0
        self._frames = [frame_of(network, 0.0, -np.inf, loss)]
        span = float(np.max(np.abs(self._frames[0].log_w), initial=0.0, where=np.isfinite(self._frames[0].log_w)))
        self._growth_weight = 0.02 * min(1.0, USUAL_GROWTH / max(span, 1.0))
        self._network, self._time = network, 0.0
        self._log_excess = log_excess_of(network, None)
        self.stretches: list[Stretch] = []

    def __call__(self, run: AbstractRun) -> None:
        """Keep the state of a run; its start is there from the beginning."""
        if run.steps == 0 and run.time == 0.0:
            return
        network = run.network()
        log_excess = log_excess_of(network, run.log_sizes())
        self._append(frame_of(network, run.time, run.log_time, run.loss(), log_excess))
        change = self._frames[-1].change
        if change > LARGE_CHANGE and np.isfinite(run.time):
            if self.stretches and self.stretches[-1].ends[-1] == self._time:
                self.stretches[-1].ends.append(run.time)
                self.stretches[-1].changes.append(change)
            elif len(self.stretches) < MOST_STRETCHES:
                self.stretches.append(Stretch(self._network, self._time, self._log_excess, [run.time], [change]))
        self._network, self._time, self._log_excess = network, run.time, log_excess

    def insert(self, states: Sequence[Snapshot], *, start: float = 0.0, log_excess: FloatArray | None = None) -> None:
        """Add states worked out afterwards, their times counted from `start`.

        `log_excess` is that of the network they were worked out from: a neuron too light for its doubles acts on no
        other and grows by the same factor at any size, so the states hold it too large by the same factor.
        """
        added = []
        for state in states:
            excess = log_excess_of(state.network, state.log_sizes) + (0.0 if log_excess is None else log_excess)
            time = start + state.time
            added.append(frame_of(state.network, time, float(np.log(time)), state.loss, excess))
        ordered = sorted([*self._frames, *added], key=lambda frame: (frame.log_time, frame.time))
        self._frames = ordered[:1]
        for frame in ordered[1:]:
            change = _change(self._frames[-1], frame, self._first_loss, self._growth_weight)
            self._frames.append(replace(frame, change=change))

    def finish(self, trajectory: Trajectory) -> None:
        """Make the end of the run the last state; sizes below a double are known where the last step was seen."""
        excess = self._log_excess if self._time == trajectory.time else None
        last = frame_of(trajectory.network, trajectory.time, trajectory.log_time, trajectory.loss, excess)
        if self._frames[-1].time == trajectory.time and len(self._frames) > 1:
            self._frames.pop()
        self._append(last)

    def shown(self) -> list[Frame]:
        """The kept states, at most as many as travel, evenly in what changed."""
        return _even(self._frames, self._most)

    def _append(self, frame: Frame) -> None:
        self._frames.append(
            replace(frame, change=_change(self._frames[-1], frame, self._first_loss, self._growth_weight))
        )
        if len(self._frames) > 3 * self._most:
            self._frames = _even(self._frames, 2 * self._most)


def frame_of(
    network: Network, time: float, log_time: float, loss: float, log_excess: FloatArray | None = None
) -> Frame:
    """A network as a frame; `log_excess` is by how much its doubles hold a neuron too large (see `log_excess_of`)."""
    w, v = network.w, network.v
    norms, output_norms = row_norms(w), row_norms(v)
    shift = network.log_scale - (np.zeros(len(w)) if log_excess is None else log_excess)
    with np.errstate(divide="ignore"):
        log_w, log_a = np.log(norms) + shift, np.log(output_norms) + shift
    outs = v / np.where(output_norms > 0, output_norms, 1.0)[:, None]
    return Frame(
        time,
        log_time,
        loss,
        (w / np.where(norms > 0, norms, 1.0)[:, None]).astype(np.float32),
        log_w.astype(np.float32),
        log_a.astype(np.float32),
        outs.astype(np.float32),
        np.zeros(v.shape[1], np.float32) if network.b is None else np.asarray(network.b, np.float32),
        0.0,
    )


def log_excess_of(network: Network, log_sizes: FloatArray | None) -> FloatArray:
    """ln of the size of each neuron as the network holds it over its own: 0 where that fits a double."""
    if log_sizes is None:
        return np.zeros(network.num_neurons)
    held = row_norms(np.column_stack([network.w, network.v]))
    return np.asarray(np.where(held > 0, np.log(np.where(held > 0, held, 1.0)) + network.log_scale - log_sizes, 0.0))


def most_frames(num_neurons: int, d: int) -> int:
    """How many frames travel: 240, fewer where the network is large."""
    return int(np.clip(MOST_NUMBERS // (num_neurons * (d + 2)), FEWEST_FRAMES, MOST_FRAMES))


def _change(before: Frame, after: Frame, first_loss: float, growth_weight: float) -> float:
    """Turning of the neurons, growth of their sizes, fall of the loss and a little of the time, in one number."""
    cosines = np.clip(np.sum(before.units * after.units, axis=1), -1.0, 1.0)
    angles = np.arccos(cosines)
    fallen = abs(before.loss - after.loss) / first_loss
    later = 0.0
    if np.isfinite(before.log_time) and np.isfinite(after.log_time):
        later = min(after.log_time - before.log_time, 5.0)
    total = float(np.mean(angles)) + 0.1 * float(np.max(angles)) + min(growth_weight * _growth(before, after), 1.0)
    return total + 2 * fallen + 0.01 * later + 1e-9


def _growth(before: Frame, after: Frame) -> float:
    """By how much the logarithm of the largest size changed, or of any, were that one not the first to grow."""
    known = np.isfinite(before.log_w) & np.isfinite(after.log_w)
    if not np.any(known):
        return 0.0
    largest = abs(float(np.max(after.log_w[known])) - float(np.max(before.log_w[known])))
    return max(largest, 0.5 * float(np.max(np.abs(after.log_w[known] - before.log_w[known]))))


def _even(frames: list[Frame], most: int) -> list[Frame]:
    """At most `most` of the frames, evenly in the change; a frame that is dropped leaves its change to the next."""
    if len(frames) <= most:
        return frames
    sums = np.cumsum([frame.change for frame in frames]).tolist()
    low, high = 0.0, sums[-1] - sums[0] + 1.0  # of the least change from one frame to the next
    picked = _picked(sums, high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        found = _picked(sums, middle)
        low, high, picked = (middle, high, picked) if len(found) > most else (low, middle, found)
    before = [0, *picked[:-1]]
    return [replace(frames[k], change=sums[k] - sums[j]) for j, k in zip(before, picked, strict=True)]


def _picked(sums: list[float], least: float) -> list[int]:
    """The first, the last, and each in between that is `least` beyond the one before it."""
    picked = [0]
    while True:
        following = bisect_left(sums, sums[picked[-1]] + least, picked[-1] + 1)
        if following >= len(sums) - 1:
            return [*picked, len(sums) - 1]
        picked.append(following)


_HALVINGS = 24
