"""The hard margin against closed forms, two other solvers, symmetries and degenerate sets."""

from fractions import Fraction
from itertools import combinations

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.sparse import csc_matrix, identity

from reluflow.certificates.hard_margin import Separability, hard_margin, linear_separator
from reluflow.certificates.separator_newton import guess_multipliers
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError


def teacher_rows(n, d, shift, rng):
    X = rng.standard_normal((n, d))
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    y = np.sign(X @ u)
    return y[:, None] * (X + shift * y[:, None] * u)


def check_pair(result, Z):
    """Everything the result claims, recomputed."""
    assert result.separable
    assert np.all(result.multipliers >= 0)
    assert np.sum(result.multipliers) == pytest.approx(1, abs=1e-12)
    assert np.linalg.norm(result.w) == pytest.approx(1, abs=1e-12)
    assert np.min(Z @ result.w) == pytest.approx(result.margin, rel=1e-9)
    assert np.linalg.norm(Z.T @ result.multipliers) == pytest.approx(result.upper, rel=1e-9)
    assert result.gap <= 1e-10


@pytest.mark.parametrize(("n", "d", "shift"), [(1000, 50, 0.5), (2000, 784, 0.5), (300, 400, 0.0), (40, 3, 0.2)])
def test_gap_is_at_rounding_level(n, d, shift):
    Z = teacher_rows(n, d, shift, np.random.default_rng(n + d))
    check_pair(hard_margin(Z), Z)


def test_agrees_with_a_direct_quadratic_program_and_with_nnls():
    rng = np.random.default_rng(5)
    for n, d in ((30, 3), (60, 10), (400, 20)):
        Z = teacher_rows(n, d, 0.3, rng)
        options = clarabel.DefaultSettings()
        options.verbose = False
        cones = [clarabel.NonnegativeConeT(n)]
        quadratic = csc_matrix(identity(d))
        solver = clarabel.DefaultSolver(quadratic, np.zeros(d), csc_matrix(-Z), -np.ones(n), cones, options)
        w = np.array(solver.solve().x)
        result = hard_margin(Z)
        assert result.margin == pytest.approx(1 / np.linalg.norm(w), rel=1e-7)
        weights, _ = nnls(np.vstack([Z.T, np.ones(n)]), np.eye(1, d + 1, d)[0])
        weights /= weights.sum()
        assert result.upper == pytest.approx(np.linalg.norm(Z.T @ weights), rel=1e-10)


def test_a_million_rows_need_no_gram_matrix():
    Z = teacher_rows(1_000_000, 3, 0.5, np.random.default_rng(0))
    check_pair(hard_margin(Z), Z)


def test_random_labels_get_a_vanishing_combination():
    rng = np.random.default_rng(1)
    for n, d in ((20, 4), (400, 6), (300, 100), (100_000, 4)):
        Z = rng.standard_normal((n, d))
        result = hard_margin(Z)
        assert result.status is Separability.NOT_SEPARABLE
        assert result.margin == 0
        assert np.linalg.norm(Z.T @ result.multipliers) <= 1e-12 * np.max(np.linalg.norm(Z, axis=1))
        assert np.sum(result.multipliers) == pytest.approx(1)


def test_a_row_of_zeros_forbids_a_margin():
    result = hard_margin([[1.0, 0.0], [0.0, 0.0]])
    assert result.status is Separability.NOT_SEPARABLE
    np.testing.assert_allclose(result.multipliers, [0, 1])


@pytest.mark.parametrize("margin", [1e-3, 1e-6, 1e-9, 1e-12])
def test_tiny_margins_are_found_and_their_gap_is_honest(margin):
    Z = np.array([[1.0, margin], [-1.0, margin], [0.5, 2 * margin], [0.3, 1.0]])
    result = hard_margin(Z)
    assert result.separable
    assert result.margin == pytest.approx(margin, rel=1e-3)
    assert result.margin <= margin * (1 + 1e-9) <= result.upper * (1 + 1e-3)


def test_a_half_space_that_only_touches_is_not_separable():
    assert hard_margin([[1.0, 0.0], [-1.0, 0.0], [0.3, 1.0]]).status is Separability.NOT_SEPARABLE


def test_tiny_margin_among_many_rows():
    rng = np.random.default_rng(4)
    Z = rng.standard_normal((400, 8))
    Z[:, 0] = np.abs(Z[:, 0]) + 1e-9
    Z[:20, 0] = 1e-9
    Z[:20, 1:] -= Z[:20, 1:].mean(axis=0)  # the origin is in the hull of the other coordinates
    result = hard_margin(Z)
    assert result.separable
    assert result.margin == pytest.approx(1e-9, rel=1e-4)


