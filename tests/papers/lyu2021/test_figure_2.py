"""Figure 2 of Lyu et al. (2021): training on the three datasets, at a small size."""

from dataclasses import replace

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.network import Network
from reluflow.papers.lyu2021.figures.figure_2 import FIGURE, claims
from reluflow.papers.lyu2021.figures.panels import NAMES, example
from reluflow.papers.lyu2021.figures.training_run import STARTS, Strays, compute, strays
from reluflow.papers.workbench import Workbench


@pytest.fixture(scope="module")
def made():
    settings = replace(FIGURE.quick, log_horizon=30.0, squared_norm=400.0)
    return settings, compute(settings, Workbench("fig2", settings))


def test_claims(made):
    """Bounds against two seeds at quick size: distance to the flow 0.05 to 0.57 % (1 %), boundary on the right 0.8 to
    2 % of the window (5 %), margin in the middle 0.9985 to 0.9990 (1 %), on the left 1e-7 (1e-3). The finding on the
    right, on four seeds: 1.03 to 1.11 times gamma^+/2 at |theta|^2 = 1000 in all eight runs."""
    settings, results = made
    judged = claims(settings, results)
    assert not any(claim.is_failure for claim in judged)
    assert [claim.holds for claim in judged if claim.finding] == 4 * [False]
    assert all(claim.holds for claim in judged if not claim.finding)


def test_the_margin_of_the_flow_passes_the_predicted_one_on_the_right(made):
    """The smoothed margin never falls, so one above gamma^+/2 rules that limit out at this scale."""
    _, results = made
    for start in STARTS:
        right = results.runs["right"][start]
        assert right.flow.smoothed > 1.005 * example("right").margin
        assert right.flow.smoothed < right.flow.margins[-1]
        assert right.strays.count > 0
        assert results.runs["left"][start].margins[-1] < example("left").margin * (1 + 1e-12)


def test_the_certified_limits_at_a_tiny_scale(made):
    _, results = made
    assert results.limits.margins.shape == (3, 2, 1, 1)
    assert np.all(results.limits.proved)
    for place, name in enumerate(NAMES):
        assert results.limits.margins[place].ravel() == pytest.approx(example(name).margin, rel=1e-9)


def test_strays_by_hand():
    data = Dataset([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [1, 1, -1])
    network = Network(w=[[1.0, 1.0], [1.0, -1.0], [1.0, -1.0]], a=[1.0, 1.0, -1.0])
    assert strays(network, data) == Strays(count=1, share=pytest.approx(1 / 3))


def test_drawing(made, tmp_path):
    settings, results = made
    paths = FIGURE.draw(settings, results, tmp_path)
    assert [path.name for path in paths] == ["fig2.png", "fig2-margins.png"]
    assert all(path.stat().st_size > 20_000 for path in paths)
