"""Inequalities up to tau: App. D.3, Eqs. (8) and (32), Remarks 1 and 2 [boursier2024].

Where the paper bounds a derivative, the run is held against the integrated bound between recorded times: this needs no
difference quotient and cannot miss what happens in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.geometry.thresholds import AlignmentConstants
from reluflow.papers.boursier2024.paper import SETTING, THREE_POINTS
from reluflow.papers.boursier2024.theorems.alignment_regime import (
    ALIGNMENT_SETTING,
    ALPHA_0,
    EPS,
    GENERIC_DATA,
    NONZERO,
    SMALL_SCALE,
    alignment_plan,
    alpha_of,
    bend_bound,
    log_output_bound,
    log_scale_below_star,
    on_run,
    start_of,
    states_of,
    tau_of,
)
from reluflow.papers.boursier2024.theorems.neuron_states import ON_BOUNDARY, NeuronStates, satisfies_condition_1
from reluflow.theory.comparison import Comparison, Values, at_most, judgement, require
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.hypotheses import BALANCED
from reluflow.theory.measures import AtLeast, AtMost, Constants, Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

BACKWARD = 1e-13  # of |D|: how exactly <w/a, D> is known; 1e-15 suffices on the runs it was measured on


def riccati(start: FloatArray, speed: FloatArray, duration: float) -> FloatArray:
    """f(duration) for f' = speed^2 - f^2, f(0) = start > -speed; -inf below, where f leaves every bound.

    >>> riccati(np.array([0.0]), np.array([1.0]), 1.0).round(12) == np.tanh(1.0).round(12)
    array([ True])
    """
    reach = np.tanh(speed * duration)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = speed * (start + speed * reach) / (speed + start * reach)
    return np.where(start > -speed, value, -np.inf)


def compared(slacks: Iterable[tuple[FloatArray, FloatArray]], words: str, *, without: str) -> Comparison:
    """The least slack between numbers and their bounds, exact and forgiving what `BACKWARD` at both ends explains.

    The slack is the exact one; it may fall short of 0 where the forgiving one does not.
    """
    exact, forgiving = zip(*require(list(slacks), without), strict=True)
    numbers = require(np.concatenate(exact), without)
    slack, words = float(np.min(numbers)), words.format(np.min(numbers), count=numbers.size)
    return Comparison(bool(np.min(np.concatenate(forgiving)) >= 0.0), slack, 0.0, slack, words)


def bent_speed(speeds: FloatArray, bend: float) -> FloatArray:
    """c_j = sqrt(|D|^2 - 2 |D| lambda^(2 - 4 eps) S) of Eq. (36); 0 where the bend takes all of it."""
    return np.sqrt(np.maximum(speeds**2 - 2.0 * speeds * bend, 0.0))


def slack(before: NeuronStates, after: NeuronStates, kept: BoolArray, bend: float) -> tuple[FloatArray, FloatArray]:
    """<w/a, D> over its bound from `before` to `after`, exact and forgiving."""
    speeds, start, end = before.speeds[kept], before.alignments[kept], after.alignments[kept]
    c, duration, error = bent_speed(speeds, bend), after.time - before.time, BACKWARD * speeds
    return end - riccati(start, c, duration), end + error - riccati(start - error, c, duration)


def _stretches(evidence: Evidence) -> Iterator[tuple[NeuronStates, NeuronStates, BoolArray]]:
    """Consecutive recorded times with the living neurons that met no boundary in between."""
    events = evidence.run.events
    for before, after in pairwise(states_of(evidence)):
        is_between = (events.times >= before.time) & (events.times <= after.time)
        undisturbed = np.ones(before.network.num_neurons, dtype=bool)
        undisturbed[events.neurons[is_between]] = False
        same = np.all(before.patterns == after.patterns, axis=1)
        yield before, after, undisturbed & same & ~before.is_dead


@on_run
def _gronwall(evidence: Evidence, constants: AlignmentConstants) -> Values:
    """|ln(|a_j(t)|/|a_j(0)|)| <= t (D_max + lambda^(2 - 4 eps) S)."""
    start, rate = start_of(evidence).log_outputs, constants.d_max + bend_bound(evidence, constants)
    return (np.max(np.abs(s.log_outputs - start)) - s.time * rate for s in states_of(evidence)[1:])


@on_run
def _output_squares(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """sum_j a_j^2 stays below lambda^(2 - 4 eps), that is t_1 >= tau."""
    largest = max(states.log_squares for states in states_of(evidence))
    return at_most(largest, log_output_bound(evidence), detail=rf"$\ln\,\sum_j a_j^2$ reaches {largest:.6g}")


@on_run
def _small_outputs(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """c sum_k |h(x_k)| |x_k| <= lambda^(2 - 4 eps) S, in logarithms."""
    largest = max(states.log_budget for states in states_of(evidence))
    return at_most(largest, log_output_bound(evidence) + math.log(constants.mean_square))


APP_D_3 = Theorem(
    "boursier2024:appD.3",
    Reference("boursier2024", "App. D.3"),
    r"Up to $\tau$, $|d\ln|a_j|/dt| \le D_{\max} + \lambda^{2 - 4\varepsilon} S$, hence "
    r"$\sum_j a_j^2 \le \lambda^{2 - 4\varepsilon}$ ($t_1 \ge \tau$) and outputs bend no $D$ by more than "
    r"$\lambda^{2 - 4\varepsilon} S$.",
    hypotheses=(*ALIGNMENT_SETTING, SMALL_SCALE),
    conclusions=(
        Conclusion(
            "gronwall",
            r"$|\ln(|a_j(t)|/|a_j(0)|)| \le t (D_{\max} + \lambda^{2 - 4\varepsilon} S)$",
            AtMost(
                _gronwall, 0.0, allowance=1e-12, words=r"largest excess {measured:.4g} over $t$ ($D_{{\max}}$ + bend)"
            ),
        ),
        Conclusion("t_1", r"$\sum_j a_j^2 \le \lambda^{2 - 4\varepsilon}$ up to $\tau$", _output_squares),
        Conclusion(
            "outputs", r"$c \sum_k |h(x_k)| |x_k| \le \lambda^{2 - 4\varepsilon} S$ up to $\tau$", _small_outputs
        ),
    ),
    predictions=Quantities({"tau": tau_of}),
    parameters=(EPS,),
    plan=alignment_plan,
    log_scale=log_scale_below_star,
    setting=SETTING,
    example=THREE_POINTS,
    holds_for_descent=True,
)

# Eq. (8) --------------------------------------------------------------------------------------------------------------


@on_run
def _sketch_equation(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """Both sides: d<w/a, D>/dt at the recorded states, from the forces there, against |D|^2 - <w/a, D>^2."""
    bend, worst, largest = bend_bound(evidence, constants), -np.inf, 0.0
    for states in states_of(evidence):
        alive = ~states.is_dead
        moved = np.sum(states.directions * states.bent_pulls, axis=1)
        rate = np.sum(states.pulls * states.bent_pulls, axis=1) - states.alignments * moved
        error = np.abs(rate - (states.speeds**2 - states.alignments**2))[alive]
        largest = max(largest, float(np.max(error, initial=0.0)))
        worst = max(worst, float(np.max(error - 2.0 * states.speeds[alive] * bend, initial=-np.inf)))
    detail = (
        rf"the equation is missed by at most {largest:.4g}; excess over $2 |D| \lambda^{{2 - 4\varepsilon}} S$ "
        rf"{worst:.4g}"
    )
    return at_most(worst, 0.0, allowance=1e-14, detail=detail)


EQ_8 = Theorem(
    "boursier2024:eq8",
    Reference("boursier2024", "Eq. (8)"),
    r"Up to $\tau$, $d\langle w/a, D(w, 0)\rangle/dt = |D|^2 - \langle w/a, D\rangle^2$ up to "
    r"$2 |D| \lambda^{2 - 4\varepsilon} S$, almost everywhere.",
    hypotheses=(*ALIGNMENT_SETTING, SMALL_SCALE),
    conclusions=(
        Conclusion("equation", r"the equation holds up to $2 |D| \lambda^{2 - 4\varepsilon} S$", _sketch_equation),
    ),
    parameters=(EPS,),
    plan=alignment_plan,
    log_scale=log_scale_below_star,
    setting=SETTING,
    example=THREE_POINTS,
    departs="The paper's $O$ is made explicit by the two terms of Eq. (32), which bound both sides.",
)

# Eqs. (31), (32) and (35) ---------------------------------------------------------------------------------------------


@on_run
def _lower_bound(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """Eq. (32) integrated over every stretch between recorded times on which a neuron met no boundary."""
    slacks = (slack(*stretch, bend_bound(evidence, constants)) for stretch in _stretches(evidence))
    words = r"$\langle w/a, D\rangle$ exceeds the integrated bound by {:.4g} or more, {count} stretches"
    return compared(slacks, words, without="no neuron stayed in one cone between two recorded times")


EQ_32 = Theorem(
    "boursier2024:eq32",
    Reference("boursier2024", "Eqs. (31), (32) and (35)"),
    r"Up to $\tau$, $d\langle w/a, D(w, 0)\rangle/dt \ge |D|^2 - \langle w/a, D\rangle^2 - 2 |D| \lambda^{2 - "
    r"4\varepsilon} S$ for every neuron.",
    hypotheses=(*ALIGNMENT_SETTING, SMALL_SCALE),
    conclusions=(
        Conclusion(
            "integrated", r"$\langle w/a, D\rangle$ stays above the solution of the bounding equation", _lower_bound
        ),
    ),
    parameters=(EPS,),
    plan=alignment_plan,
    log_scale=log_scale_below_star,
    setting=SETTING,
    example=THREE_POINTS,
    holds_for_descent=True,
)

EQ_31 = part(
    "boursier2024:eq31",
    "Eq. (31)",
    EQ_32,
    r"$d(w/a)/dt = D - \langle w/a, D\rangle w/a$; its product with $D$, integrated, is Eq. (32)",
)
EQ_35 = part("boursier2024:eq35", "Eq. (35)", EQ_32, "Eq. (32) after $t_2$, where $D$ is constant")

# Remark 1 -------------------------------------------------------------------------------------------------------------


@computed_once
def _needed_alpha(evidence: Evidence) -> float | None:
    """The smallest alpha_0 a living neuron needs: the length of w/a across D, of those that start against D."""
    start = start_of(evidence)
    alive = ~start.is_dead
    if not np.any(alive):
        return None
    aims = start.pulls[alive] / start.speeds[alive, None]
    along = np.sum(start.directions[alive] * aims, axis=1)
    across = np.linalg.norm(start.directions[alive] - along[:, None] * aims, axis=1)
    shorter = np.maximum(1.0 - np.sum(start.directions[alive] ** 2, axis=1), 0.0)  # dominated neurons need less
    return float(np.min(np.where(along < 0.0, np.sqrt(across**2 + shorter), 1.0)))


def _start_is_generic(evidence: Evidence) -> Comparison:
    needed = _needed_alpha(evidence)
    if needed is None:
        return judgement(True, None, "every neuron is dead at the start")
    return judgement(needed > ON_BOUNDARY, needed, f"the neuron closest to $-D$ has sine {needed:.3g}")


GENERIC_START = Hypothesis(
    "generic-start", "no neuron starts exactly opposite to its $D$, as almost surely", _start_is_generic
)


@on_run
def _not_faster(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """Until its first boundary <w/a, D> is at most the solution of f' = |D|^2 - f^2 + 2 |D| lambda^(2-4eps) S."""
    start, events, bend = start_of(evidence), evidence.run.events, bend_bound(evidence, constants)
    first, slacks = np.full(evidence.network.num_neurons, np.inf), []
    np.minimum.at(first, events.neurons, events.times)
    for states in states_of(evidence)[1:]:
        same = np.all(states.patterns == start.patterns, axis=1) & ~start.is_dead & (states.time < first)
        speeds, before, after = start.speeds[same], start.alignments[same], states.alignments[same]
        c, error = np.sqrt(speeds**2 + 2.0 * speeds * bend), BACKWARD * speeds
        raised = riccati(before + error, c, states.time) + error - after
        slacks.append((riccati(before, c, states.time) - after, raised))
    words = r"the law exceeds $\langle w/a, D\rangle$ by {:.4g} or more, {count} stretches"
    return compared(slacks, words, without="every neuron meets a boundary before the first recorded time")


