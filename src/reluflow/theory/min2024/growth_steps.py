"""The steps between t_1 and t_2: forces (40), turning (37), cosines and growth of the norms [min2024]."""

from __future__ import annotations

import math

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, at_least, at_most, missing, need, nothing
from reluflow.theory.min2024.class_neurons import Group, groups
from reluflow.theory.min2024.constants import data_constants, proof_constants


def _forces_are_near_one(evidence: Evidence) -> Measurement:
    """(40): the largest distance of |g_i| from 1 on [t_1, t_2^+-], at most 1/2."""
    gaps = [
        float(np.max(np.abs(group.own_forces(moment) - 1.0))) for group in groups(evidence) for moment in group.growing
    ]
    need(gaps, "no snapshot in [t_1, t_2]")
    return at_most(max(gaps), 0.5, detail=f"|g_i| stays within {max(gaps):.6g} of 1, allowed 1/2")


def _weighted_cosine(evidence: Evidence) -> Measurement:
    cosines = [
        float(_cosine(group.aggregate, group.weighted_sum(moment)))
        for group in groups(evidence)
        for moment in group.growing
    ]
    return at_least(min(cosines), 1.0 / 3.0) if cosines else missing("no snapshot in [t_1, t_2]")


def _weighted_length(evidence: Evidence) -> Measurement:
    """|x~_a| over |x_+-|/2 on [t_1, t_2^+-]."""
    ratios = [
        2.0 * float(np.linalg.norm(group.weighted_sum(moment)) / np.linalg.norm(group.aggregate))
        for group in groups(evidence)
        for moment in group.growing
    ]
    need(ratios, "no snapshot in [t_1, t_2]")
    return at_least(min(ratios), 1.0, detail=f"smallest |x~_a| over |x_+-|/2 is {min(ratios):.6g}")


def _aggregate_length(evidence: Evidence) -> Measurement:
    """|x_+-| over sqrt(mu) n_+- X_min, by Lemma 11."""
    data = data_constants(evidence)
    ratios = [float(np.linalg.norm(data.total(s))) / data.speed(s) for s in (1, -1) if data.count(s)]
    return at_least(min(ratios), 1.0, allowance=1e-12, detail=f"smallest |x_+-| over its bound is {min(ratios):.6g}")


def _cosine(one: FloatArray, two: FloatArray) -> float:
    return float(one @ two / (np.linalg.norm(one) * np.linalg.norm(two)))


def _cosines(group: Group, directions: FloatArray) -> FloatArray:
    return np.asarray(directions[group.neurons] @ group.aggregate / np.linalg.norm(group.aggregate))


def _turning_inequality(evidence: Evidence) -> Measurement:
    """(37) wherever cos <= 1/3, as a difference over sqrt(mu) n_+- X_min/2; elsewhere nothing is claimed (E10).

    Neurons are also tried at directions of their cone with a small cosine, where the inequality bites.
    """
    smallest, count = math.inf, 0
    for group in groups(evidence):
        half = 0.5 * data_constants(evidence).speed(group.sign)
        unit = group.aggregate / np.linalg.norm(group.aggregate)
        for moment in group.growing:
            pull = group.weighted_sum(moment)
            directions = np.vstack([moment.directions[group.neurons], _wide_directions(evidence, group)])
            cosines = directions @ unit
            chosen = cosines <= 1.0 / 3.0
            speeds = (pull @ unit - (directions @ pull) * cosines)[chosen]
            if speeds.size:
                smallest = min(smallest, float(np.min(speeds / half - (1.0 / 3.0 - cosines[chosen]))))
                count += speeds.size
    if count == 0:
        return nothing("no direction of the cone has a cosine below 1/3 with the aggregate")
    return at_least(smallest, 0.0, detail=f"smallest difference {smallest:.6g} over {count} directions with cos <= 1/3")


def _wide_directions(evidence: Evidence, group: Group) -> FloatArray:
    """Directions of S_+- far from the aggregate: drawn ones whose cosine is at most 1/2."""
    data, rng = data_constants(evidence), np.random.default_rng(37)
    pool = rng.standard_normal((400, data.X.shape[1]))
    pool /= np.linalg.norm(pool, axis=1, keepdims=True)
    z = pool @ data.X.T
    inside = np.all((z > 0.0) == group.own, axis=1)
    return np.asarray(pool[inside & (pool @ group.aggregate <= 0.5 * np.linalg.norm(group.aggregate))])


def _quarter_speed(evidence: Evidence) -> Measurement:
    """At cos = 1/4, (37) gives sqrt(mu) n_+- X_min/24; tried on directions of that cosine in the span."""
    smallest = math.inf
    for group in groups(evidence):
        bound = data_constants(evidence).speed(group.sign) / 24.0
        unit = group.aggregate / np.linalg.norm(group.aggregate)
        for moment in group.growing:
            pull = group.weighted_sum(moment)
            across = np.linalg.norm(pull - (pull @ unit) * unit)
            slowest = (1.0 - 1.0 / 16.0) * (pull @ unit) - 0.25 * math.sqrt(15.0 / 16.0) * across
            smallest = min(smallest, float(slowest) / bound)
    need(not math.isinf(smallest), "no snapshot in [t_1, t_2]")
    return at_least(smallest, 1.0, detail=f"slowest turn at cos = 1/4 over its bound is {smallest:.6g}")


def _aligned_growth(evidence: Evidence) -> Measurement:
    """cos(x_+-, w_j) >= 1/4 from t_1 + 6/(sqrt(mu) n_+- X_min) until t_2^+-."""
    data, t_1, found = data_constants(evidence), proof_constants(evidence).t_1, []
    for group in groups(evidence):
        ready = t_1 + 6.0 / data.speed(group.sign)
        found += [float(np.min(_cosines(group, m.directions))) for m in group.growing if m.time >= ready]
    return at_least(min(found), 0.25) if found else missing("no snapshot in [t_1', t_2]")


def _growth_rate(evidence: Evidence) -> Measurement:
    """d/dt |w_j|^2 over (sqrt(mu) n_+- X_min/4)|w_j|^2 on [t_1', t_2^+-]."""
    data, t_1, ratios = data_constants(evidence), proof_constants(evidence).t_1, []
    for group in groups(evidence):
        speed = data.speed(group.sign)
        for moment in group.growing:
            if moment.time >= t_1 + 6.0 / speed:
                ratios.append(float(np.min(2.0 * moment.growth[group.neurons])) / (0.25 * speed))
    need(ratios, "no snapshot in [t_1', t_2]")
    return at_least(min(ratios), 1.0, detail=f"smallest growth rate over its bound is {min(ratios):.6g}")


def _norm_before_fit(evidence: Evidence) -> Measurement:
    """Until t_2^+- the group's sum of |w_j|^2 is at most 1/(sqrt(mu) X_min)."""
    data = data_constants(evidence)
    sums = [group.log_norm_square(moment) for group in groups(evidence) for moment in group.growing[-1:]]
    need(sums, "no snapshot in [t_1, t_2]")
    return at_most(
        max(sums), -math.log(math.sqrt(data.mu) * data.smallest_norm), detail=f"log of the sum {max(sums):.6g}"
    )
