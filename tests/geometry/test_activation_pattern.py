import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.geometry.activation_pattern import activation_pattern


def test_signs_of_many_weights():
    rng = np.random.default_rng(1)
    X, w = rng.standard_normal((4, 3)), rng.standard_normal((2, 5, 3))
    pattern = activation_pattern(w, X)
    assert pattern.shape == (2, 5, 4)
    assert pattern.dtype == np.int8
    for i in np.ndindex(2, 5):
        assert [int(value) for value in pattern[i]] == [int(np.sign(sum(w[i] * x))) for x in X]


def test_tolerance_is_relative_to_both_lengths():
    X = np.array([[1e6, 0.0]])
    w = np.array([1e-3, 1.0])  # cosine 1e-3
    assert activation_pattern(w, X, rtol=0.9e-3)[0] == 1
    assert activation_pattern(w, X, rtol=1.1e-3)[0] == 0


def test_zero_weight_has_zero_pattern():
    assert not np.any(activation_pattern(np.zeros(2), np.eye(2)))


def test_refusals():
    with pytest.raises(InvalidInputError, match="`w` must have last axis d"):
        activation_pattern([1.0, 2.0, 3.0], np.eye(2))
    with pytest.raises(InvalidInputError, match="`rtol` must be at least 0"):
        activation_pattern([1.0, 2.0], np.eye(2), rtol=-1.0)


def test_a_tolerance_at_any_size():
    """|w|^2 underflowed for |w| below 1e-162, so that nothing counted as 0 and a pattern on a boundary was off it."""
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    w = np.array([1e-15, 1.0])
    for size in (1.0, 1e-200, 1e-300):
        assert activation_pattern(size * w, X, rtol=1e-12).tolist() == [0, 1]
