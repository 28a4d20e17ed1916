"""Theorem 1: how small the start must be, (28), how fast neurons align, (30), traps, and random starts [min2024]."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.published.min2024 import two_points
from reluflow.geometry.alignment import align
from reluflow.theory.comparison import (
    Comparison,
    Values,
    all_of,
    at_least,
    at_most,
    fitted_slope,
    missing,
    none_of,
    nothing,
    require,
    requires,
    worst_compared,
)
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.measures import Constants
from reluflow.theory.min2024.activation_changes import Stay, alignment_time, pattern_history
from reluflow.theory.min2024.constants import (
    FIRST_FACTOR,
    data_constants,
    longest_path_by_search,
    path_length,
    proof_constants,
)
from reluflow.theory.min2024.growth import NO_FIT, fit_bound, groups
from reluflow.theory.min2024.landmarks import fitted_time, last_fitted_time
from reluflow.theory.min2024.moving_neurons import DEAD, OUTSIDE, Moment, cones_of, moments_from, moments_until
from reluflow.theory.min2024.small_outputs import log_at_most

NUM_DRAWS = 4000
ALONG = 1e-9  # radians: below this a draw is along an aggregate
ANGLES = (0.1, 0.03, 0.01, 0.003, 0.001)  # of the two samples of App. A.2; mu = sin t
AT_BOUNDARY = 1e-7  # cosine within which a snapshot at a predicted crossing stands on the hyperplane


def unit_rate(evidence: Evidence) -> float:
    """kappa sqrt(mu) X_min: every time of the alignment proof is a number over this."""
    data = data_constants(evidence)
    return proof_constants(evidence).kappa * math.sqrt(data.mu) * data.smallest_norm


def _log_output_of_29(evidence: Evidence) -> float:
    data = data_constants(evidence)
    return math.log(unit_rate(evidence) / (4.0 * data.n * data.largest_norm))


def _window_suffices(evidence: Evidence) -> Comparison:
    """t_1 <= T is exactly the second term of (28)."""
    T, t_1 = proof_constants(evidence).horizon, proof_constants(evidence).t_1
    return at_least(T, t_1, allowance=1e-9 * t_1, detail=f"T = {T:.8g}, t_1 = {t_1:.8g}")


def _first_term_implies_29(evidence: Evidence) -> float:
    """At eps equal to the first term, Lemma 3's output bound is at most (29)'s; logarithms compared."""
    factor = evidence.witness("first factor", lambda: FIRST_FACTOR)
    data, constants, m = data_constants(evidence), proof_constants(evidence), evidence.network.num_neurons
    log_scale = constants.log_first + math.log(FIRST_FACTOR / factor)
    return log_scale + math.log(2.0 * math.sqrt(m) * data.largest_norm) + 2.0 * constants.log_largest_start


def _outputs_of_29(evidence: Evidence) -> Comparison:
    found = require(moments_until(evidence, proof_constants(evidence).horizon), "no snapshot in [0, T]")
    measured, bound = max(moment.log_largest_output for moment in found), _log_output_of_29(evidence)
    return log_at_most(measured, bound, detail=f"log max|f| = {measured:.6g} against at most {bound:.6g} on [0, T]")


def _boundary_speed(evidence: Evidence) -> Comparison:
    """s_j d/dt <u_j, y_i x_i/|x_i|> at <w_j, x_i> = 0, for neurons active on some other sample."""
    data, speeds = data_constants(evidence), []
    for moment in moments_until(evidence, proof_constants(evidence).horizon):
        on = np.abs(moment.cosines) < AT_BOUNDARY
        elsewhere = np.any(moment.cosines > AT_BOUNDARY, axis=1)
        for j, i in np.argwhere(on & elsewhere[:, None]):
            pull = (np.where(moment.cosines[j] > AT_BOUNDARY, 1.0, 0.0) * moment.forces) @ data.X
            across = pull - (pull @ moment.directions[j]) * moment.directions[j]
            speeds.append(float(moment.ratios[j] * (across @ data.unit_signed[i])))
    require(speeds or not pattern_history(evidence).flips, "no snapshot holds a living neuron on a hyperplane")
    bound = data.mu**1.5 * data.smallest_norm / 2.0
    words = "slowest of {count} crossings {measured:.6g}, at least {bound:.6g}"
    return worst_compared(speeds, "at_least", bound, words=words, empty="no neuron met a hyperplane")


def _wandering(evidence: Evidence) -> list[tuple[Stay, int, int]]:
    """The stays outside the traps of their neuron that ended in [0, T], each with its cone and its neuron's sign."""
    y, signs, horizon = evidence.dataset.y, np.sign(evidence.network.a), proof_constants(evidence).horizon
    found = []
    for stay in pattern_history(evidence).stays:
        cone, sign = int(cones_of(stay.active[None, :], y)[0]), int(signs[stay.neuron])
        if cone not in (DEAD, sign) and stay.start < horizon:
            found.append((stay, cone, sign))
    return found


