"""What a solution is: Remarks 1, 2, Appendix E.1 and inequality (50) [min2024]."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.min2024.assumptions import CORRELATED, SUMMED_LOSS, UNIT_FORCE
from reluflow.papers.min2024.paper import EXAMPLE, SETTING
from reluflow.papers.min2024.theorems.constants import data_constants
from reluflow.papers.min2024.theorems.landmarks import landmarks
from reluflow.papers.min2024.theorems.moving_neurons import moments
from reluflow.papers.min2024.theorems.shared_hypotheses import LOSS, NONZERO_NEURONS
from reluflow.theory.comparison import Comparison, Level, Values, at_most, missing, none_of
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.hypotheses import BALANCED, RELU, assumed
from reluflow.theory.measures import AtMost
from reluflow.theory.theorem import Conclusion, Parameter, Reference, Theorem

NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)
PIECE = 0.4  # length of a piece over the shortest e-fold: four nodes are then exact to 1e-13 of it
SMALLEST_PIECE = 1e-3  # pieces between crossings shorter than this are not split off


def nodes_between(left: float, right: float, nodes: FloatArray = NODES) -> FloatArray:
    """The nodes of a quadrature, moved from [-1, 1] to [left, right]."""
    return np.asarray(0.5 * (right - left) * (nodes + 1.0) + left)


# Remarks 1 and 2 ------------------------------------------------------------------------------------------------------


def _short_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=(0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0))


def _stays_balanced(evidence: Evidence) -> Values:
    for snapshot in evidence.run.snapshots:
        w_square = np.sum(snapshot.network.w**2, axis=1)
        present = w_square > 0.0
        yield np.abs(snapshot.network.balancedness()[present]) / w_square[present]


def _allowed_imbalance(evidence: Evidence) -> float:
    return evidence.parameter("rtol")


@dataclass(frozen=True, eq=False)
class FirstStep:
    """The weights after one step of descent, shapes (m, d) and (m,), over exp(log_scale) of the start."""

    w: FloatArray
    a: FloatArray


def _first_step(evidence: Evidence) -> FirstStep:
    network, step, pulls = evidence.network, evidence.parameter("step"), moments(evidence)[0].pulls
    return FirstStep(
        network.w + step * network.a[:, None] * pulls, network.a + step * np.sum(network.w * pulls, axis=1)
    )


def _first_descent_step(evidence: Evidence) -> Comparison:
    """a^2 - |w|^2 after one step of descent, over eta^2 |w|^2 |G|^2: it is cos^2(w, G) - 1 <= 0."""
    network, step = evidence.network, evidence.parameter("step")
    first = moments(evidence)[0]
    w, pulls, moved = network.w, first.pulls, evidence.recorded(FirstStep)
    size = step**2 * np.sum(w**2, axis=1) * np.sum(pulls**2, axis=1)
    moving = size > 0.0
    left = (moved.a**2 - np.sum(moved.w**2, axis=1))[moving]
    right = step**2 * (np.sum(w * pulls, axis=1) ** 2 - np.sum(w**2, axis=1) * np.sum(pulls**2, axis=1))[moving]
    rounding = 1e-13 * np.sum(w**2, axis=1)[moving] / size[moving]
    gap = float(np.max(np.abs(left - right) / size[moving] - rounding))
    largest = float(np.max(right / size[moving]))
    words = rf"largest drift {largest:.3g} $\eta^2 |w|^2 |G|^2$, formula off by {gap:.3g}"
    return at_most(max(gap, largest), 0.0, allowance=1e-12, detail=words)


REMARK_1 = Theorem(
    "min2024:remark1",
    Reference("min2024", "Remark 1"),
    r"The flow keeps $a_j^2 = |w_j|^2$; a step of descent changes $a_j^2 - |w_j|^2$ by $-|\eta a_j P_j G_j|^2$.",
    hypotheses=(BALANCED,),
    conclusions=(
        Conclusion(
            "kept",
            "largest relative imbalance",
            AtMost(_stays_balanced, _allowed_imbalance, words="largest $|a_j^2 - |w_j|^2|/|w_j|^2$ is {measured:.3g}"),
        ),
        Conclusion(
            "descent", "the first step's imbalance has the closed form and is not positive", _first_descent_step
        ),
    ),
    parameters=(
        Parameter("rtol", 1e-6, "allowed relative imbalance", low=0.0),
        Parameter("step", 0.002, "step size of the descent", low=0.0),
    ),
    plan=_short_plan,
    record=_first_step,
    setting=SETTING,
    example=EXAMPLE,
    holds_for_descent=True,
)


def _zeroed_plan(evidence: Evidence) -> FlowPlan:
    """The short plan, and beside it the same network with its first neuron at zero."""
    plan, start = _short_plan(evidence), evidence.network
    keep = np.arange(start.num_neurons) > 0
    zeroed = start.replace(w=np.where(keep[:, None], start.w, 0.0), a=np.where(keep, start.a, 0.0))
    return replace(plan, companions=(Companion("zeroed", zeroed, plan.times),))


def _zeros_stay_zero(evidence: Evidence) -> Comparison:
    """Neurons that start at zero, of the run and of its companion, over all snapshots and the end."""
    moved = total = 0
    for run in (evidence.run, evidence.companions.get("zeroed")):
        if run is not None:
            begin = run.problem.network
            still = ~np.any(begin.w != 0.0, axis=1) & (begin.a == 0.0)
            for network in (*(s.network for s in run.snapshots), run.network):
                total += int(np.sum(still))
                moved += int(np.sum(np.any(network.w[still] != 0.0, axis=1) | (network.a[still] != 0.0)))
    return none_of(moved, total=total, detail=f"{moved} of {total} states of neurons that start at zero are not zero")


REMARK_2 = Theorem(
    "min2024:remark2",
    Reference("min2024", "Remark 2"),
    "A neuron that starts at zero never moves.",
    hypotheses=(),
    conclusions=(Conclusion("zeros", "neurons put to zero at the start stay at zero", _zeros_stay_zero, Level.EXACT),),
    plan=_zeroed_plan,
    setting=SETTING,
    example=EXAMPLE,
    holds_for_descent=True,
)


# Appendix E.1 ---------------------------------------------------------------------------------------------------------


def _pieces(evidence: Evidence) -> list[tuple[float, float]]:
    """Intervals between predicted crossings, each short enough for four nodes."""
    marks, data = landmarks(evidence), data_constants(evidence)
    edges, longest = [0.0], PIECE / (data.n * data.largest_norm)  # the fastest rate is at most n X_max
    for crossing in (*marks.crossings, marks.alignment + 0.4):
        if crossing - edges[-1] > SMALLEST_PIECE:
            pieces = math.ceil((crossing - edges[-1]) / longest)
            edges += list(np.linspace(edges[-1], crossing, pieces + 1)[1:])
    return [(float(a), float(b)) for a, b in pairwise(edges)]


def _quadrature_plan(evidence: Evidence) -> FlowPlan:
    pieces = _pieces(evidence)
    return FlowPlan(times=tuple(sorted({t for piece in pieces for t in (*nodes_between(*piece).tolist(), *piece)})))


def _caratheodory_residual(evidence: Evidence) -> Comparison:
    """|theta(t) - theta(s) - int_s^t F| over |theta(s)|, summed over the pieces between predicted crossings."""
    by_time = {moment.time: moment for moment in moments(evidence)}
    scale, total = evidence.network.log_scale, 0.0
    try:
        for left, right in _pieces(evidence):
            integral = np.zeros((evidence.network.num_neurons, evidence.dataset.d + 1))
            for node, weight in zip(nodes_between(left, right).tolist(), WEIGHTS, strict=True):
                moment = by_time[node]
                factor = 0.5 * (right - left) * weight * math.exp(moment.network.log_scale - scale)
                w, a = moment.network.w, moment.network.a
                integral += factor * np.column_stack([a[:, None] * moment.pulls, np.sum(w * moment.pulls, axis=1)])
            states = [by_time[t].network for t in (left, right)]
            start, end = (np.column_stack([n.w, n.a]) * math.exp(n.log_scale - scale) for n in states)
            total += float(np.linalg.norm(end - start - integral) / np.linalg.norm(start))
    except KeyError as error:
        return missing(f"a snapshot at time {error.args[0]}")
    allowed = evidence.parameter("rtol") + _kink_allowance(evidence)
    return at_most(
        total, allowed, detail=f"the integral equation is met to {total:.3g} relative, allowed {allowed:.3g}"
    )


def _kink_allowance(evidence: Evidence) -> float:
    """What a kink off the edges of its piece can do to the quadrature: its distance times twice the largest pull."""
    data, edges = data_constants(evidence), np.array([t for piece in _pieces(evidence) for t in piece])
    times = np.array([event.time for event in evidence.run.events if event.time < edges[-1]])
    shifts = np.min(np.abs(times[:, None] - edges), axis=1) if times.size else np.zeros(1)
    return float(2.0 * data.n * data.largest_norm * np.sum(shifts))


APP_E_1 = Theorem(
    "min2024:appE.1",
    Reference("min2024", "App. E.1"),
    r"The run is a Caratheodory solution: $\theta(t) = \theta(0) + \int_0^t F(\theta(s))\, ds$.",
    hypotheses=(assumed(CORRELATED), LOSS, RELU, BALANCED, NONZERO_NEURONS),
    conclusions=(Conclusion("residual", "residual of the integral equation by quadrature", _caratheodory_residual),),
    parameters=(
        Parameter("rtol", 1e-10, "allowed relative residual of four-node quadrature; 5e-13 was measured", low=0.0),
    ),
    plan=_quadrature_plan,
    setting=replace(SETTING, width=4, scale="1e-8"),
    example=EXAMPLE,
    departs="The notion is defined for any right-hand side; it is judged where App. E.2 proves that such solutions "
    "exist. Elsewhere neurons slide, and the run is a solution of the inclusion only.",
)


# Inequality (50) ------------------------------------------------------------------------------------------------------


def _sublevel_growth(evidence: Evidence) -> Values:
    """|grad L|/(X_max L(0) |theta|), at most 1 on the sublevel set of L(0)."""
    bound = data_constants(evidence).largest_norm * evidence.problem.initial_loss
    for moment in moments(evidence):
        w, a = moment.network.w / moment.gauge, moment.network.a / moment.gauge
        size = math.sqrt(float(np.sum(a**2) + np.sum(w**2)))
        yield math.sqrt(moment.gauged_gradient_square) / (bound * size)


EQ_50 = Theorem(
    "min2024:eq50",
    Reference("min2024", "Eq. (50), App. E.5"),
    r"On the sublevel set of $L(0)$, $|\nabla L| \le X_{\max} L(0)|\theta|$.",
    hypotheses=(LOSS, assumed(UNIT_FORCE), assumed(SUMMED_LOSS)),
    conclusions=(
        Conclusion(
            "growth",
            r"$|\nabla L|$ over $X_{\max} L(0)|\theta|$",
            AtMost(
                _sublevel_growth,
                1.0,
                words=r"largest $|\nabla L|$ over $X_{{\max}} L(0)|\theta|$ is {measured:.6g}",
                without="no snapshot",
            ),
        ),
    ),
    plan=_short_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E11: the set with $s_j a_j > 0$ is not closed, $s_j a_j \ge 0$ is; the estimate's last line lacks a "
    r"square.",
)
