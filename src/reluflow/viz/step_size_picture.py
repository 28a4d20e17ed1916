"""Gradient descent beside the flow: how far its outputs are, rate by rate, and the sharpness against 2/lr."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reluflow.learning_rates.step_size import StepSize
from reluflow.viz.style import (
    BLUE,
    DARK,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    dataset_title,
    figure_style,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = (VERMILLION, ORANGE, PURPLE, SKY, BLUE, GREEN, GREY)  # of the rates in turn, each with its own dashes
_DASHES = ("-", "--", "-.", ":")


def plot_step_size(answer: StepSize) -> Figure:
    """Draw the distance of the outputs over time for each learning rate, and the sharpness along the flow.

    A curve ends in a cross where descent ends elsewhere than the flow; a circle marks where its neurons first meet
    other activation boundaries.

    Parameters
    ----------
    answer
        From `step_size`.

    Returns
    -------
    Figure
        A matplotlib figure; `save_figure` writes it.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=4, scale="1e-2").problem()
    >>> len(plot_step_size(reluflow.step_size(problem, rates=[0.2])).axes)
    2
    """
    with figure_style():
        figure = new_figure(9.0, 3.9)
        left = figure.add_axes((0.075, 0.14, 0.40, 0.74))
        right = figure.add_axes((0.56, 0.14, 0.30, 0.74))
        for index, run in enumerate(answer.runs):
            colour, dashes = _COLOURS[index % len(_COLOURS)], _DASHES[index % len(_DASHES)]
            shown = run.distances > 0.0
            left.plot(run.times[shown], run.distances[shown], color=colour, linestyle=dashes, label=f"{run.lr:.3g}")
            if run.same_limit is False and np.any(shown):
                left.plot(run.times[shown][-1], run.distances[shown][-1], "x", color=colour, markersize=7, mew=1.8)
            if run.departure is not None and np.any(shown):
                at = float(np.interp(run.departure.time, run.times[shown], run.distances[shown]))
                left.plot(run.departure.time, at, "o", color=colour, markerfacecolor="white", markersize=5)
            right.axhline(2.0 / run.lr, color=colour, linestyle=dashes, linewidth=1.0)
        left.set_xscale("log")
        left.set_yscale("log")
        left.set_xlabel("time $t$ = step × learning rate")
        left.set_ylabel("largest distance of an output from the flow's")
        left.set_title("× ends elsewhere   ○ first other activation boundary", fontsize=8, color=DARK)
        right.plot(answer.along.times, answer.along.largest, color=DARK, linewidth=1.8)
        right.set_yscale("log")
        right.set_xlabel("time $t$")
        right.set_ylabel("sharpness along the flow")
        right.set_title("horizontal lines: 2 / learning rate", fontsize=8, color=DARK)
        figure.legend(*left.get_legend_handles_labels(), title="learning rate", loc="center right")
        figure.suptitle(dataset_title(answer.reference.problem.dataset), fontsize=10, y=0.98, parse_math=False)
    return figure
