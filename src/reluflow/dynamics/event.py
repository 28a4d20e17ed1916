"""Events: the moments at which a neuron's smooth motion changes, with the neuron, the sample, the time and the kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.geometry.boundary.events import KINDS as KINDS
from reluflow.geometry.boundary.events import EventKind as EventKind


@dataclass(frozen=True)
class Event:
    """One neuron at one boundary.

    Parameters
    ----------
    neuron
        Its index in the network.
    sample
        A sample whose hyperplane it met, or -1 for a change of sign of its output weight.
    time
        When; infinite beyond the range of a double, where `Trajectory.log_time` still tells the order of magnitude.
    kind
        Refraction passes, slide-entry stays on the hyperplane, slide-exit leaves it, death ends on a side where nothing
        pulls, ridge is where the flow is not unique.
    """

    neuron: int
    sample: int
    time: float
    kind: EventKind


@dataclass(frozen=True, eq=False)
class EventLog(Sequence[Event]):
    """All events of a run in order of time, as arrays of one entry each; iterating gives `Event` objects."""

    neurons: IntArray
    samples: IntArray
    times: FloatArray
    codes: SignArray

    def __len__(self) -> int:
        return int(self.times.size)

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> EventLog: ...

    def __getitem__(self, index: int | slice) -> Event | EventLog:
        if isinstance(index, slice):
            return EventLog(self.neurons[index], self.samples[index], self.times[index], self.codes[index])
        return Event(
            int(self.neurons[index]), int(self.samples[index]), float(self.times[index]), KINDS[int(self.codes[index])]
        )

    def __iter__(self) -> Iterator[Event]:
        for index in range(len(self)):
            yield self[index]

    def of_kind(self, kind: EventKind | str) -> EventLog:
        """The events of one kind."""
        keep = self.codes == KINDS.index(EventKind(kind))
        return EventLog(self.neurons[keep], self.samples[keep], self.times[keep], self.codes[keep])

    def count(self, kind: EventKind | str) -> int:
        """How many events of one kind.

        >>> EventRecorder().log().count("refraction")
        0
        """
        return int(np.count_nonzero(self.codes == KINDS.index(EventKind(kind))))


class EventRecorder:
    """Collects events while a run goes on, in blocks."""

    def __init__(self) -> None:
        self._blocks: list[tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]] = []

    def add(self, neuron: int, sample: int, time: float, kind: EventKind) -> None:
        """Append one event."""
        self._blocks.append(([neuron], [sample], [time], [KINDS.index(kind)]))

    def extend(
        self,
        neurons: IntArray,
        samples: IntArray,
        times: FloatArray,
        codes: IntArray | SignArray,
    ) -> None:
        """Append a block of events; `codes` index `KINDS`."""
        self._blocks.append((neurons, samples, times, codes))

    @property
    def num_blocks(self) -> int:
        """How many blocks there are so far."""
        return len(self._blocks)

    def log(self, num_blocks: int | None = None) -> EventLog:
        """Everything so far, or the first blocks alone, by time (events at one time keep their order)."""
        blocks = self._blocks[:num_blocks]
        if not blocks:
            return EventLog(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float64), np.zeros(0, np.int8))
        neurons, samples, times, codes = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        order = np.argsort(times, kind="stable")
        return EventLog(neurons[order], samples[order], times[order], codes[order].astype(np.int8))
