"""Exact arcs against the closed-form flow and against geometry known by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reluflow.errors import InvalidInputError
from reluflow.geometry.alignment import END_NAMES, align
from reluflow.geometry.basins import circle_basins

THREE_POINTS = np.array([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]])
THREE_FORCES = np.array([1.1, 0.1, 0.8]) / 3


def contains(basin, angles):
    """Which angles lie in the basin's arcs, ends left out by a hair."""
    inside = np.zeros(angles.shape, dtype=bool)
    for start, stop in basin.arcs:
        offset = (angles - start) % (2 * np.pi)
        inside |= (offset > 1e-9) & (offset < stop - start - 1e-9)
    return inside


def test_three_points_by_hand():
    """All-on and dead cones are 136.005 degrees wide; whatever is not dead at the start reaches D* [boursier2024]."""
    up, dead = circle_basins(THREE_POINTS, THREE_FORCES, sign=1)
    assert up.end == "maximum"
    assert up.vector == pytest.approx([-0.775 / 3, 2 / 3], abs=1e-15)
    assert 360 * dead.probability == pytest.approx(136.005, abs=5e-4)
    assert np.rad2deg(dead.arcs) == pytest.approx(np.array([[216.870, 352.875]]), abs=5e-4)
    (all_dead,) = circle_basins(THREE_POINTS, THREE_FORCES, sign=-1)
    assert (all_dead.end, all_dead.probability) == ("dead", 1.0)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 9), st.sampled_from([0.0, 0.3]), st.sampled_from([-1, 1]))
def test_every_direction_ends_where_its_arc_says(seed, n, leak, sign):
    rng = np.random.default_rng(seed)
    X, forces = rng.normal(size=(n, 2)), rng.normal(size=n)
    basins = circle_basins(X, forces, sign=sign, leak=leak)
    assert sum(basin.probability for basin in basins) == pytest.approx(1.0, abs=1e-14)
    angles = rng.uniform(0, 2 * np.pi, 300)
    w = np.column_stack([np.cos(angles), np.sin(angles)])
    outcome = align(X, forces, w, np.full(300, float(sign)), leak=leak)
    claimed = np.zeros(300, dtype=int)
    for basin in basins:
        inside = contains(basin, angles)
        claimed += inside
        assert {END_NAMES[end] for end in outcome.ends[inside]} <= {basin.end}
        assert np.max(np.abs(outcome.vectors[inside] - basin.vector), initial=0.0) < 1e-12
        if basin.end != "dead":
            assert np.max(np.abs(outcome.directions[inside] - basin.direction), initial=0.0) < 1e-12
    assert np.all(claimed == 1)


def test_orthogonal_samples_have_saddle_basins():
    """A neuron active on one sample alone stays so: it goes to that sample, on the edge of the other's cone."""
    basins = circle_basins(np.eye(2), [1.0, 1.0], sign=1)
    found = {(basin.end, *np.round(basin.vector, 12)): 4 * basin.probability for basin in basins}
    assert found == pytest.approx(
        {("maximum", 1.0, 1.0): 1.0, ("saddle", 1.0, 0.0): 1.0, ("saddle", 0.0, 1.0): 1.0, ("dead", 0.0, 0.0): 1.0}
    )


def test_linear_activation_has_one_basin():
    (basin,) = circle_basins(THREE_POINTS, THREE_FORCES, sign=-1, leak=1.0)
    assert (basin.end, basin.probability) == ("minimum", pytest.approx(1.0, abs=1e-15))
    assert basin.direction == pytest.approx(-basin.vector / np.linalg.norm(basin.vector), abs=1e-15)


def test_no_force_is_dead_everywhere():
    (basin,) = circle_basins(THREE_POINTS, np.zeros(3), sign=1)
    assert (basin.end, basin.probability) == ("dead", 1.0)


def test_refusals():
    with pytest.raises(InvalidInputError, match="`sign` must be 1 or -1"):
        circle_basins(THREE_POINTS, THREE_FORCES, sign=0)
    with pytest.raises(InvalidInputError, match="d = 2 columns for exact arcs, got 3; `align`"):
        circle_basins(np.eye(3), np.ones(3), sign=1)
