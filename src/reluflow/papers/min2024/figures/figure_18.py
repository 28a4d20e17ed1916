r"""Figure 18: where both sides push towards a hyperplane there is no Caratheodory solution.

The paper's sketch: the flow reaches a point of discontinuity and is forced to stay there, crossing infinitely often
(Zeno behaviour); the Caratheodory solution ends. Assumption 1 excludes it.

Here $x_1 = (1, 0)$ is negative and $x_2 = (0.5, 1)$ positive, so that $\mu < 0$. The exact flow follows Filippov's
solution, which slides along the hyperplane of $x_1$; Euler's method, whose steps know the two sides only, crosses it
ever more often as the step shrinks and tends to the slide.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.hyperplane_figure import draw_hyperplane
from reluflow.papers.min2024.figures.hyperplane_run import MeetingHyperplane, Settings, compute


def claims(settings: Settings, results: MeetingHyperplane) -> tuple[Claim, ...]:
    """What the caption says, and what Filippov's solution does instead."""
    rate = np.polyfit(np.log(settings.steps), np.log(results.crossings), 1)[0]
    order = np.polyfit(np.log(settings.steps), np.log(results.distances), 1)[0]
    return (
        Claim.below(r"the samples do not satisfy Assumption 1 ($\mu$)", results.mu, 0.0, source="Fig. 18, caption"),
        Claim.above(
            "on the inactive side the neuron is pushed towards the hyperplane (speed)",
            results.speed_inactive,
            0.05,
            source="Fig. 18",
        ),
        Claim.below("and so on the active side (speed)", results.speed_active, -0.05, source="Fig. 18"),
        Claim.above(
            r"with $\sigma'(0) = 0$ the field on the hyperplane points off it, so that staying is no Caratheodory "
            r"solution (speed)",
            results.slide[0],
            0.05,
            source=OURS,
        ),
        Claim.equal("the exact flow begins to slide where it meets it (slides)", results.num_slides, 1, source=OURS),
        Claim.below(
            "and stays on it (largest $|w_1|$ afterwards)",
            results.on_plane,
            1e-12,
            source="Fig. 18, caption: “forced to stay”",
        ),
        Claim.between(
            "Euler's method crosses infinitely often in the limit: crossings grow like 1/step (exponent)",
            rate,
            -1.2,
            -0.8,
            source="Fig. 18, caption: “infinitely many times”",
        ),
        Claim.above("and tends to Filippov's slide (order in the step)", order, 0.8, source=OURS),
    )


def draw(settings: Settings, results: MeetingHyperplane, folder: Path) -> tuple[Path, ...]:
    """Field, slide and zigzag."""
    return draw_hyperplane(settings, results, folder / "fig18.png", "no Caratheodory solution: it slides")


QUICK = Settings(second=(0.5, 1.0))
FULL = Settings(second=(0.5, 1.0), steps=(0.02, 0.01, 0.005, 0.0025, 0.00125, 0.000625, 0.0003125))
FIGURE = PaperFigure("min2024/fig18", __doc__, QUICK, FULL, compute, claims, draw)
