"""The draws of the initialisations at scale 1: input weights w, shape (m, d), and output weights v, shape (m, K)."""

from __future__ import annotations

import math

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError


def _output_directions(width: int, num_outputs: int, rng: np.random.Generator) -> FloatArray:
    """Uniform on the sphere of R^K, shape (width, K): fair signs for K = 1."""
    if num_outputs > 1:
        return _on_sphere(width, num_outputs, rng)
    return np.where(rng.integers(0, 2, size=width) == 1, 1.0, -1.0)[:, None]


def draw_balanced(width: int, d: int, num_outputs: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """w ~ N(0, I), |v| = |w|, v in a direction at random."""
    w = rng.standard_normal((width, d))
    return w, _output_directions(width, num_outputs, rng) * np.linalg.norm(w, axis=1)[:, None]


def draw_dominated(width: int, d: int, num_outputs: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """w uniform in the unit ball, |v| = 1."""
    w = _on_sphere(width, d, rng) * rng.random((width, 1)) ** (1.0 / d)
    return w, _output_directions(width, num_outputs, rng)


def draw_dominated_cube(
    width: int, d: int, num_outputs: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """w uniform in the cube, |v| = sqrt(d), its longest diagonal."""
    w = rng.uniform(-1.0, 1.0, (width, d))
    return w, _output_directions(width, num_outputs, rng) * math.sqrt(d)


def draw_gaussian(width: int, d: int, num_outputs: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """All entries ~ N(0, 1)."""
    return rng.standard_normal((width, d)), rng.standard_normal((width, num_outputs))


def draw_sphere(width: int, d: int, num_outputs: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """w and v uniform on unit spheres."""
    return _on_sphere(width, d, rng), _output_directions(width, num_outputs, rng)


def draw_min_balanced(width: int, d: int, num_outputs: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """A balanced draw with w ~ N(0, I/d)."""
    w, v = draw_balanced(width, d, num_outputs, rng)
    return w / math.sqrt(d), v / math.sqrt(d)


def draw_he(width: int, d: int, num_outputs: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Variances 2/d and 2/m."""
    w, v = draw_gaussian(width, d, num_outputs, rng)
    return w * math.sqrt(2.0 / d), v * math.sqrt(2.0 / width)


def draw_uniform_fan_in(
    width: int, d: int, num_outputs: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Entries uniform within 1/sqrt of the fan-in."""
    w = rng.uniform(-1.0, 1.0, (width, d)) / math.sqrt(d)
    return w, rng.uniform(-1.0, 1.0, (width, num_outputs)) / math.sqrt(width)


def draw_positive_balanced(
    width: int, d: int, num_outputs: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """w ~ N(0, I), a = |w|."""
    if num_outputs > 1:
        raise InvalidInputError(
            f"`init` lee draws positive output weights and so needs one output, got {num_outputs} outputs; "
            "lyu-balanced draws the same lengths with directions on a sphere."
        )
    w = rng.standard_normal((width, d))
    return w, np.linalg.norm(w, axis=1)[:, None]


def _on_sphere(width: int, d: int, rng: np.random.Generator) -> FloatArray:
    w = rng.standard_normal((width, d))
    return np.asarray(w / np.linalg.norm(w, axis=1, keepdims=True))
