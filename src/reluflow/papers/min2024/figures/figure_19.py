r"""Figure 19: where both sides push the same way a Caratheodory solution goes on across the hyperplane.

The paper's sketch, beside that of Figure 18: the flow on the two sides of a hyperplane has the same sign along its
normal, and the solution leaves the points of discontinuity at once. Assumption 1 makes it so on every hyperplane,
(46).

Here $x_1 = (1, 0)$ is negative and $x_2 = (-0.5, 1)$ positive, so that $\mu > 0$. The exact flow crosses once; Euler's
method does the same and tends to it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.hyperplane_figure import draw_hyperplane
from reluflow.papers.min2024.figures.hyperplane_run import MeetingHyperplane, Settings, compute, samples, velocity


def _residual(settings: Settings, results: MeetingHyperplane) -> float:
    """|theta(T) - theta(0) - int F| by the trapezoidal rule on the pieces before and after the crossing."""
    data, times, path = samples(settings), results.times, results.path
    fields = np.array([velocity(data, state) for state in path])
    begin = int(np.searchsorted(times, results.met, side="right"))
    total = np.zeros(3)
    for piece in (slice(0, begin), slice(begin, None)):
        total += np.trapezoid(fields[piece], times[piece], axis=0)
    step = times[begin] - times[begin - 1]
    share = (results.met - times[begin - 1]) / step
    total += step * (share * fields[begin - 1] + (1.0 - share) * fields[begin])
    return float(np.linalg.norm(path[-1] - path[0] - total))


def claims(settings: Settings, results: MeetingHyperplane) -> tuple[Claim, ...]:
    """(46) on both sides, one crossing, and the integral equation."""
    order = np.polyfit(np.log(settings.steps), np.log(results.distances), 1)[0]
    return (
        Claim.above(r"the samples satisfy Assumption 1 ($\mu$)", results.mu, 0.1, source="Fig. 19"),
        Claim.below(
            "on both sides the neuron is pushed off the negative sample (larger speed)",
            max(results.speed_inactive, results.speed_active),
            -0.05,
            source="Fig. 19, Eq. (46)",
        ),
        Claim.equal("the exact flow crosses the hyperplane once (crossings)", results.num_crossings, 1, source=OURS),
        Claim.equal("and never slides (slides)", results.num_slides, 0, source="Fig. 19"),
        Claim.below(
            "it is a Caratheodory solution (residual of the integral equation, trapezoidal rule)",
            _residual(settings, results),
            1e-4,
            source="Fig. 19",
        ),
        Claim.equal(
            "Euler's method crosses once at every step size (most)", int(np.max(results.crossings)), 1, source=OURS
        ),
        Claim.above("and tends to it (order in the step)", order, 0.8, source=OURS),
    )


def draw(settings: Settings, results: MeetingHyperplane, folder: Path) -> tuple[Path, ...]:
    """Field and crossing."""
    return draw_hyperplane(settings, results, folder / "fig19.png", "a Caratheodory solution: it crosses")


QUICK = Settings(second=(-0.5, 1.0))
FULL = Settings(second=(-0.5, 1.0), steps=(0.02, 0.01, 0.005, 0.0025, 0.00125, 0.000625, 0.0003125))
FIGURE = PaperFigure("min2024/fig19", __doc__, QUICK, FULL, compute, claims, draw)
