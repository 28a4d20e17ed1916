"""A run as a GIF: the function over one input beside the neurons by direction, one frame per moment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reluflow.data.atomic import replacing
from reluflow.errors import InvalidInputError, MissingExtraError
from reluflow.viz.polar import angles_of
from reluflow.viz.style import figure_style, new_figure
from reluflow.viz.training_moments import (
    Backdrop,
    TrainingMoment,
    draw_function,
    draw_neurons,
    edge_colours,
    face_colours,
    radius_words,
    relative_norms,
)

FRAMES_PER_SECOND = 10  # as in the authors' videos
DOTS_PER_INCH = 80


def save_training_animation(moments: Sequence[TrainingMoment], backdrop: Backdrop, path: Path) -> Path:
    """Write an animated GIF, one frame per moment; it appears complete or not at all.

    All moments hold the same neurons in the same order.

    References
    ----------
    The videos of Boursier & Flammarion's repository [boursier2024, code].
    """
    line = backdrop.line()
    if not moments or len({np.shape(moment.w) for moment in moments}) != 1:
        raise InvalidInputError("`moments` must hold at least one moment, all with the same neurons.")
    if path.suffix != ".gif":
        raise InvalidInputError(f"`path` must end in .gif, got {path.name!r}.")
    with figure_style():
        from matplotlib.animation import PillowWriter
        from matplotlib.projections.polar import PolarAxes

        try:
            writer = PillowWriter(fps=FRAMES_PER_SECOND)
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                "An animation needs Pillow, which is not installed: pip install 'reluflow[viz]'."
            ) from error
        figure = new_figure(7.0, 3.0)
        left = figure.add_axes((0.1, 0.16, 0.42, 0.68))
        right = figure.add_axes((0.575, 0.12, 0.32, 0.32 * 7.0 / 3.0), projection="polar")
        curve, other = draw_function(left, moments[0], backdrop, line)
        left.set_xlabel("input $x$")
        assert isinstance(right, PolarAxes)
        stars = draw_neurons(right, moments[0], backdrop)
        words = right.texts[-1]
        name = path.with_name(f".{path.name}.part.gif")
        try:
            with writer.saving(figure, str(name), DOTS_PER_INCH):
                for moment in moments:
                    curve.set_ydata(np.asarray(moment.outputs))
                    if other is not None and moment.prediction is not None:
                        other.set_ydata(np.asarray(moment.prediction))
                    w = np.asarray(moment.w, dtype=np.float64)
                    radii, largest = relative_norms(w)
                    stars.set_offsets(np.column_stack([angles_of(w), radii]))
                    a = np.asarray(moment.a, dtype=np.float64)  # its sign may change on the way
                    stars.set_facecolor(face_colours(a))
                    stars.set_edgecolor(edge_colours(a))
                    words.set_text(radius_words(largest))
                    left.set_title(moment.title, fontsize=9, parse_math=False)
                    writer.grab_frame()
            with replacing(path) as handle:
                handle.write(name.read_bytes())
        finally:
            name.unlink(missing_ok=True)
    return path
