"""Compiled alignment runs: follow one neuron at vanishing scale from cone to cone until its direction settles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from reluflow.arrays import BoolVector, FloatArray, FloatMatrix, FloatVector, IntVector, SignMatrix, SignVector
from reluflow.compilation.kernel import kernel
from reluflow.geometry.arrangement import TIE
from reluflow.geometry.boundary.minimum_norm import along, make_workspace, minimise, norm
from reluflow.geometry.boundary.tolerance import ROUNDING

REFRESH = 64  # events after which the running sums are made anew, so that rounding does not pile up


class PullingLines(NamedTuple):
    """The samples' lines, m in dimension r, with what each pulls on its either side.

    `gram` is U U^T, with which an event costs a few sums over m instead of over m r, or empty where that is too large.
    """

    U: FloatMatrix  # (m, r)
    gram: FloatMatrix  # (m, m) or (0, 0)
    plus: FloatVector  # (m,)
    minus: FloatVector  # (m,)
    scale: float  # sum of the largest strengths: what a pull is small against


@njit(inline="always")
def _add_products(U: FloatArray, gram: FloatArray, t: int, strength: float, pulls: FloatArray) -> None:
    """Add strength times the products of line t with all lines: a row of `gram`, or computed where that is empty."""
    if gram.shape[0] > 0:
        for h in range(pulls.shape[0]):
            pulls[h] += strength * gram[t, h]
    else:
        for h in range(pulls.shape[0]):
            pulls[h] += strength * along(U, h, U[t])


@njit(inline="always")
def _add_line(U: FloatArray, gram: FloatArray, t: int, strength: float, base: FloatArray, pulls: FloatArray) -> None:
    """Add strength times line t to a sum of lines and to its products with all lines."""
    for c in range(base.shape[0]):
        base[c] += strength * U[t, c]
    _add_products(U, gram, t, strength, pulls)


@kernel()
def _settle_one(lines: PullingLines, w: FloatVector, side: int, max_events: int, signs: SignVector) -> bool:
    """Follow one weight, which is overwritten; `signs` are then those of its cone. Whether it has settled."""
    U, gram, plus, minus, scale = lines.U, lines.gram, lines.plus, lines.minus, lines.scale
    m, r = U.shape
    heights = U @ w
    for t in range(m):
        signs[t] = 1 if heights[t] > 0 else -1
    weights = np.empty(m)
    for t in range(m):
        weights[t] = plus[t] if signs[t] > 0 else minus[t]
    base = weights @ U  # of the lines that are not slid on
    pulls = U @ base
    D, slid = np.empty(r), np.empty(m)
    zeros, num_zeros = np.zeros(m, np.int64), 0
    workspace = make_workspace(m, r)
    for event in range(max_events):
        if event % REFRESH == REFRESH - 1:
            base, heights = weights @ U, U @ w
            pulls = U @ base
        for c in range(r):
            D[c] = base[c]
        if num_zeros > 0:
            for i in range(num_zeros):
                t = zeros[i]
                for c in range(r):
                    workspace.rows[i, c] = U[t, c]
                workspace.lower[i], workspace.upper[i] = min(plus[t], minus[t]), max(plus[t], minus[t])
            minimise(base, num_zeros, ROUNDING * scale, workspace)
            for c in range(r):
                D[c] = workspace.pull[c]
        size = norm(D)
        if size <= TIE * scale:
            return False
        rate = side / size
        left = 0
        for i in range(num_zeros):
            t = zeros[i]
            speed = rate * along(U, t, D)
            if abs(speed) > TIE:
                signs[t] = 1 if speed > 0 else -1
                weights[t] = plus[t] if signs[t] > 0 else minus[t]
                _add_line(U, gram, t, weights[t], base, pulls)
                left += 1
            else:
                zeros[i - left] = t
        num_zeros -= left
        if left > 0:
            continue
        pulls_of_D = pulls
        if num_zeros > 0:
            pulls_of_D = slid
            for t in range(m):
                slid[t] = pulls[t]
            for i in range(num_zeros):
                _add_products(U, gram, zeros[i], workspace.strengths[i], slid)
        # On a ray the weight may shrink towards the origin; its direction has settled all the same.
        is_on_ray = rate * np.dot(w, D) < -(1.0 - 1e-12)
        first, hit = np.inf, -1
        for t in range(m):
            speed = rate * pulls_of_D[t] * signs[t]
            if speed < -TIE:
                time = max(heights[t] * signs[t], 0.0) / -speed
                if time < first:
                    first, hit = time, t
        if hit < 0 or is_on_ray:
            return True
        stretch = first * rate
        for c in range(r):
            w[c] += stretch * D[c]
        shrink = 1.0 / norm(w)
        for c in range(r):
            w[c] *= shrink
        for t in range(m):
            heights[t] = (heights[t] + stretch * pulls_of_D[t]) * shrink
        before = weights[hit]
        if side * (plus[hit] - minus[hit]) < 0:
            signs[hit], weights[hit] = 0, 0.0
            zeros[num_zeros] = hit
            num_zeros += 1
        else:
            signs[hit] = -signs[hit]
            weights[hit] = plus[hit] if signs[hit] > 0 else minus[hit]
        _add_line(U, gram, hit, weights[hit] - before, base, pulls)
    return False


@kernel(entry=True, nogil=True)
def settle(
    chosen: IntVector,
    lines: PullingLines,
    starts: FloatMatrix,
    side: int,
    max_events: int,
    ends: SignMatrix,
    has_settled: BoolVector,
) -> None:
    """Write sign vectors of the cones where runs from the chosen `starts` settle, and whether each run did.

    Within a cone the weight moves along the straight line w + t side D. At a hyperplane it passes, unless both
    sides push towards it: then it slides with the shortest D until a coefficient reaches an end of its interval.
    """
    for start in chosen:
        w = starts[start].copy()
        has_settled[start] = _settle_one(lines, w, side, max_events, ends[start])
