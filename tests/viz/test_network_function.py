"""The function of a network: the curve is h itself, corners included."""

import warnings

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.network import Network
from reluflow.viz import network_function, plot_network_function
from viz.figure_parts import colliding_words, parts

THREE_POINTS = Dataset([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]], [1.1, 0.1, 0.8], name="three points")
CLASSES = Dataset([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-3.0, 0.5]], [1, 1, -1, -1], name="two classes")
REGRESSION = Dataset([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0]], [0.3, 1.2, -0.4], name="regression")


def network(rng, width=7, d=2):
    return Network(w=rng.standard_normal((width, d)), a=rng.standard_normal(width), leak=0.1)


def test_curve_is_the_network_with_its_corners(rng):
    net = network(rng)
    curve = parts(plot_network_function(net, THREE_POINTS, num_points=5), "function")[0]
    inputs, values = curve.get_data()
    by_hand = [
        sum(a * max(w @ [x, 1.0], 0.1 * (w @ [x, 1.0])) for w, a in zip(net.w, net.a, strict=True)) for x in inputs
    ]
    assert values == pytest.approx(by_hand)
    kinks = -net.w[:, 1] / net.w[:, 0]
    for kink in kinks[np.abs(kinks) < 1.0]:
        assert np.min(np.abs(inputs - kink)) == 0.0
    dense = np.linspace(-1.0, 1.0, 1001)
    assert np.interp(dense, inputs, values) == pytest.approx(net.outputs(np.column_stack([dense, np.ones(1001)])))


def test_a_wide_network_is_evaluated_in_parts(rng, monkeypatch):
    net = network(rng, width=50)
    X = rng.standard_normal((33, 2))
    monkeypatch.setattr(network_function, "MAX_PRODUCTS", 200)
    assert network_function.network_outputs(net, X) == pytest.approx(net.outputs(X))


def test_reference_is_drawn_over_one_input(rng):
    figure = plot_network_function(network(rng), THREE_POINTS, reference=lambda rows: 3.0 * rows[:, 0])
    labels = {line.get_label(): line for line in figure.axes[0].get_lines()}
    line = labels["reference"]
    assert line.get_ydata() == pytest.approx(3.0 * line.get_xdata())


@pytest.mark.parametrize("dataset", [THREE_POINTS, CLASSES, REGRESSION, Dataset([[1.0], [-1.0]], [1.0, 0.5])])
def test_drawn_without_warnings_or_collisions(rng, dataset):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plot_network_function(network(rng, d=dataset.d), dataset)
        assert colliding_words(figure) == []


def test_a_silent_network_draws_too():
    silent = Network(w=[[1.0, 0.0]], a=[0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_network_function(silent, CLASSES).canvas.draw()


def test_boundary_is_where_the_output_vanishes():
    net = Network(w=[[1.0, 0.2], [-1.0, 0.3], [0.1, 1.0]], a=[1.0, -1.0, 0.2], leak=0.1)
    figure = plot_network_function(net, CLASSES, num_points=401)
    points = np.vstack([path.vertices for path in parts(figure, "decision-boundary")[0].get_paths()])
    assert len(points) > 100
    assert np.max(np.abs(net.outputs(points))) < 0.01 * np.max(np.abs(net.outputs(CLASSES.X)))


def test_samples_of_the_plane_with_a_bias_show_their_boundary():
    """A study of two moons with --bias, three coordinates, ended without a picture of its classifier."""
    net = Network(w=[[1.0, 0.0, -0.5], [-1.0, 0.0, 0.5]], a=[1.0, -1.0])  # h(x) = x_1 - 1/2
    figure = plot_network_function(net, CLASSES.with_bias(), num_points=401)
    points = np.vstack([path.vertices for path in parts(figure, "decision-boundary")[0].get_paths()])
    np.testing.assert_allclose(points[:, 0], 0.5, atol=1e-9)


def test_refusals(rng):
    with pytest.raises(InvalidInputError, match="dimension 1 or 2, got `dataset` of dimension 3"):
        plot_network_function(network(rng, d=3), Dataset(np.eye(3), [1.0, 2.0, 3.0]))
    with pytest.raises(InvalidInputError, match="expects inputs of dimension 1 but `dataset` has dimension 2"):
        plot_network_function(network(rng, d=1), THREE_POINTS)
    with pytest.raises(InvalidInputError, match="`num_points` must be at least 2, got 1"):
        plot_network_function(network(rng), THREE_POINTS, num_points=1)
    with pytest.raises(InvalidInputError, match="`reference` can be drawn over one input only"):
        plot_network_function(network(rng), CLASSES, reference=lambda rows: rows[:, 0])
