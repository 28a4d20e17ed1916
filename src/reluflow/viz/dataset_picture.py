"""A dataset at a glance: over a line, in the plane, as mean images, or on its two main axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset, Task
from reluflow.viz.class_regions import draw_several_classes
from reluflow.viz.one_input import OneInput, draw_classes, one_input
from reluflow.viz.style import BLACK, DARK, GREY, SEQUENTIAL, dataset_title, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


IMAGE_SIDE = 28  # MNIST
SIZE = (6.4, 4.4)  # inches
PLOT = (0.125, 0.115, 0.62, 0.79)  # room on the right for the legend or the colour bar


def plot_dataset(dataset: Dataset) -> Figure:
    """Draw a dataset in the way its shape suggests.

    One real input, with or without a constant coordinate: x against y, with the least-squares line. The plane: the
    points by class with the max-margin line through the origin where there is one, or by label. Images of 28 x 28
    pixels in two classes: the mean of each class and their difference. Two inputs and a constant: the inputs.
    Anything else: the two principal axes of the
    centred samples, with the share of the variance each explains.

    Parameters
    ----------
    dataset
        Any dataset.

    Returns
    -------
    Figure
        A matplotlib figure; `save_figure` writes it.

    Examples
    --------
    >>> import reluflow
    >>> plot_dataset(reluflow.load("min-toy")).axes[0].get_xlabel()
    '$x_1$'
    """
    line = one_input(dataset)
    is_images = dataset.d == IMAGE_SIDE**2 and dataset.is_binary and np.unique(dataset.y).size == 2
    with figure_style():
        if is_images:
            return _plot_mean_images(dataset)
        figure = new_figure(*SIZE)
        axes = figure.add_axes(PLOT)
        axes.set_title(dataset_title(dataset), parse_math=False)
        if line is not None:
            _draw_over_line(axes, line)
        elif dataset.d == 2:
            _set_square_limits(axes, dataset.X)
            _draw_points(axes, dataset, dataset.X)
            axes.set_xlabel("$x_1$")
            axes.set_ylabel("$x_2$")
            axes.plot(0.0, 0.0, marker="+", color=GREY, markersize=9, zorder=1.5)
            if dataset.is_binary:
                _draw_separator(axes, dataset)
        elif dataset.d == 3 and np.ptp(dataset.X[:, 2]) == 0.0:  # two inputs and a constant
            _draw_points(axes, dataset, dataset.X[:, :2])
            axes.set_xlabel("$x_1$")
            axes.set_ylabel("$x_2$")
        else:
            places, shares = principal_coordinates(dataset.X)
            _draw_points(axes, dataset, places)
            axes.set_xlabel(f"first principal coordinate ({100 * shares[0]:.1f} % of the variance)")
            axes.set_ylabel(f"second principal coordinate ({100 * shares[1]:.1f} % of the variance)")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    return figure


def principal_coordinates(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Coordinates of the centred samples on their two main axes, (n, 2), and the shares of the variance, (2,).

    An axis points to the side of its largest loading, so that the picture does not depend on a solver's signs.

    >>> places, shares = principal_coordinates(np.array([[3.0, 0, 0], [-3.0, 0, 0], [0, 4.0, 0], [0, -4.0, 0]]))
    >>> places[:, 0], shares
    (array([ 0.,  0.,  4., -4.]), array([0.64, 0.36]))
    """
    centred = X - X.mean(axis=0)
    _, singular, axes = np.linalg.svd(centred, full_matrices=False)
    total = float(np.sum(singular**2))
    kept = min(2, len(singular))
    signs = np.sign(axes[np.arange(kept), np.argmax(np.abs(axes[:kept]), axis=1)])
    places, shares = np.zeros((len(X), 2)), np.zeros(2)
    places[:, :kept] = centred @ (axes[:kept] * signs[:, None]).T
    if total > 0.0:
        shares[:kept] = singular[:kept] ** 2 / total
    return places + 0.0, shares


def _draw_over_line(axes: Axes, line: OneInput) -> None:
    line.draw_least_squares(axes)
    line.draw_samples(axes)
    axes.set_xlim(*line.range())
    axes.set_xlabel("input $x$")
    axes.set_ylabel("label $y$")


