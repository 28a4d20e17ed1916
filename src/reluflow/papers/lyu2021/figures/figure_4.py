"""Figure 4: decision boundaries of the networks and SVMs of Table 1 in a plane.

For each $n$ the paper shows, in a plane through 0 in which the true separator is the vertical axis, the two classes as
red and blue dots, the boundary of the max-margin linear classifier as a red line, and the outputs of the network in
colours, lighter where they are higher.

The horizontal axis is the normal of the true separator; the other is not printed, and is here the part of the SVM's
normal orthogonal to it, so that no other plane with that horizontal axis shows more of the SVM. Samples are projected.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.hard_margin import linear_separator
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.lyu2021.data import BIAS_COORDINATE
from reluflow.papers.lyu2021.figures.gaussian_run import SIZES, SVMComparison, Training, compared, split_of, trained
from reluflow.papers.lyu2021.figures.panels import sign_difference
from reluflow.papers.workbench import Workbench

REACH = 3.6  # of the window in either direction; nearly all samples project inside
COLUMNS = 4  # more, and the words are too small on a page


@dataclass(frozen=True)
class Settings:
    """One draw for each size, as in the paper."""

    training: Training
    seed: int = 0
    sizes: tuple[int, ...] = SIZES
    num_points: int = 120


@dataclass(frozen=True, eq=False)
class Plane:
    """Network and SVM of one size, restricted to the plane.

    Parameters
    ----------
    points, labels
        The training samples, projected, shape (n, 2).
    outputs, linear
        Of the network and of the SVM on the grid, first index upwards.
    plane_difference
        Share of the grid on which they decide differently, in per cent.
    tilt
        Angle between the normals of the SVM and of the true separator, in degrees.
    slopes
        Direction of the normal of the network's boundary, above and below, in degrees.
    comparison
        The two on the test samples.
    """

    points: FloatArray
    labels: FloatArray
    outputs: FloatArray
    linear: FloatArray
    plane_difference: float
    tilt: float
    slopes: FloatArray
    comparison: SVMComparison


@dataclass(frozen=True, eq=False)
class Planes:
    """The panels of Figure 4, in the order of the sizes."""

    panels: tuple[Plane, ...]


def compute(settings: Settings, workbench: Workbench) -> Planes:
    """One piece for each size."""
    pieces = []
    for count, n in enumerate(settings.sizes):
        workbench.progress(count / len(settings.sizes), f"n = {n}")
        kept = {"training": settings.training, "seed": settings.seed, "num_points": settings.num_points}
        pieces.append(workbench.piece(f"n-{n}", Plane, partial(one_plane, settings, n), settings=kept))
    return Planes(tuple(pieces))


def one_plane(settings: Settings, n: int) -> Plane:
    """Network and SVM of one size, restricted to the plane."""
    split = split_of(settings.training, n, settings.seed)
    separator = linear_separator(split.train)
    network = trained(settings.training, split.train, settings.seed)
    normal = split.normal
    sideways = separator.w[:-1] - (separator.w[:-1] @ normal) * normal
    axes = np.vstack([normal, sideways / np.linalg.norm(sideways)])  # (2, d)
    ticks = np.linspace(-REACH, REACH, settings.num_points)
    across, upwards = np.meshgrid(ticks, ticks)
    places = np.column_stack([across.ravel(), upwards.ravel()]) @ axes
    inputs = np.column_stack([places, np.full(len(places), BIAS_COORDINATE)])
    outputs, linear = network.outputs(inputs), inputs @ separator.w
    return Plane(
        points=split.train.X[:, :-1] @ axes.T,
        labels=split.train.y,
        outputs=outputs.reshape(across.shape),
        linear=linear.reshape(across.shape),
        plane_difference=100.0 * sign_difference(outputs, linear),
        tilt=float(np.degrees(np.arctan2(np.linalg.norm(sideways), separator.w[:-1] @ normal))),
        slopes=boundary_tilts(outputs.reshape(across.shape), ticks),
        comparison=compared(network, separator, split.train, split.test),
    )


def boundary_tilts(outputs: FloatArray, ticks: FloatArray) -> FloatArray:
    """Direction of the normal of the network's boundary in the upper and in the lower half of the plane, in degrees.

    From a straight line through the sign changes along the rows of the grid; nan where a half has fewer than two.
    """
    found = []
    for half in (ticks > 0.0, ticks < 0.0):
        places = []
        for y, row in zip(ticks[half], outputs[half], strict=True):
            for k in np.flatnonzero((row[:-1] > 0.0) != (row[1:] > 0.0)):
                share = row[k] / (row[k] - row[k + 1])
                places.append((ticks[k] + share * (ticks[k + 1] - ticks[k]), y))
        if len(places) < 2:
            found.append(np.nan)
            continue
        x, y = np.array(places).T
        found.append(float(-np.degrees(np.arctan(np.polyfit(y, x, 1)[0]))))
    return np.array(found)


def claims(settings: Settings, results: Planes) -> tuple[Claim, ...]:
    """The two boundaries nearly coincide in every panel; both approach the true separator."""
    slopes = np.array([panel.slopes for panel in results.panels])
    tilts = np.array([panel.tilt for panel in results.panels])
    bends = np.abs(slopes[:, 0] - slopes[:, 1])
    off = np.abs(slopes - tilts[:, None])
    largest_ratio = float(max(panel.comparison.margin_ratio for panel in results.panels))
    return (
        Claim.below(
            "in every panel network and SVM decide nearly alike (largest share of the plane where they differ, %)",
            max(panel.plane_difference for panel in results.panels),
            4.0,
            source="App. J, Fig. 4",
        ),
        Claim.below(
            "the boundary of the network has the direction of the SVM's (largest angle between them, upper and lower "
            "half, degrees)",
            np.nanmax(off),
            6.0,
            source="App. J, Fig. 4",
        ),
        Claim.below(
            "the SVM approaches the true separator as $n$ grows (its angle to it at the largest $n$ over that at "
            "the smallest)",
            tilts[-1] / tilts[0],
            0.6,
            source=OURS,
        ),
        Claim.below(
            "the boundary of the network is straight in the plane (largest angle between its upper and lower half, "
            "degrees)",
            np.nanmax(bends),
            2.0,
            source=OURS,
        ),
        Claim(
            "the network converges in direction to the max-margin linear classifier (its margin over the best of a "
            "linear function, largest of the panels)",
            largest_ratio <= 1.0 + 1e-3,
            largest_ratio,
            "at most 1",
            finding=True,
            why="the data are not symmetric, and the network keeps an even part and a larger margin (E20, Table 1).",
            source="Fig. 4, caption: “converges in direction”",
        ),
    )


def draw(settings: Settings, results: Planes, folder: Path) -> tuple[Path, ...]:
    """One plane for each size."""
    from reluflow.viz.decision_planes import DecisionBoundary, DecisionPlane, plot_decision_planes
    from reluflow.viz.saving import save_figure

    ticks = np.linspace(-REACH, REACH, settings.num_points)
    truth = np.tile(ticks, (settings.num_points, 1))
    planes = [
        DecisionPlane(
            f"n = {n}: {panel.comparison.svm_error:.1f}, {panel.comparison.net_error:.1f}",
            ticks,
            ticks,
            panel.points,
            panel.labels,
            outputs=panel.outputs,
            boundaries=[
                DecisionBoundary(truth, "true separator", "white"),
                DecisionBoundary(panel.outputs, "network", "black"),
                DecisionBoundary(panel.linear, "SVM", "red"),
            ],
            x_label="along the true normal" if place + COLUMNS >= len(settings.sizes) else "",
            y_label="orthogonal part of SVM" if place % COLUMNS == 0 else "",
        )
        for place, (n, panel) in enumerate(zip(settings.sizes, results.panels, strict=True))
    ]
    run = f"{settings.training.width} leaky neurons, {settings.training.iterations:,} iterations"
    title = f"{run}; test errors of SVM and network in %"
    figure = plot_decision_planes(planes, columns=COLUMNS, title=title, plane_size=(2.2, 2.2))
    return (save_figure(figure, folder / "fig4.png"),)


FIGURE = PaperFigure(
    "lyu2021/fig4",
    __doc__,
    Settings(Training(iterations=6_000)),
    Settings(Training(iterations=20_000), num_points=240),
    compute,
    claims,
    draw,
)
