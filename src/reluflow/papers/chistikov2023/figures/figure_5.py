"""Figure 5: the loss vanishes, the largest angle between active neurons does not.

Example 35, the run of Figure 3: the training loss and the largest angle between active neurons, over iterations on a
logarithmic and on a linear axis. The loss tends to 0 (the authors stop after about 2.8e6 iterations); the angle, once
the bundle has formed, stays where it is: for a fixed scale the neurons do not become parallel.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.chistikov2023.figures.bundle_run import BundleRun, Settings, compute
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure


def claims(settings: Settings, results: BundleRun) -> tuple[Claim, ...]:
    """Loss to the target, angle above 0 and at rest."""
    losses, largest = results.losses, results.largest
    late = largest[losses <= 1e-2 * losses[0]]
    return (
        Claim.below("the loss tends to 0 (at the end)", float(losses[-1]), 5.000001e-10, source="Example 35, Fig. 5"),
        Claim.above(
            "the largest angle stays above 0 (degrees at the end)",
            float(largest[-1]),
            1e-6,
            source="Example 35, Fig. 5",
        ),
        Claim.below(
            "it hardly changes while the last hundredth of the loss is fitted (largest over smallest)",
            float(np.max(late) / np.min(late)),
            1.5,
            source=OURS,
        ),
        Claim.below("the loss never rises (largest step up)", float(np.max(np.diff(losses))), 1e-15, source=OURS),
    )


def draw(settings: Settings, results: BundleRun, folder: Path) -> tuple[Path, ...]:
    """Loss and angle, on a logarithmic and on a linear axis of iterations."""
    from reluflow.viz.panels import Curve, Panel, Scale, plot_panels
    from reluflow.viz.saving import save_figure

    rows = ((results.losses, "training loss"), (results.largest, "largest angle in $J_+$ (degrees)"))
    axes: tuple[Scale, ...] = ("log", "linear")
    panels = [
        Panel(label, "iteration", "", [Curve(results.iterations, values, look=i)], x_scale=axis, y_scale="log")
        for i, (values, label) in enumerate(rows)
        for axis in axes
    ]
    return (save_figure(plot_panels(panels, columns=2, panel_size=(3.9, 2.7)), folder / "fig5.png"),)


FIGURE = PaperFigure(
    "chistikov2023/fig5", __doc__, Settings(d=8, width=15, num_times=200), Settings(), compute, claims, draw
)
