"""Figure 4: in a convolutional network the first dense layer has few directions and three clusters of neurons.

For the run of Figure 3 the paper shows (a) the ten largest singular values of the first dense layer W_7, 128 × 3136, of
which five to ten are clearly not zero, and (b) its rows in the plane of the two largest: three clusters, a mixed one
near the origin and two that belong to positive and to negative weights of the last layer.

The quick size has a run of its own, with the small convolutions of Figure 3 and the paper's 128 dense neurons: with
fewer there are no clusters to see.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.arrays import FloatArray, IndexArray
from reluflow.experiments.store import Results
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.phuong2021.figures.convolutional_run import FULL, QUICK_DENSE, ConvolutionalSettings, compute

SIGNIFICANT = 0.05  # of the largest: a singular value below it would not be told from zero in the paper's picture

SMALLEST_CLUSTER = 2  # a single neuron is a point, not a cluster


def three_clusters(points: FloatArray) -> IndexArray:
    """Cluster of every neuron: 0 near the origin, 1 on the left, 2 on the right.

    3-means, started from the origin and the two ends of the first singular direction.
    """
    order = np.argsort(points[:, 0])
    centres = np.array([np.zeros(2), points[order[0]], points[order[-1]]])
    for _ in range(100):
        nearest = np.argmin(np.linalg.norm(points[:, None] - centres, axis=2), axis=1)
        moved = np.array([points[nearest == k].mean(axis=0) if np.any(nearest == k) else centres[k] for k in range(3)])
        if np.array_equal(moved, centres):
            break
        centres = moved
    return np.asarray(nearest)


def claims(settings: ConvolutionalSettings, results: Results) -> tuple[Claim, ...]:
    """Few directions, and three clusters."""
    values, signs = results["singular_values"], results["signs"]
    cluster = three_clusters(results["plane"])
    inner, left, right = (signs[cluster == k] for k in range(3))
    centres = [float(np.linalg.norm(results["plane"][cluster == k].mean(axis=0))) for k in range(3)]
    leaning = [float(np.mean(group)) for group in (left, right)]  # -1 or 1 where a cluster has one sign
    sizes = (inner.size, left.size, right.size)
    is_shown = min(sizes) >= SMALLEST_CLUSTER
    too_few = f"an outer cluster has {min(sizes)} of {sum(sizes)} neurons, too few to be called one."
    return (
        Claim.between(
            "few singular values are clearly not zero, perhaps five or ten (above 5 % of the largest)",
            int(np.sum(values > SIGNIFICANT * values[0])),
            5,
            10,
            finding=True,
            why="The paper reads the number off its picture; the line at 5 % is ours.",
        ),
        Claim(
            f"there are three clusters, of at least {SMALLEST_CLUSTER} neurons (near the origin, left, right)",
            True if is_shown else None,
            sizes,
            f"at least {SMALLEST_CLUSTER} each",
            why="" if is_shown else too_few,
        ),
        Claim(
            "one of them is near the origin (distance of its centre over that of the nearer other one)",
            centres[0] / min(centres[1:]) <= 0.75 if is_shown else None,
            centres[0] / min(centres[1:]),
            "at most 0.75",
            why="" if is_shown else too_few,
        ),
        Claim(
            "the cluster near the origin is mixed: neurons with positive and with negative weight in the last layer",
            bool(np.any(inner > 0) and np.any(inner < 0)),
            (int(np.sum(inner > 0)), int(np.sum(inner < 0))),
            "at least 1 each",
        ),
        Claim(
            "the two others belong to the two signs of the last layer (mean sign of either)",
            leaning[0] * leaning[1] < 0 and min(map(abs, leaning)) >= 0.7 if is_shown else None,
            (leaning[0], leaning[1]),
            "opposite, at least 0.7 in size",
            why="" if is_shown else too_few,
        ),
    )


def draw(settings: ConvolutionalSettings, results: Results, folder: Path) -> tuple[Path, ...]:
    """Panels (a) and (b)."""
    from reluflow.viz.composed_figure import Part, plot_parts
    from reluflow.viz.directions_plane import DirectionsPlane
    from reluflow.viz.saving import save_figure
    from reluflow.viz.singular_values import SingularValues

    parts: list[Part] = [
        SingularValues("(a) first dense layer $W_7$", results["singular_values"][:10], float(results["start_norm"])),
        DirectionsPlane("(b) rows of $W_7$, $a_j$ the weight in layer 8", results["plane"], results["signs"]),
    ]
    return (save_figure(plot_parts(parts, columns=2, part_size=(3.8, 3.1)), folder / "fig4.png"),)


FIGURE = PaperFigure("phuong2021/fig4", __doc__, QUICK_DENSE, FULL, compute, claims, draw)
