"""The pictures added for Min et al. (2024) refuse what they cannot draw, and draw what they are given."""

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.viz.composed_figure import plot_parts
from reluflow.viz.heat_map import HeatMap
from reluflow.viz.image_grid import ImageGrid
from reluflow.viz.pattern_timeline import PatternTimeline
from reluflow.viz.vector_plane import Arrow, Sector, VectorPlane, samples_as_arrows


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (HeatMap("", np.zeros((2, 3))), "`matrix` must be square"),
        (ImageGrid("", np.zeros((1, 5)), ["a"]), "`images` must have shape"),
        (ImageGrid("", np.zeros((2, 4)), ["a"]), "1 names"),
        (PatternTimeline("", [1.0, -1.0], [True], [], 1.0), "`start` must have the shape"),
        (VectorPlane("", 0.0), "`reach` must be positive"),
        (VectorPlane("", 1.0, rays=[[1.0, 0.0]]), "one sign for each of 1 rays"),
    ],
)
def test_refusals(part, words):
    with pytest.raises(InvalidInputError, match=words):
        plot_parts([part], columns=1)


def test_image_grid_puts_every_image_in_its_place():
    images = np.array([[0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 0.0], [5.0, 5.0, 5.0, 5.0]])
    figure = plot_parts([ImageGrid("", images, ["a", "b", "c"])], columns=1)
    (axes,) = figure.axes
    canvas = np.asarray(axes.images[0].get_array())
    drawn = canvas[~np.isnan(canvas)]
    one = [1 / 2, 2 / 3, 5 / 6, 1]  # zero is the middle grey of every image
    assert sorted(drawn.tolist()) == pytest.approx(sorted([*one, *one, 1, 1, 1, 1]))
    assert [text.get_text() for text in axes.texts] == ["a", "b", "c"]


def test_timeline_marks_every_change():
    part = PatternTimeline("", [1.0, -1.0], [False, True], [(0.5, 1), (0.7, 0)], 1.0)
    (axes,) = plot_parts([part], columns=1).axes
    rings = [line for line in axes.lines if line.get_marker() == "o"]
    assert [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in rings] == [(0.5, 0), (0.7, 1)]
    thick = sum(float(np.ptp(line.get_xdata())) for line in axes.lines if line.get_linewidth() == 5.0)
    assert thick == pytest.approx(0.5 + 0.3)  # the negative sample until 0.5, the positive one from 0.7


def test_vector_plane_names_its_sectors():
    part = VectorPlane(
        "", 2.0, [Arrow([1.0, 0.0], "$w$"), *samples_as_arrows([[0.0, 1.0]], [-1.0])], [Sector("S_dead", 180.0, 270.0)]
    )
    (axes,) = plot_parts([part], columns=1).axes
    names = [text.get_text() for text in axes.texts]
    assert r"$S_{\mathrm{dead}}$" in names
    assert "$x_{1}$" in names
