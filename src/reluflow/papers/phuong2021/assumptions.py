"""Data assumptions of Phuong & Lampert (2021) [phuong2021]."""

from __future__ import annotations

import numpy as np

from reluflow.certificates.hard_margin import Separability, hard_margin
from reluflow.theory.comparison import Comparison, fails, positive, undecided
from reluflow.theory.condition import Assumption
from reluflow.theory.facts import MAX_SEPARATOR_ENTRIES, DatasetFacts
from reluflow.theory.output_facts import OutputFacts
from reluflow.theory.separability import ORTHOGONALLY_SEPARABLE

ROUNDING = 1e-15  # relative error of a sum of products, a few units of the last place
_MAX_DIMENSION, _MAX_ENTRIES = 100, 5_000_000  # beyond these the active-set solver takes minutes


def support_spans(facts: DatasetFacts) -> Comparison:
    """Sec. 2: the support samples of each class's max-margin vector span R^d.

    The margin is the smallest singular value of the unit-normalised support samples when both classes span; else
    the missing rank, as a negative number.
    """
    if not facts.dataset.is_binary:
        return fails("the labels are not -1 and 1")
    if facts.dataset.X.size > MAX_SEPARATOR_ENTRIES:
        return undecided(f"the max-margin vectors are not attempted for $n d$ = {facts.dataset.X.size}")
    d = facts.dataset.d
    margin, details, open_classes = np.inf, [], []
    for name, vector in (("positive", facts.one_class.positive), ("negative", facts.one_class.negative)):
        if vector is not None and vector.separator.status is Separability.UNDECIDED:
            open_classes.append(f"whether the {name} class has a max-margin vector could not be verified exactly")
            continue
        if vector is None or not vector.feasible:
            details.append(f"no max-margin vector of the {name} class")
            margin = min(margin, -float(d))
            continue
        members = np.flatnonzero(facts.dataset.y == vector.label)
        at_margin = members[vector.separator.active_rows(facts.dataset.X[members])]
        details.append(f"{len(at_margin)} {name} support samples of rank {vector.support_rank} in dimension {d}")
        if vector.support_rank < d:
            margin = min(margin, float(vector.support_rank - d))
        else:
            unit = facts.dataset.X[at_margin] / facts.norms[at_margin][:, None]
            margin = min(margin, float(np.linalg.svd(unit, compute_uv=False)[d - 1]))
    if open_classes and margin > 0.0:
        return undecided("; ".join([*open_classes, *details]))
    return positive(margin, "; ".join([*details, *open_classes]))


def dead_cone_is_empty(facts: DatasetFacts | OutputFacts) -> Comparison:
    """Remark on Theorem 1: no direction has <w, x_k> <= 0 for every sample, so no ReLU neuron can die.

    Equivalent to the samples positively spanning R^d: rank d and sum_k l_k x_k/|x_k| = 0 with every l_k > 0. One
    non-negative least-squares problem, min |sum_k (1 + m_k) x_k/|x_k|| over m >= 0, decides: its residual is 0, or
    its negative is a direction in which every neuron is dead. The margin is the smallest weight of the vanishing
    combination, or minus the relative residual. What rounding leaves of the combination must be within reach of changes
    smaller than its weights: residual over the least singular value.
    """
    from scipy.optimize import nnls

    n, d = facts.dataset.n, facts.dataset.d
    if facts.rank < d:
        return positive(float(facts.rank - d), f"the samples have rank {facts.rank} in dimension {d}")
    unit = facts.dataset.X / facts.norms[:, None]
    if d > _MAX_DIMENSION or unit.size > _MAX_ENTRIES:
        if facts.dataset.X.size <= MAX_SEPARATOR_ENTRIES and (all_off := hard_margin(-unit)).separable:
            return positive(-all_off.margin, "a direction makes every sample negative")
        return undecided(f"not attempted for $n$ = {n}, $d$ = {d}; no direction makes every sample strictly negative")
    extra, residual = nnls(unit.T, -unit.sum(axis=0), maxiter=100 * (n + d))
    if residual > 1e-10 * n:
        return positive(-residual / n, "a direction makes no sample positive")
    weights = 1.0 + extra
    left = float(np.linalg.norm(weights @ unit)) + ROUNDING * float(weights.sum())
    if left >= float(weights.min() * np.linalg.svd(unit, compute_uv=False)[d - 1]):
        return undecided("a combination with positive weights vanishes to rounding, which proves nothing")
    return positive(float(weights.min() / weights.sum()), "a combination of the samples with positive weights vanishes")


SUPPORT_SPANS = Assumption(
    "support-spans", "phuong2021", r"Sec. 2: the support samples of each class span $\mathbb{R}^d$", support_spans
)
DEAD_CONE_EMPTY = Assumption(
    "dead-cone-empty",
    "phuong2021",
    r"Remark on Thm 1: no $w \ne 0$ has $\langle w, x_k\rangle \le 0$ for all $k$",
    dead_cone_is_empty,
    dead_cone_is_empty,
)

ASSUMPTIONS = (ORTHOGONALLY_SEPARABLE, SUPPORT_SPANS, DEAD_CONE_EMPTY)
