"""A descent to its end, with its snapshots as arrays; and problems drawn at random to descend on."""

from types import SimpleNamespace

import numpy as np

from reluflow.data import Dataset
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.train import train
from reluflow.network import Network


def descend(problem, solver, iterations=()):
    """Train to the last iteration; networks, outputs, losses and times after those asked for."""
    run = train(problem, solver, until=Exhausted(), keep=Keep(iterations=iterations))
    return SimpleNamespace(
        outcome=run.outcome,
        iterations=[s.step for s in run.snapshots],
        times=[s.time for s in run.snapshots],
        losses=np.array([s.loss for s in run.snapshots]),
        outputs=np.array([s.outputs for s in run.snapshots]),
        networks=[s.network for s in run.snapshots],
    )


def random_problem(rng, *, loss, leak=0.0, d=3, n=6, width=40, scale=0.3) -> TrainingProblem:
    """Gaussian samples, neurons and output weights, neurons of any weight."""
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0) if loss.is_classification else rng.standard_normal(n)
    dataset = Dataset(rng.standard_normal((n, d)), y)
    network = Network(
        rng.standard_normal((width, d)), rng.standard_normal(width), leak=leak, log_scale=np.log(scale / np.sqrt(width))
    )
    return TrainingProblem(dataset, loss, network.replace(weight=rng.uniform(0.5, 2.0, width)))
