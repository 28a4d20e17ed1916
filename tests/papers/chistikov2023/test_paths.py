"""Figures 2 to 6 and 9 to 11 of chistikov2023 at quick size: their claims, and claims that can fail."""

from dataclasses import replace

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.papers.chistikov2023.data import NOISE_UNCENTRED, two_teachers
from reluflow.papers.chistikov2023.figures import (
    figure_2,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    figure_9,
    figure_10,
    figure_11,
)
from reluflow.papers.chistikov2023.figures.bundle_run import BundleRun, crossing_iterations
from reluflow.papers.chistikov2023.figures.losses_figure import late_rates
from reluflow.papers.chistikov2023.figures.losses_run import LossPath, LossPaths
from reluflow.papers.chistikov2023.figures.two_teachers_run import SpreadAngles
from reluflow.papers.workbench import Workbench


def made(figure, **changes):
    settings = replace(figure.FIGURE.quick, **changes)
    return settings, figure.FIGURE.compute(settings, Workbench(figure.FIGURE.key, settings))


@pytest.fixture(scope="module")
def one_run():
    return made(figure_3)


@pytest.mark.parametrize("figure", [figure_3, figure_4, figure_5, figure_6])
def test_the_one_run_of_four_figures(one_run, figure, tmp_path):
    settings, results = one_run
    claims = figure.claims(settings, results)
    assert [claim.holds for claim in claims] == [True] * len(claims)
    assert figure.draw(settings, results, tmp_path)[0].exists()


def test_a_crossing_is_found_between_two_moments():
    """The first moment after it was told, up to 4 % late: two coordinates that cross one after the other tied."""
    times = np.geomspace(1.0, 1e4, 60)
    deviations = np.stack([np.log(500.0 / times), np.log(520.0 / times), np.ones(60)], axis=1)
    nothing = np.zeros(60)
    run = BundleRun(times, nothing, nothing, deviations, *[nothing] * 7)
    found = crossing_iterations(run)
    assert found == pytest.approx([500.0, 520.0, np.inf], rel=1e-9)


def test_a_swapped_pair_of_coordinates_breaks_the_order(one_run):
    settings, results = one_run
    swapped = replace(results, deviations=results.deviations[:, [1, 0, *range(2, settings.d)]])
    assert [claim.holds for claim in figure_3.claims(settings, swapped)] == [False, True, True]


def test_the_angle_of_a_bundle_that_closes_is_noticed(one_run):
    settings, results = one_run
    closing = replace(results, largest=np.geomspace(100.0, 1e-9, len(results.largest)))
    assert [claim.holds for claim in figure_5.claims(settings, closing)] == [True, False, False, True]


@pytest.mark.parametrize("figure", [figure_2, figure_9])
def test_losses(figure, tmp_path):
    settings, results = made(figure, powers=(2, 6), num_times=60)
    claims = figure.FIGURE.claims(settings, results)
    assert [claim.holds for claim in claims] == [True] * 4
    assert figure.FIGURE.draw(settings, results, tmp_path)[0].exists()
    path = LossPath(np.arange(9.0), np.exp(-0.3 * np.arange(9.0)), np.ones(9))
    assert late_rates(LossPaths((path,), 0.3, np.zeros(2))) == pytest.approx([0.3])
    rising = tuple(replace(path, test=100.0**k * path.test) for k, path in enumerate(results.paths))
    judged = figure.FIGURE.claims(settings, replace(results, paths=rising))
    assert [claim.holds for claim in judged] == [True, True, False, True]


def test_two_teachers_fall_twice(tmp_path):
    settings, results = made(figure_11)
    assert [claim.holds for claim in figure_11.claims(settings, results)] == [True] * 5
    assert figure_11.draw(settings, results, tmp_path)[0].exists()
    first, second = figure_11.drops(results)
    assert results.one_sided[1] < results.one_sided[0]  # the longer teacher leaves less
    assert first < second


@pytest.mark.parametrize(
    ("angles", "holds"),
    [
        ((0.01, 0.02, 0.04, 60.0), [True, True, True, True]),
        ((0.01, 2.0, 0.04, 60.0), [False, False, True, False]),  # apart at 45 degrees already
        ((0.01, 0.009, 0.008, 0.007), [True, True, False, False]),  # no growth at all
        ((0.01, 0.02, 0.04, 0.5), [True, True, True, False]),  # growth, but every group becomes parallel
    ],
)
def test_the_spread_is_judged_by_what_is_measured(angles, holds):
    """The page said "large beyond sqrt 2 - 1" with a tick while nine groups of ten were parallel to 0.04 degrees."""
    settings = replace(figure_10.FIGURE.full, spreads=(0.1, NOISE_UNCENTRED, 1.0, 3.0), seeds=(0, 1, 2))
    largest = np.broadcast_to(np.array(angles)[None, :, None], (2, 4, 3))
    claims = figure_10.claims(settings, SpreadAngles(largest, np.zeros((4, 3))))
    assert [claim.holds for claim in claims] == holds
    assert [claim.is_ours for claim in claims] == [False, False, False, True]


@pytest.mark.parametrize("centred", [True, False])
def test_two_teachers_are_each_on_their_own_side(centred, rng):
    data = two_teachers(rng, d=5, n=4, rho=0.05, centred=centred)
    assert np.all(data.y[:4] > 0)
    assert np.all(data.y[4:] < 0)
    for side, length in ((slice(0, 4), 1.0), (slice(4, 8), 3.0)):
        teacher = np.linalg.lstsq(data.X[side], np.abs(data.y[side]), rcond=None)[0]
        assert np.linalg.norm(teacher) <= length * (1 + 1e-9)  # the part of it that four samples show
    assert np.all(two_teachers(rng, d=3, rho=4.0).y != 0.0)
    with pytest.raises(InvalidInputError, match="`rho` must be positive, got -1"):
        two_teachers(rng, rho=-1.0)
