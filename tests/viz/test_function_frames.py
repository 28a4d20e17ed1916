"""The function moment by moment, in a window that shows it where it is."""

import numpy as np
import pytest

from reluflow import Network, load
from reluflow.viz.function_frames import function_frames


def test_the_start_is_seen_at_zero():
    """The window began above 0 where all labels do, and a function that is 0 was drawn along its lower edge."""
    data = load("three-points")
    start = Network([[0.0, 1e-6]], [1e-6])
    end = Network([[-0.1, 0.8]], [0.8])
    frames = function_frames([start, end], data)
    assert frames is not None
    low, high = frames.window[2:]
    assert low < 0.0 < data.y.max() < high
    assert frames.curves[0][0][:, 1] == pytest.approx(0.0, abs=1e-11)
    assert np.ptp(frames.curves[1][0][:, 1]) == pytest.approx(0.16, abs=1e-9)


def test_what_shoots_far_beyond_the_labels_is_cut():
    data = load("three-points")
    frames = function_frames([Network([[0.0, 30.0]], [30.0]), Network([[0.0, 1.0]], [0.6])], data)
    assert frames is not None
    assert frames.window[3] < 4.0
