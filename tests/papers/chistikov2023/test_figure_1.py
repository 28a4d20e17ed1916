"""Figures 1, 7 and 8 of chistikov2023: angles by atan2, one draw for all scales, slope 1."""

import numpy as np
import pytest

from reluflow.papers.chistikov2023.figures import figure_1, figure_7, figure_8
from reluflow.papers.chistikov2023.figures.draws import FITTED, angles, draw, largest_angle, squared_norm, trained
from reluflow.papers.chistikov2023.figures.medians_of_five import median_range
from reluflow.papers.chistikov2023.figures.published_medians import (
    AVERAGE_ANGLE,
    LARGEST_ANGLE,
    LARGEST_ANGLE_BY_WIDTH,
)
from reluflow.papers.chistikov2023.figures.scales_ends import ScaleEnds, Settings, compute, last_factors, medians
from reluflow.papers.chistikov2023.figures.scales_figure import AVERAGE, LARGEST, ScalesRow, median_claims, norm_claims
from reluflow.papers.chistikov2023.figures.scales_run import KINDS, RTOL, RTOL_LAZY
from reluflow.papers.store import ResultStore
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


def test_further_draws_are_made_at_the_compared_scales_alone():
    """They say how far medians of few draws differ; the picture and the medians are those of the first draws."""
    settings = Settings(
        dimensions=(2, 3),
        powers=(4, 5),
        seeds=(0, 1),
        widths=(4,),
        large=(3,),
        powers_in_large=(4,),
        compared=(5,),
        further=1,
    )
    results = compute(settings, Workbench("scales", settings))
    assert results.largest.shape == (2, 2, 3, 2)
    was_trained = np.isfinite(results.largest[0])
    assert was_trained[0].tolist() == [[True, True], [True, True], [False, True]]
    assert was_trained[1].tolist() == [[True, False], [True, False], [False, False]]
    of_two = np.mean(results.largest[:, :, :2], axis=2)
    assert np.array_equal(medians(settings, results.largest), of_two, equal_nan=True)


def test_each_size_is_judged_by_the_smallest_scales_it_is_trained_from():
    """In dimension 1,024 every other scale is trained, and the smallest of all is not among them."""
    settings = Settings(
        dimensions=(4, 1024), powers=(10, 11, 12, 13), seeds=(0,), widths=(5,), large=(1024,), powers_in_large=(10, 12)
    )
    angle = np.broadcast_to(settings.scales, (len(KINDS), 2, 1, 4)).copy()
    angle[:, 1, :, [1, 3]] = np.nan
    np.testing.assert_allclose(last_factors(settings, medians(settings, angle)), 4.0, rtol=1e-12)
    norms = np.where(np.isnan(angle), np.nan, 1.0)
    results = ScaleEnds(angle, angle, norms, 2.0 * norms)
    assert all(claim.holds for claim in norm_claims(settings, results, source="Sec. 8"))
    norms[:, 1, :, 2] = 1.1
    of_nuclear, _ = norm_claims(settings, ScaleEnds(angle, angle, norms, 2.0 * norms**2), source="Sec. 8")
    assert not of_nuclear.holds
    assert of_nuclear.measured == pytest.approx(0.1)


def test_runs_are_kept_for_all_three_figures(tmp_path):
    """Figure 7 trained once more what Figure 1 had trained, for each figure kept its own."""
    settings = Settings(dimensions=(2,), powers=(4, 5), seeds=(0,), widths=(4,))
    for name in ("one", "other"):  # whose other code is not that of the runs
        compute(settings, Workbench(name, settings, code=name, store=ResultStore(tmp_path)))
    assert len(list(tmp_path.rglob("*.npz"))) == len(KINDS) * len(settings.powers)


def test_large_scales_need_few_digits():
    """Angles of tens of degrees, for which a run at rtol 1e-8 took fifteen times as long as at 1e-5."""
    trial = draw(0, d=6, width=20, centred=True)
    coarse, fine = (largest_angle(trained(trial, 0.0, rtol=rtol).network.w[trial.group]) for rtol in (RTOL_LAZY, RTOL))
    assert coarse == pytest.approx(fine, rel=1e-3)
    assert fine > 10.0


def _ends(values):
    return ScaleEnds(largest=values, average=values, nuclear=values, squared=values)


def _printed(table, settings, power):
    return list(table.of(power, settings.sizes).values())


def _draws_around(theirs, num_draws):
    """Angles over kind, size, draw and scale, from half a printed median (over kind, scale and size) to twice it."""
    factors = np.geomspace(0.5, 2.0, num_draws)
    return theirs.transpose(0, 2, 1)[:, :, None, :] * factors[:, None]


