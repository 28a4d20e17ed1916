"""Errata on the data and the sectors: P2 to P6, P10, P12 and P13 [phuong2021]."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.one_class import OneClassVector
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.losses import LogisticLoss
from reluflow.network import Network
from reluflow.papers.phuong2021.assumptions import support_spans
from reluflow.papers.phuong2021.theorems.sectors import extremal_sector, sector_of
from reluflow.papers.phuong2021.theorems.two_neuron_limit import (
    class_vectors,
)
from reluflow.theory.comparison import Comparison, above_rounding, at_least, at_most, none_of
from reluflow.theory.erratum import Erratum
from reluflow.theory.evidence import Evidence
from reluflow.theory.facts import DatasetFacts
from reluflow.theory.separability import orthogonal_separability


def _facts(dataset: Dataset) -> DatasetFacts:
    return DatasetFacts(dataset, LogisticLoss(), 0.0)


def toy() -> tuple[Dataset, OneClassVector, OneClassVector]:
    """`phuong-toy` with its w_+ and w_-."""
    data = load("phuong-toy")
    return data, *class_vectors(Evidence(TrainingProblem(data, LogisticLoss(), Network(np.eye(2), [1.0, -1.0]))))


def _negative_side(*, printed: bool) -> Comparison:
    """Least y_i <w_-, x_i> over the negative samples, as Eq. (80) has it, or least <w_-, x_i>."""
    data, _, minus = toy()
    least = float(np.min((data.X @ minus.w * (data.y if printed else 1.0))[data.y < 0]))
    name = r"$y_i \langle w_-, x_i\rangle$" if printed else r"$\langle w_-, x_i\rangle$"
    return at_least(least, 1e-9, detail=f"least {name} over the negative samples is {least:.4g}")


P2 = Erratum(
    "phuong2021:P2",
    partial(_negative_side, printed=True),
    partial(_negative_side, printed=False),
    where="Eq. (80)",
    printed=r"$y_i \langle w_-, x_i\rangle > 0$ for $y_i = -1$",
    corrected=r"$\langle w_-, x_i\rangle > 0$",
)


def _ascent(along: tuple[float, float]) -> Comparison:
    """The change of G(w) = max(w_1, 0) - max(w_2, 0) on the circle when (-0.6, 0.8) moves along a direction."""
    start, step = np.array([-0.6, 0.8]), 1e-3 * np.array(along)
    moved = (start + step) / np.linalg.norm(start + step)
    gain = float(np.maximum(moved, 0.0) @ [1.0, -1.0] - np.maximum(start, 0.0) @ [1.0, -1.0])
    return at_most(-gain, 0.0, detail=f"$G$ changes by {gain:.3g} along ({along[0]:g}, {along[1]:g})")


P3 = Erratum(
    "phuong2021:P3",
    partial(_ascent, (1.0, 0.0)),
    partial(_ascent, (0.0, -1.0)),
    where="Lemma 2, proof",
    printed="moving along a positive sample raises $G$",
    corrected="only where $G > 0$; where $G < 0$ move against the sum of the active negative samples. The "
    "statement stands",
)


def _strict_maximum(*, printed: bool) -> Comparison:
    """Points of a grid of the circle, at the largest value, with a neighbour as large.

    Of min(cos t, 1/2), a function like any other that is not constant, or of G itself on `phuong-toy`.
    """
    t, data = np.linspace(0.0, 2.0 * np.pi, 3600, endpoint=False), load("phuong-toy")
    circle = np.column_stack([np.cos(t), np.sin(t)])
    values = np.minimum(circle[:, 0], 0.5) if printed else np.maximum(circle @ data.X.T, 0.0) @ data.y
    top = np.flatnonzero(values >= values.max() - 1e-12)
    flat = int(np.sum(np.isin((top + 1) % t.size, top) | np.isin((top - 1) % t.size, top)))
    return none_of(flat, total=top.size, detail=f"{flat} of {top.size} maxima have a neighbour as large")


P4 = Erratum(
    "phuong2021:P4",
    partial(_strict_maximum, printed=True),
    partial(_strict_maximum, printed=False),
    where="Lemma 2, proof",
    printed="some maximum is strict or $G$ is constant",
    corrected="the maximum is explicit and strict",
)


def _orthants(*, printed: bool) -> Comparison:
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


P6 = Erratum(
    "phuong2021:P6",
    partial(_orthants, printed=True),
    partial(_orthants, printed=False),
    where="Sec. 2",
    printed="orthogonally separable means opposite orthants",
    corrected=r"sufficient, not necessary, for $d \ge 3$",
)


def _span(name: str) -> Comparison:
    """Whether the support samples of each class span R^d, the assumption of Theorem 1."""
    judged = support_spans(_facts(load(name)))
    margin = judged.margin if judged.margin is not None else -1.0
    return at_least(margin if judged.holds else min(margin, -1e-9), 0.0, detail=f"{judged.detail} ({name})")


P13 = Erratum(
    "phuong2021:P13",
    partial(_span, "phuong-orthants"),
    partial(_span, "phuong-toy"),
    where="Fig. 1",
    printed="the setting of the theorem",
    corrected="the span assumption fails and the start is not balanced",
)


def _case_zero(*, printed: bool) -> Comparison:
    """Samples with the value 0 in Eqs. (13) and (14), over 200 random datasets of Theorem 1's kind in R^2 and R^3."""
    rng, found, total = np.random.default_rng(0), 0, 0
    for d in (2, 3) * 100:
        X = rng.uniform(0.0, 1.0, size=(8, d)) * (rng.uniform(size=(8, d)) > 0.2) * np.repeat([1.0, -1.0], 4)[:, None]
        if not np.all(np.any(X != 0.0, axis=1)):
            continue
        data = Dataset(X, np.repeat([1.0, -1.0], 4))
        facts = _facts(data)
        if orthogonal_separability(facts).holds and support_spans(facts).holds:
            zeros = [extremal_sector(data, 1) == 0, extremal_sector(data, -1) == 0]
            found, total = found + int(np.sum(zeros)), total + 2 * data.n
    words = f"{found} of {total} entries are 0 under the span assumption"
    return at_least(float(found), 1.0, detail=words) if printed else none_of(found, total=total, detail=words)


