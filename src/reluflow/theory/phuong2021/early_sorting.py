"""How neurons are sorted: Lemma 1 (each reaches an extremal sector or dies) and Lemma 3 (it stays) [phuong2021]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import IntArray
from reluflow.geometry.alignment import OPEN, SADDLE, Alignment, align
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.theory.condition import Judgement, undecided
from reluflow.theory.evidence import Evidence, FlowPlan, kept
from reluflow.theory.measurement import Measurement, at_most, need, none_of, nothing
from reluflow.theory.min2024.conditions import orthogonal_separability
from reluflow.theory.phuong2021.sectors import (
    DEAD,
    LEFT,
    Sign,
    aggregate,
    extremal_sector,
    groups,
    sector_of,
    strict_extrema,
    two_groups,
)
from reluflow.theory.stating import hypothesis
from reluflow.theory.theorem import Constants

# Lemma 1 --------------------------------------------------------------------------------------------------------------


@kept
def _frozen(evidence: Evidence) -> Alignment:
    """The vanishing-scale limit of the draw, in closed form."""
    forces = evidence.loss.label_forces(evidence.dataset.y)
    network = evidence.network
    return align(evidence.dataset.X, forces, network.w, network.a)


def _growth(evidence: Evidence) -> float:
    """The longer of D_+ and D_-: the rate at which aligned neurons grow, the unit of time of the alignment phase."""
    return max(float(np.linalg.norm(aggregate(evidence, sign))) for sign in (1, -1))


def sorting_time(evidence: Evidence) -> float:
    """T: a tenth of a growth time after the last boundary event of the vanishing-scale limit."""
    return float(np.max(_frozen(evidence).times)) + 0.1 / _growth(evidence)


@hypothesis("generic-draw", "no neuron ends at a saddle or where the flow is not unique")
def _generic_draw(evidence: Evidence) -> Judgement:
    if not _is_orthogonally_separable(evidence) and not evidence.facts.has_affordable_cones:
        return undecided("the extremal sectors are too many to enumerate")
    stray = int(np.sum(np.isin(_frozen(evidence).ends, (OPEN, SADDLE))))
    return Judgement(stray == 0, float(-stray), f"{stray} neurons of the draw end at a saddle or have no unique flow")


def _outputs_at(evidence: Evidence, time: float) -> float | None:
    if evidence.trajectory is None:
        return None
    at = [s for s in evidence.run.snapshots if s.time == time]
    return float(np.max(np.abs(at[0].outputs))) if at else None


@hypothesis(
    "small-scale",
    "the outputs are still below `smallness` when the vanishing-scale limit has sorted every neuron",
    is_regime=True,
    needs_trajectory=True,
)
def _forces_still_frozen(evidence: Evidence) -> Judgement:
    largest = need(_outputs_at(evidence, sorting_time(evidence)), "no snapshot at the sorting time")
    bound = evidence.parameter("smallness")
    return Judgement(
        largest <= bound, bound - largest, f"largest output {largest:.2g} at T = {sorting_time(evidence):.4g}"
    )


def _needed_log_scale(evidence: Evidence) -> float:
    """A log scale that leaves outputs below a tenth of `smallness` at T, whatever the patterns on the way."""
    network = evidence.network
    # |w_j| grows at most like exp(t sum_k |r_k| |x_k|), and |h_k| <= sum_j |a_j| |w_j| |x_k|
    total = float(np.sum(network.weight * np.abs(network.a) * row_norms(network.w)))
    largest = float(np.max(evidence.facts.norms))
    steepest = float(np.sum(np.abs(evidence.loss.label_forces(evidence.dataset.y)) * evidence.facts.norms))
    start = 0.5 * float(np.log(0.1 * evidence.parameter("smallness") / (total * largest)))
    return start - steepest * sorting_time(evidence)


def _shrink(evidence: Evidence) -> float:
    """log of the factor that brings the draw to that scale; a smaller draw is left as it is."""
    return min(_needed_log_scale(evidence) - evidence.network.log_scale, 0.0)


def _is_orthogonally_separable(evidence: Evidence) -> bool:
    return orthogonal_separability(evidence.facts).holds is True


def _sorted_codes(evidence: Evidence, network: Network) -> IntArray:
    """Groups by the explicit sectors of Lemma 2 where they apply, else by enumeration of all extremal vectors."""
    if _is_orthogonally_separable(evidence):
        return two_groups(network, evidence.dataset)
    X, extremal = evidence.dataset.X, evidence.facts.extremal
    return groups(network, X, sector_of(strict_extrema(extremal, 1), X), sector_of(strict_extrema(extremal, -1), X))


def _sorted(evidence: Evidence) -> Measurement:
    """Neurons that are at T neither dead nor in an extremal sector of their sign."""
    snapshot = need(
        next((s for s in evidence.run.snapshots if s.time == sorting_time(evidence)), None),
        "no snapshot at the sorting time",
    )
    code = _sorted_codes(evidence, snapshot.network)
    left = int(np.sum(code == LEFT))
    counts = ", ".join(
        f"{int(np.sum(code == value))} {name}" for value, name in ((1, "J+"), (-1, "J-"), (DEAD, "dead"))
    )
    return none_of(left, total=len(code), detail=f"{left} unsorted; {counts} at T = {snapshot.time:.4g}")


def _dead_stay(evidence: Evidence) -> Measurement:
    """Largest relative change after T of a neuron that is dead at T."""
    after = [s.network for s in evidence.run.snapshots if s.time >= sorting_time(evidence)]
    need(after, "no snapshot at the sorting time")
    dead = np.all(sector_of(after[0].w, evidence.dataset.X) <= 0, axis=1)
    if not np.any(dead):
        return nothing("no neuron is dead")
    first = np.hstack([after[0].w, after[0].a[:, None]])[dead]
    worst = -np.inf
    for network in after[1:]:
        later = np.exp(network.log_scale - after[0].log_scale) * np.hstack([network.w, network.a[:, None]])[dead]
        worst = max(worst, float(np.max(np.linalg.norm(later - first, axis=1) / np.linalg.norm(first, axis=1))))
    return at_most(worst, DEAD_STAYS, detail=f"{int(np.sum(dead))} dead neurons move by at most {worst:.2g}")


DEAD_STAYS = 1e-12  # relative; seen: 1e-16


def _lemma_1_plan(evidence: Evidence) -> FlowPlan:
    time = sorting_time(evidence)
    return FlowPlan(times=(0.0, time, 1.5 * time, 2.0 * time))


def _lemma_1_constants(evidence: Evidence) -> Constants:
    frozen = _frozen(evidence)
    return {
        "sorting_time": sorting_time(evidence),
        "log_scale_needed": _needed_log_scale(evidence),
        **{f"num_{name}": count for name, count in frozen.counts.items() if count},
    }


# Lemma 3 --------------------------------------------------------------------------------------------------------------


def entry_indices(evidence: Evidence) -> IntArray:
    """For each neuron the first snapshot at which it is in its extremal sector; -1 if never."""
    entered = np.full(evidence.network.num_neurons, -1)
    for index, snapshot in enumerate(evidence.run.snapshots):
        is_there = np.abs(two_groups(snapshot.network, evidence.dataset)) == 1
        entered[(entered < 0) & is_there] = index
    return entered


def _absorbed(evidence: Evidence) -> Measurement:
    """Pattern changes after entry, over the snapshots and in the event log."""
    entered = entry_indices(evidence)
    need(np.any(entered >= 0), "no neuron has entered an extremal sector")
    snapshots, events = evidence.run.snapshots, evidence.run.events
    left = 0
    for index, snapshot in enumerate(snapshots):
        code = two_groups(snapshot.network, evidence.dataset)
        left += int(np.sum((entered >= 0) & (index > entered) & (np.abs(code) != 1)))
    entry_times = np.array([snapshots[k].time if k >= 0 else np.inf for k in entered])
    # on exactly orthogonal classes the sector has zeros, and a neuron may come to rest on them within it
    strict = {sign: extremal_sector(evidence.dataset, sign) != 0 for sign in (1, -1)}
    for neuron, sample, time in zip(events.neurons, events.samples, events.times, strict=True):
        sign: Sign = 1 if evidence.network.a[neuron] > 0 else -1
        left += int(sample >= 0 and time > entry_times[neuron] and strict[sign][sample])
    inside = int(np.sum(entered >= 0))
    return none_of(left, detail=f"{left} changes of pattern among {inside} neurons inside an extremal sector")


def sorting_times(evidence: Evidence) -> tuple[float, ...]:
    """Times through alignment and fitting: even up to the growth time, then geometric to `until` growth times."""
    growth = _growth(evidence)
    rise = max(-evidence.network.log_scale, 1.0) / growth
    late = evidence.parameter("until") * rise
    return tuple(np.concatenate([np.linspace(0.0, rise, 9), np.geomspace(1.2 * rise, max(late, 2.0 * rise), 8)]))


def _lemma3_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=sorting_times(evidence))
