"""Cases for the errata of Phuong & Lampert: the printed form where it fails, the corrected one where it holds."""

from __future__ import annotations

import numpy as np

from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.losses import LogisticLoss
from reluflow.theory.erratum import Cases, both, on_each
from reluflow.theory.facts import DatasetFacts
from reluflow.theory.measurement import Measurement, at_least, at_most, none_of
from reluflow.theory.min2024.conditions import orthogonal_separability
from reluflow.theory.phuong2021.conditions import support_spans


def _facts(dataset: Dataset) -> DatasetFacts:
    return DatasetFacts(dataset, LogisticLoss(), 0.0)


def _growth(factor: float) -> Measurement:
    """a^2/a(0)^2 of a light neuron on one sample with nBV = 1 at t = 3, cosh^2 t, against exp(factor t)."""
    grown, bound = float(np.cosh(3.0) ** 2), float(np.exp(3.0 * factor))
    return at_most(grown, bound, detail=f"cosh^2 3 = {grown:.4g} against exp({factor:g} t) = {bound:.4g} at t = 3")


def _negative_side(*, printed: bool) -> Measurement:
    """Least y_i <w_-, x_i> over the negative samples, as Eq. (80) has it, or least <w_-, x_i>."""
    facts = _facts(load("phuong-toy"))
    found, data = facts.one_class.negative, facts.dataset
    w = np.zeros(data.d) if found is None else found.w
    least = float(np.min((data.X @ w * (data.y if printed else 1.0))[data.y < 0]))
    name = "y_i <w_-, x_i>" if printed else "<w_-, x_i>"
    return at_least(least, 1e-9, detail=f"least {name} over the negative samples is {least:.4g}")


def _ascent(along: tuple[float, float]) -> Measurement:
    """The change of G(w) = max(w_1, 0) - max(w_2, 0) on the circle when (-0.6, 0.8) moves along a direction."""
    start, step = np.array([-0.6, 0.8]), 1e-3 * np.array(along)
    moved = (start + step) / np.linalg.norm(start + step)
    gain = float(np.maximum(moved, 0.0) @ [1.0, -1.0] - np.maximum(start, 0.0) @ [1.0, -1.0])
    return at_most(-gain, 0.0, detail=f"G changes by {gain:.3g} along ({along[0]:g}, {along[1]:g})")


def _strict_maximum(*, printed: bool) -> Measurement:
    """Points of a grid of the circle, at the largest value, with a neighbour as large.

    Of min(cos t, 1/2), a function like any other that is not constant, or of G itself on `phuong-toy`.
    """
    t, data = np.linspace(0.0, 2.0 * np.pi, 3600, endpoint=False), load("phuong-toy")
    circle = np.column_stack([np.cos(t), np.sin(t)])
    values = np.minimum(circle[:, 0], 0.5) if printed else np.maximum(circle @ data.X.T, 0.0) @ data.y
    top = np.flatnonzero(values >= values.max() - 1e-12)
    flat = int(np.sum(np.isin((top + 1) % t.size, top) | np.isin((top - 1) % t.size, top)))
    return none_of(flat, total=top.size, detail=f"{flat} of {top.size} maxima have a neighbour as large")


def _orthants(*, printed: bool) -> Measurement:
    """Half-angle of a round cone of orthogonally separable directions in R^3, against the widest in an orthant.

    Or least cosine within a class of points drawn in an orthant, which is then at least 0.
    """
    if not printed:
        X = np.random.default_rng(0).uniform(0.1, 1.0, size=(12, 3))
        judged = orthogonal_separability(_facts(Dataset(np.vstack([X, -X]), np.repeat([1.0, -1.0], 12))))
        margin = judged.margin or 0.0
        return at_least(margin, 0.0, detail=f"points of opposite orthants are orthogonally separable by {margin:.3g}")
    half, angles = np.radians(44.0), np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    rows = np.column_stack([np.sin(half) * np.cos(angles), np.sin(half) * np.sin(angles), np.full(12, np.cos(half))])
    least = float(np.min(rows @ rows.T))
    inner = np.degrees(np.arctan(np.tan(half) * np.cos(np.pi / 12)))  # the round cone inside the twelve rays
    widest = np.degrees(np.arcsin(1.0 / np.sqrt(3.0)))
    words = (
        f"12 directions with cosines at least {least:.3f} hold a cone of {inner:.4g} degrees, an orthant {widest:.4g}"
    )
    return at_most(float(inner), float(widest), detail=words)


def _span(name: str) -> Measurement:
    """Whether the support samples of each class span R^d, the assumption of Theorem 1."""
    judged = support_spans(_facts(load(name)))
    margin = judged.margin if judged.margin is not None else -1.0
    return at_least(margin if judged.holds else min(margin, -1e-9), 0.0, detail=f"{judged.detail} ({name})")


CASES: dict[str, Cases] = {
    "P1": on_each(_growth, 1.0, 2.0),
    "P2": both(_negative_side),
    "P3": on_each(_ascent, (1.0, 0.0), (0.0, -1.0)),
    "P4": both(_strict_maximum),
    "P6": both(_orthants),
    "P13": on_each(_span, "phuong-orthants", "phuong-toy"),
}
