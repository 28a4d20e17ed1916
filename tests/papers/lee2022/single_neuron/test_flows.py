"""The population flow four ways: Runge-Kutta, quadrature, the closed form of q = 0, and all parameters in R^d."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp

from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.exact_orbit import balanced_orbit
from reluflow.papers.lee2022.single_neuron.full_parameter_flow import parameter_flow
from reluflow.papers.lee2022.single_neuron.magnitude_angle_flow import balanced_flow
from reluflow.papers.lee2022.single_neuron.one_layer import one_layer_flow, one_layer_tail_constant
from reluflow.papers.lee2022.single_neuron.population import (
    NeuronParameters,
    balanced_parameters,
    balanced_state,
    population_gradient,
    population_loss,
)

# q = 0, v* = 1, phi_0 = pi/2: (|w_0|, t, phi, |w|), all digits of the closed form.
ONE_LAYER = [
    (0.1, 1.0, 2.8425397625, 0.3725496699),
    (0.1, 5.0, 3.1237094623, 0.9128358276),
    (0.1, 10.0, 3.1402359234, 0.9928340160),
    (1.0, 1.0, 1.8844498338, 0.7649619447),
    (1.0, 5.0, 2.9646128983, 0.8799496917),
    (2.0, 1.0, 1.7315767577, 1.3546974380),
    (2.0, 5.0, 2.7980729457, 0.8682737764),
]
# v* = 1, from phi = pi/2 to 3 pi/4: (q, v_0, t, v).
THREE_QUARTERS = [
    (1, 0.1, 2.82674218552, 0.206095219244),
    (1, 1.0, 2.82674218552, 0.80500581454),
    (1, 2.0, 2.82674218552, 0.852350036812),
    (2, 0.1, 20.9693693309, 0.211158399818),
    (2, 1.0, 3.29975107745, 0.8621380469),
    (2, 2.0, 2.94353155177, 0.879710915972),
    (3, 0.1, 162.077380161, 0.211972307841),
    (3, 1.0, 3.65246641824, 0.897747679808),
    (3, 2.0, 3.17909296681, 0.904626749897),
]


@pytest.mark.parametrize(("w_0", "t", "phi", "norm"), ONE_LAYER)
def test_one_layer_reference_values_three_ways(w_0, t, phi, norm):
    start = BalancedNeuron(0, w_0, phi=np.pi / 2)
    for run in (one_layer_flow(start, [t]), balanced_orbit(start).at_times([t]), balanced_flow(start, [t])):
        assert run.phi[0] == pytest.approx(phi, abs=6e-11)
        assert run.magnitude[0] == pytest.approx(norm, abs=6e-11)


@pytest.mark.parametrize(("q", "v_0", "t", "v"), THREE_QUARTERS)
def test_three_quarter_turn_reference_values(q, v_0, t, v):
    start = BalancedNeuron(q, v_0, phi=np.pi / 2)
    magnitude, time = balanced_orbit(start).at_phi(0.75 * np.pi)
    assert time[0] == pytest.approx(t, rel=1e-11)
    assert magnitude[0] == pytest.approx(v, rel=1e-11)
    run = balanced_flow(start, time)
    assert run.phi[0] == pytest.approx(0.75 * np.pi, abs=1e-10)
    assert run.magnitude[0] == pytest.approx(v, rel=1e-10)


def test_two_layer_time_is_one_integral():
    _, time = balanced_orbit(BalancedNeuron(1, 7.0, phi=0.3, teacher_magnitude=2.0)).at_phi([1.0, 3.0])
    for phi, value in zip((1.0, 3.0), time, strict=True):
        expected = 2 * np.pi / 4.0 * quad(lambda s: 1 / (s * np.sin(s)), 0.3, phi, epsabs=1e-13, epsrel=1e-13)[0]
        assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("q", [0, 1, 2, 3, 5])
def test_integrator_and_quadrature_agree(q):
    for ratio in (0.05, 1.0, 4.0):
        for phi in (0.1, np.pi / 2, 3.1):
            start = BalancedNeuron(q, 3.0 * ratio, phi=phi, teacher_magnitude=3.0)
            orbit = balanced_orbit(start)
            times = np.concatenate([[0.0], np.geomspace(1e-4, 1.2, 15) * orbit.elapsed[-1] / start.clock])
            stepped, exact = balanced_flow(start, times), orbit.at_times(times)
            np.testing.assert_allclose(stepped.log_ratio, exact.log_ratio, atol=2e-10)
            # at slow starts psi inherits the spacing of doubles at the elapsed time
            tolerance = 2e-10 + 1e-12 * start.clock * times
            assert np.all(np.abs(stepped.psi - exact.psi) < tolerance)


@settings(max_examples=40)
@given(st.floats(1e-4, 50.0), st.floats(0.02, 3.12), st.floats(0.1, 10.0))
def test_quadrature_equals_the_closed_form_of_one_layer(ratio, phi, teacher):
    start = BalancedNeuron(0, ratio * teacher, phi=phi, teacher_magnitude=teacher)
    times = [0.0, 1e-3, 0.1, 1.0, 7.0, 40.0, 500.0, 5000.0]
    exact, quadrature = one_layer_flow(start, times), balanced_orbit(start).at_times(times)
    np.testing.assert_allclose(quadrature.log_ratio, exact.log_ratio, atol=2e-13)
    np.testing.assert_allclose(quadrature.psi, exact.psi, rtol=1e-13, atol=2e-13)


def test_first_integral_decays_at_the_rate_of_the_gain():
    start = BalancedNeuron(2, 0.7, phi=1.0)
    run = balanced_orbit(start).at_times(np.linspace(0.0, 6.0, 4001))
    logarithm = run.log_ratio - np.log(np.cosh(run.psi)) - np.log(run.phi)  # log(v sin(phi)/phi)
    slope = np.gradient(logarithm, run.times, edge_order=2)[1:-1]
    np.testing.assert_allclose(slope, -0.5 * run.magnitude[1:-1] ** 4, atol=1e-6)


@pytest.mark.parametrize("q", [0, 2])
def test_proposition_3_1_vector_field_in_five_dimensions(q, rng):
    student, teacher = (balanced_parameters(rng.standard_normal(5), q=q) for _ in range(2))
    times = [0.0, 0.3, 1.0, 3.0]

    def velocity(_, state):
        gradient = population_gradient(NeuronParameters(state[:5], state[5:]), teacher)
        return -np.concatenate([gradient.w, gradient.v])

    solution = solve_ivp(velocity, (0, 3), np.concatenate([student.w, student.v]), t_eval=times, rtol=1e-10, atol=1e-12)
    run = balanced_flow(balanced_state(student, teacher), times)
    reduced = parameter_flow(student, teacher, times)
    np.testing.assert_allclose(np.linalg.norm(solution.y[:5], axis=0), run.magnitude, rtol=1e-8)
    np.testing.assert_allclose(reduced.magnitude, run.magnitude, rtol=1e-9)
    np.testing.assert_allclose(reduced.gap, run.gap, atol=1e-10)
    np.testing.assert_allclose(reduced.w, solution.y[:5].T, atol=1e-7)
    np.testing.assert_allclose(run.loss[0], population_loss(student, teacher), rtol=1e-12)


def test_proposition_3_5_signs_and_balance_from_unbalanced_starts(rng):
    """One of these starts makes a trial step of 1e52, whose square raised an OverflowError instead of a rejection."""
    for _ in range(8):
        start = NeuronParameters(rng.standard_normal(3), rng.uniform(0.05, 2.0, 3))
        teacher = balanced_parameters(rng.standard_normal(3), q=3)
        run = parameter_flow(start, teacher, np.linspace(0.0, 20.0, 60), rtol=1e-10)
        assert np.all(run.v > 0)
        assert np.abs(run.balance - run.balance[0]).max() < 1e-8
        assert np.all(np.diff(run.gap) < 1e-12)


@pytest.mark.parametrize("q", [0, 1, 2, 3])
def test_theorems_3_2_and_3_7_global_convergence(q):
    for ratio in (0.1, 3.0):
        for phi in (0.05, 1.5, 3.1):
            start = BalancedNeuron(q, ratio, phi=phi)
            orbit = balanced_orbit(start)
            run = orbit.at_times(np.linspace(0.0, 1.0, 200) * orbit.elapsed[-1] / start.clock)
            assert np.all(np.diff(run.psi) > 0)
            assert run.gap[-1] < 1e-15
            assert abs(run.log_ratio[-1]) < 1e-11


# Time from phi = pi/2 to 0.95 pi at v_0 = 1e-1, ..., 1e-4: proportional to v_0^(1-q).
@pytest.mark.parametrize(
    ("q", "expected", "rel"),
    [
        (0, (1.633, 0.2378, 0.0251, 0.00252), 2e-3),
        (1, (6.643, 6.643, 6.643, 6.643), 1e-4),
        (2, (30.24, 297.6, 2976, 29760), 2e-4),
        (3, (188, 1.872e4, 1.872e6, 1.872e8), 3e-4),
    ],
)
def test_alignment_time_scales_with_the_start(q, expected, rel):
    times = [balanced_orbit(BalancedNeuron(q, 10.0**-k, phi=np.pi / 2)).at_phi(0.95 * np.pi)[1][0] for k in range(1, 5)]
    np.testing.assert_allclose(times, expected, rtol=rel)
    assert times[3] / times[2] == pytest.approx(10.0 ** (q - 1), rel=0.01)


def test_tails():
    start = BalancedNeuron(0, 2.0, phi=1.2)
    late = one_layer_flow(start, [30.0])
    assert np.expm1(late.log_ratio[0]) * np.exp(15.0) == pytest.approx(-one_layer_tail_constant(start), rel=1e-4)
    for q in (2, 3):
        run = balanced_orbit(BalancedNeuron(q, 1.0, phi=1.2))
        psi = 6.0
        ratio, _ = run.at_psi(psi)
        eps = 0.5 * (2 * np.exp(-psi)) ** 2
        assert ratio[0] / eps == pytest.approx(-1 / (q - 1), rel=0.05)


def test_two_layer_tail_has_a_logarithm():
    orbit = balanced_orbit(BalancedNeuron(1, 1.0, phi=1.2))
    psi = np.array([7.0, 9.0])
    ratio, _ = orbit.at_psi(psi)
    quotient = -ratio / (0.5 * (2 * np.exp(-psi)) ** 2)
    assert quotient[1] - quotient[0] == pytest.approx(2.0, abs=0.02)  # grows like log(1/gap)


def test_refusals_and_extremes():
    start = BalancedNeuron(1, 0.5, phi=1.0)
    with pytest.raises(InvalidInputError, match="the angle only grows"):
        balanced_orbit(start).at_phi(0.5)
    with pytest.raises(InvalidInputError, match="never decrease"):
        balanced_flow(start, [1.0, 0.5])
    with pytest.raises(InvalidInputError, match="q = 0 here"):
        one_layer_flow(start, [1.0])
    with pytest.raises(InvalidInputError, match="exactly one of"):
        BalancedNeuron(1, 0.5, phi=1.0, gap=1.0)
    with pytest.raises(InvalidInputError, match="strictly between 0 and pi"):
        BalancedNeuron(1, 0.5, phi=np.pi)
    with pytest.raises(InvalidInputError, match="whole number"):
        BalancedNeuron(-1, 0.5, phi=1.0)
    with pytest.raises(InvalidInputError, match="at_times"):
        balanced_flow(BalancedNeuron(5, 1e-4, phi=0.05), [1e22])
    assert balanced_orbit(BalancedNeuron(5, 1e-4, phi=0.05)).at_times([1e22]).gap[0] < 1e-9
