"""Lemmas 4 and 5, Propositions 1 and 3: every neuron comes to fire on one class alone, and stays so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.trajectory import Snapshot
from reluflow.papers.min2025.alignments import DEAD, Alignments
from reluflow.papers.min2025.class_geometry import force_length, lasting_threshold
from reluflow.papers.min2025.paper import SETTING
from reluflow.papers.min2025.theorems.early_alignment import largest_length, log_outputs
from reluflow.papers.min2025.theorems.shared import START_HYPOTHESES, alignments, geometry, largest_row
from reluflow.theory.comparison import Comparison, Level, Source, Values, judgement, none_of, require
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import AtLeast, AtMost, Quantities, ScaledDownTo
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

ROUNDING = 1e-9  # of an alignment along a run
Start = Callable[[Alignments], FloatArray]  # the margin of a start, shape (m, K), as `Alignments.semi_local_start`


@computed_once
def _groups(evidence: Evidence, start: Start) -> IntArray:
    """N_c: the class that each neuron starts for, by this start; DEAD where there is none."""
    margins = start(alignments(evidence))
    return np.where(margins.max(axis=1) > 0.0, np.argmax(margins, axis=1), DEAD)


def _meets(start: Start) -> Callable[[Evidence], Comparison]:
    """Whether every neuron meets the start, and every class has one."""

    def judge(evidence: Evidence) -> Comparison:
        margins = start(alignments(evidence))
        least = float(margins.max(axis=1).min())
        empty = set(range(evidence.problem.num_outputs)) - set(np.argmax(margins, axis=1).tolist())
        words = f"least margin of a neuron {least:.6g}"
        return judgement(
            least > 0.0 and not empty, -1.0 if empty else least, words + ("; a class has no neuron" if empty else "")
        )

    return judge


def meets_semi_local_start(evidence: Evidence) -> Comparison:
    """Repair (b) of Assumption 4."""
    return _meets(Alignments.semi_local_start)(evidence)


def meets_exclusive_start(evidence: Evidence) -> Comparison:
    """Repair (a) of Assumption 4."""
    return _meets(Alignments.exclusive_start)(evidence)


def meets_printed_start(evidence: Evidence) -> Comparison:
    """Assumption 4 as printed, (18): it does not suffice (errata E1 to E3)."""
    return _meets(Alignments.printed_start)(evidence)


SEMI_LOCAL = Hypothesis(
    "semi-local-start",
    r"each neuron has a class $c$ with $A_c > (K-1) \max A_{c'}$, all $B_{c'} < 0$, $B_c \ge \sqrt{(K-2)/(2K-2)}$ and "
    r"$\mu_d \sum_{I_c^w} |x_k| > \max_{c'} \sum_{I_{c'}^w} |x_k|$, and each class a neuron",
    meets_semi_local_start,
)
EXCLUSIVE = Hypothesis(
    "exclusive-start",
    r"each neuron fires on some samples of one class $c$, is negative on all others and has "
    r"$B_c \ge \sqrt{(K-2)/(2K-2)}$, and each class has a neuron",
    meets_exclusive_start,
)


def _active_history(evidence: Evidence) -> FloatArray:
    """Who fires on what at each recorded time, shape (times, m, n)."""
    require(len(evidence.run.snapshots) > 1, "two recorded times")
    return np.array([alignments(evidence, s.network).fires for s in evidence.run.snapshots], dtype=float)


def _changes(evidence: Evidence, start: Start, *, own: bool) -> Comparison:
    """Own samples that switch off, or foreign ones that switch on, between recorded times."""
    mine = geometry(evidence).labels[None, :] == _groups(evidence, start)[:, None]
    steps = np.diff(_active_history(evidence), axis=0)
    count = int(np.sum(steps[:, mine] < 0.0) if own else np.sum(steps[:, ~mine] > 0.0))
    return none_of(count, total=int(steps.shape[0] * mine.sum()))


def _crossed_twice(evidence: Evidence) -> Comparison:
    """Pairs of neuron and sample that meet more than once in the event log."""
    log = evidence.run.events
    pairs = log.neurons * evidence.dataset.n + log.samples
    _, counts = np.unique(pairs[log.samples >= 0], return_counts=True)
    twice = int(np.sum(counts > 1))
    return none_of(twice, detail=f"{twice} of {counts.size} crossings are met again")


def own_stay_of_semi_local(evidence: Evidence) -> Comparison:
    """Own samples that switch off."""
    return _changes(evidence, Alignments.semi_local_start, own=True)


def foreign_stay_of_semi_local(evidence: Evidence) -> Comparison:
    """Foreign samples that switch on."""
    return _changes(evidence, Alignments.semi_local_start, own=False)


def _unseparated(evidence: Evidence, start: Start, snapshot: Snapshot) -> Comparison:
    """Neurons that do not fire on exactly their class at a time."""
    groups = _groups(evidence, start)
    wrong = int(np.sum(alignments(evidence, snapshot.network).full_classes != groups))
    return none_of(wrong, total=groups.size, detail=f"{wrong} of {groups.size} neurons at $t$ = {snapshot.time:.4g}")


def separated_at_the_end(evidence: Evidence) -> Comparison:
    """Neurons of the semi-local start that do not fire on exactly their class at the last time."""
    return _unseparated(evidence, Alignments.semi_local_start, evidence.run.snapshots[-1])


def _rising(evidence: Evidence) -> Values:
    """Rises of A_c, of the class each neuron started for, between recorded times, relative to |S_c|."""
    groups = _groups(evidence, Alignments.semi_local_start)
    rows, lengths = np.arange(groups.size), np.linalg.norm(geometry(evidence).sums, axis=1)
    found = np.array([alignments(evidence, s.network).A[rows, groups] for s in evidence.run.snapshots])
    return [np.diff(found, axis=0) / lengths[groups]]


def _b_bound(evidence: Evidence, start: Start, cap: float) -> Values:
    """B_c less min(B_c(0), cap) at every recorded time."""
    groups = _groups(evidence, start)
    first = alignments(evidence).own_B(groups)
    bound = np.minimum(first, cap)
    return [alignments(evidence, s.network).own_B(groups) - bound for s in evidence.run.snapshots]


def _b_semi_local(evidence: Evidence) -> Values:
    K = evidence.problem.num_outputs
    return _b_bound(evidence, Alignments.semi_local_start, float(np.sqrt((K - 2.0) / (K - 1.0))))


def _b_exclusive(evidence: Evidence) -> Values:
    return _b_bound(evidence, Alignments.exclusive_start, lasting_threshold(evidence.problem.num_outputs))


def _until(evidence: Evidence) -> float:
    """A time by which alignment is over: `rounds` times 1/(kappa |S_c|) of the slowest class."""
    return evidence.parameter("rounds") / float(geometry(evidence).learning_rates.min())


def separation_plan(evidence: Evidence) -> FlowPlan:
    """Forty snapshots until alignment is over."""
    return FlowPlan(times=tuple(np.linspace(0.0, _until(evidence), 40)))


def _largest_output(evidence: Evidence) -> float:
    require(evidence.run.snapshots, "a recorded state")
    return log_outputs(evidence.run.snapshots[-1].network, evidence) - float(np.log(evidence.parameter("smallness")))


def _needed_log_scale(evidence: Evidence) -> float:
    """So small that the outputs are below `smallness` still when alignment is over."""
    classes, m = geometry(evidence), evidence.network.num_neurons
    size = m * classes.norms.max() * max(largest_row(evidence), 1.0) ** 2
    grown = 2.0 * _until(evidence) * classes.learning_rates.max()
    return float(0.5 * (np.log(evidence.parameter("smallness") / size) - grown) - 1.0)


ROUNDS = Parameter("rounds", 8.0, r"how many times $1/(\kappa |S_c|)$ alignment is given", low=0.0)
SMALLNESS = Parameter("smallness", 1e-3, "largest output at the end that counts as small", low=0.0, high=1.0)
SMALL = Hypothesis(
    "small-scale",
    "the outputs are below `smallness` when alignment is over",
    AtMost(_largest_output, 0.0, words="the logarithm of the largest output exceeds it by {number:.3g}"),
    is_regime=True,
    needs_trajectory=True,
)

LEMMA_4 = Theorem(
    "min2025:lemma4",
    Reference("min2025", "Lemma 4"),
    r"From a semi-local start, while the outputs are small: $B_c$ stays above $\min(B_c(0), "
    r"\sqrt{(K-2)/(K-1)})$, $A_c$ "
    "rises, own samples never switch off and foreign ones never on.",
    hypotheses=(*START_HYPOTHESES, SEMI_LOCAL, SMALL),
    conclusions=(
        Conclusion("B", r"$B_c \ge \min(B_c(0), \sqrt{(K-2)/(K-1)})$", AtLeast(_b_semi_local, 0.0, allowance=ROUNDING)),
        Conclusion("A", "$A_c$ does not fall", AtLeast(_rising, 0.0, allowance=1e-7)),
        Conclusion("own-on", "own samples never switch off", own_stay_of_semi_local, Level.EXACT),
        Conclusion("foreign-off", "foreign samples never switch on", foreign_stay_of_semi_local, Level.EXACT),
    ),
    erratum="E1, E2, E3: false from the printed start (18); the start is the repaired one.",
    parameters=(ROUNDS, SMALLNESS),
    plan=separation_plan,
    log_scale=ScaledDownTo(_needed_log_scale),
    setting=SETTING,
    example="min2025-c",
    takes_classes=True,
)
PROP_1 = Theorem(
    "min2025:prop1",
    Reference("min2025", "Prop. 1"),
    r"From a semi-local start and for a small enough scale there is a time from which on each neuron of $N_c$ fires on "
    "exactly the samples of class $c$; until then its pattern changes one way.",
    hypotheses=(*START_HYPOTHESES, SEMI_LOCAL, SMALL),
    conclusions=(
        Conclusion("separated", "each neuron fires on exactly its class", separated_at_the_end, Level.EXACT),
        Conclusion("one-way", "no neuron meets a hyperplane twice", _crossed_twice, Level.EXACT),
    ),
    erratum="E1, E2, E3: false from the printed start (18) with the printed data condition; the start is repaired.",
    parameters=(ROUNDS, SMALLNESS),
    plan=separation_plan,
    log_scale=ScaledDownTo(_needed_log_scale),
    setting=SETTING,
    example="min2025-c",
    takes_classes=True,
)

# Proposition 3: exclusive starts, with the time -----------------------------------------------------------------------


@computed_once
def separation_time(evidence: Evidence) -> float:
    """T*_fr: artanh(sqrt(1-mu_s^2)) (H_{n_c-1} - H_{a-1})/(kappa b sqrt(mu_s) X_min), the largest over neurons.

    Infinite where mu_s <= 0: without Assumption 1 there is no such time.
    """
    found, classes = alignments(evidence), geometry(evidence)
    groups, worst = _groups(evidence, Alignments.exclusive_start), 0.0
    K, mu_s = classes.num_classes, classes.mu_s
    if mu_s <= 0.0:
        return float("inf")
    first = found.own_B(groups)
    for j, c in enumerate(groups):
        if c < 0:
            continue
        a, n_c = int(found.num_active[j, c]), int(classes.sizes[c])
        harmonic = float(np.sum(1.0 / np.arange(a, n_c)))
        b = min(float(first[j]), lasting_threshold(K))
        rate = force_length(K) * b * np.sqrt(mu_s) * classes.norms.min()
        worst = max(worst, float(np.arctanh(np.sqrt(1.0 - mu_s**2)) * harmonic / rate) if harmonic else 0.0)
    return worst


def _log_scale_of_prop_3(evidence: Evidence) -> float:
    """log of the eps for which 2 T*_fr is enough time: the two conditions of the repaired Proposition 3."""
    classes, m = geometry(evidence), evidence.network.num_neurons
    K, mu_s = classes.num_classes, classes.mu_s
    if mu_s <= 0.0:
        return float("-inf")
    b = float(np.nanmin(alignments(evidence).own_B(_groups(evidence, Alignments.exclusive_start)), initial=1.0))
    low = np.log(force_length(K) * max(min(b, lasting_threshold(K)), 1e-9) * mu_s**1.5)
    low -= 0.5 * np.log(m) + np.log(largest_length(evidence)) + 2.0 * np.log(max(largest_row(evidence), 1.0))
    late = -0.5 * np.log(m) - 8.0 * evidence.dataset.n * largest_length(evidence) * separation_time(evidence)
    return float(min(low, late))


def _excess_of_prop_3(evidence: Evidence) -> float:
    return evidence.network.log_scale - _log_scale_of_prop_3(evidence)


def exclusive_plan(evidence: Evidence) -> FlowPlan:
    """Forty snapshots until 2 T*_fr, or until alignment is over where every neuron fires on its class already."""
    end = 2.0 * separation_time(evidence) or 4.0 / float(geometry(evidence).learning_rates.min())
    return FlowPlan(times=tuple(np.linspace(0.0, end, 40)))


def own_stay_of_exclusive(evidence: Evidence) -> Comparison:
    """Own samples that switch off."""
    return _changes(evidence, Alignments.exclusive_start, own=True)


def foreign_stay_of_exclusive(evidence: Evidence) -> Comparison:
    """Foreign samples that switch on."""
    return _changes(evidence, Alignments.exclusive_start, own=False)


def separated_in_time(evidence: Evidence) -> Comparison:
    """Neurons that do not fire on exactly their class at 2 T*_fr."""
    return _unseparated(evidence, Alignments.exclusive_start, evidence.run.snapshots[-1])


PROP_3 = Theorem(
    "min2025:prop3",
    Reference("min2025", "Prop. 3"),
    r"From an exclusive start no neuron ever fires on a foreign sample or loses an own one, at any scale; for "
    r"$\varepsilon$ below an explicit bound it fires on all of its class by $2 T^*_{\mathrm{fr}}$, "
    r"with $T^*_{\mathrm{fr}} "
    r"= \operatorname{artanh}(\sqrt{1-\mu_s^2})\,(H_{n_c-1} - H_{a-1})/(\kappa b \sqrt{\mu_s} X_{\min})$.",
    hypotheses=(
        *START_HYPOTHESES,
        EXCLUSIVE,
        Hypothesis(
            "small-scale",
            r"$\varepsilon \le \kappa b \mu_s^{3/2}/(\sqrt{m} X_{\max} W_{\max}^2)$ and "
            r"$\varepsilon \le m^{-1/2} e^{-8 n X_{\max} T^*_{\mathrm{fr}}}$",
            AtMost(_excess_of_prop_3, 0.0, words=r"$\log\varepsilon$ exceeds the bound by {number:.4g}"),
            is_regime=True,
        ),
    ),
    conclusions=(
        Conclusion("in-time", r"at $2 T^*_{\mathrm{fr}}$ each neuron fires on exactly its class", separated_in_time),
        Conclusion("own-on", "own samples never switch off", own_stay_of_exclusive, Level.EXACT),
        Conclusion("foreign-off", "foreign samples never switch on", foreign_stay_of_exclusive, Level.EXACT),
        Conclusion(
            "B",
            r"$B_c \ge \min(B_c(0), \sqrt{K/(2K-2)})$",
            AtLeast(_b_exclusive, 0.0, allowance=ROUNDING),
            source=Source.RELUFLOW,
        ),
    ),
    constants=Quantities({"T_fr": separation_time, "log_scale_needed": _log_scale_of_prop_3}),
    plan=exclusive_plan,
    log_scale=ScaledDownTo(_log_scale_of_prop_3),
    setting=SETTING,
    example="min2025-c",
    erratum="E2, E3, E7: false from the printed start; the start is exclusive, and the time explicit.",
    takes_classes=True,
)


def entered(evidence: Evidence) -> tuple[IntArray, IntArray]:
    """For each neuron the first recorded time in a trap, -1 if never, and the class of the trap."""
    when = np.full(evidence.network.num_neurons, -1)
    classes = np.full(evidence.network.num_neurons, DEAD)
    for index, snapshot in enumerate(evidence.run.snapshots):
        inside = alignments(evidence, snapshot.network).traps
        new = (when < 0) & (inside >= 0)
        when[new], classes[new] = index, inside[new]
    return when, classes


def states(evidence: Evidence) -> list[Alignments]:
    """The neurons at each recorded time."""
    return [alignments(evidence, s.network) for s in evidence.run.snapshots]
