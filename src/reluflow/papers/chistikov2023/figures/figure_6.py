"""Figure 6: the nuclear norm of $W$ tends to 1 and the squared norm of all weights to 2.

The run of Figure 3: both norms over iterations. A rank-one balanced network of the teacher has exactly these.
"""

from __future__ import annotations

from pathlib import Path

from reluflow.papers.chistikov2023.figures.bundle_run import BundleRun, Settings, compute
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure


def claims(settings: Settings, results: BundleRun) -> tuple[Claim, ...]:
    """1 and 2 at the end, from almost 0."""
    return (
        Claim.near("the nuclear norm of $W$ tends to 1", float(results.nuclear[-1]), 1.0, atol=0.01, source="Fig. 6"),
        Claim.near(
            "the squared norm of all weights tends to 2", float(results.squared[-1]), 2.0, atol=0.01, source="Fig. 6"
        ),
        Claim.below(
            "both start small (squared norm at the first iteration)", float(results.squared[0]), 1e-3, source=OURS
        ),
    )


def draw(settings: Settings, results: BundleRun, folder: Path) -> tuple[Path, ...]:
    """Two curves and their limits."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    curves = [
        Curve(results.iterations, results.nuclear, "nuclear norm of W"),
        Curve(results.iterations, results.squared, "squared norm of all weights", look=1),
    ]
    limits = [Guide(1.0, "limits, 1 and 2"), Guide(2.0)]
    panel = Panel("norms", "iteration", "", curves, levels=limits, x_scale="log", legend="below")
    return (save_figure(plot_panels([panel], columns=1, panel_size=(5.0, 3.2)), folder / "fig6.png"),)


FIGURE = PaperFigure(
    "chistikov2023/fig6", __doc__, Settings(d=8, width=15, num_times=200), Settings(), compute, claims, draw
)
