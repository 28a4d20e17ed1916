"""Population loss and gradient: finite differences, draws, and the balanced equations."""

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.magnitude_angle_flow import balanced_velocity
from reluflow.papers.lee2022.single_neuron.population import (
    NeuronParameters,
    balanced_parameters,
    balanced_state,
    population_gradient,
    population_loss,
)


def random_pair(rng, q, d=4):
    return (
        NeuronParameters(rng.standard_normal(d), rng.uniform(0.4, 1.6, q)),
        NeuronParameters(rng.standard_normal(d), rng.uniform(0.4, 1.6, q)),
    )


@pytest.mark.parametrize("q", [0, 1, 2, 3])
def test_gradient_is_the_finite_difference_of_the_loss(q, rng):
    for _ in range(5):
        student, teacher = random_pair(rng, q)
        gradient = population_gradient(student, teacher)
        flat = np.concatenate([student.w, student.v])
        step = 1e-5
        for index, exact in enumerate(np.concatenate([gradient.w, gradient.v])):
            values = []
            for sign in (1, -1):
                moved = flat.copy()
                moved[index] += sign * step
                values.append(population_loss(NeuronParameters(moved[:4], moved[4:]), teacher))
            assert exact == pytest.approx((values[0] - values[1]) / (2 * step), abs=5e-9)


@pytest.mark.parametrize("q", [0, 2])
def test_loss_is_the_mean_over_gaussian_draws(q, rng):
    student, teacher = random_pair(rng, q)
    x = rng.standard_normal((400_000, 4))
    sample = 0.5 * np.square(student.outputs(x) - teacher.outputs(x))
    assert abs(sample.mean() - population_loss(student, teacher)) < 4 * sample.std() / np.sqrt(len(x))


def test_gradient_is_the_mean_over_gaussian_draws(rng):
    student, teacher = random_pair(rng, 1)
    x = rng.standard_normal((400_000, 4))
    residual = student.outputs(x) - teacher.outputs(x)
    active = np.maximum(x @ student.w, 0.0)
    exact = population_gradient(student, teacher)
    terms = np.column_stack([(residual * (active > 0) * student.product)[:, None] * x, residual * active])
    error = np.abs(terms.mean(axis=0) - np.concatenate([exact.w, exact.v]))
    assert np.all(error < 4.5 * terms.std(axis=0) / np.sqrt(len(x)))


@pytest.mark.parametrize("q", [0, 1, 2, 3])
def test_proposition_3_6_balanced_gradient_is_the_magnitude_angle_system(q, rng):
    student, teacher = (balanced_parameters(rng.standard_normal(5), q=q) for _ in range(2))
    state, gradient = balanced_state(student, teacher), population_gradient(student, teacher)
    log_speed, psi_speed = (state.clock * part for part in balanced_velocity(q, state.log_ratio, state.psi))
    assert -gradient.w @ student.w / student.norm**2 == pytest.approx(log_speed, rel=1e-12, abs=1e-13)
    np.testing.assert_allclose(-gradient.v / student.norm, np.full(q, log_speed), rtol=1e-12, atol=1e-13)
    unit, along = student.w / student.norm, teacher.w / teacher.norm
    tangent = along - (along @ unit) * unit
    turning = -gradient.w @ tangent / np.linalg.norm(tangent) / student.norm  # dphi/dt
    assert turning == pytest.approx(psi_speed * np.sin(state.phi), rel=1e-12)


def test_loss_does_not_cancel_near_the_teacher():
    teacher = balanced_parameters([3.0, 0.0], q=1)
    close = balanced_parameters([3.0, 3e-9], q=1)
    assert population_loss(close, teacher) == pytest.approx(0.25 * 81 * 2 * 0.5e-18, rel=1e-6)


def test_refusals():
    with pytest.raises(InvalidInputError, match="the neuron is dead"):
        NeuronParameters([1.0], [1.0, -1.0])
    with pytest.raises(InvalidInputError, match="other than 0"):
        NeuronParameters([0.0, 0.0])
    with pytest.raises(InvalidInputError, match="must be balanced"):
        balanced_state(NeuronParameters([1.0, 0.0], [2.0]), balanced_parameters([0.0, 1.0], q=1))
    with pytest.raises(InvalidInputError, match="one dimension"):
        population_loss(NeuronParameters([1.0]), NeuronParameters([1.0, 2.0]))
