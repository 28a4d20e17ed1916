"""Samplers: the structure they promise, exactly, and the same numbers from the same seed."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reluflow.data import Dataset, Task, samplers
from reluflow.errors import InvalidInputError
from reluflow.papers.lyu2021.hinted_data import max_margin_separator

seeds = st.integers(0, 2**32 - 1)


@settings(deadline=None, max_examples=100)
@given(seed=seeds, n=st.integers(2, 40), d=st.integers(2, 12), mu=st.floats(0, 0.999))
def test_orthogonally_separable_attains_mu(seed: int, n: int, d: int, mu: float) -> None:
    dataset = samplers.orthogonally_separable(n, d, mu, np.random.default_rng(seed))
    norms = np.linalg.norm(dataset.X, axis=1)
    signed = dataset.y[:, None] * dataset.X / norms[:, None]
    assert (signed @ signed.T).min() == pytest.approx(mu, abs=2e-15)
    assert norms.min() > 0.5 - 1e-12
    assert norms.max() < 1.5 + 1e-12
    assert set(dataset.y) == {-1.0, 1.0}
    first, second = np.unravel_index(np.argmin(signed @ signed.T), (n, n))
    assert dataset.y[first] != dataset.y[second]


@settings(deadline=None, max_examples=60)
@example(seed=22892, half=3, d=2, margin=1.0)
@given(seed=seeds, half=st.integers(1, 12), d=st.integers(2, 8), margin=st.floats(1e-3, 10))
def test_symmetric_separable_has_its_margin(seed: int, half: int, d: int, margin: float) -> None:
    """With SciPy 1.15, whose `nnls` does not find the nearest point, the example was refused as not separable."""
    dataset = samplers.symmetric_separable(2 * half, d, margin, np.random.default_rng(seed))
    np.testing.assert_array_equal(dataset.X[half:], -dataset.X[:half])
    np.testing.assert_array_equal(dataset.y, np.repeat([1.0, -1.0], half))
    _, found = max_margin_separator(dataset)
    assert found == pytest.approx(margin, rel=1e-9)


def test_linear_teacher_with_and_without_noise() -> None:
    clean = samplers.gaussian_linear_teacher(300, 4, np.random.default_rng(0), shift=0.5)
    assert clean.task is Task.CLASSIFICATION
    assert max_margin_separator(clean)[1] > 0.5
    exact = samplers.gaussian_linear_teacher(300, 4, np.random.default_rng(0), task="regression")
    weight, residual, *_ = np.linalg.lstsq(exact.X, exact.y, rcond=None)
    assert np.linalg.norm(weight) == pytest.approx(1.0)
    assert residual[0] == pytest.approx(0.0, abs=1e-20)
    np.testing.assert_array_equal(np.sign(exact.y), clean.y)
    noisy = samplers.gaussian_linear_teacher(300, 4, np.random.default_rng(0), task="regression", noise=0.3)
    np.testing.assert_array_equal(noisy.X, exact.X)
    assert np.std(noisy.y - exact.y) == pytest.approx(0.3, rel=0.15)


def test_relu_teacher_is_homogeneous_and_piecewise_linear() -> None:
    dataset = samplers.gaussian_relu_teacher(4000, 3, 1, np.random.default_rng(3))
    active = dataset.y != 0
    assert np.mean(active) == pytest.approx(0.5, abs=0.04)
    weight = np.linalg.lstsq(dataset.X[active], dataset.y[active], rcond=None)[0]
    assert np.linalg.norm(weight) == pytest.approx(1.0)
    sign = np.sign(dataset.y[active][0])
    np.testing.assert_allclose(dataset.y, sign * np.maximum(sign * dataset.X @ weight, 0), atol=1e-12)
    noisy = samplers.gaussian_relu_teacher(4000, 3, 1, np.random.default_rng(3), noise=0.2)
    assert np.std(noisy.y - dataset.y) == pytest.approx(0.2, rel=0.05)


def test_random_labels_are_fair_and_independent() -> None:
    dataset = samplers.random_labels(20_000, 3, np.random.default_rng(0))
    assert abs(dataset.y.mean()) < 0.03
    assert np.abs(dataset.y @ dataset.X / dataset.n).max() < 0.03


MAKERS: dict[str, Callable[[np.random.Generator], Dataset]] = {
    "orthogonally separable": lambda rng: samplers.orthogonally_separable(7, 3, 0.3, rng),
    "symmetric separable": lambda rng: samplers.symmetric_separable(6, 3, 0.3, rng),
    "linear teacher": lambda rng: samplers.gaussian_linear_teacher(5, 3, rng, noise=0.1),
    "relu teacher": lambda rng: samplers.gaussian_relu_teacher(5, 3, 2, rng, noise=0.1),
    "random labels": lambda rng: samplers.random_labels(5, 3, rng),
}


@pytest.mark.parametrize("name", MAKERS)
def test_seed_decides(name: str) -> None:
    make = MAKERS[name]
    assert make(np.random.default_rng(4)) == make(np.random.default_rng(4))
    assert make(np.random.default_rng(4)) != make(np.random.default_rng(5))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda rng: samplers.orthogonally_separable(1, 3, 0.1, rng), "`n` must be at least 2, got 1"),
        (lambda rng: samplers.orthogonally_separable(3, 1, 0.1, rng), "`d` must be at least 2, got 1"),
        (lambda rng: samplers.orthogonally_separable(3, 3, 1.0, rng), r"`mu` must be in \[0, 1\), got 1"),
        (lambda rng: samplers.orthogonally_separable(3, 3, -0.1, rng), "`mu` must be in"),
        (lambda rng: samplers.orthogonally_separable(3, 3, 0.1, rng, norms=(2, 1)), "`norms` must satisfy"),
        (lambda rng: samplers.symmetric_separable(3, 3, 0.1, rng), "`n` must be even, got 3"),
        (lambda rng: samplers.symmetric_separable(4, 3, 0.0, rng), "`margin` must be positive"),
        (lambda rng: samplers.gaussian_linear_teacher(3, 3, rng, noise=-1.0), "`noise` must be finite"),
        (lambda rng: samplers.gaussian_linear_teacher(3, 3, rng, task="regression", shift=1.0), "`shift` must be 0"),
        (lambda rng: samplers.gaussian_linear_teacher(3, 3, rng, task="ranking"), "`task` must be classification or"),
        (lambda rng: samplers.gaussian_relu_teacher(3, 3, 0, rng), "`num_teachers` must be at least 1"),
        (lambda rng: samplers.random_labels(0, 3, rng), "`n` must be at least 1, got 0"),
    ],
)
def test_refusals(call: Callable[[np.random.Generator], Dataset], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        call(np.random.default_rng(0))
