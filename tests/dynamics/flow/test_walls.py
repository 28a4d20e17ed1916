"""Walls and what happens on them: refraction, valley, ridge, death, several at once, the origin."""

import numpy as np
import pytest

from reluflow.dynamics.flow.walls import leaves_origin, resolve, walls_of

FORWARD = np.array([[1.0, 0.0]])


def settle(plus, minus, rest, a=1.0, before=-1, ridge="stop", normals=FORWARD, **options):
    plus, minus = np.atleast_1d(plus).astype(float), np.atleast_1d(minus).astype(float)
    sides = np.atleast_1d(before).astype(np.int8)
    return resolve(normals, plus, minus, np.asarray(rest, dtype=float), a, sides, ridge, **options)


def test_refraction_passes():
    assert settle(1.0, 0.2, [0.5, 0.0]).sides == (1,)
    assert settle(-1.0, -0.2, [-0.5, 0.0], before=1).sides == (-1,)
    assert settle(1.0, 0.2, [0.5, 0.0], a=-1.0, before=1).sides == (-1,)


def test_valley_slides():
    choice = settle(-1.0, 0.0, [0.5, 1.0])
    assert choice.sides == (0,)
    assert not choice.is_ridge


def test_ridge_is_reported_and_the_choice_obeyed():
    for ridge, side in (("stop", 0), ("positive", 1), ("negative", -1), ("stay", 0)):
        choice = settle(1.0, 0.0, [-0.5, 1.0], before=0, ridge=ridge)
        assert choice.is_ridge
        assert choice.sides == (side,)


def test_zero_velocity_on_the_far_side_is_death_not_ridge():
    choice = settle(-1.0, 0.0, [0.0, 0.0], before=1)
    assert choice.sides == (-1,)
    assert choice.is_still
    assert not choice.is_ridge


def test_waiting_at_a_dead_boundary_that_repels_is_a_ridge():
    """Min et al. (2024), App. E.4."""
    assert settle(1.0, 0.0, [0.0, 0.0], before=0).is_ridge


def test_passing_one_wall_can_release_another():
    """The pull of the crossed sample pushes the neuron off the wall it was sliding on."""
    normals = np.array([[1.0, 0.0], [0.6, 0.8]])
    alone = resolve(normals[:1], np.array([-1.0]), np.array([0.0]), np.array([0.3, -0.5]), 1.0, np.array([0]), "stop")
    assert alone.sides == (0,)
    both = resolve(
        normals, np.array([-1.0, 0.0]), np.array([0.0, -2.0]), np.array([0.3, -0.5]), 1.0, np.array([0, 1]), "stop"
    )
    assert both.sides == (-1, -1)


def test_rounding_takes_nobody_across():
    assert settle(1.0, 0.0, [-1e-15, 1.0], before=-1).sides == (-1,)
    assert settle(-1.0 + 1e-15, -1.0, [1.0, 1.0], before=-1, still=1e-12).sides == (-1,)


def test_at_the_origin_staying_is_unique_only_if_nothing_grows():
    normals = np.array([[1.0, 0.0], [0.0, 1.0]])
    heading = np.array([0.3, 0.1])
    shrinking = leaves_origin(normals, np.array([-1.0, -0.5]), np.zeros(2), 1.0, heading, "stop")
    assert shrinking.sides == (0, 0)
    assert not shrinking.is_ridge
    growing = leaves_origin(normals, np.array([-1.0, 0.5]), np.zeros(2), 1.0, heading, "stop")
    assert growing.is_ridge
    left = leaves_origin(normals, np.array([-1.0, 0.5]), np.zeros(2), 1.0, heading, "positive")
    assert left.sides[1] == 1


def test_samples_on_one_line_share_a_wall():
    X = np.array([[1.0, 2.0], [-2.0, -4.0], [3.0, 0.0], [0.5, 1.0], [0.0, 0.0]])
    walls = walls_of(X)
    assert walls.wall_of_sample[[0, 1, 3]].tolist() == [0, 0, 0]
    assert walls.orientation.tolist() == [1.0, -1.0, 1.0, 1.0, 0.0]
    assert walls.first_sample.tolist() == [0, 2]
    sides = np.array([1, -1], dtype=np.int8)
    assert walls.slopes(sides, 0.1).tolist() == [1.0, 0.1, 0.1, 1.0, 0.0]
    np.testing.assert_allclose(
        walls.pull_factors(1, 0.1) * np.array([1, 1, 1, 1, 1]), [5**0.5, -0.2 * 5**0.5, 3.0, 1.25**0.5, 0.0]
    )


def test_nearly_parallel_samples_are_two_walls():
    assert len(walls_of(np.array([[1.0, 0.0], [1.0, 1e-9]])).normals) == 2


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_flipping_all_signs_flips_the_choice(sign, rng):
    for _ in range(50):
        normals = np.linalg.qr(rng.standard_normal((3, 3)))[0][:2]
        plus, minus, rest = rng.standard_normal(2), rng.standard_normal(2), rng.standard_normal(3)
        before = np.array([1, -1], dtype=np.int8)
        first = resolve(normals, plus, minus, rest, sign, before, "stay")
        # mirror the walls: the positive side becomes the negative one
        second = resolve(-normals, -minus, -plus, rest, sign, -before, "stay")
        assert tuple(-s for s in second.sides) == first.sides
