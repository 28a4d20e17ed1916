"""Training deep networks: agreement with the two-layer and single-neuron methods, seeds, precision, guards."""

from typing import Any

import equinox
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynamics.descent.descents import descend
from reluflow.data import Dataset
from reluflow.deep import (
    DeepDescent,
    DeepNeuron,
    DeepOutcome,
    gaussian_layers,
    outputs,
    parameter_norms,
    train_deep,
    two_layer,
    uniform_layers,
)
from reluflow.dynamics import GradientDescent, Keep, StochasticGradientDescent, TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.losses import ExponentialLoss, Formulas, LogisticLoss, SquareLoss
from reluflow.network.initialization import uniform_fan_in_initialization
from reluflow.papers.lee2022.data import single_neuron
from reluflow.papers.lee2022.single_neuron import NeuronParameters, balanced_columns, parameter_flow, sample_descent
from reluflow.papers.phuong2021.data import filtered_orthants


@pytest.fixture(scope="module")
def orthants():
    return filtered_orthants(np.random.default_rng(0), n=50, d=6)


@pytest.fixture(scope="module")
def network(orthants):
    return uniform_fan_in_initialization(orthants, width=12, scale=0.5, rng=np.random.default_rng(1))


@pytest.mark.parametrize("loss", [LogisticLoss(), SquareLoss("sum", 0.02), ExponentialLoss(factor=0.5)])
def test_depth_two_is_gradient_descent(orthants, network, loss):
    steps = [0, 1, 40, 200]
    deep = train_deep(
        two_layer(network), orthants, loss, DeepDescent(lr=0.1, iterations=200), keep=Keep(iterations=steps)
    )
    plain = descend(TrainingProblem(orthants, loss, network), GradientDescent(0.1, 200), iterations=steps)
    # the order of sums differs; 200 contracting steps leave rounding at a few units in the last place
    assert deep.losses == pytest.approx(plain.losses, rel=1e-12)
    assert deep.network.weights[0] == pytest.approx(plain.networks[-1].w, abs=1e-13)
    assert deep.network.weights[1][0] == pytest.approx(plain.networks[-1].a, abs=1e-13)
    assert outputs(deep.network, orthants.X) == pytest.approx(plain.outputs[-1], rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("loss", [LogisticLoss(), LogisticLoss("sum", 0.02)])
def test_batches_are_those_of_stochastic_gradient_descent(orthants, network, loss):
    """A last batch of 2 samples closes each epoch of 7; the same seed gives the same order in both packages."""
    settings = {"lr": 0.1, "batch": 8, "epochs": 9, "seed": 5}
    deep = train_deep(two_layer(network), orthants, loss, DeepDescent(**settings), keep=Keep(iterations=[0, 10, 63]))
    plain = descend(
        TrainingProblem(orthants, loss, network), StochasticGradientDescent(**settings), iterations=[0, 10, 63]
    )
    assert deep.losses == pytest.approx(plain.losses, rel=1e-12)
    assert deep.network.weights[0] == pytest.approx(plain.networks[-1].w, abs=1e-13)


def test_a_loss_of_ones_own_is_differentiated(orthants, network):
    """Its formula is written with NumPy and traced by JAX; a quarter of the fourth power, against plain descent."""

    class Quartic(SquareLoss):
        name = "quartic"

        @property
        def formulas(self):
            return Formulas(
                lambda h, y: 0.25 * np.power(h - y, 4),
                lambda h, y: np.power(y - h, 3),
                lambda h, y: 3.0 * np.square(h - y),
                lambda h, y: 3.0 * np.log(np.abs(h - y)),
                lambda h, y: np.log(3.0) + 2.0 * np.log(np.abs(h - y)),
            )

    deep = train_deep(
        two_layer(network), orthants, Quartic(), DeepDescent(lr=0.1, iterations=50), keep=Keep(iterations=[0, 50])
    )
    plain = descend(
        TrainingProblem(orthants, Quartic(), network), GradientDescent(lr=0.1, iterations=50), iterations=[0, 50]
    )
    assert deep.losses == pytest.approx(plain.losses, rel=1e-12)
    assert deep.losses[1] < 0.9 * deep.losses[0]


def _magnitude_and_v(run):
    return {"magnitude": jnp.linalg.norm(run.network().w), "v": run.network().v, "step": run.steps}


@pytest.mark.parametrize("q", [0, 1, 3])
def test_deep_neuron_is_the_single_neuron_descent(q):
    data = single_neuron(np.random.default_rng(2), n=300, d=5, layers=q, std=0.5)
    w = 0.4 * np.random.default_rng(3).standard_normal((5, 1))
    columns, steps = balanced_columns(w, q=q), [0, 10, 150]
    known = sample_descent(columns, data.dataset, data.teacher, steps, step_size=0.02)
    deep = train_deep(
        DeepNeuron(columns.w[:, 0], columns.v[:, 0]),
        data.dataset,
        SquareLoss(),
        DeepDescent(lr=0.02, iterations=150),
        keep=Keep(iterations=steps, measure=_magnitude_and_v),
    )
    assert deep.losses == pytest.approx(known.loss[:, 0], rel=1e-12)
    assert deep.records["magnitude"] == pytest.approx(known.magnitude[:, 0], rel=1e-12)
    assert deep.records["v"] == pytest.approx(known.v[:, :, 0], rel=1e-12)
    assert deep.records["step"].tolist() == steps


def test_deep_neuron_follows_the_population_flow():
    """Two sources of error: steps of 0.01 (measured 2e-3) and 40,000 samples in the plane (measured 5e-3)."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((20_000, 2))
    X = np.vstack([X, -X])
    teacher = NeuronParameters([1.0, 0.0], [1.0, 1.0])
    start = NeuronParameters([0.2, 0.5], [0.6, 0.4])
    flow = parameter_flow(start, teacher, [0.0, 4.0])
    dataset = Dataset(X, np.maximum(X[:, 0], 0.0))
    deep = train_deep(
        DeepNeuron(np.array(start.w), np.array(start.v)),
        dataset,
        SquareLoss(),
        DeepDescent(lr=0.01, iterations=400),
        keep=Keep(iterations=[400]),
    )
    assert deep.network.w == pytest.approx(flow.w[-1], abs=0.02)
    assert deep.network.v == pytest.approx(flow.v[-1], abs=0.02)
    assert np.max(np.abs(deep.network.w - np.array(start.w))) > 0.1


def test_single_and_double_precision_agree_to_single_rounding(orthants):
    start = uniform_layers((6, 10, 10, 1), scale=0.8, rng=np.random.default_rng(6), is_residual=True)
    runs = [
        train_deep(
            start,
            orthants,
            LogisticLoss(),
            DeepDescent(lr=0.05, iterations=100, precision=name),
            keep=Keep(iterations=[0, 100]),
        )
        for name in ("float32", "float64")
    ]
    assert [run.network.weights[0].dtype.name for run in runs] == ["float32", "float64"]
    assert runs[0].losses == pytest.approx(runs[1].losses, rel=1e-5)  # measured 3e-7
    assert runs[0].losses[-1] != runs[1].losses[-1]
    assert runs[1].losses[-1] < 0.2 * runs[1].losses[0]


def test_the_callers_precision_is_left_alone(orthants, network):
    before = jnp.ones(1).dtype
    train_deep(two_layer(network), orthants, LogisticLoss(), DeepDescent(lr=0.1, iterations=2))
    assert jnp.ones(1).dtype == before
    assert not jax.config.jax_enable_x64
    with jax.enable_x64(True):
        single = DeepDescent(lr=0.1, iterations=2, precision="float32")
        assert train_deep(two_layer(network), orthants, LogisticLoss(), single).network.weights[0].dtype == np.float32
        assert jnp.ones(1).dtype == np.float64


def test_one_seed_one_run(orthants):
    start = gaussian_layers((6, 8, 8, 1), std=0.4, rng=np.random.default_rng(7))

    def last(seed):
        descent = DeepDescent(lr=0.05, epochs=3, batch=16, seed=seed, optimizer="adam")
        return train_deep(start, orthants, LogisticLoss(), descent).network.weights[0]

    assert np.array_equal(last(1), last(1))
    assert not np.array_equal(last(1), last(2))


def test_adam_moves_every_weight_by_the_rate_at_first(orthants):
    """Adam's first step is lr * sign(gradient) up to its epsilon, whatever the gradient's size."""
    start = gaussian_layers((6, 8, 1), std=0.4, rng=np.random.default_rng(8))
    moved = train_deep(start, orthants, LogisticLoss(), DeepDescent(lr=0.01, iterations=1, optimizer="adam")).network
    step = np.abs(moved.weights[1] - start.weights[1])
    assert step[step > 0] == pytest.approx(0.01, rel=1e-4)


def test_divergence_is_an_outcome_and_not_a_curve_of_nan(orthants, network):
    start = two_layer(network)
    run = train_deep(start, orthants, SquareLoss(), DeepDescent(lr=10.0, iterations=100))
    assert run.outcome is DeepOutcome.DIVERGED
    assert run.outcome.sentence.endswith("lower `lr`.")
    assert run.iteration < 100
    assert np.all(np.isfinite(run.losses))
    assert len(run.losses) == len(run.iterations) <= run.iteration + 1
    assert np.all(np.isfinite(outputs(run.network, orthants.X)))
    again = train_deep(start, orthants, SquareLoss(), DeepDescent(lr=10.0, iterations=run.iteration))
    assert again.outcome is DeepOutcome.FINISHED
    assert np.array_equal(again.network.weights[0], run.network.weights[0])


def test_the_last_iteration_is_guarded_too(orthants, network):
    """A loss lost in the very last step is noticed although no step follows that would meet it."""
    start = two_layer(network)
    whole = train_deep(start, orthants, SquareLoss(), DeepDescent(lr=10.0, iterations=100))
    cut = train_deep(
        start, orthants, SquareLoss(), DeepDescent(lr=10.0, iterations=whole.iteration + 1), keep=Keep(iterations=[0])
    )
    assert cut.outcome is DeepOutcome.DIVERGED
    assert cut.iteration == whole.iteration


class Folded(equinox.Module):
    """A two-layer network whose weights have three axes, which makes the run step one by one as for convolutions."""

    w: Any
    a: Any

    def __call__(self, x):
        return self.a @ jax.nn.relu(self.w[0] @ x)


@pytest.mark.parametrize("lr", [0.1, 10.0])
def test_steps_one_by_one_are_the_steps_of_the_loop(orthants, network, lr):
    """Whether the run ends well (lr 0.1) or diverges (lr 10)."""
    descent = DeepDescent(lr=lr, epochs=6, batch=8, seed=1)
    looped = train_deep(two_layer(network), orthants, SquareLoss(), descent)
    plain = network.materialized()
    single = train_deep(Folded(np.array(plain.w[None]), np.array(plain.a)), orthants, SquareLoss(), descent)
    assert single.outcome is looped.outcome
    assert single.outcome is (DeepOutcome.FINISHED if lr < 1 else DeepOutcome.DIVERGED)
    assert single.iteration == looped.iteration
    assert single.losses == pytest.approx(looped.losses, rel=1e-9)
    assert single.network.w[0] == pytest.approx(looped.network.weights[0], rel=1e-9, abs=1e-13)


def test_interruption_keeps_what_was_done(orthants, network):
    def interrupt(iteration, loss):
        if iteration == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        train_deep(
            two_layer(network),
            orthants,
            LogisticLoss(),
            DeepDescent(lr=0.1, iterations=100),
            keep=Keep(iterations=range(0, 101, 10), measure=lambda run: {"norms": parameter_norms(run.network())}),
            progress=interrupt,
        )
    run = raised.value.trajectory
    assert run.outcome is DeepOutcome.INTERRUPTED
    assert run.iterations.tolist() == [0, 10, 20, 30]
    assert run.iteration == 30
    assert run.records["norms"].shape == (4, 2)
    assert run.records["norms"][-1, 0] == pytest.approx(np.linalg.norm(run.network.weights[0]), rel=1e-14)


def test_records_default_to_a_hundred(orthants, network):
    run = train_deep(two_layer(network), orthants, LogisticLoss(), DeepDescent(lr=0.1, epochs=250))
    assert run.iterations[[0, 1, -1]].tolist() == [0, 2, 250]
    assert len(run.losses) == 101
    assert run.method == "sgd, lr 0.1, all samples, float64"
    assert run.device.split()[0] in ("cpu", "gpu", "tpu")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lr": 0.0, "iterations": 1}, "`lr` must be positive and finite, got 0.0"),
        ({"lr": 0.1}, "exactly one of `iterations` and `epochs`"),
        ({"lr": 0.1, "iterations": 1, "epochs": 1}, "exactly one of `iterations` and `epochs`"),
        ({"lr": 0.1, "iterations": 1.5}, "`iterations` must be a whole number of at least 1, got 1.5"),
        ({"lr": 0.1, "epochs": 1, "batch": 0}, "`batch` must be a whole number of at least 1, got 0"),
        ({"lr": 0.1, "epochs": 1, "optimizer": "lbfgs"}, "`optimizer` must be 'sgd' or 'adam', got 'lbfgs'"),
        ({"lr": 0.1, "epochs": 1, "precision": "bfloat16"}, "`precision` must be 'float32' or 'float64'"),
    ],
)
def test_settings_that_make_no_sense(options, words):
    with pytest.raises(InvalidInputError, match=words):
        DeepDescent(**options)


def test_refusals(orthants, network):
    net, once = two_layer(network), DeepDescent(lr=0.1, iterations=1)
    with pytest.raises(InvalidInputError, match="`batch` must be at most n = 50, got 51"):
        train_deep(net, orthants, LogisticLoss(), DeepDescent(lr=0.1, iterations=1, batch=51))
    with pytest.raises(InvalidInputError, match="`iterations` to keep must be at most the 1 taken, got 2"):
        train_deep(net, orthants, LogisticLoss(), once, keep=Keep(iterations=[0, 2]))
    for other in ({"times": [1.0]}, {"thinned": 5}, {"recorder": print}):
        with pytest.raises(InvalidInputError, match="`iterations` and a `measure` only for a deep network"):
            train_deep(net, orthants, LogisticLoss(), once, keep=Keep(**other))
    with pytest.raises(InvalidInputError, match="must hold only the labels -1 and 1"):
        train_deep(net, Dataset(orthants.X, 2 * orthants.y), LogisticLoss(), once)
    with pytest.raises(InvalidInputError, match="`network` must take samples of dimension 6, which `dataset` has"):
        train_deep(gaussian_layers((5, 8, 1), std=1.0, rng=np.random.default_rng(0)), orthants, LogisticLoss(), once)
    with pytest.raises(InvalidInputError, match=r"`network` must map a sample to one number, got .* shape \(6,\)"):
        train_deep(lambda sample: sample, orthants, LogisticLoss(), once)
    huge = gaussian_layers((6, 8, 1), std=1e30, rng=np.random.default_rng(0))
    with pytest.raises(InvalidInputError, match="`network` must have a finite loss on `dataset` in float32"):
        train_deep(huge, orthants, SquareLoss(), DeepDescent(lr=0.1, iterations=1, precision="float32"))
