"""The largest eigenvalue of the Hessian: closed forms, JAX's own Hessian, pieces that meet."""

import itertools

import numpy as np
import pytest

from reluflow import Dataset, LogisticLoss, Network, SquareLoss, TrainingProblem
from reluflow.learning_rates.sharpness import Hessian, sharpness
from reluflow.losses import ExponentialLoss


def random_problem(rng, loss, *, n=5, d=3, m=4, leak=0.2, **settings):
    X = rng.standard_normal((n, d))
    y = rng.choice([-1.0, 1.0], n) if loss.is_classification else rng.standard_normal(n)
    network = Network(rng.standard_normal((m, d)), rng.standard_normal(m), leak=leak)
    return TrainingProblem(Dataset(X, y), loss, network, **settings)


def test_one_neuron_in_closed_form():
    """L = (a w x - y)^2 / 2 at a fit: the only eigenvalue beside 0 is x^2 (a^2 + w^2)."""
    problem = TrainingProblem(Dataset([[3.0]], [6.0]), SquareLoss(), Network([[2.0]], [1.0]))
    found = sharpness(problem)
    assert found.largest == pytest.approx(9.0 * 5.0)
    assert found.smallest == pytest.approx(0.0, abs=1e-12)
    assert found.stable_below == pytest.approx(2.0 / 45.0)


