"""Figure 13: stochastic descent on the first layer only, where there are no two phases.

As Figure 12, with output weights drawn as +1 or -1 and never trained. The input weights are as small as before, but
grow at a constant rate and not in proportion to themselves: norms and directions change at once, and the loss falls in
the first epoch.

The quick size has 400 images and batches of the same share of them, at the paper's step size.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.two_phase_figure import draw_two_phases
from reluflow.papers.min2024.figures.two_phase_run import Settings, TwoPhases, compute, longest_early_phase


def claims(settings: Settings, results: TwoPhases) -> tuple[Claim, ...]:
    """No interval in which only directions change."""
    epochs, norms = results.epochs, results.norm_changes
    return (
        Claim.below(
            "there is no early phase in which only directions change (epochs in a row with more than 10 % of the "
            "largest change of directions, less than 1 % of that of norms and 99 % of the loss)",
            longest_early_phase(results),
            1,
            source="Fig. 13, caption",
        ),
        Claim.below("norms change most at once (at epoch)", int(epochs[np.argmax(norms)]), 1, source=OURS),
        Claim.below(
            "the loss falls in the first epoch (at its end over the start)",
            results.losses[np.flatnonzero(epochs == 1)[0]] / results.losses[0],
            0.5,
            source=OURS,
        ),
        Claim.below(
            "this scheme too achieves a small training loss (at the end over the start)",
            results.losses[-1] / results.losses[0],
            0.05,
            source="Sec. 4, comparison with other schemes",
        ),
    )


def draw(settings: Settings, results: TwoPhases, folder: Path) -> tuple[Path, ...]:
    """Loss, change of norms, change of directions."""
    return draw_two_phases(results, folder / "fig13.png", title="first layer only", is_steep=True)


FIGURE = PaperFigure(
    "min2024/fig13",
    __doc__,
    Settings(size=400, source="bundled", epochs=60, stride=1, trains_output_layer=False),
    Settings(size=None, source="full", epochs=60, stride=1, trains_output_layer=False),
    compute,
    claims,
    draw,
)