P5 = Erratum(
    "phuong2021:P5",
    partial(_case_zero, printed=True),
    partial(_case_zero, printed=False),
    where="Eqs. (13), (14)",
    printed="case 0",
    corrected="empty under the span assumption",
)


def _own_sector(*, printed: bool) -> Comparison:
    """Samples whose sign along sigma-hat in R^n, or along the extremal w-hat, is not sigma-hat's; n = d = 2."""
    data = Dataset([[1.0, 3.0], [-0.5, -1.0]], [1.0, -1.0])
    sigma = extremal_sector(data, 1).astype(float)
    vector = sigma if printed else data.X[0]
    wrong = int(np.sum(np.sign(data.X @ vector) != sigma))
    name = "sigma-hat" if printed else "w-hat"
    return none_of(
        wrong, total=data.n, detail=rf"{name} has another sign than $\hat{{\sigma}}$ on {wrong} of {data.n} samples"
    )


P10 = Erratum(
    "phuong2021:P10",
    partial(_own_sector, printed=True),
    partial(_own_sector, printed=False),
    where="Lemma A.1, proof",
    printed=r"$\hat{\sigma}$ in $S$",
    corrected=r"$\hat{w}$ in $S$",
)


def _linear_on_a_sector(*, printed: bool) -> Comparison:
    """How far from linear between two points of one sector: f in the input x, or f at the samples in the weights w."""
    data, one, other = load("phuong-toy"), np.array([1.0, -0.3]), np.array([0.5, 0.9])
    middle = 0.5 * (one + other)
    if not np.array_equal(sector_of(one, data.X), sector_of(other, data.X)):
        raise InvalidInputError("`one` and `other` must lie in one sector.")
    neurons = np.array([[1.0, -0.5], [-0.2, 1.0]])

    def values(point: FloatArray) -> FloatArray:
        return np.maximum(point @ neurons.T, 0.0) if printed else np.maximum(data.X @ point, 0.0)

    gap = float(np.max(np.abs(values(middle) - 0.5 * (values(one) + values(other)))))
    space = "inputs" if printed else "weights"
    apart = above_rounding(gap, 1e-12)
    return at_most(gap, 1e-12, detail=f"between two {space} of one sector the network is {apart} from linear")


P12 = Erratum(
    "phuong2021:P12",
    partial(_linear_on_a_sector, printed=True),
    partial(_linear_on_a_sector, printed=False),
    where="Def. 1",
    printed="a region in input space",
    corrected="in weight space",
)
