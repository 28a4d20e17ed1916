"""How neurons move and are sorted: Lemmas 1 and 3, B.1 (one-way activations), A.3 (velocity), A.4 (balance, growth)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.dynamics.event import EventKind
from reluflow.geometry.alignment import OPEN, SADDLE, Alignment, align
from reluflow.geometry.general_position import smallest_subset_singular_value
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.theory.comparison import (
    Comparison,
    Values,
    at_least,
    at_most,
    judgement,
    none_of,
    nothing,
    require,
    undecided,
)
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.facts import MAX_SUBSETS
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import Constants
from reluflow.theory.phuong2021.extremal_directions import (
    DEAD,
    LEFT,
    Sign,
    aggregate,
    extremal_sector,
    groups,
    pulling_gradient,
    sector_of,
    strict_extrema,
    two_groups,
)
from reluflow.theory.separability import orthogonal_separability

# Lemma 1 --------------------------------------------------------------------------------------------------------------


@computed_once
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


def _generic_draw(evidence: Evidence) -> Comparison:
    if not _is_orthogonally_separable(evidence) and not evidence.facts.has_affordable_cones:
        return undecided("the extremal sectors are too many to enumerate")
    stray = int(np.sum(np.isin(_frozen(evidence).ends, (OPEN, SADDLE))))
    return judgement(stray == 0, float(-stray), f"{stray} neurons of the draw end at a saddle or have no unique flow")


def _outputs_at(evidence: Evidence, time: float) -> float | None:
    if evidence.trajectory is None:
        return None
    at = [s for s in evidence.run.snapshots if s.time == time]
    return float(np.max(np.abs(at[0].outputs))) if at else None


def _forces_still_frozen(evidence: Evidence) -> Comparison:
    largest = require(_outputs_at(evidence, sorting_time(evidence)), "no snapshot at the sorting time")
    bound = evidence.parameter("smallness")
    return judgement(
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


def _is_orthogonally_separable(evidence: Evidence) -> bool:
    return orthogonal_separability(evidence.facts).holds is True


def _sorted_codes(evidence: Evidence, network: Network) -> IntArray:
    """Groups by the explicit sectors of Lemma 2 where they apply, else by enumeration of all extremal vectors."""
    if _is_orthogonally_separable(evidence):
        return two_groups(network, evidence.dataset)
    X, extremal = evidence.dataset.X, evidence.facts.extremal
    return groups(network, X, sector_of(strict_extrema(extremal, 1), X), sector_of(strict_extrema(extremal, -1), X))


def _sorted(evidence: Evidence) -> Comparison:
    """Neurons that are at T neither dead nor in an extremal sector of their sign."""
    snapshot = require(
        next((s for s in evidence.run.snapshots if s.time == sorting_time(evidence)), None),
        "no snapshot at the sorting time",
    )
    code = _sorted_codes(evidence, snapshot.network)
    left = int(np.sum(code == LEFT))
    counts = ", ".join(
        f"{int(np.sum(code == value))} {name}" for value, name in ((1, "J+"), (-1, "J-"), (DEAD, "dead"))
    )
    return none_of(left, total=len(code), detail=f"{left} unsorted; {counts} at T = {snapshot.time:.4g}")


def _dead_stay(evidence: Evidence) -> Comparison:
    """Largest relative change after T of a neuron that is dead at T."""
    after = [s.network for s in evidence.run.snapshots if s.time >= sorting_time(evidence)]
    require(after, "no snapshot at the sorting time")
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


def _absorbed(evidence: Evidence) -> Comparison:
    """Pattern changes after entry, over the snapshots and in the event log."""
    entered = entry_indices(evidence)
    require(np.any(entered >= 0), "no neuron has entered an extremal sector")
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


ROUNDING = 1e-9  # relative change of <w, x> that the solver's tolerance of 1e-9 may produce; seen: 4e-16


# Lemma B.1 ------------------------------------------------------------------------------------------------------------


def one_way(evidence: Evidence) -> Comparison:
    """Least y_k sign(a_j) (change of <w_j, x_k>) between snapshots, relative to |w_j| |x_k|."""
    X, y = evidence.dataset.X, evidence.dataset.y
    lengths = np.linalg.norm(X, axis=1)
    worst = np.inf
    snapshots = evidence.run.snapshots
    for before, after in pairwise(snapshots):
        shrink = np.exp(min(before.network.log_scale - after.network.log_scale, 0.0))
        grow = np.exp(min(after.network.log_scale - before.network.log_scale, 0.0))
        old, new = shrink * before.network.w, grow * after.network.w  # on one scale
        size = np.maximum(np.linalg.norm(old, axis=1), np.linalg.norm(new, axis=1))
        change = (new - old) @ X.T * y * np.sign(before.network.a)[:, None]
        worst = min(worst, float(np.min(change / (np.maximum(size, np.finfo(float).tiny)[:, None] * lengths))))
    require(np.isfinite(worst), "fewer than two snapshots")
    return at_least(worst, 0.0, allowance=ROUNDING, detail=f"least relative change {worst:.2g}, {ROUNDING:g} forgiven")


def _stays_active(evidence: Evidence) -> Comparison:
    """Neurons with y_k = sign(a_j) that are active on sample k at one snapshot and not at a later one."""
    y = evidence.dataset.y
    lost, was_active = 0, None
    for snapshot in evidence.run.snapshots:
        is_own = np.sign(snapshot.network.a)[:, None] == y
        is_active = snapshot.network.pre_activations(evidence.dataset.X) > 0
        if was_active is not None:
            lost += int(np.sum(was_active & ~is_active & is_own))
        was_active = is_active if was_active is None else was_active | is_active
    return none_of(lost, detail=f"{lost} of their own class's samples are lost")


def one_flip(evidence: Evidence) -> Comparison:
    """Largest number of boundary events of one neuron at one sample."""
    events = evidence.run.events
    at_samples = events.samples >= 0
    pairs = np.column_stack([events.neurons, events.samples])[at_samples]
    if len(pairs) == 0:
        return at_most(0.0, 1.0, detail="no neuron met a boundary")
    counts = np.unique(pairs, axis=0, return_counts=True)[1]
    slides = events.count(EventKind.SLIDE_ENTRY)
    return at_most(float(counts.max()), 1.0, detail=f"{len(pairs)} events, {slides} slides, at most one per pair")


# Lemma A.3 ------------------------------------------------------------------------------------------------------------

DIFFERENCE = 1e-4  # time between the snapshots of one difference, in units of the growth time
LONGEST = 5.0  # that unit in 1/(nBV) at most: from smaller scales growth takes longer, and its square is the error


def _difference_times(evidence: Evidence) -> tuple[tuple[float, float, float], ...]:
    grid = sorting_times(evidence)
    width = DIFFERENCE * min(grid[1], LONGEST / largest_rate(evidence))
    return tuple((t, t + width, t + 2.0 * width) for t in grid[1:])


def _general_position(evidence: Evidence) -> Comparison:
    found = require(
        smallest_subset_singular_value(evidence.dataset.X, max_subsets=MAX_SUBSETS),
        "the subsets of d samples are too many to check",
    )
    return judgement(found[0] > 1e-9, found[0] - 1e-9, f"least singular value {found[0]:.3g}, samples {found[1]}")


def _triples(evidence: Evidence) -> list[tuple[float, Network, Network, Network, FloatArray, BoolArray]]:
    """Half-width, the three networks, the outputs in the middle, and the neurons without an event in between."""
    by_time = {s.time: s for s in evidence.run.snapshots}
    events = evidence.run.events
    found = []
    for times in _difference_times(evidence):
        if not all(t in by_time for t in times):
            continue
        before, middle, after = (by_time[t] for t in times)
        busy = events.neurons[(events.times >= times[0]) & (events.times <= times[2])]
        quiet = ~np.isin(np.arange(evidence.network.num_neurons), busy)
        half = 0.5 * (times[2] - times[0])
        found.append((half, before.network, middle.network, after.network, middle.outputs, quiet))
    return found


def _velocity(evidence: Evidence, part: str) -> Comparison:
    """Largest difference of the central difference and the formula, relative to the neuron's size and total force."""
    X = evidence.dataset.X
    worst, count = 0.0, 0
    for half, before, middle, after, outputs, quiet in _triples(evidence):
        forces = evidence.loss.forces(outputs, evidence.dataset.y)
        rate = float(np.sum(np.abs(forces) * np.linalg.norm(X, axis=1)))
        back, on = np.exp(before.log_scale - middle.log_scale), np.exp(after.log_scale - middle.log_scale)
        for j in np.flatnonzero(quiet):
            size = float(np.hypot(middle.a[j], np.linalg.norm(middle.w[j])))
            if part == "a":
                measured = (on * after.a[j] - back * before.a[j]) / (2.0 * half)
                error = abs(measured - forces @ np.maximum(X @ middle.w[j], 0.0))
            else:
                velocity = (on * after.w[j] - back * before.w[j]) / (2.0 * half)
                error = float(np.linalg.norm(velocity - middle.a[j] * pulling_gradient(middle.w[j], X, forces)))
            worst, count = max(worst, error / (size * rate)), count + 1
    require(count != 0, "no snapshots close enough for a difference")
    return at_most(worst, VELOCITY, detail=f"largest relative difference {worst:.2g} over {count} neurons and times")


