"""Inequalities of the alignment phase: D.3, D.7, Eqs. (8), (32) to (39), Remarks 1, 2, 4 and Example 1 [boursier2024].

Where the paper bounds a derivative, the run is held against the integrated bound between recorded times: this needs no
difference quotient and cannot miss what happens in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.geometry.thresholds import AlignmentConstants
from reluflow.theory.boursier2024 import alignment_regime as regime
from reluflow.theory.boursier2024.alignment_regime import alpha_of, bend_bound, on_run, start_of, states_of
from reluflow.theory.boursier2024.neuron_states import (
    ON_BOUNDARY,
    NeuronStates,
    satisfies_condition_1,
    satisfies_condition_2,
)
from reluflow.theory.comparison import Comparison, Values, at_least, at_most, judgement, nothing, require
from reluflow.theory.evidence import Evidence, computed_once, drawn
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.measures import Constants

BACKWARD = 1e-13  # of |D|: how exactly <w/a, D> is known; 1e-15 suffices on the runs it was measured on
NEVER_SETTLED = "no neuron with the condition is alive in its last cone before tau"


def riccati(start: FloatArray, speed: FloatArray, duration: float) -> FloatArray:
    """f(duration) for f' = speed^2 - f^2, f(0) = start > -speed; -inf below, where f leaves every bound.

    >>> riccati(np.array([0.0]), np.array([1.0]), 1.0).round(12) == np.tanh(1.0).round(12)
    array([ True])
    """
    reach = np.tanh(speed * duration)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = speed * (start + speed * reach) / (speed + start * reach)
    return np.where(start > -speed, value, -np.inf)


def compared(rooms: Iterable[tuple[FloatArray, FloatArray]], words: str, *, without: str) -> Comparison:
    """The least room between numbers and their bounds, exact and forgiving what `BACKWARD` at both ends explains.

    The slack is the exact one; it may fall short of 0 where the forgiving one does not.
    """
    exact, forgiving = zip(*require(list(rooms), without), strict=True)
    numbers = require(np.concatenate(exact), without)
    slack, words = float(np.min(numbers)), words.format(np.min(numbers), count=numbers.size)
    return Comparison(bool(np.min(np.concatenate(forgiving)) >= 0.0), slack, 0.0, slack, words)


def bent_speed(speeds: FloatArray, bend: float) -> FloatArray:
    """c_j = sqrt(|D|^2 - 2 |D| lambda^(2 - 4 eps) S) of Eq. (36); 0 where the bend takes all of it."""
    return np.sqrt(np.maximum(speeds**2 - 2.0 * speeds * bend, 0.0))


def _room(before: NeuronStates, after: NeuronStates, kept: BoolArray, bend: float) -> tuple[FloatArray, FloatArray]:
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
def _output_squares(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """sum_j a_j^2 stays below lambda^(2 - 4 eps), that is t_1 >= tau."""
    largest = max(states.log_squares for states in states_of(evidence))
    return at_most(largest, regime.log_output_bound(evidence), detail=f"ln sum a^2 reaches {largest:.6g}")


@on_run
def _gronwall(evidence: Evidence, constants: AlignmentConstants) -> Values:
    """|ln(|a_j(t)|/|a_j(0)|)| <= t (D_max + lambda^(2 - 4 eps) S)."""
    start, rate = start_of(evidence).log_outputs, constants.d_max + bend_bound(evidence, constants)
    return (np.max(np.abs(s.log_outputs - start)) - s.time * rate for s in states_of(evidence)[1:])


@on_run
def _small_outputs(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """c sum_k |h(x_k)| |x_k| <= lambda^(2 - 4 eps) S, in logarithms."""
    largest = max(states.log_budget for states in states_of(evidence))
    return at_most(largest, regime.log_output_bound(evidence) + math.log(constants.mean_square))


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
    detail = f"the equation is missed by at most {largest:.4g}; excess over 2 |D| lambda^(2-4eps) S {worst:.4g}"
    return at_most(worst, 0.0, allowance=1e-14, detail=detail)


@on_run
def _lower_bound(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """Eq. (32) integrated over every stretch between recorded times on which a neuron met no boundary."""
    rooms = (_room(*stretch, bend_bound(evidence, constants)) for stretch in _stretches(evidence))
    words = "<w/a, D> exceeds the integrated bound by {:.4g} or more, {count} stretches"
    return compared(rooms, words, without="no neuron stayed in one cone between two recorded times")


def _met(evidence: Evidence) -> BoolArray:
    return regime.met_at_start(evidence, alpha_of(evidence))


def _ended(states: NeuronStates, start: NeuronStates) -> BoolArray:
    """Eq. (33), or Eq. (34): opposite to D in a cone that is not the first one."""
    has_moved = np.any(states.patterns != start.patterns, axis=1)
    return np.asarray(states.is_final | ((states.sides == -states.signs) & has_moved))


def _first_times(evidence: Evidence) -> FloatArray:
    """First recorded time at which each neuron has ended, infinite if never."""
    states, times = states_of(evidence), np.full(evidence.network.num_neurons, np.inf)
    for here in reversed(states):
        times[_ended(here, states[0])] = here.time
    return times


@on_run
def settles_in_time(evidence: Evidence, constants: AlignmentConstants, *, saddles: bool) -> Comparison:
    """Every neuron with the condition is in its last cone by the bound on t_2 of Theorem 1, or of Theorem 3."""
    times = require(_first_times(evidence)[_met(evidence)], "no neuron satisfies the condition at the start")
    return at_most(float(np.max(times)), regime.settling_time(constants, evidence, saddles=saddles))


@on_run
def _steady_ascent(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """While a neuron has not ended, <w/a, D> gains D_min^2 min(alpha_min, alpha_0)^2 / 2 per unit of time."""
    met, states = _met(evidence), states_of(evidence)
    rate = 0.5 * (constants.d_min * min(constants.alpha_min, alpha_of(evidence))) ** 2
    worst, count = np.inf, 0
    for before, after in pairwise(states):
        still = met & ~_ended(after, states[0])
        gained = (after.alignments - before.alignments)[still] / (after.time - before.time)
        worst, count = min(worst, float(np.min(gained, initial=np.inf))), count + int(np.sum(still))
    if count == 0 and np.all(_ended(states[0], states[0])[met]):
        return nothing(f"all {int(np.sum(met))} neurons with the condition start in their last cone")
    require(count != 0, "every neuron has ended at the first recorded time after 0")
    return at_least(worst, rate, detail=f"slowest ascent {worst:.6g} against {rate:.6g}, {count} stretches")


def _after_settling(evidence: Evidence) -> Iterator[tuple[NeuronStates, NeuronStates, BoolArray]]:
    """Pairs (entry, later) of recorded times with the living neurons that are in their last cone from `entry` on."""
    states, times, met = states_of(evidence), _first_times(evidence), _met(evidence)
    for index, entry in enumerate(states):
        new = met & (times == entry.time) & ~entry.is_dead & (entry.sides == entry.signs)
        if np.any(new):
            yield from ((entry, later, new) for later in states[index + 1 :])


@on_run
def _hyperbolic(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """<w/a, D> >= c_j tanh(c_j (t - t_0)), t_0 from equality at the first recorded time in the last cone."""
    rooms = (_room(*stretch, bend_bound(evidence, constants)) for stretch in _after_settling(evidence))
    return compared(rooms, "<w/a, D> exceeds c_j tanh by {:.4g} or more", without=NEVER_SETTLED)


@on_run
def _exponential(evidence: Evidence, constants: AlignmentConstants) -> Values:
    """<w/a, D> >= c_j (1 - 4/min(alpha_min, alpha_0)^2 exp(-c_j (t - t_2)))."""
    factor = 4.0 / min(constants.alpha_min, alpha_of(evidence)) ** 2
    for entry, later, new in _after_settling(evidence):
        c = bent_speed(entry.speeds[new], bend_bound(evidence, constants))
        yield later.alignments[new] - c * (1.0 - factor * np.exp(-c * (later.time - entry.time)))


@regime.bring_to
def log_scale_of_lifetimes(constants: AlignmentConstants, evidence: Evidence) -> float:
    """ln lambda below Eq. (22) for which tau is ten times 1/|D| of the shortest extremal vector."""
    shortest = float(np.min(evidence.facts.extremal.norms, initial=constants.d_max))
    lifetimes = -10.0 * constants.d_max / (shortest * evidence.parameter("eps"))
    return min(regime.just_below_lambda_star(constants, evidence), lifetimes)


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
    return judgement(needed > ON_BOUNDARY, needed, f"the neuron closest to -D has sine {needed:.3g}")


@on_run
def _not_faster(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """Until its first boundary <w/a, D> is at most the solution of f' = |D|^2 - f^2 + 2 |D| lambda^(2-4eps) S."""
    start, events, bend = start_of(evidence), evidence.run.events, bend_bound(evidence, constants)
    first, rooms = np.full(evidence.network.num_neurons, np.inf), []
    np.minimum.at(first, events.neurons, events.times)
    for states in states_of(evidence)[1:]:
        same = np.all(states.patterns == start.patterns, axis=1) & ~start.is_dead & (states.time < first)
        speeds, before, after = start.speeds[same], start.alignments[same], states.alignments[same]
        c, error = np.sqrt(speeds**2 + 2.0 * speeds * bend), BACKWARD * speeds
        raised = riccati(before + error, c, states.time) + error - after
        rooms.append((riccati(before, c, states.time) - after, raised))
    words = "the law exceeds <w/a, D> by {:.4g} or more, {count} stretches"
    return compared(rooms, words, without="every neuron meets a boundary before the first recorded time")


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


