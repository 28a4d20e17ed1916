"""Descent with several outputs and an output bias, against differences of the loss and against one output."""

import numpy as np
import pytest

from reluflow import Dataset, GradientDescent, Network, TrainingProblem
from reluflow.dynamics import GroupedGradientDescent, StochasticGradientDescent
from reluflow.errors import InvalidInputError

CLASSES = ("a", "b", "c")


def after(problem, iterations=20, lr=0.05, **options):
    run = GradientDescent(lr=lr, iterations=iterations, **options).start(problem)
    run.iterate_to(iterations)
    return run.network()


def a_problem(rng, loss, *, num_outputs=3, bias=True, leak=0.1, **options):
    X = rng.normal(size=(9, 4))
    if loss == "softmax":
        data = Dataset(X, rng.integers(0, num_outputs, 9), classes=CLASSES[:num_outputs])
    else:
        data = Dataset(X, rng.normal(size=(9, num_outputs)))
    b = rng.normal(size=num_outputs) if bias else None
    network = Network(rng.normal(size=(6, 4)), v=rng.normal(size=(6, num_outputs)), b=b, leak=leak)
    return TrainingProblem(data, loss, network, **options)


@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("num_outputs", [1, 3])
@pytest.mark.parametrize("loss", ["square", "softmax"])
def test_a_step_goes_down_the_gradient(loss, num_outputs, decay, rng):
    if (loss, num_outputs) == ("softmax", 1):
        num_outputs = 2
    problem = a_problem(rng, loss, num_outputs=num_outputs, weight_decay=decay)
    network, lr, step = problem.network, 1e-3, 1e-6
    moved = after(problem, iterations=1, lr=lr)
    for field in ("w", "v", "b"):
        start = getattr(network, field)
        slopes = np.empty_like(start)
        for place in np.ndindex(start.shape):
            move = np.zeros_like(start)
            move[place] = step
            ends = [problem.objective(network.replace(**{field: start + sign * move})) for sign in (1.0, -1.0)]
            slopes[place] = (ends[0] - ends[1]) / (2 * step)
        assert np.allclose((start - getattr(moved, field)) / lr, slopes, atol=1e-7), field


def test_what_is_fixed_stays(rng):
    problem = a_problem(rng, "softmax", trains_output_layer=False, trains_output_bias=False)
    moved = after(problem)
    assert np.array_equal(moved.v, problem.network.v)
    assert np.array_equal(moved.b, problem.network.b)
    assert not np.array_equal(moved.w, problem.network.w)


def test_one_output_embedded_in_two_moves_as_alone(rng):
    """With the second output weight and label 0, nothing ever pulls on the second output."""
    X, y, w, a = rng.normal(size=(8, 3)), rng.normal(size=8), rng.normal(size=(5, 3)), rng.normal(size=5)
    alone = after(TrainingProblem(Dataset(X, y), "square", Network(w, a)))
    rows, v = np.column_stack([y, np.zeros(8)]), np.column_stack([a, np.zeros(5)])
    embedded = after(TrainingProblem(Dataset(X, rows), "square", Network(w, v=v)))
    assert np.allclose(embedded.w, alone.w, rtol=1e-12)
    assert np.allclose(embedded.v, np.column_stack([alone.a, np.zeros(5)]), rtol=1e-12)


def test_two_classes_move_as_the_logistic_loss_of_the_difference(rng):
    """With v = (-q, q) the margin is 2 q s(<w, x>); in units 2^(1/4) w and 2^(3/4) q that is logistic descent."""
    X, y, w, q = rng.normal(size=(8, 3)), rng.choice([-1.0, 1.0], 8), rng.normal(size=(5, 3)), rng.normal(size=5)
    pair = Network(w, v=np.column_stack([-q, q]))
    unit = 2.0**0.25
    both = after(TrainingProblem(Dataset(X, y).with_class_indices(), "softmax", pair), lr=0.05)
    alone = after(TrainingProblem(Dataset(X, y), "logistic", Network(w * unit, 2.0 * q / unit)), lr=0.05 * np.sqrt(2.0))
    assert np.allclose(both.w * unit, alone.w, rtol=1e-11)
    assert np.allclose(2.0 * both.v[:, 1] / unit, alone.a, rtol=1e-11)
    assert np.allclose(both.v.sum(axis=1), 0.0, atol=1e-13)


def test_classes_may_be_permuted_and_rows_rotated(rng):
    problem, order = a_problem(rng, "softmax"), np.array([2, 0, 1])
    data, network = problem.dataset, problem.network
    renamed = data.replace(y=np.argsort(order)[data.y.astype(int)], classes=[CLASSES[c] for c in order])
    other = after(TrainingProblem(renamed, "softmax", network.replace(v=network.v[:, order], b=network.b[order])))
    assert np.allclose(other.v, after(problem).v[:, order], rtol=1e-12)
    problem = a_problem(rng, "square")
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    data, network = problem.dataset, problem.network
    turned = TrainingProblem(data.replace(y=data.y @ Q), "square", network.replace(v=network.v @ Q, b=network.b @ Q))
    assert np.allclose(after(turned).v, after(problem).v @ Q, rtol=1e-10)
    assert np.allclose(after(turned).b, after(problem).b @ Q, rtol=1e-10)


def test_the_sum_of_the_output_weights_is_conserved_under_softmax(rng):
    problem = a_problem(rng, "softmax")
    assert np.allclose(after(problem, 200).v.sum(axis=1), problem.network.v.sum(axis=1), atol=1e-13)


def test_stochastic_descent_on_all_samples_is_descent(rng):
    problem = a_problem(rng, "softmax")
    run = StochasticGradientDescent(lr=0.05, batch=9, iterations=20).start(problem)
    run.iterate_to(20)
    assert np.allclose(run.network().v, after(problem).v, rtol=1e-12)
    assert np.allclose(run.network().b, after(problem).b, rtol=1e-12)


def test_the_slope_at_zero_is_that_of_one_output(rng):
    """A neuron on a wall moves in w by the shortest element, or by the slope that is asked for."""
    X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -2.0])
    rows = np.column_stack([y, np.zeros(2)])
    for slope in (0.5, "minimum-norm"):
        alone = after(TrainingProblem(Dataset(X, y), "square", Network([[0.0, 1.0]], [1.0])), 1, slope_at_zero=slope)
        pair = Network([[0.0, 1.0]], v=[[1.0, 0.0]])
        both = after(TrainingProblem(Dataset(X, rows), "square", pair), 1, slope_at_zero=slope)
        assert np.allclose(both.w, alone.w, rtol=1e-14)


def test_grouped_descent_names_the_one_that_takes_several(rng):
    with pytest.raises(InvalidInputError, match="got 3 outputs and an output bias; `GradientDescent` takes any"):
        GroupedGradientDescent(lr=0.1, iterations=1).start(a_problem(rng, "softmax"))
