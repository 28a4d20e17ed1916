r"""Figure 9: two orthogonal positive points, where only some of the living positive neurons end in $S_+$.

Appendix A.3 trains as in Figure 7 on $x_1 = (1, 0)$ and $x_2 = (0, 1)$, $\mu = 0$. Positive neurons end aligned with
$x_1$, with $x_2$ or with $x_+$, depending on where they start; only those in $S_+$ grow and fit the data, and they are
fewer than for $\mu > 0$. Grey rings and the squares of the loss are the exact gradient flow from the same neurons.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.data.registry import load
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.figure_7 import MOMENTS
from reluflow.papers.min2024.figures.plane_figure import draw_plane, flow_claims
from reluflow.papers.min2024.figures.plane_run import PlaneRuns, Settings, compute
from reluflow.papers.min2024.figures.section_4 import class_sums, cosines, smallest_correlation


def claims(settings: Settings, results: PlaneRuns) -> tuple[Claim, ...]:
    """App. A.3, beside mu = sin 0.1 from the same neurons."""
    data = load(settings.dataset)
    seeds = f"{len(settings.seeds)} seeds"
    w, a = results.first.moment_w[-1], results.first.moment_a[-1]
    living = w[(a > 0) & np.any(w @ data.X.T > 0.0, axis=1)]
    directions = (data.X[0], data.X[1], class_sums(data)[0])
    nearest = np.max([cosines(living, direction) for direction in directions], axis=0)
    fewer = [
        int(beside.num_positive_home[-1] - seed.num_positive_home[-1])
        for seed, beside in zip(results.seeds, results.companions, strict=True)
    ]
    return (
        Claim.near(
            r"the points are orthogonal ($\mu$)", smallest_correlation(data), 0.0, atol=1e-12, source="Fig. 9, caption"
        ),
        Claim.above(
            f"$S_+$ no longer holds all living positive neurons at the end (fewest outside of {seeds})",
            min(int(seed.num_positive_outside[-1]) for seed in results.seeds),
            1,
            source="App. A.3",
        ),
        Claim.above(
            f"each ends aligned with $x_1$, $x_2$ or $x_+$ (smallest cosine with the nearest, {len(living)} "
            f"neurons of the first seed)",
            np.min(nearest),
            0.99,
            source="Fig. 9, caption",
        ),
        Claim.below(
            f"only those in $S_+$ grow (largest norm of one outside over that of one inside, largest of {seeds})",
            np.max([seed.norms[-1, 1] / seed.norms[-1, 0] for seed in results.seeds]),
            0.05,
            why=r"The others grow too, at $1/\sqrt{2}$ of the rate, and are overtaken for ever once the data are "
            r"fitted.",
            source="App. A.3",
        ),
        Claim.above(
            rf"their number is less than for $\mu = \sin(0.1)$ (by how many, smallest of {seeds})",
            min(fewer),
            1,
            source="App. A.3",
        ),
        Claim.below(
            "and they fit the data (largest loss at 21000)",
            np.max([seed.losses[-1] for seed in results.seeds]),
            0.05,
            source="App. A.3",
        ),
        *flow_claims(settings, results),
    )


def draw(settings: Settings, results: PlaneRuns, folder: Path) -> tuple[Path, ...]:
    """Three moments and the loss."""
    return draw_plane(settings, results, folder / "fig9.png")


FIGURE = PaperFigure(
    "min2024/fig9",
    __doc__,
    Settings("min-orthogonal", MOMENTS, seeds=tuple(range(4)), companion="min-correlated"),
    Settings("min-orthogonal", MOMENTS, seeds=tuple(range(100)), companion="min-correlated"),
    compute,
    claims,
    draw,
)
