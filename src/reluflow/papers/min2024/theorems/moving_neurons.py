"""Moments of a run: directions, norms, patterns and exact velocities at every snapshot, safe at any scale [min2024].

Derivatives come from the right-hand side of the flow, never from differences. With w_j = |w_j| u_j and a_j = s_j |a_j|:

    du_j/dt = (a_j/|w_j|) P_j G_j,    d log|w_j|/dt = (a_j/|w_j|) <u_j, G_j>,    G_j = sum_i sigma'(<w_j, x_i>) g_i x_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.losses import AbstractLoss
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.papers.min2024.theorems.constants import DataConstants, data_constants
from reluflow.theory.evidence import Evidence, computed_once

ON_BOUNDARY = 1e-12  # a cosine below this is 0 to rounding: dead neurons stand on a boundary to within 2e-16
UNIT_RATIO = 1e-10  # |a|/|w| this close to 1 is 1: the flow keeps it to 1e-15, and rounding must not pass for an error
TINY_OUTPUT = -200.0  # below e^-200 forces are the labels' to every digit, so their excess is linear in the outputs
SMALLEST_SEEN = 1e-290  # stored weights below this lose their digits, and then altogether
PLUS, MINUS, DEAD, OUTSIDE = 1, -1, 0, 2


def directions_of(w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Unit directions (m, d) and log norms (m,); direction 0 and log norm -inf for a neuron that is 0 in double."""
    largest = np.max(np.abs(w), axis=1)
    safe = np.where(largest > 0, largest, 1.0)
    scaled = w / safe[:, None]
    norms = np.linalg.norm(scaled, axis=1)
    with np.errstate(divide="ignore"):
        log_norms = np.where(largest > 0, np.log(safe) + np.log(norms), -np.inf)
    return scaled / np.where(norms > 0, norms, 1.0)[:, None], log_norms


def cones_of(active: BoolArray, y: FloatArray) -> IntArray:
    """Which of S_dead (0), S_+ (1), S_- (-1) each row of an activity matrix (m, n) stands for; 2 for none of them."""
    code = np.full(len(active), OUTSIDE, dtype=np.int64)
    code[np.all(active == (y > 0), axis=1)] = PLUS
    code[np.all(active == (y < 0), axis=1)] = MINUS
    code[~np.any(active, axis=1)] = DEAD  # last: with one class absent its cone is S_dead
    return code


@dataclass(frozen=True, eq=False)
class Moment:
    """The network at one time.

    Parameters
    ----------
    time
        When.
    network
        The neurons, exp(log_scale) times the stored shape.
    data, loss
        What they are trained on.
    directions, log_norms
        u_j (m, d) and log |w_j| (m,), the scale included.
    signs
        s_j = sign(a_j), shape (m,).
    seen
        Whether the network still holds the neuron's size, (m,): beside one of size 1, one of size e^-700 is beyond
        its doubles. Its direction is held all the same, and its size by `Snapshot.log_sizes`; where a snapshot has
        none, a lost neuron keeps the direction and sign it was last seen with, and a dead one also its norm, which
        else is nan.
    """

    time: float
    network: Network
    data: DataConstants
    loss: AbstractLoss
    directions: FloatArray
    log_norms: FloatArray
    signs: FloatArray
    seen: BoolArray

    @cached_property
    def ratios(self) -> FloatArray:
        """|a_j|/|w_j|, 1 for a balanced neuron and for one that is lost."""
        norms = row_norms(self.network.w)
        ratio = np.abs(self.network.a) / np.where(norms > 0, norms, 1.0)
        ratio[~self.seen | (norms == 0.0) | (np.abs(ratio - 1.0) <= UNIT_RATIO)] = 1.0
        return ratio

    @cached_property
    def cosines(self) -> FloatArray:
        """cos(w_j, x_i), shape (m, n)."""
        return np.asarray(self.directions @ self.data.X.T / np.linalg.norm(self.data.X, axis=1))

    @cached_property
    def active(self) -> BoolArray:
        """Whether <w_j, x_i> > 0, shape (m, n); sigma'(0) = leak."""
        return np.asarray(self.cosines > ON_BOUNDARY)

    @cached_property
    def cones(self) -> IntArray:
        """S_dead, S_+, S_- or none, per neuron."""
        return cones_of(self.active, self.data.y)

    @cached_property
    def slopes(self) -> FloatArray:
        """sigma'(<w_j, x_i>), shape (m, n)."""
        return np.where(self.active, 1.0, self.network.leak)

    @cached_property
    def outputs(self) -> FloatArray:
        """f(x_i); 0 below the range of a double."""
        return self.network.outputs(self.data.X)

    @cached_property
    def log_largest_output(self) -> float:
        """log max_i |f(x_i)|, at any scale."""
        with np.errstate(divide="ignore"):
            largest = np.log(np.max(np.abs(self.network.shape_outputs(self.data.X))))
        return float(largest + 2.0 * self.network.log_scale)

    @cached_property
    def forces(self) -> FloatArray:
        """g_i = -dL/df(x_i), shape (n,)."""
        return self.loss.forces(self.outputs, self.data.y)

    @cached_property
    def relative_excess(self) -> FloatArray:
        """(g_i - y_i) / max|f|, shape (n,), without cancellation, so that it keeps its digits at any scale."""
        shape = self.network.shape_outputs(self.data.X)
        largest = float(np.max(np.abs(shape)))
        if largest == 0.0:
            return np.zeros_like(shape)
        if self.log_largest_output < TINY_OUTPUT:
            slope = self.loss.sample_weight(self.data.n) * self.loss.curvature(np.zeros(self.data.n), self.data.y)
            start = self.loss.label_forces(self.data.y) - self.data.y  # 0 under Lemma 2
            return np.asarray(-slope * shape / largest + np.where(start == 0.0, 0.0, np.inf))
        return np.asarray(force_excess(self.loss, self.outputs, self.data.y) / np.exp(self.log_largest_output))

    @cached_property
    def pulls(self) -> FloatArray:
        """G_j, shape (m, d)."""
        return np.asarray((self.slopes * self.forces) @ self.data.X)

    @cached_property
    def active_sums(self) -> FloatArray:
        """x_a(w_j) = sum over active samples of y_i x_i (leak times the others), shape (m, d)."""
        return np.asarray((self.slopes * self.data.y) @ self.data.X)

    def across(self, vectors: FloatArray) -> FloatArray:
        """P_j v_j, the part of each vector orthogonal to its neuron, shape (m, d)."""
        along = np.sum(self.directions * vectors, axis=1)
        return np.asarray(vectors - along[:, None] * self.directions)

    @cached_property
    def turning(self) -> FloatArray:
        """du_j/dt, shape (m, d)."""
        return np.asarray((self.signs * self.ratios)[:, None] * self.across(self.pulls))

    @cached_property
    def growth(self) -> FloatArray:
        """d log|w_j| / dt, shape (m,)."""
        return np.asarray(self.signs * self.ratios * np.sum(self.directions * self.pulls, axis=1))

    @cached_property
    def loss_value(self) -> float:
        """L."""
        return self.loss.total(self.outputs, self.data.y)

    @cached_property
    def gauge(self) -> float:
        """The largest stored weight, by which weights are divided before they are squared."""
        return max(float(np.max(np.abs(self.network.w))), float(np.max(np.abs(self.network.a))))

    @cached_property
    def gauged_gradient_square(self) -> float:
        """|grad L|^2 of the weights over `gauge`: the true one is (gauge exp(log_scale))^2 times this."""
        w, a = self.network.w / self.gauge, self.network.a / self.gauge
        pull_square = np.sum(self.pulls**2, axis=1)
        return float(np.sum(a**2 * pull_square + np.sum(w * self.pulls, axis=1) ** 2))

    def relative_error(self) -> FloatArray:
        """|du_j/dt - s_j P_j x_a(w_j)| / max|f|, shape (m,), keeping its digits at any scale.

        The difference is (rho P sum_i sigma' (g_i - y_i) x_i + (rho - 1) P x_a) s_j with rho = |a_j|/|w_j|.
        """
        return np.asarray(np.linalg.norm(self.relative_error_vectors(), axis=1))

    def relative_error_vectors(self) -> FloatArray:
        """The vectors whose norms `relative_error` gives, shape (m, d)."""
        excess = self.across((self.slopes * self.relative_excess) @ self.data.X)
        error = self.ratios[:, None] * excess
        unbalanced = self.ratios != 1.0
        if np.any(unbalanced):
            with np.errstate(over="ignore", invalid="ignore"):
                growth = (self.ratios - 1.0)[:, None] * self.across(self.active_sums) * np.exp(-self.log_largest_output)
            error[unbalanced] += growth[unbalanced]
        return np.asarray(self.signs[:, None] * error)


