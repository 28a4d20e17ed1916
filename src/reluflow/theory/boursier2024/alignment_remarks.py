"""Remarks 1, 2 and 4, Example 1 and the elementary inequalities of App. D.7 [boursier2024]."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.geometry.thresholds import AlignmentConstants
from reluflow.theory.boursier2024.alignment_inequalities import BACKWARD, bent_speed, compared, riccati
from reluflow.theory.boursier2024.alignment_regime import (
    alpha_of,
    bend_bound,
    bring_to,
    just_below_lambda_star,
    on_run,
    start_of,
    states_of,
)
from reluflow.theory.boursier2024.neuron_states import (
    ON_BOUNDARY,
    NeuronStates,
    satisfies_condition_1,
    satisfies_condition_2,
)
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Companion, Evidence, FlowPlan, kept
from reluflow.theory.measurement import Measurement, at_least, at_most, need
from reluflow.theory.stating import hypothesis
from reluflow.theory.theorem import Constants


@kept
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


@hypothesis("generic-start", "no neuron starts exactly opposite to its D, as almost surely")
def _start_is_generic(evidence: Evidence) -> Judgement:
    needed = _needed_alpha(evidence)
    if needed is None:
        return Judgement(True, None, "every neuron is dead at the start")
    return Judgement(needed > ON_BOUNDARY, needed, f"the neuron closest to -D has sine {needed:.3g}")


@on_run
def _not_faster(evidence: Evidence, constants: AlignmentConstants) -> Measurement:
    """Until its first boundary <w/a, D> is at most the solution of f' = |D|^2 - f^2 + 2 |D| lambda^(2-4eps) S."""
    start, events, bend = start_of(evidence), evidence.run.events, bend_bound(evidence, constants)
    first = np.full(evidence.network.num_neurons, np.inf)
    np.minimum.at(first, events.neurons, events.times)
    exact, forgiving, count = np.inf, np.inf, 0
    for states in states_of(evidence)[1:]:
        same = np.all(states.patterns == start.patterns, axis=1) & ~start.is_dead & (states.time < first)
        speeds, before, after = start.speeds[same], start.alignments[same], states.alignments[same]
        c, error = np.sqrt(speeds**2 + 2.0 * speeds * bend), BACKWARD * speeds
        exact = min(exact, float(np.min(riccati(before, c, states.time) - after, initial=np.inf)))
        raised = riccati(before + error, c, states.time) + error - after
        forgiving, count = min(forgiving, float(np.min(raised, initial=np.inf))), count + int(np.sum(same))
    need(count != 0, "every neuron meets a boundary before the first recorded time")
    return compared(exact, forgiving, f"the law exceeds <w/a, D> by {exact:.4g} or more, {count} stretches")


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
def _never_zero(evidence: Evidence, constants: AlignmentConstants) -> Measurement:
    """ln |w_j(t)| >= ln |w_j(0)| - t (D_max + lambda^(2-4eps) S)."""
    rate, start = constants.d_max + bend_bound(evidence, constants), _log_lengths(start_of(evidence))
    slacks = [float(np.min(_log_lengths(s) - start)) + s.time * rate for s in states_of(evidence)[1:]]
    return at_least(min(slacks), 0.0, allowance=1e-12, detail=f"least slack of ln|w| {min(slacks):.4g}")


@on_run
def _stays_positive(evidence: Evidence, constants: AlignmentConstants) -> Measurement:
    """<w/a, D> of neurons that start with it positive stays above its start, or above c_j once it has passed that."""
    start, bend = start_of(evidence), bend_bound(evidence, constants)
    met = satisfies_condition_2(start)
    need(np.any(met), "no neuron starts with <w/a, D> > 0")
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


@hypothesis("one-sample", "one sample in dimension 1")
def _one_sample(evidence: Evidence) -> Judgement:
    n, d = evidence.dataset.n, evidence.dataset.d
    return Judgement((n, d) == (1, 1), None, f"{n} samples in dimension {d}")


