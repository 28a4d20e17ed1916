"""Proposition C.1 and erratum E8: the exact law of a random angle and the bounds around it."""

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.random_directions import (
    cosine_tail,
    cosine_tail_bound,
    printed_intermediate_bound,
)


@pytest.mark.parametrize("d", [2, 5, 40])
def test_exact_law_against_draws(d, rng):
    u, v = rng.standard_normal((2, 100_000, d))
    cosine = np.einsum("nd,nd->n", u, v) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
    for threshold in (-0.2, 0.0, 0.1, 0.4):
        expected = float(cosine_tail(d, threshold))
        spread = np.sqrt(expected * (1 - expected) / len(cosine))
        assert abs(np.mean(cosine > threshold) - expected) < 4.5 * spread


def test_exact_law_in_the_plane_is_the_arc():
    threshold = np.linspace(-0.9, 0.9, 7)
    np.testing.assert_allclose(cosine_tail(2, threshold), np.arccos(threshold) / np.pi, rtol=1e-12)


def test_exponential_bound_holds_for_both_events():
    for d in (2, 3, 5, 10, 30, 100):
        threshold = np.linspace(0.0, 0.99, 34)
        one_sided = cosine_tail(d, threshold)
        assert np.all(2 * one_sided <= cosine_tail_bound(d, threshold))
        assert np.all(one_sided <= 0.5 * cosine_tail_bound(d, threshold))


def test_erratum_e8_intermediate_step_fails_for_small_dimension_only():
    threshold = np.linspace(0.01, 0.99, 30)
    failing = {d for d in range(2, 60) if np.any(cosine_tail(d, threshold) > printed_intermediate_bound(d, threshold))}
    assert 2 in failing
    assert max(failing) <= 10
    broken = cosine_tail(3, threshold) > printed_intermediate_bound(3, threshold)
    assert np.all(threshold[broken] > 0.8)


def test_refusals():
    with pytest.raises(InvalidInputError, match="`d` must be at least 2"):
        cosine_tail(1, 0.5)
