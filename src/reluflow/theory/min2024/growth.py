"""From t_1 to t_2: Lemmas 13 and 14, the decomposition (32), t_2 and its bounds (36), (39) [min2024]."""

from __future__ import annotations

import math

import numpy as np

from reluflow.network.network import row_norms
from reluflow.theory.evidence import Evidence, FlowPlan
from reluflow.theory.measurement import Measurement, at_least, at_most, fitted_slope, missing, need
from reluflow.theory.min2024.class_neurons import Group, groups
from reluflow.theory.min2024.constants import data_constants, proof_constants
from reluflow.theory.min2024.landmarks import fitted_time, whole_plan
from reluflow.theory.min2024.moving_neurons import moments_until
from reluflow.theory.stating import needs
from reluflow.theory.theorem import Constants

ROUNDING = 1e-9
DECOMPOSITION = 1e-10  # relative; measured 2e-16
SWEEP = (-50.0, -200.0)  # scales at which t_2 is measured again


def _norms_do_not_collapse(evidence: Evidence) -> Measurement:
    """log |w_j(t)|^2 - log |w_j(0)|^2 + 4 n X_max t >= 0 for every neuron and every t in [0, T]."""
    data, found = data_constants(evidence), moments_until(evidence, proof_constants(evidence).horizon)
    start = evidence.network
    first = np.log(row_norms(start.w)) + start.log_scale
    gaps = [
        float(np.min(2.0 * (moment.log_norms - first) + 4.0 * data.n * data.largest_norm * moment.time))
        for moment in found
        if moment.time > 0.0
    ]
    need(gaps, "no snapshot in (0, T]")
    return at_least(min(gaps), 0.0, detail=f"smallest log of |w_j|^2 over its bound is {min(gaps):.6g}")


def _norms_grow(evidence: Evidence) -> Measurement:
    smallest, count = math.inf, 0
    for group in groups(evidence):
        for before, after in zip(group.moments, group.moments[1:], strict=False):
            change = 2.0 * (after.log_norms - before.log_norms)[group.neurons & before.seen & after.seen]
            smallest, count = min(smallest, float(np.min(change, initial=math.inf))), count + change.size
    need(count != 0, "two snapshots after t_1 with a neuron in its cone")
    return at_least(smallest, 0.0, allowance=ROUNDING, detail=f"smallest change of log |w_j|^2 is {smallest:.3g}")


@needs(groups, "no snapshot after t_1")
def _loss_splits(evidence: Evidence, found: tuple[Group, ...]) -> Measurement:
    """|L - L_+ - L_-| / L, with L_+- seen by the neurons of one cone on the samples of one class alone."""
    worst = -np.inf
    for moment in found[0].moments:
        total, data, network = 0.0, moment.data, moment.network
        for sign in (1, -1):
            own = data.members(sign)
            neurons = next((g.neurons for g in found if g.sign == sign), np.zeros(network.num_neurons, dtype=bool))
            linear = network.a[neurons] @ (network.w[neurons] @ data.X[own].T)
            values = evidence.loss.value(math.exp(2.0 * network.log_scale) * linear, data.y[own])
            total += evidence.loss.factor * float(np.sum(values))
        worst = max(worst, abs(moment.loss_value - total) / moment.loss_value)
    return at_most(worst, DECOMPOSITION, detail=f"largest relative |L - L_+ - L_-| is {worst:.3g}")


def _gradient_splits(evidence: Evidence) -> Measurement:
    """The pull on a neuron of S_+- is the sum over its own class; relative difference."""
    worst = -np.inf
    for group in groups(evidence):
        for moment in group.moments:
            alone = moment.forces[group.own] @ moment.data.X[group.own]
            gap = np.max(np.abs(moment.pulls[group.neurons] - alone)) / np.linalg.norm(alone)
            worst = max(worst, float(gap))
    return at_most(worst, DECOMPOSITION, detail=f"largest relative difference {worst:.3g}")


def _norm_at_fit(evidence: Evidence) -> Measurement:
    """From t_2^+- on the group's sum of |w_j|^2 is at least 1/(4 X_max)."""
    data, smallest = data_constants(evidence), math.inf
    for group in groups(evidence):
        fitted = need(group.fitted, "the run did not reach t_2")
        later = [moment for moment in group.moments if moment.time >= fitted]
        smallest = min([smallest, *(group.log_norm_square(moment) for moment in later)])
    bound = -math.log(4.0 * data.largest_norm)
    words = f"smallest log sum |w_j|^2 is {smallest:.6g}, at least {bound:.6g}"
    return at_least(smallest, bound, detail=words) if groups(evidence) else missing("no neuron in its cone at t_1")


def fit_bound(evidence: Evidence, sign: int) -> float:
    """Right-hand side of (39): the latest t_2^+- the proof allows."""
    data, constants = data_constants(evidence), proof_constants(evidence)
    speed, log_eps = data.speed(sign), constants.log_scale
    needed = math.log(2.0 / (math.sqrt(data.mu) * data.smallest_norm)) - 2.0 * (log_eps + constants.log_smallest_start)
    return constants.t_1 + 6.0 / speed + 4.0 / speed * (needed + 4.0 * data.n * data.largest_norm * constants.t_1)


def _fit_is_late(evidence: Evidence) -> Measurement:
    times = [fitted_time(evidence, group.sign) for group in groups(evidence)]
    known = [time for time in times if time is not None]
    if not known or len(known) < len(times):
        return missing("the run did not reach t_2")
    return at_least(min(known), proof_constants(evidence).horizon)


def _fit_is_early(evidence: Evidence) -> Measurement:
    worst: tuple[float, float] | None = None
    for group in groups(evidence):
        fitted, bound = need(group.fitted, "the run did not reach t_2"), fit_bound(evidence, group.sign)
        if worst is None or bound - fitted < worst[1] - worst[0]:
            worst = (fitted, bound)
    return at_most(*worst) if worst is not None else missing("no neuron in its cone at t_1")


def _fit_slope(evidence: Evidence) -> Measurement:
    """d t_2^+- / d log(1/eps) = 1/|x_+-| over the sweep, for each class; the relative difference is printed."""
    runs = (evidence, *evidence.sweep)
    worst = -np.inf
    for group in groups(evidence):
        times = [fitted_time(run, group.sign) for run in runs]
        known = [(run.network.log_scale, t) for run, t in zip(runs, times, strict=True) if t is not None]
        need(len(known) >= 2, "t_2 at two scales at least")
        slope = fitted_slope([-scale for scale, _ in known], [t for _, t in known])
        worst = max(worst, abs(slope * float(np.linalg.norm(group.aggregate)) - 1.0))
    return at_most(worst, 0.01, detail=f"slope of t_2 in log(1/eps) misses 1/|x_+-| by {worst:.3g} relative")


def _predictions(evidence: Evidence) -> Constants:
    data = data_constants(evidence)
    found: dict[str, float] = {}
    for sign, name in ((1, "plus"), (-1, "minus")):
        if data.count(sign):
            found[f"t_2_{name}_at_most"] = fit_bound(evidence, sign)
            found[f"t_2_{name}_slope"] = 1.0 / float(np.linalg.norm(data.total(sign)))
    if evidence.trajectory is not None:
        found |= {f"t_2_{n}": t for s, n in ((1, "plus"), (-1, "minus")) if (t := fitted_time(evidence, s)) is not None}
    return found


def _swept_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=whole_plan(evidence).times, sweep=SWEEP)
