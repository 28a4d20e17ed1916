"""Walls: the hyperplanes <w, x_k> = 0, one for each line of samples, and what happens to a neuron that stands on some.

Samples on one line through the origin (twice the same sample, x and -x, multiples) share their hyperplane, so their
slopes are tied; working with walls instead of samples makes such data ordinary.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from reluflow.arrays import FloatArray
from reluflow.geometry.alignment import align

Ridge = Literal["stop", "positive", "negative", "stay"]
RIDGES: tuple[Ridge, ...] = ("stop", "positive", "negative", "stay")

STILL = 1e-12  # a normal speed below this fraction of the pulls is rounding: it takes no neuron across a wall
_PARALLEL = 1e-14  # distance of unit vectors below which two samples count as one line


@dataclass(frozen=True, eq=False)
class Walls:
    """The distinct hyperplanes of a dataset.

    Parameters
    ----------
    normals
        Unit normals, shape (num_walls, d); the first sample of each line gives its orientation.
    wall_of_sample
        Wall of each sample, shape (n,).
    first_sample
        One sample of each wall, shape (num_walls,), to name it by.
    orientation
        Sign of each sample along its wall's normal, shape (n,); 0 for a sample at the origin.
    length
        Norm of each sample, shape (n,).
    """

    normals: FloatArray
    wall_of_sample: NDArray[np.int64]
    first_sample: NDArray[np.int64]
    orientation: FloatArray
    length: FloatArray

    def slopes(self, sides: NDArray[np.int8], leak: float) -> FloatArray:
        """Slope of the activation on each sample for a neuron on these sides of the walls; 0 on a wall itself."""
        side = sides[..., self.wall_of_sample] * self.orientation
        return np.where(side > 0, 1.0, np.where(side < 0, leak, 0.0))

    def pull_factors(self, side: int, leak: float) -> FloatArray:
        """What a unit force of each sample pulls along its wall's normal, seen from one side, shape (n,)."""
        slope = np.where(self.orientation * side > 0, 1.0, leak)
        return slope * self.orientation * self.length


def walls_of(X: FloatArray) -> Walls:
    """Gather the samples by the line they lie on.

    >>> walls_of(np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 3.0]])).wall_of_sample
    array([0, 0, 1])
    """
    length = np.sqrt(np.einsum("kd,kd->k", X, X))
    present = np.flatnonzero(length > 0)
    units = X[present] / length[present, None]
    leading = np.argmax(np.abs(units) > 0.5 / np.sqrt(X.shape[1]), axis=1)
    signs = np.sign(units[np.arange(len(units)), leading])
    rays = units * signs[:, None]  # the two directions of a line become one
    # parallel samples have one projection on a generic direction, so that only neighbours in its order are compared
    projection = np.einsum("kd,d->k", rays, np.random.default_rng(0).standard_normal(X.shape[1]))
    leader = np.arange(len(rays))
    order = np.argsort(projection, kind="stable")
    for place in range(1, len(order)):
        back = place - 1
        while back >= 0 and projection[order[place]] - projection[order[back]] <= _PARALLEL:
            if np.linalg.norm(rays[order[place]] - rays[order[back]]) <= _PARALLEL:
                leader[order[place]] = leader[order[back]]
                break
            back -= 1
    _, line = np.unique(leader, return_inverse=True)
    earliest = np.full(len(rays), len(rays))
    np.minimum.at(earliest, line, np.arange(len(rays)))
    leader = earliest[line]  # the first sample of a line, in the given order
    first_of_line, wall = np.unique(leader, return_inverse=True)
    wall_of_sample = np.zeros(len(X), dtype=np.int64)
    orientation = np.zeros(len(X))
    wall_of_sample[present] = wall
    orientation[present] = signs * signs[leader]
    return Walls(
        np.ascontiguousarray(units[first_of_line]), wall_of_sample, present[first_of_line], orientation, length
    )


def orthonormal_rows(vectors: FloatArray) -> FloatArray:
    """An orthonormal basis, as rows, of what some vectors span; walls that meet in one line may be dependent.

    >>> orthonormal_rows(np.array([[2.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])).shape
    (1, 3)
    """
    left, singular, _ = np.linalg.svd(vectors.T, full_matrices=False)
    return np.ascontiguousarray(left[:, singular > 1e-12].T)


@dataclass(frozen=True)
class Resolution:
    """Where a neuron that stands on walls goes.

    Parameters
    ----------
    sides
        The new side of each wall it stood on: 1 or -1 to leave or pass, 0 to slide.
    is_ridge
        Whether more than one continuation exists, so that the choice was not the flow's.
    is_still
        Whether the neuron does not move at all on the chosen side (it has died there).
    """

    sides: tuple[int, ...]
    is_ridge: bool
    is_still: bool