def _log_lengths(states: NeuronStates) -> FloatArray:
    """ln |w_j|, the scale included, shape (m,)."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.linalg.norm(states.directions, axis=1)) + states.log_outputs)


@on_run
def _never_zero(evidence: Evidence, constants: AlignmentConstants) -> Values:
    """ln |w_j(t)| >= ln |w_j(0)| - t (D_max + lambda^(2-4eps) S)."""
    rate, start = constants.d_max + bend_bound(evidence, constants), _log_lengths(start_of(evidence))
    return (np.min(_log_lengths(s) - start) + s.time * rate for s in states_of(evidence)[1:])


@on_run
def _stays_positive(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """<w/a, D> of neurons that start with it positive stays above its start, or above c_j once it has passed that."""
    start, bend = start_of(evidence), bend_bound(evidence, constants)
    met = satisfies_condition_2(start)
    require(np.any(met), "no neuron starts with <w/a, D> > 0")
    least, worst = np.inf, np.inf
    for here in states_of(evidence):
        floor = np.minimum(start.alignments, bent_speed(here.speeds, bend))
        least = min(least, float(np.min(here.alignments[met])))
        worst = min(worst, float(np.min((here.alignments - floor)[met])))
    return at_least(worst, 0.0, allowance=1e-12, detail=f"{int(np.sum(met))} neurons, least <w/a, D> {least:.4g}")


def _falling_sums(evidence: Evidence) -> Constants:
    """How many neurons have |D| + <w/a, D> smaller at a later recorded time."""
    if evidence.trajectory is None:
        return {}
    sums = np.array([states.speeds + states.alignments for states in states_of(evidence)])
    return {"neurons_with_falling_sum": int(np.sum(np.any(np.diff(sums, axis=0) < -1e-9, axis=0)))}


def _one_sample(evidence: Evidence) -> Comparison:
    n, d = evidence.dataset.n, evidence.dataset.d
    return judgement((n, d) == (1, 1), None, f"{n} samples in dimension {d}")


def _waiting_plan(evidence: Evidence) -> FlowPlan:
    """From w = 0 and a y > 0, the size of the given network: one run that stays where it can and one that leaves."""
    times = tuple(np.linspace(0.0, evidence.parameter("until"), 4).tolist())
    force, given = float(evidence.loss.label_forces(evidence.dataset.y)[0]), evidence.network
    network = given.replace(w=np.zeros_like(given.w), a=np.sign(force) * np.abs(given.a))
    leaving = Companion("leaving", network, times, ridge="positive" if evidence.dataset.X[0, 0] > 0.0 else "negative")
    return FlowPlan(times, ridge="stay", companions=(Companion("staying", network, times, ridge="stay"), leaving))


def _farthest(evidence: Evidence, name: str) -> float:
    """The largest |w|/|a| of a companion at its last snapshot.

    The solution that leaves, w = a(0) sinh(t r x) while the output is small, is away from 0 at once.
    """
    without = f"no {name} run from w = 0 was made"
    last = require(require(evidence.companions.get(name), without).snapshots, without)[-1].network
    return float(np.max(np.abs(last.w) / np.abs(last.a)[:, None]))


@drawn("constants")
def _constants(evidence: Evidence) -> Mapping[str, float]:
    return {"quarter": 0.25, "inverse_e": math.exp(-1.0), "unit": 1.0}


def _hyperbolic_bounds(evidence: Evidence) -> Comparison:
    """1 - exp(-x) <= c tanh x <= exp(x) - 1 with c = 1, the only one; both differences without cancellation."""
    x = np.concatenate([np.linspace(-30.0, 30.0, 2001), np.geomspace(1e-8, 1.0, 200), -np.geomspace(1e-8, 1.0, 200)])
    tanh = _constants(evidence)["unit"] * np.tanh(x)
    above, below = np.expm1(x) - tanh, tanh + np.expm1(-x)
    return at_least(float(min(np.min(above), np.min(below))), 0.0, allowance=1e-15)


def _root_bound(evidence: Evidence) -> Comparison:
    """1 - sqrt((1-x)/(1-x/2)) >= x/4 on [0, 1], divided by x."""
    x = np.concatenate([np.geomspace(1e-8, 1e-2, 200), np.linspace(1e-2, 1.0, 2000)])
    ratio = (1.0 - x) / (1.0 - 0.5 * x)
    left = (0.5 * x / (1.0 - 0.5 * x)) / (1.0 + np.sqrt(ratio))  # 1 - sqrt(ratio), multiplied out
    return at_least(float(np.min(left / x)), _constants(evidence)["quarter"], allowance=1e-15)


def _entropy_bound(evidence: Evidence) -> Comparison:
    x = np.concatenate([np.geomspace(1e-300, 1.0, 2000), math.exp(-1.0) * (1.0 + np.linspace(-1e-3, 1e-3, 201))])
    return at_most(float(np.max(-x * np.log(x))), _constants(evidence)["inverse_e"], allowance=1e-15)
