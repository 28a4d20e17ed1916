"""The limit of a run near stationarity: Newton's method in the final pattern, on the boosts that are still to come."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.shared.flow_kernels import Layout, group_forces, outputs_of
from reluflow.losses import AbstractLoss

MOST_ITERATIONS = 12
FARTHEST_BOOST = 1.0  # a limit farther than this is none: some samples fade for ever and others are stuck
RESTING = 1e-3  # who is pulled less than this fraction of the initial pull takes part; the others are spectators


def polish(columns: FloatArray, layout: Layout, loss: AbstractLoss) -> tuple[FloatArray, int]:
    """Where the flow ends if no neuron meets another boundary: the columns there, and the Newton steps taken.

    Near its limit the flow carries group g by the boost with vector v_g = integral of D_g dt. With the forces
    r = -c dl/dh, the outputs change by K u when all groups are boosted by v_g = sum_k eta_gk x_k u_k, where
    K = sum_g A_g^T S_g A_g, A_g = (eta_gk x_k)_k and S_g = sum over the group of a^2 I + w w^T. At the limit the pulls
    A_g r vanish, though r itself need not; so u = integral of r dt solves A_g c l'' K u = A_g r for all g to first
    order. Solving and boosting again converges quadratically, to the point the flow itself tends to, up to terms of
    second order in what was left of its way.

    Parameters
    ----------
    columns, layout
        The state near stationarity.
    loss
        Its loss, for forces and curvatures.
    """
    d = layout.samples.shape[1]
    scale = float(np.max(np.abs(loss.label_forces(layout.labels)) @ np.abs(layout.samples), initial=0.0)) or 1.0
    slopes = _tangent_slopes(layout)  # (G, d, n)
    start = best = columns
    best_pull = np.inf
    boosts = 0
    while boosts <= MOST_ITERATIONS:
        outputs = outputs_of(columns, layout)
        forces = loss.forces(outputs, layout.labels)
        pulls = np.asarray(group_forces(forces, layout))
        norms = np.linalg.norm(pulls, axis=1)
        resting = (np.diff(layout.starts) > 0) & (norms <= RESTING * scale)
        pull = float(np.max(norms[resting], initial=0.0))
        if not pull < 0.5 * best_pull:
            if pull < best_pull:
                best, best_pull = columns, pull
            break
        best, best_pull = columns, pull
        curvature = loss.sample_weight(len(forces)) * loss.curvature(outputs, layout.labels)
        gain = np.zeros((len(forces), len(forces)))
        for g in np.flatnonzero(resting):
            moment = _group_moment(columns, layout, int(g))
            stiffness = moment[d, d] * np.eye(d) + moment[:d, :d]
            gain += slopes[g].T @ stiffness @ slopes[g]
        taking_part = slopes[resting]
        system = (taking_part @ (curvature[:, None] * gain)).reshape(-1, len(forces))
        remaining, *_ = np.linalg.lstsq(system, (taking_part @ forces).ravel(), rcond=1e-13)
        if not np.max(np.linalg.norm(slopes @ remaining, axis=1)[resting], initial=0.0) <= FARTHEST_BOOST:
            break
        columns = columns.copy()
        boosts += 1
        for g in np.flatnonzero(resting):
            rows = slice(layout.starts[g], layout.starts[g + 1])
            columns[rows] = boosted(columns[rows], slopes[g] @ remaining)
    else:  # still falling by a constant factor: a loss that fades for ever, not a limit
        return start, 0
    return best, max(boosts - 1, 0)


def boosted(z: FloatArray, vector: FloatArray) -> FloatArray:
    """Apply the Lorentz boost exp([[0, v], [v^T, 0]]) to rows (w, a).

    >>> boosted(np.array([[0.0, 0.0, 1.0]]), np.array([np.log(2.0), 0.0]))
    array([[0.75, 0.  , 1.25]])
    """
    rapidity = float(np.linalg.norm(vector))
    if rapidity == 0.0:
        return z.copy()
    axis = vector / rapidity
    along = z[:, :-1] @ axis
    result = z.copy()
    result[:, :-1] += np.outer(along * (np.cosh(rapidity) - 1.0) + z[:, -1] * np.sinh(rapidity), axis)
    result[:, -1] = z[:, -1] * np.cosh(rapidity) + along * np.sinh(rapidity)
    return result


def turned(z: FloatArray, pull: FloatArray) -> FloatArray:
    """Apply exp([[0, D^T], [D, 0]]) to one neuron (w, v), where D has a row for each of K outputs.

    >>> turned(np.array([0.0, 0.0, 1.0, 3.0]), np.log(2.0) * np.array([[1.0, 0.0], [0.0, 0.0]]))
    array([0.75, 0.  , 1.25, 3.  ])
    """
    if len(pull) == 1:
        return np.asarray(boosted(z[None], pull[0])[0])
    d = pull.shape[1]
    left, sizes, right = np.linalg.svd(pull, full_matrices=False)
    w, v = right @ z[:d], left.T @ z[d:]
    more, across = np.cosh(sizes) - 1.0, np.sinh(sizes)
    return np.concatenate([z[:d] + (w * more + v * across) @ right, z[d:] + left @ (v * more + w * across)])


def _tangent_slopes(layout: Layout) -> FloatArray:
    """eta_gk x_k made tangent to the walls group g slides on, shape (G, d, n)."""
    slopes: FloatArray = np.einsum("gk,kd->gdk", layout.eta, layout.samples)
    for g in np.flatnonzero(np.diff(layout.tangent_starts)).tolist():
        tangents = layout.tangents[layout.tangent_starts[g] : layout.tangent_starts[g + 1]]
        slopes[g] -= tangents.T @ (tangents @ slopes[g])
    return slopes


def _group_moment(columns: FloatArray, layout: Layout, g: int) -> FloatArray:
    """sum of weight z z^T over the neurons of a group, shape (d + 1, d + 1)."""
    rows = columns[layout.starts[g] : layout.starts[g + 1]]
    frame = layout.frame_of_group[g]
    if frame >= 0:
        return np.asarray(rows.T @ layout.moments[frame] @ rows)
    return np.asarray((rows * layout.weights[layout.starts[g] : layout.starts[g + 1], None]).T @ rows)
