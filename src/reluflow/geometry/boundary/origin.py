"""The origin, where all walls meet: whether a neuron that has come there stays, and by which ways it can leave."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.geometry.alignment import align
from reluflow.geometry.boundary.decision import Resolution, Ridge
from reluflow.geometry.boundary.minimum_norm import box_minimum_norm
from reluflow.geometry.boundary.tolerance import ROUNDING

_NO_HEIGHT = 1e-9  # a way out this close to a wall, as a cosine, lies on it


def leaves_origin(
    normals: FloatArray,
    plus: FloatArray,
    minus: FloatArray,
    output_weight: float,
    heading: FloatArray,
    ridge: Ridge,
) -> Resolution:
    """Decide how a neuron with <w, x_k> = 0 for every sample continues.

    It can stay where no pull at all is among the admissible ones (always, with ReLU), and it can leave along every
    extremal direction v that grows, v parallel to a D(v). Only where these are one choice in all is the flow unique.

    Parameters
    ----------
    normals, plus, minus
        All walls and their strengths.
    output_weight
        a; only its sign matters.
    heading
        The direction in which the neuron was moving; on a ridge that is passed, the nearest way out is taken.
    ridge
        What to do where it is not unique.

    References
    ----------
    Boursier & Flammarion (2024), Def. 1 and Condition 1(2) [boursier2024].
    """
    still = Resolution((0,) * len(plus), is_ridge=False, is_still=True)
    if output_weight == 0.0 or not (np.any(plus) or np.any(minus)):
        return still
    directions = _growing_directions(normals, plus, minus, output_weight)
    if not directions:
        return still
    tolerance = ROUNDING * float(np.sum(np.abs(plus)) + np.sum(np.abs(minus)))
    base = np.zeros(normals.shape[1])
    shortest, _ = box_minimum_norm(base, normals, np.minimum(plus, minus), np.maximum(plus, minus), tolerance)
    can_stay = bool(np.linalg.norm(shortest) <= len(plus) * tolerance)
    is_ridge = len(directions) + can_stay > 1
    if is_ridge and can_stay and ridge in ("stop", "stay"):
        return Resolution(still.sides, is_ridge=True, is_still=True)
    way_out = max(directions, key=lambda v: float(v @ heading))
    heights = normals @ way_out
    sides = np.where(np.abs(heights) <= _NO_HEIGHT, 0, np.sign(heights))
    return Resolution(tuple(int(side) for side in sides), is_ridge=is_ridge, is_still=False)


def _growing_directions(
    normals: FloatArray, plus: FloatArray, minus: FloatArray, output_weight: float
) -> list[FloatArray]:
    """Extremal directions v along which a neuron of this sign grows: v parallel to a D(v), found from many starts.

    A wall with strengths plus and minus is two ReLU samples: its normal with force plus, the opposite with -minus.
    """
    sign = float(np.sign(output_weight))
    noise = np.random.default_rng(0).standard_normal((32 + 8 * len(normals), normals.shape[1]))
    starts = np.vstack([normals + 1e-3 * noise[: len(normals)], -normals + 1e-3 * noise[: len(normals)], noise])
    found = align(
        np.vstack([normals, -normals]),
        np.concatenate([plus, -minus]),
        starts,
        sign * np.linalg.norm(starts, axis=1),
    )
    reached = np.unique(found.indices[found.indices >= 0])
    vectors = found.extremal_sides[reached, None] * found.extremal[reached]
    grows = found.extremal_sides[reached] * sign > 0
    return [vector / np.linalg.norm(vector) for vector in vectors[grows]]
