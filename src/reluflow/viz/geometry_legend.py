"""The legend of the polar picture: which look means what, with norms and probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reluflow.data.dataset import Dataset
from reluflow.viz.legend import boundary_entry, sample_entries, vector_entry, words_entry
from reluflow.viz.polar import angles_of
from reluflow.viz.style import DARK, LIGHT, NEGATIVE, POSITIVE, attractor_look

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

    from reluflow.geometry.basins import Basin
    from reluflow.geometry.extremal import ExtremalVectors

MAX_LISTED = 5  # rows of one kind; the rest is summed up in one row
ROUNDING = 1e-12  # arcs add up to the whole circle only to rounding
SAME_DIRECTION = 1e-6  # a basin's end and an extremal direction this close are one; both are exact to rounding


@dataclass(frozen=True, eq=False)
class Ring:
    """The basins of neurons whose output weight has one sign, and where they are drawn."""

    sign: int
    name: str
    radii: tuple[float, float]
    basins: tuple[Basin, ...]


def attractor_of(basin: Basin, found: ExtremalVectors) -> int | None:
    """Index of the extremal vector a basin flows to; None for the dead, and where no listed vector is that close."""
    if not len(found) or not np.any(basin.direction):
        return None
    distances = np.linalg.norm(found.directions - basin.direction, axis=1)
    index = int(np.argmin(distances))
    return index if distances[index] <= SAME_DIRECTION else None


def basin_look(basin: Basin, found: ExtremalVectors) -> tuple[str, str]:
    """Colour and hatch of a basin: those of its attractor, light grey for the dead."""
    index = attractor_of(basin, found)
    if index is not None:
        return attractor_look(index)
    return (LIGHT, "\\\\\\\\") if basin.end == "dead" else ("white", "++++")


def percentage(probability: float) -> str:
    """A probability for the reader, never rounded to nothing or to certainty.

    >>> percentage(0.25), percentage(1e-7), percentage(1 - 1e-7), percentage(1.0)
    ('25.00 %', '< 0.01 %', '> 99.99 %', '100 %')
    """
    if min(probability, 1.0 - probability) < ROUNDING:
        return f"{100 * probability:.0f} %"
    if probability < 5e-5:
        return "< 0.01 %"
    if probability > 1.0 - 5e-5:
        return "> 99.99 %"
    return f"{100 * probability:.2f} %"


def draw_geometry_legend(figure: Figure, dataset: Dataset, found: ExtremalVectors, rings: list[Ring]) -> None:
    """One column on the right: the potential and the samples, the extremal vectors, then the basins of each ring."""
    from matplotlib.patches import Patch

    entries: list[Artist] = [
        Patch(facecolor=f"{POSITIVE}30", edgecolor=POSITIVE, linewidth=1.6, label="$G(w) > 0$"),
        Patch(facecolor=f"{NEGATIVE}30", edgecolor=NEGATIVE, linewidth=0.9, hatch=".....", label="$G(w) < 0$"),
        boundary_entry(),
        *sample_entries(dataset),
        words_entry("\nExtremal vectors" if len(found) else "\nNo extremal vector"),
    ]
    for index in range(min(len(found), MAX_LISTED)):
        entries.append(vector_entry(index, found.kinds[index], float(found.norms[index]), has_shaft=True))
    if len(found) > MAX_LISTED:
        entries.append(words_entry(f"and {len(found) - MAX_LISTED} shorter"))
    for ring in rings:
        entries += _basins(ring, found)
    legend = figure.legend(
        handles=entries,
        loc="center left",
        bbox_to_anchor=(0.665, 0.5),
        fontsize=7.5,
        labelspacing=0.3,
        handlelength=1.8,
        handleheight=0.9,
    )
    for text in legend.get_texts():
        if text.get_text().startswith("\n"):
            text.set_fontweight("bold")


def _basins(ring: Ring, found: ExtremalVectors) -> list[Artist]:
    from matplotlib.patches import Patch

    entries: list[Artist] = [words_entry(f"\nBasins for a {'>' if ring.sign > 0 else '<'} 0, {ring.name} ring")]
    dead = [basin for basin in ring.basins if basin.end == "dead"]
    alive = sorted((b for b in ring.basins if b.end != "dead"), key=lambda basin: -basin.probability)
    kept = len(alive) if len(ring.basins) <= MAX_LISTED else MAX_LISTED - 1 - len(dead)
    listed = alive[:kept] + dead
    for basin in listed:
        colour, hatch = basin_look(basin, found)
        index = attractor_of(basin, found)
        goal = f"to $D_{{{index + 1}}}$" if index is not None else basin.end
        if index is None and np.any(basin.direction):
            goal = f"{basin.end} at {np.degrees(angles_of(basin.direction)):.1f}°"
        label = f"{goal}: {percentage(basin.probability)}"
        entries.append(Patch(facecolor=colour, edgecolor=DARK, hatch=hatch, linewidth=0.6, label=label))
    if alive[kept:]:
        rest = sum(basin.probability for basin in alive[kept:])
        entries.append(words_entry(f"{len(alive) - kept} more: {percentage(rest)}"))
    return entries
