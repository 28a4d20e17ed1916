import numpy as np
import pytest

from geometry.oracles import potential, three_points
from reluflow.errors import InvalidInputError
from reluflow.geometry.landscape import alignment_potential, circle_potential


def test_matches_the_definition_on_any_shape():
    rng = np.random.default_rng(31)
    X, forces, w = rng.standard_normal((6, 3)), rng.standard_normal(6), rng.standard_normal((4, 2, 3))
    for leak in (0.0, 0.3, 1.0):
        np.testing.assert_allclose(
            alignment_potential(w, X, forces, leak=leak), potential(w, X, forces, leak), atol=1e-13
        )


@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_circle_agrees_with_the_potential(leak):
    rng = np.random.default_rng(32)
    X, forces = rng.standard_normal((8, 2)), rng.standard_normal(8)
    X[3] = -2 * X[2]
    circle = circle_potential(X, forces, leak=leak)
    assert circle.breakpoints.size == 14  # seven distinct lines
    angles = np.append(rng.uniform(-10, 10, 500), circle.breakpoints)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    np.testing.assert_allclose(circle(angles), alignment_potential(directions, X, forces, leak=leak), atol=1e-13)


def test_level_angles_are_all_the_crossings():
    rng = np.random.default_rng(33)
    for _ in range(20):
        circle = circle_potential(rng.standard_normal((5, 2)), rng.standard_normal(5), leak=0.2)
        level = float(circle(rng.uniform(0, 2 * np.pi)))
        found = circle.level_angles(level)
        np.testing.assert_allclose(circle(found), level, atol=1e-12)
        grid = np.linspace(0, 2 * np.pi, 20_001)
        changes = np.count_nonzero(np.diff(np.sign(circle(grid) - level)))
        assert changes <= found.size <= changes + 2  # a touching point or two crossings between grid points


def test_dead_arc_of_the_three_points():
    """The dead cone is 136.005 degrees wide (digest of [boursier2024], Sec. 7)."""
    X, y = three_points()
    ends = np.degrees(circle_potential(X, y / 3).level_angles(0.0))
    np.testing.assert_allclose(ends, [216.870, 352.875], atol=5e-4)


def test_refusals():
    with pytest.raises(InvalidInputError, match="samples of dimension 2"):
        circle_potential(np.eye(3), np.ones(3))
    with pytest.raises(InvalidInputError, match=r"`leak` must lie in \[0, 1\]"):
        alignment_potential(np.ones(2), np.eye(2), np.ones(2), leak=-0.1)
    with pytest.raises(InvalidInputError, match="`forces` must have shape"):
        circle_potential(np.eye(2), np.ones(3))
