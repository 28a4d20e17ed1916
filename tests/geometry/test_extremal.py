import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.oracles import (
    bounded_subgradient,
    brute_extremal,
    brute_extremal_bounded,
    kind_by_sampling,
    potential,
)
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.geometry.cones import activation_cones
from reluflow.geometry.extremal import extremal_vectors, extremal_vectors_of
from reluflow.losses import LogisticLoss, SquareLoss


def random_problems(count, seed, max_n=6):
    """Datasets with square or logistic loss, leaks 0 and 0.3, dimensions 2, 3, 4."""
    rng = np.random.default_rng(seed)
    for index in range(count):
        d, n = 2 + index % 3, int(rng.integers(2, max_n + 1))
        leak = (0.0, 0.3)[(index // 3) % 2]
        X = rng.standard_normal((n, d))
        if (index // 6) % 2:
            yield Dataset(X, rng.choice([-1.0, 1.0], n)), LogisticLoss(), leak
        else:
            yield Dataset(X, rng.standard_normal(n)), SquareLoss(), leak


def check_same(found, expected):
    listed = {tuple(int(value) for value in u): i for i, u in enumerate(found.patterns)}
    assert set(listed) == set(expected)
    assert len(listed) == len(found)
    for u, (vector, side) in expected.items():
        np.testing.assert_allclose(found.vectors[listed[u]], vector, atol=1e-7)
        assert found.sides[listed[u]] == side


def test_agrees_with_all_patterns_on_300_random_datasets():
    total = 0
    for dataset, loss, leak in random_problems(300, 41):
        forces = loss.label_forces(dataset.y)
        found = extremal_vectors(dataset, loss, leak=leak)
        assert found.exact
        assert len(found) >= 1  # Lemma 3
        check_same(found, brute_extremal(dataset.X, forces, leak))
        np.testing.assert_allclose((found.etas * forces) @ dataset.X, found.vectors, atol=1e-12)
        for vector, u, eta in zip(found.vectors, found.patterns, found.etas, strict=True):
            np.testing.assert_allclose(vector, bounded_subgradient(dataset.X, forces, u, leak), atol=1e-9)  # Eq. (17)
            assert np.all((eta >= leak) & (eta <= 1))
        total += len(found)
    assert total > 1000


def test_kinds_agree_with_sampling_around_the_direction():
    rng = np.random.default_rng(42)
    seen = {"maximum": 0, "minimum": 0, "saddle": 0}
    num_skipped = 0
    for dataset, loss, leak in random_problems(150, 43):
        forces = loss.label_forces(dataset.y)
        found = extremal_vectors(dataset, loss, leak=leak)
        np.testing.assert_allclose(
            potential(found.directions, dataset.X, forces, leak), found.sides * found.norms, atol=1e-12
        )
        for direction, u, kind in zip(found.directions, found.patterns, found.kinds, strict=True):
            sampled = kind_by_sampling(dataset.X, forces, leak, direction, u, rng)
            if sampled is None:
                num_skipped += 1
                continue
            assert kind == sampled
            seen[kind] += 1
    assert min(seen.values()) > 100
    assert num_skipped < 10


def test_orthogonal_data():
    """Erratum E13: each of the four extremal vectors of X = I_3 has an eta at its bound."""
    found = extremal_vectors(Dataset(np.eye(3), [1.0, 0.7, -0.8]), SquareLoss())
    assert any(
        "4 extremal vectors have an eta within 1e-07 of an end of its interval" in note for note in found.degenerate
    )
    assert any("Lemma 2 fails" in note for note in found.degenerate)
    assert {tuple(u.tolist()) for u in found.dead_saddles} == {(0, -1, 0), (-1, 0, 0)}


rng_of_families = np.random.default_rng(45)
half = rng_of_families.standard_normal((3, 3))
degenerate_families = {
    "symmetric labels": (np.vstack([half[:, :2], -half[:, :2]]), np.array([1.0, -0.5, 2.0, -1.0, 0.5, -2.0])),
    "symmetric samples, free labels": (np.vstack([half, -half]), rng_of_families.standard_normal(6)),
    "repeated directions": (np.array([[1.0, 2], [2, 4], [-3, -6], [0, 1]]), np.array([1.0, -0.7, 0.4, -0.9])),
    "three coplanar": (np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [0.2, 0.3, 1]]), np.array([-1.0, -0.8, 0.6, 0.5])),
    "rank two": (np.array([[1.0, 2, 3], [4, 5, 6], [5, 7, 9], [-2, 1, 4]]), np.array([1.0, -1.0, 0.5, -0.4])),
    "dimension one": (np.array([[1.0], [-2.0], [0.5]]), np.array([1.0, 0.3, -0.2])),
    "idle sample": (np.array([[1.0, 0.2], [0.3, 1.0], [0.5, -1.0]]), np.array([1.0, 0.0, -0.6])),
    "orthogonal": (np.eye(3), np.array([1.0, 0.7, -0.8]) / 3),
    "grid": (np.array([[i, j, 1.0] for i in (-1, 0, 1) for j in (0, 1)]), rng_of_families.standard_normal(6)),
}


@pytest.mark.parametrize("leak", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", degenerate_families)
def test_agrees_with_all_patterns_on_degenerate_data(name, leak):
    X, forces = degenerate_families[name]
    check_same(extremal_vectors_of(X, forces, leak), brute_extremal_bounded(X, forces, leak))


def test_symmetric_data_has_one_maximum_and_one_minimum():
    """On (x, y) and (-x, -y) G is linear, so only +-mu are critical; other vectors the definition admits are flagged.

    Lyu et al. (2021), Sec. 2: G(w) = <w, (1 + leak)/4 mu> for the logistic loss.
    """
    rng = np.random.default_rng(46)
    num_others = 0
    for trial in range(10):
        dataset = Dataset(rng.standard_normal((3, 3)), rng.choice([-1.0, 1.0], 3)).symmetrized()
        leak = (0.0, 0.3)[trial % 2]
        found = extremal_vectors(dataset, LogisticLoss(), leak=leak)
        mean = (dataset.y @ dataset.X) / dataset.n
        for kind, side in (("maximum", 1), ("minimum", -1)):
            (index,) = [i for i, name in enumerate(found.kinds) if name == kind]
            np.testing.assert_allclose(found.vectors[index], (1 + leak) / 4 * mean, atol=1e-14)
            assert found.sides[index] == side
        others = len(found) - 2
        flagged = any(f"{others} extremal vectors are no critical points" in note for note in found.degenerate)
        assert flagged == (others > 0)
        num_others += others
    assert num_others > 0


def test_dimension_one():
    found = extremal_vectors_of([[1.0], [-2.0], [0.5]], [1.0, 0.5, -0.2])
    np.testing.assert_allclose(found.vectors.ravel(), [-1.0, 0.9])
    assert found.kinds == ("maximum", "maximum")
    assert found.patterns.tolist() == [[-1, 1, -1], [1, -1, 1]]


def test_dead_saddles_by_direct_search():
    """Erratum E14: cones with D_u = 0 around which G takes both signs."""
    rng = np.random.default_rng(47)
    num_found = 0
    for _ in range(40):
        X, forces = rng.standard_normal((4, 3)), rng.standard_normal(4)
        cones = activation_cones(X)
        expected = {
            tuple(u.tolist())
            for u in cones.patterns
            if np.all(u <= 0) and np.any(forces[u == 0] > 0) and np.any(forces[u == 0] < 0)
        }
        found = extremal_vectors_of(X, forces)
        assert {tuple(u.tolist()) for u in found.dead_saddles} == expected
        num_found += len(expected)
        assert extremal_vectors_of(X, forces, 0.3).dead_saddles.size == 0
    assert num_found > 20


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), leak=st.sampled_from([0.0, 0.3, 0.9]))
def test_rotation_permutation_and_label_flip(seed, leak):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 8)), int(rng.integers(2, 5))
    X, forces = rng.standard_normal((n, d)), rng.standard_normal(n)
    rotation, order = np.linalg.qr(rng.standard_normal((d, d)))[0], rng.permutation(n)
    found = extremal_vectors_of(X, forces, leak)
    moved = extremal_vectors_of((X @ rotation.T)[order], forces[order], leak)
    assert moved.kinds == found.kinds
    np.testing.assert_allclose(moved.vectors, found.vectors @ rotation.T, atol=1e-11)
    np.testing.assert_array_equal(moved.patterns, found.patterns[:, order])
    flipped = extremal_vectors_of(X, -forces, leak)
    swap = {"maximum": "minimum", "minimum": "maximum", "saddle": "saddle"}
    assert flipped.kinds == tuple(swap[kind] for kind in found.kinds)
    np.testing.assert_allclose(flipped.vectors, -found.vectors, atol=1e-12)
    np.testing.assert_array_equal(flipped.patterns, found.patterns)
    np.testing.assert_array_equal(flipped.sides, -found.sides)


