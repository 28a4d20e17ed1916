"""Separability of the two classes, which several papers assume: linear, and orthogonal."""

from __future__ import annotations

import numpy as np

from reluflow.certificates.hard_margin import Separability
from reluflow.theory.comparison import Comparison, fails, judgement, positive, undecided
from reluflow.theory.condition import NOT_BINARY, Assumption
from reluflow.theory.facts import DatasetFacts
from reluflow.theory.output_facts import OutputFacts

ROUNDING = 16 * np.finfo(float).eps  # a cosine of exactly orthogonal vectors is computed to within this


def linear_separability(facts: DatasetFacts) -> Comparison:
    """Assumption 3.2: some w has y_i <w, x_i> >= 1 for all i; the margin is gamma* = max_|w|=1 min_i y_i <w, x_i>."""
    if not facts.dataset.is_binary:
        return fails(NOT_BINARY)
    separator = facts.separator
    if separator is None:
        return undecided(f"the max-margin separator is not attempted for $n d$ = {facts.dataset.X.size}")
    if separator.separable:
        return positive(
            separator.margin, rf"$\gamma^*$ = {separator.margin:.9g}, {len(separator.support)} support samples"
        )
    if separator.status is Separability.UNDECIDED:
        return undecided("neither a separator nor a vanishing combination of the $y_i x_i$ could be verified exactly")
    residual = float(np.linalg.norm(separator.multipliers @ (facts.dataset.X * facts.dataset.y[:, None])))
    return judgement(
        False,
        min(0.0, separator.margin),
        f"a convex combination of the $y_i x_i$ vanishes, verified exactly (norm {residual:.2g}), so no separator "
        f"exists",
    )


def orthogonal_separability(facts: DatasetFacts) -> Comparison:
    """Same label: positive inner product; different labels: at most 0 (Phuong & Lampert, Eq. (1); Lyu et al., H.1)."""
    if not facts.dataset.is_binary:
        return fails("the labels are not -1 and 1")
    pairs = facts.pairs
    margin = min(pairs.min_same_class, -pairs.max_cross_class, 1.0)
    holds = pairs.min_same_class > ROUNDING and pairs.max_cross_class <= ROUNDING
    if not pairs.is_complete and holds:
        return undecided(f"too many pairs for $n$ = {facts.dataset.n}; no violation among those visited")
    return judgement(bool(holds), margin, pair_detail(facts))


def linear_separability_of_classes(facts: OutputFacts) -> Comparison:
    """Each class is linearly separable from the rest; the margin is the smallest over the classes."""
    if facts.dataset.classes is None:
        return undecided(facts.without_meaning)
    separators = facts.separators
    if not separators:
        return undecided(f"the max-margin separators are not attempted for $n d$ = {facts.dataset.X.size}")
    states = {name: separator.status for name, separator in separators.items()}
    if refused := [name for name, state in states.items() if state is Separability.NOT_SEPARABLE]:
        return judgement(False, 0.0, f"not separable from the rest, verified exactly: {', '.join(refused)}")
    if left_open := [name for name, separator in separators.items() if not separator.separable]:
        return undecided(f"neither a separator nor its absence could be verified exactly for {', '.join(left_open)}")
    worst = min(separators, key=lambda name: separators[name].margin)
    return positive(
        separators[worst].margin,
        rf"each class is separable from the rest, {worst} with the smallest $\gamma^*$ = "
        f"{separators[worst].margin:.9g}",
    )


def orthogonal_separability_of_classes(facts: OutputFacts) -> Comparison:
    """The same for every pair of classes: inner products positive within a class, at most 0 across."""
    cosines = facts.cosines
    if cosines is None:
        return undecided(facts.without_meaning)
    holds = bool(cosines.within > ROUNDING and cosines.across <= ROUNDING)
    if not cosines.is_complete and holds:
        return undecided(f"too many pairs for $n$ = {facts.dataset.n}; no violation among those visited")
    return judgement(holds, min(cosines.within, -cosines.across, 1.0), class_pair_detail(facts))


def class_pair_detail(facts: OutputFacts) -> str:
    """The extreme cosines within and across classes, with the classes that have them, in words."""
    names, cosines = facts.dataset.classes, facts.cosines
    if names is None or cosines is None:
        return facts.without_meaning
    place = int(np.argmin(cosines.smallest_within))
    same = (
        "no pair with the same label"
        if np.isinf(cosines.within)
        else f"smallest cosine within a class {cosines.within:.6g} ({names[place]})"
    )
    one, two = np.unravel_index(int(np.argmax(cosines.largest_across)), cosines.largest_across.shape)
    visited = "" if cosines.is_complete else ", over the pairs visited"
    return f"{same}, largest cosine across classes {cosines.across:.6g} ({names[one]} and {names[two]}){visited}"


def pair_detail(facts: DatasetFacts) -> str:
    """The extreme cosines within and across classes, in words."""
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


LINEARLY_SEPARABLE = Assumption(
    "linearly-separable",
    "lyu2021",
    r"Assumption 3.2: some $w$ has $y_i \langle w, x_i\rangle > 0$ for all $i$",
    linear_separability,
    linear_separability_of_classes,
)
ORTHOGONALLY_SEPARABLE = Assumption(
    "orthogonally-separable",
    "phuong2021",
    "Eq. (1), also H.1 of lyu2021: inner products positive within a class, at most 0 across",
    orthogonal_separability,
    orthogonal_separability_of_classes,
)
