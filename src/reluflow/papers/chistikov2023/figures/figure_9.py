"""Figure 9: training and test loss over iterations, one uncentred set, from several scales.

The paper trains $m = 25$ neurons on one uncentred set of $n = d = 16$ samples from the scales $4^{-2}$ to $4^{-8}$:
the training loss falls exponentially in the end, and the loss on 64 standard Gaussian inputs labelled by the teacher
ends the lower the smaller the scale. Here the training is the exact flow; an iteration of the authors is 0.02 units of
its time. On the scale of the test panel its ends lie on one line, so they stand once more on the right, against the
scale.
"""

from __future__ import annotations

from reluflow.papers.chistikov2023.figures.losses_figure import losses_figure
from reluflow.papers.chistikov2023.figures.losses_run import Settings

FIGURE = losses_figure(
    "chistikov2023/fig9",
    __doc__,
    quick=Settings(centred=False, d=6, width=25, powers=(2, 4, 6, 8)),
    full=Settings(centred=False, d=16, width=25, powers=(2, 3, 4, 5, 6, 7, 8), num_times=300),
)
