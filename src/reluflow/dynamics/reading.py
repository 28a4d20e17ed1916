"""What can be read off a network in training: its gradient, whether it is settled or aligned, its balancedness.

Pure functions of the problem, the network and its outputs. They serve every method that knows nothing cheaper. Where
<w_j, x_k> is 0 to rounding the slope is the leak; a method whose neurons slide along boundaries knows better and says
so itself.
"""

from __future__ import annotations

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.gradient import Gradient, RelativePulls
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.variant import gradient_of_variant, is_settled_variant
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.network import Network

_SMALL_SQUARE = 1e-280  # a square above this has all its digits, the smallest of its terms included
_LARGE = 1e70  # a product of four numbers up to this is an ordinary double
LARGEST_LOG = 300.0  # ln of the size of the heaviest neuron up to which a network needs no `log_scale`
LIGHTEST = -690.0  # ln of the size, beside log_scale, that a neuron is given where its own would underflow
RESTING_PULL = 1e-6  # share of the pull of all labels together below which a neuron counts as at rest


def pulls_of(problem: TrainingProblem, network: Network, outputs: FloatArray) -> RelativePulls:
    """What all samples together do to each neuron; exact where forces that fade underflow."""
    dataset = problem.dataset
    forces, log_rate = relative_forces_of(problem, outputs)
    sizes = np.outer(lengths_of(network.w), np.linalg.norm(dataset.X, axis=1))
    is_active = network.pre_activations(dataset.X) > ROUNDING * sizes  # a neuron that died on a wall stands on it
    slopes = np.where(is_active, 1.0, network.leak)
    if forces.ndim == 1:
        return RelativePulls(np.asarray((slopes * forces) @ dataset.X), log_rate)
    pulls = [(slopes * forces[:, c]) @ dataset.X for c in range(forces.shape[1])]
    return RelativePulls(np.stack(pulls, axis=1), log_rate)


def relative_forces_of(problem: TrainingProblem, outputs: FloatArray) -> tuple[FloatArray, float]:
    """Forces of the samples, shape (n,) or (n, K), relative to a rate, and its logarithm; 1 where they do not fade."""
    loss, dataset = problem.loss, problem.dataset
    if not loss.fades:
        return loss.forces(outputs, dataset.y), 0.0
    logs = loss.log_force(outputs, dataset.y)
    top = float(np.max(logs))
    relative = np.exp(logs - top)
    total = float(np.sum(relative))
    log_rate = float(np.log(loss.sample_weight(dataset.n))) + top + float(np.log(total))
    return np.sign(loss.force_signs(dataset.y, problem.num_outputs)) * relative / total, log_rate


def bias_square_of(problem: TrainingProblem, forces: FloatArray) -> float:
    """Square of the gradient of the output bias, where that is trained, from the forces (n,) or (n, K); else 0."""
    return float(np.sum(np.square(np.sum(forces, axis=0)))) if problem.moves_output_bias else 0.0


def lengths_of(rows: FloatArray) -> FloatArray:
    """|w_j|, by the slow way only where squares leave the range of a double: a descent asks after every few steps.

    Elsewhere the root of the sum of squares to the last bit: steps of the flow are as long as rounding leaves them.
    """
    squares = np.einsum("jd,jd->j", rows, rows)
    lengths = np.sqrt(squares)
    is_odd = ~((squares > _SMALL_SQUARE) & (squares < np.inf))
    if np.any(is_odd):
        lengths[is_odd] = np.hypot.reduce(rows[is_odd], axis=1)
    return np.asarray(lengths)


def gradient_of(problem: TrainingProblem, network: Network, outputs: FloatArray) -> Gradient:
    """Norms and angles of the gradient of what is minimised, over the weights that are trained."""
    pulls = pulls_of(problem, network, outputs)
    if not problem.is_plain:
        bias_square = bias_square_of(problem, relative_forces_of(problem, outputs)[0])
        z = np.column_stack([network.w, network.v])
        return gradient_of_variant(problem, z, network.weight, pulls, network.log_scale, bias_square)
    # the last iterate before a descent diverges has numbers whose squares overflow
    unit = _unit_of(np.append(network.w, network.a))
    pull = _unit_of(pulls.vectors)
    w, a, vectors = network.w / unit, network.a / unit, pulls.vectors / pull
    along = np.einsum("jd,jd->j", w, vectors)
    square = float(np.sum(network.weight * (np.square(a) * np.einsum("jd,jd->j", vectors, vectors) + np.square(along))))
    size = float(np.sum(network.weight * (np.square(a) + np.einsum("jd,jd->j", w, w))))
    product = 2.0 * float(np.sum(network.weight * a * along))
    log_scale = network.log_scale + float(np.log(unit) + np.log(pull))
    return Gradient.from_moments(square, product, size, pulls.log_rate, log_scale)


