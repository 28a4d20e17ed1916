"""Appendix F and Remark 8: the velocities a neuron may have where it stands on hyperplanes [min2024]."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.papers.min2024.assumptions import CORRELATED
from reluflow.papers.min2024.paper import EXAMPLE, SETTING
from reluflow.papers.min2024.theorems.cone_geometry import ROUNDING, seeded, unit_rows
from reluflow.papers.min2024.theorems.constants import DataConstants, data_constants, geometry_constants
from reluflow.papers.min2024.theorems.moving_neurons import ON_BOUNDARY
from reluflow.theory.comparison import Comparison, Level, at_least, none_of, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import assumed
from reluflow.theory.measures import AtLeast
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem


def _selection(data: DataConstants, w: FloatArray, on: tuple[int, ...], choice: tuple[float, ...]) -> FloatArray:
    """x_a at w with the chosen slopes on the hyperplanes it stands on, shape (d,)."""
    weights = (w @ data.X.T > ON_BOUNDARY).astype(np.float64)
    weights[list(on)] = choice
    return np.asarray((weights * data.y) @ data.X)


def _on_hyperplanes(data: DataConstants, on: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Two unit directions on the hyperplanes of the given samples; none where only 0 lies on all of them."""
    _, singular, right = np.linalg.svd(data.X[list(on)])
    basis = right[int(np.sum(singular > 1e-12 * singular[0])) :]
    if len(basis) == 0:
        return np.zeros((0, data.X.shape[1]))
    first = unit_rows(rng.standard_normal(len(basis)) @ basis)
    return np.array([first, -first])


@dataclass(frozen=True, eq=False)
class Selections:
    """Elements of Filippov's set-valued x_a at directions on one or two hyperplanes, shape (k, d)."""

    vectors: FloatArray


def _selections(evidence: Evidence) -> Selections:
    data, rng = data_constants(evidence), seeded()
    found = []
    for size in (1, 2):
        for on in combinations(range(data.n), size):
            for w in _on_hyperplanes(data, on, rng):
                choices = (*product((0.0, 1.0), repeat=size), tuple(rng.random(size)))
                found += [_selection(data, w, on, choice) for choice in choices]
    return Selections(np.array(found).reshape(-1, data.X.shape[1]))


def _selections_push_one_way(evidence: Evidence) -> Comparison:
    """y_i <x_i, v>/(|x_i||v|) >= mu for every selection v != 0: v lies in K, so it crosses one way."""
    data, chosen = data_constants(evidence), evidence.recorded(Selections).vectors
    lengths = np.linalg.norm(chosen, axis=1)
    moving = lengths > ROUNDING * data.largest_norm
    require(np.any(moving), "no selection beside 0 was found")
    smallest = float(np.min((chosen[moving] / lengths[moving, None]) @ data.unit_signed.T))
    words = (
        rf"smallest cosine of {int(np.sum(moving))} selections with a $y_i x_i$ is {smallest:.6g}, $\mu$ = "
        rf"{data.mu:.6g}"
    )
    return at_least(smallest, data.mu, allowance=ROUNDING, detail=words)


APP_F = Theorem(
    "min2024:appF",
    Reference("min2024", "App. F"),
    "Every nonzero selection of Filippov's set-valued $x_a$ lies in $K$, so crossings stay one-way.",
    hypotheses=(assumed(CORRELATED),),
    conclusions=(
        Conclusion(
            "one-way", r"smallest cosine of a selection with a $y_i x_i$ is at least $\mu$", _selections_push_one_way
        ),
    ),
    constants=geometry_constants,
    record=_selections,
    setting=SETTING,
    example=EXAMPLE,
    departs="The appendix says, without a proof, that Theorem 1 holds for regular Filippov solutions too. Judged is "
    "the fact about cones that its proof needs there; the runs on which Theorem 1 itself is judged are Filippov "
    "solutions, for the solver resolves the inclusion at every hyperplane.",
)


@dataclass(frozen=True, eq=False)
class Exits:
    """Where living neurons stand on two hyperplanes, and how each selection pulls them there.

    Parameters
    ----------
    samples
        The two samples, shape (k, 2).
    pulls
        x_a with the selected slopes on the two hyperplanes, shape (k, d).
    """

    samples: IntArray
    pulls: FloatArray


def _exits(evidence: Evidence) -> Exits:
    data, rng = data_constants(evidence), seeded()
    samples: list[tuple[int, int]] = []
    pulls: list[FloatArray] = []
    for on in combinations(range(data.n), 2):
        for w in _on_hyperplanes(data, on, rng):
            if np.any(w @ data.X.T > ON_BOUNDARY):
                pulls += [_selection(data, w, on, choice) for choice in product((0.0, 1.0), repeat=2)]
                samples += [on] * 4
    return Exits(np.array(samples, dtype=np.int64).reshape(-1, 2), np.array(pulls).reshape(-1, data.X.shape[1]))


def _exit_is_unique(evidence: Evidence) -> Comparison:
    """At an intersection of two hyperplanes each side's velocity, whatever the selection, leaves both the same way.

    On the boundary of S_dead 0 is a selection, and a regular solution stays.
    """
    data, exits = data_constants(evidence), evidence.recorded(Exits)
    wrong = [
        bool(np.any(data.y[on] * (data.X[on] @ pull) <= 0.0))
        for on, pull in zip(exits.samples, exits.pulls, strict=True)
    ]
    return none_of(sum(require(wrong, "no intersection of two hyperplanes beside 0")), total=len(wrong))


def _dimension(evidence: Evidence) -> int:
    return evidence.dataset.d


REMARK_8 = Theorem(
    "min2024:remark8",
    Reference("min2024", "Remark 8"),
    "A neuron at an intersection of hyperplanes crosses all of them at once, whatever the slopes there.",
    hypotheses=(
        assumed(CORRELATED),
        Hypothesis(
            "d-at-least-3",
            "hyperplanes meet outside 0",
            AtLeast(_dimension, 3, words="$d$ = {number}; two hyperplanes of the plane meet in 0 only"),
        ),
    ),
    conclusions=(
        Conclusion("exit", "every selection leaves every hyperplane on the same side", _exit_is_unique, Level.EXACT),
    ),
    constants=geometry_constants,
    record=_exits,
    setting=SETTING,
    example="orthogonally-separable:n=6,d=3",
)
