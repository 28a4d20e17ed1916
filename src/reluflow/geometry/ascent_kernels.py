"""Compiled alignment runs: follow one neuron at vanishing scale from cone to cone until its direction settles."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from reluflow.arrays import BoolArray, FloatArray, SignArray
from reluflow.geometry.boundary.minimum_norm import box_minimum_norm
from reluflow.geometry.boundary.tolerance import ROUNDING

REFRESH = 64  # events after which the running sums are made anew, so that rounding does not pile up


@njit(cache=True, parallel=True)
def settle(
    U: FloatArray,
    plus: FloatArray,
    minus: FloatArray,
    starts: FloatArray,
    side: int,
    tie: float,
    scale: float,
    max_events: int,
) -> tuple[SignArray, BoolArray]:
    """Sign vectors of the cones where runs from `starts` settle, and whether each run did.

    Within a cone the weight moves along the straight line w + t side D. At a hyperplane it passes, unless both
    sides push towards it: then it slides with the shortest D until a coefficient reaches an end of its interval.
    """
    m = U.shape[0]
    num_starts = starts.shape[0]
    ends = np.zeros((num_starts, m), dtype=np.int8)
    has_settled = np.zeros(num_starts, dtype=np.bool_)
    lower, upper = np.minimum(plus, minus), np.maximum(plus, minus)
    for start in prange(num_starts):
        w = starts[start].copy()
        signs = ends[start]
        heights = U @ w
        for t in range(m):
            signs[t] = 1 if heights[t] > 0 else -1
        weights = np.where(signs > 0, plus, minus)
        base = weights @ U
        num_zeros = 0
        for event in range(max_events):
            if event % REFRESH == REFRESH - 1:
                base, heights = weights @ U, U @ w
            if num_zeros > 0:
                zeros = np.flatnonzero(signs == 0)
                D, _z = box_minimum_norm(base, U[zeros], lower[zeros], upper[zeros], ROUNDING * scale)
            else:
                D = base.copy()
            norm = np.sqrt(np.dot(D, D))
            if norm <= tie * scale:
                break
            velocity = side * D / norm
            speeds = U @ velocity
            has_left = False
            for t in range(m):
                if signs[t] == 0 and abs(speeds[t]) > tie:
                    signs[t] = 1 if speeds[t] > 0 else -1
                    weights[t] = plus[t] if signs[t] > 0 else minus[t]
                    base += weights[t] * U[t]
                    num_zeros -= 1
                    has_left = True
            if has_left:
                continue
            # On a ray the weight may shrink towards the origin; its direction has settled all the same.
            is_on_ray = np.dot(w, velocity) < -(1.0 - 1e-12)
            first, hit = np.inf, -1
            for t in range(m):
                speed = speeds[t] * signs[t]
                if speed < -tie:
                    time = max(heights[t] * signs[t], 0.0) / -speed
                    if time < first:
                        first, hit = time, t
            if hit < 0 or is_on_ray:
                has_settled[start] = True
                break
            w += first * velocity
            size = np.sqrt(np.dot(w, w))
            w /= size
            heights = (heights + first * speeds) / size
            before = weights[hit]
            signs[hit] = 0 if side * (plus[hit] - minus[hit]) < 0 else -signs[hit]
            weights[hit] = 0.0 if signs[hit] == 0 else (plus[hit] if signs[hit] > 0 else minus[hit])
            num_zeros += 1 if signs[hit] == 0 else 0
            base += (weights[hit] - before) * U[hit]
    return ends, has_settled
