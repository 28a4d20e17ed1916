"""Small datasets that more than one part of reluflow uses, some with a knob for phase diagrams."""

from __future__ import annotations

import numpy as np

from reluflow.data.dataset import Dataset, Task
from reluflow.errors import InvalidInputError


def three_points() -> Dataset:
    """Three points on which a network of any width, trained from a small scale, ends at the least-squares line.

    References
    ----------
    Boursier & Flammarion (2024), Sec. 6 and App. B.1, Fig. 2 [boursier2024].

    Examples
    --------
    >>> three_points().X[:, 0]
    array([-0.75 , -0.5  ,  0.125])
    """
    return Dataset(
        [[-0.75], [-0.5], [0.125]],
        [1.1, 0.1, 0.8],
        task=Task.REGRESSION,
        name="three-points",
        provenance="Boursier & Flammarion (2024), App. B.1 [boursier2024]",
    ).with_bias()


def three_point_angle(*, angle: float = 87.0, low: float = 0.05, tilt: float = 0.02) -> Dataset:
    """Three points in the shape of a V, two high labels around a low one, seen under a given angle from the origin.

    x_1 = (-tan(angle/2), 1), x_2 = (0, 1), x_3 = (tan(angle/2), 1): univariate inputs with the constant coordinate.
    Near 90 degrees these are points of Boursier & Flammarion's box (their Assumption 3 has x_1 next to (-1, 1) and x_3
    next to (1, 1)); the angle leads out of it on both sides.

    Parameters
    ----------
    angle
        Between x_1 and x_3, in degrees, in (0, 180).
    low
        Label of the middle point.
    tilt
        How much the first label exceeds 1, so that nothing is symmetric.

    References
    ----------
    Boursier & Flammarion (2024), Assumption 3 [boursier2024].

    Examples
    --------
    >>> three_point_angle(angle=90.0).X.round(6)
    array([[-1.,  1.],
           [ 0.,  1.],
           [ 1.,  1.]])
    """
    if not 0.0 < angle < 180.0:
        raise InvalidInputError(f"`angle` must lie in (0, 180) degrees, got {angle:g}.")
    reach = float(np.tan(np.deg2rad(angle) / 2.0))
    return Dataset(
        [[-reach, 1.0], [0.0, 1.0], [reach, 1.0]],
        [1.0 + tilt, low, 1.0],
        task=Task.REGRESSION,
        name="three-point-angle",
        provenance=f"V of three points under {angle:g} degrees; near 90 in the box of [boursier2024], Assumption 3",
    )


def gate_disagreement() -> Dataset:
    """Five points in the plane on which two neurons meet other walls under descent than under the flow.

    With `width=2, scale=1e-2, seed=0`, square loss and ReLU a neuron of the flow slides along the wall of sample 2 for
    a while and ends tiny. Descent at rates above 0.012, a hundredth of what is stable at the limit, chatters along that
    wall and loses |a| = |w|, which keeps the sign of an output weight; it turns, and the neuron grows.
    Such data are rare: at a tenth of the stable rate the limits differed for 2 of 82 sets of Gaussian points.

    Examples
    --------
    >>> gate_disagreement().n
    5
    """
    return Dataset(
        [[1.2, 1.4], [0.3, 0.4], [-0.5, -0.9], [-0.9, -1.0], [0.9, -0.1]],
        [0.1, -0.6, -1.1, -1.2, -0.8],
        task=Task.REGRESSION,
        name="gate-disagreement",
        provenance="general; one of 82 draws of Gaussian points and labels, rounded to tenths",
    )
