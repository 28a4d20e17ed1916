"""Where a network of two inputs without a bias changes sign: rays from the origin, exactly."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network.network import Network

_NOTHING = 1e-12  # outputs below this share of the largest are 0
_HALF_TURN, _TURN = np.pi, 2.0 * np.pi


def edge_angles(network: Network) -> FloatArray:
    """Angles at which h turns from positive to not positive or back, in [-pi, pi), sorted.

    h is linear along every ray and between two neighbouring kinks it is <v, x> for one v, so that a sector changes sign
    once at most, at a right angle to v.

    >>> rays = edge_angles(Network([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0]))
    >>> (rays / np.pi).round(4).tolist()
    [-0.5, 0.25]
    """
    used = np.any(network.w != 0.0, axis=1) & (network.a != 0.0)
    if not used.any():
        return np.zeros(0)
    w = network.w[used]
    parts = (network.weight * network.a)[used, None] * w
    heading = np.arctan2(w[:, 1], w[:, 0])
    kinks = np.concatenate([heading - 0.5 * np.pi, heading + 0.5 * np.pi])
    kinks = (kinks + _HALF_TURN) % _TURN - _HALF_TURN
    jumps = (1.0 - network.leak) * np.concatenate([parts, -parts])  # a neuron wakes at the first, sleeps at the second
    order = np.argsort(kinks)
    kinks, jumps = kinks[order], jumps[order]
    ends = np.append(kinks[1:], kinks[0] + _TURN)
    middle = 0.5 * (kinks[0] + ends[0])
    is_active = w @ np.array([np.cos(middle), np.sin(middle)]) > 0.0
    first = np.where(is_active, 1.0, network.leak) @ parts
    slopes = first + np.concatenate([np.zeros((1, 2)), np.cumsum(jumps[1:], axis=0)])  # v of every sector
    root = np.arctan2(-slopes[:, 0], slopes[:, 1])
    root = kinks + (root - kinks) % _HALF_TURN  # the first zero of <v, x> from the start of the sector on
    is_inside = root < ends
    pieces = np.sort(np.concatenate([kinks, root[is_inside]]))
    middles = 0.5 * (pieces + np.append(pieces[1:], pieces[0] + _TURN))
    sector = np.searchsorted(kinks, middles, side="right") - 1
    values = slopes[sector, 0] * np.cos(middles) + slopes[sector, 1] * np.sin(middles)
    is_positive = values > _NOTHING * float(np.max(np.abs(values)))
    found = pieces[is_positive != np.roll(is_positive, 1)]
    return np.sort((found + _HALF_TURN) % _TURN - _HALF_TURN)


def edge_rays(network: Network, window: tuple[float, float, float, float]) -> tuple[FloatArray, ...]:
    """The rays as segments within a window (left, right, bottom, top), each of shape (2, 2)."""
    segments = (_within(np.array([np.cos(angle), np.sin(angle)]), window) for angle in edge_angles(network))
    return tuple(segment for segment in segments if segment is not None)


def _within(direction: FloatArray, window: tuple[float, float, float, float]) -> FloatArray | None:
    """The part of a ray from the origin inside a window."""
    near, far = 0.0, np.inf
    for along, low, high in zip(direction.tolist(), window[::2], window[1::2], strict=True):
        if along == 0.0:
            if not low <= 0.0 <= high:
                return None
            continue
        one, other = sorted((low / along, high / along))
        near, far = max(near, one), min(far, other)
    return np.array([near, far])[:, None] * direction if near < far else None
