"""The potential G, its critical points and cones: Eqs. (7), (17), (20) and Lemmas 11 to 14 [boursier2024]."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, SignArray
from reluflow.errors import InvalidInputError
from reluflow.geometry.extremal import ExtremalVectors, Kind
from reluflow.geometry.landscape import alignment_potential
from reluflow.geometry.thresholds import AlignmentConstants
from reluflow.theory.boursier2024.alignment_regime import constants_of, on_run, states_of
from reluflow.theory.boursier2024.neuron_states import NO_PULL, pulls_of, sides_of
from reluflow.theory.comparison import Comparison, at_most, none_of, nothing, require
from reluflow.theory.evidence import Evidence, computed_once, drawn

ROUNDING = 1e-10  # relative to sum_k |r_k| |x_k|; measured below 2e-15 on generic data
RADIUS = 1e-3  # of the neighbourhood in which G is sampled, relative to the distance of the nearest other hyperplane
NUM_NEIGHBOURS = 400
FILLED = 0.999  # fraction of the allowed budget that the random outputs use up


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
    room = float(np.min(np.abs(off @ w) / np.linalg.norm(off, axis=1), initial=1.0))
    steps = np.random.default_rng(0).standard_normal((NUM_NEIGHBOURS, w.size))
    steps -= np.outer(steps @ w, w)
    basis, rank = np.eye(w.size), 0
    if len(on):
        basis, rank = np.linalg.svd(on, full_matrices=True)[2], int(np.linalg.matrix_rank(on))
    within = steps @ basis[rank:].T @ basis[rank:]
    return np.concatenate([_sphere(w, each, RADIUS * room) for each in (steps, within)])


def _sphere(w: FloatArray, steps: FloatArray, radius: float) -> FloatArray:
    lengths = np.linalg.norm(steps, axis=1, keepdims=True)
    moved = w + radius * steps[lengths[:, 0] > 1e-9] / lengths[lengths[:, 0] > 1e-9]
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True))


def forces_of(evidence: Evidence) -> FloatArray:
    """r_k at zero output, shape (n,)."""
    return evidence.loss.label_forces(evidence.dataset.y)


@drawn("extremal")
def extremal_of(evidence: Evidence) -> ExtremalVectors:
    """The extremal vectors, or those given as a witness."""
    return evidence.facts.extremal


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


def _potential_is_pull(evidence: Evidence) -> Comparison:
    """G(w) = <w, D(w, 0)> on witnesses of all cones, of every dimension."""
    X, forces, cones = evidence.dataset.X, forces_of(evidence), evidence.facts.cones
    pulls = pulls_of(cones.patterns, X, forces, evidence.leak)
    on_boundary = np.where(cones.patterns == 0, 0.0, cones.witnesses @ X.T)
    potential = np.where(on_boundary > 0, on_boundary, evidence.leak * on_boundary) @ forces
    worst = float(np.max(np.abs(np.sum(cones.witnesses * pulls, axis=1) - potential))) / size_of(evidence)
    return at_most(worst, ROUNDING, detail=f"largest relative difference {worst:.3g} on {len(cones)} cones")


def _on_extremal(words: str) -> Callable[[Callable[[Evidence, ExtremalVectors], float]], Callable[..., Comparison]]:
    """The largest error over the extremal vectors, 0 to rounding; nothing where there are none."""

    def decorate(error: Callable[[Evidence, ExtremalVectors], float]) -> Callable[[Evidence], Comparison]:
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


@_on_extremal("largest relative difference {:.3g} over {count} vectors")
def _minimum_norm(evidence: Evidence, vectors: ExtremalVectors) -> float:
    """Three ways to the same vector: the extremal one, the shortest in its set, the projection of D~_u."""
    projected = np.array([projected_pull(evidence, pattern) for pattern in vectors.patterns])
    error = np.max(np.linalg.norm(vectors.vectors - projected, axis=1))
    return max(_pull_error(evidence, vectors), float(error))


@_on_extremal("largest relative difference {:.3g}, {on_boundary} of {count} vectors on a hyperplane")
def _sign_of_z(evidence: Evidence, vectors: ExtremalVectors) -> float:
    rebuilt = np.array([signed_pull(evidence, vectors, index, -1) for index in range(len(vectors))])
    return float(np.max(np.linalg.norm(rebuilt - vectors.vectors, axis=1)))


def _kinds(evidence: Evidence) -> Comparison:
    """The kinds given, those of the closed-form rule and those of sampling are the same."""
    vectors, X, forces = extremal_of(evidence), evidence.dataset.X, forces_of(evidence)
    wrong = 0
    for index, kind in enumerate(vectors.kinds):
        sampled = kind_by_sampling(vectors.directions[index], X, forces, evidence.leak, vectors.patterns[index])
        wrong += not kind == sampled == kind_by_rule(vectors, forces, index)
    return none_of(wrong, total=len(vectors))


@dataclass(frozen=True, eq=False)
class ConeTable:
    """Every cone with its D_u and on which side of it D_u lies; side 0 and speed 0 where D_u = 0."""

    patterns: SignArray
    pulls: FloatArray
    sides: SignArray
    is_zero: BoolArray

    @property
    def is_critical(self) -> BoolArray:
        """Cones with D_u in M_u, -M_u or 0."""
        return np.asarray(self.is_zero | (self.sides != 0))


@computed_once
def cone_table(evidence: Evidence) -> ConeTable:
    """All nonempty cones at zero output."""
    patterns, X = evidence.facts.cones.patterns, evidence.dataset.X
    pulls = pulls_of(patterns, X, forces_of(evidence), evidence.leak)
    return ConeTable(patterns, pulls, sides_of(patterns, pulls, X), _vanishes(evidence, pulls))


def _vanishes(evidence: Evidence, pulls: FloatArray) -> BoolArray:
    return np.asarray(np.linalg.norm(pulls, axis=1) <= NO_PULL * size_of(evidence))


def random_outputs(evidence: Evidence, *, keep_signs: bool) -> FloatArray:
    """Outputs h with c sum_k |h(x_k)| |x_k| just below delta_0, shape (draws, n).

    Half of them put the whole budget on one sample. With `keep_signs` also |h(x_k)| < |l'(0, y_k)|.
    """
    constants, n = constants_of(evidence), evidence.dataset.n
    if constants is None:
        raise InvalidInputError("`dataset` must have few enough cones to visit them all; take fewer samples.")
    rng, count = np.random.default_rng(0), round(evidence.parameter("draws"))
    shapes = rng.standard_normal((count, n))
    shapes[::2] *= np.arange(n) == rng.integers(0, n, size=(len(shapes[::2]), 1))
    weight = evidence.loss.sample_weight(n)
    budget = FILLED * min(constants.delta_0, size_of(evidence))  # infinite where there is no extremal vector
    outputs = shapes * (budget / (weight * np.abs(shapes) @ evidence.facts.norms))[:, None]
    if keep_signs:
        limit = FILLED * np.abs(evidence.loss.force_at_zero(evidence.dataset.y))
        outputs *= np.minimum(1.0, np.min(limit / np.maximum(np.abs(outputs), 1e-300), axis=1))[:, None]
    return np.asarray(outputs)


def _bent(evidence: Evidence, patterns: SignArray, outputs: FloatArray) -> FloatArray:
    return pulls_of(patterns, evidence.dataset.X, evidence.loss.forces(outputs, evidence.dataset.y), evidence.leak)


def _outputs(evidence: Evidence, *, keep_signs: bool = False) -> FloatArray:
    require(constants_of(evidence), "there are too many cones to visit")
    return evidence.witness("outputs", lambda: random_outputs(evidence, keep_signs=keep_signs))


def _sides_are_kept(evidence: Evidence) -> Comparison:
    """D_u in M_u, -M_u or 0 at zero output stays there at every small output."""
    drawn_outputs, table, wrong = _outputs(evidence), cone_table(evidence), 0
    critical = table.is_critical
    for outputs in drawn_outputs:
        pulls = _bent(evidence, table.patterns[critical], outputs)
        is_side = sides_of(table.patterns[critical], pulls, evidence.dataset.X) == table.sides[critical]
        wrong += int(np.sum(~np.where(table.is_zero[critical], _vanishes(evidence, pulls), is_side)))
    return none_of(wrong, total=int(np.sum(critical)) * len(drawn_outputs))


def _bend_is_bounded(evidence: Evidence) -> float:
    """|D_u^theta - D_u| <= c sum_k |h(x_k)| |x_k| for all cones; the largest ratio."""
    weight, largest = evidence.loss.sample_weight(evidence.dataset.n), -np.inf
    for outputs in _outputs(evidence):
        table = cone_table(evidence)
        moved = np.linalg.norm(_bent(evidence, table.patterns, outputs) - table.pulls, axis=1)
        largest = max(largest, float(np.max(moved)) / (weight * float(np.abs(outputs) @ evidence.facts.norms)))
    return largest


def dual_vectors(X: FloatArray) -> FloatArray:
    """The vectors v_k in the span of the rows with <v_k, x_i> = 1{k = i}, shape of X."""
    return np.asarray(np.linalg.pinv(X).T)


def normal_slopes(evidence: Evidence, pattern: SignArray, outputs: FloatArray) -> FloatArray:
    """All s_k <v_k, D^theta_{u(v)}> over sign choices s on the cone's hyperplanes; they decide <v, D_{u(v)}> for all v.

    For fixed signs of <v, x_k> the D is one vector, so <v, D> is a combination of these numbers with weights >= 0.
    """
    zeros = np.flatnonzero(pattern == 0)
    signs = np.array([s for s in product((-1, 0, 1), repeat=zeros.size) if any(s)], dtype=np.int8)
    around = np.repeat(pattern[None, :], len(signs), axis=0)
    around[:, zeros] = signs
    slopes = signs * (_bent(evidence, around, outputs) @ dual_vectors(evidence.dataset.X[zeros]).T)
    return np.asarray(slopes[signs != 0])


def _critical_patterns(evidence: Evidence) -> Iterator[SignArray]:
    """Critical cones that lie on some hyperplane; around the others there is nothing to show."""
    table = cone_table(evidence)
    for pattern in table.patterns[table.is_critical]:
        if 0 < np.sum(pattern == 0) < evidence.dataset.d:
            yield pattern


def _one_sign(evidence: Evidence) -> Comparison:
    """Around each critical cone all slopes have one sign; slack is the least of the larger of min and -max."""
    drawn_outputs, worst, count = _outputs(evidence, keep_signs=True), -np.inf, 0
    for pattern in _critical_patterns(evidence):
        signs = set()
        for outputs in drawn_outputs:
            slopes = normal_slopes(evidence, pattern, outputs) / size_of(evidence)
            worst = max(worst, min(float(np.max(slopes)), float(-np.min(slopes))))
            signs.add(bool(np.max(slopes) > -np.min(slopes)))
        if len(signs) > 1:
            return none_of(1, detail=f"around cone {pattern.tolist()} the sign depends on the outputs")
        count += 1
    if count == 0:
        return nothing("no critical cone lies on a hyperplane")
    detail = f"largest slope of the wrong sign {worst:.3g} (relative) around {count} critical cones"
    return at_most(worst, 0.0, allowance=1e-12, detail=detail)


@on_run
def _frozen_patterns(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """Once a_j D(w_j, theta) is in the neuron's cone or 0, the pattern does not change until tau."""
    wrong, total, frozen = 0, 0, np.zeros(evidence.network.num_neurons, dtype=bool)
    for here, later in pairwise(states_of(evidence)):
        is_own = sides_of(here.patterns, here.bent_pulls, evidence.dataset.X) == here.signs
        frozen |= (_vanishes(evidence, here.bent_pulls) | is_own) & np.any(here.shape.w, axis=1)
        changed = np.any(here.patterns != later.patterns, axis=1)
        wrong, total = wrong + int(np.sum(frozen & changed)), total + int(np.sum(frozen))
    events = evidence.run.events
    return none_of(wrong, total=total, detail=f"{wrong} changes in {total} stretches, {len(events)} events in the run")


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
