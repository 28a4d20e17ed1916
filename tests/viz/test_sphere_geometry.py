"""The sphere: a true equal-area projection, every extremal vector once, refusals."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.geometry.extremal import extremal_vectors
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.viz import plot_sphere_geometry
from reluflow.viz.sphere_geometry import Hemisphere
from viz.figure_parts import colliding_words, parts

TRIPLE = Dataset(np.eye(3), [1.0, 0.7, -0.8], name="orthogonal triple")


def gaussian(seed, n=5):
    rng = np.random.default_rng(seed)
    return Dataset(rng.standard_normal((n, 3)), rng.standard_normal(n), name="Gaussian")


views = st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda view: np.linalg.norm(view) > 0.1)


@given(views, st.floats(0.0, 2 * np.pi), st.floats(0.0, 1.0))
def test_projection_and_lift_are_inverse(view, angle, radius):
    half = Hemisphere.towards(view)
    assert half.frame @ half.frame.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(half.frame) == pytest.approx(1.0)
    place = radius * np.array([np.cos(angle), np.sin(angle)])
    direction = half.lift(place)
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    assert direction @ half.frame[2] > -1e-12
    assert half.project(direction) == pytest.approx(place, abs=1e-9)


def test_areas_on_the_disc_are_areas_on_the_sphere(rng):
    """Uniform directions of a hemisphere must be uniform on the disc: the squared radius is uniform on [0, 1]."""
    half = Hemisphere.towards([1.0, -2.0, 0.5])
    directions = rng.standard_normal((20_000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    squares = np.sort(np.sum(half.project(directions[half.holds(directions)]) ** 2, axis=1))
    deviation = np.max(np.abs(squares - (np.arange(squares.size) + 0.5) / squares.size))
    assert deviation < 1.63 / np.sqrt(squares.size)  # Kolmogorov-Smirnov at 1 %


@given(views, views)
def test_half_circles_lie_in_their_half_and_are_orthogonal(view, normal):
    half = Hemisphere.towards(view)
    curve = half.half_circle(normal)
    assert np.max(np.abs(curve @ np.array(normal))) < 1e-12
    assert np.min(curve @ half.frame[2]) > -1e-12
    assert np.linalg.norm(curve, axis=1) == pytest.approx(np.ones(len(curve)))


def test_the_great_circle_seen_edge_on_is_the_rim():
    curve = Hemisphere.towards([0.0, 0.0, 1.0]).half_circle([0.0, 0.0, 2.0])
    assert np.max(np.abs(curve[:, 2])) == 0.0
    assert curve[0] == pytest.approx(curve[-1])


@pytest.mark.parametrize(
    ("dataset", "leak"), [(TRIPLE, 0.0), (gaussian(1), 0.0), (gaussian(2), 0.3), (gaussian(3), 1.0)]
)
def test_every_extremal_vector_is_shown_once_at_its_place(dataset, leak):
    found = extremal_vectors(dataset, SquareLoss(), leak=leak)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plot_sphere_geometry(dataset, SquareLoss(), leak)
    marks = {mark.get_gid(): mark for mark in parts(figure, "extremal-")}
    assert len(parts(figure, "extremal-")) == len(marks) == len(found)
    front = Hemisphere.towards(found.directions[0])
    for index, direction in enumerate(found.directions):
        mark = marks[f"extremal-{index + 1}"]
        is_front = mark.axes is figure.axes[0]
        half = front if is_front else front.opposite()
        assert half.lift(mark.get_offsets()[0]) == pytest.approx(direction, abs=1e-7)
    assert len(parts(figure, "great-circle-")) == 2 * dataset.n


@pytest.mark.parametrize("dataset", [TRIPLE, gaussian(1), gaussian(2)])
def test_words_do_not_collide(dataset):
    assert colliding_words(plot_sphere_geometry(dataset, SquareLoss()), allowance=1.5) == []


def test_no_force_and_chosen_view():
    figure = plot_sphere_geometry(TRIPLE.replace(y=[0.0, 0.0, 0.0]), SquareLoss(), view=[0.0, 3.0, 0.0])
    assert parts(figure, "extremal-") == []
    assert figure.axes[0].get_title() == "front, around (0.00, 1.00, 0.00)"


def test_refusals():
    plane = Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0])
    with pytest.raises(InvalidInputError, match=r"dimension 3, got `dataset` of dimension 2; `plot_plane_geometry`"):
        plot_sphere_geometry(plane, SquareLoss())
    with pytest.raises(InvalidInputError, match="`view` must be a nonzero vector of dimension 3"):
        plot_sphere_geometry(TRIPLE, SquareLoss(), view=[0.0, 0.0, 0.0])
    with pytest.raises(InvalidInputError, match="labels -1 and 1"):
        plot_sphere_geometry(TRIPLE, LogisticLoss())
