"""Panels draw the numbers they are given, in looks that can be distinguished without colour."""

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.viz.panels import LOOKS, Curve, Guide, Panel, plot_panels
from reluflow.viz.saving import save_figure

X = np.linspace(1.0, 10.0, 30)


def part(axes, name):
    (found,) = [artist for artist in axes.findobj() if artist.get_gid() == name]
    return found


def test_curves_are_where_they_should_be():
    panel = Panel("t", "x", "y", [Curve(X, X**2, "square"), Curve(X, 2 * X, kind="points", look=1)], y_scale="log")
    figure = plot_panels([panel])
    (axes,) = figure.axes
    np.testing.assert_array_equal(part(axes, "curve-1").get_ydata(), X**2)
    np.testing.assert_array_equal(part(axes, "curve-2").get_offsets(), np.column_stack([X, 2 * X]))
    assert axes.get_yscale() == "log"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["square"]


def test_equal_labels_share_a_row_and_levels_are_named():
    curves = [Curve(X, X, "run", is_faint=True), Curve(X, 2 * X, "run", is_faint=True)]
    (axes,) = plot_panels([Panel("t", "x", "y", curves, levels=[Guide(3.0, "bound"), Guide(2.0)])]).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["bound", "run"]


@pytest.mark.parametrize(
    ("kind", "place"), [("line", "best"), ("marked", "below"), ("points", ""), ("steps", "below"), ("bars", "best")]
)
def test_every_kind_and_place_can_be_saved(kind, place, tmp_path):
    curve = Curve(X, np.sin(X), "sine", kind=kind, low=np.sin(X) - 1, high=np.sin(X) + 1)
    panel = Panel("$t$", "x", "y", [curve], legend=place, note="a note", x_limits=(0.0, 11.0), y_limits=(-3.0, 3.0))
    figure = plot_panels([panel] * 3, columns=2, title="three")
    assert len(figure.axes) == 3
    assert (figure.axes[0].get_legend() is None) is (place == "")
    assert figure.axes[0].get_xlim() == (0.0, 11.0)
    assert save_figure(figure, tmp_path / "p.png").stat().st_size > 5_000


def test_a_level_may_be_vertical():
    (axes,) = plot_panels([Panel("t", "x", "y", [Curve(X, X)], levels=[Guide(2.5, "now", is_vertical=True)])]).axes
    assert axes.lines[0].get_xdata() == [2.5, 2.5]


def test_looks_differ_in_dashes_and_markers_too():
    assert len({str(dashes) for _, dashes, _ in LOOKS}) == len(LOOKS)
    assert len({marker for _, _, marker in LOOKS}) == len(LOOKS)
    assert len({colour for colour, _, _ in LOOKS}) == len(LOOKS)


def test_refusals():
    with pytest.raises(InvalidInputError, match="`panels` must hold one or more"):
        plot_panels([])
    with pytest.raises(InvalidInputError, match="must be vectors of one length"):
        plot_panels([Panel("t", "x", "y", [Curve([1.0, 2.0], [1.0])])])
