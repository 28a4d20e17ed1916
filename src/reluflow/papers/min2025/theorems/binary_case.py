"""Section 4.1: two classes, one output: min2024's separation and phuong2021's limit in one result [min2025]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.stopping import Exhausted
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.papers.min2025.alignments import DEAD
from reluflow.papers.min2025.paper import SETTING
from reluflow.papers.min2025.theorems.early_alignment import largest_length
from reluflow.papers.min2025.theorems.max_margin import (
    EXTRAPOLATED,
    LIMIT_CONSTANTS,
    LOG_TIME,
    TRAPPED,
    off_directions,
    share_errors,
)
from reluflow.papers.min2025.theorems.shared import SEPARABLE, alignments, geometry, is_summed, largest_row
from reluflow.theory.comparison import Comparison, Level, Source, fails, judgement, none_of, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED, FADING_LOSS, RELU
from reluflow.theory.measures import AtMost, ScaledDownTo
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

_ROUNDED = 1e-14  # of 1 - cos: a direction this near another one is taken for it


def _has_two_classes(evidence: Evidence) -> Comparison:
    """Labels 1 and -1 under one output, and samples of both."""
    if evidence.problem.num_outputs > 1 or not evidence.dataset.is_binary:
        return fails("the data have other labels than 1 and -1, or more than one output")
    sizes = [int(np.sum(evidence.dataset.y == sign)) for sign in (1.0, -1.0)]
    return judgement(min(sizes) > 0, float(min(sizes)), f"{sizes[0]} positive and {sizes[1]} negative samples")


def _groups_start(evidence: Evidence) -> Comparison:
    """Assumption 3: (8) no neuron lies along the other class, (9) some neuron of each sign fires on its class."""
    classes, network = geometry(evidence), evidence.network
    if min(classes.sizes) == 0 or not np.all(np.any(classes.sums, axis=1)):
        return fails("a class has no sample, or its samples sum to 0")
    if not np.all(np.any(network.w, axis=1)):
        return fails("a neuron has no direction, its input weights are 0")
    directions = network.w / row_norms(network.w)[:, None]
    means = classes.sums / np.linalg.norm(classes.sums, axis=1, keepdims=True)
    margins = []
    for c, sign in enumerate((1.0, -1.0)):
        mine = network.a * sign > 0.0
        if not np.any(mine):
            return judgement(False, -1.0, f"no neuron has the sign of class {'+-'[c]}")
        margins.append(float(np.min(1.0 - directions[mine] @ means[1 - c])) - _ROUNDED)
        margins.append(float(np.max((directions[mine] @ classes.X[classes.members[c]].T) / largest_length(evidence))))
    return judgement(min(margins) > 0.0, min(margins), f"least margin {min(margins):.6g}")


def _slowest(evidence: Evidence) -> float:
    """The smaller rate l'(0) |sum of x_k over a class| by which the neurons of a class grow at output 0."""
    force = float(np.max(np.abs(evidence.loss.label_forces(evidence.dataset.y))))
    return force * float(np.min(np.linalg.norm(geometry(evidence).sums, axis=1)))


def _needed_log_scale(evidence: Evidence) -> float:
    """So small that the outputs are below 1e-3 still at `rounds` over the slowest rate."""
    classes, m = geometry(evidence), evidence.network.num_neurons
    size = m * classes.norms.max() * max(largest_row(evidence), 1.0) ** 2
    force = float(np.max(np.abs(evidence.loss.label_forces(evidence.dataset.y))))
    fastest = force * float(np.max(np.linalg.norm(classes.sums, axis=1)))
    if _slowest(evidence) == 0.0:
        return float("-inf")
    grown = 2.0 * evidence.parameter("rounds") * fastest / _slowest(evidence)
    return float(0.5 * (np.log(1e-3 / size) - grown) - 1.0)


def _excess_scale(evidence: Evidence) -> float:
    return evidence.network.log_scale - _needed_log_scale(evidence)


def binary_plan(evidence: Evidence) -> FlowPlan:
    """Twenty times until the classes are learnt, and six late ones, even in log log t."""
    learnt = (4.0 - evidence.network.log_scale) / _slowest(evidence)
    early, logs = np.linspace(0.0, learnt, 20), np.geomspace(50.0, evidence.parameter("log_time"), 6)
    return FlowPlan(times=(*early, *np.exp(logs)), until=Exhausted(), horizon=float(np.exp(logs[-1])))


