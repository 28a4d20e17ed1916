"""A dataset's picture: the right view for its shape, with lines that are true."""

import warnings

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.viz import plot_dataset
from reluflow.viz.dataset_picture import principal_coordinates
from viz.figure_parts import colliding_words, parts, words

THREE_POINTS = Dataset([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]], [1.1, 0.1, 0.8], name="three points")
CLASSES = Dataset([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-3.0, 0.5]], [1, 1, -1, -1], name="two classes")
MIXED = Dataset([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [1, 1, -1, -1], name="mixed")


def images(rng):
    X = rng.standard_normal((30, 784))
    return Dataset(X, np.where(np.arange(30) < 12, 1.0, -1.0), name="images")


def gaussian(rng, task="regression"):
    X = rng.standard_normal((40, 5)) * [5, 3, 1, 1, 1]
    y = X[:, 0] if task == "regression" else np.sign(X[:, 0])
    return Dataset(X, y, name="Gaussian")


def test_line_is_least_squares():
    line = parts(plot_dataset(THREE_POINTS), "least-squares")[0]
    slope, level = np.polyfit(THREE_POINTS.X[:, 0], THREE_POINTS.y, 1)
    assert line.get_ydata() == pytest.approx(slope * line.get_xdata() + level)
    assert line.get_xdata().tolist() == [-1.0, 1.0]


def test_inputs_beyond_the_unit_interval_are_shown():
    figure = plot_dataset(Dataset([[-4.0], [2.0]], [1.0, 3.0]))
    low, high = figure.axes[0].get_xlim()
    assert low < -4.0
    assert high > 2.0


def test_separator_is_orthogonal_and_touches_the_nearest_samples():
    figure = plot_dataset(CLASSES)
    lines = {line.get_gid(): np.column_stack(line.get_data()) for line in parts(figure, "separator")}
    along = np.diff(lines["separator+0"], axis=0)[0]
    normal = np.array([along[1], -along[0]]) / np.linalg.norm(along)
    assert lines["separator+0"] @ normal == pytest.approx([0.0, 0.0], abs=1e-9)
    margins = CLASSES.y * (CLASSES.X @ normal) * np.sign(CLASSES.X[0] @ normal)
    assert abs(lines["separator+1"][0] @ normal) == pytest.approx(np.min(margins))
    assert np.min(margins) > 0
    assert f"margin {np.min(margins):.4g}" in [text.get_text() for text in words(figure)]
    axes = figure.axes[0]
    box = axes.get_window_extent()
    assert box.width / np.diff(axes.get_xlim()) == pytest.approx(box.height / np.diff(axes.get_ylim()))


def test_inseparable_classes_say_so():
    figure = plot_dataset(MIXED)
    assert parts(figure, "separator") == []
    assert "not separable\nthrough the origin" in [text.get_text() for text in words(figure)]


def test_principal_coordinates_against_the_covariance(rng):
    X = gaussian(rng).X
    places, shares = principal_coordinates(X)
    values = np.sort(np.linalg.eigvalsh(np.cov(X.T)))[::-1]
    assert np.var(places, axis=0, ddof=1) == pytest.approx(values[:2])
    assert shares == pytest.approx(values[:2] / values.sum())
    assert places.mean(axis=0) == pytest.approx([0.0, 0.0], abs=1e-12)


def test_principal_coordinates_of_one_sample_are_zero():
    places, shares = principal_coordinates(np.array([[1.0, 2.0, 3.0]]))
    assert not places.any()
    assert not shares.any()


def test_axis_labels_carry_the_explained_variance(rng):
    dataset = gaussian(rng)
    axes = plot_dataset(dataset).axes[0]
    shares = principal_coordinates(dataset.X)[1]
    assert axes.get_xlabel() == f"first principal coordinate ({100 * shares[0]:.1f} % of the variance)"


def test_mean_images(rng):
    dataset = images(rng)
    figure = plot_dataset(dataset)
    shown = [axes.get_images()[0].get_array() for axes in figure.axes if axes.get_images()]
    positive, negative = dataset.X[:12].mean(axis=0), dataset.X[12:].mean(axis=0)
    for picture, expected in zip(shown, (positive, negative, positive - negative), strict=True):
        assert np.asarray(picture).ravel() == pytest.approx(expected)


@pytest.mark.parametrize("name", ["three", "classes", "mixed", "plane", "gaussian", "labels", "images", "single"])
def test_drawn_without_warnings_or_collisions(rng, name):
    dataset = {
        "three": THREE_POINTS,
        "classes": CLASSES,
        "mixed": MIXED,
        "plane": Dataset(rng.standard_normal((9, 2)), rng.standard_normal(9)),
        "gaussian": gaussian(rng),
        "labels": gaussian(rng, "classification"),
        "images": images(rng),
        "single": Dataset([[1.0, 2.0, 3.0]], [0.5], name="a $name$ with_signs"),
    }[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plot_dataset(dataset)
        assert colliding_words(figure) == []


def test_classes_differ_by_marker_and_filling():
    marks = {mark.get_gid(): mark for mark in parts(plot_dataset(CLASSES), "class-")}
    plus, minus = marks["class-plus"], marks["class-minus"]
    assert len(plus.get_offsets()) == len(minus.get_offsets()) == 2
    assert plus.get_facecolor()[0][:3].tolist() != minus.get_facecolor()[0][:3].tolist()
    assert len(plus.get_paths()[0].vertices) != len(minus.get_paths()[0].vertices)