def _dwell(evidence: Evidence) -> Comparison:
    """Length of every stay outside the traps over 4/(kappa sqrt(mu) X_min n_a)."""
    horizon, rate = proof_constants(evidence).horizon, unit_rate(evidence)
    ratios = [(min(s.end, horizon) - s.start) * rate * s.num_active / 4.0 for s, _, _ in _wandering(evidence)]
    worst = max(ratios, default=0.0)
    return at_most(worst, 1.0, detail=f"longest of {len(ratios)} stays is {worst:.6g} of its bound")


def _seen(evidence: Evidence, ratios: list[FloatArray], where: str, chosen: Callable[[int, int], bool]) -> Comparison:
    """Speeds over their bounds, at least 1; where no snapshot shows any, not enough evidence or nothing to show."""
    if ratios:
        return worst_compared(
            ratios, "at_least", 1.0, words="smallest speed over its bound is {measured:.6g} in {count} cases"
        )
    missed = sum(chosen(cone, sign) for _, cone, sign in _wandering(evidence))
    if missed:
        return missing(f"a snapshot during one of {missed} stays {where}")
    return nothing(f"no neuron was ever {where}")


def _turning_towards(evidence: Evidence) -> Comparison:
    """(a) outside S_+, S_-, S_dead: s d/dt cos(w_j, x_a) >= xi sqrt(mu) n_a X_min/2; ratio of the two sides."""
    data, xi, ratios = data_constants(evidence), proof_constants(evidence).xi, []
    for moment in moments_until(evidence, proof_constants(evidence).horizon):
        chosen = moment.cones == OUTSIDE
        if np.any(chosen):
            sums = moment.active_sums[chosen]
            speeds = np.sum(moment.turning[chosen] * sums, axis=1) / np.linalg.norm(sums, axis=1)
            bounds = 0.5 * xi * math.sqrt(data.mu) * moment.active[chosen].sum(axis=1) * data.smallest_norm
            ratios.append(speeds * moment.signs[chosen] / bounds)
    return _seen(evidence, ratios, "outside all three cones", lambda cone, sign: cone == OUTSIDE)


def _turning_away(evidence: Evidence) -> Comparison:
    """(b) in the other sign's cone: d/dt cos(w_j, x_other) <= -zeta sqrt(mu) n_a X_min/2; ratio of the two sides."""
    data, constants, ratios = data_constants(evidence), proof_constants(evidence), []
    for moment in moments_until(evidence, constants.horizon):
        for sign in (1, -1):
            chosen = (moment.cones == -sign) & (moment.signs == sign)
            if np.any(chosen):
                other = data.total(-sign) / np.linalg.norm(data.total(-sign))
                bound = 0.5 * constants.zeta * math.sqrt(data.mu) * data.count(-sign) * data.smallest_norm
                ratios.append(-(moment.turning[chosen] @ other) / bound)
    return _seen(evidence, ratios, "in the cone of the other sign", lambda cone, sign: cone == -sign)


