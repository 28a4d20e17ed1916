"""The potential G and its critical points: Eqs. (7), (17) and (20) [boursier2024]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, SignArray
from reluflow.geometry.extremal import ExtremalVectors, Kind
from reluflow.geometry.landscape import alignment_potential
from reluflow.theory.boursier2024.alignment_regime import GENERIC_DATA
from reluflow.theory.boursier2024.neuron_states import pulls_of
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import data_assumption
from reluflow.theory.measurement import Level, Measurement, at_most, none_of, nothing
from reluflow.theory.stating import conclusion, theorems_of

ROUNDING = 1e-10  # relative to sum_k |r_k| |x_k|; measured below 2e-15 on generic data
RADIUS = 1e-3  # of the neighbourhood in which G is sampled, relative to the distance of the nearest other hyperplane
NUM_NEIGHBOURS = 400


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Unit vectors around a critical point: at random, and within the span of its cone."""

    across: FloatArray
    along: FloatArray


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
    found = _neighbours(w, X, pattern)
    here = float(alignment_potential(w, X, forces, leak=leak))
    size = float(np.sum(np.abs(forces) * np.linalg.norm(X, axis=1)))
    around = np.concatenate([found.across, found.along])
    rises = alignment_potential(around, X, forces, leak=leak) - here
    noise = 1e-14 * size
    if np.all(rises <= noise):
        return "maximum"
    return "minimum" if np.all(rises >= -noise) else "saddle"


def _neighbours(w: FloatArray, X: FloatArray, pattern: SignArray) -> Neighbours:
    rng = np.random.default_rng(0)
    off = X[pattern != 0]
    room = float(np.min(np.abs(off @ w) / np.linalg.norm(off, axis=1), initial=1.0))
    steps = rng.standard_normal((NUM_NEIGHBOURS, w.size))
    steps -= np.outer(steps @ w, w)
    basis = np.linalg.svd(X[pattern == 0], full_matrices=True)[2] if np.any(pattern == 0) else np.eye(w.size)
    rank = int(np.linalg.matrix_rank(X[pattern == 0])) if np.any(pattern == 0) else 0
    within = steps @ basis[rank:].T @ basis[rank:]
    return Neighbours(_sphere(w, steps, RADIUS * room), _sphere(w, within, RADIUS * room))


def _sphere(w: FloatArray, steps: FloatArray, radius: float) -> FloatArray:
    lengths = np.linalg.norm(steps, axis=1, keepdims=True)
    moved = w + radius * steps[lengths[:, 0] > 1e-9] / lengths[lengths[:, 0] > 1e-9]
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True))


def forces_of(evidence: Evidence) -> FloatArray:
    """r_k at zero output, shape (n,)."""
    return evidence.loss.label_forces(evidence.dataset.y)


def extremal_of(evidence: Evidence) -> ExtremalVectors:
    """The extremal vectors, or those given as a witness."""
    return evidence.witness("extremal", lambda: evidence.facts.extremal)


def size_of(evidence: Evidence) -> float:
    """sum_k |r_k| |x_k|: no D is longer."""
    return float(np.sum(np.abs(forces_of(evidence)) * evidence.facts.norms))


def projected_pull(evidence: Evidence, pattern: SignArray) -> FloatArray:
    """The projection of D~_u on the orthogonal complement of the samples with u_k = 0, shape (d,)."""
    X, forces = evidence.dataset.X, forces_of(evidence)
    fixed = (np.where(pattern > 0, 1.0, evidence.leak) * forces * (pattern != 0)) @ X
    if not np.any(pattern == 0):
        return np.asarray(fixed)
    columns = X[pattern == 0].T
    return np.asarray(fixed - columns @ np.linalg.lstsq(columns, fixed, rcond=None)[0])


@conclusion("potential", "G(w) = <w, D(w, 0)> in every cone", Level.EXACT)
def _potential_is_pull(evidence: Evidence) -> Measurement:
    """G(w) = <w, D(w, 0)> on witnesses of all cones, of every dimension."""
    X, forces, cones = evidence.dataset.X, forces_of(evidence), evidence.facts.cones
    pulls = pulls_of(cones.patterns, X, forces, evidence.leak)
    on_boundary = np.where(cones.patterns == 0, 0.0, cones.witnesses @ X.T)
    potential = np.where(on_boundary > 0, on_boundary, evidence.leak * on_boundary) @ forces
    worst = float(np.max(np.abs(np.sum(cones.witnesses * pulls, axis=1) - potential))) / size_of(evidence)
    return at_most(worst, ROUNDING, detail=f"largest relative difference {worst:.3g} on {len(cones)} cones")


