"""Differential inequalities of the alignment phase, held against runs: D.3, Eqs. (8), (32), (33), (36), (39).

Where the paper bounds a derivative, the run is held against the integrated bound between recorded times: this needs no
difference quotient and cannot miss what happens in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.geometry.thresholds import AlignmentConstants
from reluflow.theory.boursier2024.alignment_regime import (
    Bound,
    alpha_of,
    bend_bound,
    bring_to,
    just_below_lambda_star,
    log_output_bound,
    met_at_start,
    on_run,
    settled_before_tau,
    settling_time,
    settling_time_with_saddles,
    start_of,
    states_of,
    tau_of,
)
from reluflow.theory.boursier2024.neuron_states import NeuronStates
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, at_least, at_most, need, nothing
from reluflow.theory.theorem import Constants

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


def compared(exact: float, forgiving: float, detail: str) -> Measurement:
    """The slack is that of the recorded numbers; it may fall short of 0 by what `BACKWARD` at both ends explains."""
    return Measurement(forgiving >= 0.0, exact, 0.0, exact, detail)


def bent_speed(speeds: FloatArray, bend: float) -> FloatArray:
    """c_j = sqrt(|D|^2 - 2 |D| lambda^(2 - 4 eps) S) of Eq. (36); 0 where the bend takes all of it."""
    return np.sqrt(np.maximum(speeds**2 - 2.0 * speeds * bend, 0.0))


def _stretches(evidence: Evidence) -> Iterator[tuple[NeuronStates, NeuronStates, BoolArray]]:
    """Consecutive recorded times with the living neurons that met no boundary in between."""
    states = states_of(evidence)
    events = evidence.run.events
    for before, after in pairwise(states):
        is_between = (events.times >= before.time) & (events.times <= after.time)
        undisturbed = np.ones(before.network.num_neurons, dtype=bool)
        undisturbed[events.neurons[is_between]] = False
        same = np.all(before.patterns == after.patterns, axis=1)
        yield before, after, undisturbed & same & ~before.is_dead


@on_run
def _output_squares(evidence: Evidence, constants: AlignmentConstants) -> Measurement:
    """sum_j a_j^2 stays below lambda^(2 - 4 eps), that is t_1 >= tau."""
    largest = max(states.log_squares for states in states_of(evidence))
    return at_most(largest, log_output_bound(evidence), detail=f"ln sum a^2 reaches {largest:.6g}")


@on_run
def _gronwall(evidence: Evidence, constants: AlignmentConstants) -> Measurement:
    """|ln(|a_j(t)|/|a_j(0)|)| <= t (D_max + lambda^(2 - 4 eps) S)."""
    start, rate = start_of(evidence).log_outputs, constants.d_max + bend_bound(evidence, constants)
    excess = [
        float(np.max(np.abs(states.log_outputs - start))) - states.time * rate for states in states_of(evidence)[1:]
    ]
    return at_most(max(excess), 0.0, allowance=1e-12, detail=f"largest excess {max(excess):.4g} over t (D_max + bend)")


@on_run
def _small_outputs(evidence: Evidence, constants: AlignmentConstants) -> Measurement:
    """c sum_k |h(x_k)| |x_k| <= lambda^(2 - 4 eps) S, in logarithms."""
    largest = max(states.log_budget for states in states_of(evidence))
    return at_most(largest, log_output_bound(evidence) + math.log(constants.mean_square))


@on_run
def _sketch_equation(evidence: Evidence, constants: AlignmentConstants) -> Measurement:
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
def _lower_bound(evidence: Evidence, constants: AlignmentConstants) -> Measurement:
    """Eq. (32) integrated over every stretch between recorded times on which a neuron met no boundary."""
    bend, slack, count = bend_bound(evidence, constants), (np.inf, np.inf), 0
    for before, after, kept in _stretches(evidence):
        slack = _smaller(slack, before, after, kept, bend)
        count += int(np.sum(kept))
    need(count != 0, "no neuron stayed in one cone between two recorded times")
    detail = f"<w/a, D> exceeds the integrated bound by {slack[0]:.4g} or more, {count} stretches"
    return compared(*slack, detail)


def _smaller(
    slack: tuple[float, float], before: NeuronStates, after: NeuronStates, kept: BoolArray, bend: float
) -> tuple[float, float]:
    """The slack so far, exact and forgiving, or that of <w/a, D> over its bound from `before` to `after` if less."""
    speeds, start, end = before.speeds[kept], before.alignments[kept], after.alignments[kept]
    c, duration, error = bent_speed(speeds, bend), after.time - before.time, BACKWARD * speeds
    exact = float(np.min(end - riccati(start, c, duration), initial=np.inf))
    forgiving = float(np.min(end + error - riccati(start - error, c, duration), initial=np.inf))
    return min(slack[0], exact), min(slack[1], forgiving)


def _met(evidence: Evidence) -> BoolArray:
    return met_at_start(evidence, alpha_of(evidence))


def _ended(states: NeuronStates, start: NeuronStates) -> BoolArray:
    """Eq. (33), or Eq. (34): opposite to D in a cone that is not the first one."""
    has_moved = np.any(states.patterns != start.patterns, axis=1)
    return np.asarray(states.is_final | ((states.sides == -states.signs) & has_moved))


def _first_times(evidence: Evidence) -> FloatArray:
    """First recorded time at which each neuron has ended, infinite if never."""
    states = states_of(evidence)
    times = np.full(evidence.network.num_neurons, np.inf)
    for here in reversed(states):
        times[_ended(here, states[0])] = here.time
    return times


def _settles_by(bound: Bound) -> Callable[[Evidence], Measurement]:
    @on_run
    def measure(evidence: Evidence, constants: AlignmentConstants) -> Measurement:
        times = _first_times(evidence)[_met(evidence)]
        need(times.size != 0, "no neuron satisfies the condition at the start")
        return at_most(float(np.max(times)), bound(constants, evidence))

    return measure


@on_run
def _steady_ascent(evidence: Evidence, constants: AlignmentConstants) -> Measurement:
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
    need(count != 0, "every neuron has ended at the first recorded time after 0")
    return at_least(worst, rate, detail=f"slowest ascent {worst:.6g} against {rate:.6g}, {count} stretches")


def _after_settling(evidence: Evidence) -> Iterator[tuple[NeuronStates, NeuronStates, BoolArray]]:
    """Pairs (entry, later) of recorded times with the living neurons that are in their last cone from `entry` on."""
    states, times, met = states_of(evidence), _first_times(evidence), _met(evidence)
    for index, entry in enumerate(states):
        new = met & (times == entry.time) & ~entry.is_dead & (entry.sides == entry.signs)
        if np.any(new):
            for later in states[index + 1 :]:
                yield entry, later, new


@on_run
def _hyperbolic(evidence: Evidence, constants: AlignmentConstants) -> Measurement:
    """<w/a, D> >= c_j tanh(c_j (t - t_0)), t_0 from equality at the first recorded time in the last cone."""
    bend, slack = bend_bound(evidence, constants), (np.inf, np.inf)
    for entry, later, new in _after_settling(evidence):
        slack = _smaller(slack, entry, later, new, bend)
    need(not np.isinf(slack[1]), "no neuron with the condition is alive in its last cone before tau")
    return compared(*slack, f"<w/a, D> exceeds c_j tanh by {slack[0]:.4g} or more")


@on_run
def _exponential(evidence: Evidence, constants: AlignmentConstants) -> Measurement:
    """<w/a, D> >= c_j (1 - 4/min(alpha_min, alpha_0)^2 exp(-c_j (t - t_2)))."""
    bend, worst = bend_bound(evidence, constants), np.inf
    factor = 4.0 / min(constants.alpha_min, alpha_of(evidence)) ** 2
    for entry, later, new in _after_settling(evidence):
        c = bent_speed(entry.speeds[new], bend)
        bound = c * (1.0 - factor * np.exp(-c * (later.time - entry.time)))
        worst = min(worst, float(np.min(later.alignments[new] - bound)))
    need(not np.isinf(worst), "no neuron with the condition is alive in its last cone before tau")
    return at_least(worst, 0.0, allowance=1e-14)


def _several_lifetimes(constants: AlignmentConstants, evidence: Evidence) -> float:
    """ln lambda below Eq. (22) for which tau is ten times 1/|D| of the shortest extremal vector."""
    shortest = float(np.min(evidence.facts.extremal.norms, initial=constants.d_max))
    lifetimes = -10.0 * constants.d_max / (shortest * evidence.parameter("eps"))
    return min(just_below_lambda_star(constants, evidence), lifetimes)


_eq8_log_scale = bring_to(just_below_lambda_star)


def _appd_3_predictions(evidence: Evidence) -> Constants:
    return {"tau": tau_of(evidence)}


_eq33_log_scale = bring_to(settled_before_tau(settling_time))
_eq36_log_scale = bring_to(_several_lifetimes)
_eq39_log_scale = bring_to(settled_before_tau(settling_time_with_saddles))
