"""Figures 3 and 4: their claims at a small size."""

from __future__ import annotations

import pytest

from reluflow.papers.min2025.figures import figure_3, figure_4
from reluflow.papers.workbench import Workbench


@pytest.mark.slow
@pytest.mark.parametrize("figure", [figure_3, figure_4], ids=["fig3", "fig4"])
def test_claims_hold_at_quick_size(figure, tmp_path):
    settings = figure.FIGURE.quick
    results = figure.compute(settings, Workbench(figure.FIGURE.key, settings))
    assert [claim.text for claim in figure.claims(settings, results) if not claim.holds] == []
    (picture,) = figure.draw(settings, results, tmp_path)
    assert picture.stat().st_size > 10_000