def _cap_not_entered(evidence: Evidence) -> Values:
    """cos(w_j, x_-) <= sqrt(1 - zeta) on [0, T] for positive neurons, mirrored for negative ones."""
    data = data_constants(evidence)
    for moment in moments_until(evidence, proof_constants(evidence).horizon):
        for other in data.classes:
            towards = data.total(other) / np.linalg.norm(data.total(other))
            yield moment.directions[moment.signs == -other] @ towards


def paths_of(evidence: Evidence) -> list[list[tuple[int, int]]]:
    """For every neuron the pairs (own active samples, other active samples) it goes through."""
    history, signs, y = pattern_history(evidence), np.sign(evidence.network.a), evidence.dataset.y
    found = []
    for j in range(evidence.network.num_neurons):
        own = y == signs[j]
        found.append([(int(np.sum(s.active & own)), int(np.sum(s.active & ~own))) for s in history.of(j)])
    return found


def _paths_are_valid(evidence: Evidence) -> Comparison:
    """Own samples are only gained, others only lost, and (0, 0) only ends a path (erratum E6)."""
    steps = [step for path in paths_of(evidence) for step in pairwise(path)]
    valid = sum(a != b and b[0] >= a[0] and b[1] <= a[1] and a != (0, 0) for a, b in steps)
    return none_of(len(steps) - valid, total=len(steps))


def _paths_end(evidence: Evidence) -> Comparison:
    data, signs = data_constants(evidence), np.sign(evidence.network.a)
    ends = [path[-1] for path in paths_of(evidence)]
    wrong = sum(1 for j, end in enumerate(ends) if end not in ((data.count(int(signs[j])), 0), (0, 0)))
    return none_of(wrong, total=len(ends))


def _travel_times(evidence: Evidence) -> Values:
    """Settling time of every neuron over the travel time of its own path; a neuron in its trap has neither."""
    rate, settled = unit_rate(evidence), pattern_history(evidence).settling_times()
    for path, time in zip(paths_of(evidence), settled, strict=True):
        travel = sum(4.0 / (rate * (own + other)) for own, other in path[:-1])
        yield float(time) / travel if travel > 0.0 else (0.0 if time == 0.0 else math.inf)


def _maximal_path(evidence: Evidence) -> Values:
    """No path is longer than the maximal one: dynamic programming against the formula."""
    data, search = data_constants(evidence), evidence.witness("longest path", lambda: longest_path_by_search)
    plus, minus = data.count(1), data.count(-1)
    return (search(a, b) - path_length(a, b) for a, b in ((plus, minus), (minus, plus)))


def aligned_by(evidence: Evidence, name: str) -> Comparison:
    """tau_align is at most the constant of this name."""
    measured, time = alignment_time(evidence), float(getattr(proof_constants(evidence), name))
    words = f"every neuron is in its trap from {measured:.6g} on, {name} = {time:.6g}"
    return at_most(measured, time, detail=words)


@drawn("alignment times")
def _times_of_two_points(evidence: Evidence) -> FloatArray:
    """The last change of pattern of 60 positive neurons spread over the circle, for each cosine sin t."""
    angles = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False) + 0.05
    w = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.array([float(np.max(align(two_points(t).X, [1.0, 1.0], w, np.ones(60)).times)) for t in ANGLES])


def _order_in_mu(evidence: Evidence) -> float:
    """Exponent in mu of the exact alignment time (vanishing scale) of two samples whose cosine mu tends to 0."""
    return fitted_slope(np.log(np.sin(ANGLES)), np.log(_times_of_two_points(evidence)))


def _aligned_moments(evidence: Evidence) -> tuple[Moment, ...]:
    return moments_from(evidence, proof_constants(evidence).t_1)


