"""What a network computes at many moments, as curves over one input or as the moving edge of h > 0 in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.network.network import Network
from reluflow.viz.class_regions import draw_several_classes, lead_of
from reluflow.viz.network_function import network_outputs
from reluflow.viz.one_input import OneInput, draw_classes, one_input, planar_bias
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
    num_classes
        Of several classes or outputs, whose indices `labels` are; 0 for labels with a sign.
    """

    is_plane: bool
    window: tuple[float, float, float, float]
    samples: FloatArray
    labels: FloatArray
    curves: tuple[tuple[FloatArray, ...], ...]
    words: str
    num_classes: int = 0

    def draw_samples(self, axes: Axes) -> None:
        """The samples in axes with the window."""
        if self.num_classes:
            names = tuple(str(c + 1) for c in range(self.num_classes))
            draw_several_classes(axes, self.samples, self.labels.astype(np.int64), names)
        else:
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
        if dataset.num_outputs > 1:
            return _several_over_line(line, grid, outputs)
        window = (low, high, *_heights(dataset.y, outputs))
        samples = np.column_stack([line.inputs, dataset.y])[:MOST_SAMPLES]
        curves = tuple((np.column_stack([grid, np.clip(values, window[2], window[3])]),) for values in outputs)
        return FunctionFrames(False, window, samples, dataset.y[:MOST_SAMPLES], curves, "the function h")
    bias = planar_bias(dataset)
    if dataset.d != 2 and bias is None:
        return None
    places = dataset.X[:, :2]
    margin = 0.15 * max(float(np.ptp(places[:, 0])), float(np.ptp(places[:, 1])), 1e-9)
    window = (
        float(places[:, 0].min()) - margin,
        float(places[:, 0].max()) + margin,
        float(places[:, 1].min()) - margin,
        float(places[:, 1].max()) + margin,
    )
    shown = slice(None, None, max(1, -(-dataset.n // MOST_SAMPLES)))
    if dataset.num_outputs > 1:
        return None if dataset.classes is None else _regions(networks, dataset, window, bias, shown)
    if bias is None:
        rays = tuple(edge_rays(network, window) for network in networks)
        return FunctionFrames(True, window, places[shown], dataset.y[shown], rays, "the edge of where h > 0")
    across, upwards = np.linspace(window[0], window[1], PLANE_POINTS), np.linspace(window[2], window[3], PLANE_POINTS)
    rows = _mesh(across, upwards, bias)
    edges = tuple(
        _edges(across, upwards, network_outputs(network, rows).reshape(PLANE_POINTS, PLANE_POINTS))
        for network in networks
    )
    return FunctionFrames(True, window, places[shown], dataset.y[shown], edges, "the edge of where h > 0")


def _mesh(across: FloatArray, upwards: FloatArray, bias: float | None) -> FloatArray:
    """The points of a grid as inputs of a network."""
    mesh = np.meshgrid(across, upwards)
    constant = [] if bias is None else [np.full(mesh[0].size, bias)]
    return np.column_stack([*(part.ravel() for part in mesh), *constant])


def _several_over_line(line: OneInput, grid: FloatArray, outputs: Sequence[FloatArray]) -> FunctionFrames:
    """A curve for each output over one input; samples stand at their numbers, or at 1 in the colour of their class."""
    dataset = line.dataset
    num, step = dataset.num_outputs, max(1, -(-dataset.n // MOST_SAMPLES))
    is_classes = dataset.classes is not None
    heights = np.ones((dataset.n, 1)) if is_classes else dataset.y
    owners = dataset.y[:, None] if is_classes else np.tile(np.arange(num, dtype=np.float64), (dataset.n, 1))
    inputs = np.repeat(line.inputs[::step], heights.shape[1])
    window = (float(grid[0]), float(grid[-1]), *_heights(heights.ravel(), [values.ravel() for values in outputs]))
    curves = tuple(
        tuple(np.column_stack([grid, np.clip(column, window[2], window[3])]) for column in values.T)
        for values in outputs
    )
    samples = np.column_stack([inputs, heights[::step].ravel()])
    words = "the outputs of the network"
    return FunctionFrames(False, window, samples, owners[::step].ravel(), curves, words, num_classes=num)


def _regions(
    networks: Sequence[Network],
    dataset: Dataset,
    window: tuple[float, float, float, float],
    bias: float | None,
    shown: slice,
) -> FunctionFrames:
    """The edges between the regions in which each class has the largest output."""
    across, upwards = np.linspace(window[0], window[1], PLANE_POINTS), np.linspace(window[2], window[3], PLANE_POINTS)
    rows = _mesh(across, upwards, bias)
    num = dataset.num_outputs
    edges = []
    for network in networks:
        outputs = network_outputs(network, rows).reshape(PLANE_POINTS, PLANE_POINTS, num)
        leads = [lead_of(outputs, c) for c in range(num)]
        edges.append(tuple(line for lead in leads for line in _edges(across, upwards, lead)))
    words = "the edges between the regions in which each class has the largest output"
    return FunctionFrames(True, window, dataset.X[shown, :2], dataset.y[shown], tuple(edges), words, num_classes=num)


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