def _fires(evidence: Evidence, network: Network) -> FloatArray:
    return alignments(evidence, network).fires.astype(float)


def _changes(evidence: Evidence, *, own: bool) -> Comparison:
    """Own samples that switch off, or foreign ones that switch on, between recorded times."""
    require(len(evidence.run.snapshots) > 1, "two recorded times")
    mine = (evidence.network.a[:, None] > 0.0) == (evidence.dataset.y > 0.0)
    steps = np.diff([_fires(evidence, s.network) for s in evidence.run.snapshots], axis=0)
    count = int(np.sum(steps[:, mine] < 0.0) if own else np.sum(steps[:, ~mine] > 0.0))
    return none_of(count, total=int(steps.shape[0] * np.sum(mine == own)))


def own_stay(evidence: Evidence) -> Comparison:
    """Own samples that switch off."""
    return _changes(evidence, own=True)


def foreign_stay(evidence: Evidence) -> Comparison:
    """Foreign samples that switch on."""
    return _changes(evidence, own=False)


def separated(evidence: Evidence) -> Comparison:
    """Neurons that at the last time fire neither on exactly the class of their sign nor on nothing."""
    require(evidence.run.snapshots, "a recorded state")
    found = alignments(evidence, evidence.run.snapshots[-1].network).full_classes
    own = np.where(evidence.network.a > 0.0, 0, 1)
    return none_of(int(np.sum((found != own) & (found != DEAD))), total=found.size)


ROUNDS = Parameter("rounds", 8.0, "over how many times the slowest rate alignment is given", low=0.0)
SEC_4_1 = Theorem(
    "min2025:sec4.1",
    Reference("min2025", "Sec. 4.1"),
    r"Two classes, one output: from a small balanced start that meets Assumption 3 each neuron comes to fire on "
    r"exactly the class of its sign or on nothing, and $\theta/|\theta|$ tends to $W_\pm = s_\pm g_\pm u_\pm^\top$, "
    r"$a_\pm = \pm s_\pm g_\pm$ with $s_\pm^2 = \gamma_\pm^{-1}/(2(\gamma_+^{-1} + \gamma_-^{-1}))$.",
    hypotheses=(
        FADING_LOSS,
        RELU,
        Hypothesis("two-classes", "labels 1 and -1 under one output", _has_two_classes),
        Hypothesis("summed", "the loss is the sum over the samples", is_summed),
        SEPARABLE,
        BALANCED,
        Hypothesis(
            "assumption-3",
            r"(8) no neuron with $a_j > 0$ lies along the sum of the negative class, none with $a_j < 0$ along that of "
            "the positive one; (9) some neuron of each sign fires on a sample of its class",
            _groups_start,
        ),
        Hypothesis(
            "small-scale",
            "the outputs cannot be above 1e-3 when alignment is over",
            AtMost(_excess_scale, 0.0, words=r"$\log\varepsilon$ exceeds the bound by {number:.4g}"),
            is_regime=True,
        ),
        replace(TRAPPED, name="late-run", statement="the run reaches late times, at which every class has a neuron"),
    ),
    conclusions=(
        Conclusion("separated", "each neuron fires on exactly its class or on nothing", separated, Level.EXACT),
        Conclusion("own-on", "own samples never switch off", own_stay, Level.EXACT, Source.RELUFLOW),
        Conclusion("foreign-off", "foreign samples never switch on", foreign_stay, Level.EXACT, Source.RELUFLOW),
        Conclusion(
            "W",
            r"the part of $W_\pm/|\theta|$ off $u_\pm$ tends to 0",
            AtMost(off_directions, EXTRAPOLATED, words="{measured:.3g} extrapolated"),
            is_asymptotic=True,
        ),
        Conclusion(
            "shares",
            r"$|W_\pm|^2/|\theta|^2$ tends to $s_\pm^2$",
            AtMost(share_errors, EXTRAPOLATED, words="{measured:.3g} extrapolated"),
            is_asymptotic=True,
        ),
    ),
    constants=LIMIT_CONSTANTS,
    parameters=(LOG_TIME, ROUNDS),
    plan=binary_plan,
    log_scale=ScaledDownTo(_needed_log_scale),
    setting=replace(SETTING, loss="logistic", init="sphere", width=8),
    example="min2025-two",
    erratum="E15: the span assumption of phuong2021, whose theorem is used, is not listed; it is not needed.",
)
