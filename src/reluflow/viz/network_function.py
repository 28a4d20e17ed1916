"""The function a network computes, over a line or in the plane, with the samples it was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset, Task
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network
from reluflow.viz.class_regions import MOST_NAMED, draw_regions, draw_several_classes
from reluflow.viz.one_input import OneInput, draw_classes, one_input, planar_bias
from reluflow.viz.style import (
    BLACK,
    BLUE,
    DARK,
    DIVERGING,
    GREY,
    PURPLE,
    class_look,
    dataset_title,
    figure_style,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MAX_PRODUCTS = 4_000_000  # inner products <w_j, x> in memory at once
MAX_KINKS = 2_000  # beyond this many neurons the grid alone is fine enough


def plot_network_function(
    network: Network,
    dataset: Dataset,
    *,
    reference: Callable[[FloatArray], FloatArray] | None = None,
    num_points: int = 201,
) -> Figure:
    """Draw h(x) with the samples: a curve over one input, or contours and the line h = 0 in the plane.

    Parameters
    ----------
    network
        Takes inputs of the dataset's dimension.
    dataset
        Dimension 1, dimension 2 with a constant second coordinate, or any samples in the plane, with a constant third
        coordinate or without.
    reference
        Another function of the rows, shape (k, d) to (k,), drawn beside h over one input, such as a teacher.
    num_points
        Grid points along one axis; over one input the network's own kinks are added, so that its corners are exact.

    Returns
    -------
    Figure
        A matplotlib figure; `save_figure` writes it.

    References
    ----------
    Boursier & Flammarion (2024), Figs 2 and 3 [boursier2024].

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> plot_network_function(problem.network, problem.dataset).axes[0].get_title()
    'three-points (n = 3, d = 2), 20 neurons'
    """
    if dataset.d > 2 and planar_bias(dataset) is None:
        raise InvalidInputError(
            "The picture of a network's function needs inputs of dimension 1 or 2, "
            f"got `dataset` of dimension {dataset.d}."
        )
    if network.d != dataset.d:
        raise InvalidInputError(
            f"`network` expects inputs of dimension {network.d} but `dataset` has dimension {dataset.d}; "
            "`dataset.with_bias()` adds the constant coordinate."
        )
    if num_points < 2:
        raise InvalidInputError(f"`num_points` must be at least 2, got {num_points}.")
    line = one_input(dataset)
    if reference is not None and line is None:
        raise InvalidInputError("`reference` can be drawn over one input only; leave it out in the plane.")
    with figure_style():
        figure = new_figure(6.4, 4.2)
        axes = figure.add_axes((0.125, 0.12, 0.62, 0.78))
        axes.set_title(f"{dataset_title(dataset)}, {network.num_neurons} neurons", parse_math=False)
        if line is not None:
            _draw_curve(axes, network, line, reference, num_points)
        elif dataset.num_outputs > 1:
            _draw_class_regions(axes, network, dataset, num_points)
        else:
            _draw_contours(axes, network, dataset, num_points)
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0.0)
    return figure


def network_outputs(network: Network, X: FloatArray) -> FloatArray:
    """h at many inputs, a few at a time so that a wide network fits in memory, shape (k,) or (k, K)."""
    size = max(1, MAX_PRODUCTS // network.num_neurons)
    parts = [network.outputs(X[start : start + size]) for start in range(0, len(X), size)]
    return np.concatenate(parts)


def _draw_curve(
    axes: Axes, network: Network, line: OneInput, reference: Callable[[FloatArray], FloatArray] | None, num_points: int
) -> None:
    low, high = line.range()
    inputs = np.linspace(low, high, num_points)
    if line.bias is not None and network.num_neurons <= MAX_KINKS:
        slopes, shifts = network.w[:, 0], network.w[:, 1] * line.bias
        kinks = -shifts[slopes != 0.0] / slopes[slopes != 0.0]
        inputs = np.unique(np.concatenate([inputs, kinks[(kinks > low) & (kinks < high)]]))
    rows = line.lift(inputs)
    line.draw_least_squares(axes)
    if reference is not None:
        axes.plot(inputs, reference(rows), color=PURPLE, linestyle="-.", linewidth=1.2, zorder=2.5, label="reference")
    if network.num_outputs == 1:
        outputs = network_outputs(network, rows)
        axes.plot(inputs, outputs, color=BLUE, linewidth=1.8, zorder=3, label="network $h$", gid="function")
    else:
        for c, values in enumerate(network_outputs(network, rows).T):
            label = f"$h_{{{c + 1}}}$" if c < MOST_NAMED else None
            axes.plot(inputs, values, color=class_look(c)[0], linewidth=1.6, zorder=3, label=label, gid=f"function-{c}")
    line.draw_samples(axes)
    axes.set_xlim(low, high)
    axes.set_xlabel("input $x$")
    axes.set_ylabel("output $h(x)$, label $y$")


def _grid(dataset: Dataset, num_points: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A square that holds the samples, as two tables of coordinates, and its points as inputs of a network."""
    reach = 1.2 * float(np.max(np.abs(dataset.X[:, :2]))) or 1.0
    ticks = np.linspace(-reach, reach, num_points)
    across, upwards = np.meshgrid(ticks, ticks)
    columns = [across.ravel(), upwards.ravel()]
    if (bias := planar_bias(dataset)) is not None:
        columns.append(np.full(across.size, bias))
    return across, upwards, np.column_stack(columns)


