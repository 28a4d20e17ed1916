"""Figure 1: the largest angle between active neurons at the end falls like the scale.

The paper trains $m = 200$ neurons on $n = d$ samples around a centre (centred: the centre is the teacher; uncentred:
one more sample is) from scales $4^2$ to $4^{-13}$ and shows, against the scale, the median over five draws of the
largest angle between active neurons (positive, with a sample inside at the start) when the loss has fallen to 1e-9. At
small scales the medians fall by the factor 4 from one scale to the next, in every dimension. Here the training is the
exact flow.

Medians of five draws differ by large factors from one five to the next, for in about one draw of five the neurons stay
in two groups; seeds and data of the paper are not kept. So the medians of its Tables 1 and 2 stand beside ours, and
each is judged by where the median of five more of our draws would lie. Of the tables' sixteen scales the medians at
four are known here, and these are compared.
"""

from __future__ import annotations

from reluflow.papers.chistikov2023.figures.published_medians import LARGEST_ANGLE
from reluflow.papers.chistikov2023.figures.scales_ends import Settings
from reluflow.papers.chistikov2023.figures.scales_figure import LARGEST, ScalesRow, scales_figure

EVERY_POWER = tuple(range(-2, 14))  # the paper's sixteen scales, 4^2 to 4^-13
EVEN_POWERS = (0, 2, 4, 6, 8, 10, 12)

FIGURE = scales_figure(
    "chistikov2023/fig1",
    __doc__,
    (ScalesRow(LARGEST, "Fig. 1, Tables 1 and 2", published=LARGEST_ANGLE),),
    lambda d, width: f"d = {d}",
    quick=Settings(dimensions=(4,), powers=(6, 8, 10), seeds=(0, 1, 2), widths=(20,)),
    full=Settings(
        dimensions=(4, 16, 64, 256, 1024),
        powers=EVERY_POWER,
        seeds=(0, 1, 2, 3, 4),
        large=(1024,),
        powers_in_large=EVEN_POWERS,
        compared=(0, 4, 8, 12),
        further=5,
    ),
    reduced="in dimension 1,024 seven of the paper's 16 scales",
)
