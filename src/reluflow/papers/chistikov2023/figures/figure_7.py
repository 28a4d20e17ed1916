"""Figure 7: angles between active neurons and the nuclear norm at the end, against the scale, in several dimensions.

The runs of Figure 1 once more ($m = 200$, five draws): above its largest angle, in the middle the average angle over
all pairs of active neurons, below the nuclear norm of $W$ (Tables 1 to 6). Both angles fall like the scale; the
nuclear norm, the sum of the singular values, tends to 1, that of one unit neuron. Here the training is the exact flow.

Of the numbers in Tables 3 to 6 one row is known here, the medians of Table 3 at the scale $4^{-8}$; it stands beside
ours. Nothing is compared with the other rows, nor with Tables 4 to 6. Those of Tables 1 and 2 are with Figure 1.
"""

from __future__ import annotations

from reluflow.papers.chistikov2023.figures import figure_1
from reluflow.papers.chistikov2023.figures.published_medians import AVERAGE_ANGLE
from reluflow.papers.chistikov2023.figures.scales_ends import Settings
from reluflow.papers.chistikov2023.figures.scales_figure import AVERAGE, LARGEST, NUCLEAR, ScalesRow, scales_figure

FIGURE = scales_figure(
    "chistikov2023/fig7",
    __doc__,
    (
        ScalesRow(LARGEST, "Fig. 7, Tables 1 and 2"),
        ScalesRow(AVERAGE, "Fig. 7, Tables 3 and 4", published=AVERAGE_ANGLE),
        ScalesRow(NUCLEAR, "Fig. 7, Tables 5 and 6"),
    ),
    lambda d, width: f"d = {d}",
    quick=Settings(dimensions=(4,), powers=(4, 6, 8, 10), seeds=(0, 1, 2), widths=(20,)),
    full=figure_1.FIGURE.full,
    reduced=figure_1.FIGURE.reduced,
)