def _waiting_plan(evidence: Evidence) -> FlowPlan:
    """From w = 0 and a y > 0, the size of the given network: one run that stays where it can and one that leaves."""
    until = evidence.parameter("until")
    times = tuple(np.linspace(0.0, until, 4).tolist())
    force = float(evidence.loss.label_forces(evidence.dataset.y)[0])
    network = evidence.network.replace(
        w=np.zeros_like(evidence.network.w), a=np.sign(force) * np.abs(evidence.network.a)
    )
    return FlowPlan(
        times=times,
        ridge="stay",
        companions=(
            Companion("staying", network, times, ridge="stay"),
            Companion("leaving", network, times, ridge="positive" if evidence.dataset.X[0, 0] > 0.0 else "negative"),
        ),
    )


def _farthest(evidence: Evidence, name: str) -> float | None:
    """The largest |w|/|a| of a companion at its last snapshot."""
    run = evidence.companions.get(name)
    if run is None or not run.snapshots:
        return None
    last = run.snapshots[-1].network
    return float(np.max(np.abs(last.w) / np.abs(last.a)[:, None]))


def _stays(evidence: Evidence) -> Measurement:
    farthest = need(_farthest(evidence, "staying"), "no run from w = 0 that stays was made")
    return at_most(farthest, 0.0, detail=f"|w|/|a| = {farthest:.3g} at the end with the policy to stay")


def _leaves(evidence: Evidence) -> Measurement:
    """The other solution, w = a(0) sinh(t r x) while the output is small, is away from 0 at once."""
    farthest = need(_farthest(evidence, "leaving"), "no run from w = 0 that leaves was made")
    return at_least(farthest, 1e-6, detail=f"|w|/|a| = {farthest:.6g} at the end with the policy to leave")


QUARTER, INVERSE_E, UNIT = "quarter", "inverse_e", "unit"


def _constants(evidence: Evidence) -> Mapping[str, float]:
    return evidence.witness("constants", lambda: {QUARTER: 0.25, INVERSE_E: math.exp(-1.0), UNIT: 1.0})


def _hyperbolic_bounds(evidence: Evidence) -> Measurement:
    """1 - exp(-x) <= c tanh x <= exp(x) - 1 with c = 1, the only one; both differences without cancellation."""
    x = np.concatenate([np.linspace(-30.0, 30.0, 2001), np.geomspace(1e-8, 1.0, 200), -np.geomspace(1e-8, 1.0, 200)])
    tanh = _constants(evidence)[UNIT] * np.tanh(x)
    above, below = np.expm1(x) - tanh, tanh + np.expm1(-x)
    return at_least(float(min(np.min(above), np.min(below))), 0.0, allowance=1e-15)


def _root_bound(evidence: Evidence) -> Measurement:
    """1 - sqrt((1-x)/(1-x/2)) >= x/4 on [0, 1], divided by x."""
    x = np.concatenate([np.geomspace(1e-8, 1e-2, 200), np.linspace(1e-2, 1.0, 2000)])
    ratio = (1.0 - x) / (1.0 - 0.5 * x)
    left = (0.5 * x / (1.0 - 0.5 * x)) / (1.0 + np.sqrt(ratio))  # 1 - sqrt(ratio), multiplied out
    return at_least(float(np.min(left / x)), _constants(evidence)[QUARTER], allowance=1e-15)


def _entropy_bound(evidence: Evidence) -> Measurement:
    x = np.concatenate([np.geomspace(1e-300, 1.0, 2000), math.exp(-1.0) * (1.0 + np.linspace(-1e-3, 1e-3, 201))])
    return at_most(float(np.max(-x * np.log(x))), _constants(evidence)[INVERSE_E], allowance=1e-15)


_remark1_log_scale = bring_to(just_below_lambda_star)
