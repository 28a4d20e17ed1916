"""Lemma 8: three points in the box of Assumption 3, with Eqs. (13) and (14), corrected by E3 [boursier2024]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.boursier2024.assumptions import (
    ACUTE_POSITIVE_DATA,
    FACET_CONDITION,
    RESIDUAL_CONDITION,
    THREE_POINT_BOX_CORRECTED,
    largest_safe_eta,
    three_point_box,
)
from reluflow.papers.boursier2024.paper import EXAMPLE, PHASES_SETTING
from reluflow.theory.comparison import Comparison, at_least, missing
from reluflow.theory.condition import Assumption
from reluflow.theory.elsewhere import definition, part
from reluflow.theory.evidence import Evidence
from reluflow.theory.facts import DatasetFacts
from reluflow.theory.hypotheses import assumed
from reluflow.theory.measures import Constants
from reluflow.theory.theorem import Conclusion, Reference, Theorem


def box_corners(eta: float) -> tuple[FloatArray, FloatArray]:
    """The 512 corners of the box of Assumption 3, as samples (512, 3, 2) and labels (512, 3); open sides are closed.

    A side that must be positive, y_2 > 0, starts at eta / 100.
    """
    above = (1.0, 1.0 + eta)
    samples = ((-1.0, -1.0 + eta), above, (-eta, eta), (1.0 - eta, 1.0 + eta), (1.0 - eta, 1.0), above)
    corners = np.array(list(product(*samples, above, (eta / 100, eta), above)))
    return corners[:, :6].reshape(-1, 3, 2), corners[:, 6:]


def facet_margins(samples: FloatArray, labels: FloatArray) -> FloatArray:
    """Assumption 5 at the outer samples of many sets: the least y_k |x_k|^2 - |y| sqrt(sum <x_k', x_k>^2)."""
    gram = np.einsum("cid,cjd->cij", samples, samples)
    margins = []
    for k in (0, 2):
        own = gram[:, k, k]
        others = np.sqrt(np.sum(gram[:, k] ** 2, axis=1) - own**2)
        margins.append(labels[:, k] * own - np.linalg.norm(labels, axis=1) * others)
    return np.asarray(np.min(margins, axis=0))


def _box_size(facts: DatasetFacts) -> float:
    """The least eta whose box holds the three samples, in whatever order they come."""
    limit = largest_safe_eta()
    margin = three_point_box(facts, corrected=True).margin
    return limit - (margin if margin is not None else 0.0)


@dataclass(frozen=True, eq=False)
class PointsOfTheBox:
    """The three points, and the corners of the least box that holds them.

    Parameters
    ----------
    facts
        Of the three points.
    samples, labels
        The corners, shapes (512, 3, 2) and (512, 3).
    """

    facts: DatasetFacts
    samples: FloatArray
    labels: FloatArray


def points_of_the_box(evidence: Evidence) -> PointsOfTheBox:
    """The data, and the corners of their box."""
    return PointsOfTheBox(evidence.facts, *box_corners(_box_size(evidence.facts)))


def _corners_meet_assumption_5(evidence: Evidence) -> Comparison:
    box = evidence.recorded(PointsOfTheBox)
    margins = facet_margins(box.samples, box.labels)
    return at_least(float(margins.min()), 0.0, detail=f"least margin of Assumption 5 over {margins.size} corners")


def _margin_of(evidence: Evidence, assumption: Assumption) -> Comparison:
    found = assumption.judge(evidence.recorded(PointsOfTheBox).facts)
    if found.holds is None or found.margin is None:
        return missing(found.detail)
    return at_least(found.margin, 0.0, detail=found.detail)


def middle_weights(X: FloatArray) -> FloatArray:
    """Eq. (13): alpha with x_2 = alpha_1 x_1 + alpha_3 x_3 for the sample between the two others.

    >>> middle_weights(np.array([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]])).round(6)
    array([0.714286, 0.285714])
    """
    left, middle, right = X[np.argsort(np.arctan2(X[:, 0], X[:, 1]))]
    return np.asarray(np.linalg.solve(np.stack([left, right], axis=1), middle))


EQ_13 = definition("boursier2024:eq13", "Eq. (13)", middle_weights, "$x_2$ from $x_1$, $x_3$")

# Lemma 8, Eqs. (13) and (14) ------------------------------------------------------------------------------------------


def _middle_is_inside(evidence: Evidence) -> Comparison:
    weights = middle_weights(evidence.recorded(PointsOfTheBox).facts.dataset.X)
    return at_least(float(weights.min()), 0.0, detail=f"$x_2$ = {weights[0]:.6g} $x_1$ + {weights[1]:.6g} $x_3$")


def _residual_signs(evidence: Evidence) -> Comparison:
    """Eq. (14): with r = X beta* - y, r_1 + alpha_1 r_2 = 0, r_3 + alpha_3 r_2 = 0 and r_2 > 0."""
    facts = evidence.recorded(PointsOfTheBox).facts
    X, y = facts.dataset.X, facts.dataset.y
    r = (X @ facts.least_squares - y)[np.argsort(np.arctan2(X[:, 0], X[:, 1]))]
    weights = middle_weights(X)
    balance = max(abs(r[0] + weights[0] * r[1]), abs(r[2] + weights[1] * r[1]))
    detail = f"$r_2$ = {r[1]:.6g}, largest imbalance {balance:.2g}"
    return at_least(float(r[1]) if balance < 1e-12 else -float(balance), 0.0, detail=detail)


def _lemma8_constants(evidence: Evidence) -> Constants:
    return {"largest_eta": largest_safe_eta(), "eta": _box_size(evidence.facts)}


LEMMA_8 = Theorem(
    "boursier2024:lemma8",
    Reference("boursier2024", "Lemma 8, Eqs. (13) and (14)"),
    r"Three points in the box of Assumption 3 with $\eta < 0.09765$ satisfy Assumptions 4, 5 and 6.",
    hypotheses=(assumed(THREE_POINT_BOX_CORRECTED),),
    conclusions=(
        Conclusion(
            "assumption-4", "assumption-4 holds for the data", partial(_margin_of, assumption=ACUTE_POSITIVE_DATA)
        ),
        Conclusion("assumption-5", "assumption-5 holds for the data", partial(_margin_of, assumption=FACET_CONDITION)),
        Conclusion("corners", "Assumption 5 holds at every corner of the box", _corners_meet_assumption_5),
        Conclusion(
            "assumption-6", "assumption-6 holds for the data", partial(_margin_of, assumption=RESIDUAL_CONDITION)
        ),
        Conclusion("middle", "$x_2$ is a positive combination of $x_1$ and $x_3$ (Eq. 13)", _middle_is_inside),
        Conclusion(
            "residuals", "the middle sample lies below the line, the outer ones above (Eq. 14)", _residual_signs
        ),
    ),
    constants=_lemma8_constants,
    record=points_of_the_box,
    setting=PHASES_SETTING,
    example=EXAMPLE,
    erratum=r"E3: the printed $\eta < 1/6$ is wrong for Assumption 5, which fails at a corner as soon as "
    r"$\eta > 0.09765$.",
)

EQ_14 = part("boursier2024:eq14", "Eq. (14)", LEMMA_8, "signs of the residuals of the line")
