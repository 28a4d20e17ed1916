"""Extremal vectors that attract, found by following many neurons, for data with too many cones to visit."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import SignArray
from reluflow.geometry.arrangement import TIE, DistinctDirections
from reluflow.geometry.subgradient import LineCoefficients


def settled_signs(
    directions: DistinctDirections, coefficients: LineCoefficients, *, num_starts: int, seed: int
) -> tuple[SignArray, int]:
    """Distinct sign vectors of the cones where neurons of either output sign settle, and how many runs did not.

    Starts are the samples' lines in both orientations and `num_starts` uniform random directions. Maxima and minima
    of G attract and are found if a start lies in their basin; saddles do not attract and are missed.
    """
    from reluflow.geometry.ascent_kernels import settle

    rng = np.random.default_rng(seed)
    random = rng.standard_normal((num_starts, directions.rank))
    starts = np.vstack([directions.U, -directions.U, random])
    # A start on a hyperplane would have to choose a side; a tilt far above rounding chooses it once and for all.
    starts += 1e-3 * rng.standard_normal(starts.shape)
    starts /= np.linalg.norm(starts, axis=1, keepdims=True)
    max_events = 50 * sum(directions.U.shape)
    found: list[SignArray] = []
    num_open = 0
    for side in (1, -1):
        ends, has_settled = settle(
            directions.U, coefficients.plus, coefficients.minus, starts, side, TIE, coefficients.scale, max_events
        )
        found.append(ends[has_settled])
        num_open += int(np.count_nonzero(~has_settled))
    signs = np.unique(np.vstack(found), axis=0).astype(np.int8)
    return signs, num_open
