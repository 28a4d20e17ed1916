"""Data assumptions of Min, Zhu & Vidal (2025) [min2025]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reluflow.papers.min2025.class_geometry import ClassGeometry
from reluflow.theory.comparison import Comparison, fails, judgement, positive, undecided
from reluflow.theory.condition import NOT_CLASSES, Assumption
from reluflow.theory.facts import DatasetFacts
from reluflow.theory.output_facts import OutputFacts

ROUNDING = 16 * np.finfo(float).eps  # a cosine of exactly orthogonal vectors is computed to within this


def _geometry(facts: DatasetFacts | OutputFacts) -> ClassGeometry | Comparison:
    """The classes, or why nothing can be said of them."""
    if facts.dataset.classes is None and not facts.dataset.is_binary:
        return fails(NOT_CLASSES)
    geometry = ClassGeometry.of(facts.dataset)
    return geometry if geometry.is_affordable else undecided(f"too many pairs for $n$ = {facts.dataset.n}")


def separable_classes(facts: DatasetFacts | OutputFacts) -> Comparison:
    """Assumption 1: cosines at least mu_s > 0 within a class, at most -mu_d < 0 between two."""
    geometry = _geometry(facts)
    if isinstance(geometry, Comparison):
        return geometry
    mu_s, mu_d = geometry.mu_s, geometry.mu_d
    words = rf"$\mu_s$ = {mu_s:.9g}, $\mu_d$ = {mu_d:.9g}, of at most {1.0 / (geometry.num_classes - 1.0):.6g}"
    return judgement(bool(min(mu_s, mu_d) > ROUNDING), min(mu_s, mu_d), words)


def printed_data_condition(facts: DatasetFacts | OutputFacts) -> Comparison:
    """The condition of Propositions 1 and 3 as printed: X_max^2/(X_min^2 mu_d mu_s^2) < 2K - 3; it does not suffice."""
    geometry = _geometry(facts)
    if isinstance(geometry, Comparison):
        return geometry
    mu_s, mu_d, bound = geometry.mu_s, geometry.mu_d, 2.0 * geometry.num_classes - 3.0
    if not min(mu_s, mu_d) > ROUNDING:
        return fails(rf"$\mu_s$ = {mu_s:.6g}, $\mu_d$ = {mu_d:.6g}")
    value = float((geometry.norms.max() / geometry.norms.min()) ** 2 / (mu_d * mu_s**2))
    return positive(bound - value, rf"{value:.6g} against {bound:g}")


def separable_with_bias(facts: DatasetFacts | OutputFacts) -> Comparison:
    """App. A: with a constant coordinate 1 the samples are orthogonally separable still; mu_d X_min^2 > 1 suffices."""
    geometry = _geometry(facts)
    if isinstance(geometry, Comparison):
        return geometry
    augmented = replace(geometry, X=np.hstack([geometry.X, np.ones((len(geometry.X), 1))]))
    margin = min(augmented.mu_s, augmented.mu_d)
    least = geometry.mu_d * float(geometry.norms.min()) ** 2
    words = (
        rf"$\mu_s$ = {augmented.mu_s:.6g}, $\mu_d$ = {augmented.mu_d:.6g} with it; $\mu_d X_{{\min}}^2$ = {least:.6g}"
    )
    return judgement(bool(margin > ROUNDING), margin, words)


SEPARABLE_CLASSES = Assumption(
    "orthogonally-separable-classes",
    "min2025",
    r"Assumption 1: cosines at least $\mu_s > 0$ within a class, at most $-\mu_d < 0$ between two classes",
    separable_classes,
    separable_classes,
)
PRINTED_CONDITION = Assumption(
    "min2025-data-condition",
    "min2025",
    r"Props. 1 and 3 as printed, which does not suffice (E2): $X_{\max}^2/(X_{\min}^2 \mu_d \mu_s^2) < 2K - 3$",
    printed_data_condition,
    printed_data_condition,
)
SEPARABLE_WITH_BIAS = Assumption(
    "min2025-hidden-bias",
    "min2025",
    r"App. A: the samples $(x_k, 1)$ satisfy Assumption 1, for which $\mu_d X_{\min}^2 > 1$ suffices",
    separable_with_bias,
    separable_with_bias,
)

ASSUMPTIONS = (SEPARABLE_CLASSES, PRINTED_CONDITION, SEPARABLE_WITH_BIAS)
