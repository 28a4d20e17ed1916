"""Extremal vectors that attract, found by following many neurons, for data with too many cones to visit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray, SignArray
from reluflow.geometry.arrangement import DistinctDirections
from reluflow.geometry.subgradient import LineCoefficients

if TYPE_CHECKING:
    from reluflow.geometry.ascent_kernels import PullingLines

_BLOCK = 128  # runs between two words about the progress
_MOST_PRODUCTS = 4000  # lines whose products with each other are kept, in 128 MB at most


def settled_signs(
    directions: DistinctDirections,
    coefficients: LineCoefficients,
    *,
    num_starts: int,
    seed: int,
    progress: Callable[[float], None] | None = None,
) -> tuple[SignArray, int]:
    """Distinct sign vectors of the cones where neurons of either output sign settle, and how many runs did not.

    Starts are the samples' lines in both orientations and `num_starts` uniform random directions. Maxima and minima
    of G attract and are found if a start lies in their basin; saddles do not attract and are missed.
    """
    from reluflow.geometry.ascent_kernels import PullingLines

    rng = np.random.default_rng(seed)
    random = rng.standard_normal((num_starts, directions.rank))
    starts = np.vstack([directions.U, -directions.U, random])
    # A start on a hyperplane would have to choose a side; a tilt far above rounding chooses it once and for all.
    starts += 1e-3 * rng.standard_normal(starts.shape)
    starts /= np.linalg.norm(starts, axis=1, keepdims=True)
    max_events = 50 * sum(directions.U.shape)
    U = directions.U
    gram = U @ U.T if len(U) <= _MOST_PRODUCTS else np.empty((0, 0))
    lines = PullingLines(U, gram, coefficients.plus, coefficients.minus, coefficients.scale)
    found: dict[bytes, SignArray] = {}  # rows compared by their bytes: a sort of many long ones takes seconds
    num_open = 0
    blocks = [(side, first) for side in (1, -1) for first in range(0, len(starts), _BLOCK)]
    for number, (side, first) in enumerate(blocks, start=1):
        ends, has_settled = settled_ends(lines, starts[first : first + _BLOCK], side, max_events)
        found |= {end.tobytes(): end for end in ends[has_settled]}
        num_open += int(np.count_nonzero(~has_settled))
        if progress is not None:
            progress(number / len(blocks))
    signs = np.unique(np.array([*found.values()], dtype=np.int8).reshape(-1, len(U)), axis=0)
    return signs, num_open


def settled_ends(lines: PullingLines, starts: FloatArray, side: int, max_events: int) -> tuple[SignArray, BoolArray]:
    """Sign vectors of the cones where runs from `starts` settle, and whether each run did; threads share the starts."""
    import numba

    from reluflow.geometry.ascent_kernels import settle
    from reluflow.threads import in_parts

    ends = np.zeros((len(starts), len(lines.U)), dtype=np.int8)
    has_settled = np.zeros(len(starts), dtype=np.bool_)

    def follow(chosen: IntArray) -> None:
        settle(chosen, lines, starts, side, max_events, ends, has_settled)

    num_parts = min(numba.get_num_threads(), len(starts))
    in_parts(follow, [np.arange(first, len(starts), num_parts) for first in range(num_parts)])
    return ends, has_settled
