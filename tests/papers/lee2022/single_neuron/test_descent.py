"""Population and finite-sample gradient descent: against plain loops, the flow, and each other."""

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.data import single_neuron
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.descent import (
    NeuronColumns,
    balanced_columns,
    planar_columns,
    population_descent,
    sample_descent,
)
from reluflow.papers.lee2022.single_neuron.exact_orbit import balanced_orbit
from reluflow.papers.lee2022.single_neuron.population import (
    NeuronParameters,
    balanced_parameters,
    population_gradient,
    population_loss,
)


@pytest.mark.parametrize("q", [0, 1, 3])
def test_population_descent_is_the_plain_loop_in_space(q, rng):
    columns = NeuronColumns(rng.standard_normal((4, 3)), rng.uniform(0.5, 1.5, (q, 3)))
    teacher = NeuronParameters(rng.standard_normal(4), rng.uniform(0.5, 1.5, q))
    record = population_descent(columns, teacher, [0, 1, 40], step_size=0.01)
    for j in range(3):
        neuron = NeuronParameters(columns.w[:, j], columns.v[:, j])
        for step in range(41):
            if step in (0, 1, 40):
                row = [0, 1, 40].index(step)
                assert record.magnitude[row, j] == pytest.approx(neuron.norm, rel=1e-12)
                assert record.loss[row, j] == pytest.approx(population_loss(neuron, teacher), rel=1e-10)
                np.testing.assert_allclose(record.v[row, :, j], neuron.v, rtol=1e-12)
            gradient = population_gradient(neuron, teacher)
            neuron = NeuronParameters(neuron.w - 0.01 * gradient.w, neuron.v - 0.01 * gradient.v)


@pytest.mark.parametrize("q", [0, 1, 2])
def test_population_descent_tends_to_the_flow_at_first_order(q):
    starts = [BalancedNeuron(q, ratio, phi=1.2) for ratio in (0.5, 1.5)]
    columns, teacher = planar_columns(starts)
    errors = []
    for step_size in (4e-3, 2e-3, 1e-3):
        record = population_descent(columns, teacher, [round(2.0 / step_size)], step_size=step_size)
        exact = [balanced_orbit(start).at_times([2.0]) for start in starts]
        errors.append(
            [
                [abs(record.gap[0, j] - run.gap[0]), abs(record.magnitude[0, j] - run.magnitude[0])]
                for j, run in enumerate(exact)
            ]
        )
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    np.testing.assert_allclose(ratios, 2.0, rtol=0.05)
    assert np.max(errors[-1]) < 1e-3


def small_problem(rng, q, n=40, d=3):
    data = single_neuron(rng, n=n, d=d, layers=q, std=0.7)
    return data.dataset, data.teacher, balanced_columns(rng.standard_normal((d, 2)), q=q)


@pytest.mark.parametrize("q", [0, 1, 2])
def test_sample_descent_step_is_minus_the_finite_difference_of_the_loss(q, rng):
    dataset, teacher, columns = small_problem(rng, q)

    def loss(flat):
        outputs = np.prod(flat[3:]) * np.maximum(dataset.X @ flat[:3], 0.0)
        return 0.5 * np.mean((outputs - dataset.y) ** 2)

    step_size = 1e-3
    record = sample_descent(columns, dataset, teacher, [0, 1], step_size=step_size)
    for j in range(2):
        flat = np.concatenate([columns.w[:, j], columns.v[:, j]])
        assert record.loss[0, j] == pytest.approx(loss(flat), rel=1e-13)
        shifts = 1e-6 * np.eye(flat.size)
        gradient = np.array([(loss(flat + shift) - loss(flat - shift)) / 2e-6 for shift in shifts])
        moved = flat - step_size * gradient
        assert record.magnitude[1, j] == pytest.approx(np.linalg.norm(moved[:3]), abs=1e-11)
        np.testing.assert_allclose(record.v[1, :, j], moved[3:], atol=1e-11)
        assert record.loss[1, j] == pytest.approx(loss(moved), abs=1e-10)


def test_sample_descent_approaches_population_descent(rng):
    data = single_neuron(rng, n=20_000, d=10, layers=1, std=0.3)
    columns = balanced_columns(0.3 * rng.standard_normal((10, 4)), q=1)
    steps = [0, 200, 1000, 3000]
    sample = sample_descent(columns, data.dataset, data.teacher, steps, step_size=0.01)
    population = population_descent(columns, balanced_parameters(data.teacher, q=1), steps, step_size=0.01)
    np.testing.assert_allclose(sample.gap[0], population.gap[0], rtol=1e-13)
    assert np.abs(sample.gap - population.gap).max() < 0.06
    assert np.abs(sample.magnitude / population.magnitude - 1).max() < 0.03
    assert np.all(sample.loss[-1] < 1e-3 * sample.loss[0])
    assert np.all(np.diff(sample.gap, axis=0) < 0)


def test_divergence_is_marked_and_leaves_other_columns_alone(rng):
    data = single_neuron(rng, n=200, d=3, layers=2, std=0.5)
    w = np.stack([data.teacher, 40.0 * data.teacher], axis=1) + 0.01 * rng.standard_normal((3, 2))
    both = balanced_columns(w, q=2)
    alone = balanced_columns(w[:, :1], q=2)
    steps = [0, 50]
    for run in (
        lambda columns: sample_descent(columns, data.dataset, data.teacher, steps, step_size=0.05),
        lambda columns: population_descent(columns, balanced_parameters(data.teacher, q=2), steps, step_size=0.05),
    ):
        record = run(both)
        assert record.has_diverged.tolist() == [False, True]
        assert record.magnitude[1, 0] == pytest.approx(run(alone).magnitude[1, 0], rel=1e-12)


def test_planar_columns_keep_the_angle():
    starts = [BalancedNeuron(1, 0.5, gap=1e-9), BalancedNeuron(1, 2.0, phi=0.1)]
    columns, teacher = planar_columns(starts)
    record = population_descent(columns, teacher, [0], step_size=0.1)
    np.testing.assert_allclose(record.gap[0], [1e-9, np.pi - 0.1], rtol=1e-12)
    np.testing.assert_allclose(record.phi[0, 1], 0.1, rtol=1e-12)


def test_refusals():
    columns = balanced_columns(np.ones((2, 1)), q=1)
    teacher = balanced_parameters([1.0, 0.0], q=1)
    with pytest.raises(InvalidInputError, match="whole numbers"):
        population_descent(columns, teacher, [0.5], step_size=0.1)
    with pytest.raises(InvalidInputError, match="never decrease"):
        population_descent(columns, teacher, [3, 1], step_size=0.1)
    with pytest.raises(InvalidInputError, match="`step_size` must be positive"):
        population_descent(columns, teacher, [1], step_size=0.0)
    with pytest.raises(InvalidInputError, match=r"\(q, num_starts\)"):
        NeuronColumns(np.ones((2, 3)), np.ones((1, 2)))
    with pytest.raises(InvalidInputError, match="dimension"):
        sample_descent(columns, Dataset(np.ones((2, 3)), np.ones(2)), [1.0, 0.0], [1], step_size=0.1)
    with pytest.raises(InvalidInputError, match="same `q` and teacher"):
        planar_columns([BalancedNeuron(1, 1.0, phi=1.0), BalancedNeuron(2, 1.0, phi=1.0)])
