"""Lemmas 6 to 10: inequalities on the samples of a class, on unit vectors of R^K, and on forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.min2025.alignments import Alignments
from reluflow.papers.min2025.class_geometry import pseudo_labels
from reluflow.papers.min2025.paper import EXAMPLE, SETTING
from reluflow.papers.min2025.theorems.shared import SEPARABLE, SETTING_HYPOTHESES, geometry
from reluflow.theory.comparison import Source, Values
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtLeast, AtMost
from reluflow.theory.theorem import Conclusion, Reference, Theorem

ROUNDING = 1e-10
_ROOT_ROUNDING = 1e-8  # of a root of what is 0 up to rounding
_DRAWS = 2000
_SOFTMAX = SETTING_HYPOTHESES[0]

# Lemma 6 --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DrawnOutputWeights:
    """Unit vectors v of R^K as rows."""

    v: FloatArray


def drawn_output_weights(evidence: Evidence) -> DrawnOutputWeights:
    """Two thousand of them, some at every angle to the first pseudo-label."""
    rng, K = np.random.default_rng(1), evidence.problem.num_outputs
    v = rng.standard_normal((_DRAWS, K)) * rng.random((_DRAWS, 1)) ** 2 + pseudo_labels(K)[0]
    return DrawnOutputWeights(v / np.linalg.norm(v, axis=1, keepdims=True))


def _alignments(evidence: Evidence) -> FloatArray:
    """B_c = <etilde_c, v>, shape (draws, K)."""
    return evidence.recorded(DrawnOutputWeights).v @ pseudo_labels(evidence.problem.num_outputs).T


def _rival_excess(evidence: Evidence) -> Values:
    """|B_c' + B_c/(K-1)| less sqrt(K(K-2))/(K-1) sqrt(1 - B_c^2), for c the first class."""
    v, B, K = evidence.recorded(DrawnOutputWeights).v, _alignments(evidence), evidence.problem.num_outputs
    aside = np.sum((v - B[:, :1] * pseudo_labels(K)[0]) ** 2, axis=1, keepdims=True)
    aside += 1.0 - np.sum(v**2, axis=1, keepdims=True)  # 1 - B_c^2 without cancellation
    half_width = np.sqrt(K * (K - 2.0)) / (K - 1.0) * np.sqrt(np.maximum(aside, 0.0))
    return [np.abs(B[:, 1:] + B[:, :1] / (K - 1.0)) - half_width]


def _beyond_threshold(evidence: Evidence) -> FloatArray:
    B, K = _alignments(evidence), evidence.problem.num_outputs
    return np.asarray(B[B[:, 0] >= np.sqrt(K * (K - 2.0)) / (K - 1.0)][:, 1:])


def _largest_rival(evidence: Evidence) -> Values:
    return [_beyond_threshold(evidence)]


def _least_rival(evidence: Evidence) -> Values:
    return [_beyond_threshold(evidence) + 2.0 / (evidence.problem.num_outputs - 1.0)]