def _coverage(evidence: Evidence) -> Constants:
    start = start_of(evidence)
    alive = ~start.is_dead
    excluded = alive & ~satisfies_condition_1(start, alpha_of(evidence))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = -start.alignments[alive] / start.speeds[alive]
        waits = np.where(ratio > 0.0, np.arctanh(np.minimum(ratio, 1.0)), 0.0) / start.speeds[alive]
    return {
        "fraction_excluded": float(np.sum(excluded)) / max(int(np.sum(alive)), 1),
        "longest_wait": float(np.max(waits, initial=0.0)),
        "largest_alpha_0": _needed_alpha(evidence),
    }


REMARK_1 = Theorem(
    "boursier2024:remark1",
    Reference("boursier2024", "Remark 1"),
    r"As $\alpha_0$ tends to 0 Condition 1(1) covers every living neuron; those near the repelling direction are "
    r"slow: $f = \langle w/a, D\rangle$ obeys $f' \le |D|^2 - f^2 + 2 |D| \lambda^{2 - 4\varepsilon} S$, so it "
    r"takes $\operatorname{artanh}(\cos)/|D|$ to turn.",
    hypotheses=(*ALIGNMENT_SETTING, GENERIC_START, SMALL_SCALE),
    conclusions=(
        Conclusion("slow", "no neuron turns faster than the law says before it meets a boundary", _not_faster),
    ),
    constants=_coverage,
    parameters=(EPS, ALPHA_0),
    plan=alignment_plan,
    log_scale=log_scale_below_star,
    setting=SETTING,
    example=THREE_POINTS,
)

