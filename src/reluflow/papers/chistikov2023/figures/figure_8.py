"""Figure 8: the same three measures in a fixed dimension, for three widths.

The paper repeats Figure 7 in dimension 1024 for $m = 25$, 50 and 200 neurons (Tables 7 to 12): the angles fall like
the scale and the nuclear norm tends to 1, whatever the width. Here the training is the exact flow.

Of the numbers in these tables one row each of Tables 7 and 8 is known here, the medians at the scale $4^{-8}$; they
stand beside ours. Nothing is compared with the other rows, nor with Tables 9 to 12.
"""

from __future__ import annotations

from reluflow.papers.chistikov2023.figures.figure_1 import EVEN_POWERS
from reluflow.papers.chistikov2023.figures.published_medians import LARGEST_ANGLE_BY_WIDTH
from reluflow.papers.chistikov2023.figures.scales_ends import Settings
from reluflow.papers.chistikov2023.figures.scales_figure import AVERAGE, LARGEST, NUCLEAR, ScalesRow, scales_figure

FIGURE = scales_figure(
    "chistikov2023/fig8",
    __doc__,
    (
        ScalesRow(LARGEST, "Fig. 8, Tables 7 and 8", published=LARGEST_ANGLE_BY_WIDTH),
        ScalesRow(AVERAGE, "Fig. 8, Tables 9 and 10"),
        ScalesRow(NUCLEAR, "Fig. 8, Tables 11 and 12"),
    ),
    lambda d, width: f"d = {d}, m = {width}",
    quick=Settings(dimensions=(4,), powers=(4, 6, 8, 10), seeds=(0, 1, 2), widths=(10, 25)),
    full=Settings(
        dimensions=(1024,),
        powers=EVEN_POWERS,
        seeds=(0, 1, 2, 3, 4),
        widths=(25, 50, 200),
        compared=(8,),
        further=5,
    ),
    reduced="seven of the paper's 16 scales",
)
