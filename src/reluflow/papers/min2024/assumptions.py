"""Data assumptions of Min, Mallada & Vidal (2024) [min2024]."""

from __future__ import annotations

import numpy as np

from reluflow.theory.comparison import Comparison, fails, judgement, positive, undecided
from reluflow.theory.condition import Assumption
from reluflow.theory.facts import DatasetFacts
from reluflow.theory.output_facts import OutputFacts
from reluflow.theory.separability import LINEARLY_SEPARABLE, ROUNDING, class_pair_detail, pair_detail


def correlation(facts: DatasetFacts) -> Comparison:
    """Assumption 1: mu = min over pairs of cos(y_i x_i, y_k x_k) is positive."""
    if not facts.dataset.is_binary:
        return fails("the labels are not -1 and 1")
    pairs = facts.pairs
    if not pairs.is_complete and pairs.mu > 0:
        return undecided(f"too many pairs for $n$ = {facts.dataset.n}; no violation among those visited")
    bound = "" if pairs.is_complete else "at most "
    return positive(pairs.mu, rf"$\mu$ = {bound}{pairs.mu:.6g}: {pair_detail(facts)}")


def correlation_of_classes(facts: OutputFacts) -> Comparison:
    """The same for every pair of classes: cosines above 0 within a class, below 0 across."""
    cosines = facts.cosines
    if cosines is None:
        return undecided(facts.without_meaning)
    mu = min(1.0, cosines.within, -cosines.across)
    if not cosines.is_complete and mu > 0:
        return undecided(f"too many pairs for $n$ = {facts.dataset.n}; no violation among those visited")
    bound = "" if cosines.is_complete else "at most "
    return positive(mu, rf"$\mu$ = {bound}{mu:.6g}: {class_pair_detail(facts)}")


def loss_has_unit_force(facts: DatasetFacts) -> Comparison:
    """Lemma 2 (erratum E4): |force(h, y) - y| <= 2|h| for |h| <= 1, which needs force y at h = 0.

    The force is the one of a single sample, `factor` included: the exponential loss and twice the logistic loss
    pass, the plain logistic loss does not.
    """
    h = np.concatenate([np.linspace(-1.0, 1.0, 2001), [0.0]])
    worst = np.inf
    for label in np.unique(facts.dataset.y) if facts.dataset.n <= 10_000 else np.array([-1.0, 1.0]):
        force = facts.loss.factor * facts.loss.force(h, np.full_like(h, label))
        worst = min(worst, float(np.min(2.0 * np.abs(h) - np.abs(force - label))))
    detail = (
        f"smallest $2|h| - |F(h, y) - y|$ of the force $F$ on $[-1, 1]$ is {worst:.3g} for the {facts.loss.name} "
        f"loss times {facts.loss.factor:g}"
    )
    return judgement(bool(worst >= -ROUNDING), worst, detail)


def sum_reduction(facts: DatasetFacts | OutputFacts) -> Comparison:
    """Sec. 2: the loss is summed over samples; times scale by n otherwise."""
    is_sum = facts.loss.reduction == "sum"
    detail = "summed" if is_sum else "averaged: every time of the theorem is multiplied by $n$"
    return judgement(is_sum, None, detail)


def directions_at_start(facts: DatasetFacts) -> Comparison:
    """Assumption 2: no positive neuron starts along x_-, no negative one along x_+."""
    return undecided("depends on the drawn neurons, not on the data; holds almost surely for a Gaussian draw")


CORRELATED = Assumption(
    "orthogonally-separable-strict",
    "min2024",
    r"Assumption 1: $\mu = \min_{i,k}\,\cos(y_i x_i, y_k x_k) > 0$",
    correlation,
    correlation_of_classes,
)
START_DIRECTIONS = Assumption(
    "min-a2",
    "min2024",
    "Assumption 2: no neuron starts along the aggregate of the other class",
    directions_at_start,
)
UNIT_FORCE = Assumption(
    "min-loss",
    "min2024",
    r"Lemma 2 (E4): $|F(h, y) - y| \le 2|h|$ on $[-1, 1]$ for the force $F$ of the loss",
    loss_has_unit_force,
)
SUMMED_LOSS = Assumption(
    "summed-loss",
    "min2024",
    "Sec. 2: the loss is a sum over samples (also phuong2021, Eq. (3))",
    sum_reduction,
    sum_reduction,
)

ASSUMPTIONS = (CORRELATED, START_DIRECTIONS, UNIT_FORCE, SUMMED_LOSS, LINEARLY_SEPARABLE)
