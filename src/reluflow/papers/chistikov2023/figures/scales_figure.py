"""Claims and pictures that Figures 1, 7 and 8 share: measures at the end of training against the scale."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.chistikov2023.figures.medians_of_five import RARELY, MedianRange, median_range
from reluflow.papers.chistikov2023.figures.published_medians import PublishedMedians
from reluflow.papers.chistikov2023.figures.scales_ends import (
    ScaleEnds,
    Settings,
    at_smallest,
    compute,
    last_factors,
    medians,
)
from reluflow.papers.chistikov2023.figures.scales_run import KINDS
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure

if TYPE_CHECKING:
    from reluflow.viz.panels import Curve

SLOPE = 0.04  # of the factor 4.00 that the tables print


@dataclass(frozen=True)
class EndMeasure:
    """One row of a figure: what it is in words and on its axis, where its values are, and the level they tend to."""

    words: str
    label: str
    of: Callable[[ScaleEnds], FloatArray]
    limit: float | None = None


LARGEST = EndMeasure("of the largest angle", "largest angle in $J_+$ (degrees), median", lambda ends: ends.largest)
AVERAGE = EndMeasure("of the average angle", "average angle in $J_+$ (degrees), median", lambda ends: ends.average)
NUCLEAR = EndMeasure("of the nuclear norm", "nuclear norm of $W$, median", lambda ends: ends.nuclear, limit=1.0)


@dataclass(frozen=True)
class ScalesRow:
    """A measure, where the paper has its numbers, and its printed medians that are put beside ours, by kind."""

    measure: EndMeasure
    source: str
    published: Mapping[str, PublishedMedians] = field(default_factory=dict)


def scales_figure(
    key: str,
    about: str | None,
    rows: tuple[ScalesRow, ...],
    label: Callable[[int, int], str],
    *,
    quick: Settings,
    full: Settings,
    reduced: str = "",
) -> PaperFigure[Settings, ScaleEnds]:
    """A figure of these rows, whose curves `label` names for a dimension and a width."""
    nuclear = next((row.source for row in rows if row.measure is NUCLEAR), "Fig. 7, Tables 5 and 6")

    def claims(settings: Settings, results: ScaleEnds) -> tuple[Claim, ...]:
        slopes = [
            slope_claims(settings, row.measure.of(results), row.measure.words, source=row.source)
            for row in rows
            if row.measure.limit is None
        ]
        beside = [claim for row in rows for claim in median_claims(settings, row, results)]
        return (*(claim for pair in slopes for claim in pair), *norm_claims(settings, results, source=nuclear), *beside)

    def draw(settings: Settings, results: ScaleEnds, folder: Path) -> tuple[Path, ...]:
        path = folder / f"{key.partition('/')[2]}.png"
        return draw_scales(settings, results, path, rows=[row.measure for row in rows], label=label)

    return PaperFigure(key, about, quick, full, compute, claims, draw, reduced)


def slope_claims(settings: Settings, angles: FloatArray, what: str, *, source: str) -> tuple[Claim, ...]:
    """The medians of an angle fall by 4.00 per factor 4 of the scale, for either kind of data."""
    factors = last_factors(settings, medians(settings, angles))
    return tuple(
        Claim(
            f"{kind}: at the smallest scales the median {what} falls by 4.00 per factor 4 of the scale",
            bool(np.all(np.abs(factors[i] - 4.0) < SLOPE)),
            tuple(round(float(x), 4) for x in factors[i]),
            f"{4 - SLOPE:g} to {4 + SLOPE:g} at every size",
            source=source,
        )
        for i, kind in enumerate(KINDS)
    )


def median_claims(settings: Settings, row: ScalesRow, results: ScaleEnds) -> list[Claim]:
    """The medians that the paper prints beside ours: its seeds and data are not kept, so that the draws are others."""
    every, found = row.measure.of(results), []
    for i, kind in enumerate(KINDS):
        table = row.published.get(kind)
        for k, power in enumerate(settings.powers):
            theirs = None if table is None else table.of(power, settings.sizes)
            if table is not None and theirs:
                words = f"{kind}: the medians {row.measure.words}"
                found.append(_median_claim(settings, words, table, power, theirs, every[i, ..., k]))
    return found


def _median_claim(
    settings: Settings,
    medians_of_what: str,
    table: PublishedMedians,
    power: int,
    theirs: Mapping[int, float],
    draws: FloatArray,
) -> Claim:
    """Printed medians, by the place of their size, against the ranges of our draws, which are over size and draw.

    One that lies outside where this happens by chance more often than `RARELY` decides nothing.
    """
    ranges = {size: median_range(draws[size][np.isfinite(draws[size])]) for size in theirs}
    missed = [size for size, one in ranges.items() if not one.has(theirs[size])]
    outside = f"Outside for {_sizes_in_words(settings, missed)}." if missed else ""
    is_decided = not missed or any(ranges[size].missed <= RARELY for size in missed)
    lows, highs = _short(one.low for one in ranges.values()), _short(one.high for one in ranges.values())
    return Claim(
        f"{medians_of_what} that Table {table.number} prints at $\\lambda = 4^{{{-power}}}$ lie where medians of our "
        f"draws do; ours beside them (degrees, {_sizes_in_words(settings, theirs)})",
        not missed if is_decided else None,
        _short(np.median(draws[list(theirs), : len(settings.seeds)], axis=1)),
        f"Table {table.number}: {tuple(theirs.values())}, between {lows} and {highs}",
        why=" ".join(words for words in (outside, _chances(ranges.values()), table.doubts.get(power, "")) if words),
        finding=bool(missed) and is_decided,
        source=OURS,
    )


def _short(values: Iterable[float]) -> tuple[float, ...]:
    """Four digits, as the tables print."""
    return tuple(float(f"{value:.4g}") for value in values)


def _sizes_in_words(settings: Settings, places: Iterable[int]) -> str:
    """Dimensions and widths, as a claim lists its numbers.

    >>> _sizes_in_words(Settings((4, 1024), (8,), (0,)), [0, 1])
    'd = 4, 1,024; m = 200'
    """
    sizes = [settings.sizes[place] for place in places]
    dimensions, widths = (dict.fromkeys(number for number in numbers) for numbers in zip(*sizes, strict=True))
    return f"d = {', '.join(f'{d:,}' for d in dimensions)}; m = {', '.join(str(width) for width in widths)}"


def _chances(ranges: Iterable[MedianRange]) -> str:
    """How often the median of five draws lies outside such a range by chance."""
    by_number = {one.num_draws: one.missed for one in ranges}
    parts = [f"{100.0 * share:.2g} % of medians of five miss the range of {n} draws" for n, share in by_number.items()]
    return f"By chance {', '.join(parts)}."


def norm_claims(settings: Settings, results: ScaleEnds, *, source: str) -> tuple[Claim, ...]:
    """At the smallest scale the network has rank one and is balanced."""
    nuclear = at_smallest(settings, medians(settings, results.nuclear))
    unbalanced = at_smallest(settings, medians(settings, np.abs(results.squared - 2.0 * results.nuclear**2)))
    return (
        Claim.below(
            "at the smallest scale the network has rank one: median nuclear norm of $W$, distance to 1",
            float(np.max(np.abs(nuclear - 1.0))),
            0.01,
            source=source,
        ),
        Claim.below(
            "and the squared norm of all weights, 2 in the limit, is twice the square of that norm: median distance",
            float(np.max(unbalanced)),
            0.01,
            source=OURS,
        ),
    )


def draw_scales(
    settings: Settings, results: ScaleEnds, path: Path, *, rows: Sequence[EndMeasure], label: Callable[[int, int], str]
) -> tuple[Path, ...]:
    """One row of panels per measure, one column per kind: medians with all draws behind them, named under the last."""
    from reluflow.viz.panels import Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    panels = []
    for row, measure in enumerate(rows):
        for i, kind in enumerate(KINDS):
            levels = [] if measure.limit is None else [Guide(measure.limit, f"limit, {measure.limit:g}", look=7)]
            panels.append(
                Panel(
                    f"({'abcdef'[2 * row + i]}) {kind}",
                    "scale $\\lambda$",
                    measure.label,
                    _curves(settings, measure.of(results)[i, :, : len(settings.seeds)], label),
                    levels=levels,
                    x_scale="log",
                    y_scale="log",
                    legend="below" if measure is rows[-1] else "",
                )
            )
    return (save_figure(plot_panels(panels, columns=2, panel_size=(3.9, 3.3)), path),)


def _curves(settings: Settings, measured: FloatArray, label: Callable[[int, int], str]) -> list[Curve]:
    """For each size a thin line per draw and the marked line of the medians."""
    from reluflow.viz.panels import Curve

    curves = []
    for look, ((d, width), values) in enumerate(zip(settings.sizes, measured, strict=True)):
        columns = settings.columns(look)
        scales = settings.scales[columns]
        for k, one in enumerate(values):
            name = "" if look or k else "each draw, thin"
            curves.append(Curve(scales, one[columns], name, look=look, kind="line", is_faint=True))
        middle = np.median(values[:, columns], axis=0)
        curves.append(Curve(scales, middle, label(d, width), look=look, kind="marked"))
    return curves
