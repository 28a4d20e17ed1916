"""SlideWatch: who slides on which wall now, and when the first of them leaves."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.bernstein_kernels import NO_ROOT
from reluflow.compilation.kernel import direct
from reluflow.dynamics.event_driven.crossing_kernels import first_slide_exit, slide_margins_at
from reluflow.dynamics.event_driven.grouped_neurons import GroupedNeurons
from reluflow.dynamics.shared.flow_kernels import Layout


def chebyshev_interpolation(degree: int) -> tuple[FloatArray, FloatArray]:
    """Chebyshev points of [0, 1] and the matrix from values there to Bernstein coefficients.

    >>> nodes, matrix = chebyshev_interpolation(2)
    >>> matrix @ nodes  # the Bernstein coefficients of theta itself
    array([0. , 0.5, 1. ])
    """
    nodes = 0.5 - 0.5 * np.cos(np.pi * np.arange(degree + 1) / degree)
    basis = [[comb(degree, i) * t**i * (1.0 - t) ** (degree - i) for i in range(degree + 1)] for t in nodes]
    return nodes, np.linalg.inv(np.array(basis))


_NODES, _TO_BERNSTEIN = chebyshev_interpolation(8)


_NO_PAIRS = np.zeros((0, 2), dtype=np.int64), np.zeros((0, 0)), np.zeros(0)


KnownSlides = dict[
    bytes, tuple[FloatArray, IntArray]
]  # by the sides of a group: its solver and walls, see `_slides_of`


class SlideExit(NamedTuple):
    """When neurons stop sliding: fraction of the step (above 1: not in it), their group, the wall, the side taken."""

    theta: float
    group: int
    wall: int
    side: int


class SlideWatch:
    """The sliding (group, wall) pairs of a layout, with their exit tests.

    While neurons slide on walls S, D is tangent to them and the pull along each is q = -pinv(N_S^T) D_rest; a slide
    lasts while every q lies between the pulls that its wall has on its two sides.

    Parameters
    ----------
    neurons
        The groups as they are.
    layout
        Their layout.
    ridges
        Triples (sides of the group as bytes, sign of a, wall) on which neurons stay although both sides push away.
    known
        What earlier ones have found out, for this one to use and to add to.
    """

    def __init__(
        self, neurons: GroupedNeurons, layout: Layout, ridges: set[tuple[bytes, int, int]], known: KnownSlides
    ) -> None:
        self._layout = layout
        self._evaluations = 0
        self.pairs, self._solvers, self._orientation = _NO_PAIRS
        found = [_slides_of(neurons, g, known) for g in neurons.sliding_groups if neurons.counts[g]]
        if not found:
            return
        self.pairs, self._solvers, self._orientation = (np.concatenate(parts) for parts in zip(*found, strict=True))
        if ridges:
            for row, (g, b) in enumerate(self.pairs.tolist()):
                if (neurons.sides[g].tobytes(), int(neurons.signs[g]), b) in ridges:
                    self._orientation[row] *= -1.0

    def take_evaluations(self) -> int:
        """Force evaluations since this was last asked."""
        taken, self._evaluations = self._evaluations, 0
        return taken

    def first_exit(self, dense: FloatArray) -> SlideExit:
        """The first exit within a step."""
        if not len(self.pairs):
            return SlideExit(NO_ROOT, -1, -1, 0)
        samples = self._margins(dense, _NODES)  # (9, num_pairs, 2)
        scale = np.max(np.abs(samples), axis=(0, 2))
        coefficients = np.dot(_TO_BERNSTEIN, samples.reshape(len(_NODES), -1)).reshape(samples.shape)
        best, pair, side = first_slide_exit(coefficients, scale)
        if 0.0 < best <= 1.0:
            polished = self._polished(dense, best, pair, 0 if side > 0 else 1, float(scale[pair]))
            best = polished if polished > 0.5 * best else best  # else it has fallen back on a root at the start
        return SlideExit(best, int(self.pairs[pair, 0]), int(self.pairs[pair, 1]), side)

    def _polished(self, dense: FloatArray, theta: float, pair: int, column: int, scale: float) -> float:
        """Secant steps on the margin itself, which the interpolant only approximates."""
        other = theta - 1e-4 if theta > 1e-4 else theta + 1e-4
        value_other = self._margins(dense, np.array([other]))[0, pair, column]
        for _ in range(4):
            value = self._margins(dense, np.array([theta]))[0, pair, column]
            if abs(value) <= 1e-15 * scale or value == value_other:
                break
            following = theta - value * (theta - other) / (value - value_other)
            other, value_other = theta, value
            theta = float(min(max(following, 0.0), 1.0))
        return theta

    def _margins(self, dense: FloatArray, thetas: FloatArray) -> FloatArray:
        """Of every pair at some fractions of the step, shape (num_thetas, num_pairs, 2)."""
        self._evaluations += len(thetas)
        margins: FloatArray = direct(slide_margins_at)(
            dense, thetas, self._layout, self.pairs, self._solvers, self._orientation
        )
        return margins


def _slides_of(neurons: GroupedNeurons, g: int, known: KnownSlides) -> tuple[IntArray, FloatArray, FloatArray]:
    """Of every wall a group slides on: (group, wall), what turns the other pulls into its own, minus the sign of a.

    Nothing where it slides on all walls: at the origin of the data's span nothing moves it.
    """
    key = neurons.sides[g].tobytes()
    if key not in known:
        normals = neurons.walls.normals
        walls: IntArray = np.flatnonzero(neurons.sides[g] == 0)
        walls = walls if len(walls) < len(normals) else walls[:0]
        # the pseudo-inverse turns the pull of the other walls into minus the pulls along the sliding ones, (s, d)
        known[key] = np.asarray(np.linalg.pinv(normals[walls].T), dtype=np.float64), walls
    solver, walls = known[key]
    pairs = np.array([(g, b) for b in walls.tolist()], dtype=np.int64).reshape(-1, 2)
    return pairs, solver, np.full(len(walls), -float(neurons.signs[g]))
