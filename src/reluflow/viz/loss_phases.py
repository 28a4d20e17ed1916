"""The loss over time, with the phases of the run as bands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reluflow.dynamics.trajectory import Trajectory
from reluflow.viz.style import BLUE, DARK, GREEN, GREY, ORANGE, PURPLE, SKY, dataset_title, figure_style, new_figure
from reluflow.viz.time_axis import TimeAxis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EDGE = 0.07  # of the width: half of the longest name
_WIDE = 100.0  # losses that span more than this factor are shown on a logarithmic axis
_BANDS = {"alignment": SKY, "growth": ORANGE, "fitting": GREEN, "convergence": PURPLE, "plateau": GREY}


def plot_loss_phases(trajectory: Trajectory, *, reference_loss: float | None = None) -> Figure:
    """Draw L(t) with a band and a name for each phase.

    Time is linear for a short run and logarithmic for a long one; so is the loss where it falls by a factor of 100.

    Parameters
    ----------
    trajectory
        A finished run.
    reference_loss
        Another loss to compare with, such as that of the best linear function, as a dashed line.

    Returns
    -------
    Figure
        A matplotlib figure; `save_figure` writes it.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> trajectory = reluflow.train(problem, reluflow.EventDrivenFlow(), until=12.0)
    >>> plot_loss_phases(trajectory).axes[0].get_ylabel()
    'loss $L$'
    """
    axis = TimeAxis.of(trajectory)
    places = axis.places(trajectory.times, trajectory.log_times)
    shown = np.isfinite(places)
    losses = np.maximum(trajectory.losses, np.finfo(float).tiny)
    with figure_style():
        figure = new_figure(6.8, 3.8)
        axes = figure.add_axes((0.11, 0.14, 0.86, 0.64))
        axes.plot(places[shown], losses[shown], color=BLUE, linewidth=1.8, zorder=3, gid="loss")
        low, high = axis.first, min(float(places[shown][-1]), axis.last)
        high = high if high > low else low + 1.0
        axes.set_xlim(low, high)
        inside = losses[shown][places[shown] <= high]
        if float(np.max(inside)) > _WIDE * float(np.min(inside)):
            axes.set_yscale("log")
            axes.set_ylim(float(np.min(inside)) / 1.5, float(np.max(inside)) * 1.5)
        if reference_loss is not None and reference_loss > 0:
            axes.axhline(reference_loss, color=DARK, linestyle="--", linewidth=1.0, zorder=2)
            axes.annotate(
                f"best linear function: {reference_loss:.4g}",
                (high, reference_loss),
                xytext=(-4, 4),
                textcoords="offset points",
                ha="right",
                fontsize=8,
                color=DARK,
            )
        row = 0
        for phase in trajectory.phases:
            start, end = (float(axis.places_of_times(np.array([t]))[0]) for t in (phase.start, phase.end))
            start, end = max(start, low), min(end, high)
            if not end > start:
                continue
            colour = _BANDS.get(phase.name.split()[0], GREY)
            axes.axvspan(start, end, color=colour, alpha=0.22, linewidth=0, zorder=0)
            axes.axvline(start, color=colour, linewidth=0.8, zorder=1)
            is_last = (high - (start + end) / 2) < _EDGE * (high - low)  # a short one there would be cut by the edge
            axes.annotate(  # names in three rows, so that short phases do not overlap
                phase.name,
                (high if is_last else (start + end) / 2, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 4 + 11 * (row % 3)),
                textcoords="offset points",
                ha="right" if is_last else "center",
                fontsize=8,
                color=DARK,
            )
            row += 1
        axes.set_xlabel(axis.label + axis.cut_note(trajectory))
        axes.set_ylabel("loss $L$")
        figure.suptitle(dataset_title(trajectory.problem.dataset), fontsize=10, y=0.98, parse_math=False)
    return figure
