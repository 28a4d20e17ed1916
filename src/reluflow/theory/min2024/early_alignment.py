"""Theorem 1 and the remarks after it: alignment by t_1, traps, the 1/t loss, low rank [min2024]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.geometry.alignment import align
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, all_of, at_least, at_most, missing, need, none_of, nothing
from reluflow.theory.min2024.class_neurons import groups
from reluflow.theory.min2024.constants import data_constants, proof_constants
from reluflow.theory.min2024.fitting import PLANE, stable_rank
from reluflow.theory.min2024.growth import fit_bound
from reluflow.theory.min2024.landmarks import fitted_time, last_fitted_time
from reluflow.theory.min2024.moving_neurons import DEAD, cones_of, moments, moments_from
from reluflow.theory.min2024.patterns import alignment_time, pattern_history
from reluflow.theory.theorem import Constants

NUM_DRAWS = 4000
ALONG = 1e-9  # radians: below this a draw is along an aggregate


def _classified(evidence: Evidence) -> Measurement:
    """Neurons outside both traps at the first snapshot from t_1 on."""
    found = need(moments_from(evidence, proof_constants(evidence).t_1), "no snapshot at t_1")
    first = found[0]
    outside = int(np.sum((first.cones != DEAD) & (first.cones != first.signs)))
    counts = {name: int(np.sum(first.cones == code)) for name, code in (("S_+", 1), ("S_-", -1), ("S_dead", 0))}
    return none_of(outside, detail=f"{outside} neurons outside their traps at t_1; {counts}")


def _active_ones_survive(evidence: Evidence) -> Measurement:
    """A neuron active on an own sample at the start is in its cone at t_1."""
    found = need(moments_from(evidence, proof_constants(evidence).t_1), "no snapshot at t_1")
    data, network = data_constants(evidence), evidence.network
    z = network.pre_activations(data.X)
    signs = np.sign(network.a)
    own = data.y[None, :] == signs[:, None]
    starts_active = np.any((z > 0.0) & own, axis=1)
    lost = int(np.sum(starts_active & (found[0].cones != signs)))
    return none_of(lost, total=int(np.sum(starts_active)))


def _one_way(evidence: Evidence) -> Measurement:
    signs, y = np.sign(evidence.network.a), evidence.dataset.y
    flips = pattern_history(evidence).flips
    wrong = sum(1 for flip in flips if flip.is_gain != (signs[flip.neuron] == y[flip.sample]))
    return none_of(wrong, total=len(flips))


def _trapped(evidence: Evidence) -> Measurement:
    found = moments_from(evidence, proof_constants(evidence).t_1)
    need(len(found) >= 2, "two snapshots after t_1")
    lost = sum(int(np.sum(moment.cones != found[0].cones)) for moment in found[1:])
    return none_of(lost, detail=f"{lost} changes of cone over {len(found)} snapshots after t_1")


def _within_window(evidence: Evidence) -> Measurement:
    """T <= t_2 <= (39); the slack is the smaller distance."""
    times = [(fitted_time(evidence, group.sign), fit_bound(evidence, group.sign)) for group in groups(evidence)]
    if not times or any(time is None for time, _ in times):
        return missing("the run did not reach t_2")
    horizon = proof_constants(evidence).horizon
    slack = min(min(t - horizon, bound - t) for t, bound in times if t is not None)
    latest = max(t for t, _ in times if t is not None)
    words = f"t_2 = {latest:.8g} in [{horizon:.8g}, {max(bound for _, bound in times):.8g}]"
    return at_least(slack, 0.0, detail=words)


def _limit_rank(evidence: Evidence) -> Measurement:
    """Stable rank at the last snapshot; Theorem 1 says at most 2 in the limit."""
    if evidence.dataset.d < 3:
        return nothing(PLANE)
    return at_most(stable_rank(moments(evidence)[-1].network.w), 2.0)


def _predictions(evidence: Evidence) -> Constants:
    found: dict[str, float] = {
        "t_2_at_most": max(fit_bound(evidence, s) for s in (1, -1) if data_constants(evidence).count(s))
    }
    if evidence.trajectory is not None:
        found["alignment_time"] = alignment_time(evidence)
        latest = last_fitted_time(evidence)
        if latest is not None:
            found["t_2"] = latest
    return found


def _refined(evidence: Evidence) -> Measurement:
    """Smallest cos(w_j, x_+-) at the first snapshot from t_2^+- on."""
    cosines = []
    for group in groups(evidence):
        later = [moment for moment in group.moments if group.fitted is not None and moment.time >= group.fitted]
        need(later, "the run did not reach t_2")
        unit = group.aggregate / np.linalg.norm(group.aggregate)
        cosines.append(float(np.min(later[0].directions[group.neurons] @ unit)))
    return at_least(min(cosines), 0.25) if cosines else missing("no neuron in its cone at t_1")


def _draws(evidence: Evidence) -> FloatArray:
    """Independent Gaussian directions, shape (NUM_DRAWS, d)."""
    return evidence.witness("draws", lambda: np.random.default_rng(7).standard_normal((NUM_DRAWS, evidence.dataset.d)))


def _active_frequency(evidence: Evidence) -> Measurement:
    """Frequency of being active on at least one own sample; four standard deviations of the draw are forgiven."""
    data, draws = data_constants(evidence), _draws(evidence)
    frequencies = [
        float(np.mean(np.any(draws @ data.X[data.members(s)].T > 0.0, axis=1))) for s in (1, -1) if data.count(s)
    ]
    words = f"smallest frequency {min(frequencies):.4g} in {len(draws)} draws, at least 1/2"
    return at_least(min(frequencies), 0.5, allowance=2.0 / np.sqrt(len(draws)), detail=words)


def _draws_reach_their_cone(evidence: Evidence) -> Measurement:
    """Every drawn neuron that is active on an own sample ends in its cone under (4), in closed form."""
    data, draws = data_constants(evidence), _draws(evidence)
    statements, norms = [], np.linalg.norm(draws, axis=1)
    for sign in (1, -1):
        if data.count(sign):
            active = np.any(draws @ data.X[data.members(sign)].T > 0.0, axis=1)
            ends = align(data.X, evidence.loss.label_forces(data.y), draws[active], sign * norms[active])
            wrong = int(np.sum(cones_of(ends.patterns > 0, data.y) != sign))
            statements.append((wrong == 0, f"{wrong} of {int(np.sum(active))} with sign {sign} miss their cone"))
    return all_of(statements, detail="; ".join(words for _, words in statements))


def _draws_meet_assumption_2(evidence: Evidence) -> Measurement:
    """The smallest angle of a draw to an aggregate, as the length of the difference of the unit vectors."""
    data, draws = data_constants(evidence), _draws(evidence)
    unit = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    totals = [data.total(s) / np.linalg.norm(data.total(s)) for s in (1, -1) if data.count(s)]
    smallest = min(float(np.min(np.linalg.norm(unit - total, axis=1))) for total in totals)
    return at_least(smallest, ALONG, detail=f"smallest angle of a draw to an aggregate is {smallest:.3g}")
