import numpy as np
import pytest

from reluflow import SquareLoss, diagnose, load
from reluflow.data.families import three_point_angle
from reluflow.errors import InvalidInputError


@pytest.mark.parametrize("angle", [10.0, 60.0, 90.0, 150.0])
def test_the_outer_points_are_seen_under_the_angle(angle):
    X = three_point_angle(angle=angle).X
    cosine = X[0] @ X[2] / np.linalg.norm(X[0]) / np.linalg.norm(X[2])
    assert np.rad2deg(np.arccos(cosine)) == pytest.approx(angle)


def test_it_lies_in_the_box_just_below_a_right_angle_and_not_beyond():
    inside, beyond = (diagnose(three_point_angle(angle=a), SquareLoss())["three-point-box"] for a in (89.0, 91.0))
    assert inside.holds is True
    assert beyond.holds is False


def test_it_is_registered_and_refuses_flat_angles():
    assert load("three-point-angle:angle=75,low=0.1").y.tolist() == [1.02, 0.1, 1.0]
    with pytest.raises(InvalidInputError, match=r"`angle` must lie in \(0, 180\) degrees, got 180"):
        three_point_angle(angle=180.0)
