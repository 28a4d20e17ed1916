"""The whole answer: against closed forms, against brute force, and what it refuses."""

import numpy as np
import pytest

from problems import small_problem
from reluflow import (
    CollocationFlow,
    Dataset,
    Experiment,
    LogisticLoss,
    Network,
    SquareLoss,
    TrainingProblem,
    balanced_initialization,
    train,
)
from reluflow.errors import InvalidInputError
from reluflow.learning_rates import followed_rate
from reluflow.learning_rates.error_bound import curvature_along
from reluflow.learning_rates.followed_rate import DescentOutcome, comparison_steps, follow_rate
from reluflow.learning_rates.reference_flow import ReferenceFlow, follow_flow
from reluflow.learning_rates.sharpness import sharpness
from reluflow.learning_rates.step_size import step_size
from reluflow.learning_rates.stochastic import share_at_limit
from reluflow.learning_rates.watched_descent import DescentRule
from reluflow.network import neuron_rng


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
        for at, distance in zip(run.times, run.distances, strict=True):
            assert distance <= 1.1 * run.lr * answer.along.bound_at(at) + 1e-9
    orders = [run.order for run in answer.runs[:2]]  # each depends on where within a step a wall is met
    assert np.mean(orders) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("seed", [2, 8, 10, 11, 12, 13])
def test_the_bound_holds_across_walls_and_not_of_another_motion(seed):
    """It took no notice of walls: an error may grow at one, and a step ends on its other side.

    Flows that do not slide, with 0 to 4 crossings. A descent of steps a quarter longer than it says breaks the bound.
    """
    problem = random_regression(seed)
    reference = ReferenceFlow.of(problem)
    along = curvature_along(reference)
    assert reference.trajectory.slides == 0
    assert np.all(np.isfinite(along.bound))
    lr = 0.01 * 2.0 / along.largest.max()
    steps = comparison_steps(lr, reference.horizon)
    run = follow_rate(reference, DescentRule(lr), reference.outputs_at(lr * steps))
    allowed = np.array([lr * along.bound_at(time) for time in run.times])
    assert run.same_gates
    assert np.all(run.distances <= allowed + 1e-7)
    assert np.max(run.distances / (allowed + 1e-7)) > 0.05  # and it is no idle bound
    exact = reference.outputs_at(1.25 * lr * steps)
    late = [
        np.max(np.abs(exact[1.25 * lr * k] - flow))
        for k, flow in zip(steps, reference.outputs_at(lr * steps).values(), strict=True)
    ]
    assert np.any(np.array(late)[: len(allowed)] > allowed + 1e-7)


def test_there_is_no_bound_from_a_slide_on():
    """Chattering across a wall is not the motion of which the bound speaks."""
    problem = Experiment(data="gate-disagreement", width=2, scale="1e-2", seed=0).problem()
    reference = ReferenceFlow.of(problem)
    along = curvature_along(reference)
    entry = min(event.time for event in reference.trajectory.events if event.kind == "slide-entry")
    assert np.all(np.isfinite(along.bound[along.times < entry]))
    assert np.all(np.isinf(along.bound[along.times > entry]))
    assert along.largest_bound(0.9 * entry) < np.inf
    assert along.largest_bound(1.1 * entry) == np.inf
    answer = step_size(problem, rates=[0.05])
    assert answer.table()[0]["bound"] == np.inf


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
    """Whether plain descent, written anew and run at all rates at once, stays near the flow's end and is led there.

    Sixteen horizons at the rate itself, and 16,000 steps at least, of which the last 50 must stay within 5 % of the
    labels of the flow's end; then a tenth of the time at a tenth of it: what chatters across a wall comes down.
    """
    end = train(problem, CollocationFlow(rtol=1e-9)).predictions
    X, y, leak, start = problem.dataset.X, problem.dataset.y, problem.network.leak, problem.network.materialized()
    size = np.max(np.abs(y))
    w, a = np.tile(start.w, (len(rates), 1, 1)), np.tile(start.a, (len(rates), 1))
    stays = np.ones(len(rates), dtype=bool)
    lengths = np.maximum((16.0 * horizon / rates).astype(int), 16_000)
    for share in (1.0, 0.1):
        for step in range(lengths.max()):
            moving = np.flatnonzero((step < lengths) & stays)  # the largest rates are done first
            if not len(moving):
                break
            now_w, now_a = w[moving], a[moving]
            z = now_w @ X.T
            slopes = np.where(z > 0.0, 1.0, leak)
            outputs = np.einsum("rj,rjk->rk", now_a, slopes * z)
            off = np.max(np.abs(outputs - end), axis=1)
            if share == 1.0:
                stays[moving[(lengths[moving] - step <= 50) & ~(off < 0.05 * size)]] = False
            stays[moving[~(off < 1e6)]] = False
            pull = (slopes * ((y - outputs) / len(y))[:, None, :]) @ X
            rate = share * rates[moving]
            w[moving] = now_w + (rate[:, None] * now_a)[:, :, None] * pull
            a[moving] = now_a + rate[:, None] * np.einsum("rjd,rjd->rj", now_w, pull)
    z = w @ X.T
    outputs = np.einsum("rj,rjk->rk", a, np.where(z > 0.0, z, leak * z))
    return stays & (np.max(np.abs(outputs - end), axis=1) < 2e-3 * size)


