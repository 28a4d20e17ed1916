"""The geometry of the plane: cones, the potential G, extremal vectors and basins around one circle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.losses import AbstractLoss
from reluflow.viz.geometry_legend import Ring, basin_look, draw_geometry_legend
from reluflow.viz.polar import (
    angles_of,
    boundary_angles,
    draw_cone_boundaries,
    draw_samples,
    require_directions,
    require_plane,
)
from reluflow.viz.style import (
    BLACK,
    DARK,
    GREY,
    KIND_MARKERS,
    LIGHT,
    NEGATIVE,
    POSITIVE,
    attractor_look,
    figure_style,
    new_figure,
    setting_title,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.projections.polar import PolarAxes

    from reluflow.geometry.extremal import ExtremalVectors
    from reluflow.geometry.landscape import CirclePotential


# Radii in units of the largest |G|: a hole, so that small lobes keep apart; lobes up to 1; names; samples; two rings.
HOLE, NAMES, SAMPLES, INNER_RING, OUTER_RING, EDGE = -0.35, 1.15, 1.30, (1.41, 1.52), (1.57, 1.68), 1.69
ROUNDING = 1e-12  # smaller parts of the largest |G| are zero that rounding has moved
NAME_GAP = np.radians(11.0)
MAX_NAMED = 16  # the longest vectors get a name; more names would not be legible
WIDTH, HEIGHT = 7.0, 4.9  # inches


def plot_plane_geometry(dataset: Dataset, loss: AbstractLoss, leak: float = 0.0) -> Figure:
    """Draw what decides where neurons align, for samples in the plane.

    The radius is |G(w)| on the unit circle, so that an arrow, which points where G is extremal and is as long as the
    extremal vector D, ends on the curve. Dashed rays bound the activation cones, + and - mark the samples' directions.
    The rings tell where a neuron that starts at that angle ends in the vanishing-scale limit.

    Parameters
    ----------
    dataset
        Samples in the plane, none of them zero.
    loss
        Gives the forces at h = 0.
    leak
        Negative slope of the activation, in [0, 1].

    Returns
    -------
    Figure
        A matplotlib figure; `save_figure` writes it.

    Notes
    -----
    The rings are those of neurons with |a| >= |w|, whose sign of a never changes; the percentages are probabilities
    for a direction drawn uniformly.

    References
    ----------
    Boursier & Flammarion (2024), Def. 1 and Eq. (7) [boursier2024].

    Examples
    --------
    >>> import reluflow
    >>> figure = plot_plane_geometry(reluflow.load("three-points"), reluflow.SquareLoss())
    >>> figure.axes[0].name
    'polar'
    """
    from reluflow.geometry.basins import circle_basins
    from reluflow.geometry.extremal import extremal_vectors
    from reluflow.geometry.landscape import circle_potential

    require_plane(dataset, "The polar picture of the geometry")
    require_directions(dataset)
    found = extremal_vectors(dataset, loss, leak=leak)
    forces = loss.label_forces(dataset.y)
    potential = circle_potential(dataset.X, forces, leak=leak)
    rings = [
        Ring(sign, name, radii, circle_basins(dataset.X, forces, sign=sign, leak=leak))
        for sign, name, radii in ((1, "inner", INNER_RING), (-1, "outer", OUTER_RING))
    ]
    with figure_style():
        from matplotlib.projections.polar import PolarAxes

        figure = new_figure(WIDTH, HEIGHT)
        axes = figure.add_axes((0.055, 0.095, 0.55, 0.55 * WIDTH / HEIGHT), projection="polar")
        assert isinstance(axes, PolarAxes)
        unit = _draw_potential(axes, potential)
        draw_cone_boundaries(axes, dataset.X, 0.0, INNER_RING[0] * unit)
        _draw_extremal_vectors(axes, found, unit)
        draw_samples(axes, dataset, SAMPLES * unit)
        for ring in rings:
            _draw_ring(axes, ring, found, unit)
        _finish_axes(axes, dataset, found, unit)
        draw_geometry_legend(figure, dataset, found, rings)
        figure.suptitle(setting_title(dataset, loss, leak), fontsize=10, y=0.975, parse_math=False)
        note = (
            "angle: atan2($w_2$, $w_1$) of a neuron;   radius: $|G(w)|$ for $|w| = 1$, from 0 on the inner circle;   "
            "arrows: $|D|$ long"
        )
        figure.text(0.5, 0.018, note, fontsize=7.5, color=DARK, ha="center")
    return figure


def _draw_potential(axes: PolarAxes, potential: CirclePotential) -> float:
    """|G| as a radial curve, positive lobes plain and negative ones hatched; returns the radius of the largest."""
    edges = np.unique(np.concatenate([[0.0, 2 * np.pi], potential.breakpoints, potential.level_angles(0.0)]))
    angles = np.unique(np.concatenate([edges, np.linspace(0.0, 2 * np.pi, 721)]))
    values = potential(angles)
    unit = float(np.max(np.abs(values))) or 1.0
    for sign, colour, hatch, width, name in (
        (1, POSITIVE, "", 1.6, "positive"),
        (-1, NEGATIVE, ".....", 0.9, "negative"),
    ):
        lobe = np.where(sign * values > ROUNDING * unit, sign * values, 0.0)
        if np.any(lobe > 0.0):
            area = axes.fill_between(angles, 0.0, lobe, zorder=1, gid=f"potential-{name}")
            area.set(facecolor=f"{colour}30", edgecolor=colour, hatch=hatch, linewidth=0.0)
            axes.plot(angles, np.where(lobe > 0.0, lobe, np.nan), color=colour, linewidth=width, zorder=2)
    axes.plot(angles, np.zeros_like(angles), color=DARK, linewidth=0.7, zorder=2)
    return unit


def _draw_extremal_vectors(axes: PolarAxes, found: ExtremalVectors, unit: float) -> None:
    """An arrow to side * D for each, its kind's marker at the tip; the longest have a name in the ring of names."""
    angles = angles_of(found.directions)
    for index, (angle, norm, kind) in enumerate(zip(angles, found.norms, found.kinds, strict=True)):
        colour, _ = attractor_look(index)
        axes.plot(
            [angle, angle],
            [0.0, norm],
            color=colour,
            linewidth=2.0,
            zorder=3,
            solid_capstyle="butt",
            gid=f"extremal-{index + 1}",
        )
        axes.scatter(
            [angle], [norm], s=40, marker=KIND_MARKERS[kind], color=colour, edgecolors=BLACK, linewidths=0.7, zorder=5
        )
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    named = angles[:MAX_NAMED]
    for index, (angle, place) in enumerate(zip(named, _spread(named, NAME_GAP), strict=True)):
        axes.plot([angle, place], [found.norms[index], 1.06 * unit], color=GREY, linewidth=0.4, zorder=2.5)
        axes.text(
            place, NAMES * unit, f"$D_{{{index + 1}}}$", ha="center", va="center", fontsize=8.5, zorder=6, bbox=paper
        )


