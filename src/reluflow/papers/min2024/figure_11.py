"""Figure 11: digits 1 and 7 of MNIST, trained as digits 0 and 1 in Figure 5.

Appendix A.4 shows the plots of Figure 5 for digits 1 and 7 and says nothing about them in words. The same order of
events is to be seen: alignment with the class sums, then growth and the fall of the loss, a stable rank below 2. These
digits are harder to tell apart, so everything takes longer and the alignment drops further in the end.

The quick size has 400 images and steps ten times as large; iterations are counted in the paper's steps.
"""

from __future__ import annotations

from pathlib import Path

from reluflow.experiments.store import Results
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.digits_figure import draw_digits, first_below, shared_claims
from reluflow.papers.min2024.digits_run import Settings, compute


def claims(settings: Settings, results: Results) -> tuple[Claim, ...]:
    """What is to be seen for every pair of digits; the paper's text makes no numerical claim here."""
    return (
        *shared_claims(settings, results),
        Claim.above(
            "all this takes longer than for digits 0 and 1, whose loss is down by a tenth at some 2900 (iteration)",
            first_below(results, 0.9),
            3_600,
        ),
    )


def draw(settings: Settings, results: Results, folder: Path) -> tuple[Path, ...]:
    """The four plots of the paper in six panels."""
    return draw_digits(settings, results, folder / "fig11.png")


FIGURE = PaperFigure(
    "min2024/fig11",
    __doc__,
    Settings((1, 7), size=400, source="bundled", stride=10),
    Settings((1, 7), size=None, source="full", stride=1),
    compute,
    claims,
    draw,
)