STIFF = (15, 16, 17, 26)  # flows so long, in units of the largest stable step, that brute force takes minutes


def random_regression(seed):
    """A few samples, four neurons of middling size, ReLU or leaky."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    data = Dataset(rng.standard_normal((n, d)), rng.standard_normal(n), task="regression")
    leak = float(rng.choice([0.0, 0.3]))
    network = Network(0.3 * rng.standard_normal((4, d)), 0.3 * rng.standard_normal(4), leak=leak)
    return TrainingProblem(data, SquareLoss(), network)


def assert_agrees_with_brute_force(problem, num_rates, lowest):
    """At all but a few rates, at which the time or 2e-3 of the labels cannot tell, both end at the same place."""
    answer = step_size(problem)
    unit = answer.stable_below if np.isfinite(answer.stable_below) else 1.0
    rates = np.geomspace(lowest, 3.0, num_rates) * unit
    found = brute_force_limits(problem, rates, answer.reference.horizon)
    ours = np.array([follow_rate(answer.reference, DescentRule(float(lr))).same_limit for lr in rates])
    assert np.sum(found != ours) <= max(1, 3 * num_rates // 100), rates[found != ours] / unit
    if answer.same_limit.up_to is not None:
        assert np.mean(found[rates <= answer.same_limit.up_to]) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("seed", [seed for seed in range(34) if seed not in STIFF])
def test_agrees_with_brute_force(seed):
    """Descent at 200 rates on a logarithmic grid, by other code, ends where ours says."""
    assert_agrees_with_brute_force(random_regression(seed), 200, 0.15)


@pytest.mark.parametrize("seed", [2, 12])
def test_agrees_with_brute_force_at_a_few_rates(seed):
    assert_agrees_with_brute_force(random_regression(seed), 12, 0.4)


def test_descent_that_chatters_along_a_wall_is_at_the_limit():
    """The flow ends with a neuron sliding along a wall; descent chatters across it for ever.

    The height of its loss above the limit, which is of the order of the rate, was taken for an oscillation, so that no
    rate, however small, ended at the limit.
    """
    X = [[-3.1, 1.0], [0.1, 1.3], [0.4, 1.8], [0.0, -0.5], [0.6, 0.4]]
    data = Dataset(X, [-0.4, -0.2, 0.7, 0.7, -0.5], task="regression")
    network = balanced_initialization(data, width=2, scale=0.1, rng=neuron_rng(0))
    reference = ReferenceFlow.of(TrainingProblem(data, SquareLoss(), network))
    assert reference.trajectory.slides
    for lr in (0.02, 0.1):
        run = follow_rate(reference, DescentRule(lr))
        assert run.outcome is DescentOutcome.SETTLED
        assert run.same_limit
    assert not follow_rate(reference, DescentRule(5.0)).same_limit


def test_a_flow_that_was_cut_short_leaves_limits_open():
    """On 569 samples the flow took all the time, its end was called `not-stationary`, and no rate ended there."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    data = Dataset(X, np.where(X[:, 0] + 0.8 * rng.standard_normal(60) > 0.0, 1.0, -1.0))
    network = Network(0.1 * rng.standard_normal((10, 4)), 0.1 * rng.standard_normal(10))
    answer = step_size(TrainingProblem(data, LogisticLoss(), network), max_seconds=0.6)
    assert answer.reference.limit is None
    assert np.isfinite(answer.reference.horizon)
    assert answer.is_cut_short
    assert answer.as_json()["limit"] is None
    assert all(run.same_limit is None for run in answer.runs)
    assert answer.same_limit.up_to is None
    assert "limits are not compared" in answer.sentence()


