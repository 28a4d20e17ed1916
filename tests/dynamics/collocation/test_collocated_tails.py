"""The flow by collocation where runs end: near rest, at a fit, in directions that turn for ever, with bad guesses."""

import warnings

import numpy as np
import pytest

from reluflow import balanced_initialization, dominated_initialization, train
from reluflow.data import Dataset
from reluflow.dynamics import CollocationFlow, EventDrivenFlow, TrainingProblem
from reluflow.dynamics.collocation import carried_neurons, collocation_state, force_step
from reluflow.dynamics.stopping import AtTime, Stationary
from reluflow.dynamics.trajectory import Outcome
from reluflow.losses import ExponentialLoss, LogisticLoss, SquareLoss
from reluflow.network import Network


def test_events_beyond_all_room_shorten_the_step(monkeypatch):
    """Room for events was doubled without bound: a neuron thrown to and fro by a bad guess asked for 34 GiB."""
    problem = _noisy_classes(0)
    exact = train(problem, CollocationFlow(rtol=1e-8), until=AtTime(10.0))
    monkeypatch.setattr(force_step, "EVENT_CAPACITY", 1)
    monkeypatch.setattr(carried_neurons, "MOST_EVENTS_PER_WALL", 0)
    ours = train(problem, CollocationFlow(rtol=1e-8), until=AtTime(10.0))
    assert ours.steps > exact.steps
    np.testing.assert_allclose(ours.network.w, exact.network.w, atol=1e-7)
    np.testing.assert_allclose(ours.network.a, exact.network.a, atol=1e-7)


class TestTails:
    @pytest.mark.parametrize("loss", [SquareLoss(), LogisticLoss(), ExponentialLoss()])
    def test_a_fit_and_a_dead_neuron_are_followed_to_any_time(self, loss):
        """Where the forces are all rounding, the steps once fell to 1e-6 and stayed there; where one sample counts, the
        clock was interpolated across the moment at which a light neuron fits it."""
        labels = [1.0, -1.0] if loss.fades else [1.0, -0.5]
        data = Dataset([[1.0, 0.0], [0.5, 1.0]], labels)
        fitting = Network([[1.0, -0.5], [-1.0, 2.0]], [1.0, -0.0])
        dead_and_light = Network([[-1.0, -0.2], [1e-200, 0.5e-200]], [0.3, 1e-200])
        for network, end in ((fitting, 1e30), (dead_and_light, 1e12 if loss.fades else 1e3)):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                run = train(TrainingProblem(data, loss, network), CollocationFlow(), until=AtTime(end), max_steps=400)
            assert run.outcome is Outcome.HORIZON
            assert run.times[-1] == end
            assert np.all(np.isfinite(run.outputs))

    def test_classes_that_overlap_come_to_rest(self):
        """Their forces stay while the pulls vanish: kept to a share of the forces, the gradient once never fell below
        3e-7 of them, and the run wandered for ever."""
        for seed in (2, 4):
            problem = _noisy_classes(seed)
            run = train(problem, CollocationFlow(rtol=1e-6), until=Stationary(atol=1e-11), max_steps=300)  # 77 or 78
            assert run.outcome is Outcome.STATIONARY
        exact = train(problem, EventDrivenFlow(), until=Stationary(atol=1e-5), max_steps=20_000)
        assert run.loss == pytest.approx(exact.loss, rel=1e-3)

    def test_a_direction_that_still_turns_when_rounding_hides_the_forces_ends_the_run(self, monkeypatch):
        monkeypatch.setattr(collocation_state, "RESCALED_MARGIN", np.inf)  # else its growth is taken out in time
        trajectory = train(_noisy_classes(5), CollocationFlow(), max_steps=1000)
        assert trajectory.outcome is Outcome.ROUNDED
        assert trajectory.outcome.is_cut_short
        assert np.max(np.abs(trajectory.predictions)) > 1e8


def _noisy_classes(seed: int) -> TrainingProblem:
    """Fourteen points in the plane, half of whose labels are noise, and 40 neurons."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((14, 2))
    data = Dataset(X, np.where(X[:, 0] + 1.2 * rng.standard_normal(14) > 0, 1.0, -1.0))
    return TrainingProblem(data, LogisticLoss(), balanced_initialization(data, width=40, scale=0.1, rng=rng))


def test_a_loose_tolerance_lists_the_same_events():
    """At 1e-7 errors of a step pushed sliding neurons off their walls: thousands of crossings where there are 13."""
    rng = np.random.default_rng(0)
    data = Dataset(np.array([[-0.5, 1.0], [0.1, 1.0], [0.9, 1.0]]), [0.3, 1.0, -0.2], task="regression")
    network = dominated_initialization(data, width=15, scale=1e-3, rng=rng)
    problem = TrainingProblem(data, SquareLoss(), network)
    loose, exact = (train(problem, EventDrivenFlow(rtol=rtol)) for rtol in (1e-5, 1e-12))
    assert exact.slides > 0
    assert (loose.crossings, loose.slides) == (exact.crossings, exact.slides)