def test_duplicates_and_dependent_supports():
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((200, 6))
    Z[:, 0] = 1.0  # every row is at the margin of the first axis once the others balance
    Z[:100, 1:] = -Z[100:, 1:]
    result = hard_margin(np.vstack([Z, Z, Z[:7]]))
    assert result.margin == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(result.w, np.eye(6)[0], atol=1e-10)


def test_the_newton_guess_alone_is_close():
    Z = teacher_rows(500, 30, 0.4, np.random.default_rng(3))
    Z /= np.max(np.linalg.norm(Z, axis=1))
    weights = guess_multipliers(Z)
    w = Z.T @ weights
    assert np.min(Z @ w) / np.linalg.norm(w) == pytest.approx(hard_margin(Z).margin, rel=1e-3)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 30))
def test_symmetries(seed, d, n):
    rng = np.random.default_rng(seed)
    dataset = Dataset(teacher_rows(n, d, 0.3, rng), np.ones(n))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    dataset = Dataset(dataset.X * y[:, None], y)
    base = linear_separator(dataset)
    check_pair(base, dataset.y[:, None] * dataset.X)
    rotation, _ = np.linalg.qr(rng.standard_normal((d, d)))
    order = rng.permutation(n)
    assert linear_separator(dataset.permuted(order)).margin == pytest.approx(base.margin, rel=1e-9)
    assert linear_separator(dataset.scaled(7.5)).margin == pytest.approx(7.5 * base.margin, rel=1e-9)
    np.testing.assert_allclose(linear_separator(dataset.rotated(rotation)).w, rotation @ base.w, atol=1e-6)
    np.testing.assert_allclose(linear_separator(dataset.with_flipped_labels()).w, -base.w, atol=1e-6)


def test_refusals():
    with pytest.raises(InvalidInputError, match="`Z` must have shape"):
        hard_margin([1.0, 2.0])
    with pytest.raises(InvalidInputError, match="`Z` must be finite"):
        hard_margin([[1.0, np.nan]])
    with pytest.raises(InvalidInputError, match="`y` must hold only the labels -1 and 1"):
        linear_separator(Dataset([[1.0]], [0.5]))


def test_multipliers_that_vanish_in_rounding_leave_no_support():
    """A table found by calling the command at random: its second search ended with no multiplier, and a traceback."""
    X = [[-1, 0.5, -3], [2, 1e3, 1e3], [0, -1, -3], [-3, 0, 0], [2, -1, 0], [-3, 1e3, -1], [-3, 0, 0.5]]
    # by hand: w1 < 0 and w2 < 2 w1 from rows 4 and 5, so rows 2 and 3 want w3 > -w2 > 0 and w3 < -w2 / 3
    assert not linear_separator(Dataset(X, np.ones(7))).separable


def test_a_margin_lost_in_rounding_is_found_on_columns_of_one_size():
    """Sizes 1e5 beside 1e-3: the search stopped at half the margin, which was printed with twelve digits.

    The rows at the margin and the value are those of an enumeration of all supports in rational numbers.
    """
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 2))
    y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1.0, -1.0)
    rows = y[:, None] * np.column_stack([X, 1e5 * rng.normal(size=12), 1e-3 * rng.normal(size=12)])
    found = hard_margin(rows)
    assert found.margin == pytest.approx(_enumerated_margin(rows), rel=1e-9)
    assert found.gap < 1e-9


def _enumerated_margin(rows):
    """1/|w| of the shortest w with <w, z_i> >= 1, over every support, in rational numbers."""
    exact = [[Fraction(float(cell)) for cell in row] for row in rows]

    def dot(p, q):
        return sum(a * b for a, b in zip(p, q, strict=True))

    for size in range(1, rows.shape[1] + 1):
        for support in combinations(exact, size):
            weights = _solved([[dot(p, q) for q in support] for p in support])
            if weights is None or min(weights) < 0:
                continue
            w = [dot(weights, [row[c] for row in support]) for c in range(rows.shape[1])]
            if min(dot(row, w) for row in exact) >= 1:
                return float(dot(w, w)) ** -0.5
    raise AssertionError("not separable")


def _solved(matrix):
    """The solution of matrix x = 1 by elimination, or None."""
    system = [[*row, Fraction(1)] for row in matrix]
    for i in range(len(system)):
        pivot = next((k for k in range(i, len(system)) if system[k][i] != 0), None)
        if pivot is None:
            return None
        system[i], system[pivot] = system[pivot], system[i]
        for k in range(len(system)):
            if k != i:
                factor = system[k][i] / system[i][i]
                system[k] = [a - factor * b for a, b in zip(system[k], system[i], strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(system)]
