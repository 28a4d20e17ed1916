"""The jump process against closed forms for orthogonal inputs, and against the flow itself at small scales."""

import numpy as np
import pytest

import reluflow
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.network.initialization import initialization_named
from reluflow.vanishing_scale import orbit
from reluflow.vanishing_scale.comparison import flow_beside
from reluflow.vanishing_scale.forecast import forecast


def problem_of(X, y, width, seed, *, leak=0.0, init="balanced", loss=None):
    data = reluflow.Dataset(X, y)
    network = initialization_named(init)(data, width=width, scale="1", rng=np.random.default_rng(seed), leak=leak)
    return reluflow.TrainingProblem(data, loss or reluflow.SquareLoss(), network)


def orthogonal_steps(problem):
    """The process for orthogonal inputs by hand: a neuron of sign s keeps the samples it starts active on with s y > 0.

    It pulls on what is left of them at the rate |residual restricted to them|, and fits them all when it escapes.
    """
    X, y, n = problem.dataset.X, np.array(problem.dataset.y), problem.dataset.n
    lengths = np.linalg.norm(X, axis=1)
    signs = np.sign(problem.network.a)
    keeps = (problem.network.w @ X.T > 0) & (signs[:, None] * y > 0)
    level, clock, steps = np.full(len(signs), -1.0), 0.0, []
    asleep = np.ones(len(signs), bool)
    while True:
        rates = np.sqrt(np.sum((keeps * y * lengths / n) ** 2, axis=1)) * asleep
        waits = np.where(rates > 0, -level / np.where(rates > 0, rates, 1), np.inf)
        if np.isinf(waits.min()):
            return steps
        clock += waits.min()
        level += rates * waits.min()
        first = waits <= waits.min() * (1 + 1e-12)
        asleep &= ~first
        y[keeps[first].any(axis=0)] = 0.0
        steps.append((clock, np.sum(y**2) / (2 * n), set(np.flatnonzero(first))))


def four_samples(**settings):
    return problem_of(np.eye(4), [1.0, 0.6, -0.8, -0.3], 12, 5, **settings)


def test_the_example_worked_by_hand():
    process = forecast(four_samples())
    assert [jump.clock for jump in process.jumps] == pytest.approx([4 / np.sqrt(1.36), 5.0], abs=1e-9)
    assert [jump.loss_after for jump in process.jumps] == pytest.approx([0.09125, 0.01125], abs=1e-12)
    assert process.saddles[0].loss == pytest.approx(0.26125)
    assert process.is_exact
    assert process.why == ""
    assert process.kind == "local-minimum"
    assert [str(saddle.certificate.kind) for saddle in process.saddles] == ["saddle"] * 3
    assert max(saddle.certificate.residuals["stationarity"] for saddle in process.saddles) < 1e-12
    assert process.loss_at(3.4) == pytest.approx(0.26125)
    assert process.loss_at(3.5) == pytest.approx(0.09125)
    assert process.sentence().startswith("As the scale vanishes the loss falls in 2 steps, at 3.43 and 5 log(1/scale)")


def test_the_flow_comes_to_the_forecast():
    """The clock like 1/log(1/scale), and with the delay, which the clock does not see, like a power of the scale."""
    problem = four_samples()
    process = forecast(problem)
    runs = flow_beside(process, problem, scales=("1e-10", "1e-100"))
    clocks = np.array([jump.clock for jump in process.jumps])
    for run in runs:
        assert np.all(np.abs(run.clocks - clocks) <= 1.05 * np.abs(process.times_at(-1.0) - clocks) / -run.log_scale)
        assert run.trajectory.loss == pytest.approx(process.loss, abs=1e-9)
    assert np.all(np.abs(runs[0].errors) < 1e-4)
    assert np.all(np.abs(runs[1].errors) < 1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_orthogonal_inputs_in_closed_form(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 5)), 5
    X = np.linalg.qr(rng.standard_normal((d, d)))[0][:n] * rng.uniform(0.5, 1.5, (n, 1))
    problem = problem_of(X, rng.standard_normal(n), int(rng.integers(2, 20)), seed)
    process, expected = forecast(problem), orthogonal_steps(problem)
    assert process.is_exact
    assert [jump.clock for jump in process.jumps] == pytest.approx([step[0] for step in expected], rel=1e-8)
    assert [jump.loss_after for jump in process.jumps] == pytest.approx([step[1] for step in expected], abs=1e-10)
    assert [set(jump.neurons) for jump in process.jumps] == [step[2] for step in expected]


