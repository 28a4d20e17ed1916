"""Figures from parts: singular values, neurons in a plane, histograms, and curves, in one grid."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from reluflow.errors import InvalidInputError
from reluflow.viz.composed_figure import Curves, plot_parts
from reluflow.viz.directions_plane import DirectionsPlane
from reluflow.viz.panels import Curve, Panel
from reluflow.viz.similarity_histograms import SimilarityHistogram
from reluflow.viz.singular_values import SingularValues
from reluflow.viz.style import NEGATIVE, POSITIVE
from viz.figure_parts import colliding_words, parts, words

EDGES = np.linspace(-1.0, 1.0, 5)


@pytest.fixture(scope="module")
def figure():
    points = np.array([[1.0, 0.1], [0.5, 0.1], [-1.0, 0.1], [0.0, 0.0]])
    return plot_parts(
        [
            SingularValues("first layer", [2.0, 0.5, 0.1], 0.2),
            DirectionsPlane("neurons", points, [1, 1, -1, 1], [("$w_+$", [3.0, 0.0]), ("$w_-$", [-1.0, 0.0])]),
            SimilarityHistogram("pairs", "product", EDGES, [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.2, 0.8]], ("a", "b")),
            Curves(Panel("loss", "$t$", "$L$", [Curve([0.0, 1.0], [1.0, 0.5], "descent")])),
        ],
        columns=2,
        title="all parts",
    )


def test_words_do_not_collide(figure):
    assert colliding_words(figure) == []
    said = {text.get_text() for text in words(figure)}
    assert {"all parts", "first layer", "largest before training", "$a_j > 0$: 3", "$a_j < 0$: 1", "$w_+$"} <= said


def test_singular_values_stand_over_their_index(figure):
    dots = parts(figure, "singular-values")[0]
    assert dots.get_xdata().tolist() == [1, 2, 3]
    assert dots.get_ydata().tolist() == [2.0, 0.5, 0.1]


def test_neurons_have_the_look_of_their_sign(figure):
    positive, negative = parts(figure, "rows-1")[0], parts(figure, "rows--1")[0]
    assert len(positive.get_offsets()) == 3
    assert np.asarray(negative.get_offsets()) == pytest.approx(np.array([[-1.0, 0.1]]))
    assert to_hex(positive.get_facecolors()[0]).upper() == POSITIVE
    assert to_hex(negative.get_edgecolors()[0]).upper() == NEGATIVE
    assert len(negative.get_facecolors()) == 0


def test_rays_are_as_long_as_the_longest_neuron(figure):
    ray = next(line for line in figure.axes[1].lines if line.get_label() == "$w_+$")
    assert ray.get_xdata()[1] == pytest.approx(np.hypot(1.0, 0.1))
    assert ray.get_ydata()[1] == 0.0


def test_histograms_are_the_shares(figure):
    first, second = parts(figure, "histogram-")
    assert first.get_data().values.tolist() == [0.5, 0.5, 0.0, 0.0]
    assert second.get_data().edges.tolist() == EDGES.tolist()


def test_rows_without_signs_and_marks():
    figure = plot_parts(
        [
            DirectionsPlane("rows", np.zeros((3, 2))),
            SimilarityHistogram("one", "cosine", EDGES, np.ones((1, 4)), ("",), marks=(0.9,)),
            SingularValues("nothing", [0.0]),
        ],
        columns=3,
    )
    assert len(parts(figure, "rows-0")[0].get_offsets()) == 3
    assert all(axes.get_legend() is None for axes in figure.axes)
    assert colliding_words(figure) == []


def test_refusals():
    with pytest.raises(InvalidInputError, match="`parts` must hold one or more"):
        plot_parts([], columns=1)
    with pytest.raises(InvalidInputError, match=r"`shares` must have shape \(k, b\).* got \(1, 3\), \(5,\) and 1"):
        SimilarityHistogram("x", "y", EDGES, np.ones((1, 3)), ("",))