# Remark 2 -------------------------------------------------------------------------------------------------------------


def _log_lengths(states: NeuronStates) -> FloatArray:
    """ln |w_j|, the scale included, shape (m,)."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.linalg.norm(states.directions, axis=1)) + states.log_outputs)


@on_run
def _never_zero(evidence: Evidence, constants: AlignmentConstants) -> Values:
    """ln |w_j(t)| >= ln |w_j(0)| - t (D_max + lambda^(2-4eps) S)."""
    rate, start = constants.d_max + bend_bound(evidence, constants), _log_lengths(start_of(evidence))
    return (np.min(_log_lengths(s) - start) + s.time * rate for s in states_of(evidence)[1:])


REMARK_2 = Theorem(
    "boursier2024:remark2",
    Reference("boursier2024", "Remark 2"),
    r"Balanced neurons never vanish: $|w_j(t)| \ge |w_j(0)|\, e^{-t (D_{\max} + \lambda^{2 - 4\varepsilon} S)}$ up "
    r"to $\tau$, so that Condition 1(2) is automatic.",
    hypotheses=(*GENERIC_DATA, NONZERO, BALANCED, SMALL_SCALE),
    conclusions=(
        Conclusion(
            "never-zero",
            "$|w_j|$ stays above its Gronwall bound",
            AtLeast(_never_zero, 0.0, allowance=1e-12, words=r"least slack of $\ln|w|$ {measured:.4g}"),
        ),
    ),
    parameters=(EPS,),
    plan=alignment_plan,
    log_scale=log_scale_below_star,
    setting=SETTING,
    example=THREE_POINTS,
    holds_for_descent=True,
)
