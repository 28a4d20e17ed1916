"""Which walls a neuron may meet: none that it meets may be missed, and few others are to be looked at."""

import itertools

import numpy as np
import pytest
from numpy.polynomial import polynomial
from scipy.integrate import solve_ivp

from reluflow.dynamics.collocation.neuron_series_kernels import (
    PullAhead,
    expand,
    make_series,
    multiply,
    place,
    shifted,
)
from reluflow.dynamics.collocation.wall_survey_kernels import (
    Outlook,
    choose_by_survey,
    compare_pulls,
    follow,
    make_survey,
    note_heights,
    outlook,
    survey_walls,
)

Q = 5
NUM_WALLS = 400


def a_walk(rng, *, is_drift_seen=True, d=30, num_pieces=60):
    """A neuron walks among walls, its pull jumping between pieces; how many walls it met, missed and looked at.

    Its way is followed densely, so that whatever meets a wall within a piece is known from elsewhere.
    """
    normals = rng.standard_normal((NUM_WALLS, d))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    w, pull = rng.standard_normal(d), rng.standard_normal((Q, d)) / np.arange(1, Q + 1)[:, None] ** 2
    side = np.sign(normals @ w).astype(np.int8)
    survey = make_survey(NUM_WALLS, Q, d)
    survey_walls(survey, w, float(np.linalg.norm(w)), pull, normals)
    met = missed = looked = 0
    taus = np.linspace(0.0, 1.0, num_pieces + 1)
    chosen, everything = np.empty(NUM_WALLS, np.int64), np.arange(NUM_WALLS)
    for tau, end in itertools.pairwise(taus):
        length = end - tau
        here, strengths = np.empty((Q, d)), np.empty(Q)
        shifted(pull, tau, here, strengths)
        terms_a = np.array([1.0, 0.4, -0.2]) * rng.uniform(0.5, 1.5) * length ** np.arange(3)  # of a, in x / length
        xs = np.linspace(0.0, 1.0, 200)
        # integrals of a x^l over the piece, up to every x
        integrals = [
            length ** (power + 1) * polynomial.polyval(xs, polynomial.polyint(np.r_[np.zeros(power), terms_a]))
            for power in range(Q)
        ]
        heights = normals @ (w[:, None] + here.T @ np.array(integrals))
        meets = np.any(side[:, None] * heights <= 0.0, axis=1)
        spent = length * np.sum(np.abs(terms_a) / np.arange(1, 4))
        ahead = outlook(survey, tau, end, spent)
        if not is_drift_seen:
            ahead = Outlook(tau, end, spent, 0.0)
        num = choose_by_survey(survey, ahead, 1.0, side, False, everything, NUM_WALLS, chosen)
        met, looked = met + np.sum(meets), looked + num
        missed += len(set(np.flatnonzero(meets)) - set(chosen[:num]))
        note_heights(survey, chosen, num, normals[chosen[:num]] @ w)
        shares = np.array([integral[-1] for integral in integrals])
        w = w + here.T @ shares
        follow(survey, tau, shares, ahead.drift, float(np.linalg.norm(w)))
        side = np.sign(normals @ w).astype(np.int8)
        pull = pull + rng.standard_normal((Q, d)) * 0.04
        compare_pulls(survey, pull)
    return met, missed, looked / num_pieces


@pytest.mark.parametrize("seed", range(5))
def test_no_wall_that_is_met_is_missed(seed):
    met, missed, looked = a_walk(np.random.default_rng(seed))
    assert met > 50
    assert missed == 0
    assert looked < 0.2 * NUM_WALLS


def test_the_changes_of_the_pull_must_be_counted():
    """The forgery: with the drift left out, walls are missed."""
    assert sum(a_walk(np.random.default_rng(seed), is_drift_seen=False)[1] for seed in range(5)) > 0


def test_walls_that_are_held_are_kept_in_sight_but_not_looked_at():
    normals, pull = np.eye(3), np.zeros((Q, 3))
    survey = make_survey(3, Q, 3)
    survey_walls(survey, np.array([0.0, 1.0, 1.0]), 2.0, pull, normals)
    side, ahead, chosen = np.array([0, 1, 1], np.int8), Outlook(0.0, 1.0, 1.0, 0.0), np.empty(3, np.int64)
    assert choose_by_survey(survey, ahead, 1.0, side, True, np.arange(3), 3, chosen) == 1
    assert chosen[0] == 0
    assert choose_by_survey(survey, ahead, 1.0, side, False, np.arange(3), 3, chosen) == 0


@pytest.mark.parametrize("d", [2, 40])
def test_the_series_is_the_solution_of_the_neuron_s_equation(d):
    """Made of the inner products of the pull alone, against a general integrator."""
    rng = np.random.default_rng(d)
    w, a = rng.standard_normal(d), -0.7
    pull = 0.3 * rng.standard_normal((Q, d)) * 0.1 ** np.arange(Q)[:, None] / np.sqrt(d)
    ahead = PullAhead(pull, np.linalg.norm(pull, axis=1), np.empty((Q, Q)), np.empty(Q))
    series = make_series(1, Q, d)
    multiply(ahead, w)
    degree = expand(float(np.linalg.norm(w)), a, ahead, np.ones(Q), ahead.strengths, series)
    assert degree > 0

    def slope(x, z):
        force = polynomial.polyval(x, pull)
        return np.append(z[-1] * force, z[:-1] @ force)

    exact = solve_ivp(slope, (0.0, 1.0), np.append(w, a), method="DOP853", rtol=1e-12, atol=1e-14, dense_output=True)
    for at in (0.4, 1.0):
        here, shares = np.empty(d), np.empty(Q + 1)
        found = np.empty(1)
        place(series, pull, degree, at, w, here, found, shares)
        np.testing.assert_allclose(np.append(here, found), exact.sol(at), rtol=0, atol=1e-10)
        np.testing.assert_allclose(here, w + shares[:-1] @ pull, rtol=0, atol=1e-14)
