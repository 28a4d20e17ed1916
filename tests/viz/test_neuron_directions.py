"""Neurons in the plane: angle, radius, sign, and the same scale for several times."""

import warnings

import numpy as np
import pytest
from matplotlib.colors import to_hex

from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.viz import plot_neuron_directions
from reluflow.viz.style import NEGATIVE, POSITIVE
from viz.figure_parts import colliding_words, parts

THREE_POINTS = Dataset([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]], [1.1, 0.1, 0.8], name="three points")


def test_stars_stand_at_angle_and_norm_in_the_colour_of_their_sign():
    w, a = np.array([[0.0, 2.0], [-3.0, 0.0], [0.0, -1.0]]), np.array([1.0, -2.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plot_neuron_directions(w, a, THREE_POINTS)
        assert colliding_words(figure) == []
    stars = parts(figure, "neurons")[0]
    assert np.asarray(stars.get_offsets()) == pytest.approx(
        np.array([[np.pi / 2, 2.0], [np.pi, 3.0], [3 * np.pi / 2, 1.0]])
    )
    assert [to_hex(c).upper() for c in stars.get_edgecolors()] == [POSITIVE, NEGATIVE, "#000000"]
    assert [to_hex(c).upper() for c in stars.get_facecolors()] == [POSITIVE, "#FFFFFF", "#000000"]
    assert len(parts(figure, "cone-boundary-")) == 6


def test_samples_are_crosses_at_the_outer_radius():
    figure = plot_neuron_directions([[1.0, 0.0]], [1.0], THREE_POINTS)
    places = np.asarray(parts(figure, "samples-plus")[0].get_offsets())
    assert places[:, 0] == pytest.approx(np.arctan2(1.0, THREE_POINTS.X[:, 0]))
    assert np.all(places[:, 1] > 1.0)


def test_norm_zero_has_a_circle_of_its_own():
    axes = plot_neuron_directions([[0.0, 0.0], [0.5, 0.0]], [1.0, -1.0], THREE_POINTS).axes[0]
    assert axes.get_rorigin() < 0.0 == axes.get_rmin()


def test_a_given_radius_is_kept():
    one = plot_neuron_directions([[0.1, 0.0]], [1.0], THREE_POINTS, largest_norm=2.0).axes[0]
    two = plot_neuron_directions([[2.0, 0.0]], [1.0], THREE_POINTS, largest_norm=2.0).axes[0]
    assert one.get_rmax() == two.get_rmax()


def test_refusals():
    with pytest.raises(InvalidInputError, match=r"`w` must have shape \(m, 2\) and `a` shape \(m,\), got \(1, 3\)"):
        plot_neuron_directions([[1.0, 2.0, 3.0]], [1.0], THREE_POINTS)
    with pytest.raises(InvalidInputError, match="`w` and `a` must be finite"):
        plot_neuron_directions([[np.nan, 2.0]], [1.0], THREE_POINTS)
    with pytest.raises(InvalidInputError, match=r"at least the largest \|w\|, 5, got 1"):
        plot_neuron_directions([[3.0, 4.0]], [1.0], THREE_POINTS, largest_norm=1.0)
    with pytest.raises(InvalidInputError, match="dimension 2, got `dataset` of dimension 4"):
        plot_neuron_directions([[3.0, 4.0]], [1.0], Dataset(np.eye(4), [1.0, 2.0, 3.0, 4.0]))
