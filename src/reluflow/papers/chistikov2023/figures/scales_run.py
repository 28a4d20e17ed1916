"""The runs of Figures 1, 7 and 8: one draw of samples and neurons, trained to the end from every scale."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.experiments.store import Results
from reluflow.experiments.workbench import Workbench
from reluflow.papers.chistikov2023.figures.draws import angles, draw, largest_angle, nuclear_norm, squared_norm, trained

KINDS = ("centred", "uncentred")
MEASURES = ("largest", "average", "nuclear", "squared")


@dataclass(frozen=True)
class Settings:
    """Dimensions, powers k of the scales 4^-k, draws, widths."""

    dimensions: tuple[int, ...]
    powers: tuple[int, ...]
    seeds: tuple[int, ...]
    widths: tuple[int, ...] = (200,)

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """All pairs of a dimension and a width; one of the two lists has a single entry."""
        return tuple((d, width) for d in self.dimensions for width in self.widths)

    @property
    def scales(self) -> FloatArray:
        """The scales themselves."""
        return np.asarray(4.0 ** -np.array(self.powers, dtype=float))


def compute(settings: Settings, workbench: Workbench) -> Results:
    """Largest and average angle within J_+, nuclear and squared norm at the end: over kind, size, draw and scale."""
    shape = (len(KINDS), len(settings.sizes), len(settings.seeds), len(settings.powers))
    results = {name: np.zeros(shape) for name in MEASURES}
    total, done = int(np.prod(shape[:3])), 0
    for i, kind in enumerate(KINDS):
        for j, (d, width) in enumerate(settings.sizes):
            for k, seed in enumerate(settings.seeds):
                workbench.progress(done / total, f"{kind}, d = {d}, m = {width}, draw {seed}")
                found = workbench.piece(
                    f"{kind}-{d}-{width}-{seed}",
                    partial(_ends, kind, d, width, seed, settings.powers),
                    settings=(kind, d, width, seed, settings.powers),
                )
                for name in MEASURES:
                    results[name][i, j, k] = found[name]
                done += 1
    return dict(results)


def _ends(kind: str, d: int, width: int, seed: int, powers: tuple[int, ...]) -> Results:
    trial = draw(seed, d=d, width=width, centred=kind == "centred")
    ends = [trained(trial, -power * float(np.log(4.0))).network for power in powers]
    groups = [end.w[trial.group] for end in ends]
    return {
        "largest": np.array([largest_angle(group) for group in groups]),
        "average": np.array([np.mean(angles(group)) if len(group) > 1 else 0.0 for group in groups]),
        "nuclear": np.array([nuclear_norm(end) for end in ends]),
        "squared": np.array([squared_norm(end) for end in ends]),
    }


def medians(results: Results, name: str) -> FloatArray:
    """Medians over the draws, as the paper has them: over kind, size and scale."""
    return np.asarray(np.median(results[name], axis=2))


def last_factors(settings: Settings, values: FloatArray) -> FloatArray:
    """By which factor medians fall per factor 4 of the scale, between the two smallest scales."""
    step = settings.powers[-1] - settings.powers[-2]
    return np.asarray((values[..., -2] / values[..., -1]) ** (1.0 / step))
