"""Lemma 5, and what holds beyond it: a neuron that fires on one class alone, aligned with it, does so for ever."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.network.network import row_norms
from reluflow.papers.min2025.class_geometry import lasting_threshold
from reluflow.papers.min2025.paper import EXAMPLE, SETTING
from reluflow.papers.min2025.theorems.separation import entered, states
from reluflow.papers.min2025.theorems.shared import SEPARABLE, SETTING_HYPOTHESES, START_HYPOTHESES, geometry
from reluflow.theory.comparison import Comparison, Level, Source, Values, judgement, none_of, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import AtLeast, AtMost
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

ROUNDING = 1e-8  # of a product <w_j, x_k>, relative to lengths, from one recorded time to the next
HALF_RIGHT = float(np.sqrt(0.5))
UNTIL = Parameter("until", 6.0, "time to which the run goes", low=0.0)


def late_and_early(evidence: Evidence) -> FlowPlan:
    """Twenty-five times, even in log(1 + t)."""
    end = np.log1p(evidence.parameter("until"))
    return FlowPlan(times=tuple(np.expm1(np.linspace(0.0, end, 25))))


# Lemma 5 --------------------------------------------------------------------------------------------------------------


def _sorted_from(evidence: Evidence) -> tuple[IntArray, IntArray]:
    """The first recorded time at which a neuron fires on exactly one class with B_c >= sqrt(1/2), and that class."""
    when = np.full(evidence.network.num_neurons, -1)
    classes = np.full(evidence.network.num_neurons, -1)
    for index, state in enumerate(states(evidence)):
        full = state.full_classes
        new = (when < 0) & (full >= 0) & (state.own_B(full) >= HALF_RIGHT)
        when[new], classes[new] = index, full[new]
    return when, classes


def _someone_sorted(evidence: Evidence) -> Comparison:
    when, _ = _sorted_from(evidence)
    last = len(evidence.run.snapshots) - 1
    count = int(np.sum((when >= 0) & (when < last)))
    return judgement(count > 0, float(count), f"{count} of {when.size} neurons before the last recorded time")


def _left_their_class(evidence: Evidence) -> Comparison:
    when, classes = _sorted_from(evidence)
    require(np.any(when >= 0), "no neuron fires on exactly one class")
    wrong = [
        int(np.sum((when >= 0) & (index > when) & (state.full_classes != classes)))
        for index, state in enumerate(states(evidence))
    ]
    return none_of(sum(wrong), total=int(np.sum(when >= 0)))


def _alignment_after(evidence: Evidence) -> Values:
    when, classes = _sorted_from(evidence)
    return [state.own_B(classes)[(when >= 0) & (k > when)] - HALF_RIGHT for k, state in enumerate(states(evidence))]


LEMMA_5 = Theorem(
    "min2025:lemma5",
    Reference("min2025", "Lemma 5"),
    r"A neuron that fires on exactly one class with $B_c \ge \sqrt{2}/2$ does so for ever.",
    hypotheses=(
        *START_HYPOTHESES,
        Hypothesis(
            "separated", r"some neuron does at a recorded time", _someone_sorted, is_regime=True, needs_trajectory=True
        ),
    ),
    conclusions=(
        Conclusion("pattern", "it fires on exactly its class from then on", _left_their_class, Level.EXACT),
        Conclusion("B", r"$B_c \ge \sqrt{2}/2$ from then on", AtLeast(_alignment_after, 0.0, allowance=1e-9)),
    ),
    parameters=(UNTIL,),
    plan=late_and_early,
    setting=SETTING,
    example=EXAMPLE,
    takes_classes=True,
)

# The general form -----------------------------------------------------------------------------------------------------


def _someone_trapped(evidence: Evidence) -> Comparison:
    when, _ = entered(evidence)
    count = int(np.sum((when >= 0) & (when < len(evidence.run.snapshots) - 1)))
    return judgement(count > 0, float(count), f"{count} of {when.size} neurons before the last recorded time")


def _moves(evidence: Evidence, *, own: bool) -> list[FloatArray]:
    """Rises of <w_j, x_k> on own samples, or falls on foreign ones, of trapped neurons between recorded times."""
    when, classes = entered(evidence)
    labels, norms = geometry(evidence).labels, geometry(evidence).norms
    found, before = [], None
    for index, snapshot in enumerate(evidence.run.snapshots):
        network = snapshot.network
        products = np.exp(network.log_scale) * network.pre_activations(evidence.dataset.X)
        size = np.exp(network.log_scale) * row_norms(network.w)[:, None] * norms
        if before is not None:
            inside = ((when >= 0) & (index > when))[:, None]
            chosen = inside & ((labels[None, :] == classes[:, None]) == own)
            change = (products - before) / size
            found.append((change if own else -change)[chosen])
        before = products
    return found


def _own_rise(evidence: Evidence) -> Values:
    return _moves(evidence, own=True)


def _foreign_fall(evidence: Evidence) -> Values:
    return _moves(evidence, own=False)


def _trapped_alignment(evidence: Evidence) -> Values:
    """B_c less min(B_c at entry, b_hi) after entry."""
    when, classes = entered(evidence)
    found, high = states(evidence), lasting_threshold(evidence.problem.num_outputs)
    at_entry = np.array([found[k].own_B(classes)[j] if k >= 0 else np.nan for j, k in enumerate(when)])
    bound = np.minimum(at_entry, high)
    return [(state.own_B(classes) - bound)[(when >= 0) & (k > when)] for k, state in enumerate(found)]


def _sum_drift(evidence: Evidence) -> Values:
    """|1^T v_j(t) - 1^T v_j(0)| over the largest |v_j| so far."""
    found, largest, first = [], np.zeros(evidence.network.num_neurons), None
    for snapshot in evidence.run.snapshots:
        network = snapshot.network
        v = np.exp(network.log_scale) * network.v
        largest = np.maximum(largest, row_norms(v))
        first = v.sum(axis=1) if first is None else first
        found.append(np.abs(v.sum(axis=1) - first) / largest)
    return found


_OURS = Reference("min2025", "beyond Lemma 5")
TRAP = Theorem(
    "min2025:trap",
    _OURS,
    r"A neuron that fires on samples of class $c$ alone, with $B_c \ge \sqrt{(K-2)/(2K-2)}$, does so "
    r"for ever, whatever its "
    r"size and the other neurons: $\langle w_j, x_k\rangle$ never falls on class $c$ and never rises elsewhere, and "
    r"$B_c \ge \min(B_c(0), \sqrt{K/(2K-2)})$.",
    hypotheses=(
        *SETTING_HYPOTHESES,
        SEPARABLE,
        Hypothesis("trapped", "some neuron is so at a recorded time", _someone_trapped, needs_trajectory=True),
    ),
    conclusions=(
        Conclusion("own", "products with own samples do not fall", AtLeast(_own_rise, 0.0, allowance=ROUNDING)),
        Conclusion("foreign", "those with others do not rise", AtLeast(_foreign_fall, 0.0, allowance=ROUNDING)),
        Conclusion(
            "B", r"$B_c \ge \min(B_c(0), \sqrt{K/(2K-2)})$", AtLeast(_trapped_alignment, 0.0, allowance=ROUNDING)
        ),
    ),
    parameters=(UNTIL,),
    plan=late_and_early,
    setting=replace(SETTING, init="sphere", width=16, scale="0.5"),
    example=EXAMPLE,
    source=Source.RELUFLOW,
    takes_classes=True,
)
OUTPUT_SUMS = Theorem(
    "min2025:output-sums",
    Reference("min2025", "beyond Assumption 2"),
    r"The sum $1^\top v_j$ of the output weights of every neuron is constant, for the forces of softmax sum to 0.",
    hypotheses=(SETTING_HYPOTHESES[0],),
    conclusions=(
        Conclusion("constant", r"$1^\top v_j$ does not move", AtMost(_sum_drift, 0.0, allowance=1e-9), Level.EXACT),
    ),
    parameters=(UNTIL,),
    plan=late_and_early,
    setting=replace(SETTING, init="sphere", width=16, scale="0.5"),
    example=EXAMPLE,
    source=Source.RELUFLOW,
    takes_classes=True,
    holds_for_descent=True,
)