@conclusion("critical", "G(side D/|D|) = side |D|, with D a subgradient there", Level.EXACT)
def _critical_values(evidence: Evidence) -> Measurement:
    """At side * D/|D|: G = side |D|, and D is a subgradient there."""
    vectors, X, forces = extremal_of(evidence), evidence.dataset.X, forces_of(evidence)
    if len(vectors) == 0:
        return nothing("there is no extremal vector")
    values = alignment_potential(vectors.directions, X, forces, leak=evidence.leak)
    value_error = np.max(np.abs(values - vectors.sides * vectors.norms))
    pulls = pulls_of(vectors.patterns, X, forces, evidence.leak)
    pull_error = np.max(np.linalg.norm(pulls - vectors.vectors, axis=1))
    worst = float(max(value_error, pull_error)) / size_of(evidence)
    return at_most(worst, ROUNDING, detail=f"largest relative error {worst:.3g} over {len(vectors)} extremal vectors")


@conclusion("kinds", "maxima, minima and saddles are those the forces' signs say", Level.EXACT)
def _kinds(evidence: Evidence) -> Measurement:
    """The kinds given, those of the closed-form rule and those of sampling are the same."""
    vectors, X, forces = extremal_of(evidence), evidence.dataset.X, forces_of(evidence)
    wrong = 0
    for index, kind in enumerate(vectors.kinds):
        sampled = kind_by_sampling(vectors.directions[index], X, forces, evidence.leak, vectors.patterns[index])
        wrong += not kind == sampled == kind_by_rule(vectors, forces, index)
    return none_of(wrong, total=len(vectors))


_theorem = theorems_of("boursier2024", example="lyu-ridge")

EQUATION_7 = _theorem(
    "eq7",
    "G(w) = <w, D(w, 0)> = c sum_k r_k s(<w, x_k>); its critical points on the sphere with G != 0 are side * D/|D| "
    "for extremal D, with value side * |D|, and the signs of the forces on their hyperplanes give their kinds.",
    hypotheses=GENERIC_DATA,
    conclusions=(_potential_is_pull, _critical_values, _kinds),
    example="three-points",
    departs="The rule for the kinds is a by-product of the proof of Lemma 12.",
)


@conclusion("shortest", "extremal D = D_u = projection of D~_u", Level.EXACT)
def _minimum_norm(evidence: Evidence) -> Measurement:
    """Three ways to the same vector: the extremal one, the shortest in its set, the projection of D~_u."""
    vectors, X, forces = extremal_of(evidence), evidence.dataset.X, forces_of(evidence)
    if len(vectors) == 0:
        return nothing("there is no extremal vector")
    shortest = pulls_of(vectors.patterns, X, forces, evidence.leak)
    projected = np.array([projected_pull(evidence, pattern) for pattern in vectors.patterns])
    errors = [np.max(np.linalg.norm(vectors.vectors - other, axis=1)) for other in (shortest, projected)]
    worst = float(max(errors)) / size_of(evidence)
    return at_most(worst, ROUNDING, detail=f"largest relative difference {worst:.3g} over {len(vectors)} vectors")


EQUATION_17 = _theorem(
    "eq17",
    "An extremal vector is the shortest element of its set of subgradients, and the projection of D~_u on the "
    "complement of the samples with u_k = 0.",
    hypotheses=(data_assumption("boursier-a1"), data_assumption("general-position")),
    conclusions=(_minimum_norm,),
)


def signed_pull(evidence: Evidence, vectors: ExtremalVectors, index: int, sign: int) -> FloatArray:
    """D~_u + sign * Z_u eta with Z_u of Eq. (20), whose columns carry -r_k: the paper prints +, erratum E6 reads -."""
    X, forces, pattern = evidence.dataset.X, forces_of(evidence), vectors.patterns[index]
    fixed = (np.where(pattern > 0, 1.0, evidence.leak) * forces * (pattern != 0)) @ X
    zeros = pattern == 0
    columns = -(forces[zeros, None] * X[zeros]).T  # (d, |K|)
    return np.asarray(fixed + sign * columns @ vectors.etas[index][zeros])


@conclusion("sign", "D_u = D~_u - Z_u eta", Level.EXACT)
def _sign_of_z(evidence: Evidence) -> Measurement:
    vectors = extremal_of(evidence)
    if len(vectors) == 0:
        return nothing("there is no extremal vector")
    rebuilt = np.array([signed_pull(evidence, vectors, index, -1) for index in range(len(vectors))])
    worst = float(np.max(np.linalg.norm(rebuilt - vectors.vectors, axis=1))) / size_of(evidence)
    num_boundary = int(np.sum(np.any(vectors.patterns == 0, axis=1)))
    detail = f"largest relative difference {worst:.3g}, {num_boundary} of {len(vectors)} vectors on a hyperplane"
    return at_most(worst, ROUNDING, detail=detail)


EQUATION_20 = _theorem(
    "eq20",
    "D_u = D~_u - Z_u eta^u with the columns of Z_u being c l'(0, y_k) x_k for the samples with u_k = 0.",
    hypotheses=(data_assumption("boursier-a1"), data_assumption("general-position")),
    conclusions=(_sign_of_z,),
    erratum="E6: the paper prints D_u = D~_u + Z_u eta with eta in R^n; it is minus, with eta in R^K(u).",
)
