"""What Newton's method mends of stiff forces that fade: from afar it leads where forces give themselves back."""

import numpy as np
import pytest

from reluflow.dynamics.collocation.fading_residual import FadingResidual
from reluflow.dynamics.collocation.tuning import ANSWER_TOGETHER

STIFF = 1e6


def shares(leads):
    """Forces of samples whose margins are ahead by some leads."""
    found = np.exp(-(leads - np.min(leads)))
    return found / np.sum(found)


@pytest.fixture
def model(rng):
    """Margins start + STIFF K f with a well-conditioned K, and the forces that give themselves back."""
    n = 30
    root = rng.standard_normal((n, 3 * n)) / np.sqrt(3 * n)
    kernel, wanted = STIFF * root @ root.T, shares(rng.uniform(0.0, 8.0, n))
    return kernel, -np.log(wanted) - kernel @ wanted, wanted


def corrected(model, forces, *, by_logarithms):
    """One of Newton's corrections, for the logarithms of forces or for the forces."""
    kernel, start, _ = model
    given = shares(start + kernel @ forces)
    if by_logarithms:
        fading = FadingResidual.of(given[None], (given - forces)[None], ANSWER_TOGETHER * np.diag(kernel)[None], None)
        at, residual = fading.settled[0], fading.residual[0]
    else:
        at, residual = given, given - forces
    answers = at[:, None] * kernel
    matrix = np.eye(len(forces)) + answers - np.outer(at / np.sum(at), np.sum(answers, axis=0))
    return forces + np.linalg.solve(matrix, residual)


def test_forces_that_saturate_are_found_at_once(model, rng):
    """Late steps of images took eight iterations: a guess off by 1e-3 gave back one sample, e-fold after e-fold."""
    kernel, start, wanted = model
    guess = wanted * (1.0 + 1e-3 * rng.standard_normal(len(wanted)))
    guess /= np.sum(guess)
    assert np.max(shares(start + kernel @ guess)) > 0.99 > 2.0 * np.max(wanted)
    errors = {}
    for by_logarithms in (True, False):
        forces = guess
        for _ in range(3):
            forces = corrected(model, forces, by_logarithms=by_logarithms)
        errors[by_logarithms] = np.max(np.abs(shares(start + kernel @ forces) - wanted)) / np.max(wanted)
    assert errors[True] < 1e-4
    assert errors[False] > 1e-2


def test_it_keeps_the_sum_and_vanishes_with_what_is_missing(model):
    kernel, start, wanted = model
    given = shares(start + kernel @ wanted)
    away = FadingResidual.of(given[None], np.zeros((1, len(given))), np.diag(kernel)[None], None)
    assert np.max(np.abs(away.residual)) < 1e-20
    missing = 1e-12 * np.resize([1.0, -1.0], len(given)) * given  # far below the rounding of STIFF times the forces
    near = FadingResidual.of(given[None], missing[None], np.diag(kernel)[None], None)
    ahead = near.residual[0] - missing
    np.testing.assert_allclose(ahead / given, np.full(len(given), ahead[0] / given[0]), atol=1e-6 * 1e-12)
    assert np.sum(near.residual) == pytest.approx(np.sum(missing), abs=1e-18)


def test_samples_that_are_not_in_the_sum_are_left_alone():
    """Their forces may be e^30 times as large as the sum of the others."""
    given, missing = np.array([[0.5, 0.5, 1e13]]), np.array([[0.1, -0.1, 3.0]])
    counted = np.array([True, True, False])
    both = FadingResidual.of(given[:, :2], missing[:, :2], np.full((1, 2), STIFF), None)
    some = FadingResidual.of(given, missing, np.array([[STIFF, STIFF, 0.0]]), counted)
    np.testing.assert_allclose(some.residual[:, :2], both.residual, rtol=1e-12)
    assert np.all(np.isfinite(some.residual))


def test_forces_that_are_gone_or_negative_settle_at_none_or_more():
    given, forces = np.array([[1.0, 0.0, 1e-200]]), np.array([[0.7, 0.3, -0.1]])
    fading = FadingResidual.of(given, given - forces, np.full((1, 3), 50.0), None)
    assert np.all(np.isfinite(fading.residual))
    assert np.all(fading.settled >= 0.0)
