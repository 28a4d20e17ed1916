"""Theorem 1: alignment by t_1, traps, and what follows; and the refined alignment at t_2 [min2024]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.papers.min2024.assumptions import CORRELATED, START_DIRECTIONS, SUMMED_LOSS, UNIT_FORCE
from reluflow.papers.min2024.paper import EXAMPLE, SETTING, SPATIAL
from reluflow.papers.min2024.theorems.alignment_paths import aligned_by_t_1, aligned_by_t_1_sharp
from reluflow.papers.min2024.theorems.class_groups import NO_FIT, fit_bound, groups
from reluflow.papers.min2024.theorems.constants import (
    alignment_and_rate_constants,
    data_constants,
    log_bound,
    proof_constants,
)
from reluflow.papers.min2024.theorems.fitting import loss_under_curve, norm_over_curve
from reluflow.papers.min2024.theorems.landmarks import fitted_time, last_fitted_time, whole_plan
from reluflow.papers.min2024.theorems.low_rank import low_rank, ranks_in_space
from reluflow.papers.min2024.theorems.moving_neurons import DEAD, Moment, moments_from
from reluflow.papers.min2024.theorems.pattern_history import alignment_time, forbidden_flips, pattern_history
from reluflow.papers.min2024.theorems.shared_hypotheses import (
    BOTH_CONES,
    LOSS,
    NONZERO_NEURONS,
    OFF_AGGREGATES,
    REGIME,
    REGULAR,
    SCALE_28,
    both_cones_held,
)
from reluflow.theory.comparison import Comparison, Level, Values, at_least, none_of, nothing, require, requires
from reluflow.theory.condition import DataHypotheses
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import BALANCED, RELU, assumed
from reluflow.theory.measures import AtLeast, Constants, ScaledDownTo
from reluflow.theory.theorem import Conclusion, Reference, Theorem


def _aligned_moments(evidence: Evidence) -> tuple[Moment, ...]:
    return moments_from(evidence, proof_constants(evidence).t_1)


@requires(_aligned_moments, "no snapshot at $t_1$")
def _classified(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    """Neurons outside both traps at the first snapshot from t_1 on."""
    first = found[0]
    outside = int(np.sum((first.cones != DEAD) & (first.cones != first.signs)))
    counts = {name: int(np.sum(first.cones == code)) for name, code in (("S_+", 1), ("S_-", -1), ("S_dead", 0))}
    return none_of(outside, detail=f"{outside} neurons outside their traps at $t_1$; {counts}")


@requires(_aligned_moments, "no snapshot at $t_1$")
def _active_ones_survive(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    """A neuron active on an own sample at the start is in its cone at t_1."""
    data, signs = data_constants(evidence), np.sign(evidence.network.a)
    is_own = data.y[None, :] == signs[:, None]
    starts_active = np.any((evidence.network.pre_activations(data.X) > 0.0) & is_own, axis=1)
    lost = int(np.sum(starts_active & (found[0].cones != signs)))
    return none_of(lost, total=int(np.sum(starts_active)))


@requires(_aligned_moments, "two snapshots after $t_1$", at_least=2)
def _trapped(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    lost = sum(int(np.sum(moment.cones != found[0].cones)) for moment in found[1:])
    return none_of(lost, detail=f"{lost} changes of cone over {len(found)} snapshots after $t_1$")


def _one_way(evidence: Evidence) -> Comparison:
    return none_of(forbidden_flips(evidence), total=len(pattern_history(evidence).flips))


def _within_window(evidence: Evidence) -> Comparison:
    """T <= t_2 <= (39); the slack is the smaller distance."""
    signs = [group.sign for group in groups(evidence)]
    times = [(require(fitted_time(evidence, sign), NO_FIT), fit_bound(evidence, sign)) for sign in signs]
    require(times, NO_FIT)
    horizon = proof_constants(evidence).horizon
    slack = min(min(t - horizon, bound - t) for t, bound in times)
    latest, longest = (max(each) for each in zip(*times, strict=True))
    return at_least(slack, 0.0, detail=f"$t_2$ = {latest:.8g} in [{horizon:.8g}, {longest:.8g}]")


def _predictions(evidence: Evidence) -> Constants:
    found = {"t_2_at_most": max(fit_bound(evidence, sign) for sign in data_constants(evidence).classes)}
    if evidence.trajectory is not None:
        found["alignment_time"] = alignment_time(evidence)
        latest = last_fitted_time(evidence)
        if latest is not None:
            found["t_2"] = latest
    return found


@dataclass(frozen=True)
class WithBothCones:
    """The second part of Theorem 1 speaks only of runs in which the cone of each class present holds a neuron."""

    measure: Callable[[Evidence], Comparison]

    def __call__(self, evidence: Evidence) -> Comparison:
        judged = both_cones_held(evidence)
        return self.measure(evidence) if judged.holds else nothing(f"a cone holds no neuron: {judged.detail}")


THM_1 = Theorem(
    "min2024:thm1",
    Reference("min2024", "Theorem 1"),
    r"For small enough balanced initialisation every neuron is in $S_+$, $S_-$ or $S_{\mathrm{dead}}$ by $t_1$ and "
    r"stays; from $t_2$ on $L(t) \le L(t_2)/(L(t_2) \alpha_{\mathrm{rate}} (t - t_2) + 1)$; and "
    r"$\|W\|_F^2 \le 2\|W\|_2^2 + 4 \sqrt{m} \varepsilon W_{\max}^2$.",
    hypotheses=(
        assumed(CORRELATED),
        LOSS,
        assumed(UNIT_FORCE),
        assumed(SUMMED_LOSS),
        RELU,
        BALANCED,
        NONZERO_NEURONS,
        OFF_AGGREGATES,
        SCALE_28,
        REGULAR,
    ),
    conclusions=(
        Conclusion("aligned", r"$\tau_{\mathrm{align}}$ is at most $t_1$", aligned_by_t_1),
        Conclusion("aligned-sharp", r"$\tau_{\mathrm{align}}$ is at most $t_1^{\mathrm{sharp}}$", aligned_by_t_1_sharp),
        Conclusion("classified", "at $t_1$ every neuron is in its cone or dead", _classified, Level.EXACT),
        Conclusion(
            "survivors", "a neuron active on its class at the start ends in its cone", _active_ones_survive, Level.EXACT
        ),
        Conclusion("one-way", "activations changed the allowed way only", _one_way, Level.EXACT),
        Conclusion("trapped", "from $t_1$ on no neuron changes its cone", _trapped, Level.EXACT),
        Conclusion("window", "$t_2$ lies between $T$ and the bound (39)", WithBothCones(_within_window)),
        Conclusion(
            "loss",
            r"$L(t)$ over $L(t_2)/(L(t_2) \alpha_{\mathrm{rate}} (t - t_2) + 1)$",
            WithBothCones(loss_under_curve),
        ),
        Conclusion(
            "norm",
            r"$\|W\|_F^2$ against $\log(n/B(t))/X_{\max}$, which diverges, $B$ being the bound on the loss",
            WithBothCones(norm_over_curve),
        ),
        Conclusion("low-rank", "stable rank against 2 plus the allowance from $t_1$ on", WithBothCones(low_rank)),
        Conclusion("limit-rank", "stable rank at the end", WithBothCones(partial(ranks_in_space, from_last=True))),
    ),
    constants=alignment_and_rate_constants,
    predictions=_predictions,
    plan=whole_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=SPATIAL,
    erratum=r"E1, E2: $\zeta$ is a minimum and (28) needs the factor 8; E3: $t_1$ is of order "
    r"$\mu^{-5/2}\,\log n$, the order $\mu^{-1/2}$ holds up to $\log(1/\mu)$ for $t_1^{\mathrm{sharp}}$.",
    departs="The limsup of the stable rank is read at the last snapshot; what the second part says of $t_2$ and "
    "later is asked where both cones hold a neuron at $t_1$.",
    diagnosed=DataHypotheses(
        losses=("logistic", "exponential"),
        leaks="relu",
        total_force=1.0,
        apart=(UNIT_FORCE.key, SUMMED_LOSS.key, START_DIRECTIONS.key),
    ),
)


def _refined(evidence: Evidence) -> Values:
    """cos(w_j, x_+-) at the first snapshot from t_2^+- on."""
    for group in groups(evidence):
        later = [moment for moment in group.moments if group.fitted is not None and moment.time >= group.fitted]
        yield require(later, NO_FIT)[0].directions[group.neurons] @ group.unit


REFINED_ALIGNMENT = Theorem(
    "min2024:refined-alignment",
    Reference("min2024", "Sec. 3.2, refined alignment"),
    r"By the time an own output reaches 1/4 the neurons of a cone are close to $x_\pm$: $\cos \ge 1/4$ is proved.",
    hypotheses=(*REGIME, BOTH_CONES),
    conclusions=(
        Conclusion(
            "cosine",
            r"smallest $\cos(w_j, x_\pm)$ at $t_2^\pm$",
            AtLeast(_refined, 0.25, without="no neuron in its cone at $t_1$"),
        ),
    ),
    constants=alignment_and_rate_constants,
    plan=whole_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
)
