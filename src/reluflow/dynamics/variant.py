"""The flow beyond the papers' model: weight decay and a frozen output layer; its velocity, and when it has settled.

With decay lambda a neuron z = (w, a) obeys z' = B(D) z - lambda z, where B(D) is what the pull does without decay; the
direction of z moves as if there were none, and z = e^(-lambda t) z~ with z~' = B(D) z~. With a frozen output layer
w' = a D - lambda w, and a stays.
"""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.gradient import Gradient, RelativePulls
from reluflow.dynamics.problem import TrainingProblem
from reluflow.geometry.alignment import OPEN, align
from reluflow.network import Network

_RESTING = 1e-6  # speed of a neuron, relative to its size and to the rates of the problem, that counts as none
_STEADY = 1e-6  # how far below the decay, relative to it, a growth rate must stay to be sure of the sign


def velocities(problem: TrainingProblem, z: FloatArray, pulls: RelativePulls) -> FloatArray:
    """dz/dt of neurons z = (w, a) relative to the rate of the pulls, shape (num_neurons, d + 1)."""
    decay = problem.weight_decay * np.exp(-pulls.log_rate) if problem.weight_decay else 0.0  # not 0 times infinity
    found = np.empty_like(z)
    found[:, :-1] = z[:, -1:] * pulls.vectors - decay * z[:, :-1]
    found[:, -1] = np.einsum("jd,jd->j", z[:, :-1], pulls.vectors) - decay * z[:, -1]
    if not problem.trains_output_layer:
        found[:, -1] = 0.0
    return found


def gradient_of_variant(
    problem: TrainingProblem, z: FloatArray, weight: FloatArray, pulls: RelativePulls, log_scale: float
) -> Gradient:
    """Norms and angles of the gradient of the loss and its penalty, over the weights that are trained.

    From the velocities themselves: near a stationary point they are differences of numbers that are not small.
    """
    moved, trained = velocities(problem, z, pulls), z
    if not problem.trains_output_layer:
        moved, trained = moved[:, :-1], z[:, :-1]
    square = float(weight @ np.einsum("ji,ji->j", moved, moved))
    along = float(weight @ np.einsum("ji,ji->j", moved, trained))
    size = float(weight @ np.einsum("ji,ji->j", trained, trained))
    return Gradient.from_moments(square, along, size, pulls.log_rate, log_scale)


def with_outputs_of(start: Network, network: Network) -> Network:
    """A network with the output weights of another one, to the last digit: those of a frozen layer."""
    return network.replace(a=start.a * np.exp(start.log_scale - network.log_scale))


def is_settled_variant(problem: TrainingProblem, z: FloatArray, pulls: RelativePulls, outputs: FloatArray) -> bool:
    """Whether every neuron is at rest, or shrinks for ever under the present forces.

    Decay does not turn a neuron, so one that still moves goes where `align` says, and then grows at the rate |D| minus
    the decay: it must be below 0 there. With a frozen output layer nothing grows by itself; all must be at rest.
    """
    X, loss = problem.dataset.X, problem.loss
    strongest = float(np.abs(loss.label_forces(problem.dataset.y)) @ np.linalg.norm(X, axis=1))
    rate = max(problem.weight_decay, strongest) * float(np.exp(-pulls.log_rate))
    size = np.linalg.norm(z, axis=1)
    speed = np.linalg.norm(velocities(problem, z, pulls), axis=1)
    moves = speed > _RESTING * rate * size
    if not problem.trains_output_layer:
        return not np.any(moves & (z[:, -1] != 0.0))
    if not np.any(moves):
        return True
    if problem.weight_decay == 0.0:
        return False
    forces = loss.forces(outputs, problem.dataset.y)
    ahead = align(X, forces, z[moves, :-1], z[moves, -1], leak=problem.network.leak, zero_stays=True)
    growth = np.linalg.norm(ahead.vectors, axis=1)  # 0 where nothing pulls any more; one that shrinks is below it
    return bool(np.all((ahead.ends != OPEN) & (growth < (1.0 - _STEADY) * problem.weight_decay)))