def test_printed_medians_stand_beside_ours():
    """Tables 1 and 2, read off the paper; medians three times as large or small are seen."""
    settings = Settings(dimensions=(4, 64), powers=(8, 12), seeds=(0, 1, 2, 3, 4), compared=(8, 12), further=20)
    theirs = np.array([[_printed(LARGEST_ANGLE[k], settings, power) for power in settings.powers] for k in KINDS])
    draws = _draws_around(theirs, 25)
    row = ScalesRow(LARGEST, "", published=LARGEST_ANGLE)
    claims = median_claims(settings, row, _ends(draws))
    assert len(claims) == 4
    assert all(claim.holds for claim in claims)
    assert all(claim.is_ours for claim in claims)
    assert "0.49 % of medians of five miss the range of 25 draws" in claims[0].why
    for factor in (3.0, 1.0 / 3.0):
        assert not any(claim.holds for claim in median_claims(settings, row, _ends(factor * draws)))
    one_off = draws.copy()
    one_off[0, 1, :, 0] *= 3.0
    first, *others = median_claims(settings, row, _ends(one_off))
    assert first.why.startswith("Outside for d = 64; m = 200.")
    assert not first.holds
    assert all(claim.holds for claim in others)
    other = Settings(dimensions=(5,), powers=(8,), seeds=(0,))
    assert median_claims(other, row, _ends(np.ones((2, 1, 1, 1)))) == []


def test_draws_that_were_not_trained_do_not_count():
    """In dimension 1,024 fewer further draws are trained than in the others: nan there."""
    settings = Settings(dimensions=(1024,), powers=(8,), seeds=(0, 1, 2, 3, 4), widths=(25, 50, 200))
    theirs = np.array([[_printed(LARGEST_ANGLE_BY_WIDTH[kind], settings, 8)] for kind in KINDS])
    draws = np.full((2, 3, 25, 1), np.nan)
    draws[:, :, :5] = _draws_around(theirs, 5)
    centred, uncentred = median_claims(settings, ScalesRow(LARGEST, "", LARGEST_ANGLE_BY_WIDTH), _ends(draws))
    assert centred.holds
    assert centred.measured == LARGEST_ANGLE_BY_WIDTH["centred"].rows[8]
    assert "17 % of medians of five miss the range of 5 draws" in centred.why
    assert "E15" in uncentred.why
    assert "E15" not in centred.why
    centred, _ = median_claims(settings, ScalesRow(LARGEST, "", LARGEST_ANGLE_BY_WIDTH), _ends(5.0 * draws))
    assert centred.holds is None  # of six times it happens once by chance
    assert centred.why.startswith("Outside for d = 1,024; m = 25, 50, 200.")


def test_figure_7_has_the_printed_medians_of_the_average_angle():
    """Those of Tables 1 and 2 alone stood beside ours, though the figure computes the average of Table 3 too."""
    row = ScalesRow(AVERAGE, "", published=AVERAGE_ANGLE)
    settings = figure_7.FIGURE.full
    shape = (2, len(settings.sizes), 25, len(settings.powers))
    theirs = np.array(_printed(AVERAGE_ANGLE["centred"], settings, 8))
    angles = np.broadcast_to(theirs[None, :, None, None], shape)
    (claim,) = median_claims(settings, row, ScaleEnds(np.ones(shape), angles, np.ones(shape), np.ones(shape)))
    assert claim.holds
    assert "Table 3" in claim.text
    assert "of the average angle" in claim.text
    of_figure = figure_7.FIGURE.claims(settings, ScaleEnds(np.ones(shape), angles, np.ones(shape), np.ones(shape)))
    assert claim in of_figure


@pytest.mark.parametrize(("figure", "tables"), [(figure_1, {1, 2}), (figure_7, {3}), (figure_8, {7, 8})])
def test_full_sizes_meet_every_printed_median(figure, tables):
    """Tables 7 and 8 are of dimension 1,024, in which nothing was trained; Tables 1 to 3 reach it at one scale."""
    settings = figure.FIGURE.full
    shape = (2, len(settings.sizes), 25, len(settings.powers))
    claims = figure.FIGURE.claims(settings, _ends(np.ones(shape)))
    assert {number for number in range(1, 13) for claim in claims if f"Table {number} prints" in claim.text} == tables
    at_one_scale = [claim for claim in claims if " prints at " in claim.text and "4^{-8}" in claim.text]
    assert all("1,024" in claim.text for claim in at_one_scale)


@pytest.mark.parametrize(("num_draws", "rank"), [(10, 1), (50, 2)])
def test_how_often_the_median_of_five_misses_a_range(rng, num_draws, rank):
    ours = np.sort(rng.standard_normal((40_000, num_draws)), axis=1)
    theirs = np.median(rng.standard_normal((40_000, 5)), axis=1)
    found = median_range(ours[0])
    assert (found.low, found.high) == (ours[0, rank - 1], ours[0, -rank])
    share = np.mean((theirs < ours[:, rank - 1]) | (theirs > ours[:, -rank]))
    assert share == pytest.approx(found.missed, abs=4.0 * np.sqrt(found.missed / 40_000))
