"""A descent to its end, with its snapshots as arrays."""

from types import SimpleNamespace

import numpy as np

from reluflow.dynamics.keep import Keep
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.train import train


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
