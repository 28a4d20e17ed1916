r"""Figure 4: the bundle first points along $\gamma$, then turns to the teacher while it grows.

Example 33, the run of Figure 3: the length of the bundle, its distance from the teacher, and its angles with
$\gamma = (1/n) \sum_i y_i x_i$ and with the teacher. The alignment with $\gamma$ is best at about iteration 500,
before the bundle grows; then the bundle turns to the teacher.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.chistikov2023.figures.bundle_run import BundleRun, Settings, compute
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure


def claims(settings: Settings, results: BundleRun) -> tuple[Claim, ...]:
    """Best alignment with gamma while small, then to the teacher."""
    best = int(np.argmin(results.to_gamma))
    return (
        Claim.below(
            r"the bundle aligns with $\gamma$ (least angle, degrees)",
            float(results.to_gamma[best]),
            0.2,
            source="Example 33, Fig. 4",
        ),
        Claim.between(
            "at about iteration 500 (iteration of the least angle)",
            float(results.iterations[best]),
            300.0,
            1000.0,
            source="Example 33: “around iteration 500”",
        ),
        Claim.below(
            "while it is small (its length then)", float(results.lengths[best]), 0.05, source="Example 33, Fig. 4"
        ),
        Claim.below(
            "and ends along the teacher (angle at the end, degrees)",
            float(results.to_teacher[-1]),
            1.0,
            source="Example 33, Fig. 4",
        ),
        Claim.below("and at the teacher (distance at the end)", float(results.distances[-1]), 0.02, source="Fig. 4"),
        Claim.near("with its length 1", float(results.lengths[-1]), 1.0, atol=0.02, source="Fig. 4"),
    )


def draw(settings: Settings, results: BundleRun, folder: Path) -> tuple[Path, ...]:
    """Lengths on the left, angles on the right."""
    from reluflow.viz.panels import Curve, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    x = results.iterations
    lengths = [
        Curve(x, results.lengths, "$\\|V\\|$"),
        Curve(x, results.distances, "$\\|v^* - V\\|$", look=1),
    ]
    turns = [
        Curve(x, results.to_gamma, "angle with $\\gamma$", look=2),
        Curve(x, results.to_teacher, "angle with $v^*$", look=3),
    ]
    panels = [
        Panel("length and distance", "iteration", "", lengths, x_scale="log", legend="below"),
        Panel("angles (degrees)", "iteration", "", turns, x_scale="log", y_scale="log", legend="below"),
    ]
    return (save_figure(plot_panels(panels, columns=2, panel_size=(3.9, 3.0)), folder / "fig4.png"),)


FIGURE = PaperFigure(
    "chistikov2023/fig4", __doc__, Settings(d=8, width=15, num_times=200), Settings(), compute, claims, draw
)