def force_excess(loss: AbstractLoss, outputs: FloatArray, y: FloatArray) -> FloatArray:
    """g_i - y_i without cancellation for the losses of Lemma 2; by subtraction where the force at 0 is not y.

    >>> from reluflow.losses import ExponentialLoss
    >>> float(force_excess(ExponentialLoss(reduction="sum"), np.array([1e-30]), np.array([1.0]))[0])
    -1e-30
    """
    if not np.array_equal(loss.label_forces(y), y):
        return loss.forces(outputs, y) - y
    if loss.name == "exponential":
        return np.asarray(y * np.expm1(-y * outputs))
    if loss.name == "logistic":
        return np.asarray(-y * np.tanh(0.5 * y * outputs))
    return -outputs


def _lengths(w: FloatArray) -> FloatArray:
    """|w_j| of weights down to 1e-300, whose squares underflow; 1 where it is 0."""
    largest = np.max(np.abs(w), axis=1)
    safe = np.where(largest > 0.0, largest, 1.0)
    return np.asarray(np.where(largest > 0.0, safe * np.linalg.norm(w / safe[:, None], axis=1), 1.0))


@computed_once
def moments(evidence: Evidence) -> tuple[Moment, ...]:
    """One moment per snapshot, in order of time."""
    data = data_constants(evidence)
    found: list[Moment] = []
    for snapshot in evidence.run.snapshots:
        network = snapshot.network
        directions, log_norms = directions_of(network.w)
        log_norms = log_norms + network.log_scale
        signs, seen = np.sign(network.a), np.max(np.abs(network.w), axis=1) > SMALLEST_SEEN
        if snapshot.log_sizes is not None:
            shares = np.log(row_norms(np.column_stack([directions, network.a / _lengths(network.w)])))
            log_norms = snapshot.log_sizes - shares
        elif found and not np.all(seen):
            before = found[-1]
            directions = np.where(seen[:, None], directions, before.directions)
            signs = np.where(seen, signs, before.signs)
            log_norms = np.where(seen, log_norms, np.where(before.cones == DEAD, before.log_norms, np.nan))
        found.append(Moment(snapshot.time, network, data, evidence.loss, directions, log_norms, signs, seen))
    return tuple(found)


def moments_until(evidence: Evidence, time: float) -> tuple[Moment, ...]:
    """The moments not after `time`."""
    return tuple(moment for moment in moments(evidence) if moment.time <= time * (1.0 + 1e-12))


def moments_from(evidence: Evidence, time: float) -> tuple[Moment, ...]:
    """The moments not before `time`."""
    return tuple(moment for moment in moments(evidence) if moment.time >= time)
