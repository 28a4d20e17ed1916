"""Figures 1 to 4 of Min et al. (2024) at quick size: real neurons where the paper has sketches.

The angles between the exact flow and Eq. (4) are 2e-10 degrees (Figure 1) and 2e-6 to 9e-6 (Figure 2, 72 and 360
neurons), and the times of Figure 4 agree to 1e-9 %: the bounds 0.01 degrees and 0.1 % leave room for other machines.
Figure 4, seeds 1 to 5 of samples in R^5: no change in the wrong sense, longest stay times n_a from 1.1 to 1.9.
"""

from dataclasses import replace

import numpy as np
import pytest

from reluflow import load
from reluflow.papers.min2024.figures import figure_1, figure_2, figure_3, figure_4
from reluflow.papers.min2024.figures.section_4 import (
    cone_sectors,
    on_circle,
    pull,
    separable_samples,
    smallest_correlation,
    turning,
)
from reluflow.papers.min2024.theorems.moving_neurons import DEAD, MINUS, PLUS
from reluflow.papers.workbench import Workbench

MODULES = {1: figure_1, 2: figure_2, 3: figure_3, 4: figure_4}


@pytest.fixture(scope="module")
def results():
    return {
        number: module.FIGURE.compute(module.FIGURE.quick, Workbench(module.FIGURE.key, module.FIGURE.quick))
        for number, module in MODULES.items()
    }


@pytest.mark.parametrize("number", MODULES)
def test_claims_and_picture(results, number, tmp_path):
    figure = MODULES[number].FIGURE
    assert [claim.text for claim in figure.claims(figure.quick, results[number]) if claim.holds is not True] == []
    (picture,) = figure.draw(figure.quick, results[number], tmp_path)
    assert picture.name == f"fig{number}.png"
    assert picture.stat().st_size > 20_000


def judged(figure, results, words):
    (claim,) = [claim for claim in figure.claims(figure.quick, results) if words in claim.text]
    return claim.holds


def test_tampered_results_fail(results):
    cones = results[2].cones.copy()
    cones[-1, 0] = 2
    assert judged(figure_2.FIGURE, replace(results[2], cones=cones), "positive neurons end in $S_+$ or") is False
    assert judged(figure_1.FIGURE, replace(results[1], gap=0.1), "turns as Eq. (4)") is False
    still = replace(results[3].separable, values=np.array([0.0]))
    assert judged(figure_3.FIGURE, replace(results[3], separable=still), "random boundary") is False
    first, second = results[4].shown
    late = replace(first, flow_times=1.01 * first.times)
    assert judged(figure_4.FIGURE, replace(results[4], shown=(late, second)), "changes patterns when") is False
    assert judged(figure_4.FIGURE, replace(results[4], wrong=1), "only lose negative") is False


def test_figure_2_leaves_the_other_cone_as_the_closed_form_says(results):
    """In S_- the angle phi to x_- obeys d phi/dt = |x_-| sin phi: log tan(phi/2) grows at the rate |x_-|."""
    data = load("min-toy")
    minus = data.X[data.y < 0].sum(axis=0)
    middle = np.degrees(np.arctan2(minus[1], minus[0]))
    start = results[2].degrees[0]
    neuron = int(np.argmin(np.where(start < middle, middle - start, np.inf)))
    inside = results[2].cones[:, neuron] == MINUS
    assert np.sum(inside) > 10
    heights = np.log(np.tan(np.radians(middle - results[2].degrees[inside, neuron]) / 2))
    expected = heights[0] + np.linalg.norm(minus) * results[2].times[inside]
    np.testing.assert_allclose(heights, expected, atol=1e-6)


def test_figure_4_shows_both_ends(results):
    reaches, dies = results[4].shown
    assert (reaches.end, dies.end) == (PLUS, DEAD)
    assert len(reaches.samples) == figure_4.FIGURE.quick.n
    assert np.all(results[4].y[dies.samples] < 0)  # one that dies never sees a positive sample


def test_boundary_cosine_of_two_samples():
    """One other sample active: the cosine is that of the two samples themselves."""
    data = load("min-correlated")
    w = np.array([[0.0, 1.0]])  # on the boundary of x_1 = (1, 0), activated by x_2
    assert figure_3.boundary_cosines(data, 0, w)[0] == pytest.approx(np.sin(0.1), rel=1e-12)
    assert figure_3.boundary_cosines(data, 0, -w).size == 0  # dead there


def test_pull_and_turning():
    data = load("min-toy")
    w = on_circle(np.array([91.0]))
    np.testing.assert_allclose(pull(w, data)[0], data.X[1] - data.X[2] - data.X[3], atol=1e-15)
    assert turning(w, data)[0] @ w[0] == pytest.approx(0.0, abs=1e-15)


def test_cones_of_two_points():
    sectors = {name: (first, last) for name, first, last in cone_sectors(load("min-orthogonal"))}
    assert sectors == {"S_+": (0.0, 90.0), "S_dead": (180.0, 270.0)}


def test_separable_samples_satisfy_assumption_1():
    for seed in range(5):
        data = separable_samples(seed, n=10, d=5, spread=0.45)
        assert smallest_correlation(data) > 0.0
        assert np.sum(data.y) == 0.0