@pytest.mark.parametrize("loss", [SquareLoss(), LogisticLoss(reduction="sum"), ExponentialLoss(factor=2.0)])
def test_agrees_with_the_hessian_of_jax(rng, loss):
    import jax
    import jax.numpy as jnp

    from reluflow.losses.loss import in_namespace

    problem = random_problem(rng, loss, weight_decay=0.3)
    X, y, leak = problem.dataset.X, problem.dataset.y, problem.network.leak
    value = in_namespace(loss.formulas.value, jnp)

    def objective(theta):
        neurons = theta.reshape(4, 4)
        along = neurons[:, :-1] @ X.T
        outputs = neurons[:, -1] @ jnp.maximum(along, leak * along)
        total = loss.sample_weight(len(y)) * jnp.sum(value(outputs, y))
        return total + 0.15 * jnp.sum(theta**2)

    with jax.enable_x64(True):
        theta = jnp.asarray(np.column_stack([problem.network.w, problem.network.a]).ravel())
        expected, slope = (np.asarray(jax.jit(of)(theta)) for of in (jax.hessian(objective), jax.grad(objective)))
    hessian = Hessian(problem, problem.network)
    np.testing.assert_allclose(hessian.matrix(), expected, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(hessian.gradient.ravel(), slope, atol=1e-10 * np.abs(slope).max())
    assert sharpness(problem).largest == pytest.approx(np.linalg.eigvalsh(expected)[-1], rel=1e-8)


def test_many_parameters_give_the_same_ends_as_a_matrix(rng):
    problem = random_problem(rng, SquareLoss(), n=12, d=9, m=50)  # 500 parameters: by products with vectors
    low, high = Hessian(problem, problem.network).ends()
    values = np.linalg.eigvalsh(Hessian(problem, problem.network).matrix())
    assert (low, high) == (pytest.approx(values[0], rel=1e-8), pytest.approx(values[-1], rel=1e-8))


@pytest.mark.parametrize("leak", [0.0, 0.3])
@pytest.mark.parametrize("how", [{}, {"weight_decay": 0.3}, {"trains_output_layer": False}, {"weighted": True}])
def test_neurons_of_one_pattern_are_taken_together(rng, how, leak):
    """In the plane 30 neurons have at most eight patterns on four samples; the matrix has every neuron's rows."""
    how = dict(how)
    weighted = how.pop("weighted", False)
    problem = random_problem(rng, SquareLoss(), n=4, d=2, m=30, leak=leak, **how)
    network = problem.network.replace(weight=rng.uniform(0.5, 3.0, 30)) if weighted else problem.network
    hessian = Hessian(problem, network)
    assert len(np.unique(hessian.slopes, axis=0)) <= 8
    values = np.linalg.eigvalsh(hessian.matrix())
    assert hessian.ends() == pytest.approx((values[0], values[-1]), rel=1e-10, abs=1e-12 * np.abs(values).max())


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_steps_that_move_no_output_may_be_the_least_curved(rng, weight_decay):
    """Of twenty neurons of one pattern all but three combinations move no output: the pull alone acts on the others."""
    X = np.array([[1.0, 0.2], [0.8, -0.5], [1.1, 0.6], [0.7, 0.1]])
    w = np.array([1.0, 0.0]) + 0.1 * rng.standard_normal((20, 2))
    network = Network(w, rng.standard_normal(20))
    data = Dataset(X, [30.0, -20.0, 25.0, 10.0])
    problem = TrainingProblem(data, SquareLoss(), network, weight_decay=weight_decay)
    hessian = Hessian(problem, network)
    assert np.all(hessian.slopes == 1.0)
    pull = np.linalg.norm((data.y - network.outputs(X)) @ X / 4)
    values = np.linalg.eigvalsh(hessian.matrix())
    assert values[0] == pytest.approx(weight_decay - pull, rel=1e-10)
    assert hessian.ends() == pytest.approx((values[0], values[-1]), rel=1e-10)


def test_an_end_within_a_cluster_is_found():
    """With weight decay many eigenvalues lie near the least; ARPACK gave up and 0.32 was printed where it is 0.041."""
    rng = np.random.default_rng(13)
    d, n, m = (int(rng.integers(low, high)) for low, high in ((1, 4), (1, 6), (5, 40)))
    problem = random_problem(rng, LogisticLoss(), n=n, d=d, m=m, leak=0.3, weight_decay=0.3)
    hessian = Hessian(problem, problem.network)
    values = np.linalg.eigvalsh(hessian.matrix())
    assert hessian.ends() == pytest.approx((values[0], values[-1]), rel=1e-9, abs=1e-12 * values[-1])


def test_dead_neurons_add_nothing_but_zeros(rng):
    problem = random_problem(rng, SquareLoss(), n=3, leak=0.0)
    network = problem.network
    dead = (
        -np.abs(rng.standard_normal())
        * problem.dataset.X.T
        @ np.linalg.solve(problem.dataset.X @ problem.dataset.X.T, np.ones(3))
    )
    wider = Network(np.vstack([network.w, dead]), np.append(network.a, 5.0))
    found, more = sharpness(problem), sharpness(problem, wider)
    assert not np.any(wider.patterns(problem.dataset.X)[-1] > 0)
    assert more.largest == pytest.approx(found.largest, rel=1e-12)
    assert more.smallest == pytest.approx(min(found.smallest, 0.0), rel=1e-9)


def test_a_frozen_output_layer_has_no_rows(rng):
    problem = random_problem(rng, SquareLoss(), trains_output_layer=False)
    matrix = Hessian(problem, problem.network).matrix().reshape(4, 4, 4, 4)
    assert not matrix[:, -1].any()
    assert not matrix[:, :, :, -1].any()


def test_a_neuron_of_weight_two_is_two_neurons(rng):
    problem = random_problem(rng, SquareLoss(), m=3)
    network = problem.network
    heavy = network.replace(weight=[2.0, 1.0, 1.0])
    double = Network(network.w[[0, 0, 1, 2]], network.a[[0, 0, 1, 2]], leak=network.leak)
    assert sharpness(problem, heavy).largest == pytest.approx(sharpness(problem, double).largest, rel=1e-12)


def test_on_walls_the_sharpest_piece_counts():
    """A neuron on the walls of two samples; the pieces are those of a neuron moved off them to every side."""
    X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.3, 0.4, 1.0]])
    problem = TrainingProblem(Dataset(X, [1.0, -2.0, 0.5]), SquareLoss(), Network([[0.0, 0.0, 1.5]], [0.7], leak=0.1))
    found = sharpness(problem)
    near = [
        sharpness(problem, Network([[p * 1e-7, q * 1e-7, 1.5]], [0.7], leak=0.1)).largest
        for p, q in itertools.product((-1, 1), repeat=2)
    ]
    assert found.num_pieces == 4
    assert found.is_exact
    assert found.largest == pytest.approx(max(near), rel=1e-5)
    assert max(near) > 1.01 * min(near)  # else it would not matter


def test_opposite_samples_share_a_wall():
    """Taken as two walls there would be a piece on which both are active, which no neuron is on."""
    X = np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 1.0]])
    problem = TrainingProblem(Dataset(X, [1.0, -2.0, 0.5]), SquareLoss(), Network([[0.0, 1.0]], [3.0]))
    near = [sharpness(problem, Network([[s * 1e-7, 1.0]], [3.0])).largest for s in (-1, 1)]
    found = sharpness(problem)
    assert found.num_pieces == 2
    assert found.largest == pytest.approx(max(near), rel=1e-5)


def test_walls_that_depend_on_each_other_are_said():
    X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    problem = TrainingProblem(Dataset(X, [1.0, -2.0, 0.5]), SquareLoss(), Network([[0.0, 0.0, 1.5]], [0.7]))
    assert not sharpness(problem).is_exact
