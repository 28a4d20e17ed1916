"""Guesses of the forces on the next step."""

import numpy as np

from reluflow.dynamics.collocation.carried_neurons import RULE
from reluflow.dynamics.collocation.force_predictor import ForcePredictor


def learn(predictor: ForcePredictor, time: float, length: float) -> None:
    """A step on which the forces are what they always are here: t^2 and 1."""

    def forces(moments):
        return np.column_stack([np.square(moments), np.ones(np.size(moments))])

    predictor.learn(forces(time)[0], forces(time + length * RULE.nodes), time, length, is_cut=False)


def test_forces_that_were_foreseen_wrongly_are_forgotten():
    """A step of standardised iris was rejected with forces far from the true ones, and these were the guess of every
    step within it: 850 of them, each a hundred thousandth as long, two attempts and ten iterations apiece.
    """
    predictor = ForcePredictor(RULE)
    learn(predictor, 0.0, 1.0)
    predictor.foresee(np.full((len(RULE.nodes), 2), 7.0), 1.0, 100.0)
    assert np.all(predictor.guess(1.0, 1.0)[:, 1] > 6.0)
    learn(predictor, 1.0, 1.0)
    exact = np.square(2.0 + RULE.nodes)
    np.testing.assert_allclose(predictor.guess(2.0, 1.0)[:, 0], exact, rtol=1e-9)


def test_forces_that_were_foreseen_better_than_they_go_on_are_kept():
    """After a kink at 1 the forces are 5, not t^2: they were foreseen to 0.001."""
    predictor = ForcePredictor(RULE)
    learn(predictor, 0.0, 1.0)
    foreseen = np.zeros((len(RULE.nodes), 2))
    foreseen[0] = 5.001
    predictor.foresee(foreseen, 1.0, 10.0)
    five = np.full((len(RULE.nodes), 2), 5.0)
    predictor.learn(five[0], five, 1.0, 1.0, is_cut=False)
    np.testing.assert_allclose(predictor.guess(2.0, 1.0), 5.001, rtol=1e-12)


def test_forces_at_the_start_of_a_stiff_step_do_not_spoil_the_guess():
    """What an iteration leaves, 1e-6 here, was continued over the next step, where stiffness made 0.25 of it."""
    predictor = ForcePredictor(RULE)
    for time in (0.0, 1.0, 2.0):
        moments = time + RULE.nodes
        off = (time**2 + 1e-6) * np.ones(1)
        predictor.learn(off, np.square(moments)[:, None], time, 1.0, is_cut=False)
    np.testing.assert_allclose(predictor.guess(3.0, 1.0)[:, 0], np.square(3.0 + RULE.nodes), rtol=1e-12)
