"""The flow beyond the papers' model: weight decay and a frozen output layer; its velocity, and when it has settled.

With decay lambda a neuron z = (w, a) obeys z' = B(D) z - lambda z, where B(D) is what the pull does without decay; the
direction of z moves as if there were none, and z = e^(-lambda t) z~ with z~' = B(D) z~. With a frozen output layer
w' = a D - lambda w, and a stays.
"""

from __future__ import annotations

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.gradient import Gradient, RelativePulls
from reluflow.dynamics.problem import TrainingProblem
from reluflow.geometry.alignment import OPEN, align
from reluflow.network import Network

_RESTING = 1e-6  # speed of a neuron, relative to its size and to the rates of the problem, that counts as none
_LARGEST_LOG = 600.0  # of a factor
_STEADY = 1e-6  # how far below the decay, relative to it, a growth rate must stay to be sure of the sign


def velocities(problem: TrainingProblem, z: FloatArray, pulls: RelativePulls) -> FloatArray:
    """dz/dt of neurons z = (w, v) relative to the rate of the pulls, shape (num_neurons, d + K)."""
    decay = problem.weight_decay * np.exp(-pulls.log_rate) if problem.weight_decay else 0.0  # not 0 times infinity
    vectors = pulls.by_output
    d = vectors.shape[2]
    found = np.empty_like(z)
    found[:, :d] = np.einsum("jc,jcd->jd", z[:, d:], vectors) - decay * z[:, :d]
    found[:, d:] = np.einsum("jd,jcd->jc", z[:, :d], vectors) - decay * z[:, d:]
    if not problem.trains_output_layer:
        found[:, d:] = 0.0
    return found


def gradient_of_variant(
    problem: TrainingProblem,
    z: FloatArray,
    weight: FloatArray,
    pulls: RelativePulls,
    log_scale: float,
    bias_square: float = 0.0,
) -> Gradient:
    """Norms and angles of the gradient of the loss and its penalty, over the weights that are trained.

    From the velocities themselves: near a stationary point they are differences of numbers that are not small.
    """
    moved, trained = velocities(problem, z, pulls), z
    if not problem.trains_output_layer:
        d = pulls.by_output.shape[2]
        moved, trained = moved[:, :d], z[:, :d]
    square = float(weight @ np.einsum("ji,ji->j", moved, moved))
    along = float(weight @ np.einsum("ji,ji->j", moved, trained))
    size = float(weight @ np.einsum("ji,ji->j", trained, trained))
    return Gradient.from_moments(square, along, size, pulls.log_rate, log_scale, bias_square)


def with_outputs_of(start: Network, network: Network) -> Network:
    """A network with the output weights of another one, to the last digit: those of a frozen layer."""
    return network.replace(v=start.v * np.exp(start.log_scale - network.log_scale))


def is_settled_variant(problem: TrainingProblem, z: FloatArray, pulls: RelativePulls, outputs: FloatArray) -> bool:
    """Whether every neuron is at rest, or shrinks for ever under the present forces.

    Decay does not turn a neuron, so one that still moves goes where `align` says, and then grows at the rate |D| minus
    the decay: it must be below 0 there. With a frozen output layer nothing grows by itself; all must be at rest.
    """
    X, loss = problem.dataset.X, problem.loss
    strongest = largest_pull(problem)
    rate = max(problem.weight_decay, strongest) * float(np.exp(min(-pulls.log_rate, _LARGEST_LOG)))
    size = np.linalg.norm(z, axis=1)
    speed = np.linalg.norm(velocities(problem, z, pulls), axis=1)
    moves = speed > _RESTING * rate * size
    if not problem.trains_output_layer:
        return not np.any(moves & np.any(z[:, problem.dataset.d :], axis=1))
    if not np.any(moves):
        return True
    if problem.weight_decay == 0.0:
        return False
    if not problem.has_single_output:
        return bool(np.all(_shrinks_in_place(problem, z[moves], pulls.by_output[moves] * np.exp(pulls.log_rate))))
    forces = loss.forces(outputs, problem.dataset.y)
    ahead = align(X, forces, z[moves, :-1], z[moves, -1], leak=problem.network.leak, zero_stays=True)
    growth = np.linalg.norm(ahead.vectors, axis=1)  # 0 where nothing pulls any more; one that shrinks is below it
    return bool(np.all((ahead.ends != OPEN) & (growth < (1.0 - _STEADY) * problem.weight_decay)))


def largest_pull(problem: TrainingProblem) -> float:
    """What all samples together can pull with where all outputs are 0."""
    forces = problem.label_forces
    sizes = np.abs(forces) if forces.ndim == 1 else np.linalg.norm(forces, axis=1)
    return float(sizes @ np.linalg.norm(problem.dataset.X, axis=1))


def _shrinks_in_place(problem: TrainingProblem, z: FloatArray, pulls: FloatArray) -> BoolArray:
    """Which neurons of several outputs lie along the leading pair of their pull, where they stay, and shrink there.

    The leading pair is that of the largest singular value, at which the neuron would grow without decay.
    """
    left, values, right = np.linalg.svd(pulls, full_matrices=False)  # pulls (m, K, d)
    d = problem.dataset.d
    along = np.einsum("jd,jd->j", z[:, :d], right[:, 0]) + np.einsum("jc,jc->j", z[:, d:], left[:, :, 0])
    is_aligned = along**2 >= 2.0 * (1.0 - _RESTING) * np.einsum("ji,ji->j", z, z)
    return np.asarray(is_aligned & (values[:, 0] < (1.0 - _STEADY) * problem.weight_decay))
