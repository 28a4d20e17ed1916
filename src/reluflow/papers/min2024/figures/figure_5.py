r"""Figure 5: digits 0 and 1 of MNIST, where neurons align with the class sums before the loss falls.

The paper trains 50 neurons (all entries of deviation 1e-6, step 2e-3) on the centred images of two digits and shows
the inner products of the images; the cosines of the neurons of $V_+$ and $V_-$ with $x_+$ and $x_-$, as a mean with a
band from the smallest to the largest; the loss, the stable rank and the squared spectral norm of $W$; and, at
iteration 15000, the mean neurons beside the mean images. Alignment is good after some 2000 iterations, norm and loss
move after some 3000.

The paper defines its loss as a sum over the samples; its iterations are those of the mean exponential loss, which is
taken here (with the sum everything would come $n$ times sooner). Black dots are the exact gradient flow from the
same neurons, iteration $k$ at time $2\cdot10^{-3} k$. The quick size has 400 images and steps ten times as large,
which lag some 50 iterations behind the flow; iterations are counted in the paper's steps throughout. The paper's own
size, all images at its own step, takes about half an hour of one core, half of it for the flow.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.digits_figure import draw_digits, first_below, shared_claims
from reluflow.papers.min2024.figures.digits_run import DigitsRun, Settings, compute


def claims(settings: Settings, results: DigitsRun) -> tuple[Claim, ...]:
    """The iterations that Sec. 4 names for these digits, and what all pairs share."""
    course = results.descent.course
    at_2000, at_3000 = course.nearest(2_000), course.nearest(3_000)
    return (
        *shared_claims(settings, results),
        Claim.above(
            "good alignment after some 2000 iterations (the smaller mean cosine there)",
            np.min(course.cosines[at_2000, :, 0]),
            0.95,
            source="Sec. 4: “good alignment after ~2000 iterations”",
        ),
        Claim.above(
            "and so for all neurons (smallest cosine of a neuron there)",
            np.min(course.cosines[at_2000, :, 1]),
            0.95,
            finding=True,
            why="The mean neurons are aligned by then, a few single neurons only some hundred iterations later.",
            source="Sec. 4: “all neurons in $V_+$ ($V_-$)”",
        ),
        Claim.above(
            "all neurons are aligned when the loss is down by a tenth (smallest cosine of a neuron)",
            np.min(course.cosines[course.nearest(first_below(course, 0.9)), :, 1]),
            0.95,
            source=OURS,
        ),
        Claim.above(
            "at 2000 iterations the loss has not moved", course.losses[at_2000], 0.99, source="Fig. 5, third plot"
        ),
        Claim.between(
            "the loss starts to fall after some 3000 iterations (down by a tenth at)",
            first_below(course, 0.9),
            2_400,
            3_600,
            source="Sec. 4: “after ~3000 iterations”",
        ),
        Claim.between(
            r"the norm starts to grow there ($\|W\|_2^2$ at 3000 over that at the end)",
            course.squared_norms[at_3000] / course.squared_norms[-1],
            0.01,
            0.3,
            source="Sec. 4: “after ~3000 iterations”",
        ),
        Claim.below(
            "the stable rank is almost 1 there (at 3000)",
            course.stable_ranks[at_3000],
            1.05,
            source="Sec. 4: “almost 1, as seen from the plot”",
        ),
    )


def draw(settings: Settings, results: DigitsRun, folder: Path) -> tuple[Path, ...]:
    """The four plots of the paper in six panels."""
    return draw_digits(settings, results, folder / "fig5.png")


FIGURE = PaperFigure(
    "min2024/fig5",
    __doc__,
    Settings((1, 0), size=400, source="bundled", stride=10),
    Settings((1, 0), size=None, source="full", stride=1),
    compute,
    claims,
    draw,
)
