"""Figure 1 of Phuong & Lampert (2021): the claims at quick size, and the measurements on cases one can do by hand."""

from dataclasses import replace

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.network import Network
from reluflow.papers.phuong2021.figures.figure_1 import FIGURE
from reluflow.papers.phuong2021.figures.two_layer_run import share_in_cones
from reluflow.papers.phuong2021.figures.weights import (
    cosines,
    histogram,
    max_margin_directions,
    orthants,
    two_directions,
    weight_of,
)
from reluflow.papers.workbench import Workbench


@pytest.fixture(scope="module")
def made():
    settings = replace(FIGURE.quick, seeds=(0, 1), flow_samples=30, flow_width=8)
    return settings, FIGURE.compute(settings, Workbench(FIGURE.key, settings))


def test_claims(made):
    """Bounds against ten seeds at this size: s2/s3 3.62 to 3.87 (3), s3/s1 0.035 to 0.038 (0.05), share above 0.9
    0.59 to 0.77 (0.5), share in the cones 0.91 to 0.99 (0.9); four seeds: batches against all samples 0.7 to 0.9 %
    (2 %), all samples against the flow 0.2 to 0.6 % (2 %), batches against the flow 1.8 to 4.7 % (10 %)."""
    settings, results = made
    claims = FIGURE.claims(settings, results)
    assert [claim.holds for claim in claims] == [True] * 6 + [False] + [True] * 3
    assert not any(claim.is_failure for claim in claims)
    assert claims[6].finding
    assert "P13" in claims[6].why


def test_published_numbers(made):
    """Singular values 2.39 to 2.42, 0.32 to 0.34, 0.085 to 0.091 in ten seeds; a third of the output weights flip."""
    _, results = made
    values = np.array([seed.singular_values for seed in results.seeds])
    assert values[:, 0] == pytest.approx(2.4, abs=0.05)
    assert values[:, 1] == pytest.approx(0.33, abs=0.03)
    assert values[:, 2] == pytest.approx(0.088, abs=0.005)
    assert all(0.2 < seed.flipped < 0.5 for seed in results.seeds)
    assert all(seed.loss < 2e-4 for seed in results.seeds)


def test_the_plane_keeps_the_two_largest_singular_values(made):
    _, results = made
    for seed in results.seeds:
        assert np.linalg.svd(seed.plane, compute_uv=False) == pytest.approx(seed.singular_values[:2])
        assert seed.histogram.sum() == 100
    assert results.flow.losses.shape == (3, len(results.flow.times))
    assert results.flow.times[-1] == pytest.approx(500.0)


def test_drawing(made, tmp_path):
    settings, results = made
    (path,) = FIGURE.draw(settings, results, tmp_path)
    assert path.name == "fig1.png"
    assert path.stat().st_size > 20_000


def test_cones_by_hand():
    data = Dataset([[1.0, 0.1], [0.1, 1.0], [-1.0, -0.5]], [1, 1, -1])
    network = Network(w=[[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, -1.0]], a=[1.0, 1.0, -1.0, 1.0])
    assert share_in_cones(network, data) == 0.5  # the first and the third


def test_two_directions_by_hand():
    rows = np.array([[2.0, 0.0], [1.0, 0.1], [1.0, -0.1], [0.0, 3.0], [0.1, 1.0], [-0.1, 1.0]])
    centres, nearness = two_directions(rows)
    assert centres == pytest.approx(np.array([[0.0, 1.0], [1.0, 0.0]]), abs=1e-12)
    assert nearness[[0, 3]] == pytest.approx(1.0)
    assert nearness[1] == pytest.approx(1 / np.sqrt(1.01))
    assert weight_of(rows, np.array([1.0, 0, 0, 0, 0, 0])) == pytest.approx(4 / (4 + 9 + 4 * 1.01))


def test_directions_and_histogram():
    directions = max_margin_directions(orthants(0, n=80))
    assert np.linalg.norm(directions.positive) == pytest.approx(1.0)
    assert cosines(np.array([directions.positive * 3]), directions.positive) == pytest.approx(1.0)
    assert -directions.positive @ directions.negative > 0.5
    counts = histogram(np.array([-1.0, 0.96, 0.97, 1.0 + 1e-15]))
    assert (counts[0], counts[-1], counts.sum()) == (1, 3, 4)
