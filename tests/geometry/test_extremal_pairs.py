"""Extremal pairs by faces against ascent of |Gamma| from many starts, one output, and closed forms."""

import numpy as np
import pytest

from reluflow import Dataset, Network, TrainingProblem, extremal_vectors
from reluflow.errors import InvalidInputError
from reluflow.geometry import extremal_pairs as module
from reluflow.geometry.extremal import extremal_vectors as of_one_output
from reluflow.geometry.extremal import extremal_vectors_of
from reluflow.geometry.extremal_pairs import extremal_pairs, extremal_pairs_of
from reluflow.losses import SoftmaxLoss, SquareLoss

CASES = [(6, 2, 2, 0.0), (8, 3, 3, 0.0), (8, 3, 2, 0.3), (7, 4, 3, 0.0), (5, 2, 5, 0.5)]


def units(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def gamma(X, forces, leak, w):
    products = w @ X.T
    return np.maximum(products, leak * products) @ forces


def problem(n, d, num_outputs, leak):
    rng = np.random.default_rng([n, d, num_outputs])
    return rng.normal(size=(n, d)), rng.normal(size=(n, num_outputs)), leak


def climbed(X, forces, leak, starts, largest):
    """Local maxima of |Gamma| on the sphere by random steps that are kept where they gain; it knows no faces."""
    rng, w = np.random.default_rng(0), units(starts)
    value = np.linalg.norm(gamma(X, forces, leak, w), axis=1)
    for size in np.geomspace(largest, 1e-5, 5000):
        tried = units(w + size * rng.normal(size=w.shape))
        reached = np.linalg.norm(gamma(X, forces, leak, tried), axis=1)
        gains = reached > value
        w[gains], value[gains] = tried[gains], reached[gains]
    return w


@pytest.mark.parametrize("case", CASES[:3])
def test_maxima_are_those_that_ascent_finds(case):
    X, forces, leak = problem(*case)
    found = extremal_pairs_of(X, forces, leak)
    assert found.exact
    maxima = found.directions[np.array(found.kinds) == "maximum"]
    rng = np.random.default_rng(0)
    ends = climbed(X, forces, leak, rng.normal(size=(300, X.shape[1])), largest=0.05)
    alive = np.linalg.norm(gamma(X, forces, leak, ends), axis=1) > 1e-6
    distances = np.linalg.norm(ends[alive, None] - maxima, axis=2)
    assert np.max(np.min(distances, axis=1)) < 1e-2
    near = np.repeat(maxima, 20, axis=0)  # some attract from nearby alone
    back = climbed(X, forces, leak, near + 1e-3 * rng.normal(size=near.shape), largest=1e-3)
    assert np.max(np.linalg.norm(back - near, axis=1)) < 2e-3
    rates = np.repeat(found.norms[np.array(found.kinds) == "maximum"], 20)
    reached = np.linalg.norm(gamma(X, forces, leak, back), axis=1)
    assert np.all(reached <= rates + 1e-12)
    assert np.all(reached >= rates - 1e-5)


@pytest.mark.parametrize("case", CASES)
def test_every_pair_is_critical_and_of_its_kind(case):
    """Around a maximum |Gamma| is smaller; around a saddle it is larger somewhere; at no pair is it steep."""
    X, forces, leak = problem(*case)
    found = extremal_pairs_of(X, forces, leak)
    rng = np.random.default_rng(1)
    assert "open" not in found.kinds
    for u, q, rate, kind, pattern in zip(
        found.directions, found.outputs, found.norms, found.kinds, found.patterns, strict=True
    ):
        np.testing.assert_allclose(gamma(X, forces, leak, u), rate * q, atol=1e-10)
        heights = X @ u
        assert np.sign(np.where(np.abs(heights) < 1e-10, 0.0, heights)).tolist() == pattern.tolist()
        around = units(u + 1e-4 * units(rng.normal(size=(4000, len(u)))))
        gains = np.linalg.norm(gamma(X, forces, leak, around), axis=1) - rate
        if kind == "maximum":
            assert np.max(gains) <= 1e-12
        else:
            assert np.max(gains) > 0.0


def test_attractors_by_search_are_maxima_of_the_list(monkeypatch):
    X, forces, leak = problem(*CASES[1])
    exact = extremal_pairs_of(X, forces, leak)
    monkeypatch.setattr("reluflow.geometry.pair_search._NUM_STARTS", 150)
    searched = extremal_pairs_of(X, forces, leak, max_cones=10)
    assert not searched.exact
    assert "followed neurons ended at, and saddles are missed" in searched.why
    assert (searched.d_max, searched.d_min) == (None, None)
    maxima = np.array(exact.kinds) == "maximum"
    np.testing.assert_allclose(searched.vectors, exact.vectors[maxima], atol=1e-9)
    np.testing.assert_allclose(searched.outputs, exact.outputs[maxima], atol=1e-9)
    assert searched.patterns.tolist() == exact.patterns[maxima].tolist()
    assert searched.dimensions.tolist() == exact.dimensions[maxima].tolist()


@pytest.mark.parametrize("leak", [0.0, 0.2])
def test_one_output_embedded_in_two(leak):
    """With forces (r, 0) the pairs are one output's vectors: side D with q = (side, 0); |G| takes the place of G."""
    rng = np.random.default_rng(4)
    X, forces = rng.normal(size=(8, 3)), rng.normal(size=8)
    one = extremal_vectors_of(X, forces, leak)
    two = extremal_pairs_of(X, np.stack([forces, 0.0 * forces], axis=1), leak)
    assert len(one) == len(two) > 3
    np.testing.assert_allclose(two.vectors, one.sides[:, None] * one.vectors, atol=1e-12)
    np.testing.assert_allclose(two.outputs, np.stack([one.sides, 0 * one.sides], axis=1), atol=1e-12)
    assert two.patterns.tolist() == one.patterns.tolist()
    grows = [
        (kind == "maximum" and side > 0) or (kind == "minimum" and side < 0)
        for kind, side in zip(one.kinds, one.sides, strict=True)
    ]
    assert [kind == "maximum" for kind in two.kinds] == grows


def test_orthogonally_separable_classes_have_one_maximum_each():
    """Min, Zhu & Vidal (2025): the attractors are (class sum, centred one-hot), at rate sqrt((K - 1)/K) |class sum|."""
    X = np.array(
        [
            (4, 0, 1, 0), (4, 0, 0, 1), (-2, 3.6, -0.5, 0), (-2, 3.5, 0, -0.8), (-2, -3.5, 0, 0.4), (-2, -3.6, -0.6, 0),
        ]
    )  # fmt: skip
    data = Dataset(X, [0, 0, 1, 1, 2, 2], classes=("a", "b", "c"))
    found = extremal_pairs(data, SoftmaxLoss(reduction="sum"))
    maxima = np.array(found.kinds) == "maximum"
    sums = np.sqrt(2 / 3) * X.reshape(3, 2, 4).sum(axis=1)
    order = np.argsort(-np.linalg.norm(sums, axis=1))
    np.testing.assert_allclose(found.vectors[maxima], sums[order], atol=1e-12)
    np.testing.assert_allclose(found.outputs[maxima], ((np.eye(3) - 1 / 3) / np.sqrt(2 / 3))[order], atol=1e-12)
    assert found.d_max >= found.norms[0]


def test_equal_singular_values_are_said():
    """On two orthogonal samples with orthogonal targets every positive direction grows as fast."""
    data = Dataset(np.eye(2), np.eye(2))
    found = extremal_pairs(data, SquareLoss(reduction="sum"))
    assert any("equal leading singular values" in words for words in found.degenerate)
    assert found.has_equals[0]
    np.testing.assert_allclose(found.norms, 1.0)
    assert set(found.kinds) == {"maximum"}


def test_a_leak_of_one_has_the_singular_pairs_alone():
    rng = np.random.default_rng(8)
    X, forces = rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    found = extremal_pairs_of(X, forces, leak=1.0)
    rates = np.linalg.svd(X.T @ forces, compute_uv=False)
    np.testing.assert_allclose(found.norms, np.repeat(rates, 2), rtol=1e-12)  # (u, q) and (-u, -q)
    assert found.kinds == ("maximum", "maximum", "saddle", "saddle")


def test_what_was_not_visited_is_said():
    X, forces, leak = problem(*CASES[3])
    found = extremal_pairs_of(X, forces, leak, max_seconds=1e-9)
    assert not found.exact
    assert "cones were not visited, for the time was spent" in found.why


def test_a_problem_gives_pairs_and_its_table():
    data = Dataset(np.eye(3), [0, 1, 2], classes=("x", "y", "z"))
    found = extremal_vectors(TrainingProblem(data, "softmax", Network(w=[[1.0, 0.0, 0.0]], v=[[1.0, 0.0, 0.0]])))
    assert isinstance(found, module.ExtremalPairs)
    with pytest.raises(
        InvalidInputError, match="must have one output for extremal vectors, got 3 classes; `extremal_p"
    ):
        of_one_output(data, "softmax")
    assert repr(found).startswith("ExtremalPairs(3 maximum")
    assert found.table()[0].keys() == {"vector", "output", "rate", "kind", "pattern"}
    none = extremal_pairs_of(np.eye(2), np.zeros((2, 2)))
    assert (len(none), none.d_max) == (0, 0.0)
