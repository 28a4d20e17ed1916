"""Figures 1, 7 and 8 of chistikov2023: angles by atan2, one draw for all scales, slope 1."""

import numpy as np
import pytest

from reluflow.papers.chistikov2023.figures import figure_1, figure_7, figure_8
from reluflow.papers.chistikov2023.figures.draws import FITTED, angles, draw, squared_norm, trained
from reluflow.papers.chistikov2023.figures.published_medians import AVERAGE_ANGLE, LARGEST_ANGLE
from reluflow.papers.chistikov2023.figures.scales_figure import AVERAGE, LARGEST, ScalesRow, median_claims
from reluflow.papers.chistikov2023.figures.scales_run import KINDS, ScaleEnds, Settings, compute
from reluflow.papers.workbench import Workbench


def test_angles_have_no_floor():
    """arccos of a product of doubles cannot tell angles below 1e-6 degrees (erratum E14)."""
    tiny = 1e-12
    found = angles(np.array([[1.0, 0.0], [1.0, tiny], [0.0, 2.0]]))
    assert found == pytest.approx([np.rad2deg(tiny), 90.0, 90.0 - np.rad2deg(tiny)], rel=1e-9)


@pytest.mark.parametrize(("seed", "d", "width"), [(0, 2, 6), (1, 8, 25)])
def test_a_run_ends_fitted_at_squared_norm_two(seed, d, width):
    """The second draw ended at L = 2.2e-9 as "stationary": the gradient is small long before the loss is."""
    trial = draw(seed, d=d, width=width, centred=False)
    run = trained(trial, -8.0)
    assert run.loss <= FITTED
    assert squared_norm(run.network) == pytest.approx(2.0, abs=1e-2)
    assert run.predictions == pytest.approx(trial.dataset.y, abs=1e-3)


@pytest.mark.parametrize("module", [figure_1, figure_7, figure_8])
@pytest.mark.parametrize(("slope", "holds"), [(1.0, True), (0.9, False)])
def test_the_claims_on_the_slope_can_fail(module, slope, holds):
    settings = Settings(dimensions=(4,), powers=(6, 8, 10), seeds=(0,), widths=(5,))
    shape = (len(KINDS), 1, 1, 3)
    angle = np.broadcast_to(settings.scales**slope, shape)
    results = ScaleEnds(angle, 0.5 * angle, np.ones(shape), np.full(shape, 2.0))
    claims = module.FIGURE.claims(settings, results)
    assert all(claim.holds is holds for claim in claims if "falls by 4.00" in claim.text)
    assert all(claim.holds for claim in claims if "falls by 4.00" not in claim.text)


def test_two_widths_share_nothing_but_the_seed():
    settings = Settings(dimensions=(3,), powers=(4, 5), seeds=(0, 1), widths=(4, 8))
    results = compute(settings, Workbench("scales", settings))
    assert results.largest.shape == results.squared.shape == (2, 2, 2, 2)
    assert np.all(results.nuclear > 0.9)
    assert not np.allclose(results.largest[:, 0], results.largest[:, 1])


def _ends(values):
    return ScaleEnds(largest=values, average=values, nuclear=values, squared=values)


def test_printed_medians_stand_beside_ours():
    """Tables 1 and 2, read off the paper; a median ten times too large is seen."""
    settings = Settings(dimensions=(4, 64), powers=(8, 12), seeds=(0,))
    theirs = np.array([[LARGEST_ANGLE[k].at(power, settings.sizes) for power in settings.powers] for k in KINDS])
    angles = theirs.transpose(0, 2, 1)[:, :, None, :]  # kind, size, draw, scale
    row = ScalesRow(LARGEST, "", published=LARGEST_ANGLE)
    claims = median_claims(settings, row, _ends(angles))
    assert len(claims) == 4
    assert all(claim.holds for claim in claims)
    assert not any(claim.holds for claim in median_claims(settings, row, _ends(11.0 * angles)))
    other = Settings(dimensions=(5,), powers=(8,), seeds=(0,))
    assert median_claims(other, row, _ends(np.ones((2, 1, 1, 1)))) == []


def test_figure_7_has_the_printed_medians_of_the_average_angle():
    """Those of Tables 1 and 2 alone stood beside ours, though the figure computes the average of Table 3 too."""
    row = ScalesRow(AVERAGE, "", published=AVERAGE_ANGLE)
    settings = figure_7.FIGURE.full
    shape = (2, len(settings.sizes), 1, len(settings.powers))
    theirs = np.array(AVERAGE_ANGLE["centred"].at(8, settings.sizes))
    angles = np.broadcast_to(theirs[None, :, None, None], shape)
    (claim,) = median_claims(settings, row, ScaleEnds(np.ones(shape), angles, np.ones(shape), np.ones(shape)))
    assert claim.holds
    assert "(Table 3)" in claim.expected
    assert "of the average angle" in claim.text
    of_figure = figure_7.FIGURE.claims(settings, ScaleEnds(np.ones(shape), angles, np.ones(shape), np.ones(shape)))
    assert claim in of_figure
