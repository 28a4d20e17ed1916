"""Basins of the alignment phase: which initial directions flow to which extremal vector, and with what probability.

In the plane the basins of balanced neurons are arcs, found exactly from the sign of the angular velocity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IntArray
from reluflow.errors import InvalidInputError
from reluflow.geometry.alignment import END_NAMES
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.geometry.boundary.walls import PulledWalls

FULL_TURN = 2.0 * np.pi
ON_RAY = 1e-12  # an equilibrium this close to a boundary ray is on it


@dataclass(frozen=True, eq=False)
class Basin:
    """The initial neurons of one sign that share an end.

    Parameters
    ----------
    end
        One of `END_NAMES`.
    vector, direction
        The extremal vector D, shape (d,), and the unit limit of w; both zero for the dead, saddles and open neurons.
    probability
        Share of the initial neurons.
    arcs
        Angles (start, stop) of initial directions in radians, shape (k, 2), 0 <= start < 2 pi and start < stop.
    """

    end: str
    vector: FloatArray
    direction: FloatArray
    probability: float
    arcs: FloatArray


def circle_basins(X: ArrayLike, forces: ArrayLike, *, sign: int, leak: float = 0.0) -> tuple[Basin, ...]:
    """Exact basins in d = 2 of balanced neurons whose output weight has the given sign, under a uniform direction.

    On the circle of directions the flow is d(angle)/dt = sign * <D, t>, t the unit tangent, so a direction moves one
    way until its next equilibrium. Basins end where the flow diverges: at the ray opposite to D inside its own cone,
    at a boundary ray that repels, and at the edges of the dead cone.

    Examples
    --------
    >>> up, dead = circle_basins([[2.0, 1.0], [2.0, -1.0]], [1.0, 1.0], sign=1)
    >>> up.end, round(float(up.vector[0]), 12), round(360 * up.probability, 4), dead.end
    ('maximum', 4.0, 233.1301, 'dead')

    References
    ----------
    Boursier & Flammarion (2024), Sec. 3 and Fig. 1 [boursier2024]; Maennel et al. (2018).
    """
    if sign not in (-1, 1):
        raise InvalidInputError(f"`sign` must be 1 or -1, the sign of the output weight, got {sign}.")
    pulled = PulledWalls.of(X, forces, leak)
    if pulled.normals.shape[1] != 2:
        raise InvalidInputError(
            f"`X` must have d = 2 columns for exact arcs, got {pulled.normals.shape[1]}; `align` takes any d."
        )
    circle = _Circle.of(pulled, sign)
    fates = [circle.fate(i) for i in range(circle.angles.size)]
    basins = [_basin(circle, fates, fate) for fate in dict.fromkeys(fates)]
    return tuple(sorted(basins, key=lambda basin: (basin.end == "dead", -basin.probability, *basin.direction)))


@dataclass(frozen=True, eq=False)
class _Circle:
    """The circle cut where the angular velocity may change sign: at boundary rays and at equilibria inside cones.

    Interval i runs from angles[i] to angles[i + 1], with D `inside[i]` and the sense of turning[i] in {-1, 0, 1}, 0
    where dead; `staying[i]` is D of a neuron that stays at angles[i], projected on the boundary ray if it is one.
    """

    angles: FloatArray
    staying: FloatArray
    inside: FloatArray
    turning: IntArray
    sign: int
    smallest: float  # a vector shorter than this is zero

    @classmethod
    def of(cls, pulled: PulledWalls, sign: int) -> _Circle:
        smallest = ROUNDING * pulled.scale
        kinks = np.flatnonzero(pulled.has_kink)
        across = np.arctan2(pulled.normals[kinks, 1], pulled.normals[kinks, 0])
        rays = np.concatenate([across + 0.5 * np.pi, across - 0.5 * np.pi]) % FULL_TURN
        order = np.argsort(rays, kind="stable")
        rays, owners = rays[order], np.concatenate([kinks, kinks])[order]
        nodes: list[tuple[float, FloatArray]] = []
        for ray, owner in zip(rays, owners, strict=True):
            sides = np.sign(pulled.normals @ _unit(ray)).astype(np.int8)
            sides[owner] = 0
            nodes.append((float(ray), pulled.vector(sides)))
        starts = rays if rays.size else np.zeros(1)
        widths, cones = _cones(pulled, starts)
        for start, width, vector in zip(starts, widths, cones, strict=True):
            for turn in (0.0, np.pi):
                angle = (np.arctan2(vector[1], vector[0]) + turn) % FULL_TURN
                is_inside = not rays.size or ON_RAY < (angle - start) % FULL_TURN < width - ON_RAY
                if is_inside and np.linalg.norm(vector) > smallest:
                    nodes.append((float(angle), vector))
        nodes.sort(key=lambda node: node[0])
        angles = np.array([angle for angle, _ in nodes] or [0.0])
        staying = np.array([vector for _, vector in nodes] or [np.zeros(2)])
        widths, inside = _cones(pulled, angles)
        middles = _unit(angles + 0.5 * widths)
        velocity = sign * (inside[:, 1] * middles[:, 0] - inside[:, 0] * middles[:, 1])
        is_moving = np.linalg.norm(inside, axis=1) > smallest
        turning = np.where(is_moving, np.sign(velocity), 0).astype(np.int64)
        return cls(angles, staying, inside, turning, sign, smallest)

    def fate(self, interval: int) -> tuple[int, str, int]:
        """Where the directions of one interval end: the cut, the kind of end, and the interval they come to it through.

        (-1, "dead", -1) for the dead.
        """
        num, here = self.angles.size, interval
        extremum = END_NAMES[0 if self.sign > 0 else 1]
        for _ in range(num + 1):
            sense = int(self.turning[here])
            if sense == 0:
                break
            node, ahead = (here + 1) % num if sense > 0 else here, (here + sense) % num
            direction, vector = _unit(self.angles[node]), self.inside[here]
            speed = abs(vector[1] * direction[0] - vector[0] * direction[1])
            if speed <= ON_RAY * np.linalg.norm(vector) and self.turning[ahead] == sense:
                return node, "saddle", here  # approached for ever, though the other side leads away
            if self.turning[ahead] == -sense:
                if np.linalg.norm(self.staying[node]) <= self.smallest:
                    break
                return node, extremum, -1
            here = ahead
        return -1, "dead", -1


def _unit(angles: ArrayLike) -> FloatArray:
    """Unit vectors at the given angles, shape (..., 2)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def _cones(pulled: PulledWalls, starts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Widths of the intervals that begin at the given angles, and D in the middle of each."""
    widths = np.diff(np.append(starts, starts[0] + FULL_TURN))
    return widths, pulled.vectors_at(_unit(starts + 0.5 * widths))


def _basin(circle: _Circle, fates: list[tuple[int, str, int]], fate: tuple[int, str, int]) -> Basin:
    """Join the intervals that share a fate to arcs."""
    angles, num = circle.angles, circle.angles.size
    stops = np.append(angles[1:], angles[0] + FULL_TURN)
    mine = np.array([other == fate for other in fates])
    arcs: list[list[float]] = []
    first = 0 if mine.all() else int(np.flatnonzero(~mine)[0])  # begin outside, so that no arc is cut
    for step in range(num):
        i = (first + step) % num
        if mine[i] and step > 0 and mine[i - 1]:
            arcs[-1][1] += float(stops[i] - angles[i])
        elif mine[i]:
            arcs.append([float(angles[i]), float(stops[i])])
    share = sum(stop - start for start, stop in arcs) / FULL_TURN
    node, end, through = fate
    if node < 0:
        return Basin(end, np.zeros(2), np.zeros(2), share, np.array(arcs))
    vector = circle.inside[through] if through >= 0 else circle.staying[node]
    return Basin(end, vector, _unit(angles[node]), share, np.array(arcs))
