"""The potential G and its critical points on the sphere: Eqs. (7), (17), (20) and Lemma 14 [boursier2024]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import numpy as np

from reluflow.arrays import FloatArray, SignArray
from reluflow.geometry.cones import ActivationCones
from reluflow.geometry.extremal import ExtremalVectors, Kind
from reluflow.geometry.landscape import alignment_potential
from reluflow.papers.boursier2024.assumptions import GENERAL_POSITION, SMOOTH_LOSS
from reluflow.papers.boursier2024.paper import OBTUSE_PAIR, SETTING, THREE_POINTS
from reluflow.papers.boursier2024.theorems.alignment_regime import GENERIC_DATA
from reluflow.papers.boursier2024.theorems.neuron_states import pulls_of, sides_of
from reluflow.theory.comparison import Comparison, Level, at_most, none_of, nothing
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import assumed
from reluflow.theory.theorem import Conclusion, Reference, Theorem

ROUNDING = 1e-10  # relative to sum_k |r_k| |x_k|; measured below 2e-15 on generic data
RADIUS = 1e-3  # of the neighbourhood in which G is sampled, relative to the distance of the nearest other hyperplane
NUM_NEIGHBOURS = 400


def kind_by_rule(vectors: ExtremalVectors, forces: FloatArray, index: int) -> Kind:
    """Maximum, minimum or saddle from the signs of the forces on the cone's hyperplanes alone.

    With K the samples on whose hyperplanes the extremal vector lies: a maximum if all forces on K are negative and D is
    in its cone (or the cone is a ray), a minimum if all are positive and -D is (or the cone is a ray), else a saddle.

    References
    ----------
    Boursier & Flammarion (2024), by-product of the proof of Lemma 12 [boursier2024].
    """
    on_boundary = forces[vectors.patterns[index] == 0]
    is_ray = bool(vectors.dimensions[index] == 1 and on_boundary.size)
    side = int(vectors.sides[index])
    if np.all(on_boundary < 0) and (side > 0 or is_ray):
        return "maximum"
    if np.all(on_boundary > 0) and (side < 0 or is_ray):
        return "minimum"
    return "saddle"


def kind_by_sampling(w: FloatArray, X: FloatArray, forces: FloatArray, leak: float, pattern: SignArray) -> Kind:
    """The same from values of G at unit vectors around w, without any rule."""
    here = float(alignment_potential(w, X, forces, leak=leak))
    rises = alignment_potential(_neighbours(w, X, pattern), X, forces, leak=leak) - here
    noise = 1e-14 * float(np.sum(np.abs(forces) * np.linalg.norm(X, axis=1)))
    if np.all(rises <= noise):
        return "maximum"
    return "minimum" if np.all(rises >= -noise) else "saddle"


def _neighbours(w: FloatArray, X: FloatArray, pattern: SignArray) -> FloatArray:
    """Unit vectors around a critical point: at random, then within the span of its cone."""
    off, on = X[pattern != 0], X[pattern == 0]
    slack = float(np.min(np.abs(off @ w) / np.linalg.norm(off, axis=1), initial=1.0))
    steps = np.random.default_rng(0).standard_normal((NUM_NEIGHBOURS, w.size))
    steps -= np.outer(steps @ w, w)
    basis, rank = np.eye(w.size), 0
    if len(on):
        basis, rank = np.linalg.svd(on, full_matrices=True)[2], int(np.linalg.matrix_rank(on))
    within = steps @ basis[rank:].T @ basis[rank:]
    return np.concatenate([_sphere(w, each, RADIUS * slack) for each in (steps, within)])


def _sphere(w: FloatArray, steps: FloatArray, radius: float) -> FloatArray:
    lengths = np.linalg.norm(steps, axis=1, keepdims=True)
    moved = w + radius * steps[lengths[:, 0] > 1e-9] / lengths[lengths[:, 0] > 1e-9]
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True))


def forces_of(evidence: Evidence) -> FloatArray:
    """r_k at zero output, shape (n,)."""
    return evidence.loss.label_forces(evidence.dataset.y)


@dataclass(frozen=True, eq=False)
class ExtremalPoints:
    """The extremal vectors that the statements speak of."""

    vectors: ExtremalVectors


def extremal_points(evidence: Evidence) -> ExtremalPoints:
    """The extremal vectors of the data."""
    return ExtremalPoints(evidence.facts.extremal)


def extremal_of(evidence: Evidence) -> ExtremalVectors:
    """The extremal vectors on record."""
    return evidence.recorded(ExtremalPoints).vectors


def size_of(evidence: Evidence) -> float:
    """sum_k |r_k| |x_k|: no D is longer."""
    return float(np.sum(np.abs(forces_of(evidence)) * evidence.facts.norms))


def _fixed_pull(evidence: Evidence, pattern: SignArray) -> FloatArray:
    """D~_u, the pull of the samples with u_k != 0, shape (d,)."""
    slopes = np.where(pattern > 0, 1.0, evidence.leak)
    return np.asarray((slopes * forces_of(evidence) * (pattern != 0)) @ evidence.dataset.X)


def projected_pull(evidence: Evidence, pattern: SignArray) -> FloatArray:
    """The projection of D~_u on the orthogonal complement of the samples with u_k = 0, shape (d,)."""
    fixed, columns = _fixed_pull(evidence, pattern), evidence.dataset.X[pattern == 0].T
    if not columns.size:
        return fixed
    return np.asarray(fixed - columns @ np.linalg.lstsq(columns, fixed, rcond=None)[0])


def signed_pull(evidence: Evidence, vectors: ExtremalVectors, index: int, sign: int) -> FloatArray:
    """D~_u + sign * Z_u eta with Z_u of Eq. (20), whose columns carry -r_k: the paper prints +, erratum E6 reads -."""
    zeros = vectors.patterns[index] == 0
    columns = -(forces_of(evidence)[zeros, None] * evidence.dataset.X[zeros]).T  # (d, |K|)
    return np.asarray(_fixed_pull(evidence, vectors.patterns[index]) + sign * columns @ vectors.etas[index][zeros])


@dataclass(frozen=True, eq=False)
class LandscapePoints(ExtremalPoints):
    """The extremal vectors, and a point of every cone, of every dimension."""

    cones: ActivationCones


def landscape_points(evidence: Evidence) -> LandscapePoints:
    """The extremal vectors of the data, and a point of every cone."""
    return LandscapePoints(evidence.facts.extremal, evidence.facts.cones)


def _potential_is_pull(evidence: Evidence) -> Comparison:
    """G(w) = <w, D(w, 0)> on witnesses of all cones, of every dimension."""
    X, forces, cones = evidence.dataset.X, forces_of(evidence), evidence.recorded(LandscapePoints).cones
    pulls = pulls_of(cones.patterns, X, forces, evidence.leak)
    on_boundary = np.where(cones.patterns == 0, 0.0, cones.witnesses @ X.T)
    potential = np.where(on_boundary > 0, on_boundary, evidence.leak * on_boundary) @ forces
    worst = float(np.max(np.abs(np.sum(cones.witnesses * pulls, axis=1) - potential))) / size_of(evidence)
    return at_most(worst, ROUNDING, detail=f"largest relative difference {worst:.3g} on {len(cones)} cones")


def _on_extremal(
    words: str,
) -> Callable[[Callable[[Evidence, ExtremalVectors], float]], Callable[[Evidence], Comparison]]:
    """The largest error over the extremal vectors, 0 to rounding; nothing where there are none."""

    def decorate(error: Callable[[Evidence, ExtremalVectors], float]) -> Callable[[Evidence], Comparison]:
        @wraps(error)
        def measure(evidence: Evidence) -> Comparison:
            vectors = extremal_of(evidence)
            if len(vectors) == 0:
                return nothing("there is no extremal vector")
            worst, on = float(error(evidence, vectors)) / size_of(evidence), np.any(vectors.patterns == 0, axis=1)
            detail = words.format(worst, count=len(vectors), on_boundary=int(np.sum(on)))
            return at_most(worst, ROUNDING, detail=detail)

        return measure

    return decorate


def _pull_error(evidence: Evidence, vectors: ExtremalVectors) -> float:
    """How far the extremal vectors are from the shortest subgradients of their cones, at most."""
    pulls = pulls_of(vectors.patterns, evidence.dataset.X, forces_of(evidence), evidence.leak)
    return float(np.max(np.linalg.norm(pulls - vectors.vectors, axis=1)))


@_on_extremal("largest relative error {:.3g} over {count} extremal vectors")
def _critical_values(evidence: Evidence, vectors: ExtremalVectors) -> float:
    """At side * D/|D|: G = side |D|, and D is a subgradient there."""
    values = alignment_potential(vectors.directions, evidence.dataset.X, forces_of(evidence), leak=evidence.leak)
    return max(float(np.max(np.abs(values - vectors.sides * vectors.norms))), _pull_error(evidence, vectors))


def _kinds(evidence: Evidence) -> Comparison:
    """The kinds given, those of the closed-form rule and those of sampling are the same."""
    vectors, X, forces = extremal_of(evidence), evidence.dataset.X, forces_of(evidence)
    wrong = 0
    for index, kind in enumerate(vectors.kinds):
        sampled = kind_by_sampling(vectors.directions[index], X, forces, evidence.leak, vectors.patterns[index])
        wrong += not kind == sampled == kind_by_rule(vectors, forces, index)
    return none_of(wrong, total=len(vectors))


EQ_7 = Theorem(
    "boursier2024:eq7",
    Reference("boursier2024", "Eq. (7)"),
    r"$G(w) = \langle w, D(w, 0)\rangle = c \sum_k r_k s(\langle w, x_k\rangle)$; its critical points on the "
    r"sphere with $G \ne 0$ are $\pm D/|D|$ for extremal $D$, with value $\pm|D|$, the sign being the side of $D$, "
    r"and the signs of the forces on their hyperplanes give their kinds.",
    hypotheses=GENERIC_DATA,
    conclusions=(
        Conclusion("potential", r"$G(w) = \langle w, D(w, 0)\rangle$ in every cone", _potential_is_pull, Level.EXACT),
        Conclusion(
            "critical",
            r"$G(\pm D/|D|) = \pm|D|$, the sign being the side of $D$, with $D$ a subgradient there",
            _critical_values,
            Level.EXACT,
        ),
        Conclusion("kinds", "maxima, minima and saddles are those the forces' signs say", _kinds, Level.EXACT),
    ),
    record=landscape_points,
    setting=SETTING,
    example=THREE_POINTS,
    departs="The rule for the kinds is a by-product of the proof of Lemma 12.",
)

EQ_19 = part(
    "boursier2024:eq19",
    "Eq. (19)",
    EQ_7,
    r"the KKT condition of $G$ on the sphere, $\mu w$ in its subdifferential, met at extremal directions",
)
EQ_29 = part(
    "boursier2024:eq29",
    "Eq. (29)",
    EQ_7,
    r"at a maximum $\ell'(0, y_k) > 0$ for all samples on the cone's hyperplanes: the rule for the kinds",
)

# Eq. (17) -------------------------------------------------------------------------------------------------------------


@_on_extremal("largest relative difference {:.3g} over {count} vectors")
def _minimum_norm(evidence: Evidence, vectors: ExtremalVectors) -> float:
    """Three ways to the same vector: the extremal one, the shortest in its set, the projection of D~_u."""
    projected = np.array([projected_pull(evidence, pattern) for pattern in vectors.patterns])
    error = np.max(np.linalg.norm(vectors.vectors - projected, axis=1))
    return max(_pull_error(evidence, vectors), float(error))


EQ_17 = Theorem(
    "boursier2024:eq17",
    Reference("boursier2024", "Eq. (17)"),
    r"An extremal vector is the shortest element of its set of subgradients, and the projection of $\tilde{D}_u$ "
    r"on the complement of the samples with $u_k = 0$.",
    hypotheses=(assumed(SMOOTH_LOSS), assumed(GENERAL_POSITION)),
    conclusions=(
        Conclusion("shortest", r"extremal $D = D_u$ is the projection of $\tilde D_u$", _minimum_norm, Level.EXACT),
    ),
    record=extremal_points,
    setting=SETTING,
    example=OBTUSE_PAIR,
)

# Eq. (20) -------------------------------------------------------------------------------------------------------------


@_on_extremal("largest relative difference {:.3g}, {on_boundary} of {count} vectors on a hyperplane")
def _sign_of_z(evidence: Evidence, vectors: ExtremalVectors) -> float:
    rebuilt = np.array([signed_pull(evidence, vectors, index, -1) for index in range(len(vectors))])
    return float(np.max(np.linalg.norm(rebuilt - vectors.vectors, axis=1)))


EQ_20 = Theorem(
    "boursier2024:eq20",
    Reference("boursier2024", "Eq. (20)"),
    r"$D_u = \tilde D_u - Z_u \eta^u$ with the columns of $Z_u$ being $c\, \ell'(0, y_k) x_k$ for the samples with "
    r"$u_k = 0$.",
    hypotheses=(assumed(SMOOTH_LOSS), assumed(GENERAL_POSITION)),
    conclusions=(Conclusion("sign", r"$D_u = \tilde{D}_u - Z_u \eta$", _sign_of_z, Level.EXACT),),
    record=extremal_points,
    setting=SETTING,
    example=OBTUSE_PAIR,
    erratum=r"E6: the paper prints $D_u = \tilde D_u + Z_u \eta$ with $\eta$ in $\mathbb{R}^n$; it is minus, with "
    r"$\eta$ in $\mathbb{R}^{K(u)}$.",
)

# Lemma 14 -------------------------------------------------------------------------------------------------------------


def _quantised(evidence: Evidence) -> Comparison:
    """A maximum of G in M_u has D_u in M_u or is the ray of -D_u; a minimum mirrored. Kinds are sampled."""
    vectors, X, forces = extremal_of(evidence), evidence.dataset.X, forces_of(evidence)
    wrong = 0
    for direction, pattern, side in zip(vectors.directions, vectors.patterns, vectors.sides, strict=True):
        kind = kind_by_sampling(direction, X, forces, evidence.leak, pattern)
        is_ray = X.shape[1] - np.linalg.matrix_rank(X[pattern == 0]) == 1 if np.any(pattern == 0) else X.shape[1] == 1
        wrong += kind == "maximum" and side < 0 and not is_ray
        wrong += kind == "minimum" and side > 0 and not is_ray
        wrong += int(sides_of(pattern[None], side * direction[None], X)[0]) != side
    return none_of(int(wrong), total=len(vectors))


LEMMA_14 = Theorem(
    "boursier2024:lemma14",
    Reference("boursier2024", "Lemma 14"),
    r"A local maximum of $G$ in a critical cone with $D_u \ne 0$ has $D_u$ in the cone, or the cone is the ray of "
    r"$-D_u$; a local minimum has $-D_u$ in the cone, or the cone is the ray of $D_u$.",
    hypotheses=GENERIC_DATA,
    conclusions=(
        Conclusion(
            "quantised", "maxima with side +1 or on a ray, minima with side -1 or on a ray", _quantised, Level.EXACT
        ),
    ),
    record=extremal_points,
    setting=SETTING,
    example=OBTUSE_PAIR,
)