@pytest.mark.parametrize(
    ("init", "leak", "seed"),
    [("balanced", 0.0, 3), ("balanced", 0.3, 0), ("dominated", 0.0, 1), ("unbalanced", 0.0, 3)],
)
def test_correlated_inputs_against_the_flow(init, leak, seed):
    rng = np.random.default_rng(100 + seed)
    problem = problem_of(rng.standard_normal((3, 3)), rng.standard_normal(3), 6, seed, leak=leak, init=init)
    process = forecast(problem)
    (run,) = flow_beside(process, problem, scales=("1e-100",))
    assert process.is_exact
    assert process.jumps
    assert run.trajectory.loss == pytest.approx(process.loss, abs=1e-8)
    bounds = [max(1e-4, 10 * 10 ** (200 * jump.runner_up)) for jump in process.jumps]
    assert np.all(np.abs(run.errors) <= bounds), run.errors


def test_sum_and_mean_differ_by_the_unit_of_time():
    mean, total = (forecast(four_samples(loss=reluflow.SquareLoss(reduction=r))) for r in ("mean", "sum"))
    assert [4 * j.clock for j in total.jumps] == pytest.approx([j.clock for j in mean.jumps], rel=1e-9)
    assert [j.loss_after for j in total.jumps] == pytest.approx([4 * j.loss_after for j in mean.jumps], rel=1e-9)


def test_only_the_shape_counts():
    problem = four_samples()
    scaled = reluflow.TrainingProblem(problem.dataset, problem.loss, problem.network.scaled(-50.0))
    assert [j.clock for j in forecast(scaled).jumps] == [j.clock for j in forecast(problem).jumps]


def turning_problem():
    """A neuron aligned with one sample alone, whose residual changes sign when another bundle escapes."""
    angles = np.radians([0.0, 100.0, 120.0])
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    across = np.linalg.svd(X.T)[2][-1]  # orthogonal to the columns of X: what no linear function fits
    y = X @ [1.0, 1.5] - 0.7 * np.sign(across[0]) * across
    starts = np.radians([5.0, -30.0, 60.0])
    w = np.column_stack([np.cos(starts), np.sin(starts)]) * [[1.0], [1.2], [0.8]]
    network = reluflow.Network(w, np.linalg.norm(w, axis=1))
    return reluflow.TrainingProblem(reluflow.Dataset(X, y), reluflow.SquareLoss(), network)


def test_a_neuron_falls_back_before_it_turns():
    """Neurons 0 and 1 grow along the first sample, are pushed back along it to their first size, and turn there.

    What is left of their first direction, a factor scale^0.4 smaller than they are, decides where they turn to: neuron
    0 joins the cone of the bundle, neuron 1 dies.
    """
    problem = turning_problem()
    process = forecast(problem)
    assert process.is_exact
    assert [jump.neurons for jump in process.jumps] == [(2,)]
    assert process.levels == pytest.approx([-1.0, -1.0, 0.0], abs=1e-9)
    log_scale = -30 * np.log(10)
    scaled = reluflow.TrainingProblem(problem.dataset, problem.loss, problem.network.replace(log_scale=log_scale))
    run = reluflow.train(scaled, EventDrivenFlow(rtol=1e-9), until=20.0 * -log_scale)
    sizes = np.log(np.linalg.norm(run.network.w, axis=1) * np.sqrt(2.0)) + run.network.log_scale
    assert sizes[:2] / -log_scale == pytest.approx([-1.0, -1.0], abs=0.02)
    directions = run.network.w / np.linalg.norm(run.network.w, axis=1)[:, None]
    assert directions[1] == pytest.approx([0.0, -1.0], abs=1e-6)
    assert np.all(problem.dataset.X @ directions[0] > -1e-9)


def test_bundles_that_escape_at_one_time_are_released_in_their_true_ratio():
    X, y = np.eye(2), [1.0, -1.0]
    w = np.array([[1.0, -0.5], [-0.5, 1.0]])
    network = reluflow.Network(w, np.linalg.norm(w, axis=1) * [1.0, -1.0])
    process = forecast(reluflow.TrainingProblem(reluflow.Dataset(X, y), reluflow.SquareLoss(), network))
    assert process.is_exact
    assert len(process.jumps) == 1
    assert process.jumps[0].is_tied
    assert process.jumps[0].clock == pytest.approx(2.0)
    assert [members for _, members in process.jumps[0].bundles()] in ([(0,), (1,)], [(1,), (0,)])
    assert process.loss == pytest.approx(0.0, abs=1e-15)