def _spread(angles: FloatArray, gap: float) -> FloatArray:
    """Angles moved as little as a few rounds of pushing need so that neighbours are `gap` apart, order kept."""
    if angles.size < 2:
        return angles.copy()
    gap = min(gap, 2 * np.pi / angles.size)
    order = np.argsort(angles, kind="stable")
    places = angles[order].copy()
    for _ in range(200):
        following = np.append(places[1:], places[0] + 2 * np.pi)
        lack = np.maximum(gap - (following - places), 0.0)
        if np.max(lack) < 1e-3:
            break
        places += 0.5 * (np.roll(lack, 1) - lack)
    spread = np.empty_like(angles)
    spread[order] = places
    return spread


def _draw_ring(axes: PolarAxes, ring: Ring, found: ExtremalVectors, unit: float) -> None:
    """The basins of one sign of a, each arc in the look of its attractor, the dead ones grey and hatched."""
    inner, outer = ring.radii[0] * unit, ring.radii[1] * unit
    name = "plus" if ring.sign > 0 else "minus"
    number = 0
    for basin in ring.basins:
        colour, hatch = basin_look(basin, found)
        for start, stop in basin.arcs:
            number += 1
            wedge = axes.bar((start + stop) / 2, outer - inner, stop - start, inner, zorder=2)[0]
            wedge.set(facecolor=colour, edgecolor=DARK, hatch=hatch, linewidth=0.0, gid=f"basin-{name}-{number}")
            if stop - start < 2 * np.pi * (1 - 1e-12):
                axes.plot([start, start], [inner, outer], color=DARK, linewidth=0.8, zorder=2.5)
                axes.plot([stop, stop], [inner, outer], color=DARK, linewidth=0.8, zorder=2.5)
    turn = np.linspace(0.0, 2 * np.pi, 361)
    for radius in (inner, outer):
        axes.plot(turn, np.full_like(turn, radius), color=DARK, linewidth=0.6, zorder=2.5)


def _finish_axes(axes: PolarAxes, dataset: Dataset, found: ExtremalVectors, unit: float) -> None:
    """Limits, angles in degrees, and a few circles of |G| labelled where there is room."""
    from matplotlib.ticker import MaxNLocator

    axes.set_ylim(0.0, EDGE * unit)
    axes.set_rorigin(HOLE * unit)
    axes.set_xticks(np.radians(np.arange(0, 360, 45)), [f"{degree}°" for degree in range(0, 360, 45)])
    axes.tick_params(axis="x", pad=1)
    levels = [level for level in MaxNLocator(nbins=3).tick_values(0.0, unit) if 0.0 < level <= unit]
    busy = np.sort(np.concatenate([boundary_angles(dataset.X), angles_of(found.directions)]))
    gaps = np.diff(busy, append=busy[0] + 2 * np.pi)
    widest = int(np.argmax(gaps))
    axes.set_rgrids(
        levels,
        labels=[f"{level:.3g}" for level in levels],
        angle=float(np.degrees(busy[widest] + gaps[widest] / 2)),
        fontsize=7,
        color=DARK,
        ha="center",
        va="center",
    )
    axes.grid(color=LIGHT, linewidth=0.5)
    axes.xaxis.grid(visible=False)
    axes.spines["polar"].set_visible(False)
