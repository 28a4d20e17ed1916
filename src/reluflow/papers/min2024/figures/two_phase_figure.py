"""The picture that Figures 12 and 13 share: loss, change of norms and change of directions over epochs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.min2024.figures.two_phase_run import TwoPhases, is_early_phase

if TYPE_CHECKING:
    from reluflow.viz.panels import Scale


def draw_two_phases(results: TwoPhases, path: Path, *, title: str, is_steep: bool = False) -> tuple[Path, ...]:
    """Three panels; the epochs in which only directions change lie between two lines.

    `is_steep` draws the changes of directions on a logarithmic axis, where the first is a million times the others.
    """
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    epochs = results.epochs
    early = epochs[is_early_phase(results)]
    marks = []
    if len(early) > 1:
        marks = [Guide(float(np.min(early)), "early phase", is_vertical=True, look=7)]
        marks.append(Guide(float(np.max(early)), is_vertical=True, look=7))
    steep: Scale = "log" if is_steep else "linear"
    rows: tuple[tuple[str, str, FloatArray, Scale], ...] = (
        ("loss", r"$\mathcal{L}$", results.losses, "linear"),
        ("changes in neuron norms", r"$\Sigma_j\;d\,\|w_j\|^2/\,dt$", results.norm_changes, "linear"),
        (
            "changes in neuron directions",
            r"$\Sigma_j\;\|\,d\,(w_j/\|w_j\|)/\,dt\,\|$",
            results.direction_changes,
            steep,
        ),
    )
    panels = [
        Panel(heading, "epoch", label, [Curve(epochs, values, "", look=look)], levels=marks, y_scale=scale)
        for look, (heading, label, values, scale) in enumerate(rows)
    ]
    words = f"{title}: {results.num_images:,} images, batches of {results.batch:,}"
    return (save_figure(plot_panels(panels, columns=3, title=words), path),)
