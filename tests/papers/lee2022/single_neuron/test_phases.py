"""Turning points and the two-phase criterion: Eq. (11), App. D.1, erratum E11."""

import numpy as np
import pytest
from scipy.optimize import brentq

from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.exact_orbit import balanced_orbit
from reluflow.papers.lee2022.single_neuron.magnitude_angle_flow import balanced_flow
from reluflow.papers.lee2022.single_neuron.one_layer import one_layer_flow
from reluflow.papers.lee2022.single_neuron.phases import (
    has_two_phases,
    one_layer_turning_point,
    switches,
    turning_point,
)


def test_turning_point_reference_values():
    start = BalancedNeuron(0, 1.0, phi=np.pi / 2)
    for point in (turning_point(start), one_layer_turning_point(start)):
        assert point.neuron.phi == pytest.approx(2.26163098, abs=6e-9)
        assert point.time == pytest.approx(1.95174438, abs=6e-9)
        assert point.neuron.magnitude == pytest.approx(0.70403209, abs=6e-9)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("phi", [0.3, 1.2, 1.9])
def test_one_layer_turning_point_two_ways(ratio, phi):
    start = BalancedNeuron(0, 2.0 * ratio, phi=phi, teacher_magnitude=2.0)
    general, special = turning_point(start), one_layer_turning_point(start)
    assert general.time == pytest.approx(special.time, rel=1e-11)
    assert general.neuron.magnitude == pytest.approx(special.neuron.magnitude, rel=1e-12)
    around = one_layer_flow(start, special.time + np.array([-1e-3, 0.0, 1e-3])).magnitude
    assert around[1] < min(around[0], around[2])


# Minima of v/v* from phi_0 = pi/2 for v_0 = v* and v_0 = 2 v*, and the angle below which they pass 1/2.
@pytest.mark.parametrize(
    ("q", "ratio", "minimum", "degrees"),
    [
        (0, 1.0, 0.704, 61.3),
        (0, 2.0, 0.837, 53.1),
        (1, 1.0, 0.783, 43.1),
        (1, 2.0, 0.851, 39.7),
        (2, 1.0, 0.826, 30.4),
        (2, 2.0, 0.867, 29.1),
    ],
)
def test_published_range_of_medium_and_large_starts(q, ratio, minimum, degrees):
    def lowest(phi):
        return turning_point(BalancedNeuron(q, ratio, phi=phi)).neuron.magnitude

    assert lowest(np.pi / 2) == pytest.approx(minimum, abs=6e-4)
    assert np.degrees(brentq(lambda phi: lowest(phi) - 0.5, 0.3, 1.5, xtol=1e-6)) == pytest.approx(degrees, abs=0.06)


@pytest.mark.parametrize("q", [0, 1, 2, 3])
def test_equation_11_at_most_one_switch_and_the_criterion_predicts_it(q):
    for ratio in (0.05, 0.4, 0.9, 1.0, 1.5, 4.0):
        for phi in (0.2, 1.0, 1.7, 2.2, 2.6, 3.0):
            start = BalancedNeuron(q, ratio, phi=phi)
            orbit = balanced_orbit(start)
            psi = np.linspace(start.psi, start.psi + 13.0, 400)
            log_ratio, time = orbit.at_psi(psi)
            run = orbit.at_times(time)
            np.testing.assert_allclose(run.psi, psi, rtol=1e-11, atol=1e-11)
            np.testing.assert_allclose(run.log_ratio, log_ratio, atol=1e-12)
            found = switches(run)
            assert len(found) <= 1
            assert bool(found) <= has_two_phases(start)
            if found:
                assert found[0] <= turning_point(start).time * (1 + 1e-12)
                assert run.excess[0] > 0
            elif has_two_phases(start):  # it turns, but later than the window of 13 in psi
                with pytest.raises(InvalidInputError, match="doubles do not resolve"):
                    turning_point(start)
                assert (q, ratio, phi) in {(1, 1.5, 3.0), (1, 4.0, 3.0)}


def test_erratum_e11_a_large_one_layer_start_can_decrease_for_ever():
    """The paper conjectures two phases for every large start; the sharp criterion for q = 0 says otherwise."""
    for phi in np.linspace(0.2, 3.0, 15):
        for ratio in (1.0, 1.5, 2.0, 5.0):
            start = BalancedNeuron(0, ratio, phi=phi)
            criterion = phi / ratio + np.pi * np.cos(phi) + np.sin(phi) > 0
            assert has_two_phases(start) == criterion
            assert (turning_point(start) is None) == (not criterion)
            run = one_layer_flow(start, np.linspace(0.0, 60.0, 4000))
            assert np.any(np.expm1(run.log_ratio) < -1e-14) == criterion
    assert not has_two_phases(BalancedNeuron(0, 2.0, phi=2.6))
    assert has_two_phases(BalancedNeuron(1, 2.0, phi=2.6))


def test_switch_seen_by_the_integrator():
    start = BalancedNeuron(3, 1.0, phi=1.0)
    point = turning_point(start)
    run = balanced_flow(start, np.linspace(0.0, 3.0 * point.time, 301))
    assert abs(run.times[np.argmin(run.magnitude)] - point.time) < 0.02 * point.time
    assert len(switches(run)) == 1
