"""Labels: placed beside their points, not on each other when there is room."""

import numpy as np
import pytest

from reluflow.viz.labels import label_offsets


@pytest.mark.parametrize("seed", range(5))
def test_labels_of_scattered_points_do_not_overlap(seed):
    points = np.random.default_rng(seed).uniform(0.0, 220.0, (12, 2))
    centres = points + label_offsets(points, width=14.0, height=9.0, clearance=3.0)
    gaps = np.abs(centres[:, None] - centres)
    overlap = (gaps[..., 0] < 14.0) & (gaps[..., 1] < 9.0)
    assert np.sum(overlap) == len(points)  # each with itself only


def test_obstacles_are_left_free():
    free = label_offsets([[0.0, 0.0]], width=10.0, height=10.0, clearance=2.0)
    moved = label_offsets([[0.0, 0.0]], width=10.0, height=10.0, clearance=2.0, obstacles=[[8.0, 0.0]])
    assert free.tolist() == [[7.0, 0.0]]
    assert moved.tolist() == [[-7.0, 0.0]]


def test_no_points_no_labels():
    assert label_offsets(np.empty((0, 2)), width=1.0, height=1.0, clearance=0.0).shape == (0, 2)
