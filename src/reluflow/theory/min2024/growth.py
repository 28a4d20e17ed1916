"""From t_1 to t_2: Lemmas 13 and 14, the decomposition (32), t_2 and its bounds (36), (39) [min2024]."""

from __future__ import annotations

import math

import numpy as np

from reluflow.network.network import row_norms
from reluflow.theory.evidence import Evidence, FlowPlan
from reluflow.theory.measurement import Level, Measurement, at_least, at_most, fitted_slope, missing
from reluflow.theory.min2024.assumptions import BOTH_CONES, EXAMPLE, REGIME, SETTING, log_factor_28, reference
from reluflow.theory.min2024.class_neurons import Group, groups
from reluflow.theory.min2024.constants import data_constants, proof_constants
from reluflow.theory.min2024.landmarks import alignment_plan, fitted_time, whole_plan
from reluflow.theory.min2024.moving_neurons import moments_until
from reluflow.theory.min2024.scale_choice import alignment_constants_of
from reluflow.theory.stating import conclusion, needs, theorems_of
from reluflow.theory.theorem import Conclusion, Constants, Theorem

ROUNDING = 1e-9
DECOMPOSITION = 1e-10  # relative; measured 2e-16
SWEEP = (-50.0, -200.0)  # scales at which t_2 is measured again


@conclusion("norms", "logarithm of |w_j|^2 over its bound")
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
    if not gaps:
        return missing("no snapshot in (0, T]")
    return at_least(min(gaps), 0.0, detail=f"smallest log of |w_j|^2 over its bound is {min(gaps):.6g}")


@conclusion("norms", "smallest change of log |w_j|^2 between snapshots")
def _norms_grow(evidence: Evidence) -> Measurement:
    smallest, count = math.inf, 0
    for group in groups(evidence):
        for before, after in zip(group.moments, group.moments[1:], strict=False):
            change = 2.0 * (after.log_norms - before.log_norms)[group.neurons & before.seen & after.seen]
            smallest, count = min(smallest, float(np.min(change, initial=math.inf))), count + change.size
    if count == 0:
        return missing("two snapshots after t_1 with a neuron in its cone")
    return at_least(smallest, 0.0, allowance=ROUNDING, detail=f"smallest change of log |w_j|^2 is {smallest:.3g}")


@conclusion("loss", "relative difference of L and L_+ + L_-", Level.EXACT)
@needs(groups, "no snapshot after t_1")
def _loss_splits(evidence: Evidence, found: tuple[Group, ...]) -> Measurement:
    """|L - L_+ - L_-| / L, with L_+- seen by the neurons of one cone on the samples of one class alone."""
    worst = 0.0
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


@conclusion("gradient", "neurons of one cone see the samples of their class alone", Level.EXACT)
def _gradient_splits(evidence: Evidence) -> Measurement:
    """The pull on a neuron of S_+- is the sum over its own class; relative difference."""
    worst = 0.0
    for group in groups(evidence):
        for moment in group.moments:
            alone = moment.forces[group.own] @ moment.data.X[group.own]
            gap = np.max(np.abs(moment.pulls[group.neurons] - alone)) / np.linalg.norm(alone)
            worst = max(worst, float(gap))
    return at_most(worst, DECOMPOSITION, detail=f"largest relative difference {worst:.3g}")


@conclusion("norms", "logarithm of the sum of |w_j|^2 after t_2")
def _norm_at_fit(evidence: Evidence) -> Measurement:
    """From t_2^+- on the group's sum of |w_j|^2 is at least 1/(4 X_max)."""
    data, smallest = data_constants(evidence), math.inf
    for group in groups(evidence):
        if group.fitted is None:
            return missing("the run did not reach t_2")
        later = [moment for moment in group.moments if moment.time >= group.fitted]
        smallest = min(smallest, *(group.log_norm_square(moment) for moment in later))
    bound = -math.log(4.0 * data.largest_norm)
    words = f"smallest log sum |w_j|^2 is {smallest:.6g}, at least {bound:.6g}"
    return at_least(smallest, bound, detail=words) if groups(evidence) else missing("no neuron in its cone at t_1")


def fit_bound(evidence: Evidence, sign: int) -> float:
    """Right-hand side of (39): the latest t_2^+- the proof allows."""
    data, constants = data_constants(evidence), proof_constants(evidence)
    speed, log_eps = data.speed(sign), constants.log_scale
    needed = math.log(2.0 / (math.sqrt(data.mu) * data.smallest_norm)) - 2.0 * (log_eps + constants.log_smallest_start)
    return constants.t_1 + 6.0 / speed + 4.0 / speed * (needed + 4.0 * data.n * data.largest_norm * constants.t_1)


