"""From t_1 to t_2: Lemmas 13 and 14, (32), t_2 and (39) [min2024]."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from reluflow.network.network import row_norms
from reluflow.papers.min2024.paper import EXAMPLE, SETTING
from reluflow.papers.min2024.theorems.class_groups import NO_FIT, NO_NEURON, fit_bound, fit_predictions, groups
from reluflow.papers.min2024.theorems.constants import (
    alignment_constants,
    certified_horizon,
    data_constants,
    log_bound,
    proof_constants,
)
from reluflow.papers.min2024.theorems.landmarks import alignment_plan, fitted_time, whole_plan
from reluflow.papers.min2024.theorems.moving_neurons import moments_until
from reluflow.papers.min2024.theorems.shared_hypotheses import BOTH_CONES, REGIME
from reluflow.theory.comparison import Comparison, Level, Values, at_most, fitted_slope, require
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import AtLeast, AtMost, ScaledDownTo
from reluflow.theory.theorem import Conclusion, Reference, Theorem

ROUNDING = 1e-9
DECOMPOSITION = 1e-10  # relative; measured 2e-16


def _norms_do_not_collapse(evidence: Evidence) -> Values:
    """log |w_j(t)|^2 - log |w_j(0)|^2 + 4 n X_max t >= 0 for every neuron and every t in [0, T]."""
    data, start = data_constants(evidence), evidence.network
    first = np.log(row_norms(start.w)) + start.log_scale
    for moment in moments_until(evidence, proof_constants(evidence).horizon):
        if moment.time > 0.0:
            known = ~np.isnan(moment.log_norms)  # one lost beside the fitted class has no norm
            yield (2.0 * (moment.log_norms - first) + 4.0 * data.n * data.largest_norm * moment.time)[known]


LEMMA_13 = Theorem(
    "min2024:lemma13",
    Reference("min2024", "Lemma 13"),
    r"$|w_j(t)|^2 \ge \exp(-4 n X_{\max} t)|w_j(0)|^2$ for every neuron and $t \le T$, so also for the sums at $t_1$.",
    hypotheses=REGIME,
    conclusions=(
        Conclusion(
            "norms",
            "logarithm of $|w_j|^2$ over its bound",
            AtLeast(
                _norms_do_not_collapse,
                0.0,
                words="smallest log of $|w_j|^2$ over its bound is {measured:.6g}",
                without="no snapshot in $(0, T]$",
            ),
        ),
    ),
    constants=alignment_constants,
    plan=alignment_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
)


def _norms_grow(evidence: Evidence) -> Values:
    for group in groups(evidence):
        for before, after in pairwise(group.moments):
            yield 2.0 * (after.log_norms - before.log_norms)[group.neurons & before.seen & after.seen]


LEMMA_14 = Theorem(
    "min2024:lemma14",
    Reference("min2024", "Lemma 14"),
    "From $t_1$ on $|w_j|^2$ does not decrease for neurons in their cone.",
    hypotheses=(*REGIME, BOTH_CONES),
    conclusions=(
        Conclusion(
            "norms",
            r"smallest change of $\log|w_j|^2$ between snapshots",
            AtLeast(
                _norms_grow,
                0.0,
                allowance=ROUNDING,
                words=r"smallest change of $\log|w_j|^2$ is {measured:.3g}",
                without="two snapshots after $t_1$ with a neuron in its cone",
            ),
        ),
    ),
    constants=alignment_constants,
    predictions=fit_predictions,
    plan=whole_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
    erratum="The sums are printed without squares.",
)


# Equation (32) --------------------------------------------------------------------------------------------------------


def _loss_splits(evidence: Evidence) -> Values:
    """|L - L_+ - L_-| / L, with L_+- seen by the neurons of one cone on the samples of one class alone."""
    found = require(groups(evidence), "no snapshot after $t_1$")
    for moment in found[0].moments:
        total, data, network = 0.0, moment.data, moment.network
        for sign in (1, -1):
            own = data.members(sign)
            neurons = next((g.neurons for g in found if g.sign == sign), np.zeros(network.num_neurons, dtype=bool))
            linear = network.a[neurons] @ (network.w[neurons] @ data.X[own].T)
            values = evidence.loss.value(math.exp(2.0 * network.log_scale) * linear, data.y[own])
            total += evidence.loss.factor * float(np.sum(values))
        yield abs(moment.loss_value - total) / moment.loss_value


def _gradient_splits(evidence: Evidence) -> Values:
    """The pull on a neuron of S_+- is the sum over its own class; relative difference."""
    for group in groups(evidence):
        for moment in group.moments:
            alone = moment.forces[group.own] @ moment.data.X[group.own]
            yield np.max(np.abs(moment.pulls[group.neurons] - alone)) / np.linalg.norm(alone)


EQ_32 = Theorem(
    "min2024:eq32",
    Reference("min2024", "Eq. (32)"),
    "From $t_1$ on $L = L_+ + L_-$, two linear networks that share nothing.",
    hypotheses=(*REGIME, BOTH_CONES),
    conclusions=(
        Conclusion(
            "loss",
            "relative difference of $L$ and $L_+ + L_-$",
            AtMost(_loss_splits, DECOMPOSITION, words="largest relative $|L - L_+ - L_-|$ is {measured:.3g}"),
            Level.EXACT,
        ),
        Conclusion(
            "gradient",
            "neurons of one cone see the samples of their class alone",
            AtMost(_gradient_splits, DECOMPOSITION, words="largest relative difference {measured:.3g}"),
            Level.EXACT,
        ),
    ),
    constants=alignment_constants,
    predictions=fit_predictions,
    plan=whole_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
)


# The time t_2 ---------------------------------------------------------------------------------------------------------


def _log_norm_at_fit(evidence: Evidence) -> float:
    return -math.log(4.0 * data_constants(evidence).largest_norm)


def _norm_at_fit(evidence: Evidence) -> Values:
    """From t_2^+- on the group's sum of |w_j|^2 is at least 1/(4 X_max)."""
    for group in groups(evidence):
        fitted = require(group.fitted, NO_FIT)
        yield from (group.log_norm_square(moment) for moment in group.moments if moment.time >= fitted)


