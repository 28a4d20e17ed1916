"""When nothing will grow any more: neurons that shrink for ever, and those that only seem to."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import lengths_of, shrinks_for_ever
from reluflow.dynamics.stopping import Stationary
from reluflow.dynamics.train import train
from reluflow.losses import ExponentialLoss, SquareLoss
from reluflow.network import Network

DATA = Dataset([[1.0, 0.3], [0.4, 1.0]], [1.0, 0.7])
PULL = DATA.y @ DATA.X / np.linalg.norm(DATA.y @ DATA.X)
ACROSS = np.array([-PULL[1], PULL[0]])


def _run(solver, w, a):
    return train(TrainingProblem(DATA, SquareLoss(), Network(w=[w], a=[a], leak=0.5)), solver())


@pytest.mark.parametrize("solver", [EventDrivenFlow, CollocationFlow])
@pytest.mark.parametrize(
    ("w", "a"),
    [
        (-1e-9 * (PULL + 1e-7 * ACROSS), 1e-9 * np.sqrt(1.0 + 1e-14)),
        (-1e-9 * PULL, 2e-9),
        (-2e-9 * PULL, 1e-9),
    ],
    ids=["nearly against its pull", "output weight heavier", "input weight heavier"],
)
def test_a_neuron_that_will_turn_is_not_the_end(solver, w, a):
    """Within 4e-5 of straight against its pull, or unbalanced, a light neuron ended the run at its start: `stationary`.

    What it has across the pull stays while the rest shrinks, and the smaller of |a| and |w| goes through zero: in all
    three cases it then grows and fits both samples.
    """
    run = _run(solver, w, a)
    assert run.outcome.code == "stationary"
    assert run.loss < 1e-12


@pytest.mark.parametrize("solver", [EventDrivenFlow, CollocationFlow])
def test_a_balanced_neuron_straight_against_its_pull_shrinks_for_ever(solver):
    run = _run(solver, -1e-9 * PULL, 1e-9)
    assert run.outcome.code == "stationary"
    assert run.loss == pytest.approx(float(np.mean(DATA.y**2)) / 2.0)


@pytest.mark.parametrize("solver", [EventDrivenFlow, CollocationFlow])
@pytest.mark.parametrize("loss", [SquareLoss(), ExponentialLoss()])
def test_a_neuron_at_zero_does_not_keep_a_run_from_its_end(solver, loss):
    """Something pulls on it, and it stands still: the run went on for ever beside it.

    The other neuron comes to w = 0 and is held there, between classes on both sides of it that contradict each other.
    """
    data = Dataset([[-2.0], [-1.0], [1.0], [2.0]], [-1.0, 0.9, 1.0, -1.0] if not loss.fades else [-1.0, 1.0, 1.0, -1.0])
    problem = TrainingProblem(data, loss, Network([[0.0], [-0.1]], [0.0, 0.5]))
    run = train(problem, solver(max_steps=2000), until=Stationary())
    assert run.outcome.code == "stationary"
    assert run.network.w[0].tolist() == [0.0]
    assert run.network.a[0] == 0.0
    assert not shrinks_for_ever(np.zeros((1, 1)), np.array([1e-9]), np.ones((1, 1))).any()


def test_rounding_is_forgiven_and_nothing_more(rng):
    pulls = rng.normal(size=(50, 3))
    units = pulls / np.linalg.norm(pulls, axis=1, keepdims=True)
    signs = rng.choice([-1.0, 1.0], size=50)
    sizes = np.exp(rng.uniform(-300.0, 3.0, size=50))
    w, a = -(signs * sizes)[:, None] * units, signs * sizes
    assert shrinks_for_ever(w, a, pulls).all()
    assert not shrinks_for_ever(-w, a, pulls).any()
    assert not shrinks_for_ever(w, a * (1.0 + 1e-9), pulls).any()
    turned = w + 1e-9 * sizes[:, None] * np.cross(units, units[:, [1, 2, 0]])
    assert not shrinks_for_ever(turned, a, pulls).any()


def test_lengths_are_roots_of_squares_wherever_these_are_doubles(rng):
    """Neurons brought to length 1 by another rounding had other steps: a run came to rest at t = 194.6, not 195.03."""
    ordinary = rng.standard_normal((50, 3)) * np.exp(rng.uniform(-300.0, 300.0, 50))[:, None]
    np.testing.assert_array_equal(lengths_of(ordinary), np.sqrt(np.einsum("jd,jd->j", ordinary, ordinary)))
    extreme = np.array([[3e-200, 4e-200], [3e200, -4e200], [0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_allclose(lengths_of(extreme), [5e-200, 5e200, 0.0, 5.0], rtol=1e-15)
