"""Numbers the papers or closed forms fix: spurious least squares, crossing times, scales, plateaus, late times."""

import numpy as np
import pytest

from problems import small_problem
from reluflow.data import Dataset, load
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.shared.frozen_start import FrozenStart
from reluflow.dynamics.stopping import AtTime, DirectionConverged, Stationary
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome
from reluflow.geometry.alignment import align_until
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network import Network, balanced_initialization, circle_quadrature


@pytest.mark.parametrize("width", [60, 200, 2000])
def test_three_points_end_at_least_squares(width):
    """Boursier & Flammarion (2024), Fig. 2: every width ends at the least-squares line, a spurious stationary point."""
    problem = small_problem(width=width, scale=1e-3)
    X, trajectory = problem.dataset.X, train(problem, EventDrivenFlow())
    beta, *_ = np.linalg.lstsq(X, problem.dataset.y, rcond=None)
    assert trajectory.outcome is Outcome.STATIONARY
    assert trajectory.limit.is_polished
    assert trajectory.limit.gradient_norm < 1e-14
    np.testing.assert_allclose(trajectory.predictions, X @ beta, atol=1e-12)
    assert trajectory.loss == pytest.approx(0.0875213675, abs=1e-10)
    assert [phase.name for phase in trajectory.phases] == ["alignment", "growth", "fitting", "convergence"]
    pre = trajectory.network.pre_activations(X)
    pre[np.abs(pre) < 1e-12 * np.linalg.norm(trajectory.network.w, axis=1)[:, None]] = 0.0  # dead on the boundary
    assert np.all(np.all(pre >= 0, axis=1) | np.all(pre <= 0, axis=1))
    assert trajectory.force_evaluations < (5000 if width <= 200 else 8000)


def test_three_points_cross_where_the_closed_form_says():
    """While outputs are negligible the crossing times are those of the closed-form alignment."""
    problem = small_problem(width=200, scale=1e-9)
    trajectory = train(problem, EventDrivenFlow(), until=AtTime(6.0), times=[0.5, 3.0])
    forces = problem.loss.label_forces(problem.dataset.y)
    state = align_until(problem.dataset.X, forces, problem.network.w, problem.network.a, 6.0)
    ours = sorted((e.neuron, e.sample, e.time) for e in trajectory.events)
    theirs = sorted(zip(state.events.neurons, state.events.samples, state.events.times, strict=True))
    assert len(ours) == len(theirs) > 100
    assert max(abs(a[2] - b[2]) for a, b in zip(ours, theirs, strict=True)) < 1e-10


def test_crossing_times_are_right_to_the_tolerance():
    """At width 200 every crossing time agrees with a run at a thousandth of the tolerance to 1e-10."""
    problem = small_problem(width=200, scale=1e-3)
    usual, fine = (train(problem, EventDrivenFlow(rtol=rtol), until=AtTime(30.0)) for rtol in (1e-10, 1e-13))
    ours = sorted((e.neuron, e.sample, e.time) for e in usual.events)
    exact = sorted((e.neuron, e.sample, e.time) for e in fine.events)
    assert [event[:2] for event in ours] == [event[:2] for event in exact]
    assert max(abs(a[2] - b[2]) for a, b in zip(ours, exact, strict=True)) < 1e-10


@pytest.mark.parametrize("scale", ["1e-9", "1e-30"])
def test_jumps_equal_steps(scale, monkeypatch):
    """With the closed-form start made unavailable the same run goes through ordinary steps."""
    problem = small_problem(width=40, scale=scale, seed=2)
    times = [3.0, 20.0]
    jumped = train(problem, EventDrivenFlow(), until=AtTime(25.0), times=times)
    monkeypatch.setattr(FrozenStart, "is_worthwhile", lambda self, neurons: False)
    stepped = train(problem, EventDrivenFlow(), until=AtTime(25.0), times=times)
    assert jumped.steps < stepped.steps
    assert jumped.crossings == stepped.crossings
    for first, second in zip(jumped.snapshots, stepped.snapshots, strict=True):
        np.testing.assert_allclose(
            first.network.w * np.exp(first.network.log_scale),
            second.network.w * np.exp(second.network.log_scale),
            rtol=1e-8,
            atol=1e-12 * np.max(np.abs(second.network.w)) * np.exp(second.network.log_scale),
        )


