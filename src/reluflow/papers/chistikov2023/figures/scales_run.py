"""The runs of Figures 1, 7 and 8: one draw of samples and neurons, trained to the end from every scale."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.chistikov2023.figures.draws import angles, draw, largest_angle, nuclear_norm, squared_norm, trained
from reluflow.papers.workbench import Workbench

KINDS = ("centred", "uncentred")
RUNS = "chistikov2023/scales"  # where the three figures keep the runs they share
LAZY = 2  # up to the scale 4^-2 neurons keep many patterns and turn by tens of degrees
RTOL = 1e-8
RTOL_LAZY = 1e-5  # moves those angles by less than 1e-4 of themselves, as much as where exactly a run stops


@dataclass(frozen=True)
class Settings:
    """Dimensions, powers k of the scales 4^-k, draws, widths.

    Parameters
    ----------
    compared, further
        At the powers `compared`, of those of which the paper prints medians, so many `further` draws are trained beside
        `seeds`: they say how far medians of few draws differ.
    """

    dimensions: tuple[int, ...]
    powers: tuple[int, ...]
    seeds: tuple[int, ...]
    widths: tuple[int, ...] = (200,)
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

    def trains(self, place: int, power: int) -> bool:
        """Whether the draw at a place of `every_seed` is trained from that scale."""
        return place < len(self.seeds) or power in self.compared


@dataclass(frozen=True, eq=False)
class ScaleEnds:
    """Measures at the end of training, over kind, size, draw (all of `every_seed`) and scale; nan where none was.

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


@dataclass(frozen=True)
class EndOfRun:
    """The same measures of one run."""

    largest: float
    average: float
    nuclear: float
    squared: float


def compute(settings: Settings, workbench: Workbench) -> ScaleEnds:
    """Largest and average angle within J_+, nuclear and squared norm at the end: over kind, size, draw and scale."""
    runs = [
        (kind, size, place, column)
        for kind in range(len(KINDS))
        for size in range(len(settings.sizes))
        for place in range(len(settings.every_seed))
        for column, power in enumerate(settings.powers)
        if settings.trains(place, power)
    ]
    measures = np.full((4, len(KINDS), len(settings.sizes), len(settings.every_seed), len(settings.powers)), np.nan)
    for count, (kind, size, place, column) in enumerate(runs):
        d, width = settings.sizes[size]
        seed, power = settings.every_seed[place], settings.powers[column]
        workbench.progress(count / len(runs), f"{KINDS[kind]}, d = {d}, m = {width}, draw {seed}, scale 4^{-power}")
        end = run_of(workbench, KINDS[kind], d, width, seed, power)
        measures[:, kind, size, place, column] = (end.largest, end.average, end.nuclear, end.squared)
    return ScaleEnds(*measures)


def run_of(workbench: Workbench, kind: str, d: int, width: int, seed: int, power: int) -> EndOfRun:
    """One draw trained from one scale, or what is kept of it."""
    given = (kind, d, width, seed, power)
    name = "-".join(str(word) for word in given)
    return workbench.piece(name, EndOfRun, partial(_end, *given), settings=given, of=RUNS)


def _end(kind: str, d: int, width: int, seed: int, power: int) -> EndOfRun:
    trial = draw(seed, d=d, width=width, centred=kind == "centred")
    end = trained(trial, -power * float(np.log(4.0)), rtol=RTOL_LAZY if power <= LAZY else RTOL).network
    group = end.w[trial.group]
    return EndOfRun(
        largest=largest_angle(group),
        average=float(np.mean(angles(group))) if len(group) > 1 else 0.0,
        nuclear=nuclear_norm(end),
        squared=squared_norm(end),
    )


def medians(settings: Settings, measure: FloatArray) -> FloatArray:
    """Medians of a measure over the draws of `seeds`, as in the paper: over kind, size and scale; nan for none."""
    return np.asarray(np.median(measure[:, :, : len(settings.seeds)], axis=2))


def last_factors(settings: Settings, values: FloatArray) -> FloatArray:
    """Factors by which medians fall per factor 4 of the scale, between the two smallest."""
    step = settings.powers[-1] - settings.powers[-2]
    return np.asarray((values[..., -2] / values[..., -1]) ** (1.0 / step))
