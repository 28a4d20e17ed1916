"""The kernels one by one: roots in Bernstein form, the step's order, the dense polynomial, the invariants."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from reluflow.bernstein_kernels import (
    NO_ROOT,
    first_root,
    first_root_of_powers,
    value_at,
    values_at,
)
from reluflow.data import Dataset
from reluflow.dynamics.event_driven.grouped_neurons import GroupedNeurons
from reluflow.dynamics.event_driven.next_step_kernels import StateReading, read_columns, step_space
from reluflow.dynamics.event_driven.slides import chebyshev_interpolation
from reluflow.dynamics.event_driven.step_kernels import (
    attempt_step,
    columns_at,
    have_drifted,
    restore_frame,
    restore_invariants,
    take_step,
    write_dense,
)
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.shared.flow_kernels import group_forces, outputs_of, relative_forces, velocity
from reluflow.dynamics.shared.quadric import invariants_of
from reluflow.dynamics.shared.stationary_limit import boosted
from reluflow.geometry.boundary.walls import Walls
from reluflow.losses import ExponentialLoss, LogisticLoss, SquareLoss
from reluflow.network import Network

NODES, TO_BERNSTEIN = chebyshev_interpolation(7)


def bernstein(function):
    """Bernstein coefficients of a polynomial of degree at most 7."""
    return np.ascontiguousarray(TO_BERNSTEIN @ np.array([function(t) for t in NODES]))


@given(st.lists(st.floats(-2.0, 2.0), min_size=2, max_size=12), st.floats(0.05, 1.5))
def test_first_root_of_powers_is_that_of_the_bernstein_form(powers, before):
    """What lies beyond `before` need not be found."""
    powers = np.array(powers)
    degree = len(powers) - 1
    binomial = np.array([comb(degree, k) for k in range(degree + 1)])
    coefficients = np.array(
        [sum(comb(i, k) / binomial[k] * powers[k] for k in range(i + 1)) for i in range(degree + 1)]
    )
    expected = first_root(coefficients, 1e-13)
    found = first_root_of_powers(powers, degree, before, 1e-13, np.empty(degree + 1))
    if expected < before - 1e-6:
        value = abs(np.polynomial.polynomial.polyval(found, powers))
        assert found == pytest.approx(expected, abs=1e-9) or value <= 1e-12
    elif expected > before + 1e-6:
        assert found >= before


@given(st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=7))
def test_first_root_is_the_smallest_sign_change(roots):
    roots = np.round(np.array(roots), 3)
    sign = np.prod(np.where(roots > 0, -1.0, 1.0)) or 1.0
    if np.min(np.abs(roots)) < 1e-3:
        return  # a root at the start is another matter, tested below
    coefficients = bernstein(lambda t: sign * np.prod(t - roots))
    inside = sorted(r for r in set(roots) if 0 < r <= 1 and np.sum(roots == r) % 2 == 1)
    found = first_root(coefficients, 1e-13)
    if not inside:
        assert found == NO_ROOT
    elif len(set(roots)) == len(roots) and inside[0] < 1.0:
        assert found == pytest.approx(inside[0], abs=1e-9)


def test_a_double_crossing_within_the_step_is_found():
    """Both ends are positive, so a test of signs at the ends of the step would see nothing."""
    coefficients = bernstein(lambda t: (t - 0.5) ** 2 - 1e-8)
    assert value_at(coefficients, 0.0) > 0
    assert value_at(coefficients, 1.0) > 0
    assert first_root(coefficients, 1e-14) == pytest.approx(0.4999, abs=1e-7)


def test_a_root_just_taken_does_not_fire_again():
    leaving = bernstein(lambda t: t)
    assert first_root(leaving, 1e-12) == NO_ROOT
    returning = bernstein(lambda t: t * (0.3 - t))
    assert first_root(returning, 1e-12) == pytest.approx(0.3, abs=1e-9)
    tangent = bernstein(lambda t: t**2)
    tangent[1] = -1e-17  # rounding
    assert first_root(tangent, 1e-12) == NO_ROOT
    assert 0.0 < first_root(bernstein(lambda t: -t), 1e-12) < 2e-12
    assert 1e-7 < first_root(bernstein(lambda t: t * (1e-7 - t)), 1e-12) < 2e-6
    assert first_root(bernstein(lambda t: -0.1 - t), 1e-12) == 0.0


def test_values_of_a_bernstein_polynomial():
    coefficients = bernstein(lambda t: 1.0 - 2.0 * t**3 + t**7)
    thetas = np.linspace(0.0, 1.0, 11)
    np.testing.assert_allclose(values_at(coefficients, thetas), 1.0 - 2.0 * thetas**3 + thetas**7, atol=1e-13)


@pytest.fixture(params=[SquareLoss(), LogisticLoss(), ExponentialLoss(reduction="sum")])
def small(request):
    rng = np.random.default_rng(7)
    dataset = Dataset(rng.standard_normal((4, 3)), rng.choice([-1.0, 1.0], 4))
    network = Network(w=rng.standard_normal((5, 3)), a=rng.standard_normal(5), leak=0.3, weight=rng.uniform(0.5, 2, 5))
    problem = TrainingProblem(dataset, request.param, network)
    neurons = GroupedNeurons(problem, Walls.of(dataset.X))
    assert neurons.assign_initial_groups() == []
    columns, layout = neurons.rebuild()
    return problem, neurons, columns, layout


def test_forces_and_velocities_are_those_of_the_definition(small):
    problem, neurons, columns, layout = small
    X, y, network = problem.dataset.X, problem.dataset.y, problem.network
    outputs = outputs_of(columns, layout)
    np.testing.assert_allclose(outputs, network.outputs(X), rtol=1e-13)
    forces, log_rate = relative_forces(outputs, layout)
    np.testing.assert_allclose(forces * np.exp(log_rate), problem.loss.forces(outputs, y), rtol=1e-13)
    slope = np.where(network.pre_activations(X) > 0, 1.0, network.leak)
    pull = (slope * problem.loss.forces(outputs, y)) @ X
    ours = group_forces(forces, layout)[neurons.group] * np.exp(log_rate)
    np.testing.assert_allclose(ours, pull, rtol=1e-12, atol=1e-14)
    rates = np.empty_like(columns)
    velocity(columns, layout, log_rate, rates)
    size = np.exp(neurons.log_norm[neurons.column_table.neurons])[:, None]
    order = neurons.column_table.neurons
    expected = np.hstack([network.a[:, None] * pull, np.sum(network.w * pull, axis=1)[:, None]])[order]
    np.testing.assert_allclose(rates * size * np.exp(log_rate), expected, rtol=1e-12, atol=1e-14)


def taken(columns, layout, step):
    """One step of the kernel from columns, with its polynomial."""
    slopes, rates, end = np.zeros((16, *columns.shape)), np.ones(16), np.empty_like(columns)
    _, log_rate = relative_forces(outputs_of(columns, layout), layout)
    velocity(columns, layout, log_rate, slopes[0])
    error, elapsed = attempt_step(columns, slopes, rates, step, log_rate, layout, end)
    rates[12], _ = velocity(end, layout, log_rate, slopes[12])
    dense, clock = np.empty((8, *columns.shape)), np.empty(8)
    write_dense(columns, end, slopes, rates, step, elapsed, log_rate, layout, dense, clock)
    return end, error, elapsed * np.exp(-log_rate), dense, clock * np.exp(-log_rate)


def test_the_step_is_of_order_eight_and_its_polynomial_of_order_seven(small):
    columns, layout = small[2], small[3]
    errors, inner = [], []
    for step in (0.1, 0.05):
        exact, time = columns, 0.0
        for _ in range(16):
            exact, _, elapsed, *_ = taken(exact, layout, step / 16)
            time += elapsed
        half, half_time = columns, 0.0
        for _ in range(8):
            half, _, elapsed, *_ = taken(half, layout, step / 16)
            half_time += elapsed
        end, error, elapsed, dense, clock = taken(columns, layout, step)
        errors.append(np.max(np.abs(end - exact)) + abs(elapsed - time))
        inner.append(np.max(np.abs(columns_at(dense, 0.5) - half)) + abs(value_at(clock, 0.5) - half_time))
        assert errors[-1] < max(10 * error, 1e-15)
        np.testing.assert_allclose(columns_at(dense, 1.0), end, atol=1e-15)
    assert errors[0] / max(errors[1], 1e-16) > 2**6.5 or errors[0] < 1e-13
    assert inner[0] / max(inner[1], 1e-16) > 2**5.5 or inner[0] < 1e-13


@given(st.lists(st.floats(-2.0, 2.0), min_size=2, max_size=4))
def test_boosts_are_exponentials_and_keep_the_form(vector):
    vector = np.array(vector)
    d = len(vector)
    generator = np.zeros((d + 1, d + 1))
    generator[:d, d] = generator[d, :d] = vector
    rows = np.random.default_rng(0).standard_normal((3, d + 1))
    np.testing.assert_allclose(boosted(rows, vector), rows @ expm(generator), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(invariants_of(boosted(rows, vector)), invariants_of(rows), atol=1e-11)


def test_a_frame_returns_to_the_lorentz_group_quadratically(rng):
    form = np.diag([1.0, 1.0, 1.0, -1.0])
    generator = np.zeros((4, 4))
    generator[:3, 3] = generator[3, :3] = [0.4, -0.7, 0.2]
    exact = expm(generator).T.copy()
    frame = exact + 1e-6 * rng.standard_normal((4, 4))
    restore_frame(frame)
    assert np.max(np.abs(frame @ form @ frame.T - form)) < 1e-10
    restore_frame(frame)
    assert np.max(np.abs(frame @ form @ frame.T - form)) < 1e-14
    assert np.max(np.abs(frame - exact)) < 1e-5


def test_a_first_step_that_overflows_is_refused():
    """Near a minimum pulls are small and the first step is long: outputs of 1e182 had squares that are infinite.

    Their error was nan, which the largest over the columns passed over: the step was taken, and the run was nan.
    """
    from reluflow import EventDrivenFlow, load, train

    w = [
        [-0.00249192, 0.04703662], [-0.01569385, 0.15198428], [-0.05141893, 0.48500428], [-0.00929942, 0.08032336],
        [-0.0235931, 0.23818717], [-0.01574005, 0.15847345], [-0.02035325, 0.18710518], [-0.04494374, 0.50632231],
    ]  # fmt: skip
    a = [0.04705471, 0.15270265, 0.4874226, 0.0807991, 0.23921968, 0.15916438, 0.18808727, 0.50803994]
    run = train(TrainingProblem(load("three-points"), SquareLoss(), Network(w, a)), EventDrivenFlow())
    assert run.outcome.code == "stationary"
    assert run.loss == pytest.approx(0.0875214, abs=1e-6)


def test_a_taken_step_is_attempted_restored_and_ends_with_its_slope(small):
    """Each was a call of its own, which cost more than what it computed; the same bits."""
    neurons, columns, layout = small[1:]
    _, log_rate = relative_forces(outputs_of(columns, layout), layout)
    slopes, rates, end = np.zeros((16, *columns.shape)), np.ones(16), np.empty_like(columns)
    velocity(columns, layout, log_rate, slopes[0])
    error, elapsed = attempt_step(columns, slopes, rates, 0.05, log_rate, layout, end)
    restore_invariants(end, layout, neurons.column_table.invariants)
    rates[12], log_rate_end = velocity(end, layout, log_rate, slopes[12])
    again, other_rates, other_end = np.zeros_like(slopes), np.ones(16), np.empty_like(columns)
    again[0] = slopes[0]
    taken_step = take_step(
        columns, again, other_rates, 0.05, log_rate, layout, other_end, neurons.column_table.invariants, 1.0
    )
    assert taken_step == (error, elapsed, log_rate_end)
    np.testing.assert_array_equal(other_end, end)
    np.testing.assert_array_equal(again, slopes)
    np.testing.assert_array_equal(other_rates, rates)


def test_a_step_out_of_the_range_of_a_double_has_an_infinite_error(small):
    neurons, columns, layout = small[1:]
    _, log_rate = relative_forces(outputs_of(columns, layout), layout)
    slopes = np.zeros((16, *columns.shape))
    velocity(columns, layout, log_rate, slopes[0])
    end = np.empty_like(columns)
    assert take_step(columns, slopes, np.ones(16), 1e160, log_rate, layout, end, neurons.column_table.invariants, 1.0)[
        0
    ] == (np.inf)


def test_what_is_read_off_a_state_is_its_outputs_pulls_and_gradient(small):
    problem, neurons, columns, layout = small
    reading = StateReading(np.empty(len(layout.labels)), np.empty((len(layout.sides), 3)), np.empty(3))
    has_drifted, _ = read_columns(
        columns, step_space(*columns.shape), layout, neurons.column_table, 0.0, False, True, reading
    )
    assert not has_drifted
    outputs, pulls, (square, along, size) = reading
    np.testing.assert_array_equal(outputs, outputs_of(columns, layout))
    forces, _ = relative_forces(outputs, layout)
    np.testing.assert_array_equal(pulls, group_forces(forces, layout))
    order, network = neurons.column_table.neurons, problem.network
    w, a, weight = network.w[order], network.a[order], network.weight[order]
    pull = pulls[neurons.group[order]]
    towards = np.sum(w * pull, axis=1)
    assert square == pytest.approx(weight @ (towards**2 + a**2 * np.sum(pull**2, axis=1)), rel=1e-12)
    assert along == pytest.approx(2.0 * weight @ (a * towards), rel=1e-12)
    assert size == pytest.approx(weight @ (np.sum(w**2, axis=1) + a**2), rel=1e-12)


def test_columns_have_drifted_when_a_neuron_has_left_norm_one_or_a_propagator_has_grown():
    neuron, frame = np.array([0]), np.array([-1])
    assert not have_drifted(np.array([[0.8, 0.6]]), neuron)
    assert have_drifted(np.array([[1.0, 1.0]]), neuron)
    assert not have_drifted(np.array([[5.0, 5.0]]), frame)
    assert have_drifted(np.array([[6.0, 6.0]]), frame)
