"""Figures 3 and 4: their claims at a small size."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.papers.min2025.figures import figure_3, figure_4
from reluflow.papers.workbench import Workbench


def test_the_digits_are_the_papers_where_the_user_has_the_files(tmp_path, monkeypatch):
    """All images of 0, 1 and 2 of the full files in full size; 0, 1 and 3 elsewhere, and of files without a 2."""
    monkeypatch.setenv("RELUFLOW_DATA", str(tmp_path))
    quick, full = figure_3.FIGURE.quick, figure_3.FIGURE.full
    assert quick.digits == full.digits == (0, 1, 3)
    labels = np.array([0, 2, 1, 3, 2, 0], dtype=np.uint8)
    images = np.repeat(np.arange(6, dtype=np.uint8), 28 * 28).reshape(6, 28, 28)
    np.savez(tmp_path / "mnist_train.npz", images=images, labels=labels)
    assert (quick.digits, full.digits) == ((0, 1, 3), (0, 1, 2))
    data = figure_3.three_digits(full.digits, full.per_digit)
    assert data.classes == ("0", "1", "2")
    assert data.y.tolist() == [0, 0, 1, 2, 2]
    np.testing.assert_allclose(255 * (data.X[:, 0] - data.X[0, 0]), [0, 5, 2, 1, 4], atol=1e-9)
    np.savez(tmp_path / "mnist_train.npz", images=images[labels != 2], labels=labels[labels != 2])
    assert full.digits == (0, 1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("figure", [figure_3, figure_4], ids=["fig3", "fig4"])
def test_claims_hold_at_quick_size(figure, tmp_path):
    settings = figure.FIGURE.quick
    results = figure.compute(settings, Workbench(figure.FIGURE.key, settings))
    assert [claim.text for claim in figure.claims(settings, results) if not claim.holds] == []
    (picture,) = figure.draw(settings, results, tmp_path)
    assert picture.stat().st_size > 10_000
