"""Which walls each neuron met in which order, of a flow and of a descent, and where the two first differ.

The flow crosses a wall in an instant or slides along it; descent jumps over it or chatters across it. So events that
lie within a step of each other may swap, and a slide shorter than `SHORT` steps is none.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from reluflow.dynamics.event import EventKind, EventLog
from reluflow.geometry.boundary.walls import Walls
from reluflow.learning_rates.watched_descent import GateEvents
from reluflow.learning_rates.watched_descent_kernels import CROSSING, SLIDE_ENTRY, SLIDE_EXIT
from reluflow.network import Network

SHORT = 8.0  # steps that a slide must last to be seen by descent
_LATE = 0.05  # of the time: an event so close to the end of the comparison may come after it in the other run
_LATEST = 0.25  # of the time that is left out so at most, however large the step
_KINDS = {
    EventKind.REFRACTION: CROSSING,
    EventKind.DEATH: CROSSING,
    EventKind.SLIDE_ENTRY: SLIDE_ENTRY,
    EventKind.SLIDE_EXIT: SLIDE_EXIT,
}


@dataclass(frozen=True)
class Departure:
    """Where descent first meets other walls than the flow.

    Parameters
    ----------
    time
        Of the first event that the other run does not have, or has in another order.
    neuron, sample
        Whose event it is; the sample names the wall.
    """

    time: float
    neuron: int
    sample: int


class _Meeting(NamedTuple):
    """One event of one neuron."""

    time: float
    wall: int
    kind: int
    side: int


def gates_of_flow(events: EventLog, walls: Walls, end: Network) -> GateEvents:
    """The events of a flow; the side after the last event with a wall is that of the last network."""
    kept = [(event, _KINDS[event.kind]) for event in events if event.kind in _KINDS]
    times = np.array([event.time for event, _ in kept])
    neurons = np.array([event.neuron for event, _ in kept], dtype=np.int64)
    met = np.array([walls.wall_of_sample[event.sample] for event, _ in kept], dtype=np.int64)
    kinds = np.array([kind for _, kind in kept], dtype=np.int8)
    sides = np.zeros(len(kept), dtype=np.int8)
    known: dict[tuple[int, int], int] = {}  # the side after the event that is looked at, as far as it can be told
    heights = end.w @ walls.normals.T
    for at in range(len(kept) - 1, -1, -1):
        pair = int(neurons[at]), int(met[at])
        after = known.get(pair, int(np.sign(heights[pair])))
        sides[at] = 0 if kinds[at] == SLIDE_ENTRY else after
        known[pair] = -after if kinds[at] == CROSSING else 0
    return GateEvents(times, neurons, met, kinds, sides)


def first_departure(
    flow: GateEvents, descent: GateEvents, walls: Walls, *, lr: float, until: float
) -> Departure | None:
    """Where descent first departs from the flow, None where all neurons meet the same walls in the same order.

    Parameters
    ----------
    flow, descent
        Their events.
    walls
        Of the samples.
    lr
        The learning rate: one step of time.
    until
        Events after this time are not compared.
    """
    one, other = _by_neuron(flow, until, lr), _by_neuron(descent, until, lr)
    found = [
        Departure(time, neuron, int(walls.first_sample[wall]))
        for neuron in sorted({*one, *other})
        if (difference := _difference(one.get(neuron, []), other.get(neuron, []), lr, until)) is not None
        for time, wall in [difference]
    ]
    return min(found, key=lambda departure: departure.time, default=None)


def _by_neuron(events: GateEvents, until: float, lr: float) -> dict[int, list[_Meeting]]:
    """The events of each neuron in order, without slides too short to be seen."""
    found: dict[int, list[_Meeting]] = defaultdict(list)
    for time, neuron, wall, kind, side in zip(*events, strict=True):
        if time <= until:
            found[int(neuron)].append(_Meeting(float(time), int(wall), int(kind), int(side)))
    return {neuron: _without_short_slides(meetings, lr) for neuron, meetings in found.items()}


def _without_short_slides(meetings: list[_Meeting], lr: float) -> list[_Meeting]:
    """An entry and the exit from the same wall within `SHORT` steps make a crossing, or nothing."""
    kept: list[_Meeting] = []
    for meeting in meetings:
        entry = next((k for k in range(len(kept) - 1, -1, -1) if kept[k].wall == meeting.wall), None)
        is_short = (
            meeting.kind == SLIDE_EXIT
            and entry is not None
            and kept[entry].kind == SLIDE_ENTRY
            and meeting.time - kept[entry].time <= SHORT * lr
        )
        if not is_short or entry is None:
            kept.append(meeting)
            continue
        before = next((k.side for k in reversed(kept[:entry]) if k.wall == meeting.wall), 0)
        if meeting.side * before > 0:  # it left to the side it came from
            kept.pop(entry)
        else:
            kept[entry] = kept[entry]._replace(kind=CROSSING, side=meeting.side)
    return kept


def _difference(flow: list[_Meeting], descent: list[_Meeting], lr: float, until: float) -> tuple[float, int] | None:
    """Time and wall of the first difference of one neuron's events."""
    late = until - max(_LATE * until, min(SHORT * lr, _LATEST * until))
    found: list[tuple[float, int]] = []
    times: dict[int, list[tuple[float, float]]] = {}  # of each wall: the events that both have
    for wall in {meeting.wall for meeting in (*flow, *descent)}:
        one = [meeting for meeting in flow if meeting.wall == wall]
        other = [meeting for meeting in descent if meeting.wall == wall]
        agreed = 0
        while agreed < min(len(one), len(other)) and one[agreed].kind == other[agreed].kind:
            agreed += 1
        times[wall] = [(one[k].time, other[k].time) for k in range(agreed)]
        rest = [meeting.time for part in (one, other) for meeting in part[agreed : agreed + 1]]
        if rest and min(rest) < late:
            found.append((min(rest), wall))
    pairs = sorted((time, at, wall) for wall, both in times.items() for time, at in both)
    for (first, first_at, _), (second, second_at, wall) in pairwise(pairs):
        if second - first > lr and second_at < first_at - lr:  # in the other order, by more than a step in each
            found.append((second, wall))
    return min(found, default=None)
