"""How fast neurons align: boundary speed, dwell times, paths, (30) and the sharper bound [min2024]."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.published.min2024 import two_points
from reluflow.geometry.alignment import align
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, at_least, at_most, fitted_slope, missing, none_of, nothing
from reluflow.theory.min2024.constants import data_constants, longest_path_by_search, path_length, proof_constants
from reluflow.theory.min2024.moving_neurons import DEAD, OUTSIDE, cones_of, moments_until
from reluflow.theory.min2024.patterns import Stay, alignment_time, pattern_history
from reluflow.theory.min2024.scale_choice import unit_rate
from reluflow.theory.stating import hypothesis

ANGLES = (0.1, 0.03, 0.01, 0.003, 0.001)  # of the two samples of App. A.2; mu = sin t
AT_BOUNDARY = 1e-7  # cosine within which a snapshot at a predicted crossing stands on the hyperplane


def _boundary_speed(evidence: Evidence) -> Measurement:
    """s_j d/dt <u_j, y_i x_i/|x_i|> at <w_j, x_i> = 0, for neurons active on some other sample."""
    data, slowest, count = data_constants(evidence), math.inf, 0
    for moment in moments_until(evidence, proof_constants(evidence).horizon):
        on = np.abs(moment.cosines) < AT_BOUNDARY
        elsewhere = np.any(moment.cosines > AT_BOUNDARY, axis=1)
        neurons, samples = np.nonzero(on & elsewhere[:, None])
        for j, i in zip(neurons, samples, strict=True):
            slopes = np.where(moment.cosines[j] > AT_BOUNDARY, 1.0, 0.0)
            pull = (slopes * moment.forces) @ data.X
            across = pull - (pull @ moment.directions[j]) * moment.directions[j]
            slowest = min(slowest, float(moment.ratios[j] * (across @ data.unit_signed[i])))
            count += 1
    if count == 0:
        if pattern_history(evidence).flips:
            return missing("no snapshot holds a living neuron on a hyperplane")
        return nothing("no neuron met a hyperplane")
    bound = data.mu**1.5 * data.smallest_norm / 2.0
    return at_least(slowest, bound, detail=f"slowest of {count} crossings {slowest:.6g}, at least {bound:.6g}")


def _wandering(evidence: Evidence) -> list[Stay]:
    """The stays outside the traps of their neuron that ended in [0, T]."""
    y, signs, horizon = evidence.dataset.y, np.sign(evidence.network.a), proof_constants(evidence).horizon
    found = []
    for stay in pattern_history(evidence).stays:
        cone = int(cones_of(stay.active[None, :], y)[0])
        if cone != DEAD and cone != signs[stay.neuron] and stay.start < horizon:
            found.append(stay)
    return found


def _dwell(evidence: Evidence) -> Measurement:
    """Length of every stay outside the traps over 4/(kappa sqrt(mu) X_min n_a)."""
    horizon, rate = proof_constants(evidence).horizon, unit_rate(evidence)
    stays = _wandering(evidence)
    ratios = [(min(s.end, horizon) - s.start) * rate * s.num_active / 4.0 for s in stays]
    worst = max(ratios, default=0.0)
    return at_most(worst, 1.0, detail=f"longest of {len(stays)} stays is {worst:.6g} of its bound")


def _unseen(evidence: Evidence, where: str, chosen: Callable[[int, int], bool]) -> Measurement:
    """What to say of stays that no snapshot shows: nothing to show where there was none, else not enough evidence."""
    y, signs = evidence.dataset.y, np.sign(evidence.network.a)
    stays = _wandering(evidence)
    missed = [s for s in stays if chosen(int(cones_of(s.active[None, :], y)[0]), int(signs[s.neuron]))]
    if missed:
        return missing(f"a snapshot during one of {len(missed)} stays {where}")
    return nothing(f"no neuron was ever {where}")


def _turning_towards(evidence: Evidence) -> Measurement:
    """(a) outside S_+, S_-, S_dead: s d/dt cos(w_j, x_a) >= xi sqrt(mu) n_a X_min/2; ratio of the two sides."""
    data, xi = data_constants(evidence), proof_constants(evidence).xi
    smallest, count = math.inf, 0
    for moment in moments_until(evidence, proof_constants(evidence).horizon):
        chosen = moment.cones == OUTSIDE
        if np.any(chosen):
            sums = moment.active_sums[chosen]
            speeds = np.sum(moment.turning[chosen] * sums, axis=1) / np.linalg.norm(sums, axis=1)
            speeds = speeds * moment.signs[chosen]
            bounds = 0.5 * xi * math.sqrt(data.mu) * moment.active[chosen].sum(axis=1) * data.smallest_norm
            smallest, count = min(smallest, float(np.min(speeds / bounds))), count + int(np.sum(chosen))
    if count == 0:
        return _unseen(evidence, "outside all three cones", lambda cone, sign: cone == OUTSIDE)
    return at_least(smallest, 1.0, detail=f"smallest speed over its bound is {smallest:.6g} in {count} cases")


def _turning_away(evidence: Evidence) -> Measurement:
    """(b) in the other sign's cone: d/dt cos(w_j, x_other) <= -zeta sqrt(mu) n_a X_min/2; ratio of the two sides."""
    data, constants = data_constants(evidence), proof_constants(evidence)
    smallest, count = math.inf, 0
    for moment in moments_until(evidence, constants.horizon):
        for sign in (1, -1):
            chosen = (moment.cones == -sign) & (moment.signs == sign)
            if np.any(chosen):
                other = data.total(-sign) / np.linalg.norm(data.total(-sign))
                bound = 0.5 * constants.zeta * math.sqrt(data.mu) * data.count(-sign) * data.smallest_norm
                smallest = min(smallest, float(np.min(-(moment.turning[chosen] @ other))) / bound)
                count += int(np.sum(chosen))
    if count == 0:
        return _unseen(evidence, "in the cone of the other sign", lambda cone, sign: cone == -sign)
    return at_least(smallest, 1.0, detail=f"smallest speed over its bound is {smallest:.6g} in {count} cases")