T_2 = Theorem(
    "min2024:t2",
    Reference("min2024", "App. D.2, definition of $t_2$"),
    r"$t_2^\pm$ is when an own output first exceeds 1/4; from then on the group's sum of $|w_j|^2$ is at least "
    r"$1/(4 X_{\max})$.",
    hypotheses=(*REGIME, BOTH_CONES),
    conclusions=(
        Conclusion(
            "norms",
            "logarithm of the sum of $|w_j|^2$ after $t_2$",
            AtLeast(
                _norm_at_fit,
                _log_norm_at_fit,
                words="smallest log sum $|w_j|^2$ is {measured:.6g}, at least {bound:.6g}",
                without="no neuron in its cone at $t_1$",
            ),
        ),
    ),
    constants=alignment_constants,
    predictions=fit_predictions,
    plan=whole_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
)


def _fit_is_late(evidence: Evidence) -> Values:
    return (require(fitted_time(evidence, group.sign), NO_FIT) for group in groups(evidence))


def _fit_is_early(evidence: Evidence) -> Comparison:
    times = [(require(group.fitted, NO_FIT), fit_bound(evidence, group.sign)) for group in groups(evidence)]
    return at_most(*min(require(times, NO_NEURON), key=lambda time: time[1] - time[0]))


def _fit_slope(evidence: Evidence) -> Values:
    """d t_2^+- / d log(1/eps) = 1/|x_+-| over the scales, for each class; the relative difference is printed."""
    runs = (evidence, *evidence.other_scales)
    for group in groups(evidence):
        times = [fitted_time(run, group.sign) for run in runs]
        known = [(run.network.log_scale, t) for run, t in zip(runs, times, strict=True) if t is not None]
        require(len(known) >= 2, "$t_2$ at two scales at least")
        slope = fitted_slope([-scale for scale, _ in known], [t for _, t in known])
        yield abs(slope * float(np.linalg.norm(group.aggregate)) - 1.0)


def _swept_plan(evidence: Evidence) -> FlowPlan:
    return replace(whole_plan(evidence), other_scales=(-50.0, -200.0))


EQ_39 = Theorem(
    "min2024:eq39",
    Reference("min2024", "Eqs. (36), (39)"),
    r"$T \le t_2^\pm \le t_1 + 6/(\sqrt{\mu} n_\pm X_{\min}) + (4/(\sqrt{\mu} n_\pm X_{\min})) "
    r"(\log(2/(\varepsilon^2 \sqrt{\mu} X_{\min} W_{\min}^2)) + 4 n X_{\max} t_1)$; in truth "
    r"$t_2^\pm = \log(1/\varepsilon)/|x_\pm| + O(1)$.",
    hypotheses=(*REGIME, BOTH_CONES),
    conclusions=(
        Conclusion(
            "lower",
            r"$T$ is at most $t_2^\pm$",
            AtLeast(_fit_is_late, certified_horizon, without="the run did not reach $t_2$"),
        ),
        Conclusion("upper", r"$t_2^\pm$ is at most (39)", _fit_is_early),
        Conclusion(
            "slope",
            r"$t_2^\pm$ grows by $1/|x_\pm|$ per unit of $\log(1/\varepsilon)$",
            AtMost(
                _fit_slope,
                0.01,
                words=r"slope of $t_2$ in $\log(1/\varepsilon)$ misses $1/|x_\pm|$ by {measured:.3g} relative",
            ),
            Level.SCALING,
        ),
    ),
    constants=alignment_constants,
    predictions=fit_predictions,
    plan=_swept_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
    erratum="(36) prints $t_2$ for $t_2^+$.",
)

EQ_36 = part("min2024:eq36", "Eq. (36)", EQ_39, "the bound on $t_2^+$ whose right-hand side (39) spells out")
