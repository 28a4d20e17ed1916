"""What the figures of Chistikov et al. (2023) share: the draws of Sec. 8, their training, angles within J_+."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, IndexArray
from reluflow.data.dataset import Dataset
from reluflow.dynamics import TrainingProblem
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.stopping import AtTime, FirstOf, LossBelow, Stationary
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Snapshot, Trajectory
from reluflow.losses import SquareLoss
from reluflow.network import Network
from reluflow.papers.chistikov2023.data import correlated

FITTED = 5e-10  # L where training stops: the authors' code has no factor 1/2 and stops at 1e-9 (erratum E8)
TIME_PER_ITERATION = 0.02  # the rate 0.01, and again no factor 1/2
HORIZON = TIME_PER_ITERATION * 2e7  # the authors' largest number of iterations


@dataclass(frozen=True, eq=False)
class Draw:
    """Samples and neurons at scale 1 of one trial, shared by all scales."""

    dataset: Dataset
    z: FloatArray
    signs: FloatArray

    @property
    def group(self) -> IndexArray:
        """J_+: positive neurons with a sample inside at the start; the paper's "active neurons"."""
        return self.group_of(1)

    @property
    def teacher(self) -> FloatArray:
        """v*, which n = d samples within 90 degrees of it determine."""
        return np.asarray(np.linalg.solve(self.dataset.X, self.dataset.y))

    def group_of(self, sign: int) -> IndexArray:
        """Neurons of that output sign with a sample inside at the start."""
        return np.flatnonzero((self.signs * sign > 0) & np.any(self.z @ self.dataset.X.T > 0.0, axis=1))

    def problem(self, log_scale: float) -> TrainingProblem:
        """The training problem at scale lambda = exp(log_scale)."""
        a = self.signs * np.linalg.norm(self.z, axis=1)
        return TrainingProblem(self.dataset, SquareLoss(), Network(self.z, a, log_scale=log_scale))


def draw(seed: int, *, d: int, width: int, centred: bool) -> Draw:
    """n = d samples, and neurons z ~ N(0, I/(d m)) with fair signs, at least one of them in J_+."""
    rng = np.random.default_rng([seed, d, width, int(centred)])
    return with_neurons(correlated(rng, d=d, centred=centred), rng, width=width, signs=(1,))


def with_neurons(dataset: Dataset, rng: np.random.Generator, *, width: int, signs: tuple[int, ...]) -> Draw:
    """Neurons beside the samples, drawn anew until the group of each of the `signs` has one."""
    while True:
        z = rng.standard_normal((width, dataset.d)) / np.sqrt(dataset.d * width)
        trial = Draw(dataset, z, np.where(rng.integers(0, 2, width) == 1, 1.0, -1.0))
        if all(len(trial.group_of(sign)) for sign in signs):
            return trial


def largest_angle(w: FloatArray) -> float:
    """Largest angle of two rows in degrees, 0 for a single row."""
    return float(np.max(angles(w), initial=0.0))


def angles(w: FloatArray) -> FloatArray:
    """Angles of all pairs of rows in degrees; by atan2, which has no floor (erratum E14)."""
    unit = w / np.linalg.norm(w, axis=1)[:, None]
    first, second = np.triu_indices(len(unit), 1)
    apart = np.linalg.norm(unit[first] - unit[second], axis=1)
    along = np.linalg.norm(unit[first] + unit[second], axis=1)
    return np.asarray(np.rad2deg(2.0 * np.arctan2(apart, along)))


def trained(trial: Draw, log_scale: float, *, rtol: float = 1e-8) -> Trajectory:
    """The exact flow until the loss has fallen to `FITTED`, to a stationary point, or for 2e7 iterations.

    The last stretch is stiff, at the rate of the covariance's least eigenvalue; collocation passes it in long steps.
    """
    until = FirstOf((LossBelow(FITTED), Stationary(atol=1e-9)))
    return train(trial.problem(log_scale), CollocationFlow(rtol=rtol), until=until, horizon=HORIZON)


def followed(trial: Draw, log_scale: float, *, num_times: int, rtol: float = 1e-8) -> tuple[Snapshot, ...]:
    """Snapshots of the same run at times evenly spaced in their logarithm, from the first iteration to its end."""
    end = trained(trial, log_scale, rtol=rtol).time
    times = np.geomspace(TIME_PER_ITERATION, end, num_times)
    flow = CollocationFlow(rtol=rtol)
    return train(trial.problem(log_scale), flow, until=AtTime(end), keep=Keep(times=times)).snapshots


def nuclear_norm(network: Network) -> float:
    """Sum of the singular values of W, the scale included."""
    return float(np.exp(network.log_scale) * np.sum(np.linalg.svd(network.w, compute_uv=False)))


def squared_norm(network: Network) -> float:
    """Sum of all squared weights, the scale included."""
    return float(np.exp(2.0 * network.log_scale) * (np.sum(network.w**2) + np.sum(network.a**2)))
