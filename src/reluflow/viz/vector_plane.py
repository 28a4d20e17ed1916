"""Vectors of the plane: arrows, sectors, half-planes, rays and dots around the origin, described as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.viz.style import BLACK, DARK, GREEN, GREY, LIGHT, NEGATIVE, POSITIVE, PURPLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patheffects import AbstractPathEffect

Role = Literal["positive", "negative", "neuron", "pull", "velocity", "plain"]

COLOURS: dict[Role, str] = {
    "positive": POSITIVE,
    "negative": NEGATIVE,
    "neuron": BLACK,
    "pull": GREEN,
    "velocity": PURPLE,
    "plain": GREY,
}
# Colour and hatch say the same thing, for print in greys.
SECTOR_LOOKS = {"S_+": (POSITIVE, "////"), "S_-": (NEGATIVE, "\\\\\\\\"), "S_dead": (GREY, "....")}
SECTOR_NAMES = {"S_+": r"$S_+$", "S_-": r"$S_-$", "S_dead": r"$S_{\mathrm{dead}}$"}


@dataclass(frozen=True, eq=False)
class Arrow:
    """A vector from `start` to `end`, with its name beside the tip.

    Parameters
    ----------
    end, start
        Points of the plane.
    label
        With mathematics between dollar signs; empty for none.
    role
        What it is, which gives its colour: a sample by its label, a neuron, the pull x_a, a velocity, or plain.
    is_dashed
        Dashed, for what is inactive.
    """

    end: ArrayLike
    label: str = ""
    role: Role = "plain"
    start: ArrayLike = (0.0, 0.0)
    is_dashed: bool = False


@dataclass(frozen=True)
class Sector:
    """A cone of the plane between two angles in degrees, filled and named.

    `name` is "S_+", "S_-" or "S_dead" for the looks of these, or anything else for a grey one.
    """

    name: str
    first: float
    last: float


@dataclass(frozen=True, eq=False)
class VectorPlane:
    """One picture of the plane.

    Parameters
    ----------
    title
        Above it.
    reach
        Half the width of the picture.
    arrows, sectors
        What is drawn, sectors below.
    half_planes
        Normals of shaded half-planes <x, normal> > 0.
    lines
        Pairs of a name and a direction of a straight line through the origin.
    rays
        Directions of thin lines from the origin to the edge, shape (k, 2): neurons.
    ray_signs
        Sign of the output weight of each ray, shape (k,).
    ray_marks
        Which rays are to be noticed, shape (k,): they are thick and end in a diamond; none by default.
    mark_name
        What the diamonds are, for the legend.
    dots
        Groups of points: name, places (k, 2), role; "positive" is drawn as filled circles, "negative" as open squares,
        "plain" as large rings that leave room for another point inside.
    paths
        Curves with an arrow head at their end: name, points (k, 2), role.
    shows_legend
        Whether names of dots and paths stand in a legend.
    note
        A few words below the picture.
    """

    title: str
    reach: float
    arrows: Sequence[Arrow] = ()
    sectors: Sequence[Sector] = ()
    half_planes: Sequence[ArrayLike] = ()
    lines: Sequence[tuple[str, ArrayLike]] = ()
    rays: ArrayLike = field(default_factory=lambda: np.zeros((0, 2)))
    ray_signs: ArrayLike = ()
    ray_marks: ArrayLike = ()
    mark_name: str = "marked"
    dots: Sequence[tuple[str, ArrayLike, Role]] = ()
    paths: Sequence[tuple[str, ArrayLike, Role]] = ()
    shows_legend: bool = True
    note: str = ""

    def draw(self, axes: Axes) -> None:
        """Draw into empty axes; both axes have the same unit."""
        if not self.reach > 0:
            raise InvalidInputError(f"`reach` must be positive, got {self.reach}.")
        axes.set_aspect("equal")
        axes.set_xlim(-self.reach, self.reach)
        axes.set_ylim(-self.reach, self.reach)
        axes.set_title(self.title)
        axes.tick_params(labelsize=7)
        for sector in self.sectors:
            self._draw_sector(axes, sector)
        for normal in self.half_planes:
            self._draw_half_plane(axes, np.asarray(normal, dtype=np.float64))
        axes.axhline(0.0, color=LIGHT, linewidth=0.5, zorder=0.6)
        axes.axvline(0.0, color=LIGHT, linewidth=0.5, zorder=0.6)
        for name, direction in self.lines:
            self._draw_line(axes, name, np.asarray(direction, dtype=np.float64))
        self._draw_rays(axes)
        for name, points, role in self.paths:
            _draw_path(axes, name, np.asarray(points, dtype=np.float64), COLOURS[role])
        for name, places, role in self.dots:
            _draw_dots(axes, name, np.asarray(places, dtype=np.float64).reshape(-1, 2), role)
        for arrow in self.arrows:
            self._draw_arrow(axes, arrow)
        if self.note:
            axes.set_xlabel(self.note, fontsize=8, color=DARK)
        handles, labels = axes.get_legend_handles_labels()
        if self.shows_legend and handles:
            rows = dict(zip(labels, handles, strict=True))
            axes.legend(
                rows.values(),
                rows.keys(),
                loc="upper center",
                ncols=2,
                fontsize=7.0,
                bbox_to_anchor=(0.5, -0.15 if self.note else -0.08),
            )

    def _draw_sector(self, axes: Axes, sector: Sector) -> None:
        colour, hatch = SECTOR_LOOKS.get(sector.name, (GREY, ""))
        angles = np.radians(np.linspace(sector.first, sector.last, 60))
        far = 2.0 * self.reach
        axes.fill(
            np.append(far * np.cos(angles), 0.0),
            np.append(far * np.sin(angles), 0.0),
            facecolor=colour,
            edgecolor=colour,
            alpha=0.13,
            hatch=hatch,
            linewidth=0.0,
            zorder=0.3,
            gid=f"sector-{sector.name}",
        )
        axes.text(
            *self._place_of_name(sector),
            SECTOR_NAMES.get(sector.name, sector.name),
            ha="center",
            va="center",
            fontsize=10,
            color=DARK,
            zorder=0.9,  # where there is no room, lines are drawn over the name
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0},
        )

    def _place_of_name(self, sector: Sector) -> tuple[float, float]:
        """Within the cone and the picture, as far as can be from neurons, arrows and paths; rather outside."""
        taken = [np.linspace(0.1, 1.0, 25)[:, None] * ray for ray in self._ray_ends()]
        taken += [
            np.linspace(np.asarray(arrow.start, float), np.asarray(arrow.end, float), 12) for arrow in self.arrows
        ]
        taken += [np.asarray(points, dtype=np.float64).reshape(-1, 2) for _, points, _ in (*self.paths, *self.dots)]
        angles, radii = np.meshgrid(
            np.radians(np.linspace(sector.first, sector.last, 41)[4:-4]), np.linspace(0.4, 1.2, 17) * self.reach
        )
        places = np.column_stack([(radii * np.cos(angles)).ravel(), (radii * np.sin(angles)).ravel()])
        places = places[np.all(np.abs(places) <= [0.82 * self.reach, 0.9 * self.reach], axis=1)]
        room = np.linalg.norm(places, axis=1) * 0.2
        if taken:
            away = (places[:, None] - np.concatenate(taken)[None]) * [0.6, 1.0]  # a name is wider than high
            room += np.minimum(np.min(np.linalg.norm(away, axis=2), axis=1), 0.15 * self.reach) * 5.0
        at = places[np.argmax(room)]
        return float(at[0]), float(at[1])

    def _ray_ends(self) -> FloatArray:
        """Where the lines of the neurons end: beyond every sample's arrow and name."""
        rays = np.asarray(self.rays, dtype=np.float64).reshape(-1, 2)
        lengths = np.linalg.norm(rays, axis=1, keepdims=True)
        return np.asarray(0.93 * self.reach * rays / np.where(lengths > 0, lengths, 1.0))

    def _draw_half_plane(self, axes: Axes, normal: FloatArray) -> None:
        unit = normal / np.linalg.norm(normal)
        along = 3.0 * self.reach * np.array([-unit[1], unit[0]])
        across = 3.0 * self.reach * unit
        corners = np.array([along, along + across, across - along, -along])
        axes.fill(corners[:, 0], corners[:, 1], facecolor=LIGHT, alpha=0.45, linewidth=0.0, zorder=0.4)

    def _draw_line(self, axes: Axes, name: str, direction: FloatArray) -> None:
        unit = direction / np.linalg.norm(direction)
        ends = np.outer([-2.0 * self.reach, 2.0 * self.reach], unit)
        axes.plot(ends[:, 0], ends[:, 1], color=GREY, linewidth=1.0, linestyle=(0, (5, 3)), zorder=0.8)
        at = -0.86 * self.reach * unit / np.max(np.abs(unit))
        axes.text(float(at[0]), float(at[1]), name, fontsize=8.5, color=DARK, ha="center", va="center", bbox=_PAPER)

    def _draw_rays(self, axes: Axes) -> None:
        ends = self._ray_ends()
        signs = np.sign(np.asarray(self.ray_signs, dtype=np.float64))
        if signs.shape != (len(ends),):
            raise InvalidInputError(f"`ray_signs` must hold one sign for each of {len(ends)} rays, got {signs.shape}.")
        marks = np.zeros(len(ends), dtype=bool)
        marks[: len(np.atleast_1d(self.ray_marks))] = np.asarray(self.ray_marks, dtype=bool)
        for end, sign, is_marked in zip(ends, signs, marks, strict=True):
            colour, dashes = (POSITIVE, "-") if sign > 0 else (NEGATIVE, (0, (4, 2)))
            width = 1.8 if is_marked else 0.8
            axes.plot([0.0, end[0]], [0.0, end[1]], color=colour, linestyle=dashes, linewidth=width, alpha=0.75)
            axes.plot(*end, marker="o", markersize=2.2, color=colour, zorder=4.5)
        if marks.any():
            axes.scatter(
                ends[marks, 0],
                ends[marks, 1],
                s=34,
                marker="D",
                facecolors="none",
                edgecolors=BLACK,
                zorder=4.6,
                label=self.mark_name,
            )

    def _draw_arrow(self, axes: Axes, arrow: Arrow) -> None:
        start, end = np.asarray(arrow.start, dtype=np.float64), np.asarray(arrow.end, dtype=np.float64)
        colour = COLOURS[arrow.role]
        axes.annotate(
            "",
            xy=(float(end[0]), float(end[1])),
            xytext=(float(start[0]), float(start[1])),
            arrowprops={
                "arrowstyle": "-|>",
                "color": colour,
                "linewidth": 1.6,
                "linestyle": (0, (3, 2)) if arrow.is_dashed else "-",
                "shrinkA": 0.0,
                "shrinkB": 0.0,
                "mutation_scale": 11,
            },
            zorder=4,
        )
        if arrow.label:
            ahead = (end - start) / (np.linalg.norm(end - start) or 1.0)
            at = end + 0.05 * self.reach * ahead
            text = axes.text(
                float(at[0]),
                float(at[1]),
                arrow.label,
                fontsize=9,
                color=colour,
                ha="left" if ahead[0] > 0.4 else "right" if ahead[0] < -0.4 else "center",
                va="bottom" if ahead[1] > 0.4 else "top" if ahead[1] < -0.4 else "center",
                zorder=6,
            )
            text.set_path_effects(_outlined())


