"""Lemma 11 and the extreme vectors: what x_a, the sum over active samples, can be [min2024]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.geometry.extremal import ExtremalVectors
from reluflow.papers.min2024.assumptions import CORRELATED
from reluflow.papers.min2024.paper import EXAMPLE, SETTING
from reluflow.papers.min2024.theorems.cone_geometry import NUM_DRAWS, ROUNDING, seeded, unit_rows
from reluflow.papers.min2024.theorems.constants import data_constants, geometry_constants
from reluflow.theory.comparison import Comparison, Level, Values, all_of
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import assumed
from reluflow.theory.measures import AtLeast
from reluflow.theory.theorem import Conclusion, Reference, Theorem


@dataclass(frozen=True, eq=False)
class Subgradients:
    """The network's neurons and drawn directions w, shape (k, d), and s'(<w, x_i>) for each sample, shape (k, n)."""

    w: FloatArray
    slopes: FloatArray


def _subgradients(evidence: Evidence) -> Subgradients:
    X = data_constants(evidence).X
    w = np.vstack([evidence.network.w, seeded().standard_normal((NUM_DRAWS, X.shape[1]))])
    return Subgradients(w, np.where(w @ X.T > 0.0, 1.0, evidence.leak))


def aggregate_lengths(evidence: Evidence, *, sharp: bool) -> Values:
    """|x_a| over sqrt(mu) X_min times the number of active samples, or over the middle expression."""
    data, drawn = data_constants(evidence), evidence.recorded(Subgradients)
    k = (drawn.w @ data.X.T > 0.0).sum(axis=1).astype(np.float64)
    if sharp:
        lower = data.smallest_norm * np.sqrt(k + data.mu * k * (k - 1.0))
    else:
        lower = math.sqrt(data.mu) * data.smallest_norm * (k + evidence.leak * (data.n - k))
    sums = (drawn.slopes * data.y) @ data.X
    yield np.linalg.norm(sums[lower > 0.0], axis=1) / lower[lower > 0.0]


LEMMA_11 = Theorem(
    "min2024:lemma11",
    Reference("min2024", "Lemma 11"),
    r"$|x_a(w)| \ge X_{\min} \sqrt{n_a + \mu n_a (n_a - 1)} \ge \sqrt{\mu}\, n_a X_{\min}$; with a leak $\gamma$, "
    r"$n_a + \gamma (n - n_a)$ there.",
    hypotheses=(assumed(CORRELATED),),
    conclusions=(
        Conclusion(
            "length",
            r"$|x_a|$ over $\sqrt{\mu} n_a X_{\min}$ is at least 1",
            AtLeast(
                partial(aggregate_lengths, sharp=False),
                1.0,
                allowance=ROUNDING,
                words="smallest $|x_a|$ over its bound is {measured:.6g}",
            ),
        ),
        Conclusion(
            "length-sharp",
            "the same for the middle expression",
            AtLeast(
                partial(aggregate_lengths, sharp=True),
                1.0,
                allowance=ROUNDING,
                words="smallest $|x_a|$ over its bound is {measured:.6g}",
            ),
        ),
    ),
    constants=geometry_constants,
    record=_subgradients,
    setting=SETTING,
    example=EXAMPLE,
)


def _extremal(evidence: Evidence) -> ExtremalVectors:
    return evidence.facts.extremal


def _extreme_vectors(evidence: Evidence) -> Comparison:
    """Local maxima of sum_i y_i s(<x_i, w>) on the sphere are x_+, local minima x_- (both as unit vectors)."""
    data = data_constants(evidence)
    extremal = evidence.recorded(ExtremalVectors)
    statements = []
    for kind, sign in (("maximum", 1), ("minimum", -1)):
        rows = [k for k, name in enumerate(extremal.kinds) if name == kind]
        if not data.count(sign):
            statements.append((not rows, f"{len(rows)} of kind {kind} without a sample of that class"))
            continue
        found = [extremal.sides[k] * extremal.vectors[k] / extremal.norms[k] for k in rows]
        gap = max((float(np.linalg.norm(v - unit_rows(data.total(sign)))) for v in found), default=np.inf)
        statements.append((gap <= 1e-9, f"the {len(rows)} of kind {kind} are {gap:.3g} from the class aggregate"))
    return all_of(statements, detail="; ".join(words for _, words in statements))


EXTREME_VECTORS = Theorem(
    "min2024:extreme-vectors",
    Reference("min2024", "Sec. 3.1"),
    r"The only attractors of (4) for positive neurons are $x_+$ and $S_{\mathrm{dead}}$, for negative ones $x_-$ "
    r"and $S_{\mathrm{dead}}$.",
    hypotheses=(assumed(CORRELATED),),
    conclusions=(Conclusion("extremal", "every extremum of $G$ is a class aggregate", _extreme_vectors, Level.EXACT),),
    constants=geometry_constants,
    record=_extremal,
    setting=SETTING,
    example=EXAMPLE,
)
