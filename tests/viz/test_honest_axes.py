"""Pictures that said what is not in the numbers."""

import numpy as np

from reluflow.viz.image_grid import ImageGrid
from reluflow.viz.panels import Curve, Panel, plot_panels
from reluflow.viz.style import figure_style, new_figure
from reluflow.viz.vector_plane import VectorPlane


def drawn(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())


def test_time_zero_is_not_drawn_on_a_logarithmic_axis():
    """Lee et al., Figure 4: the point at t = 0 was clipped to the edge and made a flat piece that is no data."""
    figure = plot_panels([Panel("", "t", "y", [Curve([0.0, 1.0, 10.0], [5.0, 2.0, 1.0])], x_scale="log")])
    (axes,) = figure.axes
    places = axes.transData.transform([(0.0, 5.0)])
    assert not np.isfinite(places[0, 0])


def test_zero_is_one_grey():
    """Min et al., Figures 5, 10, 11: zero had another grey in each image."""
    with figure_style():
        axes = new_figure(3, 3).add_subplot()
        ImageGrid("", np.array([[0.0, 1.0, 0.0, -0.2], [0.0, 0.1, -5.0, 0.0]]), ["a", "b"]).draw(axes)
    shades = np.asarray(axes.images[0].get_array())
    assert np.sum(np.isclose(shades, 0.5)) == 4


def test_a_ray_is_seen_beyond_a_sample_along_it_and_a_marked_one_has_a_diamond():
    with figure_style():
        axes = new_figure(3, 3).add_subplot()
        VectorPlane("", 2.0, rays=[[1.0, 0.0], [0.0, 1.0]], ray_signs=[1, -1], ray_marks=[True, False]).draw(axes)
    tips = [line.get_xydata()[-1] for line in axes.lines if len(line.get_xydata()) == 1]
    assert np.allclose(sorted(np.hypot(*tip) for tip in tips), 0.93 * 2.0)
    assert len(axes.collections[0].get_offsets()) == 1


def test_a_level_curve_shows_no_step():
    """Boursier & Flammarion, Figure 2 at iteration 0: h is 1e-8, and each point went to its own row of pixels."""
    with figure_style():
        figure = new_figure(3, 151 / 150)  # level 0 lies between two rows
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.plot(np.linspace(-1.0, 1.0, 101), 1e-8 * np.linspace(-0.4, 0.8, 101), color="black")
        axes.set(xlim=(-1, 1), ylim=(-0.5, 0.5))
        picture = drawn(figure)[:, 5:-5, 0]
    assert picture.min() < 128
    assert np.ptp(picture.astype(int), axis=1).max() <= 2
