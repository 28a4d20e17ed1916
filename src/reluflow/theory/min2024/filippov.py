"""Remark 8 and Appendix F: on hyperplanes every admissible slope pushes the same way [min2024]."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.measurement import Measurement, at_least, missing, need, none_of
from reluflow.theory.min2024.cone_geometry import ROUNDING, seeded, unit_rows
from reluflow.theory.min2024.constants import DataConstants, data_constants
from reluflow.theory.min2024.moving_neurons import ON_BOUNDARY
from reluflow.theory.stating import hypothesis


@drawn("selections")
def _selections(evidence: Evidence) -> FloatArray:
    """Elements of Filippov's set-valued x_a at directions on one or two hyperplanes, shape (k, d)."""
    data, rng = data_constants(evidence), seeded()
    found = []
    for size in (1, 2):
        for on in combinations(range(data.n), size):
            for w in _on_hyperplanes(data, on, rng):
                active = w @ data.X.T > ON_BOUNDARY
                for choice in (*product((0.0, 1.0), repeat=size), tuple(rng.random(size))):
                    weights = active.astype(np.float64)
                    weights[list(on)] = choice
                    found.append((weights * data.y) @ data.X)
    return np.array(found).reshape(-1, data.X.shape[1])


def _on_hyperplanes(data: DataConstants, on: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Two unit directions on the hyperplanes of the given samples; none where only 0 lies on all of them."""
    _, singular, right = np.linalg.svd(data.X[list(on)])
    rank = int(np.sum(singular > 1e-12 * singular[0]))
    basis = right[rank:]
    if len(basis) == 0:
        return np.zeros((0, data.X.shape[1]))
    first = unit_rows(rng.standard_normal(len(basis)) @ basis)
    return np.array([first, -first])


def _selections_push_one_way(evidence: Evidence) -> Measurement:
    """y_i <x_i, v>/(|x_i||v|) >= mu for every selection v != 0: v lies in K, so it crosses one way."""
    data, chosen = data_constants(evidence), _selections(evidence)
    lengths = np.linalg.norm(chosen, axis=1)
    moving = lengths > ROUNDING * data.largest_norm
    need(np.any(moving), "no selection beside 0 was found")
    smallest = float(np.min((chosen[moving] / lengths[moving, None]) @ data.unit_signed.T))
    words = f"smallest cosine of {int(np.sum(moving))} selections with a y_i x_i is {smallest:.6g}, mu = {data.mu:.6g}"
    return at_least(smallest, data.mu, allowance=ROUNDING, detail=words)


def _intersections(evidence: Evidence) -> list[tuple[FloatArray, tuple[int, int]]]:
    data, rng = data_constants(evidence), seeded()
    return [(w, on) for on in combinations(range(data.n), 2) for w in _on_hyperplanes(data, on, rng)]


def _exit_is_unique(evidence: Evidence) -> Measurement:
    """At an intersection of two hyperplanes each side's velocity, whatever the selection, leaves both the same way."""
    data = data_constants(evidence)
    signs = evidence.witness("exit labels", lambda: data.y)
    tried = wrong = 0
    for w, on in _intersections(evidence):
        active = w @ data.X.T > ON_BOUNDARY
        if not np.any(active):
            continue  # on the boundary of S_dead: 0 is a selection, and a regular solution stays
        for choice in product((0.0, 1.0), repeat=2):
            weights = active.astype(np.float64)
            weights[list(on)] = choice
            pull = (weights * data.y) @ data.X
            tried += 1
            wrong += int(np.any(signs[list(on)] * (data.X[list(on)] @ pull) <= 0.0))
    return none_of(wrong, total=tried) if tried else missing("no intersection of two hyperplanes beside 0")


@hypothesis("d-at-least-3", "hyperplanes meet outside 0")
def _dimension_three(evidence: Evidence) -> Judgement:
    d = evidence.dataset.d
    return Judgement(d >= 3, float(d - 3), f"d = {d}; two hyperplanes of the plane meet in 0 only")