def _draw_class_regions(axes: Axes, network: Network, dataset: Dataset, num_points: int) -> None:
    """Where each class has the largest output, and the samples."""
    if dataset.classes is None:
        raise InvalidInputError(
            f"The picture of a function over the plane needs one output or classes, got {dataset.num_outputs} columns "
            "of `y`; `dataset.target(k)` keeps one."
        )
    across, upwards, rows = _grid(dataset, num_points)
    outputs = network_outputs(network, rows).reshape(*across.shape, -1)
    draw_regions(axes, across[0], upwards[:, 0], outputs)
    draw_several_classes(axes, dataset.X[:, :2], dataset.y.astype(np.int64), dataset.classes)
    axes.set_aspect("equal", anchor="W")
    axes.set_xlabel("$x_1$")
    axes.set_ylabel("$x_2$")


def _draw_contours(axes: Axes, network: Network, dataset: Dataset, num_points: int) -> None:
    """Filled contours of h, its zero line thick, and the samples."""
    from matplotlib.ticker import MaxNLocator

    across, upwards, rows = _grid(dataset, num_points)
    values = network_outputs(network, rows).reshape(across.shape)
    unit = float(np.max(np.abs(values))) or 1.0
    levels = np.asarray(MaxNLocator(nbins=10, symmetric=True).tick_values(-unit, unit))
    shade = axes.contourf(across, upwards, values, levels=levels, cmap=DIVERGING, alpha=0.6, zorder=0)
    for sign, dashes in ((1.0, "solid"), (-1.0, "dotted")):
        rows = np.sort(sign * levels[levels > 1e-12 * unit])
        axes.contour(across, upwards, values, levels=rows, colors=GREY, linewidths=0.6, linestyles=dashes, zorder=1)
    if np.min(values) < 0.0 < np.max(values):
        zero = axes.contour(across, upwards, values, levels=[0.0], colors=DARK, linewidths=1.8, zorder=2)
        zero.set_gid("decision-boundary")
        axes.plot([], [], color=DARK, linewidth=1.8, label="$h(x) = 0$")
    if dataset.task is Task.CLASSIFICATION:
        draw_classes(axes, dataset.X, dataset.y)
    else:
        shown = axes.scatter(dataset.X[:, 0], dataset.X[:, 1], s=36, c=dataset.y, zorder=4, gid="samples")
        shown.set(cmap=DIVERGING, clim=(-unit, unit), edgecolor=BLACK, label="samples, shaded by $y$")
    axes.set_aspect("equal", anchor="W")  # leaves the room on the right to the colour bar and the legend
    axes.set_xlabel("$x_1$")
    axes.set_ylabel("$x_2$")
    figure = axes.get_figure(root=True)
    assert figure is not None
    bar = figure.colorbar(shade, cax=figure.add_axes((0.675, 0.12, 0.02, 0.5)))
    bar.set_label("output $h(x)$")
