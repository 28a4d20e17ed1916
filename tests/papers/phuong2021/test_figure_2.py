"""Figure 2 of Phuong & Lampert (2021): the residual network's claims at quick size."""

import numpy as np
import pytest

from reluflow.papers.phuong2021.figures.figure_2 import FIGURE
from reluflow.papers.workbench import Workbench


@pytest.fixture(scope="module")
def results():
    return FIGURE.compute(FIGURE.quick, Workbench(FIGURE.key, FIGURE.quick))


def test_claims(results):
    """Bounds against four seeds: s2/s3 2.6 to 2.8 (2), 9.7 to 10.1 and 9.5 to 10.1 (7), nearness to two directions
    0.985, 0.931, 0.928 to 0.932 (0.9), median correlation 0.909 to 0.934 (0.85), accuracy 1."""
    assert [claim.holds for claim in FIGURE.claims(FIGURE.quick, results)] == [True] * 6


def test_published_numbers(results):
    """W_1 1.68, 0.23 to 0.24, 0.088; W_2 and W_3 0.56 to 0.57, 0.55 to 0.56, 0.054 to 0.058 in three other seeds."""
    (seed,) = results.seeds
    first, second, third = (layer.singular_values for layer in seed.layers)
    assert first[:3] == pytest.approx([1.68, 0.235, 0.088], rel=0.05)
    assert second[:3] == pytest.approx([0.565, 0.55, 0.057], rel=0.05)
    assert third[:3] == pytest.approx([0.565, 0.55, 0.055], rel=0.05)
    assert seed.loss < 5e-5
    assert 0.45 < seed.share_close < 0.75
    assert np.linalg.svd(seed.layers[1].plane, compute_uv=False) == pytest.approx(second[:2])


def test_drawing(results, tmp_path):
    (path,) = FIGURE.draw(FIGURE.quick, results, tmp_path)
    assert path.name == "fig2.png"
    assert path.stat().st_size > 20_000
