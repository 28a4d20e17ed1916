"""Frames: the states of a run that travel to the page, chosen evenly in how much the network changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray, SignArray
from reluflow.dynamics.solver import AbstractRun
from reluflow.network import Network

SingleArray = NDArray[np.float32]

MOST_FRAMES = 240
FEWEST_FRAMES = 30
MOST_NUMBERS = 6_000_000  # of all frames together: 24 MB
LARGE_CHANGE = 0.12  # of one step: neurons turn by several degrees, so states in between are worked out
BETWEEN = 0.04  # change between those
MOST_STRETCHES = 8
MOST_BETWEEN = 160  # states worked out in one stretch


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
        ln |w_j| and ln |a_j|, the scale included, shape (m,).
    signs
        Signs of a_j, shape (m,).
    change
        How much changed since the frame before.
    """

    time: float
    log_time: float
    loss: float
    units: SingleArray
    log_w: SingleArray
    log_a: SingleArray
    signs: SignArray
    change: float


@dataclass(frozen=True, eq=False)
class Stretch:
    """Consecutive steps in each of which much changed, as in the closed-form start of a run at a tiny scale.

    Parameters
    ----------
    network, time
        Where the stretch begins.
    ends, changes
        The time at the end of each step, and how much changed in it.
    """

    network: Network
    time: float
    ends: list[float]
    changes: list[float]

    def times(self) -> FloatArray:
        """Moments inside the stretch, since its beginning, the more of them in a step the more changes in it."""
        starts = [self.time, *self.ends[:-1]]
        counts = np.ceil(np.array(self.changes) / BETWEEN)
        counts = np.maximum(2, np.minimum(counts, counts * MOST_BETWEEN / counts.sum())).astype(int)
        parts = [  # cubes, because a direction relaxes early in a step that was taken under constant forces
            start + (end - start) * np.linspace(0.0, 1.0, count, endpoint=False) ** 3
            for start, end, count in zip(starts, self.ends, counts, strict=True)
        ]
        moments = np.concatenate(parts) - self.time
        return np.unique(moments[moments > 0])


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
        self._frames = [self._frame(network, 0.0, -np.inf, loss, 0.0)]
        self._network, self._time = network, 0.0
        self.stretches: list[Stretch] = []

    def __call__(self, run: AbstractRun) -> None:
        """Keep the state of a run; its start is there from the beginning."""
        if run.steps == 0 and run.time == 0.0:
            return
        network = run.network()
        self._append(self._frame(network, run.time, run.log_time, run.loss(), 0.0))
        change = self._frames[-1].change
        if change > LARGE_CHANGE and np.isfinite(run.time):
            if self.stretches and self.stretches[-1].ends[-1] == self._time:
                self.stretches[-1].ends.append(run.time)
                self.stretches[-1].changes.append(change)
            elif len(self.stretches) < MOST_STRETCHES:
                self.stretches.append(Stretch(self._network, self._time, [run.time], [change]))
        self._network, self._time = network, run.time

    def insert(self, states: list[tuple[float, float, Network]]) -> None:
        """Add states worked out afterwards: time, loss and network of each."""
        added = [self._frame(network, time, float(np.log(time)), loss, 0.0) for time, loss, network in states]
        ordered = sorted([*self._frames, *added], key=lambda frame: (frame.log_time, frame.time))
        self._frames = ordered[:1]
        for frame in ordered[1:]:
            change = _change(self._frames[-1], frame, self._first_loss)
            self._frames.append(Frame(**{**frame.__dict__, "change": change}))

    def finish(self, network: Network, time: float, log_time: float, loss: float) -> None:
        """Make the end of the run the last state."""
        last = self._frame(network, time, log_time, loss, 0.0)
        if self._frames[-1].time == time and len(self._frames) > 1:
            self._frames.pop()
        self._append(last)

    def shown(self) -> list[Frame]:
        """The kept states, at most as many as travel, evenly in what changed."""
        return _even(self._frames, self._most)

    def _append(self, frame: Frame) -> None:
        change = _change(self._frames[-1], frame, self._first_loss)
        self._frames.append(Frame(**{**frame.__dict__, "change": change}))
        if len(self._frames) > 3 * self._most:
            self._frames = _even(self._frames, 2 * self._most)

    def _frame(self, network: Network, time: float, log_time: float, loss: float, change: float) -> Frame:
        w, a = network.w, network.a
        norms = np.linalg.norm(w, axis=1)
        with np.errstate(divide="ignore"):
            log_w = np.log(norms) + network.log_scale
            log_a = np.log(np.abs(a)) + network.log_scale
        units = w / np.where(norms > 0, norms, 1.0)[:, None]
        return Frame(
            time,
            log_time,
            loss,
            units.astype(np.float32),
            log_w.astype(np.float32),
            log_a.astype(np.float32),
            np.sign(a).astype(np.int8),
            change,
        )


def most_frames(num_neurons: int, d: int) -> int:
    """How many frames travel: 240, fewer where the network is large."""
    return int(np.clip(MOST_NUMBERS // (num_neurons * (d + 2)), FEWEST_FRAMES, MOST_FRAMES))


def _change(before: Frame, after: Frame, first_loss: float) -> float:
    """Turning of the neurons, growth of their sizes, fall of the loss and a little of the time, in one number."""
    cosines = np.clip(np.sum(before.units * after.units, axis=1), -1.0, 1.0)
    angles = np.arccos(cosines)
    grown = np.abs(np.nanmax(after.log_w) - np.nanmax(before.log_w)) if len(angles) else 0.0
    fallen = abs(before.loss - after.loss) / first_loss
    later = 0.0
    if np.isfinite(before.log_time) and np.isfinite(after.log_time):
        later = min(after.log_time - before.log_time, 5.0)
    total = float(np.mean(angles)) + 0.1 * float(np.max(angles)) + 0.02 * min(float(grown), 50.0) + 2 * fallen
    return total + 0.01 * later + 1e-9


def _even(frames: list[Frame], most: int) -> list[Frame]:
    """At most `most` of the frames, evenly in the change; a frame that is dropped leaves its change to the next."""
    if len(frames) <= most:
        return frames
    sums = np.cumsum([frame.change for frame in frames])
    wanted = np.linspace(sums[0], sums[-1], most)
    picked = np.unique(np.concatenate([[0], np.searchsorted(sums, wanted), [len(frames) - 1]]))
    picked = picked[picked < len(frames)]
    kept = []
    previous = sums[0]
    for index in picked:
        kept.append(Frame(**{**frames[index].__dict__, "change": float(sums[index] - previous)}))
        previous = sums[index]
    return kept
