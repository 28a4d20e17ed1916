"""Neurons of the plane by direction and size, in the convention of Boursier & Flammarion's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.viz.legend import boundary_entry, sample_entries
from reluflow.viz.polar import angles_of, draw_cone_boundaries, draw_samples, require_directions, require_plane
from reluflow.viz.style import BLACK, DARK, LIGHT, NEGATIVE, POSITIVE, dataset_title, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOLE = -0.2  # the radial origin, in units of the largest norm: neurons of norm 0 stand on an inner circle
MAX_CROWDED = 2_000  # more stars than this are drawn small, and as one picture in a vector file


def plot_neuron_directions(
    w: ArrayLike, a: ArrayLike, dataset: Dataset, *, largest_norm: float | None = None, title: str | None = None
) -> Figure:
    """Draw every neuron as a star at angle atan2(w2, w1) and radius |w|.

    Filled stars have a > 0, open ones a < 0. Dashed rays bound the activation cones, + and - mark the samples'
    directions. The radial origin is moved inwards, so that a neuron of norm 0 still shows its direction's circle.

    Parameters
    ----------
    w, a
        Input weights, shape (m, 2), and output weights, shape (m,).
    dataset
        Samples in the plane, none of them zero.
    largest_norm
        Radius of the outer circle; give the same one to compare several times of one run. By default the largest |w|.
    title
        What moment this is; by default the dataset's name.

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
    >>> figure = plot_neuron_directions(problem.network.w, problem.network.a, problem.dataset, title="start")
    >>> figure.axes[0].name
    'polar'
    """
    require_plane(dataset, "The polar picture of neurons")
    require_directions(dataset)
    inner, outer = np.asarray(w, dtype=np.float64), np.asarray(a, dtype=np.float64)
    if inner.ndim != 2 or inner.shape[1] != 2 or outer.shape != inner.shape[:1]:
        raise InvalidInputError(f"`w` must have shape (m, 2) and `a` shape (m,), got {inner.shape} and {outer.shape}.")
    if not (np.all(np.isfinite(inner)) and np.all(np.isfinite(outer))):
        raise InvalidInputError("`w` and `a` must be finite.")
    norms = np.hypot(inner[:, 0], inner[:, 1])
    largest = float(np.max(norms, initial=0.0))
    limit = (largest or 1.0) if largest_norm is None else float(largest_norm)
    if not (np.isfinite(limit) and limit >= largest and limit > 0.0):
        raise InvalidInputError(
            f"`largest_norm` must be finite and at least the largest |w|, {largest:.6g}, got {limit:g}."
        )
    with figure_style():
        from matplotlib.lines import Line2D
        from matplotlib.projections.polar import PolarAxes

        figure = new_figure(6.8, 4.6)
        axes = figure.add_axes((0.065, 0.06, 0.55, 0.55 * 6.8 / 4.6), projection="polar")
        assert isinstance(axes, PolarAxes)
        is_crowded = len(norms) > MAX_CROWDED
        faces, edges = np.full(len(outer), BLACK), np.full(len(outer), BLACK)
        entries = []
        for sign, colour, face, words in (
            (1.0, POSITIVE, POSITIVE, "a > 0"),
            (-1.0, NEGATIVE, "#FFFFFF", "a < 0"),
            (0.0, BLACK, BLACK, "a = 0"),
        ):
            chosen = np.sign(outer) == sign
            faces[chosen], edges[chosen] = face, colour
            if np.any(chosen):
                star = Line2D(
                    [], [], linestyle="", marker="*", markersize=9, label=f"${words}$: {np.sum(chosen)} neurons"
                )
                star.set(markerfacecolor=face, markeredgecolor=colour)
                entries.append(star)
        axes.scatter(  # all at once, in the neurons' own order, so that neither sign lies on top
            angles_of(inner),
            norms,
            s=14.0 if is_crowded else 52.0,
            marker="*",
            facecolors=list(faces),
            edgecolors=list(edges),
            linewidths=0.4 if is_crowded else 0.8,
            zorder=3,
            rasterized=is_crowded,
            gid="neurons",
        )
        draw_cone_boundaries(axes, dataset.X, 0.0, 1.06 * limit)
        draw_samples(axes, dataset, 1.17 * limit)
        axes.set_ylim(0.0, 1.26 * limit)
        axes.set_rorigin(HOLE * limit)
        axes.set_rticks([0.0, limit], labels=["", ""])
        axes.set_xticks(np.radians(np.arange(0, 360, 45)), [f"{degree}°" for degree in range(0, 360, 45)])
        axes.grid(color=LIGHT, linewidth=0.6)
        axes.xaxis.grid(visible=False)
        axes.spines["polar"].set_visible(False)
        axes.spines["inner"].set_color(DARK)
        entries += [boundary_entry(), *sample_entries(dataset)]
        figure.legend(handles=entries, loc="upper left", bbox_to_anchor=(0.68, 0.84), labelspacing=0.6)
        words = f"angle: atan2($w_2$, $w_1$)\nradius: $|w|$, from 0\non the inner circle to\n{limit:.4g} on the outer"
        figure.text(0.695, 0.16, words, fontsize=8, color=DARK, linespacing=1.4)
        figure.suptitle(dataset_title(dataset) if title is None else title, fontsize=10, y=0.975, parse_math=False)
    return figure
