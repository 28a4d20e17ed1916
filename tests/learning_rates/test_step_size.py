"""The whole answer: against closed forms, against brute force, and what it refuses."""

import numpy as np
import pytest

from problems import small_problem
from reluflow import CollocationFlow, Dataset, LogisticLoss, Network, SquareLoss, TrainingProblem, train
from reluflow.errors import InvalidInputError
from reluflow.learning_rates.followed_rate import DescentOutcome, follow_rate
from reluflow.learning_rates.reference_flow import ReferenceFlow
from reluflow.learning_rates.step_size import step_size
from reluflow.learning_rates.stochastic import share_at_limit
from reluflow.learning_rates.watched_descent import DescentRule


def scalar_problem():
    """L = (a w - 4)^2 / 2 from a = w = 0.1: the flow ends at a = w = 2, where the sharpness is 8."""
    return TrainingProblem(Dataset([[1.0]], [4.0]), SquareLoss(), Network([[0.1]], [0.1]))


def scalar_descent_ends(lr, steps=20_000):
    """Descent on the same problem by hand: whether it comes to a w = 4."""
    w = a = 0.1
    for _ in range(steps):
        force = 4.0 - max(w, 0.0) * a
        w, a = w + lr * a * force * (w > 0.0), a + lr * max(w, 0.0) * force
        if not abs(w) + abs(a) < 1e6:
            return False
    return abs(max(w, 0.0) * a - 4.0) < 1e-4


def test_one_neuron_against_descent_by_hand():
    answer = step_size(scalar_problem())
    assert answer.sharpness.largest == pytest.approx(8.0, rel=1e-6)
    assert answer.stable_below == pytest.approx(0.25, rel=1e-6)
    for lr in np.geomspace(0.05, 0.5, 15):
        if 0.97 < lr / answer.same_limit.up_to < 1.03:
            continue  # within what bisection leaves open
        assert scalar_descent_ends(lr) == (lr < answer.same_limit.up_to) or answer.same_limit.is_ragged
    assert "cannot stay there" in answer.sentence()
    assert set(answer.as_json()) >= {
        "sharpness", "stable_below", "same_gates_up_to", "same_limit_up_to", "first_departure", "runs"
    }  # fmt: skip


def test_small_rates_are_of_order_one_and_within_the_bound():
    problem = small_problem(width=6, scale=0.3, seed=1)
    answer = step_size(problem, rates=[4e-3, 2e-3, 1e-3])
    assert [run.lr for run in answer.runs] == [4e-3, 2e-3, 1e-3]
    for run in answer.runs:
        assert run.same_gates
        assert run.same_limit
        assert run.outcome is DescentOutcome.SETTLED
        for time, distance in zip(run.times, run.distances, strict=True):
            assert distance <= 1.1 * run.lr * answer.along.bound_at(time) + 1e-9
    orders = [run.order for run in answer.runs[:2]]  # each depends on where within a step a wall is met
    assert np.mean(orders) == pytest.approx(1.0, abs=0.1)


def test_a_rate_beyond_stability_is_not_at_the_limit():
    reference = ReferenceFlow.of(scalar_problem())
    assert follow_rate(reference, DescentRule(0.1)).same_limit
    beyond = follow_rate(reference, DescentRule(0.26))
    assert not beyond.same_limit
    assert beyond.outcome is not DescentOutcome.SETTLED


def test_a_forged_limit_is_refused():
    """Another function on the data, or another certificate, is not the flow's limit."""
    reference = ReferenceFlow.of(small_problem(width=12, scale=1e-2, seed=0))
    limit = reference.limit
    assert reference.is_same_limit(limit)
    from dataclasses import replace

    network = limit.network
    assert not reference.is_same_limit(replace(limit, network=network.replace(a=network.a * 1.01)))
    other = replace(limit.certificate, kind="saddle")
    assert not reference.is_same_limit(replace(limit, certificate=other))


