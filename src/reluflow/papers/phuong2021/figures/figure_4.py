r"""Figure 4: in a convolutional network the first dense layer has few directions and three clusters of neurons.

For the run of Figure 3 the paper shows (a) the ten largest singular values of the first dense layer $W_7$,
$128 \times 3136$, of which five to ten are clearly not zero, and (b) its rows in the plane of the two largest: three
clusters, a mixed one near the origin and two that belong to positive and to negative weights of the last layer.

The quick size has a run of its own, with the small convolutions of Figure 3 and the paper's 128 dense neurons: with
fewer there are no clusters to see.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.arrays import FloatArray, IndexArray
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.phuong2021.figures.convolutional_run import (
    FULL,
    QUICK_DENSE,
    ConvolutionalRun,
    ConvolutionalSettings,
    compute,
)

SIGNIFICANT = 0.05  # of the largest: a singular value below it would not be told from zero in the paper's picture

REACH = 0.15  # of the typical distance from the origin: neurons nearer to each other than this belong together
SMALLEST_SHARE = 0.05  # of the neurons: fewer are stragglers, not a cluster


def clusters(points: FloatArray) -> tuple[IndexArray, ...]:
    """The neurons of every cluster, the clusters by their place along the first singular direction.

    Neurons belong together if a chain of neighbours joins them, each nearer to the next than `REACH` times the 80 %
    quantile of the distances from the origin; a few far neurons, which would take the centres of k-means for
    themselves, change nothing. Groups of less than `SMALLEST_SHARE` of all neurons are left out.
    """
    near = np.linalg.norm(points[:, None] - points, axis=2) < REACH * np.quantile(np.linalg.norm(points, axis=1), 0.8)
    group = np.full(len(points), -1)
    for first in range(len(points)):
        waiting = [first] if group[first] < 0 else []
        while waiting:
            here = waiting.pop()
            group[here] = first
            waiting += np.flatnonzero(near[here] & (group < 0)).tolist()
    found = [np.flatnonzero(group == name) for name in np.unique(group)]
    kept = [members for members in found if len(members) >= SMALLEST_SHARE * len(points)]
    return tuple(sorted(kept, key=lambda members: float(np.mean(points[members, 0]))))


def claims(settings: ConvolutionalSettings, results: ConvolutionalRun) -> tuple[Claim, ...]:
    """Few directions, and three clusters."""
    values, signs, plane = results.singular_values, results.signs, results.plane
    found = clusters(plane)
    centres = [float(np.linalg.norm(plane[members].mean(axis=0))) for members in found]
    inner = int(np.argmin(centres)) if centres else 0
    others = [place for place in range(len(found)) if place != inner]
    leaning = tuple(float(np.mean(signs[found[place]])) for place in others)  # -1 or 1 where a cluster has one sign
    mixed = signs[found[inner]] if found else np.zeros(0)
    is_shown = len(found) == 3
    too_few = f"the neurons form {len(found)} clusters here."
    nearness = centres[inner] / min(centres[place] for place in others) if others else float("nan")
    return (
        Claim.between(
            "few singular values are clearly not zero, perhaps five or ten (above 5 % of the largest)",
            int(np.sum(values > SIGNIFICANT * values[0])),
            5,
            10,
            finding=True,
            why="The paper reads the number off its picture; the line at 5 % is ours.",
            source=OURS,
        ),
        Claim(
            "the neurons roughly form three clusters (neurons in each, from left to right; groups of less than "
            f"{SMALLEST_SHARE:.0%} of them left out)",
            is_shown,
            tuple(len(members) for members in found),
            "three",
            finding=True,
            why="Where chains of neighbours end depends on the distance that counts as near, which is ours.",
            source="App. D, Fig. 4b",
        ),
        Claim(
            "one of them is close to the origin (distance of its centre over that of the nearer other one)",
            nearness <= 0.75 if is_shown else None,
            nearness,
            "at most 0.75",
            why="" if is_shown else too_few,
            source="App. D: “a mixed cluster close to the origin”",
        ),
        Claim(
            "that one is mixed: neurons with positive and with negative weight in the last layer",
            bool(np.any(mixed > 0) and np.any(mixed < 0)) if is_shown else None,
            (int(np.sum(mixed > 0)), int(np.sum(mixed < 0))),
            "at least 1 each",
            why="" if is_shown else too_few,
            source="App. D: “a mixed cluster close to the origin”",
        ),
        Claim(
            "the two others belong to the two signs of the last layer (mean sign of either)",
            leaning[0] * leaning[1] < 0 and min(map(abs, leaning)) >= 0.7 if is_shown else None,
            leaning,
            "opposite, at least 0.7 in size",
            why="" if is_shown else too_few,
            source="App. D: “two clusters corresponding to positive and negative”",
        ),
    )


def draw(settings: ConvolutionalSettings, results: ConvolutionalRun, folder: Path) -> tuple[Path, ...]:
    """Panels (a) and (b)."""
    from reluflow.viz.composed_figure import Part, plot_parts
    from reluflow.viz.directions_plane import DirectionsPlane
    from reluflow.viz.saving import save_figure
    from reluflow.viz.singular_values import SingularValues

    parts: list[Part] = [
        SingularValues("(a) first dense layer $W_7$", results.singular_values[:10], results.start_norm),
        DirectionsPlane("(b) rows of $W_7$, $a_j$ the weight in layer 8", results.plane, results.signs),
    ]
    return (save_figure(plot_parts(parts, columns=2, part_size=(3.8, 3.1)), folder / "fig4.png"),)


FIGURE = PaperFigure("phuong2021/fig4", __doc__, QUICK_DENSE, FULL, compute, claims, draw)
