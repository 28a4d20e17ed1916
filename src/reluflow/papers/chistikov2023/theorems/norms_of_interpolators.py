"""Remark 38(i): no interpolator is much shorter than the teacher's [chistikov2023]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.chistikov2023.assumptions import CORRELATED_TEACHER
from reluflow.papers.chistikov2023.paper import EXAMPLE, SETTING
from reluflow.papers.chistikov2023.theorems.hypotheses import SPANNING
from reluflow.theory.comparison import Values, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import RELU, SQUARE_LOSS, assumed
from reluflow.theory.measures import Above, AtLeast, AtMost, Quantities
from reluflow.theory.theorem import Conclusion, Reference, Theorem

NUM_NETWORKS, NUM_DIRECTIONS = 20, 60
FITTED = 1e-7  # relative to the largest label; linear programs stop at 1e-9 or so


@dataclass(frozen=True, eq=False)
class Interpolators:
    """Networks that fit the labels: unit neurons w, shape (k, m, d), and output weights a, shape (k, m)."""

    w: FloatArray
    a: FloatArray

    @property
    def squared_norms(self) -> FloatArray:
        """|theta|^2 of each once balanced, 2 sum |a_j| |w_j|, shape (k,)."""
        return np.asarray(2.0 * np.sum(np.abs(self.a) * np.linalg.norm(self.w, axis=2), axis=1))


def interpolators(evidence: Evidence) -> Interpolators:
    """Of random unit neurons, the samples and the teacher among every other set, the shortest network that fits.

    A linear program finds the output weights with the least sum of |a_j|.
    """
    from scipy.optimize import linprog

    X, y, rng = evidence.dataset.X, evidence.dataset.y, np.random.default_rng(0)
    units = X / evidence.facts.norms[:, None]
    all_w, all_a = [], []
    for k in range(NUM_NETWORKS):
        drawn = rng.standard_normal((NUM_DIRECTIONS, X.shape[1]))
        w = np.vstack([drawn / np.linalg.norm(drawn, axis=1)[:, None], units])
        w[0] = evidence.facts.least_squares if k % 2 else w[0]
        features = np.maximum(X @ w.T, 0.0)
        found = linprog(np.ones(2 * len(w)), A_eq=np.hstack([features, -features]), b_eq=y, bounds=(0.0, None))
        if found.x is not None:
            all_w.append(w)
            all_a.append(found.x[: len(w)] - found.x[len(w) :])
    return Interpolators(np.array(all_w), np.array(all_a))


def _found(evidence: Evidence) -> Interpolators:
    found = evidence.recorded(Interpolators)
    require(found.a, "no set of random neurons fits the labels")
    return found


def _misfits(evidence: Evidence) -> Values:
    """|h(x_i) - y_i| over the largest label."""
    found, X = _found(evidence), evidence.dataset.X
    for w, a in zip(found.w, found.a, strict=True):
        yield np.abs(np.maximum(X @ w.T, 0.0) @ a - evidence.dataset.y) / np.max(np.abs(evidence.dataset.y))


def largest_cosine(evidence: Evidence) -> float:
    """max_i cos(v*, x_i); the teacher has length 1, so cos(v*, x_i) = y_i/|x_i|."""
    return float(np.max(evidence.dataset.y / evidence.facts.norms))


def _least_cosine(evidence: Evidence) -> float:
    """The same of the sample that is farthest from the teacher."""
    return float(np.min(evidence.dataset.y / evidence.facts.norms))


def _squared_norms(evidence: Evidence) -> Values:
    return [_found(evidence).squared_norms]


def _bound(evidence: Evidence) -> float:
    """2 max_i cos(v*, x_i)."""
    return 2.0 * largest_cosine(evidence)


REMARK_38I = Theorem(
    "chistikov2023:remark38i",
    Reference("chistikov2023", "Remark 38(i)"),
    r"Every interpolator has $|\theta|^2 \ge 2 \cos\angle(v^*, x_i) > \sqrt 2$ for each sample.",
    hypotheses=(SQUARE_LOSS, RELU, assumed(CORRELATED_TEACHER), SPANNING),
    conclusions=(
        Conclusion("fits", "the networks looked at fit the labels", AtMost(_misfits, FITTED)),
        Conclusion(
            "norm",
            r"$|\theta|^2 \ge 2 \cos\angle(v^*, x_i)$",
            AtLeast(
                _squared_norms,
                _bound,
                allowance=FITTED,
                words=r"the shortest of {count} networks has $|\theta|^2$ = {measured:.8g}, bound {bound:.8g}",
            ),
        ),
        Conclusion(
            "root",
            r"$|\theta|^2 > \sqrt 2$",
            Above(_squared_norms, float(np.sqrt(2.0)), words=r"the shortest has $|\theta|^2$ = {measured:.8g}"),
        ),
    ),
    constants=Quantities({"largest_cosine": largest_cosine, "least_cosine": _least_cosine}),
    record=interpolators,
    setting=SETTING,
    example=EXAMPLE,
    departs="Measured on the shortest interpolators that 20 sets of random neurons allow, not on all.",
)
