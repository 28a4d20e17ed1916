"""The runs of Figures 1, 7 and 8: one draw of samples and neurons, trained to the end from every scale."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.chistikov2023.figures.draws import angles, draw, largest_angle, nuclear_norm, squared_norm, trained
from reluflow.papers.workbench import Workbench

KINDS = ("centred", "uncentred")


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


@dataclass(frozen=True, eq=False)
class ScaleEnds:
    """Measures at the end of training: of one draw, an entry for each scale; of all, over kind, size, draw and scale.

    Parameters
    ----------
    largest, average
        Of the angles between two neurons of J_+, in degrees.
    nuclear, squared
        Nuclear norm of W, squared norm of all weights.
    """

    largest: FloatArray
    average: FloatArray
    nuclear: FloatArray
    squared: FloatArray


def compute(settings: Settings, workbench: Workbench) -> ScaleEnds:
    """Largest and average angle within J_+, nuclear and squared norm at the end: over kind, size, draw and scale."""
    shape = (len(KINDS), len(settings.sizes), len(settings.seeds), len(settings.powers))
    found: list[ScaleEnds] = []
    for kind in KINDS:
        for d, width in settings.sizes:
            for seed in settings.seeds:
                words = f"{kind}, d = {d}, m = {width}, draw {seed}"
                workbench.progress(len(found) / int(np.prod(shape[:3])), words)
                ends = workbench.piece(
                    f"{kind}-{d}-{width}-{seed}",
                    ScaleEnds,
                    partial(_ends, kind, d, width, seed, settings.powers),
                    settings=(kind, d, width, seed, settings.powers),
                )
                found.append(ends)
    return ScaleEnds(
        largest=np.array([ends.largest for ends in found]).reshape(shape),
        average=np.array([ends.average for ends in found]).reshape(shape),
        nuclear=np.array([ends.nuclear for ends in found]).reshape(shape),
        squared=np.array([ends.squared for ends in found]).reshape(shape),
    )


def _ends(kind: str, d: int, width: int, seed: int, powers: tuple[int, ...]) -> ScaleEnds:
    trial = draw(seed, d=d, width=width, centred=kind == "centred")
    ends = [trained(trial, -power * float(np.log(4.0))).network for power in powers]
    groups = [end.w[trial.group] for end in ends]
    return ScaleEnds(
        largest=np.array([largest_angle(group) for group in groups]),
        average=np.array([np.mean(angles(group)) if len(group) > 1 else 0.0 for group in groups]),
        nuclear=np.array([nuclear_norm(end) for end in ends]),
        squared=np.array([squared_norm(end) for end in ends]),
    )


def medians(measure: FloatArray) -> FloatArray:
    """Medians of a measure over the draws, as the paper has them: over kind, size and scale."""
    return np.asarray(np.median(measure, axis=2))


def last_factors(settings: Settings, values: FloatArray) -> FloatArray:
    """By which factor medians fall per factor 4 of the scale, between the two smallest scales."""
    step = settings.powers[-1] - settings.powers[-2]
    return np.asarray((values[..., -2] / values[..., -1]) ** (1.0 / step))
