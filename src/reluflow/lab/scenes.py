"""The scenes of the tour, as the page shows them and as the documentation plays them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from reluflow.lab.joined import page_text

if TYPE_CHECKING:
    from reluflow.dynamics.trajectory import Trajectory
    from reluflow.experiment import Experiment

FIRST = "what-you-see"  # it explains the picture, and stands last in the file


@dataclass(frozen=True)
class TourScene:
    """A run that shows one thing, what it shows, and what to try on it."""

    name: str
    title: str
    paper: str
    words: str
    act: str
    run: dict[str, Any]

    def experiment(self) -> Experiment:
        """The run as the laboratory takes it."""
        from reluflow.lab.state import read_state

        return read_state(self.run)

    def trajectory(self) -> Trajectory:
        """The run to its end."""
        from reluflow.lab import adapter

        experiment = self.experiment()
        return adapter.run_of(experiment, adapter.problem_of(experiment), lambda run: None)


@cache
def scenes() -> tuple[TourScene, ...]:
    """All scenes in the order of the tour."""
    text = page_text("scenes.js").partition("export const SCENES = ")[2].rstrip().removesuffix(";")
    found = [TourScene(**{key: value for key, value in row.items() if key != "view"}) for row in json.loads(text)]
    return tuple(sorted(found, key=lambda scene: scene.name != FIRST))
