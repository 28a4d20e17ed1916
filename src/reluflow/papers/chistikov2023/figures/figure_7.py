"""Figure 7: angles between active neurons and the nuclear norm at the end, against the scale, in several dimensions.

The runs of Figure 1 once more (m = 200, five draws): above its largest angle, in the middle the average angle over all
pairs of active neurons, below the nuclear norm of W (Tables 1 to 6). Both angles fall like the scale; the nuclear norm,
the sum of the singular values, tends to 1, that of one unit neuron. Here the training is the exact flow and the
dimensions are 4, 16 and 64 of the paper's 4 to 1024.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.experiments.store import Results
from reluflow.papers.chistikov2023.figures.scales_figure import draw_scales, norm_claims, slope_claims
from reluflow.papers.chistikov2023.figures.scales_run import Settings, compute
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure


def claims(settings: Settings, results: Results) -> tuple[Claim, ...]:
    """Slope 1 of both angles, rank one at the end."""
    return (
        *slope_claims(settings, results, "largest", "of the largest angle"),
        *slope_claims(settings, results, "average", "of the average angle"),
        *norm_claims(results),
        Claim(
            "the average angle is at most the largest one",
            bool(np.all(results["average"] <= results["largest"])),
            float(np.max(results["average"] - results["largest"])),
            "at most 0",
            ours=True,
        ),
    )


def draw(settings: Settings, results: Results, folder: Path) -> tuple[Path, ...]:
    """Three rows: largest angle, average angle, nuclear norm."""
    rows = ("largest", "average", "nuclear")
    return draw_scales(settings, results, folder / "fig7.png", rows=rows, label=lambda d, width: f"d = {d}")


FIGURE = PaperFigure(
    "chistikov2023/fig7",
    __doc__,
    Settings(dimensions=(4,), powers=(4, 6, 8, 10), seeds=(0, 1, 2), widths=(20,)),
    Settings(dimensions=(4, 16, 64), powers=(-2, 0, 2, 4, 6, 8, 10, 12), seeds=(0, 1, 2, 3, 4)),
    compute,
    claims,
    draw,
)
