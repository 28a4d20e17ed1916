"""Figures 3 and 4: their claims at a small size."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from reluflow.papers.claim import OURS
from reluflow.papers.min2025.figures import figure_3, figure_4
from reluflow.papers.workbench import Workbench


def test_the_digits_are_the_papers_where_the_user_has_the_files(tmp_path, monkeypatch):
    """All images of 0, 1 and 2 of the full files in full size; 0, 1 and 3 without them, and of files without a 2."""
    monkeypatch.setenv("RELUFLOW_DATA", str(tmp_path))
    quick, full = figure_3.FIGURE.quick, figure_3.FIGURE.full
    small = "scikit-learn" if find_spec("sklearn") else "bundled"
    assert (quick.images, full.images, full.digits) == (small, "bundled", (0, 1, 3))
    labels = np.array([0, 2, 1, 3, 2, 0], dtype=np.uint8)
    images = np.repeat(np.arange(6, dtype=np.uint8), 28 * 28).reshape(6, 28, 28)
    np.savez(tmp_path / "mnist_train.npz", images=images, labels=labels)
    assert (quick.images, full.images, full.digits) == (small, "full", (0, 1, 2))
    data = figure_3.three_digits(full.images, full.per_digit)
    assert data.classes == ("0", "1", "2")
    assert data.y.tolist() == [0, 0, 1, 2, 2]
    np.testing.assert_allclose(255 * (data.X[:, 0] - data.X[0, 0]), [0, 5, 2, 1, 4], atol=1e-9)
    np.savez(tmp_path / "mnist_train.npz", images=images[labels != 2], labels=labels[labels != 2])
    assert full.digits == (0, 1, 3)


def test_the_quick_size_takes_the_images_of_scikit_learn_where_it_is_installed(monkeypatch):
    """It took 900 bundled images whether or not the 537 small ones were there."""
    pytest.importorskip("sklearn")
    quick = figure_3.FIGURE.quick
    assert (quick.images, quick.digits) == ("scikit-learn", (0, 1, 2))
    data = figure_3.three_digits(quick.images, quick.per_digit)
    assert (data.n, data.d, np.bincount(data.y.astype(int)).tolist()) == (537, 64, [178, 182, 177])
    np.testing.assert_allclose(data.X.mean(axis=0), 0.0, atol=1e-14)
    assert np.ptp(data.X) <= 2.0
    monkeypatch.setattr(figure_3, "find_spec", lambda name: None)
    assert (quick.images, quick.digits) == ("bundled", (0, 1, 3))


@pytest.mark.parametrize("images", ["scikit-learn", "bundled"])
def test_the_claims_of_figure_3_hold_on_either_set_of_images(images, monkeypatch):
    """Of 64 pixels three components leave 39 %, so that the paper's "most" is claimed of MNIST alone."""
    if images == "bundled":
        monkeypatch.setattr(figure_3, "find_spec", lambda name: None)
    else:
        pytest.importorskip("sklearn")
    settings = figure_3.FIGURE.quick
    results = figure_3.compute(settings, Workbench("min2025/fig3", settings))
    assert [seed.images_of for seed in results.seeds] == [images]
    claims = figure_3.claims(settings, results)
    assert [claim.text for claim in claims if not claim.holds] == []
    assert (claims[0].source == OURS) == (images == "scikit-learn")


@pytest.mark.slow
@pytest.mark.parametrize("figure", [figure_3, figure_4], ids=["fig3", "fig4"])
def test_claims_hold_at_quick_size(figure, tmp_path):
    settings = figure.FIGURE.quick
    results = figure.compute(settings, Workbench(figure.FIGURE.key, settings))
    assert [claim.text for claim in figure.claims(settings, results) if not claim.holds] == []
    (picture,) = figure.draw(settings, results, tmp_path)
    assert picture.stat().st_size > 10_000
