"""Critical cones and their stability: Lemmas 11 to 14 [boursier2024]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, SignArray
from reluflow.errors import InvalidInputError
from reluflow.geometry.thresholds import AlignmentConstants
from reluflow.theory.boursier2024.alignment_regime import (
    bring_to,
    constants_of,
    just_below_lambda_star,
    on_run,
    states_of,
)
from reluflow.theory.boursier2024.critical_points import extremal_of, forces_of, kind_by_sampling, size_of
from reluflow.theory.boursier2024.neuron_states import NO_PULL, pulls_of, sides_of
from reluflow.theory.evidence import Evidence, kept
from reluflow.theory.measurement import Measurement, at_most, need, none_of, nothing

FILLED = 0.999  # fraction of the allowed budget that the random outputs use up


@dataclass(frozen=True, eq=False)
class ConeTable:
    """Every cone with its D_u and on which side of it D_u lies; side 0 and speed 0 where D_u = 0."""

    patterns: SignArray
    pulls: FloatArray
    sides: SignArray
    is_zero: BoolArray


@kept
def cone_table(evidence: Evidence) -> ConeTable:
    """All nonempty cones at zero output."""
    patterns, X = evidence.facts.cones.patterns, evidence.dataset.X
    pulls = pulls_of(patterns, X, forces_of(evidence), evidence.leak)
    is_zero = np.linalg.norm(pulls, axis=1) <= NO_PULL * size_of(evidence)
    return ConeTable(patterns, pulls, sides_of(patterns, pulls, X), is_zero)


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
    return evidence.witness("outputs", lambda: random_outputs(evidence, keep_signs=keep_signs))


def _sides_are_kept(evidence: Evidence) -> Measurement:
    """D_u in M_u, -M_u or 0 at zero output stays there at every small output."""
    need(constants_of(evidence), "there are too many cones to visit")
    table, X = cone_table(evidence), evidence.dataset.X
    critical = table.is_zero | (table.sides != 0)
    patterns, wrong = table.patterns[critical], 0
    for outputs in _outputs(evidence):
        pulls = _bent(evidence, patterns, outputs)
        is_zero = np.linalg.norm(pulls, axis=1) <= NO_PULL * size_of(evidence)
        kept = np.where(table.is_zero[critical], is_zero, sides_of(patterns, pulls, X) == table.sides[critical])
        wrong += int(np.sum(~kept))
    return none_of(wrong, total=len(patterns) * len(_outputs(evidence)))


def _bend_is_bounded(evidence: Evidence) -> Measurement:
    """|D_u^theta - D_u| <= c sum_k |h(x_k)| |x_k| for all cones; the largest ratio."""
    need(constants_of(evidence), "there are too many cones to visit")
    table, largest = cone_table(evidence), -np.inf
    weight = evidence.loss.sample_weight(evidence.dataset.n)
    for outputs in _outputs(evidence):
        moved = np.linalg.norm(_bent(evidence, table.patterns, outputs) - table.pulls, axis=1)
        largest = max(largest, float(np.max(moved)) / (weight * float(np.abs(outputs) @ evidence.facts.norms)))
    detail = f"largest |D_u^theta - D_u| is {largest:.6g} times the budget"
    return at_most(largest, 1.0, allowance=1e-9, detail=detail)


def dual_vectors(X: FloatArray) -> FloatArray:
    """The vectors v_k in the span of the rows with <v_k, x_i> = 1{k = i}, shape of X."""
    return np.asarray(np.linalg.pinv(X).T)


def normal_slopes(evidence: Evidence, pattern: SignArray, outputs: FloatArray) -> FloatArray:
    """All s_k <v_k, D^theta_{u(v)}> over sign choices s on the cone's hyperplanes; they decide <v, D_{u(v)}> for all v.

    For fixed signs of <v, x_k> the D is one vector, so <v, D> is a combination of these numbers with weights >= 0.
    """
    zeros = np.flatnonzero(pattern == 0)
    duals = dual_vectors(evidence.dataset.X[zeros])
    signs = np.array([s for s in product((-1, 0, 1), repeat=zeros.size) if any(s)], dtype=np.int8)
    around = np.repeat(pattern[None, :], len(signs), axis=0)
    around[:, zeros] = signs
    slopes = signs * (_bent(evidence, around, outputs) @ duals.T)
    return np.asarray(slopes[signs != 0])


def _critical_patterns(evidence: Evidence) -> Iterator[SignArray]:
    """Critical cones that lie on some hyperplane; around the others there is nothing to show."""
    table = cone_table(evidence)
    for pattern in table.patterns[table.is_zero | (table.sides != 0)]:
        if np.any(pattern == 0) and np.sum(pattern == 0) < evidence.dataset.d:
            yield pattern


def _one_sign(evidence: Evidence) -> Measurement:
    """Around each critical cone all slopes have one sign; slack is the least of the larger of min and -max."""
    need(constants_of(evidence), "there are too many cones to visit")
    worst, count = -np.inf, 0
    for pattern in _critical_patterns(evidence):
        signs = set()
        for outputs in _outputs(evidence, keep_signs=True):
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
def _frozen_patterns(evidence: Evidence, constants: AlignmentConstants) -> Measurement:
    """Once a_j D(w_j, theta) is in the neuron's cone or 0, the pattern does not change until tau."""
    X, size, wrong, total = evidence.dataset.X, size_of(evidence), 0, 0
    frozen = np.zeros(evidence.network.num_neurons, dtype=bool)
    states = states_of(evidence)
    for here, later in pairwise(states):
        is_zero = np.linalg.norm(here.bent_pulls, axis=1) <= NO_PULL * size
        is_own = sides_of(here.patterns, here.bent_pulls, X) == here.signs
        frozen |= (is_zero | is_own) & np.any(here.shape.w, axis=1)
        changed = np.any(here.patterns != later.patterns, axis=1)
        wrong, total = wrong + int(np.sum(frozen & changed)), total + int(np.sum(frozen))
    events = evidence.run.events
    return none_of(wrong, total=total, detail=f"{wrong} changes in {total} stretches, {len(events)} events in the run")


def _quantised(evidence: Evidence) -> Measurement:
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


_lemma13_log_scale = bring_to(just_below_lambda_star)
