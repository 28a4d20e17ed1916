"""How neurons move: Lemmas B.1 (one-way activations), A.3 (velocity) and A.4 (balance and growth) [phuong2021]."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.event import EventKind
from reluflow.geometry.general_position import smallest_subset_singular_value
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.papers.phuong2021.paper import EXAMPLE, SETTING
from reluflow.papers.phuong2021.theorems.sectors import pulling_gradient
from reluflow.papers.phuong2021.theorems.sorting import UNTIL, sorting_plan, sorting_times
from reluflow.theory.comparison import Comparison, Level, Values, at_most, judgement, none_of, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.facts import MAX_SUBSETS
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED, FADING_LOSS, LOGISTIC_LOSS, NO_RIDGE, RELU, assumed
from reluflow.theory.measures import AtLeast, AtMost, Quantities
from reluflow.theory.separability import ORTHOGONALLY_SEPARABLE
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

# Lemma B.1 ------------------------------------------------------------------------------------------------------------

ROUNDING = 1e-9  # relative change of <w, x> that the solver's tolerance of 1e-9 may produce; seen: 4e-16


def relative_changes(evidence: Evidence) -> Values:
    """y_k sign(a_j) (change of <w_j, x_k>) between snapshots, relative to |w_j| |x_k|."""
    X, y = evidence.dataset.X, evidence.dataset.y
    lengths = np.linalg.norm(X, axis=1)
    for before, after in pairwise(evidence.run.snapshots):
        shrink = np.exp(min(before.network.log_scale - after.network.log_scale, 0.0))
        grow = np.exp(min(after.network.log_scale - before.network.log_scale, 0.0))
        old, new = shrink * before.network.w, grow * after.network.w  # on one scale
        size = np.maximum(np.linalg.norm(old, axis=1), np.linalg.norm(new, axis=1))
        change = (new - old) @ X.T * y * np.sign(before.network.a)[:, None]
        yield change / (np.maximum(size, np.finfo(float).tiny)[:, None] * lengths)


one_way = AtLeast(
    relative_changes,
    0.0,
    allowance=ROUNDING,
    words=f"least relative change {{measured:.2g}}, {ROUNDING:g} forgiven",
    without="fewer than two snapshots",
)


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


LEMMA_B_1 = Theorem(
    "phuong2021:lemmaB.1",
    Reference("phuong2021", "Lemma B.1"),
    r"At every time and for every scale $y_k \operatorname{sign}(a_j) d\langle w_j, x_k\rangle/dt \ge 0$: a neuron "
    r"active on a sample of its own sign's class stays so, and each activation flips at most once.",
    hypotheses=(FADING_LOSS, RELU, BALANCED, assumed(ORTHOGONALLY_SEPARABLE)),
    conclusions=(
        Conclusion("stays-active", "no neuron loses a sample of its own class", _stays_active, Level.EXACT),
        Conclusion(
            "one-way",
            r"every $y_k \operatorname{sign}(a_j) \langle w_j, x_k\rangle$ never decreases",
            one_way,
            Level.EXACT,
        ),
        Conclusion("one-flip", "no neuron meets the boundary of a sample twice", one_flip, Level.EXACT),
    ),
    parameters=(UNTIL,),
    plan=sorting_plan,
    setting=SETTING,
    example=EXAMPLE,
    departs="The paper states the first conclusion; its proof gives the other two, for all times and scales.",
    holds_for_descent=True,
)

# Lemma A.3 ------------------------------------------------------------------------------------------------------------

DIFFERENCE = 1e-4  # time between the snapshots of one difference, in units of the growth time
VELOCITY = 1e-6  # central differences: truncation and rounding together stay below 3e-8 on the registered sets
LONGEST = 5.0  # that unit in 1/(nBV) at most: from smaller scales growth takes longer, and its square is the error


def largest_rate(evidence: Evidence) -> float:
    """n B V: the number of samples times the bounds of |c l'| and of |x_i|; l' of the logistic loss is below 1."""
    largest_force = evidence.loss.sample_weight(evidence.dataset.n)
    return float(evidence.dataset.n * largest_force * np.max(evidence.facts.norms))


def _difference_times(evidence: Evidence) -> tuple[tuple[float, float, float], ...]:
    grid = sorting_times(evidence)
    width = DIFFERENCE * min(grid[1], LONGEST / largest_rate(evidence))
    return tuple((t, t + width, t + 2.0 * width) for t in grid[1:])


def _general_position(evidence: Evidence) -> Comparison:
    found = require(
        smallest_subset_singular_value(evidence.dataset.X, max_subsets=MAX_SUBSETS),
        "the subsets of $d$ samples are too many to check",
    )
    numbers = ", ".join(str(int(k) + 1) for k in found[1])
    return judgement(found[0] > 1e-9, found[0] - 1e-9, f"least singular value {found[0]:.3g}, samples {numbers}")


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


def _difference_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=tuple(t for times in _difference_times(evidence) for t in times))


LEMMA_A_3 = Theorem(
    "phuong2021:lemmaA.3",
    Reference("phuong2021", "Lemma A.3"),
    r"For almost every $t$, $da_j/dt = \sum_i r_i s(\langle w_j, x_i\rangle)$ and "
    r"$dw_j/dt = a_j \sum_i r_i P_{w_j} x_i$ over the active samples $i$: a neuron that stays on a boundary moves "
    r"along it.",
    hypotheses=(
        FADING_LOSS,
        RELU,
        Hypothesis("general-position", "any $d$ of the samples are linearly independent", _general_position),
        NO_RIDGE,
    ),
    conclusions=(
        Conclusion("output-weight", "$da_j/dt$ is the pull on the output", partial(_velocity, part="a")),
        Conclusion("input-weight", "$dw_j/dt$ is the projected pull", partial(_velocity, part="w")),
    ),
    parameters=(Parameter("until", 30.0, "end of the run in units of the growth time", low=1.0),),
    plan=_difference_plan,
    setting=SETTING,
    example=EXAMPLE,
    departs="Velocities are central differences of the run, at times without an event of that neuron.",
)

# Lemma A.4 ------------------------------------------------------------------------------------------------------------


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


LEMMA_A_4 = Theorem(
    "phuong2021:lemmaA.4",
    Reference("phuong2021", "Lemma A.4"),
    r"A balanced start keeps $a_j = \operatorname{sign}(a_j(0)) |w_j|$, and $a_j(t)^2$ stays between "
    r"$a_j(0)^2\,\exp(-2 n B V t)$ and $a_j(0)^2\,\exp(2 n B V t)$.",
    hypotheses=(LOGISTIC_LOSS, BALANCED),
    conclusions=(
        Conclusion(
            "balance",
            r"$a_j = \operatorname{sign}(a_j(0)) |w_j|$",
            AtMost(
                _stays_balanced,
                1e-10,
                words=r"largest relative $|a_j - \operatorname{{sign}}(a_j(0)) |w_j||$ is {measured:.2g}",
            ),
            Level.EXACT,
        ),
        Conclusion(
            "rate",
            r"$|d\,\log a_j^2/dt| \le 2 n B V$",
            AtMost(
                growth_of_squares,
                2.0,
                allowance=ROUNDING,
                words="log $a_j^2$ changes at {measured:.4g} $n B V$ (printed: at most 1)",
            ),
        ),
    ),
    constants=Quantities({"nBV": largest_rate, "rate_of_a_squared": rate_of_squares}),
    parameters=(UNTIL,),
    plan=sorting_plan,
    setting=SETTING,
    example=EXAMPLE,
    holds_for_descent=True,
    erratum=r"P1: Eq. (58) drops the 2 of $d(a^2) = 2 a\, da$, so the printed $\exp(n B V t)$ is too small.",
)
