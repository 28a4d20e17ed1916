"""Figure 1: the loss of two points falls.

The paper shows the loss over time for one draw of ten neurons.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import reluflow
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.workbench import Workbench


@dataclass(frozen=True)
class Settings:
    """What the figure depends on."""

    width: int


@dataclass(frozen=True, eq=False)
class LossCurve:
    """What the claims and the drawing need."""

    times: NDArray[np.float64]
    losses: NDArray[np.float64]


def compute(settings: Settings, workbench: Workbench) -> LossCurve:
    """One run to t = 5."""
    data = reluflow.load("smith-two-points")
    network = reluflow.balanced_initialization(data, width=settings.width, scale=0.1, rng=np.random.default_rng(0))
    problem = reluflow.TrainingProblem(data, reluflow.LogisticLoss(), network)
    run = reluflow.train(problem, reluflow.EventDrivenFlow(), until=5.0, keep=reluflow.Keep(thinned=50))
    return LossCurve(run.times, run.losses)


def claims(settings: Settings, results: LossCurve) -> tuple[Claim, ...]:
    """What the paper says of it."""
    return (Claim.below("the loss falls", results.losses[-1], results.losses[0], source="Fig. 1, caption"),)


def draw(settings: Settings, results: LossCurve, folder: Path) -> tuple[Path, ...]:
    """One curve."""
    from reluflow.viz.panels import Curve, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    panel = Panel("loss", "$t$", "$L$", [Curve(results.times, results.losses, "flow")])
    return (save_figure(plot_panels([panel], columns=1), folder / "fig1.png"),)


FIGURE = PaperFigure("smith2025/fig1", __doc__, Settings(10), Settings(10), compute, claims, draw)
