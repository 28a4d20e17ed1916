"""What every picture of the plane of weights shares: cone boundaries and samples, by the angle atan2(w2, w1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.viz.legend import SAMPLE_MARKERS
from reluflow.viz.style import BLACK, CONE_DASHES, DARK, GREY

if TYPE_CHECKING:
    from matplotlib.projections.polar import PolarAxes

    from reluflow.data.dataset import Dataset


SAME_ANGLE = 1e-9  # two boundaries this close (radians) are drawn once
LABEL_GAP = np.radians(9.0)  # samples closer than this leave no room for their names
MAX_NAMED_SAMPLES = 8
CROWDED = 100  # more boundaries or samples than this are drawn finer


def angles_of(vectors: ArrayLike) -> FloatArray:
    """atan2(w2, w1) in [0, 2 pi) of vectors in the plane, last axis 2.

    >>> angles_of([[0.0, 2.0], [-1.0, 0.0]]) / np.pi
    array([0.5, 1. ])
    """
    array = np.asarray(vectors, dtype=np.float64)
    return np.asarray(np.mod(np.arctan2(array[..., 1], array[..., 0]), 2 * np.pi))


def boundary_angles(X: ArrayLike) -> FloatArray:
    """The angles where some <w, x_k> = 0, increasing, those of parallel samples once.

    >>> boundary_angles([[1.0, 0.0], [-2.0, 0.0]]) / np.pi
    array([0.5, 1.5])
    """
    samples = np.asarray(X, dtype=np.float64)
    normals = angles_of(samples[np.any(samples, axis=1)])
    angles = np.sort(np.mod(np.concatenate([normals + np.pi / 2, normals - np.pi / 2]), 2 * np.pi))
    gaps = np.diff(angles, append=angles[:1] + 2 * np.pi)
    return np.asarray(angles[gaps > SAME_ANGLE])


def require_plane(dataset: Dataset, what: str) -> None:
    """Refuse samples that do not lie in the plane."""
    if dataset.d != 2:
        raise InvalidInputError(
            f"{what} needs samples of dimension 2, got `dataset` of dimension {dataset.d}"
            + ("; `plot_sphere_geometry` draws dimension 3." if dataset.d == 3 else ".")
        )


def require_directions(dataset: Dataset) -> None:
    """Refuse a zero sample, which has no direction to draw."""
    zero = np.flatnonzero(~np.any(dataset.X, axis=1))
    if zero.size:
        raise InvalidInputError(
            f"`dataset` must hold no zero sample, got one in row {zero[0] + 1}: it has no direction; remove it."
        )


def draw_cone_boundaries(axes: PolarAxes, X: ArrayLike, inner: float, outer: float) -> None:
    """Dashed rays where the activation pattern changes."""
    angles = boundary_angles(X)
    for number, angle in enumerate(angles, start=1):
        axes.plot(
            [angle, angle],
            [inner, outer],
            color=GREY,
            linewidth=0.8 if len(angles) <= CROWDED else 0.25,
            linestyle=CONE_DASHES,
            zorder=1.5,
            gid=f"cone-boundary-{number}",
        )


def draw_samples(axes: PolarAxes, dataset: Dataset, radius: float) -> None:
    """Every sample's direction, as a plus or a minus for the sign of its label, larger for a larger label."""
    angles = angles_of(dataset.X)
    largest = float(np.max(np.abs(dataset.y))) or 1.0
    for sign, marker in SAMPLE_MARKERS.items():
        chosen = np.sign(dataset.y) == sign
        if np.any(chosen):
            axes.scatter(
                angles[chosen],
                np.full(int(np.sum(chosen)), radius),
                s=(25.0 + 55.0 * np.abs(dataset.y[chosen]) / largest) * (1.0 if dataset.n <= CROWDED else 0.4),
                marker=marker,
                color=BLACK,
                linewidths=1.6 if dataset.n <= CROWDED else 0.8,
                zorder=4,
                gid=f"samples-{'minus' if sign < 0 else 'plus' if sign > 0 else 'zero'}",
            )
    gaps = np.diff(np.sort(angles), append=np.min(angles) + 2 * np.pi)
    if dataset.n <= MAX_NAMED_SAMPLES and np.min(gaps) >= LABEL_GAP:
        for number, angle in enumerate(angles, start=1):
            axes.text(
                angle + LABEL_GAP / 2, radius, f"$x_{number}$", fontsize=7.5, color=DARK, ha="center", va="center"
            )
