"""The infinitely wide network in d = 2, as a quadrature over initial directions.

The flow is linear in z = (w, a) given the forces, so as the width grows only the law of the direction of z and its
mean squared norm matter: h(x) = lambda^2 E[a s(<w, x>)]. A neuron of quadrature weight omega stands for that share
of the infinite width.
"""

from __future__ import annotations

import numpy as np

from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network
from reluflow.network.scale import Scale, log_of_scale

_NODES_PER_PANEL = 12
_MEAN_SQUARED_GAUSSIAN_NORM = 2.0  # E|g|^2 for g ~ N(0, I_2), the law of `balanced_initialization` in d = 2


def circle_quadrature(dataset: Dataset, *, num_nodes: int, scale: Scale, leak: float = 0.0) -> Network:
    """Balanced initialisation of infinite width in d = 2: directions uniform on the circle, both signs of a.

    Gauss-Legendre panels on each arc between consecutive cone boundaries <w, x_k> = 0, where the initial outputs are
    smooth in the angle, so the rule converges to high order there instead of at the first order of equispaced nodes.

    Parameters
    ----------
    dataset
        Samples in dimension 2; they fix the arcs.
    num_nodes
        About how many directions, shared among the arcs by their length; at least one panel of 12 on each.
    scale
        lambda of `balanced_initialization`.
    leak
        Negative slope.

    Returns
    -------
    Network
        Two neurons per direction (a = 1 and a = -1), |w| = 1, weights summing to E|g|^2 = 2.

    References
    ----------
    Boursier & Flammarion (2024), Eqs. (3)-(5), App. B.1, with width to infinity [boursier2024].
    """
    if dataset.d != 2:
        raise InvalidInputError(f"infinite width is available in dimension 2 only, got d = {dataset.d}.")
    if num_nodes < 4:
        raise InvalidInputError(f"`num_nodes` must be at least 4, got {num_nodes}.")
    normals = np.arctan2(dataset.X[:, 1], dataset.X[:, 0])
    boundaries = np.unique(np.mod(np.concatenate([normals + np.pi / 2, normals - np.pi / 2]), 2 * np.pi))
    lengths = np.diff(np.append(boundaries, boundaries[0] + 2 * np.pi))
    nodes, rule = np.polynomial.legendre.leggauss(_NODES_PER_PANEL)
    angles, weights = [], []
    for start, length in zip(boundaries, lengths, strict=True):
        if length < 1e-14:  # two boundaries equal up to rounding enclose no arc
            continue
        num_panels = max(1, round(num_nodes * length / (2 * np.pi * _NODES_PER_PANEL)))
        width = length / num_panels
        left = start + width * np.arange(num_panels)
        angles.append((left[:, None] + 0.5 * width * (nodes + 1.0)).ravel())
        weights.append(np.tile(rule * 0.5 * width / (2 * np.pi), num_panels))
    angle, share = np.concatenate(angles), np.concatenate(weights)
    w = np.column_stack([np.cos(angle), np.sin(angle)])
    half = 0.5 * _MEAN_SQUARED_GAUSSIAN_NORM * share
    return Network(
        np.vstack([w, w]),
        np.concatenate([np.ones(len(w)), -np.ones(len(w))]),
        leak=leak,
        weight=np.concatenate([half, half]),
        log_scale=log_of_scale(scale),
    )
