"""Figure 2: training and test loss over iterations, one centred set, from several scales.

The paper trains m = 200 neurons on one centred set of n = d = 16 samples from the scales 4^-2 to 4^-8: the training
loss falls exponentially in the end, and the loss on 64 standard Gaussian inputs labelled by the teacher ends the lower
the smaller the scale. Here the training is the exact flow; an iteration of the authors is 0.02 units of its time.
"""

from __future__ import annotations

from pathlib import Path

from reluflow.experiments.store import Results
from reluflow.papers.chistikov2023.figures.losses_figure import claims, draw_losses
from reluflow.papers.chistikov2023.figures.losses_run import Settings, compute
from reluflow.papers.figure import PaperFigure


def draw(settings: Settings, results: Results, folder: Path) -> tuple[Path, ...]:
    """Training loss, test loss."""
    return draw_losses(settings, results, folder / "fig2.png")


FIGURE = PaperFigure(
    "chistikov2023/fig2",
    __doc__,
    Settings(centred=True, d=6, width=30, powers=(2, 4, 6, 8)),
    Settings(centred=True, d=16, width=200, powers=(2, 3, 4, 5, 6, 7, 8), num_times=300),
    compute,
    claims,
    draw,
)