@conclusion("lower", "T is at most t_2^+-")
def _fit_is_late(evidence: Evidence) -> Measurement:
    times = [fitted_time(evidence, group.sign) for group in groups(evidence)]
    known = [time for time in times if time is not None]
    if not known or len(known) < len(times):
        return missing("the run did not reach t_2")
    return at_least(min(known), proof_constants(evidence).horizon)


@conclusion("upper", "t_2^+- is at most (39)")
def _fit_is_early(evidence: Evidence) -> Measurement:
    worst: tuple[float, float] | None = None
    for group in groups(evidence):
        if group.fitted is None:
            return missing("the run did not reach t_2")
        bound = fit_bound(evidence, group.sign)
        if worst is None or bound - group.fitted < worst[1] - worst[0]:
            worst = (group.fitted, bound)
    return at_most(*worst) if worst is not None else missing("no neuron in its cone at t_1")


@conclusion("slope", "t_2^+- grows by 1/|x_+-| per unit of log(1/eps)", Level.SCALING)
def _fit_slope(evidence: Evidence) -> Measurement:
    """d t_2^+- / d log(1/eps) = 1/|x_+-| over the sweep, for each class; the relative difference is printed."""
    runs = (evidence, *evidence.sweep)
    worst = 0.0
    for group in groups(evidence):
        times = [fitted_time(run, group.sign) for run in runs]
        known = [(run.network.log_scale, t) for run, t in zip(runs, times, strict=True) if t is not None]
        if len(known) < 2:
            return missing("t_2 at two scales at least")
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


def growth_result(key: str, locator: str, statement: str, *conclusions: Conclusion, erratum: str = "") -> Theorem:
    """A result on the run between t_1 and t_2, in the regime of (28) with a neuron in each cone."""
    return Theorem(
        key=f"min2024:{key}",
        reference=reference(locator),
        statement=statement,
        hypotheses=(*REGIME, BOTH_CONES),
        conclusions=conclusions,
        constants=alignment_constants_of,
        predictions=_predictions,
        plan=whole_plan,
        log_scale=log_factor_28,
        setting=SETTING,
        example=EXAMPLE,
        erratum=erratum,
    )


_theorem = theorems_of("min2024", setting=SETTING, example=EXAMPLE)

LEMMA_13 = _theorem(
    "lemma13",
    "|w_j(t)|^2 >= exp(-4 n X_max t)|w_j(0)|^2 for every neuron and t <= T, so also for the sums at t_1.",
    hypotheses=REGIME,
    conclusions=(_norms_do_not_collapse,),
    constants=alignment_constants_of,
    plan=alignment_plan,
    log_scale=log_factor_28,
)
LEMMA_14 = growth_result(
    "lemma14",
    "Lemma 14",
    "From t_1 on |w_j|^2 does not decrease for neurons in their cone.",
    _norms_grow,
    erratum="The sums are printed without squares.",
)
EQUATION_32 = growth_result(
    "eq32",
    "Eq. (32)",
    "From t_1 on L = L_+ + L_-, two linear networks that share nothing.",
    _loss_splits,
    _gradient_splits,
)
TIME_2 = growth_result(
    "t2",
    "App. D.2, definition of t_2",
    "t_2^+- is when an own output first exceeds 1/4; from then on the group's sum of |w_j|^2 is at least 1/(4 X_max).",
    _norm_at_fit,
)
EQUATION_39 = _theorem(
    "eq39",
    "T <= t_2^+- <= t_1 + 6/(sqrt(mu) n_+- X_min) + (4/(sqrt(mu) n_+- X_min)) (log(2/(eps^2 sqrt(mu) X_min "
    "W_min^2)) + 4 n X_max t_1); in truth t_2^+- = log(1/eps)/|x_+-| + O(1).",
    locator="Eqs. (36), (39)",
    hypotheses=(*REGIME, BOTH_CONES),
    conclusions=(_fit_is_late, _fit_is_early, _fit_slope),
    constants=alignment_constants_of,
    predictions=_predictions,
    plan=_swept_plan,
    log_scale=log_factor_28,
    erratum="(36) prints t_2 for t_2^+.",
)