LEMMA_6 = Theorem(
    "min2025:lemma6",
    Reference("min2025", "Lemma 6"),
    r"$|B_{c'} + B_c/(K-1)| \le \frac{\sqrt{K(K-2)}}{K-1} \sqrt{1 - B_c^2}$; so $-2/(K-1) \le B_{c'} \le 0$ for all "
    r"$c' \ne c$ where $B_c \ge \sqrt{K(K-2)}/(K-1)$, and from no smaller threshold on.",
    hypotheses=(_SOFTMAX,),
    conclusions=(
        Conclusion("spread", "the bound on the other alignments", AtMost(_rival_excess, 0.0, allowance=_ROOT_ROUNDING)),
        Conclusion(
            "negative", r"all $B_{c'} \le 0$ beyond the threshold", AtMost(_largest_rival, 0.0, allowance=ROUNDING)
        ),
        Conclusion("bounded", r"all $B_{c'} \ge -2/(K-1)$ there", AtLeast(_least_rival, 0.0, allowance=ROUNDING)),
    ),
    record=drawn_output_weights,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E1: printed without the square root, as $B_{c'} \le 2(1 - B_c) - 1/(K-1)$, which is false.",
    takes_classes=True,
)

# Lemmas 7 and 8 -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Combinations:
    """Weights a_k >= 0 of the samples of each class, and 0 of all others, shape (draws, K, n)."""

    weights: FloatArray


def drawn_combinations(evidence: Evidence) -> Combinations:
    """Two hundred draws of weights, many of them 0."""
    rng, classes = np.random.default_rng(2), geometry(evidence)
    weights = rng.exponential(size=(200, evidence.dataset.n)) * (rng.random((200, evidence.dataset.n)) < 0.7)
    is_member = classes.labels == np.arange(evidence.problem.num_outputs)[:, None]
    return Combinations(weights[:, None, :] * is_member)


def _sums(evidence: Evidence) -> FloatArray:
    """Sums of a_k x_k over each class, shape (draws, K, d)."""
    return np.asarray(evidence.recorded(Combinations).weights @ geometry(evidence).X)


def _lengths(evidence: Evidence) -> FloatArray:
    """Sums of a_k |x_k| over each class, shape (draws, K)."""
    return np.asarray(evidence.recorded(Combinations).weights @ geometry(evidence).norms)


def _within(evidence: Evidence) -> Values:
    return [np.sum(_sums(evidence) ** 2, axis=2) - geometry(evidence).mu_s * _lengths(evidence) ** 2]


def _between(evidence: Evidence) -> Values:
    sums, lengths, mu_d = _sums(evidence), _lengths(evidence), geometry(evidence).mu_d
    first, second = np.triu_indices(evidence.problem.num_outputs, 1)
    products = np.sum(sums[:, first] * sums[:, second], axis=2)
    return [products + mu_d * lengths[:, first] * lengths[:, second]]


def _total(evidence: Evidence) -> Values:
    sums = _sums(evidence)
    return [np.linalg.norm(sums.sum(axis=1), axis=1) - np.sqrt(np.sum(sums**2, axis=(1, 2)))]


LEMMA_7 = Theorem(
    "min2025:lemma7",
    Reference("min2025", "Lemma 7"),
    r"With weights $a, b \ge 0$: $|\sum_{I_c} a_k x_k|^2 \ge \mu_s (\sum a_k |x_k|)^2$, and for two classes "
    r"$\langle \sum_{I_c} a_k x_k, \sum_{I_{c'}} b_l x_l\rangle \le -\mu_d (\sum a_k |x_k|)(\sum b_l |x_l|)$.",
    hypotheses=(_SOFTMAX, SEPARABLE),
    conclusions=(
        Conclusion("within", "a combination of one class is long", AtLeast(_within, 0.0, allowance=ROUNDING)),
        Conclusion(
            "between", "combinations of two classes make an obtuse angle", AtMost(_between, 0.0, allowance=ROUNDING)
        ),
    ),
    record=drawn_combinations,
    setting=SETTING,
    example=EXAMPLE,
    takes_classes=True,
)
LEMMA_8 = Theorem(
    "min2025:lemma8",
    Reference("min2025", "Lemma 8"),
    r"Vectors with $\langle z_i, z_j\rangle \le 0$ for all pairs have $|\sum_i z_i| \le \sqrt{\sum_i |z_i|^2}$; here "
    "combinations of the classes.",
    hypotheses=(_SOFTMAX, SEPARABLE),
    conclusions=(Conclusion("short", "the sum is short", AtMost(_total, 0.0, allowance=ROUNDING)),),
    record=drawn_combinations,
    setting=SETTING,
    example=EXAMPLE,
    takes_classes=True,
)

# Lemma 9 --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DrawnDirections:
    """Directions of w: unit vectors of R^d as rows."""

    w: FloatArray


def drawn_directions(evidence: Evidence) -> DrawnDirections:
    """Random ones, and ones near each class."""
    rng, classes = np.random.default_rng(3), geometry(evidence)
    w = np.vstack([rng.standard_normal((_DRAWS, evidence.dataset.d)), *(4 * [classes.X, classes.sums])])
    w = w + 0.7 * np.linalg.norm(w, axis=1, keepdims=True) * rng.standard_normal(w.shape) / np.sqrt(w.shape[1])
    return DrawnDirections(w / np.linalg.norm(w, axis=1, keepdims=True))


def _gaps(evidence: Evidence) -> tuple[FloatArray, FloatArray, Alignments]:
    """|S_c|^2 - A_c^2 over |S_c|^2, |S_c| and the alignments of the drawn directions."""
    w, K = evidence.recorded(DrawnDirections).w, evidence.problem.num_outputs
    found = Alignments(geometry(evidence), w, np.tile(pseudo_labels(K)[0], (len(w), 1)))
    lengths = np.linalg.norm(found.sums_active, axis=2)
    # against the given rows, so that a row that is no unit vector shows
    A = np.maximum(w @ found.geometry.X.T, 0.0)
    A = np.column_stack([A[:, members].sum(axis=1) for members in found.geometry.members])
    return (lengths**2 - A**2) / np.where(lengths > 0.0, lengths, 1.0) ** 2, lengths, found


def _partly_active(evidence: Evidence) -> Values:
    gaps, _, found = _gaps(evidence)
    partly = (found.num_active > 0) & (found.num_active < found.geometry.sizes)
    return [gaps[partly] - found.geometry.mu_s**2]


def _foreign_active(evidence: Evidence) -> Values:
    gaps, _, found = _gaps(evidence)
    full = found.num_active == found.geometry.sizes
    others = (found.num_active > 0).sum(axis=1, keepdims=True) > 1
    return [gaps[full & others] - found.geometry.mu_d**2]


LEMMA_9 = Theorem(
    "min2025:lemma9",
    Reference("min2025", "Lemma 9"),
    r"A direction $w$ that fires on some but not all samples of class $c$ has $|S_c|^2 - A_c^2 \ge "
    r"\mu_s^2 |S_c|^2$, with "
    r"$S_c$ the sum of those it fires on; one that fires on all of them and on a sample of another class has "
    r"$|S_c|^2 - A_c^2 \ge \mu_d^2 |S_c|^2$.",
    hypotheses=(_SOFTMAX, SEPARABLE),
    conclusions=(
        Conclusion(
            "partly-active",
            r"$|S_c|^2 - A_c^2 \ge \mu_s^2 |S_c|^2$",
            AtLeast(_partly_active, 0.0, allowance=ROUNDING, empty="no direction fires on a part of a class"),
        ),
        Conclusion(
            "foreign-active",
            r"$|S_c|^2 - A_c^2 \ge \mu_d^2 |S_c|^2$ where another class is active",
            AtLeast(_foreign_active, 0.0, allowance=ROUNDING, empty="no direction fires on a class and another"),
            source=Source.RELUFLOW,
        ),
    ),
    record=drawn_directions,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E7: the second case is needed in the proof of Proposition 3 and missing; the constant is made explicit.",
    takes_classes=True,
)

# Lemma 10 -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DrawnForces:
    """Unit vectors v, and shares r of the wrong classes of a sample of the first: r >= 0, r_1 = 0, sum 1."""

    v: FloatArray
    r: FloatArray


def drawn_forces(evidence: Evidence) -> DrawnForces:
    """Two thousand of each; some r are a single class, where the bounds are attained."""
    rng, K = np.random.default_rng(4), evidence.problem.num_outputs
    v = rng.standard_normal((_DRAWS, K)) * rng.random((_DRAWS, 1)) + pseudo_labels(K)[0]
    r = rng.exponential(size=(_DRAWS, K)) ** 3
    r[::3] = np.eye(K)[rng.integers(1, K, size=len(r[::3]))]
    r[:, 0] = 0.0
    return DrawnForces(v / np.linalg.norm(v, axis=1, keepdims=True), r / r.sum(axis=1, keepdims=True))


def _pulls(evidence: Evidence) -> tuple[FloatArray, FloatArray, FloatArray]:
    """<v, e_1 - r>, its middle sqrt(K/(K-1)) b and the half-width sqrt((K-2)/(K-1)) sqrt(1 - b^2)."""
    drawn, K = evidence.recorded(DrawnForces), evidence.problem.num_outputs
    b = drawn.v @ pseudo_labels(K)[0]
    pulls = np.sum(drawn.v * (np.eye(K)[0] - drawn.r), axis=1)
    return pulls, np.sqrt(K / (K - 1.0)) * b, np.sqrt((K - 2.0) / (K - 1.0)) * np.sqrt(np.maximum(1.0 - b**2, 0.0))


def _pull_low(evidence: Evidence) -> Values:
    pulls, middle, half_width = _pulls(evidence)
    return [pulls - (middle - half_width)]


def _pull_high(evidence: Evidence) -> Values:
    pulls, middle, half_width = _pulls(evidence)
    return [middle + half_width - pulls]


LEMMA_10 = Theorem(
    "min2025:lemma10",
    Reference("min2025", "Lemma 10"),
    r"For a unit vector $v$ with $\langle v, \tilde{e}_c\rangle = b$ and $r \ge 0$, $r_c = 0$, $1^\top r = 1$: "
    r"$\langle v, e_c - r\rangle$ is within $\sqrt{(K-2)/(K-1)} \sqrt{1-b^2}$ of $\sqrt{K/(K-1)}\, b$.",
    hypotheses=(_SOFTMAX,),
    conclusions=(
        Conclusion("least", "at least the middle less the half-width", AtLeast(_pull_low, 0.0, allowance=ROUNDING)),
        Conclusion("most", "at most the middle and the half-width", AtLeast(_pull_high, 0.0, allowance=ROUNDING)),
    ),
    record=drawn_forces,
    setting=SETTING,
    example=EXAMPLE,
    takes_classes=True,
)
