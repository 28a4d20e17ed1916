"""The staircase of the loss as the scale vanishes, with the flow at small scales converging to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reluflow.vanishing_scale.comparison import FlowAtScale
from reluflow.vanishing_scale.process import JumpProcess
from reluflow.viz.style import BLUE, DARK, GREY, LIGHT, ORANGE, SKY, dataset_title, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOKS = ((SKY, ":"), (ORANGE, "--"), (BLUE, "-"), (GREY, "-."))  # on top of the broad grey staircase
_MARGIN = 0.12  # of the last jump's clock that is shown beyond it


def plot_staircase(process: JumpProcess, runs: Sequence[FlowAtScale] = ()) -> Figure:
    """Draw the levels of a jump process over its clock, and the loss of the flow at small scales on the same clock.

    Parameters
    ----------
    process
        The forecast.
    runs
        The flow at some scales, from `flow_beside`; the title names the dataset of the first.

    Returns
    -------
    Figure
        A matplotlib figure; `save_figure` writes it.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> plot_staircase(reluflow.forecast(problem)).axes[0].get_xlabel()
    'time / log(1/scale)'
    """
    last = process.jumps[-1].clock if process.jumps else 1.0
    end = last * (1.0 + _MARGIN) or 1.0
    clocks = [0.0, *(jump.clock for jump in process.jumps), end]
    levels = [saddle.loss for saddle in process.saddles[: len(process.jumps) + 1]]
    with figure_style():
        figure = new_figure(6.8, 3.8)
        axes = figure.add_axes((0.11, 0.14, 0.86, 0.76))
        for (colour, dashes), run in zip(_LOOKS, runs, strict=False):
            trajectory = run.trajectory
            places = trajectory.times / -run.log_scale
            axes.plot(places, trajectory.losses, color=colour, linestyle=dashes, label=f"flow at scale {run.scale}")
        axes.stairs(levels, clocks, baseline=None, color=LIGHT, linewidth=5.0, label="as the scale vanishes", zorder=1)
        for jump in process.jumps:
            count = len(jump.neurons)
            axes.annotate(
                f"{jump.clock:.4g}\n{count} neuron{'s' if count > 1 else ''}",
                (jump.clock, 0.5 * (jump.loss_before + jump.loss_after)),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=DARK,
            )
        axes.set_xlim(0.0, end)
        axes.set_ylim(bottom=min(0.0, float(np.min(levels))))
        axes.set_xlabel("time / log(1/scale)")
        axes.set_ylabel("loss $L$")
        axes.legend(loc="upper right")
        if runs:
            title = dataset_title(runs[0].trajectory.problem.dataset)
            figure.suptitle(title, fontsize=10, y=0.98, parse_math=False)
    return figure
