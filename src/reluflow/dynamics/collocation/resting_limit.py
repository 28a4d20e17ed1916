"""The limit of a run near stationarity, neuron by neuron: Newton's method on the boosts that are still to come."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.collocation.curvatures import curved
from reluflow.dynamics.collocation.lone_neurons import LoneNeurons
from reluflow.dynamics.collocation.outputs_kernel import OutputsKernel
from reluflow.dynamics.collocation.sample_forces import SampleForces
from reluflow.dynamics.collocation.tangent_kernel import TangentKernel
from reluflow.dynamics.collocation.tuning import MOST_POLISHED_FORCES, WEAKEST_MODE
from reluflow.dynamics.shared.stationary_limit import FARTHEST_BOOST, MOST_ITERATIONS, RESTING, turned

POLISHED = "Polished by Newton's method in the final pattern."


@dataclass(frozen=True, eq=False)
class RestingLimit:
    """Where a run tends to.

    Parameters
    ----------
    shapes
        The neurons, shape (m, d + K).
    bias
        The output bias (K,), or None.
    num_iterations
        Newton steps that were taken; 0 where none is known to lead nearer.
    """

    shapes: FloatArray
    bias: FloatArray | None
    num_iterations: int


def polished(neurons: LoneNeurons, samples: SampleForces, bias: FloatArray | None) -> RestingLimit:
    """Where the flow ends if no neuron meets another boundary.

    Near its limit the flow moves neuron j by D_j = sum_k s_jk x_k u_k^T, u = integral of r dt, and changes the outputs
    by K u with the tangent kernel K. At the limit all pulls vanish, K r = 0, though r itself need not; so to first
    order K c l'' K u = K r. Solving for u in the range of K and moving again converges quadratically. With one output
    D_j is a vector, and the move a boost. A trained output bias moves by the sum of u.
    """
    loss, labels = samples.loss, samples.labels
    at_start = loss.label_forces(labels, samples.num_outputs)
    scale = float(np.sum(np.abs(at_start).T @ samples.walls.length)) or 1.0
    slopes = neurons.walls.slopes(neurons.sides, neurons.leak)
    here = RestingLimit(neurons.shapes, bias, 0)
    if not samples.has_one_force_each and at_start.size > MOST_POLISHED_FORCES:
        return here
    gram = samples.X @ samples.X.T
    shapes, best = neurons.shapes, here
    best_pull, boosts = np.inf, 0
    while boosts <= MOST_ITERATIONS:
        outputs = samples.outputs(shapes[:, None, :], neurons.mass)[0].reshape(at_start.shape)
        outputs = outputs if bias is None else outputs + bias
        forces = loss.forces(outputs, labels)
        norms = _sizes(neurons.pulls(*samples.of_walls(forces.reshape(1, -1))))
        resting = np.flatnonzero((norms <= RESTING * scale) & np.any(slopes, axis=1))
        pull = float(np.max(norms[resting], initial=0.0))
        if samples.moves_bias:
            pull = max(pull, float(np.max(np.abs(np.sum(forces, axis=0)))))
        if not pull < 0.5 * best_pull:
            if pull < best_pull:
                best = RestingLimit(shapes, bias, 0)
            break
        best, best_pull = RestingLimit(shapes, bias, 0), pull
        values, modes = np.linalg.eigh(_kernel(neurons, samples, shapes, resting, gram))
        strong = values > WEAKEST_MODE * values[-1]
        if not np.any(strong):
            break
        values, modes = values[strong], modes[:, strong]
        curvature = loss.sample_weight(len(at_start)) * loss.curvature(outputs, labels)
        matrix = modes.T @ curved(curvature, modes)
        remaining = modes @ (np.linalg.lstsq(matrix, modes.T @ forces.ravel(), rcond=1e-13)[0] / values)
        of_outputs = remaining.reshape(len(at_start), -1).T
        moves = np.stack([(slopes[resting] * each) @ samples.X for each in of_outputs], axis=1)  # (r, K, d)
        if not float(np.max(_sizes(moves), initial=0.0)) <= FARTHEST_BOOST:
            break
        shapes = shapes.copy()
        boosts += 1
        for j, move in zip(resting.tolist(), moves, strict=True):
            if np.any(neurons.sides[j] == 0):
                basis = neurons.slide_basis(j)
                move = np.array([along - (along @ basis.T) @ basis for along in move])
            shapes[j] = turned(shapes[j], move)
        if bias is not None and samples.moves_bias:
            bias = bias + np.sum(of_outputs, axis=1)
    else:  # still falling by a constant factor: a loss that fades for ever, not a limit
        return here
    return replace(best, num_iterations=max(boosts - 1, 0))


def _sizes(pulls: FloatArray) -> FloatArray:
    """Frobenius norms of matrices (r, K, d)."""
    return np.asarray(np.linalg.norm(pulls.reshape(len(pulls), pulls.shape[1] * pulls.shape[2]), axis=1))


def _kernel(
    neurons: LoneNeurons, samples: SampleForces, shapes: FloatArray, which: IntArray, gram: FloatArray
) -> FloatArray:
    """The tangent kernel of some of the neurons, (n K, n K)."""
    z, mass = shapes[which], neurons.mass[which]
    if samples.has_one_force_each:
        return np.asarray(TangentKernel(z, mass, samples.walls, samples.leak, samples.X, gram).whole())
    heights = z[:, : samples.X.shape[1]] @ samples.walls.normals.T
    bias_rate = 1.0 if samples.moves_bias else 0.0
    kernel = OutputsKernel(z, mass, samples.walls, samples.leak, samples.X, heights=heights, bias_rate=bias_rate)
    return kernel.rows(np.arange(len(samples.X) * samples.num_outputs))
