"""The geometry of three dimensions: the sphere of directions as two equal-area discs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import BoolArray, FloatArray
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import AbstractLoss
from reluflow.viz.labels import label_offsets
from reluflow.viz.legend import SAMPLE_MARKERS, boundary_entry, sample_entries, vector_entry, words_entry
from reluflow.viz.polar import require_directions
from reluflow.viz.style import (
    BLACK,
    CONE_DASHES,
    DARK,
    DIVERGING,
    GREY,
    KIND_MARKERS,
    attractor_look,
    figure_style,
    new_figure,
    setting_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from reluflow.geometry.extremal import ExtremalVectors


WIDTH, DISC, TITLES, ROW = 7.0, 3.1, 0.58, 0.175  # inches; a row is one line of the legend
NUM_COLUMNS = 3
POINTS_PER_UNIT = DISC / 2.16 * 72  # printer's points in one radius of a disc
MAX_LISTED = 12
MAX_NAMED = 24
MAX_NAMED_SAMPLES = 12


@dataclass(frozen=True, eq=False)
class Hemisphere:
    """Half of the sphere seen from outside, projected with equal areas on the unit disc (Lambert, azimuthal).

    Areas on the disc are proportional to areas on the sphere, so they are probabilities of a uniform direction.

    Parameters
    ----------
    frame
        Orthonormal rows, shape (3, 3): right, up, and towards the viewer.
    """

    frame: FloatArray

    @classmethod
    def towards(cls, view: ArrayLike) -> Hemisphere:
        """The hemisphere around `view`, with the third axis upwards, or the second where the third is in line."""
        depth = np.asarray(view, dtype=np.float64)
        depth = depth / np.linalg.norm(depth)
        pole = np.eye(3)[1 if abs(depth[2]) > 0.95 else 2]
        up = pole - (pole @ depth) * depth
        up /= np.linalg.norm(up)
        return cls(np.array([np.cross(up, depth), up, depth]))

    def opposite(self) -> Hemisphere:
        """The other half, seen after walking half way round."""
        right, up, depth = self.frame
        return Hemisphere(np.array([-right, up, -depth]))

    def holds(self, directions: ArrayLike) -> BoolArray:
        """Which directions lie in this half, its rim included."""
        return np.asarray(np.asarray(directions, dtype=np.float64) @ self.frame[2] >= 0.0)

    def project(self, directions: ArrayLike) -> FloatArray:
        """Places on the unit disc of unit vectors of this half, last axis 2."""
        local = np.asarray(directions, dtype=np.float64) @ self.frame.T
        return np.asarray(local[..., :2] / np.sqrt(1.0 + np.maximum(local[..., 2:], 0.0)))

    def lift(self, places: ArrayLike) -> FloatArray:
        """Unit vectors of places on the unit disc, last axis 3."""
        place = np.asarray(places, dtype=np.float64)
        square = np.sum(place**2, axis=-1, keepdims=True)
        return np.asarray(np.concatenate([place * np.sqrt(2.0 - square), 1.0 - square], axis=-1) @ self.frame)

    def half_circle(self, normal: ArrayLike, *, num_points: int = 181) -> FloatArray:
        """The part of the great circle <w, normal> = 0 that lies in this half, as unit vectors."""
        axis = np.asarray(normal, dtype=np.float64) / np.linalg.norm(normal)
        start = np.cross(axis, self.frame[2])
        if np.linalg.norm(start) < 1e-12:
            turn = np.linspace(0.0, 2 * np.pi, 2 * num_points)[:, None]
            return np.asarray(np.cos(turn) * self.frame[0] + np.sin(turn) * self.frame[1])
        start /= np.linalg.norm(start)
        top = np.cross(start, axis)
        top *= np.sign(top @ self.frame[2])
        turn = np.linspace(0.0, np.pi, num_points)[:, None]
        return np.asarray(np.cos(turn) * start + np.sin(turn) * top)


def plot_sphere_geometry(
    dataset: Dataset, loss: AbstractLoss, leak: float = 0.0, *, view: ArrayLike | None = None
) -> Figure:
    r"""Draw what decides where neurons align, for samples in three dimensions.

    The two halves of the sphere of directions stand side by side in an equal-area projection. Dashed curves are the
    samples' great circles $\langle w, x_k\rangle = 0$, which bound the activation cones; the shade and the contours
    are G; markers
    are the extremal vectors at side * D / |D|.

    Parameters
    ----------
    dataset
        Samples in three dimensions, none of them zero.
    loss
        Gives the forces at h = 0.
    leak
        Negative slope of the activation, in [0, 1].
    view
        Centre of the left disc, shape (3,), not zero; by default the direction of the longest extremal vector.

    Returns
    -------
    Figure
        A matplotlib figure; `save_figure` writes it.

    References
    ----------
    Boursier & Flammarion (2024), Def. 1 and Eq. (7) [boursier2024].

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.Dataset(np.eye(3), [1.0, 0.5, -1.0])
    >>> [axes.get_title() for axes in plot_sphere_geometry(data, reluflow.SquareLoss()).axes][-1]
    'G'
    """
    from reluflow.geometry.extremal import extremal_vectors

    if dataset.d != 3:
        raise InvalidInputError(
            f"The picture of the sphere needs samples of dimension 3, got `dataset` of dimension {dataset.d}"
            + ("; `plot_plane_geometry` draws dimension 2." if dataset.d == 2 else ".")
        )
    require_directions(dataset)
    found = extremal_vectors(dataset, loss, leak=leak)
    front = Hemisphere.towards(_centre(view, found))
    forces = loss.label_forces(dataset.y)
    in_front = front.holds(found.directions), front.holds(dataset.X)  # the rim belongs to the front alone
    in_back = ~in_front[0], ~in_front[1]
    with figure_style():
        entries = _legend_entries(found, dataset)
        foot = 0.2 + ROW * -(-len(entries) // NUM_COLUMNS)
        height = foot + DISC + TITLES
        figure = new_figure(WIDTH, height)
        for half, shown, left, title in ((front, in_front, 0.015, "front"), (front.opposite(), in_back, 0.475, "back")):
            axes = figure.add_axes((left, foot / height, DISC / WIDTH, DISC / height))
            shade = _draw_potential(axes, half, dataset.X, forces, leak, float(np.max(found.norms, initial=0.0)))
            _draw_directions(axes, half, dataset, found, *shown)
            _finish_disc(axes, half, title)
        bar = figure.colorbar(shade, cax=figure.add_axes((0.927, (foot + 0.6) / height, 0.014, (DISC - 1.2) / height)))
        bar.ax.set_title("G", fontsize=9)
        bar.ax.tick_params(labelsize=7)
        figure.legend(
            handles=entries,
            loc="lower center",
            ncols=NUM_COLUMNS,
            bbox_to_anchor=(0.5, 0.01),
            columnspacing=1.5,
            labelspacing=0.35,
        )
        figure.suptitle(setting_title(dataset, loss, leak), fontsize=10, y=1 - 0.11 / height, parse_math=False)
    return figure


def _centre(view: ArrayLike | None, found: ExtremalVectors) -> FloatArray:
    if view is None:
        return found.directions[0] if len(found) else np.array([0.0, 0.0, 1.0])
    chosen = np.asarray(view, dtype=np.float64)
    if chosen.shape != (3,) or not np.all(np.isfinite(chosen)) or not np.any(chosen):
        raise InvalidInputError(f"`view` must be a nonzero vector of dimension 3, got {view!r}.")
    return chosen


def _draw_potential(
    axes: Axes, half: Hemisphere, X: FloatArray, forces: FloatArray, leak: float, largest: float
) -> ScalarMappable:
    """A faint shade of G, with contours: solid above zero, dotted below, one thick line at zero."""
    from matplotlib.patches import Circle

    from reluflow.geometry.landscape import alignment_potential

    ticks = np.linspace(-1.0, 1.0, 401)
    across, upwards = np.meshgrid(ticks, ticks)
    radius = np.hypot(across, upwards)
    inside = np.stack([across, upwards], axis=-1) / np.maximum(radius, 1.0)[..., None]
    values = alignment_potential(half.lift(inside), X, forces, leak=leak)
    unit = largest or float(np.max(np.abs(values))) or 1.0
    shade = axes.imshow(
        values, extent=(-1, 1, -1, 1), origin="lower", cmap=DIVERGING, vmin=-unit, vmax=unit, alpha=0.55, zorder=0
    )
    levels = np.arange(1, 5) / 5 * unit
    lines = [
        axes.contour(across, upwards, values, levels=levels, colors=GREY, linewidths=0.5, zorder=1),
        axes.contour(
            across, upwards, values, levels=-levels[::-1], colors=GREY, linewidths=0.7, linestyles="dotted", zorder=1
        ),
    ]
    if np.min(values) < -1e-12 * unit < 1e-12 * unit < np.max(values):
        lines.append(axes.contour(across, upwards, values, levels=[0.0], colors=DARK, linewidths=1.3, zorder=1))
    rim = Circle((0.0, 0.0), 1.0, transform=axes.transData)
    for artist in (shade, *lines):
        artist.set_clip_path(rim)
    axes.add_patch(Circle((0.0, 0.0), 1.0, fill=False, edgecolor=DARK, linewidth=0.8, zorder=3))
    return shade


def _draw_directions(
    axes: Axes,
    half: Hemisphere,
    dataset: Dataset,
    found: ExtremalVectors,
    shows_vector: BoolArray,
    shows_sample: BoolArray,
) -> None:
    """Great circles of all samples, and the samples and extremal vectors of this half with their names."""
    for number, sample in enumerate(dataset.X, start=1):
        curve = half.project(half.half_circle(sample))
        axes.plot(*curve.T, color=GREY, linewidth=0.9, linestyle=CONE_DASHES, zorder=2, gid=f"great-circle-{number}")
    samples, vectors = np.flatnonzero(shows_sample), np.flatnonzero(shows_vector)
    units = dataset.X[samples] / np.linalg.norm(dataset.X[samples], axis=1)[:, None]
    sample_places, vector_places = half.project(units), half.project(found.directions[vectors])
    largest = float(np.max(np.abs(dataset.y))) or 1.0
    for sign, marker in SAMPLE_MARKERS.items():
        chosen = np.sign(dataset.y[samples]) == sign
        sizes = 25.0 + 55.0 * np.abs(dataset.y[samples][chosen]) / largest
        axes.scatter(
            sample_places[chosen, 0],
            sample_places[chosen, 1],
            s=sizes,
            marker=marker,
            color=BLACK,
            linewidths=1.6,
            zorder=5.5,
        )
    for index, place in zip(vectors, vector_places, strict=True):
        axes.scatter(
            place[0],
            place[1],
            s=58,
            marker=KIND_MARKERS[found.kinds[index]],
            color=attractor_look(int(index))[0],
            edgecolors=BLACK,
            linewidths=0.9,
            zorder=5,
            gid=f"extremal-{index + 1}",
        )
    names = [f"$D_{{{index + 1}}}$" for index in vectors] if len(found) <= MAX_NAMED else []
    places = list(vector_places) if names else []
    if dataset.n <= MAX_NAMED_SAMPLES:
        names += [f"$x_{{{index + 1}}}$" for index in samples]
        places += list(sample_places)
    _draw_names(axes, np.array(places).reshape(-1, 2), names)


def _draw_names(axes: Axes, places: FloatArray, names: list[str]) -> None:
    from matplotlib.patheffects import withStroke

    offsets = label_offsets(places * POINTS_PER_UNIT, width=14.0, height=9.5, clearance=4.0)
    for name, place, offset in zip(names, places, offsets, strict=True):
        text = axes.annotate(
            name, place, offset, textcoords="offset points", ha="center", va="center", fontsize=8.5, zorder=6
        )
        text.set_path_effects([withStroke(linewidth=2.0, foreground="white")])


def _finish_disc(axes: Axes, half: Hemisphere, title: str) -> None:
    axes.set_xlim(-1.08, 1.08)
    axes.set_ylim(-1.08, 1.08)
    axes.set_aspect("equal")
    axes.set_axis_off()
    centre = ", ".join(f"{value:.2f}" for value in np.round(half.frame[2], 2) + 0.0)
    axes.set_title(f"{title}, around ({centre})", fontsize=9, pad=3)


def _legend_entries(found: ExtremalVectors, dataset: Dataset) -> list[Line2D]:
    from matplotlib.lines import Line2D

    entries = [boundary_entry(), *sample_entries(dataset)]
    for words, colour, width, dashes in (("> 0", GREY, 0.7, "-"), ("= 0", DARK, 1.3, "-"), ("< 0", GREY, 0.9, ":")):
        line = Line2D([], [], color=colour, linewidth=width, label=f"contour of $G {words}$")
        line.set(linestyle=dashes)
        entries.append(line)
    for index in range(min(len(found), MAX_LISTED)):
        entries.append(vector_entry(index, found.kinds[index], float(found.norms[index]), has_shaft=False))
    if len(found) > MAX_LISTED:
        entries.append(words_entry(f"and {len(found) - MAX_LISTED} shorter"))
    return entries
