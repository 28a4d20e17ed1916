"""Settings of Figures 1, 7 and 8, and the measures at the end of all their runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.chistikov2023.figures.scales_run import KINDS, run_of
from reluflow.papers.workbench import Workbench


@dataclass(frozen=True)
class Settings:
    """Dimensions, powers k of the scales 4^-k, draws, widths.

    Parameters
    ----------
    large, powers_in_large
        The dimensions `large` are trained from the scales of the powers `powers_in_large` alone.
    compared, further
        At the powers `compared`, of those of which the paper prints medians, so many `further` draws are trained beside
        `seeds`: they say how far medians of few draws differ.
    """

    dimensions: tuple[int, ...]
    powers: tuple[int, ...]
    seeds: tuple[int, ...]
    widths: tuple[int, ...] = (200,)
    large: tuple[int, ...] = ()
    powers_in_large: tuple[int, ...] = ()
    compared: tuple[int, ...] = ()
    further: int = 0

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """All pairs of a dimension and a width."""
        return tuple((d, width) for d in self.dimensions for width in self.widths)

    @property
    def scales(self) -> FloatArray:
        """The scales themselves."""
        return np.asarray(4.0 ** -np.array(self.powers, dtype=float))

    @property
    def every_seed(self) -> tuple[int, ...]:
        """The seeds, and those of the further draws, which count on from the largest."""
        first = max(self.seeds) + 1
        return (*self.seeds, *range(first, first + self.further))

    def columns(self, size: int) -> list[int]:
        """Places in `powers` of the scales from which the size at that place in `sizes` is trained."""
        is_large = self.sizes[size][0] in self.large
        return [i for i, power in enumerate(self.powers) if not is_large or power in self.powers_in_large]


@dataclass(frozen=True, eq=False)
class ScaleEnds:
    """The measures of `EndOfRun` over kind, size, draw (all of `every_seed`) and scale; nan where none was trained."""

    largest: FloatArray
    average: FloatArray
    nuclear: FloatArray
    squared: FloatArray


def compute(settings: Settings, workbench: Workbench) -> ScaleEnds:
    """Largest and average angle within J_+, nuclear and squared norm at the end: over kind, size, draw and scale."""
    runs = [
        (kind, size, place, column)
        for kind in range(len(KINDS))
        for size in range(len(settings.sizes))
        for place in range(len(settings.every_seed))
        for column in settings.columns(size)
        if place < len(settings.seeds) or settings.powers[column] in settings.compared
    ]
    measures = np.full((4, len(KINDS), len(settings.sizes), len(settings.every_seed), len(settings.powers)), np.nan)
    for count, (kind, size, place, column) in enumerate(runs):
        d, width = settings.sizes[size]
        seed, power = settings.every_seed[place], settings.powers[column]
        workbench.progress(count / len(runs), f"{KINDS[kind]}, d = {d}, m = {width}, draw {seed}, scale 4^{-power}")
        end = run_of(workbench, KINDS[kind], d, width, seed, power)
        measures[:, kind, size, place, column] = (end.largest, end.average, end.nuclear, end.squared)
    return ScaleEnds(*measures)


def medians(settings: Settings, measure: FloatArray) -> FloatArray:
    """Medians of a measure over the draws of `seeds`, as in the paper: over kind, size and scale; nan for none."""
    return np.asarray(np.median(measure[:, :, : len(settings.seeds)], axis=2))


def at_smallest(settings: Settings, values: FloatArray) -> FloatArray:
    """Values over kind, size and scale at the smallest scale from which each size is trained: over kind and size."""
    return np.stack([values[:, size, settings.columns(size)[-1]] for size in range(len(settings.sizes))], axis=1)


def last_factors(settings: Settings, values: FloatArray) -> FloatArray:
    """Factors by which medians fall per factor 4 of the scale, between the two smallest of each size."""
    factors = []
    for size in range(len(settings.sizes)):
        before, last = settings.columns(size)[-2:]
        step = settings.powers[last] - settings.powers[before]
        factors.append((values[:, size, before] / values[:, size, last]) ** (1.0 / step))
    return np.stack(factors, axis=1)
