"""Short tasks timed in a process of their own: `python short_tasks.py REPEATS` prints their seconds as JSON.

The file is run with the source of one version or another first on the path, so it names nothing of `reluflow` but what
every version from 0.2 on has, and each task says no more than what a user would write.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import numpy as np


def _flow(name: str, width: int, loss: str, rtol: float, solver: str, end: float) -> Callable[[], object]:
    import reluflow

    data = reluflow.load(name)
    network = reluflow.balanced_initialization(data, width=width, scale=1e-3, rng=np.random.default_rng(0))
    losses = {"square": reluflow.SquareLoss(), "logistic": reluflow.LogisticLoss()}
    problem = reluflow.TrainingProblem(data, losses[loss], network)
    method = getattr(reluflow, solver)(rtol=rtol)
    return lambda: reluflow.train(problem, method, until=end)


def _limit() -> Callable[[], object]:
    import reluflow

    data = reluflow.load("min-toy")
    network = reluflow.balanced_initialization(data, width=20, scale=1e-3, rng=np.random.default_rng(0))
    problem = reluflow.TrainingProblem(data, reluflow.LogisticLoss(), network)
    run = reluflow.train(problem, reluflow.EventDrivenFlow(), until=1e6)
    return lambda: reluflow.certified_limit(run)


TASKS: dict[str, Callable[[], Callable[[], object]]] = {
    "event-driven-three-points": lambda: _flow("three-points", 200, "square", 1e-10, "EventDrivenFlow", 100.0),
    "event-driven-symmetric": lambda: _flow("lyu-symmetric", 20, "logistic", 1e-10, "EventDrivenFlow", 1e3),
    "collocation-stewart": lambda: _flow("stewart-digitised", 40, "square", 1e-6, "CollocationFlow", 20.0),
    "collocation-separable": lambda: _flow("linear-teacher", 30, "logistic", 1e-6, "CollocationFlow", 20.0),
    "certified-limit": _limit,
}


def seconds_of(task: Callable[[], object], repeats: int) -> float:
    """Smallest processor time of a few calls; the first, which may compile, does not count."""
    task()
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        task()
        best = min(best, time.process_time() - start)
    return best


def measured(names: list[str], repeats: int) -> dict[str, float | str]:
    """Seconds by name; a sentence where this version cannot do the task."""
    found: dict[str, float | str] = {}
    for name in names:
        try:
            found[name] = seconds_of(TASKS[name](), repeats)
        except Exception as error:  # an older version may not know it: said, never silent
            found[name] = f"{type(error).__name__}: {error}"
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measured(sys.argv[2:] or list(TASKS), int(sys.argv[1]))) + "\n")
