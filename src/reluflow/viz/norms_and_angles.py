"""Norms and directions of the neurons over time: they turn first, then they grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.trajectory import Trajectory
from reluflow.viz.class_regions import MOST_NAMED, short_name
from reluflow.viz.style import DARK, NEGATIVE, POSITIVE, class_look, dataset_title, figure_style, new_figure
from reluflow.viz.time_axis import TimeAxis

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST_LINES = 60  # neurons drawn, evenly picked


def plot_norms_and_angles(
    trajectory: Trajectory,
    times: FloatArray,
    log_times: FloatArray,
    log_norms: FloatArray,
    angles: FloatArray,
    signs: FloatArray,
    *,
    pushes: IntArray | None = None,
    names: Sequence[str] = (),
) -> Figure:
    r"""Draw $|w_j|$ (logarithmic) and the angle each neuron makes with its own final direction, over time.

    Parameters
    ----------
    trajectory
        The run they come from; names the dataset and the time axis.
    times, log_times
        When, shape (T,).
    log_norms
        $\ln |w_j|$, shape (T, m).
    angles
        Angle with the final direction in degrees, shape (T, m).
    signs
        Sign of $a_j$ at the end, shape (m,).
    pushes, names
        Of several outputs, the one that each neuron pushes most at the end, in place of the sign, and the names of all.

    Returns
    -------
    Figure
        A matplotlib figure; `save_figure` writes it.

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> problem = reluflow.Experiment("three-points", width=2).problem()
    >>> trajectory = reluflow.train(problem, reluflow.EventDrivenFlow(), until=5.0)
    >>> times, zeros = np.linspace(0.1, 5.0, 4), np.zeros((4, 2))
    >>> figure = plot_norms_and_angles(trajectory, times, np.log(times), zeros, zeros, np.array([1.0, -1.0]))
    >>> figure.axes[0].get_ylabel()
    '$\\log_{10} |w_j|$'
    """
    axis = TimeAxis.of(trajectory)
    places = axis.places(times, log_times)
    shown = np.isfinite(places)
    num_neurons = log_norms.shape[1]
    picked = np.unique(np.linspace(0, num_neurons - 1, min(num_neurons, MOST_LINES)).astype(int))
    with figure_style():
        from matplotlib.lines import Line2D

        figure = new_figure(6.8, 5.2)
        upper = figure.add_axes((0.11, 0.54, 0.86, 0.36))
        lower = figure.add_axes((0.11, 0.10, 0.86, 0.36), sharex=upper)
        for j in picked:
            colour, dashes = (POSITIVE, "-") if signs[j] > 0 else (NEGATIVE, "--")
            if pushes is not None:
                colour = class_look(int(pushes[j]))[0]
            upper.plot(places[shown], log_norms[shown, j] / np.log(10.0), color=colour, linestyle=dashes, linewidth=0.8)
            lower.plot(places[shown], angles[shown, j], color=colour, linestyle=dashes, linewidth=0.8)
        upper.set_xlim(axis.first, min(float(places[shown][-1]), axis.last))
        upper.set_ylabel("$\\log_{10} |w_j|$")
        upper.tick_params(labelbottom=False)
        lower.set_ylabel("angle to the\nfinal direction (°)")
        lower.set_ylim(-4, 184)
        lower.set_yticks([0, 45, 90, 135, 180])
        lower.set_xlabel(axis.label + axis.cut_note(trajectory))
        entries = [
            Line2D([], [], color=POSITIVE, linestyle="-", label="$a_j > 0$"),
            Line2D([], [], color=NEGATIVE, linestyle="--", label="$a_j < 0$"),
        ]
        if pushes is not None:
            shown_names = list(enumerate(names))[:MOST_NAMED]
            entries = [Line2D([], [], color=class_look(c)[0], label=short_name(name)) for c, name in shown_names]
        figure.legend(
            handles=entries, loc="upper right", bbox_to_anchor=(0.98, 0.955), ncols=max(2, min(6, len(entries)))
        )
        words = dataset_title(trajectory.problem.dataset)
        if len(picked) < num_neurons:
            words += f", {len(picked)} of {num_neurons} neurons"
        figure.text(0.11, 0.93, words, fontsize=10, color=DARK, parse_math=False)
    return figure