def _cap_not_entered(evidence: Evidence) -> Measurement:
    """cos(w_j, x_-) <= sqrt(1 - zeta) on [0, T] for positive neurons, mirrored for negative ones."""
    data, constants = data_constants(evidence), proof_constants(evidence)
    largest = -math.inf
    for moment in moments_until(evidence, constants.horizon):
        for sign in (1, -1):
            chosen = moment.signs == sign
            if data.count(-sign) and np.any(chosen):
                other = data.total(-sign) / np.linalg.norm(data.total(-sign))
                largest = max(largest, float(np.max(moment.directions[chosen] @ other)))
    bound = math.sqrt(1.0 - constants.zeta)
    return at_most(largest, bound, allowance=1e-12, detail=f"largest cosine {largest:.9g}, at most {bound:.9g}")


def paths_of(evidence: Evidence) -> list[list[tuple[int, int]]]:
    """For every neuron the pairs (own active samples, other active samples) it goes through."""
    history, signs, y = pattern_history(evidence), np.sign(evidence.network.a), evidence.dataset.y
    found = []
    for j in range(evidence.network.num_neurons):
        own = y == signs[j]
        found.append([(int(np.sum(s.active & own)), int(np.sum(s.active & ~own))) for s in history.of(j)])
    return found


def _paths_are_valid(evidence: Evidence) -> Measurement:
    """Own samples are only gained, others only lost, and (0, 0) only ends a path (erratum E6)."""
    wrong, total = 0, 0
    for path in paths_of(evidence):
        for (own, other), (own_next, other_next) in pairwise(path):
            total += 1
            moves = (own_next, other_next) != (own, other)
            wrong += int(not (own_next >= own and other_next <= other and moves and (own, other) != (0, 0)))
    return none_of(wrong, total=total)


def _paths_end(evidence: Evidence) -> Measurement:
    data, signs = data_constants(evidence), np.sign(evidence.network.a)
    ends = [path[-1] for path in paths_of(evidence)]
    wrong = sum(1 for j, end in enumerate(ends) if end not in ((data.count(int(signs[j])), 0), (0, 0)))
    return none_of(wrong, total=len(ends))


def _travel_times(evidence: Evidence) -> Measurement:
    """Settling time of every neuron over the travel time of its own path; a neuron in its trap has neither."""
    rate, settled = unit_rate(evidence), pattern_history(evidence).settling_times()
    worst = -np.inf
    for path, time in zip(paths_of(evidence), settled, strict=True):
        travel = sum(4.0 / (rate * (own + other)) for own, other in path[:-1])
        worst = max(worst, float(time) / travel if travel > 0.0 else (0.0 if time == 0.0 else math.inf))
    return at_most(worst, 1.0, detail=f"largest settling time over travel time is {worst:.6g}")


def _maximal_path(evidence: Evidence) -> Measurement:
    """No path is longer than the maximal one: dynamic programming against the formula."""
    data, search = data_constants(evidence), evidence.witness("longest path", lambda: longest_path_by_search)
    plus, minus = data.count(1), data.count(-1)
    excess = max(search(a, b) - path_length(a, b) for a, b in ((plus, minus), (minus, plus)))
    return at_most(
        excess, 0.0, allowance=1e-12, detail=f"the longest path by search exceeds the formula by {excess:.3g}"
    )


def aligned_by(evidence: Evidence, name: str) -> Measurement:
    """tau_align is at most the constant of this name."""
    measured, time = alignment_time(evidence), float(getattr(proof_constants(evidence), name))
    words = f"every neuron is in its trap from {measured:.6g} on, {name} = {time:.6g}"
    return at_most(measured, time, detail=words)


@hypothesis("two-samples", "n >= 2: for n = 1 the formula gives t_1 = 0 (erratum E7)")
def _at_least_two(evidence: Evidence) -> Judgement:
    n = evidence.dataset.n
    return Judgement(n >= 2, float(n - 2), f"n = {n}")


def _order_in_mu(evidence: Evidence) -> Measurement:
    """Exponent in mu of the exact alignment time (vanishing scale) of two samples whose cosine mu tends to 0."""
    times = evidence.witness("alignment times", _times_of_two_points)
    exponent = fitted_slope(np.log(np.sin(ANGLES)), np.log(times))
    return at_least(exponent, -0.5, detail=f"the alignment time scales like mu^{exponent:.4g}, claimed mu^(-1/2)")


def _times_of_two_points() -> FloatArray:
    """The last change of pattern of 60 positive neurons spread over the circle, for each cosine sin t."""
    angles = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False) + 0.05
    w = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.array([float(np.max(align(two_points(t).X, [1.0, 1.0], w, np.ones(60)).times)) for t in ANGLES])
