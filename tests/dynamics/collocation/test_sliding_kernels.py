"""Walls gained and lost one by one, against the same walls gathered from scratch."""

import numpy as np
import pytest

from reluflow.dynamics.collocation.sliding_kernels import (
    Pulls,
    Slide,
    add_wall,
    gather,
    hold_newest,
    leave_wall,
    set_side,
    slide_starts,
)

Q, D, WALLS = 5, 12, 30


def slide_on(side, pulls, rest):
    q, d = rest.shape
    most = d + 1
    slide = Slide(
        np.zeros(2, dtype=np.int64),
        np.zeros(most, dtype=np.int64),
        np.zeros((most, d)),
        np.zeros((most, most)),
        np.zeros((q, most)),
        np.zeros((q, most)),
        rest,
        np.zeros((q, d)),
    )
    gather(side, pulls.normals, slide)
    return slide


def assert_as_gathered(slide, side, pulls, walls):
    """The slide holds these walls, with the pull and the multipliers of one gathered from scratch."""
    fresh = slide_on(side, pulls, slide.rest.copy())
    assert np.allclose(slide.pull, fresh.pull, rtol=0, atol=1e-14)
    ours, theirs = (
        dict(zip(one.walls[: one.held[0]].tolist(), one.multipliers[:, : one.held[0]].T, strict=True))
        for one in (slide, fresh)
    )
    assert ours.keys() == theirs.keys() == walls
    assert all(np.allclose(ours[b], theirs[b], rtol=0, atol=1e-13) for b in ours)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    normals = rng.standard_normal((WALLS, D))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    pulls = Pulls(normals, rng.standard_normal((WALLS, Q)), np.zeros((WALLS, Q)), np.zeros((WALLS, 2), dtype=bool))
    side = np.where(rng.random(WALLS) < 0.5, 1, -1).astype(np.int8)
    side[:7] = 0
    strengths = np.where(side[:, None] > 0, pulls.plus, 0.0)
    return pulls, side, np.ascontiguousarray(strengths.T @ normals)


@pytest.mark.parametrize("wall", [0, 3, 6])
@pytest.mark.parametrize("to_side", [1, -1])
def test_leaving_a_wall_by_rotations_is_gathering_the_others(problem, wall, to_side):
    """Measured: 9e-16 in D and 2e-15 in the multipliers."""
    pulls, side, rest = problem
    slide = slide_on(side, pulls, rest.copy())
    leave_wall(slide, pulls, side, wall, to_side)
    assert side[wall] == to_side
    assert_as_gathered(slide, side, pulls, set(range(7)) - {wall})


def test_a_new_wall_is_held_like_the_others(problem):
    pulls, side, rest = problem
    slide = slide_on(side, pulls, rest.copy())
    before = side[9]
    set_side(slide, pulls, side, 9, 0)
    change = -(pulls.plus[9] if before > 0 else pulls.minus[9])
    tangent = pulls.normals[9] - (pulls.normals[9] @ slide.basis[:7].T) @ slide.basis[:7]
    slide.pull[:] += change[:, None] * tangent
    slide.along[:, :7] += change[:, None] * (pulls.normals[9] @ slide.basis[:7].T)
    assert add_wall(9, pulls.normals, slide)
    hold_newest(slide)
    assert_as_gathered(slide, side, pulls, {*range(7), 9})


def test_a_wall_that_others_hold_takes_its_place_when_one_of_them_is_left():
    """Three walls through one line in space hold a neuron on it, and so do any two of them."""
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    strengths = np.arange(4.0)[:, None] * np.ones((1, 2))
    pulls = Pulls(rows, strengths, np.zeros((4, 2)), np.zeros((4, 2), dtype=bool))
    side = np.array([0, 0, 0, 1], dtype=np.int8)
    slide = slide_on(side, pulls, np.ascontiguousarray(np.tile(3.0 * rows[3], (2, 1))))
    assert (slide.held[0], slide.held[1]) == (2, 1)
    leave_wall(slide, pulls, side, 0, 1)
    assert sorted(slide.walls[: slide.held[0]].tolist()) == [1, 2]
    assert np.allclose(slide.pull, [[0.0, 0.0, 3.0]] * 2)


def test_starts_hold_what_gathering_finds(problem):
    pulls, side, rest = problem
    none = np.ones(WALLS, dtype=np.int8)
    starts = slide_starts(np.array([none, side]), pulls.normals)
    assert starts.places.tolist() == [-1, 0]
    slide = slide_on(side, pulls, rest)
    held = slide.held[0]
    assert starts.held[0].tolist() == slide.held.tolist()
    assert np.allclose(starts.basis[0, :held], slide.basis[:held], rtol=0, atol=1e-15)
