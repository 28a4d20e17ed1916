"""Several classes or outputs: samples by class, decision regions in the plane, counts of right and wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.viz.style import CLASS_COLOURS, DARK, GREY, LIGHT, class_look, dataset_title, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAMED = 16  # classes in a legend
MOST_LETTERS = 18  # of a name


def short_name(name: str) -> str:
    """A name that fits a legend."""
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"


def draw_several_classes(axes: Axes, places: FloatArray, index: IntArray, names: tuple[str, ...]) -> None:
    """Points of the plane by class, each with its colour and marker."""
    size = 30.0 if len(index) <= 200 else 11.0
    for c, name in enumerate(names):
        chosen = places[index == c]
        colour, marker = class_look(c)
        if len(chosen):
            axes.scatter(
                chosen[:, 0], chosen[:, 1], s=size, marker=marker, facecolors=colour, edgecolors="white",
                linewidths=0.5, zorder=4, label=short_name(name) if c < MOST_NAMED else None, gid=f"class-{c}",
            )  # fmt: skip


def draw_regions(axes: Axes, across: FloatArray, upwards: FloatArray, outputs: FloatArray) -> None:
    """The regions in which each output is the largest, with their edges.

    `across` (k,) and `upwards` (l,) are the lines of a grid, `outputs` (l, k, K) what the network gives on it.
    """
    for c in range(outputs.shape[2]):
        lead = lead_of(outputs, c)
        if not np.any(lead > 0.0):
            continue
        axes.contourf(
            across, upwards, lead, levels=[0.0, float(np.max(lead)) + 1.0],
            colors=[CLASS_COLOURS[c % len(CLASS_COLOURS)]], alpha=0.22, zorder=0,
        )  # fmt: skip
        if np.any(lead < 0.0):
            edge = axes.contour(across, upwards, lead, levels=[0.0], colors=DARK, linewidths=1.2, zorder=2)
            edge.set_gid(f"region-{c}")


def lead_of(outputs: FloatArray, c: int) -> FloatArray:
    """How far output c is above the largest of the others, as a share of the largest difference there is."""
    others = np.max(np.delete(outputs, c, axis=-1), axis=-1)
    lead = outputs[..., c] - others
    return np.asarray(lead / (float(np.max(np.abs(lead))) or 1.0))


def predicted_classes(outputs: FloatArray) -> IntArray:
    """The class of the largest output, -1 where two share it, shape (n,)."""
    ordered = np.sort(outputs, axis=1)
    return np.where(ordered[:, -1] > ordered[:, -2], np.argmax(outputs, axis=1), -1).astype(np.int64)


def confusion_counts(dataset: Dataset, outputs: FloatArray) -> IntArray:
    """How many samples of each class (rows) have the largest output at each (columns), shape (K, K).

    A sample whose largest output is shared has no class, and is counted in no column.

    >>> dataset = Dataset([[1.0], [2.0], [3.0]], [0, 1, 1], classes=("a", "b"))
    >>> confusion_counts(dataset, np.array([[2.0, 1.0], [0.0, 1.0], [3.0, 1.0]]))
    array([[1, 0],
           [1, 1]])
    """
    if dataset.classes is None:
        raise InvalidInputError("`dataset` must have classes to count which are taken for which, got other labels.")
    found, own = predicted_classes(outputs), dataset.y.astype(np.int64)
    counts = np.zeros((dataset.num_outputs, dataset.num_outputs), dtype=np.int64)
    np.add.at(counts, (own[found >= 0], found[found >= 0]), 1)
    return counts


def plot_confusion(dataset: Dataset, outputs: FloatArray) -> Figure:
    """Draw how many samples of each class have the largest output at each; the diagonal is right."""
    counts, names = confusion_counts(dataset, outputs), dataset.classes
    assert names is not None
    num = len(names)
    is_right = np.eye(num, dtype=bool)
    share = counts / np.maximum(np.bincount(dataset.y.astype(np.int64), minlength=num), 1)[:, None]
    side = min(0.42 * num + 1.9, 7.5)
    with figure_style():
        figure = new_figure(side + 0.8, side)
        axes = figure.add_axes((1.5 / (side + 0.8), 0.32 / side, 1.0 - 1.7 / (side + 0.8), 1.0 - 1.5 / side))
        for rows, cmap in ((is_right, "Greens"), (~is_right, "Oranges")):
            axes.imshow(np.where(rows, share, np.nan), cmap=cmap, vmin=0.0, vmax=1.3, aspect="auto")
        for (k, c), count in np.ndenumerate(counts):
            if count:
                axes.text(c, k, str(count), ha="center", va="center", fontsize=8 if num <= 12 else 6, color="black")
        axes.set_xticks(range(num), [short_name(name) for name in names], rotation=45 if num > 4 else 0, fontsize=7)
        axes.set_yticks(range(num), [short_name(name) for name in names], fontsize=7)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set_xlabel("largest output", color=DARK)
        axes.set_ylabel("class", color=DARK)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.tick_params(length=0)
        axes.set_xticks(np.arange(num + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(num + 1) - 0.5, minor=True)
        axes.grid(which="minor", color=LIGHT, linewidth=0.6)
        axes.tick_params(which="minor", length=0)
        wrong = dataset.n - int(np.trace(counts))
        words = f"{dataset_title(dataset)}: {dataset.n - wrong} right, {wrong} wrong"
        figure.text(0.02, 0.08 / side, words, fontsize=8, color=GREY, parse_math=False)
    return figure