def _outlined() -> list[AbstractPathEffect]:
    """A thin white rim that keeps a name legible on lines and hides no arrow head."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=2.2, foreground="white")]


_PAPER = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.6}


def _draw_path(axes: Axes, name: str, points: FloatArray, colour: str) -> None:
    axes.plot(points[:, 0], points[:, 1], color=colour, linewidth=1.5, zorder=3.2, label=name or "_path")
    axes.plot(*points[0], marker="o", markersize=4, color=colour, zorder=3.3)
    if len(points) > 1:
        axes.annotate(
            "",
            xy=tuple(points[-1]),
            xytext=tuple(points[-2]),
            arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.5, "mutation_scale": 11},
            zorder=3.4,
        )


def _draw_dots(axes: Axes, name: str, places: FloatArray, role: Role) -> None:
    if len(places):
        is_open = role == "negative"
        is_ring = role == "plain"
        axes.scatter(
            places[:, 0],
            places[:, 1],
            s=62 if is_ring else 20,
            marker="s" if is_open else "o",
            facecolors="none" if is_ring else "white" if is_open else COLOURS[role],
            edgecolors=COLOURS[role],
            linewidths=0.9,
            zorder=3.6,
            label=name or "_dots",
        )


def samples_as_arrows(samples: ArrayLike, labels: ArrayLike, *, names: bool = True) -> list[Arrow]:
    """The samples as arrows from the origin, coloured by their label and numbered from 1."""
    signs = np.asarray(labels, dtype=np.float64)
    return [
        Arrow(sample, f"$x_{{{number}}}$" if names else "", "positive" if sign > 0 else "negative")
        for number, (sample, sign) in enumerate(zip(np.asarray(samples, dtype=np.float64), signs, strict=True), start=1)
    ]
