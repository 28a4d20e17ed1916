"""Compiled loop of population gradient descent; plain arrays in and out."""

from __future__ import annotations

import math

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.compilation.kernel import kernel


@kernel(entry=True)
def descend_column(
    parallel: float,
    perpendicular: float,
    v: FloatArray,
    target_gain: float,
    step_size: float,
    steps: IntArray,
    record: FloatArray,
) -> bool:
    """Run one start to the last of `steps`; `record` (num_steps, 2 + q) receives the components of w and the v_k.

    Returns False, with NaN from there on, when a parameter overflows or a scalar layer is no longer positive.
    """
    q = v.size
    step = 0
    for row in range(steps.size):
        while step < steps[row]:
            product = 1.0
            for k in range(q):
                product *= v[k]
            norm = math.hypot(parallel, perpendicular)
            phi = math.atan2(perpendicular, -parallel)
            overlap = (perpendicular + phi * parallel) / (math.pi * norm)
            pull = target_gain * perpendicular / (math.pi * norm * norm)
            alpha = 1.0 - 0.5 * step_size * product * (product - pull)
            slope = 0.5 * step_size * norm * (target_gain * overlap - product * norm)
            parallel = alpha * parallel + 0.5 * step_size * product * target_gain * phi / math.pi
            perpendicular = alpha * perpendicular
            alive = math.isfinite(parallel) and math.isfinite(perpendicular)
            for k in range(q):
                v[k] += product / v[k] * slope
                alive = alive and math.isfinite(v[k]) and v[k] > 0.0
            if not alive:
                record[row:, :] = np.nan
                return False
            step += 1
        record[row, 0] = parallel
        record[row, 1] = perpendicular
        record[row, 2:] = v
    return True