def resolve(
    normals: FloatArray,
    plus: FloatArray,
    minus: FloatArray,
    rest: FloatArray,
    output_weight: float,
    before: NDArray[np.int8],
    ridge: Ridge,
    *,
    still: float = STILL,
) -> Resolution:
    """Decide from the state how a neuron on several walls at once continues.

    A choice of sides is a continuation when the velocity it implies keeps it: a wall left on the positive side needs
    a <D, normal> > 0, on the negative side < 0, and a wall on which the neuron slides needs the pull q that makes D
    tangent to lie strictly between the pulls of the two sides, which both push towards the wall. A side on which
    nothing pulls at all (a dead neuron) is a continuation as well: the neuron stays where it is.

    Parameters
    ----------
    normals, plus, minus
        The walls it stands on, shape (s, d), and their pulls on either side, shape (s,).
    rest
        The pull of all other walls, shape (d,).
    output_weight
        a; only its sign matters.
    before
        The sides it comes from, kept where nothing clearly pushes it off them.
    ridge
        What to prefer when several continuations exist; "stop" prefers sliding, and the caller stops.
    still
        Normal speeds below this fraction of the pulls push a neuron nowhere.
    """
    sign = np.sign(output_weight)
    scale = float(np.sum(np.abs(plus)) + np.sum(np.abs(minus)) + np.linalg.norm(rest))
    choices = []
    for sides in product((1, -1, 0), repeat=len(plus)):
        side = np.array(sides)
        strength = np.where(side > 0, plus, np.where(side < 0, minus, 0.0))
        pull = rest + strength @ normals
        sliding = side == 0
        attracts = True
        violation = -np.inf
        if np.any(sliding):
            q, *_ = np.linalg.lstsq(normals[sliding].T, -pull, rcond=None)
            pull = pull + q @ normals[sliding]
            jump = plus[sliding] - minus[sliding]
            inside = np.minimum((plus[sliding] - q) * np.sign(jump), (q - minus[sliding]) * np.sign(jump))
            attracts = bool(np.all(sign * jump < 0))
            violation = max(violation, float(np.max(-inside)))
        is_still = not np.any(strength) and not np.any(rest) and not np.any(sliding)
        leaving = side != 0
        if np.any(leaving) and not is_still:
            speeds = sign * (normals[leaving] @ pull) * side[leaving]
            violation = max(violation, float(np.max(-speeds)))
        choices.append((sides, violation, attracts, is_still))
    for sides, violation, _, is_still in choices:
        if 0 not in sides and np.array_equal(sides, before) and violation <= still * scale:
            return Resolution(sides, False, is_still)
    consistent = [c for c in choices if c[1] < 0.0 or (c[3] and c[1] <= 0.0)]
    stable = [c for c in consistent if c[2]]
    if len(stable) == 1:
        return Resolution(stable[0][0], False, stable[0][3])
    if not stable:
        allowed = [c for c in choices if c[2] and c[1] <= 1e-9 * scale] or [c for c in choices if c[2]]
        best = min(allowed, key=lambda c: (c[1], sum(1 for s in c[0] if s == 0)))
        return Resolution(best[0], False, best[3])
    pool = consistent if ridge in ("stay", "stop") else stable
    if ridge == "positive":
        best = max(pool, key=lambda c: sum(c[0]))
    elif ridge == "negative":
        best = min(pool, key=lambda c: sum(c[0]))
    else:
        best = max(pool, key=lambda c: (c[3], sum(1 for s in c[0] if s == 0)))
    return Resolution(best[0], True, best[3])


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
        All walls and their pulls.
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
    still = Resolution((0,) * len(plus), False, True)
    if output_weight == 0.0 or not (np.any(plus) or np.any(minus)):
        return still
    directions = _growing_directions(normals, plus, minus, output_weight)
    if not directions:
        return still
    scale = float(np.sum(np.abs(plus)) + np.sum(np.abs(minus)))
    ends = np.sort(np.stack([plus, minus]), axis=0) + 1e-15 * scale * np.array([[-1.0], [1.0]])
    nearest_zero = lsq_linear(normals.T, np.zeros(normals.shape[1]), bounds=(ends[0], ends[1]), tol=1e-14)
    can_stay = bool(np.linalg.norm(nearest_zero.x @ normals) <= 1e-9 * scale)
    is_ridge = len(directions) + can_stay > 1
    if is_ridge and can_stay and ridge in ("stop", "stay"):
        return Resolution(still.sides, True, True)
    way_out = max(directions, key=lambda v: float(v @ heading))
    heights = normals @ way_out
    sides = np.where(np.abs(heights) <= 1e-9, 0, np.sign(heights))
    return Resolution(tuple(int(side) for side in sides), is_ridge, False)


def _growing_directions(
    normals: FloatArray, plus: FloatArray, minus: FloatArray, output_weight: float
) -> list[FloatArray]:
    """Extremal directions v along which a neuron of this sign grows: v parallel to a D(v), found from many starts.

    A wall with pulls plus and minus is two ReLU samples: the normal with force plus, its opposite with force -minus.
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
