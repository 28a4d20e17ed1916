"""What happens on walls: refraction, valley, ridge, death, several at once, the origin."""

import numpy as np
import pytest

from geometry.oracles import ways_on
from reluflow.geometry.boundary.decision import NO_WAY, ONE_WAY, RIDGES, SEVERAL_WAYS, decide, make_choice, resolve
from reluflow.geometry.boundary.origin import leaves_origin
from reluflow.geometry.boundary.tolerance import ROUNDING

FORWARD = np.array([[1.0, 0.0]])


class Settled:
    """A decision in words: the sides, whether it was one of several, whether nothing pulls."""

    def __init__(self, normals, plus, minus, rest, a, before, ridge, rounding=ROUNDING):
        normals, plus, minus = np.atleast_2d(normals), np.atleast_1d(plus) + 0.0, np.atleast_1d(minus) + 0.0
        rest, before = np.asarray(rest, dtype=float), np.atleast_1d(before).astype(np.int8)
        scale = np.sum(np.maximum(np.abs(plus), np.abs(minus))) + np.linalg.norm(rest)
        choice = make_choice(*normals.shape)
        ridge = RIDGES.index(ridge)
        self.verdict = decide(normals, plus, minus, rest, np.sign(a), before, rounding * scale, ridge, choice)
        self.sides, self.pull, self.strengths = tuple(choice.sides.tolist()), choice.pull, choice.strengths
        self.is_ridge, self.is_still = self.verdict == SEVERAL_WAYS, not np.any(choice.pull)
        np.testing.assert_allclose(rest + choice.strengths @ normals, choice.pull, atol=1e-12 * scale)


def settle(plus, minus, rest, a=1.0, before=-1, ridge="stop", normals=FORWARD, **options):
    return Settled(normals, plus, minus, rest, a, before, ridge, **options)


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
    assert settle(-1.0, 0.0, [0.3, -0.5], before=0, normals=normals[:1]).sides == (0,)
    assert settle([-1.0, 0.0], [0.0, -2.0], [0.3, -0.5], before=[0, 1], normals=normals).sides == (-1, -1)


def test_rounding_takes_nobody_across():
    assert settle(1.0, 0.0, [-1e-15, 1.0], before=-1).sides == (-1,)
    assert settle(-1.0 + 1e-15, -1.0, [1.0, 1.0], before=-1).sides == (-1,)


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


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_flipping_all_signs_flips_the_choice(sign, rng):
    for _ in range(50):
        normals = np.linalg.qr(rng.standard_normal((3, 3)))[0][:2]
        plus, minus, rest = rng.standard_normal(2), rng.standard_normal(2), rng.standard_normal(3)
        before = np.array([1, -1], dtype=np.int8)
        first = settle(plus, minus, rest, sign, before, "stay", normals)
        # mirror the walls: the positive side becomes the negative one
        second = settle(-minus, -plus, rest, sign, -before, "stay", -normals)
        assert tuple(-s for s in second.sides) == first.sides


def test_the_ways_on_are_those_of_the_definition(rng):
    """On one to three walls at once; the same verdict and sides as by trying every choice."""
    counts = np.zeros(3, dtype=int)
    for trial in range(400):
        s, d, sign = 1 + trial % 3, 4, 1.0 - 2.0 * (trial % 2)
        normals = rng.standard_normal((s, d))
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        plus, minus, rest = rng.standard_normal(s), rng.standard_normal(s), 0.7 * rng.standard_normal(d)
        ways = [sides for sides, _ in ways_on(normals, plus, minus, rest, sign)]
        found = settle(plus, minus, rest, sign, np.zeros(s), "stop", normals)
        assert ways
        assert found.verdict == (ONE_WAY if len(ways) == 1 else SEVERAL_WAYS) != NO_WAY
        assert found.sides in ways
        counts[min(len(ways), 2)] += 1
    assert min(counts[1:]) > 50


def test_a_dead_side_is_taken_at_the_far_side_of_several_walls():
    """On both axes with nothing else pulling: it dies beyond the two, where neither pulls."""
    choice = settle([-1.0, -2.0], [0.0, 0.0], [0.0, 0.0], before=[1, 1], normals=np.eye(2))
    assert choice.sides == (-1, -1)
    assert choice.is_still


def test_more_ridges_than_can_be_tried_are_reported():
    choice = settle(np.ones(7), -np.ones(7), np.zeros(7), before=np.zeros(7), normals=np.eye(7))
    assert choice.is_ridge
    assert choice.sides == (0,) * 7


@pytest.mark.parametrize("faint", [1e-3, 1e-10, 1e-24, 1e-200])
def test_a_side_that_does_not_act_sets_no_rounding(faint):
    """A sample ignored for ever pulls 1e24 times as hard as the others: a run met its wall again and again, unmoved."""
    normals = np.array([[1.0, 0.0], [0.6, 0.8]])
    plus, minus, on = np.array([-0.78, faint]), np.zeros(2), np.array([0])
    before = np.array([-1, 1], dtype=np.int8)
    assert resolve(normals, plus, minus, on, before, 1.0, "stop").sides == (0,)  # pushed onto the wall, it slides
    assert resolve(normals, plus, minus, on, before, -1.0, "stop").sides == (-1,)  # pulled away from it, it keeps off
