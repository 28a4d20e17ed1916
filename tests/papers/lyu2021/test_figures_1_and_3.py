"""Figures 1 and 3 of Lyu et al. (2021): no randomness but two draws of neurons, so the claims are exact."""

from dataclasses import replace

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.network import Network
from reluflow.papers.lyu2021.data import symmetric_angle
from reluflow.papers.lyu2021.figures import figure_1, figure_3
from reluflow.papers.lyu2021.figures.figure_3 import losses_over_plane, problem_of
from reluflow.papers.lyu2021.figures.panels import (
    LEAK,
    NAMES,
    SHARPER,
    example,
    function_difference,
    one_neuron,
    sign_difference,
)
from reluflow.papers.workbench import Workbench


@pytest.fixture(scope="module")
def first():
    settings = replace(figure_1.FIGURE.quick, num_points=80)
    return settings, figure_1.compute(settings, Workbench("fig1", settings))


@pytest.fixture(scope="module")
def third():
    settings = replace(figure_3.FIGURE.quick, orthogonal_width=20)
    return settings, figure_3.compute(settings, Workbench("fig3", settings))


def test_claims_of_figure_1(first):
    claims = figure_1.claims(*first)
    assert len(claims) == 22
    assert all(claim.holds for claim in claims)


def test_published_and_derived_margins(first):
    """App. I.1.1: (1 + leak) c/(2 (1 + c)) against (1 + leak)/4; the ratios of the other sets are our instances'."""
    _, results = first
    cosine, _ = symmetric_angle(LEAK)
    assert results.panels["left"].margin == pytest.approx(0.75 * cosine / (1 + cosine), rel=1e-12)
    assert results.panels["left"].best == pytest.approx(0.375, rel=1e-8)
    ratios = [results.panels[name].share for name in ("middle", "right", SHARPER)]
    assert ratios == pytest.approx([0.7506, 0.5687, 0.5277], abs=1e-4)


def test_bend_of_known_boundaries():
    """A line is straight; a boundary that turns by 90 degrees at the centre of a square is half a diagonal off."""
    left = example("left")
    assert left.bend(one_neuron(np.array([0.6, 0.8])), 60) < 1e-12
    corner = Network(w=[[1.0, 0.0], [0.0, 1.0]], a=[-1.0, 1.0], leak=0.0)  # zero on x_1 = x_2 > 0 and where both < 0
    rows = left.boundary(corner, 60)
    on_diagonal = rows[(rows[:, 0] > 0.1) & (rows[:, 1] > 0.1)]
    assert len(on_diagonal) > 10
    assert np.max(np.abs(on_diagonal[:, 0] - on_diagonal[:, 1])) < 1e-12
    assert left.bend(corner, 60) > 5.0
    assert np.isnan(left.bend(Network(w=[[1.0, 0.0]], a=[0.0]), 60))


def test_predicted_limits_have_norm_one():
    for name in (*NAMES, SHARPER):
        case = example(name)
        assert case.limit.squared_norm() == pytest.approx(1.0, rel=1e-14)
        margin = np.min(case.dataset.y * case.limit.outputs(case.dataset.X))
        assert margin == pytest.approx(case.margin, rel=1e-9)
    with pytest.raises(InvalidInputError, match="`name` must be one of left; middle; right"):
        example("upper")


def test_differences():
    one, two = np.array([1.0, -1.0, 2.0, -4.0]), np.array([1.0, 1.0, 2.0, -4.0])
    assert sign_difference(one, two) == 0.25
    assert function_difference(one, two) == 0.5


def test_claims_of_figure_3(third):
    claims = figure_3.claims(*third)
    assert len(claims) == 11
    assert all(claim.holds for claim in claims)


def test_the_flow_descends_the_landscape(third):
    """The loss along every path falls, and is the height of the surface below it."""
    _, results = third
    for kind in figure_3.KINDS:
        paths, losses = results.pictures[kind].paths, results.pictures[kind].losses
        assert np.all(np.diff(losses, axis=1) < 0)
        for path, along in zip(paths, losses, strict=True):
            point = path[30]
            height = losses_over_plane(kind, point[:1], point[1:])
            assert height[0, 0] == pytest.approx(along[30], rel=1e-9)


def test_a_tampered_ridge_fails(third):
    settings, results = third
    ridge = replace(results.pictures["ridge"], below=0.05)
    claims = figure_3.claims(settings, replace(results, pictures={**results.pictures, "ridge": ridge}))
    assert claims[0].is_failure


def test_balanced_start():
    for kind, sign in figure_3.SIGNS.items():
        network = problem_of(kind, (0.3, 0.4)).network
        assert network.a[0] == sign * 0.5


def test_drawings(first, third, tmp_path):
    for module, (settings, results), name in ((figure_1, first, "fig1.png"), (figure_3, third, "fig3.png")):
        (path,) = module.FIGURE.draw(settings, results, tmp_path)
        assert path.name == name
        assert path.stat().st_size > 20_000
