r"""Figure 7: two positive points with $\mu = \sin(0.1)$, where every living positive neuron reaches $S_+$.

Appendix A.2 trains as in Figure 6 on $x_1 = (1, 0)$ and $x_2 = (\sin(0.1), \cos(0.1))$, both positive. By iteration
7000 all positive neurons that are not dead have reached $S_+$, where both points activate them, and are aligned with
$x_+$; then they grow and fit the data. Grey rings and the squares of the loss are the exact gradient flow from the
same neurons.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.plane_figure import draw_plane, every_start_claim, flow_claims
from reluflow.papers.min2024.figures.plane_run import ALIGNED, PlaneRuns, Settings, compute

MOMENTS = (0, 7_000, 21_000)


def claims(settings: Settings, results: PlaneRuns) -> tuple[Claim, ...]:
    """App. A.2 for t = 0.1."""
    seeds = f"{len(settings.seeds)} seeds"
    return (
        Claim.equal(
            "at iteration 7000 all living positive neurons have reached $S_+$ (outside in the run drawn)",
            int(results.seeds[0].num_positive_outside[1]),
            0,
            source="App. A.2",
        ),
        every_start_claim(settings, [int(seed.num_positive_outside[1]) for seed in results.seeds]),
        Claim.above(
            f"and are aligned with $x_+$ (share with a cosine above {ALIGNED}, smallest of {seeds})",
            np.min([seed.aligned_shares[1] for seed in results.seeds]),
            0.85,
            source="Fig. 7, caption",
        ),
        Claim.above(
            "the loss is then close to its start (smallest)",
            np.min([seed.losses[1] for seed in results.seeds]),
            0.98,
            source=OURS,
        ),
        Claim.below(
            "final convergence follows (largest loss at 21000)",
            np.max([seed.losses[-1] for seed in results.seeds]),
            0.05,
            source="App. A.2: “final convergence follows”",
        ),
        *flow_claims(settings, results),
    )


def draw(settings: Settings, results: PlaneRuns, folder: Path) -> tuple[Path, ...]:
    """Three moments and the loss."""
    return draw_plane(settings, results, folder / "fig7.png")


FIGURE = PaperFigure(
    "min2024/fig7",
    __doc__,
    Settings("min-correlated", MOMENTS, seeds=tuple(range(4))),
    Settings("min-correlated", MOMENTS, seeds=tuple(range(100))),
    compute,
    claims,
    draw,
)