def test_search_finds_only_and_nearly_all_attractors():
    rng = np.random.default_rng(48)
    num_listed = num_missed = 0
    for index in range(20):
        d = 2 + index % 4
        X, forces, leak = rng.standard_normal((12, d)), rng.standard_normal(12), (0.0, 0.3)[index % 2]
        listed = extremal_vectors_of(X, forces, leak)
        searched = extremal_vectors_of(X, forces, leak, max_cones=1)
        assert not searched.exact
        attractors = {
            tuple(u.tolist()) for u, kind in zip(listed.patterns, listed.kinds, strict=True) if kind != "saddle"
        }
        reached = {tuple(u.tolist()) for u in searched.patterns}
        assert reached <= attractors
        num_listed += len(attractors)
        num_missed += len(attractors - reached)
    assert num_missed <= 0.02 * num_listed


def test_search_in_dimension_thirty():
    rng = np.random.default_rng(49)
    X, forces = rng.standard_normal((40, 30)), rng.standard_normal(40)
    found = extremal_vectors_of(X, forces, num_starts=50)
    assert not found.exact
    assert len(found) > 0
    for vector, u, side in zip(found.vectors, found.patterns, found.sides, strict=True):
        np.testing.assert_allclose(vector, bounded_subgradient(X, forces, u, 0.0), atol=1e-7)
        cosines = X @ vector / np.linalg.norm(X, axis=1) / np.linalg.norm(vector)
        np.testing.assert_array_equal(np.where(np.abs(cosines) < 1e-9, 0, np.sign(side * cosines)), u)


def test_forces_that_are_all_zero():
    found = extremal_vectors_of(np.eye(2), np.zeros(2))
    assert len(found) == 0
    assert found.exact
    assert "every force is zero" in found.degenerate[0]


def test_refusals():
    with pytest.raises(InvalidInputError, match="labels -1 and 1"):
        extremal_vectors(Dataset(np.eye(2), [0.5, 1.0]), LogisticLoss())
    with pytest.raises(InvalidInputError, match=r"`leak` must lie in \[0, 1\]"):
        extremal_vectors_of(np.eye(2), np.ones(2), -0.1)
    with pytest.raises(InvalidInputError, match="no zero sample"):
        extremal_vectors_of([[0.0, 0.0], [1.0, 0.0]], np.ones(2))