def test_a_classifier_is_followed_to_its_direction():
    rng = np.random.default_rng(0)
    X = np.array([[1.0, 0.3], [0.8, -0.2], [-1.0, 0.1], [-0.7, 0.4]])
    network = Network(0.05 * rng.standard_normal((8, 2)), 0.05 * rng.standard_normal(8), leak=0.2)
    answer = step_size(TrainingProblem(Dataset(X, [1, 1, -1, -1]), LogisticLoss(), network), rates=[0.5, 0.25])
    assert all(run.same_limit for run in answer.runs)
    assert np.all(np.diff(answer.along.largest[-5:]) < 0.0)  # the sharpness of a classifier falls


def test_full_batches_drawn_as_batches_and_momentum():
    reference = ReferenceFlow.of(small_problem(width=8, scale=0.3, seed=3))
    noisy = share_at_limit(reference, DescentRule(5e-3, batch=3), trials=4)
    assert noisy.trials == 4
    assert 0.0 <= noisy.interval[0] <= noisy.share <= noisy.interval[1] <= 1.0
    heavy = share_at_limit(reference, DescentRule(2e-3, momentum=0.9))
    assert heavy.trials == 1
    assert "momentum 0.9" in heavy.sentence()


def test_bad_rates_are_refused():
    with pytest.raises(InvalidInputError, match="`rates` must hold positive learning rates, got -1"):
        step_size(scalar_problem(), rates=[-1.0])


def test_a_scale_beyond_doubles_is_refused_in_a_sentence():
    with pytest.raises(InvalidInputError, match="gradient descent needs one between"):
        step_size(small_problem(width=3, scale="1e-400"))


def brute_force_limits(problem, rates, horizon):
    """Whether plain descent, written anew, comes to the function that the flow ends at."""
    end = train(problem, CollocationFlow(rtol=1e-9)).predictions
    X, y, leak = problem.dataset.X, problem.dataset.y, problem.network.leak
    found = {}
    for lr in rates:
        w, a = problem.network.materialized().w.copy(), problem.network.materialized().a.copy()
        for _ in range(int(6.0 * horizon / lr)):
            z = w @ X.T
            slopes = np.where(z > 0.0, 1.0, leak)
            force = (y - a @ (slopes * z)) / len(y)
            pull = (slopes * force) @ X
            w, a = w + lr * a[:, None] * pull, a + lr * np.einsum("jd,jd->j", w, pull)
            if not np.all(np.abs(a) < 1e8):
                break
        z = w @ X.T
        found[lr] = bool(np.max(np.abs(a @ np.where(z > 0.0, z, leak * z) - end)) < 1e-3 * np.max(np.abs(y)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_agrees_with_brute_force(seed):
    """Descent at many rates on a logarithmic grid, by other code, ends where ours says.

    Brute force goes by outputs after six times the horizon alone: one rate of the grid, at which it is not there yet or
    its tolerance cannot tell, may differ.
    """
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    data = Dataset(rng.standard_normal((n, d)), rng.standard_normal(n), task="regression")
    leak = float(rng.choice([0.0, 0.3]))
    network = Network(0.3 * rng.standard_normal((4, d)), 0.3 * rng.standard_normal(4), leak=leak)
    problem = TrainingProblem(data, SquareLoss(), network)
    answer = step_size(problem, max_seconds=60.0)
    unit = answer.stable_below if np.isfinite(answer.stable_below) else 1.0
    rates = np.geomspace(0.05, 3.0, 16) * unit
    found = brute_force_limits(problem, rates, answer.reference.horizon)
    ours = {lr: follow_rate(answer.reference, DescentRule(float(lr))).same_limit for lr in rates}
    assert sum(found[lr] != ours[lr] for lr in rates) <= 1
    if answer.same_limit.up_to is not None:
        assert np.mean([found[lr] for lr in rates if lr <= answer.same_limit.up_to] or [True]) >= 0.9


def test_several_classes_are_refused_with_the_way_out():
    data = Dataset([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0, 1, 2], classes=("a", "b", "c"))
    network = Network(0.1 * np.eye(2), v=0.1 * np.ones((2, 3)))
    with pytest.raises(InvalidInputError, match=r"one output for a comparison with descent.*one_against_rest"):
        step_size(TrainingProblem(data, "softmax", network))
