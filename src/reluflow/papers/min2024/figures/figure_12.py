r"""Figure 12: stochastic descent on both layers, where first only directions change and then norms grow.

Appendix A.5 trains 50 neurons on digits 0 and 1 of MNIST by stochastic gradient descent (batches of 2000, step 2e-3)
and shows, at the end of every epoch and for the full gradient, how the norms of the neurons change, the sum of
$2 \langle-\nabla L, w_j\rangle$, and how their directions do, the sum of $|P_j \nabla L|/|w_j|$. Early on only
directions change; then norms grow and the loss falls.

The quick size has 400 images, batches of the same share of them and steps five times as large; epochs are the paper's.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.two_phase_figure import draw_two_phases
from reluflow.papers.min2024.figures.two_phase_run import Settings, TwoPhases, compute, longest_early_phase


def claims(settings: Settings, results: TwoPhases) -> tuple[Claim, ...]:
    """Two phases: an interval in which only directions change, and the growth after it."""
    epochs, norms, turns = results.epochs, results.norm_changes, results.direction_changes
    turned, grown = int(np.argmax(turns)), int(np.argmax(norms))
    return (
        Claim.above(
            "there is an early phase in which only directions change (epochs in a row with more than 10 % of the "
            "largest change of directions, less than 1 % of that of norms and 99 % of the loss)",
            longest_early_phase(results),
            50,
            source="Fig. 12, caption: “only neuron directions are changing”",
        ),
        Claim.below(
            f"when directions change most, at epoch {epochs[turned]}, norms stand still (change over the largest)",
            abs(norms[turned]) / norms[grown],
            1e-4,
            source=OURS,
        ),
        Claim.above(
            "norms grow most later (epochs between the two)",
            int(epochs[grown]) - int(epochs[turned]),
            100,
            source="Fig. 12, caption: “in the second stage”",
        ),
        Claim.below(
            "the loss decreases in the second phase (at the end over the start)",
            results.losses[-1] / results.losses[0],
            0.2,
            source="Fig. 12, caption: “loss starts to decrease”",
        ),
    )


def draw(settings: Settings, results: TwoPhases, folder: Path) -> tuple[Path, ...]:
    """Loss, change of norms, change of directions."""
    return draw_two_phases(results, folder / "fig12.png", title="both layers trained")


FIGURE = PaperFigure(
    "min2024/fig12",
    __doc__,
    Settings(size=400, source="bundled", epochs=700, stride=5, trains_output_layer=True),
    Settings(size=None, source="full", epochs=700, stride=1, trains_output_layer=True, every=2),
    compute,
    claims,
    draw,
)
