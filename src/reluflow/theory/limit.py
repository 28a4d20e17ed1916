"""Where a run ends, certified: the end point of a finite one, the limiting direction of one that grows for ever."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reluflow.certificates.backends.clarabel import RateColumn, smallest_rate
from reluflow.certificates.certify import Certificate, certify
from reluflow.data.dataset import Dataset
from reluflow.dynamics.trajectory import Outcome, Trajectory
from reluflow.network.network import Network

FloatArray = NDArray[np.float64]

_ENDED = (Outcome.STATIONARY, Outcome.DIRECTION_CONVERGED)
_CLOSE = 0.1  # a solved direction farther than this from the run's own is not taken for its limit


@dataclass(frozen=True, eq=False)
class CertifiedLimit:
    """The limit of a run and what it provably is.

    Parameters
    ----------
    network
        The limit: the polished end point, or the unit-norm direction the network converges to.
    certificate
        What that network is.
    distance
        How far the run's last network is from it: in parameters for a finite end point, in unit directions otherwise.
    is_proof
        Whether the certificate is about the run's own limit beyond doubt: the run ended by itself, and the limit was
        identified from its final patterns. A run cut short has none.
    reason
        One sentence on how the limit was found and why it is or is not a proof.
    """

    network: Network
    certificate: Certificate
    distance: float
    is_proof: bool
    reason: str


def certified_limit(trajectory: Trajectory) -> CertifiedLimit:
    """Find the limit of a run from its last state and certify it.

    A run whose outputs classify every sample under a classification loss grows for ever: its limit is a direction,
    solved for in the final activation patterns. Any other run has a finite end point, which `train` has polished.
    """
    problem = trajectory.problem
    if problem.loss.is_classification and np.all(trajectory.predictions * problem.dataset.y > 0.0):
        return _limiting_direction(trajectory)
    certificate = certify(trajectory.network, problem.dataset, problem.loss)
    is_proof = trajectory.outcome is Outcome.STATIONARY and certificate.kind != "not-stationary"
    reason = (
        trajectory.limit.reason if is_proof else f"{trajectory.outcome.sentence} The last state is judged as it is."
    )
    return CertifiedLimit(trajectory.network, certificate, 0.0, is_proof, reason)


def _limiting_direction(trajectory: Trajectory) -> CertifiedLimit:
    problem = trajectory.problem
    last = _unit(trajectory.network)
    solved = direction_in_patterns(last, problem.dataset)
    distance = _distance(last, solved)
    if distance > _CLOSE:
        reason = (
            f"The best direction in the final patterns is {distance:.2g} away from the run's own, so the patterns have "
            "not settled; the last direction is judged as it is."
        )
        return CertifiedLimit(last, certify(last, problem.dataset, problem.loss), distance, False, reason)
    certificate = certify(solved, problem.dataset, problem.loss)
    is_proof = trajectory.outcome in _ENDED and certificate.kind != "not-stationary"
    reason = f"Solved in the final patterns, {distance:.2g} from the last direction, which approaches it like 1/log t."
    if not is_proof:
        reason += f" Not a proof: {trajectory.outcome.sentence}"
    return CertifiedLimit(solved, certificate, distance, is_proof, reason)


def direction_in_patterns(network: Network, dataset: Dataset) -> Network:
    """The unit-norm network of largest margin whose neurons keep their signs and the patterns of their pulling samples.

    For fixed slopes on the samples that pull a neuron up (label of the sign of its output weight) the margin problem
    is convex, and a KKT direction with these slopes solves it. Within a group the solution is shared among the
    neurons as they share it now, since parallel neurons keep their ratios.

    References
    ----------
    Lyu et al. (2021), problem (M) and Def. B.8 [lyu2021].
    """
    X, y = dataset.X, dataset.y
    scale = float(np.max(np.linalg.norm(X, axis=1)))
    mass = network.weight * np.abs(network.a) * np.linalg.norm(network.w, axis=1)
    signs = np.sign(network.a)
    keys = np.where(y[None, :] == signs[:, None], network.pre_activations(X) > 0.0, False)
    labelled = np.column_stack([signs, keys])
    moving = np.flatnonzero(mass > 0.0)
    groups, group_of = np.unique(labelled[moving], axis=0, return_inverse=True)
    group_of = group_of.ravel()
    columns = []
    for sign, *is_on in groups:
        pulling, pushing = np.flatnonzero(y == sign), np.flatnonzero(y != sign)
        slopes = np.where(np.array(is_on, dtype=bool)[pulling], 1.0, network.leak)
        columns.append(RateColumn(pulling, pushing, slopes))
    vectors = smallest_rate(X / scale, network.leak, columns).vectors
    lengths = np.linalg.norm(vectors, axis=1)
    totals = np.bincount(group_of, weights=mass[moving], minlength=len(groups))
    w, a = np.zeros_like(network.w), np.zeros_like(network.a)
    for place, j in enumerate(moving):
        g = group_of[place]
        if lengths[g] > 0.0:
            # the group holds |a||w| = length / 2 in all; this neuron's part of it, per unit of its weight
            size = np.sqrt(0.5 * lengths[g] * mass[j] / totals[g] / network.weight[j])
            w[j], a[j] = size * vectors[g] / lengths[g], signs[j] * size
    return _unit(network.replace(w=w, a=a, log_scale=0.0))


def _unit(network: Network) -> Network:
    """The same direction with sum of weight (|w|^2 + a^2) equal to 1."""
    shape = network.replace(log_scale=0.0)
    norm = np.sqrt(shape.squared_norm())
    return shape.replace(w=shape.w / norm, a=shape.a / norm)


def _distance(one: Network, two: Network) -> float:
    """|theta_1 - theta_2| with the weights of the neurons."""
    squares = np.sum((one.w - two.w) ** 2, axis=1) + (one.a - two.a) ** 2
    return float(np.sqrt(np.sum(one.weight * squares)))