def _draw_points(axes: Axes, dataset: Dataset, places: FloatArray) -> None:
    """Points by class, or shaded by label with a colour bar; of rows of numbers one panel cannot show the labels."""
    if dataset.classes is not None:
        draw_several_classes(axes, places, dataset.y.astype(np.int64), dataset.classes)
        return
    if dataset.num_outputs > 1:
        axes.scatter(places[:, 0], places[:, 1], s=30, color=BLACK, zorder=4, label="samples", gid="samples")
        return
    if dataset.task is Task.CLASSIFICATION:
        draw_classes(axes, places, dataset.y)
        return
    size = 34.0 if dataset.n <= 200 else 12.0
    points = axes.scatter(
        places[:, 0],
        places[:, 1],
        c=dataset.y,
        s=size,
        cmap=SEQUENTIAL,
        edgecolors=BLACK,
        linewidths=0.4,
        zorder=4,
        gid="samples",
    )
    figure = axes.get_figure(root=True)
    assert figure is not None
    bar = figure.colorbar(points, cax=figure.add_axes((0.79, PLOT[1], 0.022, PLOT[3])))
    bar.set_label("label $y$")


def _set_square_limits(axes: Axes, X: FloatArray) -> None:
    """Limits that hold the samples and the origin, with one unit equally long both ways."""
    with_origin = np.vstack([X, np.zeros(2)])
    low, high = with_origin.min(axis=0), with_origin.max(axis=0)
    shape = np.array([SIZE[0] * PLOT[2], SIZE[1] * PLOT[3]])
    reach = 0.56 * float(np.max((high - low) / shape)) or 1.0
    lower, upper = (low + high) / 2 - reach * shape, (low + high) / 2 + reach * shape
    axes.set_xlim(lower[0], upper[0])
    axes.set_ylim(lower[1], upper[1])


def _draw_separator(axes: Axes, dataset: Dataset) -> None:
    """The max-margin line through the origin with its margin, or a word that there is none."""
    from reluflow.certificates.hard_margin import linear_separator

    found = linear_separator(dataset)
    if not found.separable:
        axes.plot([], [], linestyle="", label=f"{found.status.replace('-', ' ')}\nthrough the origin")
        return
    reach = 4.0 * float(np.max(np.linalg.norm(dataset.X, axis=1)))  # beyond the corners of the picture
    along = np.array([-found.w[1], found.w[0]])
    for shift, dashes, label in (
        (0.0, "-", "max-margin line"),
        (1.0, ":", f"margin {found.margin:.4g}"),
        (-1.0, ":", None),
    ):
        ends = shift * found.margin * found.w + np.outer([-reach, reach], along)
        axes.plot(
            *ends.T, color=DARK, linewidth=1.1, linestyle=dashes, zorder=2, label=label, gid=f"separator{shift:+.0f}"
        )


def _plot_mean_images(dataset: Dataset) -> Figure:
    """Mean image of each class and their difference, in greys that share zero and, for the means, their range."""
    means = [dataset.X[dataset.y == sign].mean(axis=0) for sign in (1.0, -1.0)]
    counts = [int(np.sum(dataset.y == sign)) for sign in (1.0, -1.0)]
    pictures = (*means, means[0] - means[1])
    titles = (f"mean of y = +1 ({counts[0]})", f"mean of y = −1 ({counts[1]})", "difference of the means")
    reach = max(float(np.max(np.abs(means))), 1e-300)
    figure = new_figure(7.0, 3.25)
    figure.suptitle(dataset_title(dataset), fontsize=10, y=0.97, parse_math=False)
    for place, (picture, title) in enumerate(zip(pictures, titles, strict=True)):
        left = 0.02 + 0.325 * place
        axes = figure.add_axes((left, 0.175, 0.3, 0.3 * 7.0 / 3.25))
        limit = reach if place < 2 else max(float(np.max(np.abs(picture))), 1e-300)
        image = axes.imshow(picture.reshape(IMAGE_SIDE, IMAGE_SIDE), cmap="gray", vmin=-limit, vmax=limit)
        axes.set_axis_off()
        axes.set_title(title, fontsize=9, pad=4)
        bar = figure.colorbar(image, cax=figure.add_axes((left + 0.03, 0.115, 0.24, 0.025)), orientation="horizontal")
        bar.ax.tick_params(labelsize=7)
        bar.ax.locator_params(nbins=5)
    return figure
