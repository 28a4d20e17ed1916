"""Theorem 1 and the remarks after it: alignment by t_1, traps, the 1/t loss, low rank [min2024]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.geometry.alignment import align
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Level, Measurement, all_of, at_least, at_most, missing, none_of, nothing
from reluflow.theory.min2024.alignment_times import aligned_by
from reluflow.theory.min2024.assumptions import (
    BOTH_CONES,
    EXAMPLE,
    REGIME,
    REGULAR,
    SEPARATED,
    SETTING,
    SPATIAL,
    SUMMED,
    UNIT_FORCE,
    log_factor_28,
)
from reluflow.theory.min2024.class_neurons import groups
from reluflow.theory.min2024.constants import data_constants, proof_constants
from reluflow.theory.min2024.fitting import (
    PLANE,
    loss_under_curve,
    low_rank,
    norm_over_curve,
    rate_constants,
    stable_rank,
    with_both_cones,
)
from reluflow.theory.min2024.growth import fit_bound
from reluflow.theory.min2024.landmarks import fitted_time, last_fitted_time, whole_plan
from reluflow.theory.min2024.moving_neurons import DEAD, cones_of, moments, moments_from
from reluflow.theory.min2024.patterns import alignment_time, pattern_history
from reluflow.theory.stating import conclusion, theorems_of
from reluflow.theory.theorem import Conclusion, Constants

NUM_DRAWS = 4000
ALONG = 1e-9  # radians: below this a draw is along an aggregate


@conclusion("classified", "at t_1 every neuron is in its cone or dead", Level.EXACT)
def _classified(evidence: Evidence) -> Measurement:
    """Neurons outside both traps at the first snapshot from t_1 on."""
    found = moments_from(evidence, proof_constants(evidence).t_1)
    if not found:
        return missing("no snapshot at t_1")
    first = found[0]
    outside = int(np.sum((first.cones != DEAD) & (first.cones != first.signs)))
    counts = {name: int(np.sum(first.cones == code)) for name, code in (("S_+", 1), ("S_-", -1), ("S_dead", 0))}
    return none_of(outside, detail=f"{outside} neurons outside their traps at t_1; {counts}")


@conclusion("survivors", "a neuron active on its class at the start ends in its cone", Level.EXACT)
def _active_ones_survive(evidence: Evidence) -> Measurement:
    """A neuron active on an own sample at the start is in its cone at t_1."""
    found = moments_from(evidence, proof_constants(evidence).t_1)
    if not found:
        return missing("no snapshot at t_1")
    data, network = data_constants(evidence), evidence.network
    z = network.pre_activations(data.X)
    signs = np.sign(network.a)
    own = data.y[None, :] == signs[:, None]
    starts_active = np.any((z > 0.0) & own, axis=1)
    lost = int(np.sum(starts_active & (found[0].cones != signs)))
    return none_of(lost, total=int(np.sum(starts_active)))


@conclusion("one-way", "activations changed the allowed way only", Level.EXACT)
def _one_way(evidence: Evidence) -> Measurement:
    signs, y = np.sign(evidence.network.a), evidence.dataset.y
    flips = pattern_history(evidence).flips
    wrong = sum(1 for flip in flips if flip.is_gain != (signs[flip.neuron] == y[flip.sample]))
    return none_of(wrong, total=len(flips))


@conclusion("trapped", "from t_1 on no neuron changes its cone", Level.EXACT)
def _trapped(evidence: Evidence) -> Measurement:
    found = moments_from(evidence, proof_constants(evidence).t_1)
    if len(found) < 2:
        return missing("two snapshots after t_1")
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


@conclusion("cosine", "smallest cos(w_j, x_+-) at t_2^+-")
def _refined(evidence: Evidence) -> Measurement:
    """Smallest cos(w_j, x_+-) at the first snapshot from t_2^+- on."""
    cosines = []
    for group in groups(evidence):
        later = [moment for moment in group.moments if group.fitted is not None and moment.time >= group.fitted]
        if not later:
            return missing("the run did not reach t_2")
        unit = group.aggregate / np.linalg.norm(group.aggregate)
        cosines.append(float(np.min(later[0].directions[group.neurons] @ unit)))
    return at_least(min(cosines), 0.25) if cosines else missing("no neuron in its cone at t_1")


def _draws(evidence: Evidence) -> FloatArray:
    """Independent Gaussian directions, shape (NUM_DRAWS, d)."""
    return evidence.witness("draws", lambda: np.random.default_rng(7).standard_normal((NUM_DRAWS, evidence.dataset.d)))


@conclusion("frequency", "frequency of being active on an own sample")
def _active_frequency(evidence: Evidence) -> Measurement:
    """Frequency of being active on at least one own sample; four standard deviations of the draw are forgiven."""
    data, draws = data_constants(evidence), _draws(evidence)
    frequencies = [
        float(np.mean(np.any(draws @ data.X[data.members(s)].T > 0.0, axis=1))) for s in (1, -1) if data.count(s)
    ]
    words = f"smallest frequency {min(frequencies):.4g} in {len(draws)} draws, at least 1/2"
    return at_least(min(frequencies), 0.5, allowance=2.0 / np.sqrt(len(draws)), detail=words)


@conclusion("reach", "every such neuron reaches its cone under (4)", Level.EXACT)
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


@conclusion("assumption-2", "no draw is along an aggregate")
def _draws_meet_assumption_2(evidence: Evidence) -> Measurement:
    """The smallest angle of a draw to an aggregate, as the length of the difference of the unit vectors."""
    data, draws = data_constants(evidence), _draws(evidence)
    unit = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    totals = [data.total(s) / np.linalg.norm(data.total(s)) for s in (1, -1) if data.count(s)]
    smallest = min(float(np.min(np.linalg.norm(unit - total, axis=1))) for total in totals)
    return at_least(smallest, ALONG, detail=f"smallest angle of a draw to an aggregate is {smallest:.3g}")


_theorem = theorems_of("min2024", setting=SETTING, example=EXAMPLE)

THEOREM_1 = _theorem(
    "thm1",
    "For small enough balanced initialisation every neuron is in S_+, S_- or S_dead by t_1 and stays; from "
    "t_2 on L(t) <= L(t_2)/(L(t_2) alpha_rate (t - t_2) + 1); and |W|_F^2 <= 2|W|_2^2 + 4 sqrt(m) eps W_max^2.",
    hypotheses=(*REGIME, REGULAR),
    conclusions=(
        Conclusion("aligned", "tau_align is at most t_1", lambda e: aligned_by(e, proof_constants(e).t_1, "t_1")),
        Conclusion(
            "aligned-sharp",
            "tau_align is at most t_1_sharp",
            lambda e: aligned_by(e, proof_constants(e).t_1_sharp, "t_1_sharp"),
        ),
        _classified,
        _active_ones_survive,
        _one_way,
        _trapped,
        Conclusion("window", "t_2 lies between T and the bound (39)", with_both_cones(_within_window)),
        Conclusion("loss", "L(t) over L(t_2)/(L(t_2) alpha_rate (t - t_2) + 1)", with_both_cones(loss_under_curve)),
        Conclusion("norm", "|W|_F^2 against log(n/curve(t))/X_max, which diverges", with_both_cones(norm_over_curve)),
        Conclusion("low-rank", "stable rank against 2 plus the allowance from t_1 on", with_both_cones(low_rank)),
        Conclusion("limit-rank", "stable rank at the end", with_both_cones(_limit_rank)),
    ),
    constants=rate_constants,
    predictions=_predictions,
    plan=whole_plan,
    log_scale=log_factor_28,
    example=SPATIAL,
    erratum="E1, E2: zeta is a minimum and (28) needs the factor 8; E3: t_1 is of order mu^(-5/2) log n, the order "
    "mu^(-1/2) holds up to log(1/mu) for t_1_sharp.",
    departs="The limsup of the stable rank is read at the last snapshot; what the second part says of t_2 and later is "
    "asked where both cones hold a neuron at t_1.",
)
REFINED_ALIGNMENT = _theorem(
    "refined-alignment",
    "By the time an own output reaches 1/4 the neurons of a cone are close to x_+-: cos >= 1/4 is proved.",
    locator="Sec. 3.2, refined alignment",
    hypotheses=(*REGIME, BOTH_CONES),
    conclusions=(_refined,),
    constants=rate_constants,
    plan=whole_plan,
    log_scale=log_factor_28,
)
RANDOM_START = _theorem(
    "random-start",
    "A Gaussian neuron is active on its class with probability at least 1/2 and then reaches its cone, so "
    "S_+ is empty at t_1 with probability at most 2^-|V_+|; Assumption 2 holds almost surely.",
    locator="Sec. 3.2, random initialisation",
    hypotheses=(SEPARATED, UNIT_FORCE, SUMMED),
    conclusions=(_active_frequency, _draws_reach_their_cone, _draws_meet_assumption_2),
)
