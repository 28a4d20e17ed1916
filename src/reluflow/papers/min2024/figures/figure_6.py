r"""Figure 6: four points of the plane, where neurons align with $x_+$ and $x_-$ and then fit the data.

The paper trains 50 neurons (all entries of deviation 1e-6, step 2e-3) on a toy set that satisfies Assumption 1 and
shows neurons (markers) and their directions (lines) among the data: (a) at the start, small and in all directions; (b)
around the end of the alignment phase, all in $S_+$, $S_-$ or $S_{\mathrm{dead}}$, and those in $S_+$ and $S_-$ aligned
with $x_+$ and $x_-$; (c) at the end, grown and of low rank. The loss has two sharp decreases.

Coordinates, loss and iterations are not printed; these points are ours, the loss is the mean exponential one, as in
Figure 5, where the paper defines a sum. Grey
rings and the squares of the loss are the exact gradient flow from the same neurons.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.data.registry import load
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.plane_figure import draw_plane, every_start_claim, flow_claims
from reluflow.papers.min2024.figures.plane_run import ALIGNED, PlaneRuns, Settings, compute
from reluflow.papers.min2024.figures.section_4 import WIDTH, smallest_correlation

SHARP = 0.2  # of the steepest fall of the loss: a local maximum of the rate above this counts as a sharp decrease


def claims(settings: Settings, results: PlaneRuns) -> tuple[Claim, ...]:
    """The caption and App. A.1, for every seed."""
    seeds = f"{len(settings.seeds)} seeds"
    mu = smallest_correlation(load(settings.dataset))
    falls = sharp_decreases(results.first.iterations, results.first.losses)
    return (
        Claim.above(r"the data satisfy Assumption 1 ($\mu$)", mu, 0.0, source="App. A.1"),
        Claim.equal(
            rf"(b) around the end of the alignment phase all {WIDTH} neurons are in $S_+$ ($a > 0$), $S_-$ "
            rf"($a < 0$) or $S_{{\mathrm{{dead}}}}$ (elsewhere in the run drawn)",
            int(results.seeds[0].num_outside[1]),
            0,
            source="Fig. 6(b), caption",
        ),
        every_start_claim(settings, [int(seed.num_outside[1]) for seed in results.seeds]),
        Claim.above(
            f"those in $S_+$ and $S_-$ are then well aligned with $x_+$ and $x_-$ (share with a cosine above "
            f"{ALIGNED}, smallest of {seeds})",
            np.min([seed.aligned_shares[1] for seed in results.seeds]),
            0.85,
            source="Fig. 6(b), caption",
        ),
        Claim.above(
            "and the loss is still close to its start (smallest)",
            np.min([seed.losses[1] for seed in results.seeds]),
            0.99,
            source=OURS,
        ),
        Claim.equal(
            "the loss has two sharp decreases (how many)", len(falls), 2, source="App. A.1: “two sharp decreases”"
        ),
        Claim.below(
            "(c) the loss is close to zero at the end (largest)",
            np.max([seed.losses[-1] for seed in results.seeds]),
            0.05,
            source="Fig. 6(c), caption",
        ),
        Claim.below(
            rf"and $W$ approximately of low rank (stable rank, largest of {seeds}; the bound is $2/(1 + \mu)$)",
            np.max([seed.ranks[-1] for seed in results.seeds]),
            2.0 / (1.0 + mu),
            source="Fig. 6(c), caption",
        ),
        Claim.below(
            "dead neurons do not move (largest norm at the end over that of the others)",
            np.max([seed.norms[-1, 2] / seed.norms[-1, 0] for seed in results.seeds]),
            1e-4,
            source=OURS,
        ),
        *flow_claims(settings, results),
    )


def sharp_decreases(iterations: IntArray, losses: FloatArray) -> list[int]:
    """Iterations at which the loss falls fastest: local maxima of its rate of decrease.

    >>> sharp_decreases(np.arange(8), np.array([9.0, 9.0, 6.0, 5.9, 5.8, 3.0, 2.9, 2.9]))
    [1, 4]
    """
    rates = -np.diff(losses) / np.diff(iterations)
    inner = np.concatenate([[-np.inf], rates, [-np.inf]])
    is_peak = (rates > inner[:-2]) & (rates >= inner[2:]) & (rates > SHARP * np.max(rates))
    return [int(iteration) for iteration in iterations[:-1][is_peak]]


def draw(settings: Settings, results: PlaneRuns, folder: Path) -> tuple[Path, ...]:
    """Three moments and the loss."""
    return draw_plane(settings, results, folder / "fig6.png")


MOMENTS = (0, 9_000, 30_000)

FIGURE = PaperFigure(
    "min2024/fig6",
    __doc__,
    Settings("min-toy", MOMENTS, seeds=tuple(range(4))),
    Settings("min-toy", MOMENTS, seeds=tuple(range(100))),
    compute,
    claims,
    draw,
)
