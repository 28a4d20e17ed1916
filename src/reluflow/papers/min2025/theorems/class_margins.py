"""Lemmas 11 to 13: every class has a margin, what its support spans, and which way the rest is driven [min2025]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull

from reluflow.arrays import FloatArray, IntArray
from reluflow.papers.min2025.class_geometry import ClassGeometry
from reluflow.papers.min2025.paper import EXAMPLE, SETTING
from reluflow.papers.min2025.theorems.shared import SEPARABLE, SETTING_HYPOTHESES, geometry
from reluflow.theory.comparison import Comparison, Source, Values, judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtLeast, AtMost
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

ROUNDING = 1e-10
_SOFTMAX = SETTING_HYPOTHESES[0]


@dataclass(frozen=True, eq=False)
class ClassMargins:
    """u_c of every class, as rows."""

    directions: FloatArray


def class_margins(evidence: Evidence) -> ClassMargins:
    """As the hard-margin solver finds them."""
    return ClassMargins(geometry(evidence).directions)


def _gammas(evidence: Evidence) -> FloatArray:
    """min_{I_c} <u_c, x_k>."""
    classes, directions = geometry(evidence), evidence.recorded(ClassMargins).directions
    return np.array([np.min(classes.X[k] @ u) for k, u in zip(classes.members, directions, strict=True)])


def _margin_printed(evidence: Evidence) -> Values:
    classes = geometry(evidence)
    return [_gammas(evidence) - classes.mu_s * classes.norms.min()]


def _margin_sharp(evidence: Evidence) -> Values:
    classes = geometry(evidence)
    roots = np.sqrt(classes.mu_s + (1.0 - classes.mu_s) / classes.sizes)
    return [_gammas(evidence) - classes.norms.min() * roots]


def _attained(evidence: Evidence) -> Values:
    """Against gamma_c from the multipliers: no unit vector has a larger margin."""
    return [_gammas(evidence) - geometry(evidence).gammas]


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


SUPPORT_SPANS_CLASS = Hypothesis(
    "support-spans-class", "the samples of positive multiplier span their class", _support_spans
)


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
        SUPPORT_SPANS_CLASS,
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

# Lemma 13 -------------------------------------------------------------------------------------------------------------


def _sideways_coordinates(classes: ClassGeometry, c: int) -> FloatArray:
    """The samples of a class in an orthonormal basis of its span's part orthogonal to u_c, shape (n_c, rank - 1)."""
    rows, u = classes.X[classes.members[c]], classes.directions[c]
    side = rows - np.outer(rows @ u, u)
    left, sizes, _ = np.linalg.svd(side, full_matrices=False)
    kept = sizes > ROUNDING * classes.norms.max()
    return np.asarray(left[:, kept] * sizes[kept])


def sideways_margin(classes: ClassGeometry, c: int) -> float:
    """gamma_perp: min over unit xi of the span of class c, xi orthogonal to u_c, of max_{I_c} <xi, x_k>; inf on a line.

    It is the radius of the largest ball about 0 in the convex hull of the samples' parts orthogonal to u_c.
    """
    points = _sideways_coordinates(classes, c)
    if points.shape[1] == 0:
        return np.inf
    if points.shape[1] == 1:
        return float(min(points.max(), -points.min()))
    if len(points) <= points.shape[1]:
        return 0.0
    return float(np.min(-ConvexHull(points).equations[:, -1]))


@dataclass(frozen=True, eq=False)
class DrawnDifferences:
    """theta_c - theta_c' for the rivals c' of a class: parts along u_c (draws, K - 1), parts across it, the class.

    `across` are in the coordinates of `_sideways_coordinates`, shape (draws, K - 1, rank - 1); one entry per class.
    """

    along: tuple[FloatArray, ...]
    across: tuple[FloatArray, ...]


_ALONG = 1.5  # parts along u_c are drawn up to this over the largest <u_c, x_k>