def _unit_of(values: FloatArray) -> float:
    """1, or the largest size of values that are too large for a product of four."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return largest if largest > _LARGE else 1.0


def is_settled(problem: TrainingProblem, network: Network, outputs: FloatArray) -> bool:
    """Whether every neuron with a pull on it shrinks for ever against that pull, so that none will grow later."""
    pulls, dataset = pulls_of(problem, network, outputs), problem.dataset
    if not problem.is_plain:
        return is_settled_variant(problem, np.column_stack([network.w, network.v]), pulls, outputs)
    start = np.abs(problem.loss.label_forces(dataset.y)) @ np.linalg.norm(dataset.X, axis=1)
    is_pulled = np.linalg.norm(pulls.vectors, axis=1) * np.exp(pulls.log_rate) > RESTING_PULL * start
    return bool(np.all(shrinks_for_ever(network.w[is_pulled], network.a[is_pulled], pulls.vectors[is_pulled])))


def misalignment_of(problem: TrainingProblem, network: Network, outputs: FloatArray) -> float:
    """Largest 1 - cos(w_j, a_j D_j) over the neurons that are pulled."""
    vectors = pulls_of(problem, network, outputs).by_output
    is_pulled = np.any(vectors, axis=(1, 2))
    cosines = cosines_with(network.w, pulled_towards(network.v, vectors))
    return float(1.0 - np.min(cosines[is_pulled], initial=1.0))


def pulled_towards(v: FloatArray, pulls: FloatArray) -> FloatArray:
    """Where neurons are pulled, up to a factor: D_j v_j from v (m, K) and D (m, K, d), for one output sign(a_j) D_j."""
    return np.sign(v) * pulls[:, 0] if v.shape[1] == 1 else np.einsum("jc,jcd->jd", v, pulls)


def cosines_with(w: FloatArray, towards: FloatArray) -> FloatArray:
    """cos(w_j, towards_j), 0 where a factor is zero."""
    lengths = np.linalg.norm(w, axis=1) * np.linalg.norm(towards, axis=1)
    products = np.einsum("jd,jd->j", w, towards)
    return np.asarray(products / np.where(lengths > 0.0, lengths, 1.0))


def shrinks_for_ever(w: FloatArray, a: FloatArray, pulls: FloatArray) -> BoolArray:
    """Which neurons point straight against a_j D_j and have |a_j| = |w_j|, both to rounding, or are zero already.

    Any other one turns in the end, however little it is off: what it has across the pull stays while the rest shrinks,
    and where |a_j| and |w_j| differ the smaller one goes through zero. It then grows. One at zero stands still whatever
    pulls on it.

    >>> w, pull = np.array([[-1.0, 0.0], [-1.0, 1e-6], [-1.0, 0.0]]), np.array([[1.0, 0.0]])
    >>> shrinks_for_ever(w, np.array([1.0, 1.0, 1.1]), pull)
    array([ True, False, False])
    """
    size = np.hypot.reduce(w, axis=1)
    units = pulls / np.linalg.norm(pulls, axis=1, keepdims=True)
    along = np.sign(a) * np.einsum("jd,jd->j", w, units)
    across = np.hypot.reduce(w - (np.sign(a) * along)[:, None] * units, axis=1)
    is_balanced = np.abs(np.abs(a) - size) <= ROUNDING * size
    is_zero = (size == 0.0) & (a == 0.0)
    return np.asarray(is_zero | ((along < 0.0) & (across <= ROUNDING * size) & is_balanced))


def drift_between(start: Network, now: Network) -> float:
    """Largest change of |v_j|^2 - |w_j|^2, relative to the larger of the neuron's two squared norms."""
    top = max(start.log_scale, now.log_scale)  # a descent's is 0
    factors = (np.exp(network.log_scale - top) for network in (start, now))
    ends = [
        network.replace(w=network.w * factor, v=network.v * factor, log_scale=0.0)
        for network, factor in zip((start, now), factors, strict=True)
    ]
    largest = np.maximum(*(_squared_norms(network) for network in ends))
    drift = np.abs(ends[1].balancedness() - ends[0].balancedness())
    return float(np.max(np.divide(drift, largest, out=drift, where=largest > 0)))


def _squared_norms(network: Network) -> FloatArray:
    return np.asarray(network.squared_output_weights() + np.einsum("jd,jd->j", network.w, network.w))


def fit_doubles(log_norm: FloatArray) -> bool:
    """Whether `network_of` can hold neurons of these sizes."""
    top = float(np.max(log_norm))
    lightest = float(np.min(log_norm)) - (0.0 if abs(top) < LARGEST_LOG else top)
    return lightest >= LIGHTEST


def sizes_beyond_doubles(z: FloatArray, log_norm: FloatArray) -> FloatArray | None:
    """The logarithms of the sizes of neurons exp(log_norm) z where `network_of` cannot hold them all, else None."""
    if fit_doubles(log_norm):
        return None
    lengths = lengths_of(z)
    return np.asarray(log_norm + np.log(np.where(lengths > 0.0, lengths, 1.0)))


def network_of(
    z: FloatArray,
    log_norm: FloatArray,
    leak: float,
    weight: FloatArray,
    num_outputs: int = 1,
    b: FloatArray | None = None,
) -> Network:
    """The network of neurons exp(log_norm) z; its `log_scale` is 0 where they fit a double.

    A neuron too light for a double beside the others keeps its direction at the smallest size there is, for zero would
    be another point: it has no direction, and every way is open to it.
    """
    top = float(np.max(log_norm))
    log_scale = 0.0 if abs(top) < LARGEST_LOG else top
    z = z * np.exp(np.maximum(log_norm - log_scale, LIGHTEST))[:, None]
    w, v = z[:, :-num_outputs], z[:, -num_outputs:]
    return Network(w=w, v=v, b=b, leak=leak, weight=weight, log_scale=log_scale)