@requires(_aligned_moments, "no snapshot at t_1")
def _classified(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    """Neurons outside both traps at the first snapshot from t_1 on."""
    first = found[0]
    outside = int(np.sum((first.cones != DEAD) & (first.cones != first.signs)))
    counts = {name: int(np.sum(first.cones == code)) for name, code in (("S_+", 1), ("S_-", -1), ("S_dead", 0))}
    return none_of(outside, detail=f"{outside} neurons outside their traps at t_1; {counts}")


@requires(_aligned_moments, "no snapshot at t_1")
def _active_ones_survive(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    """A neuron active on an own sample at the start is in its cone at t_1."""
    data, signs = data_constants(evidence), np.sign(evidence.network.a)
    is_own = data.y[None, :] == signs[:, None]
    starts_active = np.any((evidence.network.pre_activations(data.X) > 0.0) & is_own, axis=1)
    lost = int(np.sum(starts_active & (found[0].cones != signs)))
    return none_of(lost, total=int(np.sum(starts_active)))


@requires(_aligned_moments, "two snapshots after t_1", at_least=2)
def _trapped(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    lost = sum(int(np.sum(moment.cones != found[0].cones)) for moment in found[1:])
    return none_of(lost, detail=f"{lost} changes of cone over {len(found)} snapshots after t_1")


def _within_window(evidence: Evidence) -> Comparison:
    """T <= t_2 <= (39); the slack is the smaller distance."""
    signs = [group.sign for group in groups(evidence)]
    times = [(require(fitted_time(evidence, sign), NO_FIT), fit_bound(evidence, sign)) for sign in signs]
    require(times, NO_FIT)
    horizon = proof_constants(evidence).horizon
    slack = min(min(t - horizon, bound - t) for t, bound in times)
    latest, longest = (max(each) for each in zip(*times, strict=True))
    return at_least(slack, 0.0, detail=f"t_2 = {latest:.8g} in [{horizon:.8g}, {longest:.8g}]")


def _predictions(evidence: Evidence) -> Constants:
    found = {"t_2_at_most": max(fit_bound(evidence, sign) for sign in data_constants(evidence).classes)}
    if evidence.trajectory is not None:
        found["alignment_time"] = alignment_time(evidence)
        latest = last_fitted_time(evidence)
        if latest is not None:
            found["t_2"] = latest
    return found


def _refined(evidence: Evidence) -> Values:
    """cos(w_j, x_+-) at the first snapshot from t_2^+- on."""
    for group in groups(evidence):
        later = [moment for moment in group.moments if group.fitted is not None and moment.time >= group.fitted]
        yield require(later, NO_FIT)[0].directions[group.neurons] @ group.unit


@drawn("draws")
def _draws(evidence: Evidence) -> FloatArray:
    """Independent Gaussian directions, shape (NUM_DRAWS, d)."""
    return np.random.default_rng(7).standard_normal((NUM_DRAWS, evidence.dataset.d))


def _active_frequency(evidence: Evidence) -> Comparison:
    """Frequency of being active on at least one own sample; four standard deviations of the draw are forgiven."""
    data, draws = data_constants(evidence), _draws(evidence)
    frequencies = [float(np.mean(np.any(draws @ data.X[data.members(s)].T > 0.0, axis=1))) for s in data.classes]
    words = f"smallest frequency {min(frequencies):.4g} in {len(draws)} draws, at least 1/2"
    return at_least(min(frequencies), 0.5, allowance=2.0 / np.sqrt(len(draws)), detail=words)


def _draws_reach_their_cone(evidence: Evidence) -> Comparison:
    """Every drawn neuron that is active on an own sample ends in its cone under (4), in closed form."""
    data, draws = data_constants(evidence), _draws(evidence)
    statements, norms = [], np.linalg.norm(draws, axis=1)
    for sign in data.classes:
        active = np.any(draws @ data.X[data.members(sign)].T > 0.0, axis=1)
        ends = align(data.X, evidence.loss.label_forces(data.y), draws[active], sign * norms[active])
        wrong = int(np.sum(cones_of(ends.patterns > 0, data.y) != sign))
        statements.append((wrong == 0, f"{wrong} of {int(np.sum(active))} with sign {sign} miss their cone"))
    return all_of(statements, detail="; ".join(words for _, words in statements))


def _draws_meet_assumption_2(evidence: Evidence) -> Values:
    """The angles of the draws to the aggregates, as lengths of differences of unit vectors."""
    data, draws = data_constants(evidence), _draws(evidence)
    unit = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    for sign in data.classes:
        yield np.linalg.norm(unit - data.total(sign) / np.linalg.norm(data.total(sign)), axis=1)