def test_a_ridge_is_left_open_and_what_comes_before_it_stands():
    """Neuron 0 starts exactly on a boundary whose both sides push it away; it cannot wake before neuron 1 does."""
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), [-3.0, 1.0, 1.0]
    w = np.array([[-1.0, 0.0], [1.0, 0.0]])
    network = reluflow.Network(w, [1.0, -1.0])
    process = forecast(reluflow.TrainingProblem(reluflow.Dataset(X, y), reluflow.SquareLoss(), network))
    assert not process.is_exact
    assert "both sides of a boundary push away" in process.why
    assert [jump.neurons for jump in process.jumps] == [(1,)]
    assert process.jumps[0].clock == pytest.approx(1.0, rel=1e-9)
    assert process.loss == pytest.approx(1 / 3)


def test_no_neuron_grows():
    network = reluflow.Network([[-1.0, -1.0]], [np.sqrt(2.0)])
    process = forecast(
        reluflow.TrainingProblem(reluflow.Dataset(np.eye(2), [1.0, 1.0]), reluflow.SquareLoss(), network)
    )
    assert process.jumps == ()
    assert process.is_exact
    assert process.sentence() == "As the scale vanishes no neuron ever grows."


def test_a_classifier_fits_one_class_after_the_other():
    """Orthogonally separable data: each class escapes along its own mean, at the rate n_class/(2n) of its length."""
    X, y = np.array([[1.0, 0.2], [0.9, 0.3], [-0.6, 0.1]]), [1.0, 1.0, -1.0]
    w = np.array([[1.0, 0.1], [-1.0, 0.05]])
    network = reluflow.Network(w, np.linalg.norm(w, axis=1) * [1.0, -1.0])
    process = forecast(reluflow.TrainingProblem(reluflow.Dataset(X, y), reluflow.LogisticLoss(), network))
    rates = [np.linalg.norm(X[:2].sum(axis=0)) / 6, np.linalg.norm(X[2]) / 6]
    assert [jump.clock for jump in process.jumps] == pytest.approx([1 / rates[0], 1 / rates[1]], rel=1e-9)
    assert [jump.loss_after for jump in process.jumps] == pytest.approx([np.log(2) / 3, 0.0], abs=1e-12)
    assert process.kind == "fading"


def test_a_forged_process_is_caught_by_the_flow():
    """The comparison can fail: with a wrong clock the flow at 1e-100 is off by many units of time."""
    problem = four_samples()
    process = forecast(problem)
    from dataclasses import replace

    forged = replace(process, jumps=(replace(process.jumps[0], clock=3.5), process.jumps[1]))
    (run,) = flow_beside(forged, problem, scales=("1e-100",))
    assert abs(run.errors[0]) > 10
    assert abs(run.errors[1]) < 1e-6


@pytest.mark.parametrize("seed", [2, 3])
def test_what_is_left_of_cancelled_forces_is_no_pull(seed):
    """At a least-squares fit dormant neurons were pulled by 2^-62, and the forecast told of a jump at clock 2^62."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (25, 1))
    y = np.abs(x[:, 0]) - 0.3 * x[:, 0] + 0.05 * rng.standard_normal(25)
    process = forecast(problem_of(x, y, 20, seed))
    assert (len(process.jumps), process.why, process.is_exact) == (2, "", True)


def test_an_orbit_that_falls_for_ever_is_left_open_in_bounded_time(monkeypatch):
    """Four samples of which one can never be right: 98,000 steps, forty seconds, were taken on the way to infinity."""
    data = reluflow.Dataset([[1.0, 0.2], [0.4, 1.0], [-1.0, 0.3], [0.5, 0.1]], [1.0, 1.0, -1.0, -1.0])
    network = reluflow.balanced_initialization(data, width=10, scale=1.0, rng=0)
    steps, train = [], orbit.train

    def counted(*args, **settings):
        run = train(*args, **settings)
        steps.append(run.steps)
        return run

    monkeypatch.setattr(orbit, "train", counted)
    process = forecast(reluflow.TrainingProblem(data, reluflow.LogisticLoss(), network))
    assert not process.is_exact
    assert "relaxes too slowly" in process.why
    assert sum(steps) < 3 * orbit.MOST_STEPS_WHILE_FADING


def test_an_orbit_that_relaxes_too_slowly_is_left_open(monkeypatch):
    """Two of the two hundred random problems of the evidence took minutes, and would have taken many more."""
    problem = problem_of(np.eye(3), np.array([1.0, 0.6, -0.8]), 8, 5)
    assert forecast(problem).is_exact
    monkeypatch.setattr(orbit, "MOST_STEPS_IN_ALL", 3)
    process = forecast(problem)
    assert not process.is_exact
    assert "relaxes too slowly" in process.why
