import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.oracles import dimension, facet_mask, realisable_patterns
from reluflow.errors import InvalidInputError
from reluflow.geometry.activation_pattern import activation_pattern
from reluflow.geometry.cones import activation_cones, num_cones, num_open_cones


def check_against_linear_programs(X):
    cones = activation_cones(X)
    listed = [tuple(int(value) for value in u) for u in cones.patterns]
    assert len(set(listed)) == len(listed)
    assert set(listed) == realisable_patterns(X)
    masks = facet_mask(X, listed)
    for index, u in enumerate(listed):
        assert cones.dimensions[index] == dimension(X, u)
        np.testing.assert_array_equal(cones.facet_mask[index], masks[u], err_msg=str(u))
    check_witnesses(cones, X)
    only_open = activation_cones(X, open_only=True)
    is_open = np.all(cones.patterns != 0, axis=1)
    np.testing.assert_array_equal(only_open.patterns, cones.patterns[is_open])
    np.testing.assert_array_equal(only_open.facet_mask, cones.facet_mask[is_open])
    np.testing.assert_allclose(only_open.witnesses, cones.witnesses[is_open], atol=1e-12)


def check_witnesses(cones, X):
    np.testing.assert_allclose(np.linalg.norm(cones.witnesses, axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(activation_pattern(cones.witnesses, X, rtol=1e-12), cones.patterns)


def random_small_datasets(count, seed, max_n):
    rng = np.random.default_rng(seed)
    for index in range(count):
        d = 2 + index % 3
        yield rng.standard_normal((int(rng.integers(1, max_n + 1)), d))


def test_agrees_with_linear_programs_on_random_data():
    for X in random_small_datasets(36, 11, 4):
        check_against_linear_programs(X)


@pytest.mark.slow
def test_agrees_with_linear_programs_on_300_random_datasets():
    for X in random_small_datasets(300, 12, 5):
        check_against_linear_programs(X)


plane = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
degenerate_families = {
    "symmetric": np.vstack([np.eye(3)[:2], -np.eye(3)[:2], [[1.0, 2.0, 3.0]]]),
    "orthogonal": np.eye(4),
    "repeated directions": np.array([[1.0, 2.0], [2.0, 4.0], [-3.0, -6.0], [0.0, 1.0]]),
    "three coplanar samples": plane,
    "all coplanar samples of a cube": np.array([[1.0, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1], [1, 0, 0]]),
    "coplanar in dimension four": np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]),
    "rank two in dimension three": np.array([[1.0, 2, 3], [4, 5, 6], [5, 7, 9], [2, 4, 6]]),
    "rank one": np.array([[1.0, 1.0], [-2.0, -2.0]]),
    "one sample": np.array([[0.3, 0.4, -1.0]]),
    "dimension one": np.array([[1.0], [-2.0], [0.5]]),
}


@pytest.mark.parametrize("name", degenerate_families)
def test_agrees_with_linear_programs_on_degenerate_data(name):
    check_against_linear_programs(degenerate_families[name])


def test_doubly_degenerate_arrangement_recurses():
    """The braid arrangement of R^4 has vertices on up to six hyperplanes, themselves on dependent ones."""
    X = np.array([np.eye(5)[i] - np.eye(5)[j] for i in range(5) for j in range(i)])
    cones = activation_cones(X)
    assert cones.num_open == 120  # orders of five numbers
    assert len(cones) == 541  # weak orders of five numbers, the all-equal one being the orthogonal complement
    check_witnesses(cones, X)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 3), (7, 2), (1000, 2), (9, 3), (60, 3), (20, 4), (10, 5), (9, 6)])
def test_counts_match_the_formulas_in_general_position(n, d):
    X = np.random.default_rng(n + 100 * d).standard_normal((n, d))
    cones = activation_cones(X)
    assert cones.num_open == num_open_cones(n, d)
    assert len(cones) == num_cones(n, d)
    check_witnesses(cones, X)
    assert cones.degeneracies == ()
    # Euler: the faces of a central arrangement of rank r, the smallest one included, have alternating sum (-1)^r.
    codimensions = cones.dimensions - max(d - n, 0)
    assert np.sum((-1) ** codimensions) + (n >= d) == (-1) ** min(n, d)


def test_order_is_by_dimension_then_pattern():
    cones = activation_cones(np.random.default_rng(6).standard_normal((40, 3)))
    keys = [(-dim, *(-u)) for dim, u in zip(cones.dimensions, cones.patterns.astype(int), strict=True)]
    assert keys == sorted(keys)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), d=st.integers(2, 4), n=st.integers(2, 7))
def test_rotation_scaling_and_permutation(seed, d, n):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[-1] = X[0] * rng.choice([-2.0, 3.0])  # a tie, to be kept by all three
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    order = rng.permutation(n)
    moved = activation_cones((rng.uniform(0.01, 100.0, (n, 1)) * X @ rotation.T)[order])
    original = activation_cones(X)
    assert {tuple(u) for u in moved.patterns} == {tuple(u[order]) for u in original.patterns}


def test_near_degeneracy_is_reported():
    almost_coplanar = activation_cones([[1.0, 0, 0], [0, 1, 0], [1, 1, 1e-8], [0.3, -0.2, 1]])
    (note,) = almost_coplanar.degeneracies
    assert note.startswith("3 decisions on whether samples are dependent")
    assert note.endswith("the smallest 7.1e-09")  # 1e-8 / |(1, 1)|
    almost_parallel = activation_cones([[1.0, 0.0], [1.0, 1e-9]])
    assert any("within 1.0e-09 of being parallel" in note for note in almost_parallel.degeneracies)
    assert any("of spanning one dimension less" in note for note in almost_parallel.degeneracies)


def test_refusals():
    with pytest.raises(InvalidInputError, match="`X` must hold no zero sample, got one in row 2"):
        activation_cones([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(InvalidInputError, match="more than `max_cones` = 100"):
        activation_cones(np.random.default_rng(0).standard_normal((30, 5)), max_cones=100)
    with pytest.raises(InvalidInputError, match="`X` must be finite"):
        activation_cones([[1.0, np.nan]])
    with pytest.raises(InvalidInputError, match="`X` must have shape"):
        activation_cones([1.0, 2.0])
