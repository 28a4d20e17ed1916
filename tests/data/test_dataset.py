"""Dataset: what it refuses, and what its transformations keep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reluflow.data import Dataset, Task
from reluflow.errors import InvalidInputError

seeds = st.integers(0, 2**32 - 1)


def random_dataset(seed: int) -> tuple[Dataset, np.random.Generator]:
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 8), rng.integers(1, 6)
    return Dataset(rng.standard_normal((n, d)), rng.standard_normal(n)), rng


def test_arrays_are_copies_and_read_only() -> None:
    samples = np.eye(2)
    dataset = Dataset(samples, [1.0, -1.0])
    samples[0, 0] = 7.0
    assert dataset.X[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        dataset.X[0, 0] = 2.0


def test_task_follows_the_labels() -> None:
    assert Dataset(np.eye(2), [1, -1]).task is Task.CLASSIFICATION
    assert Dataset(np.eye(2), [1, 0.5]).task is Task.REGRESSION
    assert Dataset(np.eye(2), [1, -1], task="regression").task is Task.REGRESSION


@pytest.mark.parametrize(
    ("samples", "labels", "options", "words"),
    [
        (np.zeros((0, 2)), [], {}, "n and d at least 1"),
        (np.zeros(3), [1, 1, 1], {}, r"shape \(n, d\)"),
        (np.eye(2), [1.0], {}, "one label for each of the 2 rows"),
        ([[1.0, np.nan]], [1.0], {}, r"`X` must be finite, got nan at \[0, 1\]"),
        ([[1.0]], [np.inf], {}, "`y` must be finite"),
        ([["a"]], [1.0], {}, "array of numbers"),
        (np.eye(2), [0.0, 1.0], {"task": "classification"}, r"2\*y - 1"),
    ],
)
def test_refusals(samples: object, labels: object, options: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        Dataset(samples, labels, **options)  # type: ignore[arg-type]


def test_check_samples_names_the_rows() -> None:
    Dataset([[1.0, 0.0], [0.0, 1.0]], [1, 1]).check_samples()
    with pytest.raises(InvalidInputError, match="zero sample, got one in row 2"):
        Dataset([[1.0, 0.0], [0.0, -0.0]], [1, 1]).check_samples()


def test_numbers_that_cannot_be_squared_are_refused_at_the_door() -> None:
    """They used to reach LAPACK, which complained on the terminal, and a solver, which lost its support."""
    for X, y, words in (
        ([[1e308], [1.0]], [1, 1], "at most 1e\\+100, .* got 1e\\+308"),
        ([[1.0], [2.0]], [1e200, 1], "`y` must hold numbers of at most"),
        ([[1.0], [1e-308]], [1, 1], "at least 1e-100, .* got one of 1e-308"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            Dataset(X, y).check_samples()


def test_repeated_samples_are_data() -> None:
    """They were refused once, and with them scikit-learn's iris, which has two equal rows."""
    dataset = Dataset([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0]], [1, 1, -1])
    dataset.check_samples()
    assert dataset.num_repeated == 1


@settings(deadline=None, max_examples=40)
@given(seed=seeds)
def test_rotation_keeps_the_gram_matrix(seed: int) -> None:
    dataset, rng = random_dataset(seed)
    rotation, _ = np.linalg.qr(rng.standard_normal((dataset.d, dataset.d)))
    rotated = dataset.rotated(rotation)
    np.testing.assert_allclose(rotated.X @ rotated.X.T, dataset.X @ dataset.X.T, atol=1e-12)
    np.testing.assert_allclose(rotated.rotated(rotation.T).X, dataset.X, atol=1e-13)


@settings(deadline=None, max_examples=40)
@given(seed=seeds)
def test_symmetrised_centred_flipped_permuted(seed: int) -> None:
    dataset, rng = random_dataset(seed)
    doubled = dataset.symmetrized()
    np.testing.assert_array_equal(doubled.X[dataset.n :], -dataset.X)
    np.testing.assert_array_equal(doubled.y[dataset.n :], -dataset.y)
    np.testing.assert_allclose(dataset.centered().X.mean(axis=0), 0.0, atol=1e-14)
    assert dataset.with_flipped_labels().with_flipped_labels() == dataset
    order = rng.permutation(dataset.n)
    assert dataset.permuted(order).permuted(np.argsort(order)) == dataset


def test_bias_scale_subset_and_their_refusals() -> None:
    dataset = Dataset([[1.0], [2.0]], [1, -1], name="pair")
    np.testing.assert_array_equal(dataset.with_bias(0.1).X, [[1.0, 0.1], [2.0, 0.1]])
    np.testing.assert_array_equal(dataset.scaled(2.0).X, [[2.0], [4.0]])
    assert dataset.subset([True, False]).n == 1
    assert dataset.subset([1]).name == "pair"
    with pytest.raises(InvalidInputError, match="`factor` must be positive"):
        dataset.scaled(0.0)
    with pytest.raises(InvalidInputError, match="orthogonal matrix"):
        dataset.rotated([[2.0]])
    with pytest.raises(InvalidInputError, match="permutation"):
        dataset.permuted([0, 0])


def test_not_hashable_and_equal_by_value() -> None:
    first, second = Dataset([[1.0]], [1.0], name="a"), Dataset([[1.0]], [1.0], name="b")
    assert first == second
    assert first != Dataset([[1.0]], [1.0], task="regression")
    assert first != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)