def test_any_scale_takes_the_same_effort_and_time_grows_like_its_logarithm():
    """Growth rate 0.7149689 = |D*| of the one extremal vector: Boursier & Flammarion (2024), golden numbers."""
    rate = 0.7149689
    runs = {}
    for scale in ("1e-3", "1e-300", "1e-4000"):
        runs[scale] = train(small_problem(width=200, scale=scale), EventDrivenFlow())
        assert runs[scale].outcome is Outcome.STATIONARY
        assert runs[scale].balancedness_drift < 1e-12
    assert runs["1e-300"].force_evaluations < 2 * runs["1e-3"].force_evaluations
    assert runs["1e-4000"].force_evaluations < 2 * runs["1e-3"].force_evaluations
    end = {scale: run.phases[0].end for scale, run in runs.items()}
    assert end["1e-4000"] - end["1e-300"] == pytest.approx(3700 * np.log(10.0) / rate, rel=1e-5)
    length = {scale: run.phases[1].end - run.phases[1].start for scale, run in runs.items()}
    assert length["1e-300"] == pytest.approx(length["1e-4000"], rel=5e-3)


@pytest.mark.slow
def test_infinite_width_is_the_limit_of_wide():
    def at_ten(problem, **settings):
        return train(problem, EventDrivenFlow(**settings), until=AtTime(10.0)).predictions

    data = load("three-points")
    nodes, finer = (
        at_ten(TrainingProblem(data, SquareLoss(), circle_quadrature(data, num_nodes=num_nodes, scale=1e-3)))
        for num_nodes in (400, 800)
    )
    np.testing.assert_allclose(nodes, finer, rtol=1e-4)
    errors = []
    for width in (1000, 100_000):
        draws = [at_ten(small_problem(width=width, scale=1e-3, seed=seed), rtol=1e-7) for seed in range(3)]
        errors.append(np.sqrt(np.mean(np.square(np.array(draws) - finer))))
    assert 3.0 < errors[0] / errors[1] < 33.0  # Monte Carlo: a factor 10 on average


def test_one_neuron_on_one_sample_in_closed_form():
    """One balanced neuron, one sample, square loss: w grows as the logistic curve and ends at h = y."""
    problem = TrainingProblem(Dataset([[1.0]], [2.0]), SquareLoss(), Network(w=[[0.01]], a=[0.01]))
    trajectory = train(problem, EventDrivenFlow(), until=AtTime(1.5))
    h0, y = 1e-4, 2.0
    exact = y / (1.0 + (y / h0 - 1.0) * np.exp(-2.0 * y * 1.5))
    assert trajectory.predictions[0] == pytest.approx(exact, rel=1e-9)
    end = train(problem, EventDrivenFlow())
    assert end.outcome is Outcome.STATIONARY
    assert end.predictions[0] == pytest.approx(2.0, abs=1e-13)


@pytest.mark.parametrize(("scale", "until"), [(1e-8, None), (1e-200, Stationary(1e-6))])
def test_a_plateau_between_two_saddles_is_not_taken_for_the_end(scale, until):
    """Orthogonal samples of unequal labels are fitted one after the other, at rates |y_k| / n: a plateau in between.

    At scale 1e-200 the second neuron stays below any gradient tolerance for hundreds of time units.
    """
    dataset = Dataset([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.5])
    network = Network(w=[[1.0, -0.1], [-0.1, 1.0]], a=[1.01, 1.01], log_scale=np.log(scale))
    trajectory = train(TrainingProblem(dataset, SquareLoss(), network), EventDrivenFlow(), until=until)
    assert trajectory.outcome is Outcome.STATIONARY
    np.testing.assert_allclose(trajectory.predictions, [3.0, 0.5], atol=1e-12)
    plateau = [phase for phase in trajectory.phases if phase.name == "plateau"]
    assert len(plateau) == 1
    assert plateau[0].end - plateau[0].start > 20.0


def test_time_beyond_every_double():
    """Phuong & Lampert (2021), toy oracle: ||W_+||^2 / log t tends to ||w_+||, and log t goes past e^700."""
    dataset = Dataset([[2.0, 1.0], [1.0, 2.0], [-2.0, -0.5], [-0.6, -1.6]], [1.0, 1.0, -1.0, -1.0])
    network = balanced_initialization(dataset, width=8, scale=1e-4, rng=np.random.default_rng(4))
    problem = TrainingProblem(dataset, LogisticLoss(reduction="sum"), network)
    trajectory = train(problem, EventDrivenFlow(rtol=1e-8), until=DirectionConverged(1e-12), log_horizon=1000.0)
    assert trajectory.outcome is Outcome.HORIZON
    assert trajectory.time == np.inf
    assert 1000.0 <= trajectory.log_time < 1100.0
    positive = trajectory.network.a > 0
    growth = np.sum(trajectory.network.w[positive] ** 2) / trajectory.log_time
    assert growth == pytest.approx(0.4714045208, rel=0.02)
    assert np.all(np.diff(trajectory.log_times[1:]) >= 0)
