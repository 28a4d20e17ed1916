"""The activation patterns of every neuron over a run, read off the event log, held against snapshots [min2024]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.dynamics.event import EventKind
from reluflow.geometry.boundary.walls import Walls
from reluflow.papers.min2024.theorems.constants import data_constants
from reluflow.papers.min2024.theorems.moving_neurons import DEAD, ON_BOUNDARY, cones_of, directions_of, moments
from reluflow.theory.evidence import Evidence, computed_once


@dataclass(frozen=True, eq=False)
class Stay:
    """One neuron with one activation pattern, from `start` to `end` (the end of the run for its last one)."""

    neuron: int
    start: float
    end: float
    active: BoolArray

    @property
    def num_active(self) -> int:
        """n_a."""
        return int(np.sum(self.active))


@dataclass(frozen=True, eq=False)
class Flip:
    """One neuron that starts (gained) or stops (lost) being active on one sample."""

    neuron: int
    sample: int
    time: float
    is_gain: bool


@dataclass(frozen=True, eq=False)
class PatternHistory:
    """Every stay and every flip of a run; stays in order of neuron, then of time."""

    stays: tuple[Stay, ...]
    flips: tuple[Flip, ...]
    end: float

    def of(self, neuron: int) -> tuple[Stay, ...]:
        """The stays of one neuron."""
        return tuple(stay for stay in self.stays if stay.neuron == neuron)

    def settling_times(self) -> FloatArray:
        """When each neuron's pattern changed for the last time, shape (m,)."""
        last: dict[int, float] = {stay.neuron: stay.start for stay in self.stays}
        return np.array([last[neuron] for neuron in sorted(last)])

    def at(self, time: float, num_neurons: int) -> BoolArray:
        """The activity matrix at one time, shape (m, n)."""
        rows = {stay.neuron: stay.active for stay in self.stays if stay.start <= time}
        return np.array([rows[neuron] for neuron in range(num_neurons)])


@computed_once
def pattern_history(evidence: Evidence) -> PatternHistory:
    """Replay the boundary events of the run on the patterns of its start."""
    data, run = data_constants(evidence), evidence.run
    directions, _ = directions_of(evidence.network.w)
    active = directions @ data.X.T > ON_BOUNDARY * np.linalg.norm(data.X, axis=1)  # (m, n)
    walls, since = Walls.of(data.X), np.zeros(len(active))
    stays: list[Stay] = []
    flips: list[Flip] = []
    for event in run.events:
        if event.kind not in (EventKind.REFRACTION, EventKind.DEATH):
            continue
        j = event.neuron
        changed = np.flatnonzero(walls.wall_of_sample == walls.wall_of_sample[event.sample])
        if event.time > since[j]:
            stays.append(Stay(j, float(since[j]), event.time, active[j].copy()))
        active[j, changed] = ~active[j, changed]
        since[j] = event.time
        flips += [Flip(j, int(i), event.time, bool(active[j, i])) for i in changed]
    stays += [Stay(j, float(since[j]), run.time, active[j].copy()) for j in range(len(active))]
    return PatternHistory(tuple(sorted(stays, key=lambda s: (s.neuron, s.start))), tuple(flips), run.time)


def disagreements(evidence: Evidence) -> int:
    """Neurons and snapshots at which the event log and the snapshot's own pattern differ.

    A neuron within 1e-9 of a boundary (as a cosine) is in the middle of a crossing and counts for neither side.
    """
    history, found = pattern_history(evidence), 0
    for moment in moments(evidence):
        differs = history.at(moment.time, len(moment.directions)) != moment.active
        found += int(np.sum(np.any(differs & (np.abs(moment.cosines) > 1e-9), axis=1)))
    return found


def last_cones(evidence: Evidence) -> IntArray:
    """The cone of each neuron after its last event."""
    history = pattern_history(evidence)
    return cones_of(history.at(history.end, evidence.network.num_neurons), data_constants(evidence).y)


def alignment_time(evidence: Evidence) -> float:
    """tau_align: the time after which every neuron is in its trap for good; inf where one never gets there.

    A positive neuron's traps are S_+ and S_dead, a negative one's S_- and S_dead.
    """
    cones = last_cones(evidence)
    is_trapped = (cones == DEAD) | (cones == np.sign(evidence.network.a))
    return float(np.max(pattern_history(evidence).settling_times())) if bool(np.all(is_trapped)) else float("inf")


def forbidden_flips(evidence: Evidence) -> int:
    """How often a neuron gained a sample of the other class or lost one of its own."""
    signs, y = np.sign(evidence.network.a), evidence.dataset.y
    flips = pattern_history(evidence).flips
    return sum(1 for flip in flips if flip.is_gain != (signs[flip.neuron] == y[flip.sample]))
