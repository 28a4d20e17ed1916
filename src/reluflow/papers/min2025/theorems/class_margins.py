"""Lemmas 11 and 12: every class has a margin, and what its support spans [min2025]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.papers.min2025.class_geometry import ClassGeometry
from reluflow.papers.min2025.paper import EXAMPLE, SETTING
from reluflow.papers.min2025.theorems.shared import SEPARABLE, SETTING_HYPOTHESES, geometry
from reluflow.theory.comparison import Comparison, Source, Values, judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtLeast
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

ROUNDING = 1e-10
_SOFTMAX = SETTING_HYPOTHESES[0]


@dataclass(frozen=True, eq=False)
class ClassMargins:
    """gamma_c and u_c of every class."""

    gammas: FloatArray
    directions: FloatArray


def class_margins(evidence: Evidence) -> ClassMargins:
    """As the hard-margin solver finds them."""
    return ClassMargins(geometry(evidence).gammas, geometry(evidence).directions)


def _margin_printed(evidence: Evidence) -> Values:
    classes = geometry(evidence)
    return [evidence.recorded(ClassMargins).gammas - classes.mu_s * classes.norms.min()]


def _margin_sharp(evidence: Evidence) -> Values:
    classes = geometry(evidence)
    roots = np.sqrt(classes.mu_s + (1.0 - classes.mu_s) / classes.sizes)
    return [evidence.recorded(ClassMargins).gammas - classes.norms.min() * roots]


def _attained(evidence: Evidence) -> Values:
    classes, found = geometry(evidence), evidence.recorded(ClassMargins)
    least = [np.min(classes.X[members] @ u) for members, u in zip(classes.members, found.directions, strict=True)]
    return [np.array(least) - found.gammas]


LEMMA_11 = Theorem(
    "min2025:lemma11",
    Reference("min2025", "Lemma 11"),
    r"Every class has a margin: $\gamma_c \ge \mu_s X_{\min}$.",
    hypotheses=(_SOFTMAX, SEPARABLE),
    conclusions=(
        Conclusion("margin", r"$\gamma_c \ge \mu_s X_{\min}$", AtLeast(_margin_printed, 0.0, allowance=ROUNDING)),
        Conclusion(
            "sharp",
            r"$\gamma_c \ge X_{\min} \sqrt{\mu_s + (1 - \mu_s)/n_c}$",
            AtLeast(_margin_sharp, 0.0, allowance=ROUNDING),
            source=Source.RELUFLOW,
        ),
        Conclusion(
            "attained",
            r"$\langle u_c, x_k\rangle \ge \gamma_c$ on class $c$",
            AtLeast(_attained, 0.0, allowance=1e-8),
            source=Source.RELUFLOW,
        ),
    ),
    record=class_margins,
    setting=SETTING,
    example=EXAMPLE,
    takes_classes=True,
)


def _support_rank(classes: ClassGeometry, c: int) -> tuple[int, int]:
    """Rank of the samples of a class with a positive multiplier, and of the class."""
    rows, margin = classes.X[classes.members[c]], classes.margins[c]
    support = rows[margin.multipliers > 1e-9 * margin.multipliers.max()]
    return int(np.linalg.matrix_rank(support)), int(np.linalg.matrix_rank(rows))


def _support_spans(evidence: Evidence) -> Comparison:
    ranks = [_support_rank(geometry(evidence), c) for c in range(evidence.problem.num_outputs)]
    missing = max(rank - support for support, rank in ranks)
    words = ", ".join(f"{support} of {rank}" for support, rank in ranks)
    return judgement(missing == 0, float(-missing), f"ranks of supports and classes: {words}")


@dataclass(frozen=True, eq=False)
class SidewaysDirections:
    """Unit vectors of the span of a class orthogonal to its u_c, as rows, and the class of each."""

    xi: FloatArray
    classes: IntArray


def drawn_sideways(evidence: Evidence) -> SidewaysDirections:
    """Five hundred for every class whose span is more than a line."""
    rng, classes = np.random.default_rng(5), geometry(evidence)
    rows, labels = [np.empty((0, evidence.dataset.d))], [np.empty(0, dtype=np.int64)]
    for c, (members, u) in enumerate(zip(classes.members, classes.directions, strict=True)):
        side = classes.X[members] - np.outer(classes.X[members] @ u, u)
        xi = rng.standard_normal((500, members.size)) @ side
        lengths = np.linalg.norm(xi, axis=1, keepdims=True)
        if np.all(lengths > ROUNDING * classes.norms.max()):
            rows.append(xi / lengths)
            labels.append(np.full(500, c))
    return SidewaysDirections(np.vstack(rows), np.concatenate(labels))


def _sideways(evidence: Evidence) -> Values:
    classes, drawn = geometry(evidence), evidence.recorded(SidewaysDirections)
    return [
        np.max(drawn.xi[drawn.classes == c] @ classes.X[members].T, axis=1)
        for c, members in enumerate(classes.members)
        if np.any(drawn.classes == c)
    ]


LEMMA_12 = Theorem(
    "min2025:lemma12",
    Reference("min2025", "Lemma 12"),
    r"Where the support samples of a class span it, every unit vector $\xi \perp u_c$ of its span has $\max_{I_c} "
    r"\langle \xi, x_k\rangle > 0$.",
    hypotheses=(
        _SOFTMAX,
        SEPARABLE,
        Hypothesis("support-spans-class", "the samples of positive multiplier span their class", _support_spans),
    ),
    conclusions=(
        Conclusion(
            "sideways",
            r"$\max_{I_c} \langle \xi, x_k\rangle > 0$",
            AtLeast(_sideways, 1e-12, empty="every class spans a line"),
        ),
    ),
    record=drawn_sideways,
    setting=SETTING,
    example="min2025-b",
    erratum="E4: printed for every class and every direction of the whole space, which is false.",
    takes_classes=True,
)
