"""Laws beyond the paper: when a class is learnt, how norms and loss go on, and what the collapse metrics tend to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.trajectory import Trajectory
from reluflow.losses.coupled import margins_of_outputs
from reluflow.papers.min2025.class_geometry import force_length
from reluflow.papers.min2025.collapse import CollapseMetrics, collapse_metrics, limit_metrics
from reluflow.papers.min2025.paper import EXAMPLE, SETTING
from reluflow.papers.min2025.theorems.max_margin import (
    FAST,
    LOG_TIME,
    SLOW,
    TRAPPED,
    extrapolated,
    groups,
    late,
    late_plan,
)
from reluflow.papers.min2025.theorems.shared import START_HYPOTHESES, alignments, geometry
from reluflow.theory.comparison import Comparison, Source, Values, judgement, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import AtMost, Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

CLOSE = 5e-3  # relative, of what is extrapolated in 1/log t

# Growth ---------------------------------------------------------------------------------------------------------------


def _least_margin(evidence: Evidence, outputs: FloatArray) -> float:
    return float(np.min(margins_of_outputs(outputs, evidence.dataset.y)))


def _norm_over_margin(evidence: Evidence) -> Values:
    """gamma_c |W_c|^2/(kappa q), extrapolated, less 1."""
    snapshots, classes, K = late(evidence), geometry(evidence), evidence.problem.num_outputs
    values = []
    for s in snapshots:
        w, q = np.exp(s.network.log_scale) * s.network.w, _least_margin(evidence, s.outputs)
        squares = np.array([np.sum(w[groups(evidence) == c] ** 2) for c in range(K)])
        values.append(classes.gammas * squares / (force_length(K) * q))
    return [np.abs(extrapolated(snapshots, values, FAST) - 1.0)]


def _time_loss(evidence: Evidence) -> Values:
    """t q L over (kappa/2) sum 1/gamma_c, extrapolated, less 1."""
    snapshots, limit = late(evidence), 0.5 * geometry(evidence).growth
    values = [
        np.array([np.exp(np.log(s.time) + np.log(s.loss)) * _least_margin(evidence, s.outputs) / limit])
        for s in snapshots
    ]
    return [np.abs(extrapolated(snapshots, values, FAST) - 1.0)]


GROWTH = Theorem(
    "min2025:growth",
    Reference("min2025", "beyond App. D, end"),
    r"In the limit, with $q$ the smallest margin: $|W_c|^2/q \to \kappa/\gamma_c$, and $t\, q\, L \to "
    r"(\kappa/2) \sum_c "
    r"1/\gamma_c$; so norms grow like $\sqrt{\log t}$ and the loss falls like $1/(t \log t)$.",
    hypotheses=(*START_HYPOTHESES, TRAPPED),
    conclusions=(
        Conclusion(
            "norm",
            r"$\gamma_c |W_c|^2/(\kappa q) \to 1$",
            AtMost(_norm_over_margin, CLOSE, words="{measured:.3g} from 1, extrapolated"),
            is_asymptotic=True,
        ),
        Conclusion(
            "loss",
            r"$t q L$ tends to $(\kappa/2) \sum_c 1/\gamma_c$",
            AtMost(_time_loss, CLOSE, words="{measured:.3g} off, relative, extrapolated"),
            is_asymptotic=True,
        ),
    ),
    parameters=(LOG_TIME,),
    plan=late_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E8: printed as growth like $\log t$ and a right-hand side of (74) like $1/t$.",
    source=Source.RELUFLOW,
    takes_classes=True,
)

# Collapse metrics -----------------------------------------------------------------------------------------------------


def _distance_from_limit(
    evidence: Evidence, metric: Callable[[CollapseMetrics], float], powers: tuple[float, ...]
) -> float:
    """How far the metric of late networks, extrapolated, is from its closed form."""
    snapshots = late(evidence)
    values = [np.array([metric(collapse_metrics(s.network, geometry(evidence)))]) for s in snapshots]
    return abs(float(extrapolated(snapshots, values, powers)[0]) - metric(limit_metrics(geometry(evidence))))


def _nc1(evidence: Evidence) -> float:
    return _distance_from_limit(evidence, lambda metrics: metrics.within, SLOW)


def _nc1_normalised(evidence: Evidence) -> float:
    return _distance_from_limit(evidence, lambda metrics: metrics.within_normalised, (1.0, 1.5))


def _nc2(evidence: Evidence) -> Values:
    return [collapse_metrics(s.network, geometry(evidence)).between for s in late(evidence)]


def _nc3(evidence: Evidence) -> float:
    return _distance_from_limit(evidence, lambda metrics: metrics.self_dual, FAST)


def _limits(evidence: Evidence) -> dict[str, float]:
    return dict(vars(limit_metrics(geometry(evidence))))


COLLAPSE_LIMITS = Theorem(
    "min2025:collapse-limits",
    Reference("min2025", "beyond App. B.2"),
    r"With $m_c$ and $\mathrm{var}_c$ the mean and variance of $\langle u_c, x_k\rangle$ over class "
    r"$c$: NC1 tends to $\sum s_c^2 "
    r"\mathrm{var}_c/((1 - 1/K) \sum s_c^2 m_c^2)$, which is not 0, that of normalised features to 0, "
    r"NC2 is 0 from the separation "
    r"on, and the square of NC3 tends to $2 (1 - \sum s_c/\sqrt{K \sum s_c^2})$.",
    hypotheses=(*START_HYPOTHESES, TRAPPED),
    conclusions=(
        Conclusion("NC1", "NC1 tends to its closed form", AtMost(_nc1, 1e-3), is_asymptotic=True),
        Conclusion(
            "NC1-normalised", "NC1 of normalised features tends to 0", AtMost(_nc1_normalised, 1e-4), is_asymptotic=True
        ),
        Conclusion("NC2", "NC2 is 0 from the separation on", AtMost(_nc2, 0.0, allowance=1e-12)),
        Conclusion("NC3", "NC3 of directions tends to its closed form", AtMost(_nc3, 1e-3), is_asymptotic=True),
    ),
    constants=_limits,
    parameters=(LOG_TIME,),
    plan=late_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E10: the printed target of NC3 is too long, so that NC3 could not vanish.",
    source=Source.RELUFLOW,
    takes_classes=True,
)

# When a class is learnt -----------------------------------------------------------------------------------------------


def _all_fire_on_their_class(evidence: Evidence) -> Comparison:
    found = alignments(evidence).full_classes
    wrong, empty = int(np.sum(found < 0)), set(range(evidence.problem.num_outputs)) - set(found.tolist())
    return judgement(not wrong and not empty, float(-wrong - len(empty)), f"{wrong} of {found.size} neurons do not")


def learning_plan(evidence: Evidence) -> FlowPlan:
    """To a third more than the time of the last class, also at the square of the scale."""
    rates = geometry(evidence).learning_rates
    end = (-evidence.network.log_scale + 3.0) / float(rates.min()) * 1.3
    return FlowPlan(times=tuple(np.linspace(0.0, end, 100)), other_scales=(evidence.network.log_scale,))


def half_loss_times(evidence: Evidence, run: Trajectory) -> FloatArray:
    """When the loss of each class has halved, between recorded times by a straight line in its logarithm."""
    classes, found = geometry(evidence), []
    times = np.array([s.time for s in run.snapshots])
    losses = np.array([evidence.loss.value(s.outputs, evidence.dataset.y) for s in run.snapshots])
    for members in classes.members:
        share = np.log(losses[:, members].sum(axis=1) / losses[0, members].sum()) / np.log(0.5)
        below = np.flatnonzero(share >= 1.0)
        require(below, "a class is not learnt by the end of the run")
        k = int(below[0])
        found.append(float(np.interp(1.0, share[k - 1 : k + 1], times[k - 1 : k + 1])))
    return np.array(found)


def _slope_errors(evidence: Evidence) -> Values:
    """Slopes of the half-loss times against log(1/scale), times kappa |S_c|, less 1."""
    require(evidence.other_scales, "a run at another scale")
    smaller = evidence.other_scales[-1]
    gap = evidence.network.log_scale - smaller.network.log_scale
    moved = half_loss_times(evidence, smaller.run) - half_loss_times(evidence, evidence.run)
    return [np.abs(moved / gap * geometry(evidence).learning_rates - 1.0)]


def _first_order(evidence: Evidence) -> FloatArray:
    """log(1/scale)/(kappa |S_c|), class by class."""
    return np.asarray(-evidence.network.log_scale / geometry(evidence).learning_rates)


LEARNING_TIMES = Theorem(
    "min2025:learning-times",
    Reference("min2025", "beyond Sec. 4.2"),
    r"Where each neuron fires on exactly one class, class $c$ is learnt at $t = "
    r"\log(1/\varepsilon)/(\kappa\,|\sum_{I_c} x_k|)"
    r" + O(1)$: the largest class sum first.",
    hypotheses=(
        *START_HYPOTHESES,
        Hypothesis(
            "separated-start", "each neuron fires on exactly one class, each class has one", _all_fire_on_their_class
        ),
    ),
    conclusions=(
        Conclusion(
            "slope",
            r"the times at which the loss of a class is halved move by $1/(\kappa |S_c|)$ per unit of "
            r"$\log(1/\varepsilon)$",
            AtMost(_slope_errors, 2e-2, words="{measured:.3g} off, relative"),
        ),
    ),
    predictions=Quantities({"times": _first_order}),
    plan=learning_plan,
    setting=SETTING,
    example=EXAMPLE,
    source=Source.RELUFLOW,
    takes_classes=True,
)
