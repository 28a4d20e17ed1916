"""Figure 8: the same three measures in a fixed dimension, for three widths.

The paper repeats Figure 7 in dimension 1024 for m = 25, 50 and 200 neurons (Tables 7 to 12): the angles fall like the
scale and the nuclear norm tends to 1, whatever the width. Here the training is the exact flow and the dimension is 64.
"""

from __future__ import annotations

from pathlib import Path

from reluflow.experiments.store import Results
from reluflow.papers.chistikov2023.figures.scales_figure import draw_scales, norm_claims, slope_claims
from reluflow.papers.chistikov2023.figures.scales_run import Settings, compute
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure


def claims(settings: Settings, results: Results) -> tuple[Claim, ...]:
    """Slope 1 of both angles at every width, rank one at the end."""
    return (
        *slope_claims(settings, results, "largest", "of the largest angle"),
        *slope_claims(settings, results, "average", "of the average angle"),
        *norm_claims(results),
    )


def draw(settings: Settings, results: Results, folder: Path) -> tuple[Path, ...]:
    """Three rows: largest angle, average angle, nuclear norm."""
    rows = ("largest", "average", "nuclear")
    return draw_scales(settings, results, folder / "fig8.png", rows=rows, label=lambda d, width: f"m = {width}")


FIGURE = PaperFigure(
    "chistikov2023/fig8",
    __doc__,
    Settings(dimensions=(4,), powers=(4, 6, 8, 10), seeds=(0, 1, 2), widths=(10, 25)),
    Settings(dimensions=(64,), powers=(2, 4, 6, 8, 10, 12), seeds=(0, 1, 2, 3, 4), widths=(25, 50, 200)),
    compute,
    claims,
    draw,
)
