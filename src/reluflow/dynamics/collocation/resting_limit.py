"""The limit of a run near stationarity, neuron by neuron: Newton's method on the boosts that are still to come."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.collocation.lone_neurons import LoneNeurons
from reluflow.dynamics.collocation.sample_forces import SampleForces
from reluflow.dynamics.collocation.tangent_kernel import TangentKernel
from reluflow.dynamics.collocation.tuning import WEAKEST_MODE
from reluflow.dynamics.shared.stationary_limit import FARTHEST_BOOST, MOST_ITERATIONS, RESTING, boosted


def polished(neurons: LoneNeurons, samples: SampleForces) -> tuple[FloatArray, int]:
    """Where the flow ends if no neuron meets another boundary: the neurons' shapes, and the Newton steps taken.

    Near its limit the flow boosts neuron j by v_j = sum_k s_jk x_k u_k, u = integral of r dt, and changes the outputs
    by K u with the tangent kernel K. At the limit all pulls vanish, K r = 0, though r itself need not; so to first
    order K c l'' K u = K r. Solving for u in the range of K and boosting again converges quadratically.
    """
    loss, labels = samples.loss, samples.labels
    scale = float(np.abs(loss.label_forces(labels)) @ samples.walls.length) or 1.0
    gram = samples.X @ samples.X.T
    slopes = neurons.walls.slopes(neurons.sides, neurons.leak)
    shapes = best = neurons.shapes
    best_pull, boosts = np.inf, 0
    while boosts <= MOST_ITERATIONS:
        outputs = samples.outputs(shapes[:, None, :], neurons.mass)[0]
        forces = loss.forces(outputs, labels)
        plus, minus = samples.of_walls(forces[None])
        norms = np.linalg.norm(neurons.pulls(plus, minus)[:, 0], axis=1)
        resting = np.flatnonzero((norms <= RESTING * scale) & np.any(slopes, axis=1))
        pull = float(np.max(norms[resting], initial=0.0))
        if not pull < 0.5 * best_pull:
            if pull < best_pull:
                best, best_pull = shapes, pull
            break
        best, best_pull = shapes, pull
        kernel = TangentKernel(
            shapes[resting], neurons.mass[resting], samples.walls, samples.leak, samples.X, gram
        ).whole()
        values, modes = np.linalg.eigh(kernel)
        strong = values > WEAKEST_MODE * values[-1]
        if not np.any(strong):
            break
        values, modes = values[strong], modes[:, strong]
        curvature = loss.sample_weight(len(labels)) * loss.curvature(outputs, labels)
        matrix = modes.T @ (curvature[:, None] * modes)
        remaining = modes @ (np.linalg.lstsq(matrix, modes.T @ forces, rcond=1e-13)[0] / values)
        boost = (slopes[resting] * remaining) @ samples.X
        if not float(np.max(np.linalg.norm(boost, axis=1), initial=0.0)) <= FARTHEST_BOOST:
            break
        shapes = shapes.copy()
        boosts += 1
        for j, vector in zip(resting.tolist(), boost, strict=True):
            if np.any(neurons.sides[j] == 0):
                basis = neurons.slide_basis(j)
                vector = vector - (vector @ basis.T) @ basis
            shapes[j] = boosted(shapes[j : j + 1], vector)[0]
    else:  # still falling by a constant factor: a loss that fades for ever, not a limit
        return neurons.shapes, 0
    return best, max(boosts - 1, 0)
