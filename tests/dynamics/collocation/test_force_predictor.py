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
