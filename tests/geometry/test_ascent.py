"""Runs to where a direction settles: the compiled ones against plain ones that sum everything anew at each event."""

import numba
import numpy as np
import pytest
from scipy.optimize import lsq_linear

from reluflow.geometry import extremal_search
from reluflow.geometry.arrangement import TIE, distinct_directions
from reluflow.geometry.ascent_kernels import PullingLines
from reluflow.geometry.extremal import extremal_vectors_of
from reluflow.geometry.extremal_search import settled_ends
from reluflow.geometry.subgradient import line_coefficients

CASES = [(8, 3, 0.0), (12, 4, 0.3), (30, 5, 0.0), (20, 12, 0.0), (12, 15, 0.3), (60, 8, 0.0)]


def problem(n, d, leak):
    rng = np.random.default_rng([n, d])
    directions = distinct_directions(rng.standard_normal((n, d)))
    starts = rng.standard_normal((12, directions.rank))
    starts /= np.linalg.norm(starts, axis=1, keepdims=True)
    coefficients = line_coefficients(directions, rng.standard_normal(n), leak)
    lines = PullingLines(
        directions.U, directions.U @ directions.U.T, coefficients.plus, coefficients.minus, coefficients.scale
    )
    return lines, starts, 50 * sum(directions.U.shape)


def shortest(base, rows, lower, upper):
    """The shortest base + z @ rows over the box, by another program."""
    if not len(rows):
        return base
    return base + lsq_linear(rows.T, -base, bounds=(lower, upper), method="bvls", tol=1e-14).x @ rows


def plain_end(U, plus, minus, w, side, scale):
    """One run, each quantity from its definition."""
    signs = np.where(U @ w > 0, 1, -1)
    for _ in range(50 * sum(U.shape)):
        zeros = signs == 0
        base = np.where(signs > 0, plus, np.where(signs < 0, minus, 0.0)) @ U
        ends = np.stack([plus[zeros], minus[zeros]])
        D = shortest(base, U[zeros], ends.min(axis=0), ends.max(axis=0))
        if np.linalg.norm(D) <= 1e-8 * scale:
            return None
        speeds = side * (U @ D) / np.linalg.norm(D)
        leaves = zeros & (np.abs(speeds) > 1e-7)
        if leaves.any():
            signs[leaves] = np.sign(speeds[leaves])
            continue
        towards = ~zeros & (speeds * signs < -TIE)
        times = np.full(len(U), np.inf)
        times[towards] = np.maximum((U @ w * signs)[towards], 0.0) / -(speeds * signs)[towards]
        if not towards.any() or side * (w @ D) / np.linalg.norm(D) / np.linalg.norm(w) < -(1.0 - 1e-12):
            return signs
        hit = int(np.argmin(times))
        w = w + times[hit] * side * D / np.linalg.norm(D)
        w /= np.linalg.norm(w)
        signs[hit] = 0 if side * (plus[hit] - minus[hit]) < 0 else -signs[hit]
    return None


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(("n", "d", "leak"), CASES)
def test_runs_end_where_plain_ones_do(n, d, leak, side):
    lines, starts, max_events = problem(n, d, leak)
    ends, has_settled = settled_ends(lines, starts, side, max_events)
    for start, end, is_there in zip(starts, ends, has_settled, strict=True):
        expected = plain_end(lines.U, lines.plus, lines.minus, start, side, lines.scale)
        assert is_there == (expected is not None)
        if is_there:
            np.testing.assert_array_equal(end, expected)
    assert np.any(has_settled)


@pytest.mark.parametrize(("n", "d", "leak"), CASES)
def test_products_kept_and_computed_lead_to_the_same_ends(n, d, leak):
    """Beyond some thousand lines their products with each other are not kept."""
    lines, starts, max_events = problem(n, d, leak)
    without = lines._replace(gram=np.empty((0, 0)))
    kept, computed = (settled_ends(given, starts, 1, max_events) for given in (lines, without))
    np.testing.assert_array_equal(kept[0], computed[0])
    np.testing.assert_array_equal(kept[1], computed[1])


def test_threads_share_the_starts_without_changing_an_end(monkeypatch):
    """Three, so that the parts differ in length, and more than there are starts."""
    lines, starts, max_events = problem(30, 5, 0.0)
    alone = settled_ends(lines, starts, -1, max_events)
    for number in (3, 40):
        monkeypatch.setattr(numba, "get_num_threads", lambda number=number: number)
        shared = settled_ends(lines, starts, -1, max_events)
        np.testing.assert_array_equal(shared[0], alone[0])
        np.testing.assert_array_equal(shared[1], alone[1])


def test_large_data_are_searched_in_the_same_way(monkeypatch):
    rng = np.random.default_rng(7)
    X, forces = rng.standard_normal((50, 6)), rng.standard_normal(50)
    found = extremal_vectors_of(X, forces, max_cones=1, num_starts=40)
    monkeypatch.setattr(extremal_search, "_MOST_PRODUCTS", 10)
    again = extremal_vectors_of(X, forces, max_cones=1, num_starts=40)
    np.testing.assert_array_equal(again.vectors, found.vectors)
    assert len(found) > 1
