"""Data assumptions of Min, Mallada & Vidal (2024) [min2024]."""

from __future__ import annotations

import numpy as np

from reluflow.theory.condition import DataHypotheses, Judgement, assumptions_of, fails, positive, undecided
from reluflow.theory.facts import DatasetFacts

ROUNDING = 16 * np.finfo(float).eps  # a cosine of exactly orthogonal vectors is computed to within this


def correlation(facts: DatasetFacts) -> Judgement:
    """Assumption 1: mu = min over pairs of cos(y_i x_i, y_k x_k) is positive."""
    if not facts.dataset.is_binary:
        return fails("the labels are not -1 and 1")
    pairs = facts.pairs
    if not pairs.is_complete and pairs.mu > 0:
        return undecided(f"too many pairs for n = {facts.dataset.n}; no violation among those visited")
    bound = "" if pairs.is_complete else "at most "
    return positive(pairs.mu, f"mu = {bound}{pairs.mu:.6g}: {_pair_detail(facts)}")


def orthogonal_separability(facts: DatasetFacts) -> Judgement:
    """Same label: positive inner product; different labels: at most 0 (Phuong & Lampert, Eq. (1); Lyu et al., H.1)."""
    if not facts.dataset.is_binary:
        return fails("the labels are not -1 and 1")
    pairs = facts.pairs
    margin = min(pairs.min_same_class, -pairs.max_cross_class, 1.0)
    holds = pairs.min_same_class > ROUNDING and pairs.max_cross_class <= ROUNDING
    if not pairs.is_complete and holds:
        return undecided(f"too many pairs for n = {facts.dataset.n}; no violation among those visited")
    return Judgement(bool(holds), margin, _pair_detail(facts))


def loss_has_unit_force(facts: DatasetFacts) -> Judgement:
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
        f"smallest 2|h| - |force - y| on [-1, 1] is {worst:.3g} "
        f"for the {facts.loss.name} loss times {facts.loss.factor:g}"
    )
    return Judgement(bool(worst >= -ROUNDING), worst, detail)


def sum_reduction(facts: DatasetFacts) -> Judgement:
    """Sec. 2: the loss is summed over samples; times scale by n otherwise."""
    is_sum = facts.loss.reduction == "sum"
    detail = "summed" if is_sum else "averaged: every time of the theorem is multiplied by n"
    return Judgement(is_sum, None, detail)


def directions_at_start(facts: DatasetFacts) -> Judgement:
    """Assumption 2: no positive neuron starts along x_-, no negative one along x_+."""
    return undecided("depends on the drawn neurons, not on the data; holds almost surely for a Gaussian draw")


def _pair_detail(facts: DatasetFacts) -> str:
    pairs = facts.pairs
    same = (
        "no pair with the same label"
        if np.isinf(pairs.min_same_class)
        else f"smallest cosine within a class {pairs.min_same_class:.6g}"
    )
    cross = (
        "one class only"
        if np.isinf(pairs.max_cross_class)
        else f"largest cosine across classes {pairs.max_cross_class:.6g}"
    )
    visited = "" if pairs.is_complete else ", over the pairs visited"
    return f"{same}, {cross}{visited}"


ASSUMPTIONS = assumptions_of(
    "min2024",
    ("orthogonally-separable-strict", "Assumption 1: mu = min cos(y_i x_i, y_k x_k) > 0", correlation),
    ("min-a2", "Assumption 2: no neuron starts along the aggregate of the other class", directions_at_start),
    ("min-loss", "Lemma 2 (E4): |force(h, y) - y| <= 2|h| on [-1, 1]", loss_has_unit_force),
    ("summed-loss", "Sec. 2: the loss is a sum over samples (also phuong2021, Eq. (3))", sum_reduction),
)

THEOREMS = (
    DataHypotheses(
        "min2024:thm1",
        losses=("logistic", "exponential"),
        leaks="relu",
        total_force=1.0,
        apart=("min-loss", "summed-loss", "min-a2"),
    ),
)