def test_classes_that_overlap_are_compared_up_to_where_the_loss_levels_off():
    """The horizon was the time at which 1 % of the first loss is left, which never came: it was 6e307."""
    data = Dataset([[1.0, 0.0], [1.0, 0.05], [-1.0, 0.3], [0.98, 0.02]], [1, 1, -1, -1])
    network = Network(0.3 * np.array([[1.0, 0.2], [-1.0, 0.4], [0.3, -1.0]]), np.array([0.3, -0.3, 0.2]))
    reference = ReferenceFlow.of(TrainingProblem(data, LogisticLoss(), network), max_seconds=20.0)
    assert reference.horizon < 1e5


def test_the_flow_takes_over_where_descent_has_come_down(monkeypatch):
    """It took over far from the limit, where it had hundreds of steps to do at every rate: eight seconds, not one."""
    steps = []

    def counted(*args, **settings):
        onwards, events = follow_flow(*args, **settings)
        steps.append(onwards.steps)
        return onwards, events

    monkeypatch.setattr(followed_rate, "follow_flow", counted)
    answer = step_size(small_problem(width=20, scale=1e-2, seed=0))
    assert not answer.is_cut_short
    assert len(steps) >= len(answer.runs) - 1  # one rate diverges or oscillates
    assert np.mean(steps) < 20  # 5 at 27 rates, most of them one


def test_a_usual_rate_ends_elsewhere_on_the_dataset_of_disagreeing_gates():
    """What its docstring and docs/step-size.md say, also by descent written anew."""
    problem = Experiment(data="gate-disagreement", width=2, scale="1e-2", seed=0).problem()
    reference = ReferenceFlow.of(problem)
    assert reference.trajectory.slides
    small, usual = (follow_rate(reference, DescentRule(lr)) for lr in (0.01, 0.1))
    assert small.same_gates
    assert small.same_limit
    assert usual.outcome is DescentOutcome.SETTLED
    assert usual.same_limit is False
    assert usual.loss < 0.96 * reference.trajectory.loss  # the other end is a better one
    assert usual.lr < 0.1 * sharpness(problem, reference.limit.network).stable_below
    assert not brute_force_limits(problem, np.array([0.1]), 0.1 * reference.horizon)[0]


def test_several_classes_are_refused_with_the_way_out():
    data = Dataset([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0, 1, 2], classes=("a", "b", "c"))
    network = Network(0.1 * np.eye(2), v=0.1 * np.ones((2, 3)))
    with pytest.raises(InvalidInputError, match=r"one output for a comparison with descent.*one_against_rest"):
        step_size(TrainingProblem(data, "softmax", network))


def test_walls_are_open_where_descent_was_ended_too_early():
    """At a rate of 1e-9 three seconds end descent before anything happens; it said that the walls are the same."""
    answer = step_size(small_problem(width=6, scale=0.3, seed=1), rates=[1e-9], max_seconds=1.0)
    (run,) = answer.runs
    assert run.departure is None
    assert run.same_gates is None
    assert answer.same_gates.up_to is None
    assert answer.as_json()["runs"][0]["same_gates"] is None
    assert answer.as_json()["same_gates_up_to"] is None
