"""Theorem 1 and the remarks after it: alignment by t_1, traps, the 1/t loss, low rank [min2024]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.geometry.alignment import align
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.extremes import Values, least
from reluflow.theory.measurement import Measurement, all_of, at_least, need, none_of
from reluflow.theory.min2024.activation_changes import alignment_time
from reluflow.theory.min2024.constants import data_constants, proof_constants
from reluflow.theory.min2024.growth import NO_FIT, NO_NEURON, fit_bound, groups
from reluflow.theory.min2024.landmarks import fitted_time, last_fitted_time
from reluflow.theory.min2024.moving_neurons import DEAD, Moment, cones_of, moments_from
from reluflow.theory.stating import needs
from reluflow.theory.theorem import Constants

NUM_DRAWS = 4000
ALONG = 1e-9  # radians: below this a draw is along an aggregate


def _aligned_moments(evidence: Evidence) -> tuple[Moment, ...]:
    return moments_from(evidence, proof_constants(evidence).t_1)


@needs(_aligned_moments, "no snapshot at t_1")
def _classified(evidence: Evidence, found: tuple[Moment, ...]) -> Measurement:
    """Neurons outside both traps at the first snapshot from t_1 on."""
    first = found[0]
    outside = int(np.sum((first.cones != DEAD) & (first.cones != first.signs)))
    counts = {name: int(np.sum(first.cones == code)) for name, code in (("S_+", 1), ("S_-", -1), ("S_dead", 0))}
    return none_of(outside, detail=f"{outside} neurons outside their traps at t_1; {counts}")


@needs(_aligned_moments, "no snapshot at t_1")
def _active_ones_survive(evidence: Evidence, found: tuple[Moment, ...]) -> Measurement:
    """A neuron active on an own sample at the start is in its cone at t_1."""
    data, signs = data_constants(evidence), np.sign(evidence.network.a)
    is_own = data.y[None, :] == signs[:, None]
    starts_active = np.any((evidence.network.pre_activations(data.X) > 0.0) & is_own, axis=1)
    lost = int(np.sum(starts_active & (found[0].cones != signs)))
    return none_of(lost, total=int(np.sum(starts_active)))


@needs(_aligned_moments, "two snapshots after t_1", at_least=2)
def _trapped(evidence: Evidence, found: tuple[Moment, ...]) -> Measurement:
    lost = sum(int(np.sum(moment.cones != found[0].cones)) for moment in found[1:])
    return none_of(lost, detail=f"{lost} changes of cone over {len(found)} snapshots after t_1")


def _within_window(evidence: Evidence) -> Measurement:
    """T <= t_2 <= (39); the slack is the smaller distance."""
    signs = [group.sign for group in groups(evidence)]
    times = [(need(fitted_time(evidence, sign), NO_FIT), fit_bound(evidence, sign)) for sign in signs]
    need(times, NO_FIT)
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


@least(0.25, without=NO_NEURON)
def _refined(evidence: Evidence) -> Values:
    """cos(w_j, x_+-) at the first snapshot from t_2^+- on."""
    for group in groups(evidence):
        later = [moment for moment in group.moments if group.fitted is not None and moment.time >= group.fitted]
        yield need(later, NO_FIT)[0].directions[group.neurons] @ group.unit


@drawn("draws")
def _draws(evidence: Evidence) -> FloatArray:
    """Independent Gaussian directions, shape (NUM_DRAWS, d)."""
    return np.random.default_rng(7).standard_normal((NUM_DRAWS, evidence.dataset.d))


def _active_frequency(evidence: Evidence) -> Measurement:
    """Frequency of being active on at least one own sample; four standard deviations of the draw are forgiven."""
    data, draws = data_constants(evidence), _draws(evidence)
    frequencies = [float(np.mean(np.any(draws @ data.X[data.members(s)].T > 0.0, axis=1))) for s in data.classes]
    words = f"smallest frequency {min(frequencies):.4g} in {len(draws)} draws, at least 1/2"
    return at_least(min(frequencies), 0.5, allowance=2.0 / np.sqrt(len(draws)), detail=words)


def _draws_reach_their_cone(evidence: Evidence) -> Measurement:
    """Every drawn neuron that is active on an own sample ends in its cone under (4), in closed form."""
    data, draws = data_constants(evidence), _draws(evidence)
    statements, norms = [], np.linalg.norm(draws, axis=1)
    for sign in data.classes:
        active = np.any(draws @ data.X[data.members(sign)].T > 0.0, axis=1)
        ends = align(data.X, evidence.loss.label_forces(data.y), draws[active], sign * norms[active])
        wrong = int(np.sum(cones_of(ends.patterns > 0, data.y) != sign))
        statements.append((wrong == 0, f"{wrong} of {int(np.sum(active))} with sign {sign} miss their cone"))
    return all_of(statements, detail="; ".join(words for _, words in statements))


@least(ALONG, "smallest angle of a draw to an aggregate is {:.3g}")
def _draws_meet_assumption_2(evidence: Evidence) -> Values:
    """The angles of the draws to the aggregates, as lengths of differences of unit vectors."""
    data, draws = data_constants(evidence), _draws(evidence)
    unit = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    for sign in data.classes:
        yield np.linalg.norm(unit - data.total(sign) / np.linalg.norm(data.total(sign)), axis=1)
