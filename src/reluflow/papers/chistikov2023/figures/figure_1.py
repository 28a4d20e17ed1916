"""Figure 1: the largest angle between active neurons at the end falls like the scale.

The paper trains m = 200 neurons on n = d samples around a centre (centred: the centre is the teacher; uncentred: one
more sample is) from scales 4^2 to 4^-13 and shows, against the scale, the median over five draws of the largest angle
between active neurons (positive, with a sample inside at the start) when the loss has fallen to 1e-9. At small scales
the medians fall by the factor 4 from one scale to the next, in every dimension. Here the training is the exact flow and
the dimensions are 4, 16 and 64 of the paper's 4 to 1024.
"""

from __future__ import annotations

from pathlib import Path

from reluflow.experiments.store import Results
from reluflow.papers.chistikov2023.figures.scales_figure import draw_scales, norm_claims, slope_claims
from reluflow.papers.chistikov2023.figures.scales_run import Settings, compute
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure


def claims(settings: Settings, results: Results) -> tuple[Claim, ...]:
    """Slope 1 of the medians for small scales; rank one, squared norm 2."""
    return (*slope_claims(settings, results, "largest", "of the largest angle"), *norm_claims(results))


def draw_panels(settings: Settings, results: Results, folder: Path) -> tuple[Path, ...]:
    """One panel per kind: medians and all draws against the scale."""
    return draw_scales(settings, results, folder / "fig1.png", rows=("largest",), label=lambda d, width: f"d = {d}")


FIGURE = PaperFigure(
    "chistikov2023/fig1",
    __doc__,
    Settings(dimensions=(4,), powers=(6, 8, 10), seeds=(0, 1, 2), widths=(20,)),
    Settings(dimensions=(4, 16, 64), powers=(2, 4, 6, 8, 10, 12), seeds=(0, 1, 2, 3, 4)),
    compute,
    claims,
    draw_panels,
)
