"""What a network computes at many moments, as curves over one input or as the moving edge of h > 0 in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.network.network import Network
from reluflow.viz.network_function import network_outputs
from reluflow.viz.one_input import draw_classes, one_input, planar_bias
from reluflow.viz.plane_edges import edge_rays

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE_POINTS = 121
PLANE_POINTS = 141
MOST_SAMPLES = 400  # drawn; more would hide the edge


@dataclass(frozen=True, eq=False)
class FunctionFrames:
    """The samples and, moment by moment, the function among them.

    Parameters
    ----------
    is_plane
        Whether the axes are two inputs; else input and output.
    window
        Left, right, bottom, top.
    samples
        Where they stand, shape (n, 2).
    labels
        Of the samples.
    curves
        For each moment the lines to draw, each of shape (k, 2).
    words
        What the lines are.
    """

    is_plane: bool
    window: tuple[float, float, float, float]
    samples: FloatArray
    labels: FloatArray
    curves: tuple[tuple[FloatArray, ...], ...]
    words: str

    def draw_samples(self, axes: Axes) -> None:
        """The samples in axes with the window."""
        draw_classes(axes, self.samples, np.where(self.labels > 0, 1.0, -1.0))
        axes.set_xlim(self.window[0], self.window[1])
        axes.set_ylim(self.window[2], self.window[3])


def function_frames(networks: Sequence[Network], dataset: Dataset) -> FunctionFrames | None:
    """The function of each network, or None where the inputs are more than two.

    Parameters
    ----------
    networks
        One for each moment.
    dataset
        One input, two inputs, or these with a constant last coordinate.
    """
    line = one_input(dataset)
    if line is not None:
        low, high = line.range()
        grid = np.linspace(low, high, LINE_POINTS)
        rows = line.lift(grid)
        outputs = [network_outputs(network, rows) for network in networks]
        window = (low, high, *_heights(dataset.y, outputs))
        samples = np.column_stack([line.inputs, dataset.y])[:MOST_SAMPLES]
        curves = tuple((np.column_stack([grid, np.clip(values, window[2], window[3])]),) for values in outputs)
        return FunctionFrames(False, window, samples, dataset.y[:MOST_SAMPLES], curves, "the function h")
    bias = planar_bias(dataset)
    if dataset.d != 2 and bias is None:
        return None
    places = dataset.X[:, :2]
    room = 0.15 * max(float(np.ptp(places[:, 0])), float(np.ptp(places[:, 1])), 1e-9)
    window = (
        float(places[:, 0].min()) - room,
        float(places[:, 0].max()) + room,
        float(places[:, 1].min()) - room,
        float(places[:, 1].max()) + room,
    )
    shown = slice(None, None, max(1, -(-dataset.n // MOST_SAMPLES)))
    if bias is None:
        rays = tuple(edge_rays(network, window) for network in networks)
        return FunctionFrames(True, window, places[shown], dataset.y[shown], rays, "the edge of where h > 0")
    across, upwards = np.linspace(window[0], window[1], PLANE_POINTS), np.linspace(window[2], window[3], PLANE_POINTS)
    mesh = np.meshgrid(across, upwards)
    rows = np.column_stack([*(part.ravel() for part in mesh), np.full(mesh[0].size, bias)])
    edges = tuple(
        _edges(across, upwards, network_outputs(network, rows).reshape(PLANE_POINTS, PLANE_POINTS))
        for network in networks
    )
    return FunctionFrames(True, window, places[shown], dataset.y[shown], edges, "the edge of where h > 0")


def _heights(labels: FloatArray, outputs: Sequence[FloatArray]) -> tuple[float, float]:
    """Bottom and top for the labels and the outputs of all moments, from 0 on; far beyond the labels they are cut."""
    marks, values = np.append(labels, 0.0), np.concatenate(outputs)
    span = float(np.ptp(marks)) or 1.0
    bottom = min(float(marks.min()), max(float(values.min()), float(marks.min()) - span))
    top = max(float(marks.max()), min(float(values.max()), float(marks.max()) + span))
    return bottom - 0.08 * (top - bottom), top + 0.08 * (top - bottom)


def _edges(across: FloatArray, upwards: FloatArray, values: FloatArray) -> tuple[FloatArray, ...]:
    from contourpy import contour_generator

    size = float(np.max(np.abs(values)))
    if size == 0.0:
        return ()
    lines = contour_generator(across, upwards, values / size).lines(0.0)
    return tuple(np.asarray(line, dtype=np.float64) for line in lines)
