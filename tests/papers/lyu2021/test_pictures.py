"""The pictures that only this paper's figures draw: planes with boundaries, landscapes, the printed table."""

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.viz.decision_planes import DecisionBoundary, DecisionPlane, plot_decision_planes
from reluflow.viz.landscapes import FlowPath, Landscape, plot_landscapes
from reluflow.viz.results_table import plot_results_table

TICKS = np.linspace(-1.0, 1.0, 21)
ACROSS, UPWARDS = np.meshgrid(TICKS, TICKS)


def plane(**changes):
    options = {
        "outputs": ACROSS + 0.5 * UPWARDS,
        "boundaries": [DecisionBoundary(ACROSS, "one"), DecisionBoundary(UPWARDS + 5.0, "outside", "red")],
    } | changes
    return DecisionPlane(
        "title", TICKS, TICKS, np.array([[0.5, 0.2], [-0.4, 0.1], [9.0, 0.0]]), np.array([1, -1, 1]), **options
    )


def test_boundaries_are_where_the_values_vanish():
    figure = plot_decision_planes([plane()])
    (axes,) = figure.axes
    (drawn,) = [part for part in axes.collections if part.get_gid() == "boundary-1"]  # the other does not vanish here
    assert np.allclose(drawn.get_paths()[0].vertices[:, 0], 0.0)
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["one", "outside", "y = +1", "y = −1", "lies further out"]


def test_a_sample_outside_becomes_an_arrow():
    (axes,) = plot_decision_planes([plane()]).axes
    (arrow,) = axes.texts
    assert arrow.xy == pytest.approx((0.98, 0.0))
    assert len(plot_decision_planes([plane(crosses=(0, 2))]).axes[0].texts) == 1


def test_white_lines_have_a_dark_rim_in_the_plane_and_in_the_legend():
    """The legend's line was black and the plot's white."""
    figure = plot_decision_planes([plane(boundaries=[DecisionBoundary(ACROSS, "truth", "white")])])
    row = figure.legends[0].get_lines()[0]
    assert row.get_color() == "white"
    assert row.get_path_effects()
    (drawn,) = [part for part in figure.axes[0].collections if part.get_gid() == "boundary-1"]
    assert drawn.get_path_effects()


def test_landscape_axes():
    paths = [FlowPath(np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([0.6, 0.5]), label="flow")]
    figure = plot_landscapes([Landscape("ridge", TICKS, TICKS, ACROSS**2 + UPWARDS, paths)])
    assert [axes.name for axes in figure.axes] == ["3d", "rectilinear"]


def test_table_words():
    figure = plot_results_table(["n", "two\nlines"], [["10", "1.5"], ["20", "2.5"]], title="title", note="note")
    words = [text.get_text() for text in figure.texts]
    assert set(words) == {"n", "two", "lines", "10", "20", "1.5", "2.5", "title", "note"}


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plot_decision_planes([]), "`planes` must hold one or more"),
        (lambda: plot_landscapes([]), "`landscapes` must hold one or more"),
        (lambda: plot_results_table(["n"], [["1", "2"]]), "`rows` must each hold 1 words"),
    ],
)
def test_refusals(draw, message):
    with pytest.raises(InvalidInputError, match=message):
        draw()
