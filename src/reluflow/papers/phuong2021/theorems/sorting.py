"""How neurons are sorted: Lemma 1, and Lemma 3, by which those in an extremal sector stay there [phuong2021]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import IntArray
from reluflow.geometry.alignment import OPEN, SADDLE, Alignment, align
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.papers.phuong2021.assumptions import SUPPORT_SPANS
from reluflow.papers.phuong2021.paper import EXAMPLE, SETTING
from reluflow.papers.phuong2021.theorems.sectors import (
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
from reluflow.theory.comparison import (
    Comparison,
    Level,
    judgement,
    none_of,
    nothing,
    require,
    undecided,
    worst_compared,
)
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED, FADING_LOSS, LOGISTIC_LOSS, RELU, assumed
from reluflow.theory.measures import Constants, ScaledDownTo
from reluflow.theory.separability import ORTHOGONALLY_SEPARABLE, orthogonal_separability
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem


def growth_rate(evidence: Evidence) -> float:
    """The longer of D_+ and D_-: the rate at which aligned neurons grow, the unit of time of the alignment phase."""
    return max(float(np.linalg.norm(aggregate(evidence, sign))) for sign in (1, -1))


def sorting_times(evidence: Evidence) -> tuple[float, ...]:
    """Times through alignment and fitting: even up to the growth time, then geometric to `until` growth times."""
    growth = growth_rate(evidence)
    rise = max(-evidence.network.log_scale, 1.0) / growth
    late = evidence.parameter("until") * rise
    return tuple(np.concatenate([np.linspace(0.0, rise, 9), np.geomspace(1.2 * rise, max(late, 2.0 * rise), 8)]))


def sorting_plan(evidence: Evidence) -> FlowPlan:
    """A run recorded at those times."""
    return FlowPlan(times=sorting_times(evidence))


UNTIL = Parameter("until", 1000.0, "end of the run in units of the growth time", low=1.0)

# Lemma 1 --------------------------------------------------------------------------------------------------------------

DEAD_STAYS = 1e-12  # relative; seen: 1e-16


@computed_once
def _frozen(evidence: Evidence) -> Alignment:
    """The vanishing-scale limit of the draw, in closed form."""
    forces = evidence.loss.label_forces(evidence.dataset.y)
    network = evidence.network
    return align(evidence.dataset.X, forces, network.w, network.a)


def sorting_time(evidence: Evidence) -> float:
    """T: a tenth of a growth time after the last boundary event of the vanishing-scale limit."""
    return float(np.max(_frozen(evidence).times)) + 0.1 / growth_rate(evidence)


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
        largest <= bound, bound - largest, f"largest output {largest:.2g} at $T$ = {sorting_time(evidence):.4g}"
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
    return none_of(left, total=len(code), detail=f"{left} unsorted; {counts} at $T$ = {snapshot.time:.4g}")


def _dead_stay(evidence: Evidence) -> Comparison:
    """Largest relative change after T of a neuron that is dead at T."""
    after = [s.network for s in evidence.run.snapshots if s.time >= sorting_time(evidence)]
    require(after, "no snapshot at the sorting time")
    dead = np.all(sector_of(after[0].w, evidence.dataset.X) <= 0, axis=1)
    if not np.any(dead):
        return nothing("no neuron is dead")
    first = np.hstack([after[0].w, after[0].a[:, None]])[dead]
    later = [np.exp(n.log_scale - after[0].log_scale) * np.hstack([n.w, n.a[:, None]])[dead] for n in after[1:]]
    moved = [np.linalg.norm(each - first, axis=1) / np.linalg.norm(first, axis=1) for each in later]
    words = f"{int(np.sum(dead))} dead neurons move by at most {{measured:.2g}}"
    return worst_compared(moved, "at_most", DEAD_STAYS, words=words, evidence=evidence)


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


LEMMA_1 = Theorem(
    "phuong2021:lemma1",
    Reference("phuong2021", "Lemma 1"),
    "For almost all data and draws and a small enough scale there is a time at which every neuron is dead, or in "
    "a positive extremal sector with $a > 0$, or in a negative one with $a < 0$; the dead ones are constant from "
    "then on.",
    hypotheses=(
        LOGISTIC_LOSS,
        RELU,
        BALANCED,
        Hypothesis("generic-draw", "no neuron ends at a saddle or where the flow is not unique", _generic_draw),
        Hypothesis(
            "small-scale",
            "the outputs are still below `smallness` when the vanishing-scale limit has sorted every neuron",
            _forces_still_frozen,
            is_regime=True,
            needs_trajectory=True,
        ),
    ),
    conclusions=(
        Conclusion("sorted", "at $T$ every neuron is dead or in an extremal sector", _sorted, Level.EXACT),
        Conclusion("dead-stay", "neurons dead at $T$ do not move afterwards", _dead_stay, Level.EXACT),
    ),
    constants=_lemma_1_constants,
    parameters=(Parameter("smallness", 0.01, "largest output at $T$ that counts as small", low=0.0, high=1.0),),
    plan=_lemma_1_plan,
    log_scale=ScaledDownTo(_needed_log_scale),
    setting=SETTING,
    example="phuong-dead-cone",
    departs="The paper's threshold is not explicit; here $T$ is the sorting time of the vanishing-scale limit.",
)

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


LEMMA_3 = Theorem(
    "phuong2021:lemma3",
    Reference("phuong2021", "Lemma 3"),
    "A neuron with $a > 0$ in the positive extremal sector, or with $a < 0$ in the negative one, stays there for ever.",
    hypotheses=(FADING_LOSS, RELU, BALANCED, assumed(ORTHOGONALLY_SEPARABLE), assumed(SUPPORT_SPANS)),
    conclusions=(Conclusion("absorbed", "no pattern changes after entry", _absorbed, Level.EXACT),),
    parameters=(UNTIL,),
    plan=sorting_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum="P5: the case of a zero in the sector is vacuous under the span assumption.",
)
