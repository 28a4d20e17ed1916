"""What the figures of Chistikov et al. (2023) share: the draws of Sec. 8, their training, angles within J_+."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, IndexArray
from reluflow.data.dataset import Dataset
from reluflow.data.published.chistikov2023 import correlated
from reluflow.dynamics import EventDrivenFlow, TrainingProblem
from reluflow.dynamics.stopping import Stationary
from reluflow.dynamics.train import train
from reluflow.losses import SquareLoss
from reluflow.network import Network

FITTED = 5e-10  # L where training stops: the authors' code has no factor 1/2 and stops at 1e-9 (erratum E8)
TIME_PER_ITERATION = 0.02  # the rate 0.01, and again no factor 1/2


@dataclass(frozen=True, eq=False)
class Draw:
    """Samples and neurons at scale 1 of one trial, shared by all scales."""

    dataset: Dataset
    z: FloatArray
    signs: FloatArray

    @property
    def group(self) -> IndexArray:
        """J_+: positive neurons with a sample inside at the start; the paper's "active neurons"."""
        return np.flatnonzero((self.signs > 0) & np.any(self.z @ self.dataset.X.T > 0.0, axis=1))

    def problem(self, log_scale: float) -> TrainingProblem:
        """The training problem at scale lambda = exp(log_scale)."""
        a = self.signs * np.linalg.norm(self.z, axis=1)
        return TrainingProblem(self.dataset, SquareLoss(), Network(self.z, a, log_scale=log_scale))


def draw(seed: int, *, d: int, width: int, centred: bool) -> Draw:
    """n = d samples, and neurons z ~ N(0, I/(d m)) with fair signs, at least one of them in J_+."""
    rng = np.random.default_rng([seed, d, width, int(centred)])
    dataset = correlated(rng, d=d, centred=centred)
    while True:
        z = rng.standard_normal((width, d)) / np.sqrt(d * width)
        trial = Draw(dataset, z, np.where(rng.integers(0, 2, width) == 1, 1.0, -1.0))
        if len(trial.group):
            return trial


def angles(w: FloatArray) -> FloatArray:
    """Angles of all pairs of rows in degrees; by atan2, which has no floor (erratum E14)."""
    unit = w / np.linalg.norm(w, axis=1)[:, None]
    first, second = np.triu_indices(len(unit), 1)
    apart = np.linalg.norm(unit[first] - unit[second], axis=1)
    along = np.linalg.norm(unit[first] + unit[second], axis=1)
    return np.asarray(np.rad2deg(2.0 * np.arctan2(apart, along)))


def trained(trial: Draw, log_scale: float, *, rtol: float = 1e-8) -> Network:
    """The network where the loss has fallen to `FITTED`, by the exact flow."""
    problem = trial.problem(log_scale)
    nothing_fitted = problem.loss.total(np.zeros(trial.dataset.n), trial.dataset.y)
    rule = Stationary(atol=1e-3, loss_rtol=FITTED / nothing_fitted)
    return train(problem, EventDrivenFlow(rtol=rtol), until=rule, horizon=4e5).network


def nuclear_norm(network: Network) -> float:
    """Sum of the singular values of W, the scale included."""
    return float(np.exp(network.log_scale) * np.sum(np.linalg.svd(network.w, compute_uv=False)))


def squared_norm(network: Network) -> float:
    """Sum of all squared weights, the scale included."""
    return float(np.exp(2.0 * network.log_scale) * (np.sum(network.w**2) + np.sum(network.a**2)))
