"""Networks as directions: what counts of one that grows for ever."""

from __future__ import annotations

import numpy as np

from reluflow.network.network import Network


def unit_norm(network: Network) -> Network:
    """The same direction with the sum of weight (|w|^2 + |v|^2) equal to 1.

    An output bias is left out: it grows like the logarithm of the squared norm and is nothing beside the neurons.
    """
    shape = network.replace(log_scale=0.0)
    norm = np.sqrt(shape.squared_norm())
    if shape.num_outputs == 1 and shape.b is None:
        return shape.replace(w=shape.w / norm, a=shape.a / norm)
    return shape.replace(w=shape.w / norm, v=shape.v / norm, b=None)


def direction_distance(one: Network, two: Network) -> float:
    """|theta_1 - theta_2| with the weights of the neurons."""
    squares = np.sum((one.w - two.w) ** 2, axis=1) + np.sum((one.v - two.v) ** 2, axis=1)
    return float(np.sqrt(np.sum(one.weight * squares)))