def length_of_lemma_13(classes: ClassGeometry, c: int, along: FloatArray) -> FloatArray:
    """From which length of its longest part across u_c on the trace is at most 0, shape (draws,).

    max(4 A + 2 log(2 K), 4 n_c (K - 1) e^(A - 1)) / gamma_perp, with A the largest |<theta_c - theta_c', u_c>| times
    the largest <u_c, x_k>.

    Notes
    -----
    Ours. With z_kc' = <Pi (theta_c - theta_c'), x_k>, a positive term p z of the trace is at most e^(A - z) z, so at
    most e^(A - 1). Let M be gamma_perp times the longest part: some sample has z <= -M for some rival. There all rivals
    with z > -M/2, and the own class, have p <= e^(2 A - M/2) each, together at most 1/2 once M >= 4 A + 2 log(2 K); the
    others contribute at most -M/4, which outweighs n_c (K - 1) e^(A - 1).
    """
    K, size = classes.num_classes, int(classes.sizes[c])
    A = np.abs(along).max(axis=1) * np.max(classes.X[classes.members[c]] @ classes.directions[c])
    with np.errstate(divide="ignore"):
        least = np.maximum(4.0 * A + 2.0 * np.log(2.0 * K), 4.0 * size * (K - 1) * np.exp(A - 1.0))
        return np.asarray(least / sideways_margin(classes, c))


def drawn_differences(evidence: Evidence) -> DrawnDifferences:
    """Three hundred draws for each class, the longest part across from once to ten times that length."""
    rng, classes = np.random.default_rng(6), geometry(evidence)
    K, along, across = classes.num_classes, [], []
    for c, members in enumerate(classes.members):
        reach = float(np.max(classes.X[members] @ classes.directions[c]))
        heights = _ALONG / reach * (2.0 * rng.random((300, K - 1)) - 1.0)
        parts = rng.standard_normal((300, K - 1, _sideways_coordinates(classes, c).shape[1]))
        if parts.shape[2]:
            parts *= rng.random((300, K - 1, 1)) ** 2  # rivals of very different lengths
            longest = np.linalg.norm(parts, axis=2).max(axis=1)
            wanted = length_of_lemma_13(classes, c, heights) * 10.0 ** rng.random(300)
            if np.all(np.isfinite(wanted)):
                parts *= (wanted / longest)[:, None, None]
        along.append(heights)
        across.append(parts)
    return DrawnDifferences(tuple(along), tuple(across))


def _traces(evidence: Evidence) -> Values:
    """sum_k sum_c' p_kc' <Pi (theta_c - theta_c'), x_k> over the longest |Pi (theta_c - theta_c')|."""
    classes, drawn = geometry(evidence), evidence.recorded(DrawnDifferences)
    found = []
    for c, (along, across) in enumerate(zip(drawn.along, drawn.across, strict=True)):
        if not across.shape[2]:
            continue
        points, reach = _sideways_coordinates(classes, c), classes.X[classes.members[c]] @ classes.directions[c]
        moved = np.einsum("srp,kp->skr", across, points)  # (draws, n_c, K - 1)
        gaps = moved + along[:, None, :] * reach[:, None]
        top = np.maximum(np.max(-gaps, axis=2, keepdims=True), 0.0)
        weights = np.exp(-gaps - top)
        p = weights / (np.exp(-top) + weights.sum(axis=2, keepdims=True))
        found.append(np.sum(p * moved, axis=(1, 2)) / np.linalg.norm(across, axis=2).max(axis=1))
    return found


LEMMA_13 = Theorem(
    "min2025:lemma13",
    Reference("min2025", "Lemma 13"),
    r"Where the support samples of class $c$ span it, $\sum_{k, c'} p_{kc'} \langle \Pi (\theta_c - \theta_{c'}), "
    r"x_k\rangle \le 0$ over class $c$, with $\Pi$ the projection of its span along $u_c$, as soon as some "
    r"$|\Pi (\theta_c - \theta_{c'})| \ge \max(4A + 2 \log 2K, 4 n_c (K-1) e^{A-1})/\gamma_\perp$, where $A$ is the "
    r"largest $|\langle \theta_c - \theta_{c'}, u_c\rangle|$ times the largest $\langle u_c, x_k\rangle$.",
    hypotheses=(_SOFTMAX, SEPARABLE, SUPPORT_SPANS_CLASS),
    conclusions=(
        Conclusion(
            "driven-back",
            "the trace is at most 0 from that length on",
            AtMost(_traces, 0.0, allowance=1e-12, empty="every class spans a line"),
        ),
    ),
    record=drawn_differences,
    setting=SETTING,
    example="min2025-b",
    erratum=r"E4, E5: printed as `sufficiently large`, which is not uniform in $\langle \theta_c - \theta_{c'}, "
    r"u_c\rangle$; the length is explicit here, and the limit is proved without the lemma.",
    takes_classes=True,
)
