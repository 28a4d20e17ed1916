"""Theorems 3.3, 3.4, 3.8, 3.9 and Eq. (8) on grids of exact trajectories; the printed forms that fail."""

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.bounds import (
    MagnitudeRange,
    angle_band,
    angle_rates,
    magnitude_band,
    magnitude_range,
    published_magnitude_range,
    rebuilt_magnitude_band,
    vanishing_start_band,
)
from reluflow.papers.lee2022.single_neuron.exact_orbit import balanced_orbit
from reluflow.papers.lee2022.single_neuron.one_layer import one_layer_flow, vanishing_start_upper_bound_holds_late

RATIOS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0)
ANGLES = (0.05, 0.8, np.pi / 2, 2.3, 3.0)
ROUNDING = -1e-13


def exact_run(start, count=50):
    orbit = balanced_orbit(start)
    end = 0.4 * orbit.elapsed[-1] / start.clock
    return orbit.at_times(np.concatenate([np.geomspace(1e-4, 0.2, count // 2) * end, np.linspace(0.25, 1, 25) * end]))


@pytest.mark.parametrize("q", [0, 1, 2, 3, 5])
def test_theorems_3_3_3_4_3_8_3_9_hold_on_a_grid(q):
    for ratio in RATIOS:
        for phi in ANGLES:
            start = BalancedNeuron(q, 1.5 * ratio, phi=phi, teacher_magnitude=1.5)
            run = exact_run(start)
            assert magnitude_band(start, run.times).log_slack(run.magnitude).min() > ROUNDING
            for sharp in (False, True):
                assert angle_band(start, run.times, sharp=sharp).log_slack(run.gap).min() > ROUNDING
            limits = magnitude_range(start)
            assert limits.smallest * (1 + ROUNDING) <= run.magnitude.min()
            assert run.magnitude.max() <= limits.largest * (1 - ROUNDING)


def test_sharp_angle_band_lies_inside_the_printed_one():
    start = BalancedNeuron(2, 0.3, phi=1.0)
    times = np.linspace(0.1, 30.0, 50)
    printed, sharp = angle_band(start, times), angle_band(start, times, sharp=True)
    assert np.all(sharp.lower >= printed.lower)
    assert np.all(sharp.upper <= printed.upper)


def test_bounds_can_be_seen_to_fail():
    """A band for the wrong neuron is left, so the slack is not vacuous."""
    start = BalancedNeuron(1, 0.1, phi=np.pi / 2)
    run = exact_run(start)
    other = BalancedNeuron(1, 0.05, phi=3.0)
    assert magnitude_band(other, run.times).slack(run.magnitude).min() < -0.01
    assert angle_band(other, run.times).log_slack(run.gap).min() < -0.1
    narrow = MagnitudeRange(0.9, 0.95)
    slow = BalancedNeuron(3, 0.1, phi=np.pi / 2)
    assert angle_band(slow, exact_run(slow).times, magnitudes=narrow).log_slack(exact_run(slow).gap).min() < -0.1


@pytest.mark.parametrize("q", [2, 3, 4, 5])
@pytest.mark.parametrize("phi", [1.0, np.pi / 2, 2.5])
def test_erratum_e1_printed_theorem_3_8_fails_and_the_corrected_one_holds(q, phi):
    for ratio in (0.05, 0.2):
        start = BalancedNeuron(q, ratio, phi=phi)
        run = exact_run(start)
        assert magnitude_band(start, run.times, printed=True).log_slack(run.magnitude).min() < -1e-3
        assert magnitude_band(start, run.times).log_slack(run.magnitude).min() > ROUNDING


@pytest.mark.parametrize("w_0", [1e-4, 1e-2, 0.1, 1.0])
@pytest.mark.parametrize("phi", [0.3, 1.0, np.pi / 2, 1.85, 1.90, 2.5, 3.0])
def test_erratum_e2_upper_half_of_equation_8_is_false(w_0, phi):
    start = BalancedNeuron(0, w_0, phi=phi)
    times = np.array([1e-3 * w_0, 60.0])
    run = one_layer_flow(start, times)
    band = vanishing_start_band(start, times)
    assert run.magnitude[0] > band.upper[0]
    assert np.all(run.magnitude > band.lower)
    # at t = 60 both sides are within 1e-13 of v*: compare the distances to v*, e^(-30) times their constants
    late = one_layer_flow(start, [25.0])
    below_printed = -np.expm1(late.log_ratio[0]) > np.exp(-12.5)
    assert below_printed == bool(vanishing_start_upper_bound_holds_late(phi))


def test_erratum_e2_critical_angle():
    critical = np.pi - np.arctan(np.pi)
    assert np.degrees(critical) == pytest.approx(107.66, abs=5e-3)
    assert vanishing_start_upper_bound_holds_late(critical - 1e-9)
    assert not vanishing_start_upper_bound_holds_late(critical + 1e-9)
    start = BalancedNeuron(0, 1e-3, phi=np.pi / 2)
    for factor, holds in ((4.5, False), (5.5, True)):
        time = [factor * 1e-3]
        assert (one_layer_flow(start, time).magnitude[0] < vanishing_start_band(start, time).upper[0]) == holds


def test_theorem_3_4_special_case_holds_up_to_the_teachers_norm_only():
    def worst(ratio, phi):
        start = BalancedNeuron(0, ratio, phi=phi)
        run = exact_run(start)
        return np.min(np.log(2 * start.half_cotangent) - start.phi * run.times / (2 * np.pi) - np.log(run.gap))

    assert all(worst(ratio, phi) > ROUNDING for ratio in (0.01, 0.3, 0.9, 1.0) for phi in ANGLES)
    broken = [worst(ratio, phi) < 0 for ratio in (2.0, 5.0) for phi in ANGLES]
    assert 0 < sum(broken) < len(broken)


def test_two_layer_angle_rates_do_not_see_the_magnitude():
    start = BalancedNeuron(1, 0.1, phi=1.0, teacher_magnitude=2.0)
    assert angle_rates(start, MagnitudeRange(0.01, 50.0)) == angle_rates(start)
    assert angle_rates(start) == pytest.approx((4.0 / (2 * np.pi), 2.0))


def test_one_layer_angle_rates_exchange_the_ends():
    start = BalancedNeuron(0, 0.5, phi=1.0, teacher_magnitude=2.0)
    assert angle_rates(start, MagnitudeRange(0.25, 4.0)) == pytest.approx((2 / (2 * np.pi * 4), 2 / (2 * 0.25)))


@pytest.mark.parametrize("q", [0, 1, 2])
@pytest.mark.parametrize("ratio", [0.1, 1.0, 2.0])
def test_rebuilt_bands_are_nested(q, ratio):
    start = BalancedNeuron(q, ratio, phi=np.pi / 2)
    orbit = balanced_orbit(start)
    run = orbit.at_times(np.linspace(0.0, 0.4, 81) * orbit.elapsed[-1] / start.clock)
    for first, second in ((0, 10), (10, 25), (25, 60)):
        outer, inner = rebuilt_magnitude_band(run, first), rebuilt_magnitude_band(run, second)
        shift = second - first
        assert np.all(inner.lower >= outer.lower[shift:] - 1e-11)
        assert np.all(inner.upper <= outer.upper[shift:] + 1e-11)
        assert inner.slack(run.magnitude[second:]).min() > -1e-11
        assert np.max(inner.upper - inner.lower) < np.max(outer.upper - outer.lower)


def test_published_ranges():
    start = BalancedNeuron(1, 2.0, phi=np.pi / 2, teacher_magnitude=5.0)
    assert published_magnitude_range(start, "small") == MagnitudeRange(2.0, 5.0)
    assert published_magnitude_range(start, "medium") == MagnitudeRange(2.5, 5.0)
    thresholds = [BalancedNeuron(q, 1.0, phi=np.pi / 2).threshold for q in range(3)]
    np.testing.assert_allclose(thresholds, [0.318, 0.564, 0.683], atol=5e-4)
    with pytest.raises(InvalidInputError, match="'small', 'medium' or 'large'"):
        published_magnitude_range(start, "huge")
    with pytest.raises(InvalidInputError, match="r <= R"):
        MagnitudeRange(2.0, 1.0)
    with pytest.raises(InvalidInputError, match="q = 0 for Eq"):
        vanishing_start_band(start, [1.0])
