"""A run in the plane as a moving picture: the neurons on the left, the function among the samples on the right."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.atomic import replacing
from reluflow.errors import BackendError, InvalidInputError
from reluflow.viz.function_frames import FunctionFrames
from reluflow.viz.style import DARK, LIGHT, NEGATIVE, POSITIVE, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.animation import AbstractMovieWriter
    from matplotlib.figure import Figure

HOLE = 0.35  # radius at which a neuron of size 0 stands
DOTS_PER_INCH = 80
LAST_FRAME = 12  # times the last frame is shown, so that the end is seen before it begins again


def save_run_animation(
    places: FloatArray,
    signs: FloatArray,
    captions: Sequence[str],
    frames: FunctionFrames,
    path: Path,
    *,
    frames_per_second: int = 12,
) -> Path:
    """Save a GIF of a run, or an MP4 where ffmpeg is found.

    Parameters
    ----------
    places
        Neurons in their plane at each moment, the largest of the run of norm 1, shape (T, m, 2).
    signs
        Signs of their output weights, shape (T, m).
    captions
        A few words for each moment.
    frames
        The function at the same moments.
    path
        The file, replaced only by a complete one.
    frames_per_second
        How fast it runs.
    """
    writer = _writer_of(path, frames_per_second)
    from matplotlib.collections import LineCollection

    with figure_style():
        figure = new_figure(8.0, 4.2)
        disc, plane = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
        disc.set(aspect="equal", xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), xticks=[], yticks=[])
        disc.set_title("neurons: direction and size")
        disc.spines[:].set_visible(False)
        for radius, colour in ((1.0, LIGHT), (HOLE, DARK)):
            angles = np.linspace(0.0, 2.0 * np.pi, 200)
            disc.plot(radius * np.cos(angles), radius * np.sin(angles), color=colour, linewidth=0.8)
        dots = disc.scatter([], [], s=16, linewidths=0.8, zorder=3)
        frames.draw_samples(plane)
        plane.set_title(frames.words)
        plane.set_xlabel("$x_1$" if frames.is_plane else "input $x$")
        plane.set_ylabel("$x_2$" if frames.is_plane else "$h(x)$, $y$")
        plane.locator_params(nbins=6)
        if frames.is_plane:
            plane.set_aspect("equal")
        figure.subplots_adjust(bottom=0.19, wspace=0.28)
        lines = LineCollection([], colors=DARK, linewidths=1.8, zorder=2)
        plane.add_collection(lines)
        caption = figure.text(0.5, 0.02, "", ha="center", fontsize=9)

        _draw_what_stays_once(figure)

        def show(moment: int) -> None:
            norms = np.maximum(np.linalg.norm(places[moment], axis=1, keepdims=True), 1e-12)
            far = HOLE + (1.0 - HOLE) * np.minimum(norms, 1.0)
            dots.set_offsets(far * places[moment] / norms)
            is_positive = signs[moment] > 0
            dots.set_facecolor(list(np.where(is_positive, POSITIVE, "#FFFFFF")))
            dots.set_edgecolor(list(np.where(is_positive, POSITIVE, NEGATIVE)))
            lines.set_segments(list(frames.curves[moment]))
            caption.set_text(captions[moment])

        part = path.with_name(f".{path.name}.part{path.suffix}")
        try:
            with writer.saving(figure, str(part), DOTS_PER_INCH):
                for moment in [*range(len(captions)), *([len(captions) - 1] * LAST_FRAME)]:
                    show(moment)
                    writer.grab_frame()
            with replacing(path) as handle:
                handle.write(part.read_bytes())
        finally:
            part.unlink(missing_ok=True)
    return path


def _draw_what_stays_once(figure: Figure) -> None:
    """Put an image in the place of what no moment changes; drawing it, words above all, took most of the time."""
    from matplotlib.axis import Axis
    from matplotlib.lines import Line2D
    from matplotlib.spines import Spine
    from matplotlib.text import Text

    everything = [artist for axes in figure.axes for artist in axes.get_children()]
    stays = [artist for artist in everything if isinstance(artist, Axis | Spine | Line2D | Text)]
    moves = [artist for artist in everything if artist not in stays]
    stream = io.BytesIO()
    for artist in moves:
        artist.set_visible(False)
    figure.savefig(stream, format="rgba", dpi=DOTS_PER_INCH)
    for artist in moves:
        artist.set_visible(True)
    for artist in stays:
        artist.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    width, height = (round(DOTS_PER_INCH * inches) for inches in figure.get_size_inches())
    figure.figimage(np.frombuffer(stream.getbuffer(), dtype=np.uint8).reshape(height, width, 4), zorder=-1)


def _writer_of(path: Path, frames_per_second: int) -> AbstractMovieWriter:
    from matplotlib.animation import FFMpegWriter, PillowWriter

    if path.suffix == ".gif":
        return PillowWriter(fps=frames_per_second)
    if path.suffix != ".mp4":
        raise InvalidInputError(f"`path` must end in .gif or .mp4, got {path.name!r}.")
    if not FFMpegWriter.isAvailable():
        raise BackendError("An MP4 needs ffmpeg, which was not found; install it, or save a GIF.")
    return FFMpegWriter(fps=frames_per_second, codec="libx264", extra_args=["-pix_fmt", "yuv420p"])
