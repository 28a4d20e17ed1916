"""The history of activations and its one way: (7), (8), Definition 1, Lemma 12, App. E.2, orthogonal data [min2024].

The history is read off the event log and held against the snapshots.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.dynamics.event import EventKind
from reluflow.dynamics.trajectory import Outcome
from reluflow.geometry.boundary.walls import Walls
from reluflow.network.network import row_norms
from reluflow.theory.comparison import Comparison, Values, at_least, fails, judgement, missing, none_of, requires
from reluflow.theory.condition import NOT_BINARY
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.min2024.constants import data_constants
from reluflow.theory.min2024.landmarks import landmarks
from reluflow.theory.min2024.moving_neurons import DEAD, ON_BOUNDARY, Moment, cones_of, directions_of, moments

ROUNDING = 1e-10  # relative; increments of <w_j, x_i> were at least -3e-16 of |w_j||x_i| where they vanish


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


def _plan(evidence: Evidence) -> FlowPlan:
    """Through alignment and past the fit."""
    marks = landmarks(evidence)
    late = marks.last_fitted
    times = {*np.linspace(0.0, 1.1 * marks.alignment + 0.01, 9), *np.linspace(0.0, late, 5), late + 2.0, late + 20.0}
    return FlowPlan(times=tuple(sorted(float(t) for t in times)))


def _steps(evidence: Evidence) -> Iterator[tuple[Moment, Moment]]:
    """Every snapshot with the next."""
    return pairwise(moments(evidence))


@requires(moments, "at least two snapshots", at_least=2)
def _monotone(evidence: Evidence, found: tuple[Moment, ...]) -> Values:
    """Change of s_j y_i <x_i, w_j> between two moments over the larger of the norms |w_j||x_i|."""
    for before, after in pairwise(found):
        scale = np.maximum(before.log_norms, after.log_norms)
        known = np.isfinite(scale)
        with np.errstate(invalid="ignore"):
            shares = [np.exp(np.where(known, moment.log_norms - scale, -np.inf)) for moment in (before, after)]
        change = shares[1][:, None] * after.cosines - shares[0][:, None] * before.cosines
        yield before.signs[:, None] * before.data.y * change


def _allowed(evidence: Evidence) -> Comparison:
    """Positive neurons gain positives and lose negatives, and each hyperplane is crossed at most once."""
    wrong, pairs = forbidden_flips(evidence), [(f.neuron, f.sample) for f in pattern_history(evidence).flips]
    repeated = len(pairs) - len(set(pairs))
    return none_of(wrong + repeated, detail=f"{wrong} forbidden and {repeated} repeated changes among {len(pairs)}")


def _one_way(evidence: Evidence) -> Comparison:
    return none_of(forbidden_flips(evidence), total=len(pattern_history(evidence).flips))


def _log_agrees(evidence: Evidence) -> Comparison:
    return none_of(disagreements(evidence), detail=f"{disagreements(evidence)} patterns differ from the event log")


def _dead_stay_dead(evidence: Evidence) -> Comparison:
    found = moments(evidence)
    escaped = sum(int(np.sum((a.cones == DEAD) & (b.cones != DEAD))) for a, b in pairwise(found))
    ever = int(np.sum(found[-1].cones == DEAD)) if found else 0
    return none_of(escaped, detail=f"{escaped} neurons left S_dead; {ever} are in it at the end")


def _dead_are_frozen(evidence: Evidence) -> Comparison:
    """A neuron of S_dead keeps its norm and direction: its pull vanishes."""
    largest = max(
        (float(np.max(np.abs(moment.pulls[moment.cones == DEAD]), initial=0.0)) for moment in moments(evidence)),
        default=math.nan,
    )
    return at_least(-largest, 0.0, detail=f"largest pull on a dead neuron is {largest:.3g}")


def _traps_hold(evidence: Evidence) -> Comparison:
    """A positive neuron in S_+ stays, a negative one in S_- stays."""
    held = sum(int(np.sum(a.cones == a.signs)) for a, _ in _steps(evidence))
    lost = sum(int(np.sum((a.cones == a.signs) & (a.cones != b.cones))) for a, b in _steps(evidence))
    return none_of(lost, total=held) if held else missing("no neuron in its own cone at any snapshot")


def _few_crossings(evidence: Evidence) -> Comparison:
    most, count = evidence.network.num_neurons * evidence.dataset.n, len(pattern_history(evidence).flips)
    return at_least(most - count, 0.0, detail=f"{count} crossings, at most m n = {most}")


def _no_branch(evidence: Evidence) -> Comparison:
    """Remark 7: from a start off the hyperplanes the solution never branches."""
    run = evidence.run
    ridges = run.events.count(EventKind.RIDGE) + int(run.outcome is Outcome.RIDGE)
    return none_of(ridges, detail=f"{ridges} branching points met; the run ended with {run.outcome}")


def _starts_off_boundaries(evidence: Evidence) -> Comparison:
    z = np.abs(evidence.network.pre_activations(evidence.dataset.X))
    norms = row_norms(evidence.network.w)[:, None] * np.linalg.norm(evidence.dataset.X, axis=1)
    smallest = float(np.min(z[norms > 0.0] / norms[norms > 0.0], initial=np.inf))
    return judgement(smallest > ROUNDING, smallest, f"smallest |cos(w_j, x_i)| at the start is {smallest:.3g}")


def _orthogonal_classes(evidence: Evidence) -> Comparison:
    if not evidence.dataset.is_binary:
        return fails(NOT_BINARY)
    unit = data_constants(evidence).unit_signed
    cosines = unit @ unit.T
    largest = float(np.max(np.abs(cosines - np.diag(np.diag(cosines))), initial=0.0))
    return judgement(largest <= 1e-12, -largest, f"largest |cosine| of two samples is {largest:.3g}")


def _never_gained(evidence: Evidence) -> Comparison:
    gained = [np.sum(~a.active & b.active & (np.abs(b.cosines) > 1e-9)) for a, b in _steps(evidence)]
    detail = f"{int(np.sum(gained))} activations gained over {len(moments(evidence))} snapshots"
    return none_of(int(np.sum(gained)), detail=detail)


def _membership_is_decided(evidence: Evidence) -> Comparison:
    """The positive neurons of S_+ at the end are those active on all positives at the start, mirrored for S_-.

    Losing samples of the other class is allowed, gaining own ones is not.
    """
    first, last, wrong = moments(evidence)[0], moments(evidence)[-1], 0
    for sign in (1, -1):
        could = np.all(first.active[:, first.data.members(sign)], axis=1)
        wrong += int(np.sum((last.cones == sign) & (first.signs == sign) & ~could))
    return none_of(wrong, detail=f"{wrong} neurons reached their cone without all own samples at the start")
