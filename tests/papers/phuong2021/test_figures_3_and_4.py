"""Figures 3 and 4 of Phuong & Lampert (2021): one convolutional run, its claims at quick size, and its sharing."""

import numpy as np
import pytest

from reluflow.experiments.store import ResultStore
from reluflow.experiments.workbench import Workbench
from reluflow.papers.phuong2021.figures import convolutional_run, figure_3, figure_4
from reluflow.papers.phuong2021.figures.convolutional_run import FULL, QUICK, QUICK_DENSE, _distribution


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return ResultStore(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def results(store):
    return figure_3.FIGURE.compute(QUICK, Workbench("phuong2021/fig3", QUICK, store=store))


def test_full_is_the_papers_network():
    assert FULL.kernels == (32, 32, 32, 64, 64, 64)
    assert (FULL.hidden, FULL.epochs, FULL.batch, FULL.dense_scale) == (128, 50, 128, 0.05)
    assert (FULL.source, FULL.images) == ("full", None)


def test_claims_of_figure_3(results):
    """Bounds against four seeds: accuracy 0.994 to 1 (0.99), layer 7 over the best layer below 1.46 to 3.04 (1), share
    of positive products within a digit above 0.99; both digits more alike than mixed pairs in 6 to 8 of 8 layers; share
    of mixed pairs at most 0 in layer 7 0 to 0.95, which this size leaves open."""
    claims = figure_3.claims(QUICK, results)
    assert [claims[k].holds for k in (0, 2, 3)] == [True] * 3
    assert not any(claim.is_failure for claim in claims)
    assert claims[4].holds is None
    assert np.argmax(figure_3.separation(results)) == 7


@pytest.mark.slow
def test_claims_of_figure_4():
    """With 32 dense neurons an outer cluster had one and the picture showed none; with the paper's 128, in three seeds
    here: 12 to 41 neurons in the outer clusters (2), centre of the inner one over the others' 0.16 to 0.20 (0.75), mean
    signs of the outer ones -1 and 1 (0.7), 7 or 8 singular values above 5 % (5 to 10)."""
    dense = figure_4.FIGURE.compute(QUICK_DENSE, Workbench("phuong2021/fig4", QUICK_DENSE))
    assert [claim.holds for claim in figure_4.claims(QUICK_DENSE, dense)] == [True] * 5


def test_the_second_figure_takes_the_run_of_the_first(results, store, monkeypatch):
    monkeypatch.setattr(convolutional_run, "_trained", lambda *_: pytest.fail("trained again"))
    again = figure_4.FIGURE.compute(QUICK, Workbench("phuong2021/fig4", QUICK, store=store))
    assert np.array_equal(again["plane"], results["plane"])


def test_drawings(results, tmp_path):
    for figure, name in ((figure_3.FIGURE, "fig3.png"), (figure_4.FIGURE, "fig4.png")):
        (path,) = figure.draw(QUICK, results, tmp_path)
        assert path.name == name
        assert path.stat().st_size > 10_000


def test_histograms_hold_the_pairs_of_distinct_images(results):
    assert results["edges"].shape == (8, QUICK.bins + 1)
    assert results["densities"].shape == (8, 3, QUICK.bins)
    assert np.all(results["densities"].sum(axis=2) > 0.99)  # but for the tails
    assert np.linalg.svd(results["plane"], compute_uv=False) == pytest.approx(results["singular_values"][:2])


def test_three_clusters_by_hand():
    points = np.array([[0.1, 0.0], [-0.1, 0.1], [2.0, 1.0], [2.2, 0.8], [-3.0, 0.5], [0.0, -0.2]])
    assert figure_4.three_clusters(points).tolist() == [0, 0, 2, 2, 1, 0]


def test_clusters_of_mixed_sign_are_refused(results):
    """Three clear clusters of eight points each, whose signs alternate: the last claim says no."""
    around = 0.05 * np.random.default_rng(0).standard_normal((8, 2))
    plane = np.vstack([around, around - np.array([3.0, 0.0]), around + np.array([3.0, 0.0])])
    signs = np.where(np.arange(24) % 2 == 0, 1.0, -1.0)
    assert figure_4.claims(QUICK, results | {"plane": plane, "signs": signs})[4].holds is False
    sorted_signs = np.repeat([1.0, -1.0, 1.0], 8)
    assert figure_4.claims(QUICK, results | {"plane": plane, "signs": sorted_signs})[4].holds is True


def test_distribution_by_hand():
    vectors = np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 1.0], [0.0, 3.0]])
    kept = _distribution(vectors @ vectors.T, np.array([-1.0, -1.0, 1.0, 1.0]), 4)
    assert kept["means"] == pytest.approx([-0.75, 2.0, 3.0])  # mixed: -1, 0, -2, 0
    assert kept["nonpositive"] == pytest.approx([1.0, 0.0, 0.0])
    assert kept["smallest"] == pytest.approx([-2.0, 2.0, 3.0])
    assert kept["largest"] == pytest.approx([0.0, 2.0, 3.0])


def test_layer_seven_is_judged_strictly_at_full_size(results):
    perfect = dict(results)
    perfect["nonpositive"] = results["nonpositive"].copy()
    perfect["nonpositive"][7] = (1.0, 0.0, 0.0)
    assert figure_3.claims(FULL, perfect)[4].holds is True
    perfect["nonpositive"][7, 0] = 0.9999
    last = figure_3.claims(FULL, perfect)[4]
    assert last.holds is False
    assert not last.is_failure