VELOCITY = 1e-6  # central differences: truncation and rounding together stay below 3e-8 on the registered sets


# Lemma A.4 ------------------------------------------------------------------------------------------------------------


def largest_rate(evidence: Evidence) -> float:
    """n B V: the number of samples times the bounds of |c l'| and of |x_i|; l' of the logistic loss is below 1."""
    largest_force = evidence.loss.sample_weight(evidence.dataset.n)
    return float(evidence.dataset.n * largest_force * np.max(evidence.facts.norms))


def _stays_balanced(evidence: Evidence) -> Values:
    """|a_j - sign(a_j(0)) |w_j|| relative to the larger of the two."""
    for snapshot in evidence.run.snapshots:
        a, norms = snapshot.network.a, row_norms(snapshot.network.w)
        yield np.abs(a - np.sign(evidence.network.a) * norms) / np.maximum(np.abs(a), norms)


def growth_ratio(evidence: Evidence) -> float:
    """Largest |log|a_j| changed| per n B V t, over all pairs of successive snapshots and neurons."""
    ratios = []
    for before, after in pairwise(evidence.run.snapshots):
        logs = np.log(np.abs(after.network.a)) - np.log(np.abs(before.network.a))
        change = np.abs(logs + after.network.log_scale - before.network.log_scale)
        ratios.append(float(np.max(change)) / (largest_rate(evidence) * (after.time - before.time)))
    return max(ratios, default=-np.inf)


def growth_of_squares(evidence: Evidence) -> float:
    """The same for a_j^2."""
    return 2.0 * growth_ratio(evidence)


def rate_of_squares(evidence: Evidence) -> float:
    """2 n B V."""
    return 2.0 * largest_rate(evidence)


def _lemmaa_3_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=tuple(t for times in _difference_times(evidence) for t in times))
