"""Stochastic gradient descent: what a batch means, determinism, the frozen output layer, a published picture."""

import numpy as np
import pytest

from dynamics.descent.descents import descend, random_problem
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.descent.stochastic_gradient_descent import StochasticGradientDescent
from reluflow.errors import InvalidInputError
from reluflow.losses import ExponentialLoss, LogisticLoss, SquareLoss


@pytest.mark.parametrize("loss", [SquareLoss(), SquareLoss(reduction="sum"), LogisticLoss(), ExponentialLoss()])
def test_whole_batches_are_full_batch_descent(rng, loss):
    problem = random_problem(rng, n=10, loss=loss, leak=0.2)
    stochastic = descend(problem, StochasticGradientDescent(lr=0.01, batch=10, epochs=100), iterations=[100])
    full = descend(problem, GradientDescent(lr=0.01, iterations=100), iterations=[100])
    assert stochastic.networks[0].w == pytest.approx(full.networks[0].w, rel=1e-11, abs=1e-14)
    assert stochastic.times == full.times


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_one_epoch_goes_through_every_sample_once_and_steps_are_right_on_average(rng, reduction):
    """From one and the same network the steps of an epoch sum to one full-batch step per batch, in expectation."""
    problem = random_problem(rng, loss=SquareLoss(reduction=reduction), n=7)
    lr, start = 1e-8, problem.network.materialized()  # so small that the network hardly moves within the epoch
    for batch in (1, 2, 7):
        solver = StochasticGradientDescent(lr=lr, batch=batch, epochs=1)
        history = descend(problem, solver, iterations=[-(-7 // batch)])
        step = (history.networks[0].w - start.w) / lr
        full = (descend(problem, GradientDescent(lr=lr, iterations=1), iterations=[1]).networks[0].w - start.w) / lr
        if 7 % batch == 0:
            assert step == pytest.approx(7 / batch * full, rel=1e-4, abs=1e-5)
        else:
            assert not np.allclose(step, 4 * full, rtol=1e-3)  # the odd sample counts alone


def test_same_seed_same_numbers_and_chunks_do_not_matter(rng):
    problem = random_problem(rng, n=10, loss=LogisticLoss())
    solver = StochasticGradientDescent(lr=0.1, batch=3, iterations=57, seed=5)
    first = descend(problem, solver, iterations=[57])
    second = descend(problem, solver, iterations=range(58))
    assert np.array_equal(first.networks[-1].w, second.networks[-1].w)
    assert np.array_equal(first.networks[-1].a, second.networks[-1].a)
    other = descend(problem, StochasticGradientDescent(lr=0.1, batch=3, iterations=57, seed=6), iterations=[57])
    assert not np.array_equal(first.networks[-1].w, other.networks[-1].w)


def test_frozen_output_layer(rng):
    problem = random_problem(rng, n=10, loss=ExponentialLoss())
    solver = StochasticGradientDescent(lr=0.05, batch=5, epochs=20, trains_output_layer=False)
    history = descend(problem, solver, iterations=[0, 40])
    assert np.array_equal(history.networks[0].a, history.networks[1].a)
    assert not np.array_equal(history.networks[0].w, history.networks[1].w)
    assert history.losses[-1] < history.losses[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epochs": None}, "exactly one of `epochs` and `iterations`"),
        ({"iterations": 3}, "exactly one of `epochs` and `iterations`"),
        ({"epochs": 0}, "`epochs` must be a whole number of at least 1"),
        ({"batch": 0}, "`batch` must be a whole number of at least 1"),
        ({"lr": -1.0}, "`lr` must be positive"),
    ],
)
def test_refuses_bad_options(changes, words):
    with pytest.raises(InvalidInputError, match=words):
        StochasticGradientDescent(**{"lr": 0.1, "batch": 2, "epochs": 1, **changes})


def test_refuses_a_batch_larger_than_the_data(rng):
    with pytest.raises(InvalidInputError, match="`batch` must be at most n = 10, got 11"):
        StochasticGradientDescent(lr=0.1, batch=11, epochs=1).start(random_problem(rng, n=10, loss=SquareLoss()))
