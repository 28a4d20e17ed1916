"""Figure 1: the loss of two points falls.

The paper shows the loss over time for one draw of ten neurons.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import reluflow
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure


@dataclass(frozen=True)
class Settings:
    """What the figure depends on."""

    width: int


def compute(settings: Settings, workbench: Any) -> dict[str, Any]:
    """One run to t = 5."""
    data = reluflow.load("smith-two-points")
    network = reluflow.balanced_initialization(data, width=settings.width, scale=0.1, rng=np.random.default_rng(0))
    problem = reluflow.TrainingProblem(data, reluflow.LogisticLoss(), network)
    run = reluflow.train(problem, reluflow.EventDrivenFlow(), until=5.0, keep=reluflow.Keep(thinned=50))
    return {"times": run.times, "losses": run.losses}


def claims(settings: Settings, results: dict[str, Any]) -> tuple[Claim, ...]:
    """What the paper says of it."""
    return (Claim.below("the loss at the end is below that at the start", results["losses"][-1], results["losses"][0]),)


def draw(settings: Settings, results: dict[str, Any], folder: Path) -> tuple[Path, ...]:
    """One curve."""
    from reluflow.viz.panels import Curve, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    panel = Panel("loss", "$t$", "$L$", [Curve(results["times"], results["losses"], "flow")])
    return (save_figure(plot_panels([panel], columns=1), folder / "fig1.png"),)


FIGURE = PaperFigure("smith2025/fig1", __doc__, Settings(10), Settings(10), compute, claims, draw)
