"""What Figures 2 and 3 share: moments of a run beside each other, its animation and its page with a slider."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reluflow.arrays import FloatArray, IntArray
from reluflow.papers.boursier2024.figures.training import FlowBeside, Scenes

if TYPE_CHECKING:
    from reluflow.viz.training_moments import Backdrop, TrainingMoment


@dataclass(frozen=True, eq=False)
class DrawnRun:
    """A run as it is drawn.

    Parameters
    ----------
    figure, title
        Its name in the paper, and what was trained.
    iterations
        Of its snapshots.
    names
        Of the moments drawn.
    panels, film
        The run at these moments, and at the frames of the animation.
    flow
        The exact flow at the same times.
    """

    figure: str
    title: str
    iterations: IntArray
    names: tuple[str, ...]
    panels: Scenes
    film: Scenes
    flow: FlowBeside


def draw_run(run: DrawnRun, backdrop: Backdrop, stem: Path, beside: Path) -> tuple[Path, ...]:
    """The moments, the picture `beside` them, the animation and the page, in files that begin with `stem`."""
    from reluflow.viz.saving import save_figure
    from reluflow.viz.training_animation import save_training_animation
    from reluflow.viz.training_moments import plot_training_moments
    from reluflow.viz.training_slider import save_training_slider

    titles = [f"{name} (iteration {at:,})" for name, at in zip(run.names, _iterations(run, run.panels), strict=True)]
    moments = _moments(titles, run.panels, run.flow.panel_curves)
    film = _moments([f"iteration {at:,}" for at in _iterations(run, run.film)], run.film, run.flow.film_curves)
    slider = stem.with_name(f"{stem.name}-slider.html")
    return (
        save_figure(plot_training_moments(moments, backdrop, title=run.title), stem.with_suffix(".png")),
        beside,
        save_training_animation(film, backdrop, stem.with_suffix(".gif")),
        save_training_slider(film, backdrop, slider, title=f"{run.figure}: {run.title}"),
    )


def _iterations(run: DrawnRun, scenes: Scenes) -> list[int]:
    return [int(at) for at in run.iterations[scenes.places]]


def _moments(titles: list[str], scenes: Scenes, predictions: FloatArray) -> list[TrainingMoment]:
    from reluflow.viz.training_moments import TrainingMoment

    parts = zip(titles, scenes.w, scenes.a, scenes.curves, predictions, strict=True)
    return [TrainingMoment(title, w, a, curve, prediction) for title, w, a, curve, prediction in parts]
