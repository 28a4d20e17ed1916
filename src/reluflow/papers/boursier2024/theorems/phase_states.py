"""What Appendix F watches at one time: the sets I and N, their sizes, directions and outputs [boursier2024]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, SignArray
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import LIGHTEST
from reluflow.dynamics.trajectory import Snapshot
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.papers.boursier2024.theorems.spurious_constants import SpuriousConstants, constants_of
from reluflow.theory.evidence import Evidence, computed_once

KINK = 1e-9  # a neuron that dies stops on the boundary; rounding leaves it within 1e-15 of it, on either side
HELD = 1e-3  # ln of the size of a light neuron as it is stored over its own, above which it is not its own
RESOLUTION = 1e-30  # 1 - <wbar_i, wbar_j> below this is the square of rounding in the directions


@dataclass(frozen=True, eq=False)
class NeuronSets:
    """The neurons by their start: I (positive output, active somewhere), N (negative output), and the rest.

    The rest are positive neurons that are active on no sample; they never move.
    """

    positive: BoolArray
    negative: BoolArray

    @property
    def resting(self) -> BoolArray:
        """Positive and dead from the start."""
        return ~(self.positive | self.negative)


def neuron_sets(problem: TrainingProblem) -> NeuronSets:
    """I and N of Section 4, fixed at time 0."""
    network = problem.network
    is_active = np.any(network.pre_activations(problem.dataset.X) > 0.0, axis=1)
    return NeuronSets(positive=(network.a > 0.0) & is_active, negative=network.a < 0.0)


def signs_on(network: Network, X: FloatArray) -> SignArray:
    """Signs of <w_j, x_k>, 0 within rounding, shape (num_neurons, n)."""
    products, sizes = network.pre_activations(X), row_norms(network.w)[:, None] * np.linalg.norm(X, axis=1)
    return np.where(np.abs(products) <= KINK * sizes, 0, np.sign(products)).astype(np.int8)


def log_lambda_of(evidence: Evidence) -> float:
    """ln lambda of the network at time 0, lambda^2 = sum_j a_j(0)^2: the least scale for which Eq. (5) holds."""
    network = evidence.network
    return network.log_scale + 0.5 * float(np.log(np.sum(network.weight * network.a**2)))


@dataclass(frozen=True, eq=False)
class PhaseState:
    """One snapshot, read as Appendix F reads it.

    Parameters
    ----------
    snapshot
        The network at one time.
    start
        The network at time 0.
    sets
        I and N.
    X, y
        The data.
    constants
        Of the data.
    """

    snapshot: Snapshot
    start: Network
    sets: NeuronSets
    X: FloatArray
    y: FloatArray
    constants: SpuriousConstants

    @property
    def time(self) -> float:
        """When."""
        return self.snapshot.time

    @property
    def network(self) -> Network:
        """The network here."""
        return self.snapshot.network

    @cached_property
    def log_output_weights(self) -> FloatArray:
        """ln |a_j|, the scale included, also of neurons too light for a double beside the heaviest; -inf for 0."""
        with np.errstate(divide="ignore"):
            stored = np.log(np.abs(self.network.a)) + self.network.log_scale
        return np.asarray(np.where(self.is_held_up, stored - self._log_excess, stored))

    @cached_property
    def _log_excess(self) -> FloatArray:
        """ln of the size of each neuron as the network holds it over its own; 0 where that is not known."""
        if self.snapshot.log_sizes is None:
            return np.zeros(self.network.num_neurons)
        held = row_norms(np.column_stack([self.network.w, self.network.a]))
        return np.asarray(np.log(held) + self.network.log_scale - self.snapshot.log_sizes)

    @property
    def is_held_up(self) -> BoolArray:
        """Neurons too light for a double beside the heaviest: the network holds their directions, not their sizes."""
        return np.asarray(self._log_excess > HELD)

    @cached_property
    def log_start_weights(self) -> FloatArray:
        """ln |a_j(0)|."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.abs(self.start.a)) + self.start.log_scale)

    @property
    def log_growth(self) -> FloatArray:
        """ln |a_j/a_j(0)|."""
        return np.asarray(self.log_output_weights - self.log_start_weights)

    @property
    def has_lost_neurons(self) -> bool:
        """Whether a negative neuron is too light for a double beside the heaviest, and its size is not known."""
        largest = np.maximum(np.max(np.abs(self.network.w), axis=1), np.abs(self.network.a))
        is_lost = (largest <= np.exp(LIGHTEST)) & ~self.is_held_up
        return bool(np.any(is_lost & self.sets.negative & (self.start.a != 0.0)))

    def log_square_sum(self, members: BoolArray) -> float:
        """ln of sum over the members of weight a^2; -inf for none."""
        if not np.any(members):
            return -np.inf
        logs = 2.0 * self.log_output_weights[members] + np.log(self.network.weight[members])
        return float(np.logaddexp.reduce(logs))

    @cached_property
    def directions(self) -> FloatArray:
        """wbar_j = w_j / a_j, 0 where a_j is 0, shape (num_neurons, d)."""
        w, a = self.network.w, self.network.a[:, None]
        return np.asarray(np.divide(w, a, out=np.zeros_like(w), where=a != 0))

    @cached_property
    def cosines(self) -> FloatArray:
        """<wbar_i, x_k> / |x_k| for i in I, shape (|I|, n)."""
        return np.asarray(self.directions[self.sets.positive] @ self.X.T / self.constants.lengths)

    @cached_property
    def outputs(self) -> FloatArray:
        """h(x_k), shape (n,)."""
        return self.snapshot.outputs

    @cached_property
    def pull(self) -> FloatArray:
        """D^t = (1/n) sum_k (y_k - h(x_k)) x_k, the pull on a neuron active everywhere."""
        return np.asarray((self.y - self.outputs) @ self.X / self.y.size)

    def linear_part(self, members: BoolArray) -> FloatArray:
        """Sum over the members of weight a w, shape (d,)."""
        network = self.network
        factors = network.weight[members] * network.a[members]
        return np.asarray(np.exp(2.0 * network.log_scale) * (factors @ network.w[members]))

    @cached_property
    def beta_positive(self) -> FloatArray:
        """beta_I = sum over I of a w."""
        return self.linear_part(self.sets.positive)

    @cached_property
    def signs(self) -> SignArray:
        """Signs of <w_j, x_k>, 0 within rounding, shape (num_neurons, n)."""
        return signs_on(self.network, self.X)

    @cached_property
    def is_active_somewhere(self) -> BoolArray:
        """I_t: some <w_j, x_k> > 0."""
        return np.asarray(np.any(self.signs > 0, axis=1))

    @cached_property
    def is_mixed(self) -> BoolArray:
        """N_t: <w_j, x_k> of both signs."""
        return np.asarray(self.is_active_somewhere & np.any(self.signs < 0, axis=1))

    @cached_property
    def beta(self) -> FloatArray:
        """beta^t = sum over I_t of a w."""
        return self.linear_part(self.is_active_somewhere)

    @cached_property
    def log_mixed_norm(self) -> float:
        """ln R_t = ln of half the sum over N_t of |w|^2; -inf for none."""
        members = self.is_mixed
        if not np.any(members):
            return -np.inf
        ratios = row_norms(self.network.w[members]) / np.abs(self.network.a[members])
        logs = 2.0 * (self.log_output_weights[members] + np.log(ratios)) + np.log(self.network.weight[members])
        return float(np.logaddexp.reduce(logs)) + float(np.log(0.5))

    @cached_property
    def mixed_mass(self) -> float:
        """Q = sum over N_t of |a| |w|: how far h can be from a line on the data, over |x_k|."""
        members, network = self.is_mixed, self.network
        sizes = np.abs(network.a[members]) * row_norms(network.w[members])
        return float(np.exp(2.0 * network.log_scale) * (network.weight[members] @ sizes))

    @cached_property
    def pair_gaps(self) -> FloatArray:
        """1 - <wbar_i, wbar_j> over I x I, without cancellation.

        It is half of |wbar_i - wbar_j|^2 + (1 - |wbar_i|^2) + (1 - |wbar_j|^2), and a^2 - |w|^2 never changes.
        """
        wbar, shortfall = self.directions[self.sets.positive], self.shortfalls
        square = np.sum((wbar[:, None, :] - wbar[None, :, :]) ** 2, axis=2)
        return np.asarray(0.5 * (square + shortfall[:, None] + shortfall[None, :]))

    @property
    def shortfalls(self) -> FloatArray:
        """1 - |wbar_i|^2 over I, shape (|I|,)."""
        members = self.sets.positive
        invariant = self.start.balancedness()[members]
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(invariant * np.exp(2.0 * (self.start.log_scale - self.log_output_weights[members])))

    @cached_property
    def log_pair_gap(self) -> float:
        """ln of the largest 1 - <wbar_i, wbar_j> over I; -inf where doubles do not distinguish the directions."""
        largest = float(np.max(self.pair_gaps, initial=0.0))
        return float(np.log(largest)) if largest > RESOLUTION else -np.inf


@computed_once
def phase_states(evidence: Evidence) -> tuple[PhaseState, ...]:
    """Every snapshot of the run as Appendix F reads it, computed once."""
    problem, constants = evidence.problem, constants_of(evidence)
    sets = neuron_sets(problem)
    X, y = problem.dataset.X, problem.dataset.y
    return tuple(PhaseState(snapshot, problem.network, sets, X, y, constants) for snapshot in evidence.run.snapshots)
