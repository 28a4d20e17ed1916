"""The hypotheses the results of Min et al. share, judged on the data and on the drawn neurons [min2024]."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from reluflow.dynamics.event import EventKind
from reluflow.geometry.alignment import align
from reluflow.papers.min2024.assumptions import CORRELATED, START_DIRECTIONS, SUMMED_LOSS, UNIT_FORCE
from reluflow.papers.min2024.theorems.constants import data_constants, log_bound, log_small_scale, starting_cosine
from reluflow.papers.min2024.theorems.moving_neurons import cones_of
from reluflow.theory.comparison import Comparison, fails, judgement
from reluflow.theory.elsewhere import condition
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import BALANCED, RELU, assumed, has_binary_labels, loss_hypothesis
from reluflow.theory.theorem import Hypothesis

ASSUMPTION_1 = condition("min2024:assumption1", "Assumption 1", CORRELATED, r"$\mu > 0$")
ASSUMPTION_2 = condition(
    "min2024:assumption2",
    "Assumption 2",
    START_DIRECTIONS,
    "of the drawn neurons, so judged with the start: "
    "`reluflow.papers.min2024.theorems.shared_hypotheses.OFF_AGGREGATES`",
)

LOSS = loss_hypothesis("exponential", "logistic")
BINARY = Hypothesis("binary", "labels are -1 and 1", has_binary_labels)


def away_from_the_other_class(evidence: Evidence) -> Comparison:
    """1 minus the largest cosine of Assumption 2; a neuron along the other aggregate to rounding fails."""
    largest = max(starting_cosine(evidence, 1), starting_cosine(evidence, -1))
    margin = 1.0 - largest
    return judgement(margin > 1e-12, margin, f"largest cosine with the other class's aggregate is {largest:.12g}")


OFF_AGGREGATES = Hypothesis(
    START_DIRECTIONS.key,
    "Assumption 2: no positive neuron starts along $x_-$, no negative one along $x_+$",
    away_from_the_other_class,
)


def _nonzero(evidence: Evidence) -> Comparison:
    zeros = int(np.sum(~np.any(evidence.network.w != 0.0, axis=1)))
    return judgement(zeros == 0, None, f"{zeros} neurons are zero")


NONZERO_NEURONS = Hypothesis("nonzero-neurons", "no column of $W_0$ is zero (Remark 2)", _nonzero)


def _scale_at_most(evidence: Evidence, *, bound: Callable[[Evidence], float]) -> Comparison:
    """log eps against a bound, which a scale set equal to it may miss by the rounding of the sum of two logarithms."""
    largest = bound(evidence)
    log_scale, size = evidence.network.log_scale, max(abs(largest), 1.0)
    rounding = 4.0 * float(np.spacing(size)) if np.isfinite(largest) else 0.0
    detail = rf"$\log\varepsilon$ = {log_scale:.8g} against at most {largest:.8g}"
    return judgement(log_scale <= largest + rounding, largest - log_scale, detail)


SMALL_SCALE = Hypothesis(
    "small-scale",
    r"$\varepsilon \le 1/(4 \sqrt{m} X_{\max} W_{\max}^2)$",
    partial(_scale_at_most, bound=log_small_scale),
    is_regime=True,
)
SCALE_28 = Hypothesis(
    "scale-28",
    r"$\varepsilon$ is at most the bound (28), with the factor 8 of erratum E2",
    partial(_scale_at_most, bound=log_bound),
    is_regime=True,
)


def both_cones_held(evidence: Evidence) -> Comparison:
    """Where the neurons of each sign end in the limit of vanishing scale, in closed form."""
    data, network = data_constants(evidence), evidence.network
    moving = np.any(network.w != 0.0, axis=1)
    ends = align(data.X, evidence.loss.label_forces(data.y), network.w[moving], network.a[moving], leak=network.leak)
    cones, signs = cones_of(ends.patterns > 0, data.y), np.sign(network.a[moving])
    held = {s: int(np.sum((signs == s) & (cones == s))) for s in (1, -1)}
    if not data.classes:
        return fails("no label is -1 or 1")
    least = min(held[sign] for sign in data.classes)
    detail = f"{held[1]} positive and {held[-1]} negative neurons end in the cone of their sign"
    return judgement(least > 0, float(least), detail)


BOTH_CONES = Hypothesis("both-cones", "the cone of each class present holds a neuron of its sign", both_cones_held)


def _regular(evidence: Evidence) -> Comparison:
    """A run leaves S_dead only where the flow branches and a side was chosen for it."""
    ridges = evidence.run.events.count(EventKind.RIDGE)
    return judgement(ridges == 0, float(-ridges), f"the run met {ridges} points where the flow branches")


REGULAR = Hypothesis("regular", "the solution is regular: no branch was chosen", _regular, needs_trajectory=True)

APPROXIMATION = (BINARY, assumed(UNIT_FORCE), assumed(SUMMED_LOSS), BALANCED, NONZERO_NEURONS, SMALL_SCALE)
FLOW = (assumed(CORRELATED), LOSS, assumed(UNIT_FORCE), assumed(SUMMED_LOSS), RELU, BALANCED, NONZERO_NEURONS)
REGIME = (*FLOW, OFF_AGGREGATES, SCALE_28)
