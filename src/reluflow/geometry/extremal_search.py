"""Extremal vectors that attract, found by following many neurons, for data with too many cones to visit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray, SignArray
from reluflow.budget import FIRST_BLOCK, Budget, count
from reluflow.geometry.arrangement import DistinctDirections
from reluflow.geometry.subgradient import LineCoefficients

if TYPE_CHECKING:
    from reluflow.geometry.ascent_kernels import PullingLines

_MOST_PRODUCTS = 4000  # lines whose products with each other are kept, in 128 MB at most
_OPERATIONS_A_LINE = 4.0  # at each crossing, over all lines, of 1e9 a second: 2.7 to 6.5 ns


@dataclass(frozen=True, eq=False)
class SettledSigns:
    """Where the runs of a search settled.

    Parameters
    ----------
    signs
        Distinct sign vectors, shape (k, m).
    num_open
        Runs that died or did not settle.
    num_done, num_runs
        Runs that were made, and those planned: fewer were made where the time was spent.
    """

    signs: SignArray
    num_open: int
    num_done: int
    num_runs: int


def settled_signs(
    directions: DistinctDirections,
    coefficients: LineCoefficients,
    *,
    num_starts: int,
    seed: int,
    max_seconds: float = np.inf,
    progress: Callable[[float], None] | None = None,
) -> SettledSigns:
    """The cones where neurons of either output sign settle.

    Starts are `num_starts` uniform random directions and then the samples' lines in both orientations, in a random
    order, so that a search that `max_seconds` of processor time cut short has seen a fair part of them. Maxima and
    minima of G attract and are found if a start lies in their basin; saddles do not attract and are missed.
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
    num_open = num_done = 0
    order = np.concatenate([2 * len(U) + np.arange(num_starts), rng.permutation(2 * len(U))])
    _compile(lines, starts, max_events)
    allowed = Budget(max_seconds)
    for block in allowed.blocks(len(starts), first=FIRST_BLOCK):
        chosen = np.ascontiguousarray(starts[order[block]])
        for side in (1, -1):
            ends, has_settled = settled_ends(lines, chosen, side, max_events)
            num_crossed = int(np.count_nonzero(np.where(chosen @ U.T > 0.0, 1, -1) != ends))
            a_line = _OPERATIONS_A_LINE + (0.0 if gram.size else directions.rank)
            count((num_crossed + len(chosen)) * len(U) * a_line)
            found |= {end.tobytes(): end for end in ends[has_settled]}
            num_open += int(np.count_nonzero(~has_settled))
            num_done += len(chosen)
        if progress is not None:
            progress(max(num_done / (2 * len(starts)), allowed.share))
    signs = np.unique(np.array([*found.values()], dtype=np.int8).reshape(-1, len(U)), axis=0)
    return SettledSigns(signs, num_open, num_done, 2 * len(starts))


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


def _compile(lines: PullingLines, starts: FloatArray, max_events: int) -> None:
    """Compile the kernel, on no start, before a clock runs."""
    from reluflow.geometry.ascent_kernels import settle

    ends, has_settled = np.zeros((0, len(lines.U)), dtype=np.int8), np.zeros(0, dtype=np.bool_)
    settle(np.arange(0), lines, starts, 1, max_events, ends, has_settled)
