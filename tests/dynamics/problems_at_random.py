"""Random small training problems: three losses, three leaks, three initialisations, d = 2..5 unless said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.data import Dataset
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import loss_named
from reluflow.network import Network

LOSSES = ("square", "logistic", "exponential")
LEAKS = (0.0, 0.2, 0.5)
INITIALIZATIONS = ("balanced", "dominated", "unbalanced")


@dataclass(frozen=True)
class RandomProblem:
    problem: TrainingProblem
    end: float


def random_problem(seed: int, *, leaks: tuple[float, ...] = LEAKS, largest_d: int = 5) -> RandomProblem:
    """The problem of one seed; 27 consecutive seeds visit every combination."""
    rng = np.random.default_rng(seed)
    d, n, m = int(rng.integers(2, largest_d + 1)), int(rng.integers(3, 9)), int(rng.integers(2, 9))
    loss, leak = LOSSES[seed % 3], leaks[(seed // 3) % 3]
    initialization = INITIALIZATIONS[(seed // 9) % 3]
    X = rng.standard_normal((n, d))
    y = rng.standard_normal(n) if loss == "square" else rng.choice([-1.0, 1.0], n)
    scale = 10.0 ** rng.uniform(-3.0, -0.5)
    w = rng.standard_normal((m, d))
    a = rng.choice([-1.0, 1.0], m) * np.linalg.norm(w, axis=1)
    if initialization == "dominated":
        a = a * rng.uniform(1.0, 3.0, m)
    if initialization == "unbalanced":
        a = rng.standard_normal(m)
    reduction = ("mean", "sum")[int(rng.integers(2))]
    end = float(rng.uniform(3.0, 12.0)) * (n if reduction == "mean" else 1) / 2.0
    problem = TrainingProblem(
        Dataset(X, y, task="regression"),
        loss_named(loss, reduction=reduction),
        Network(w=scale * w, a=scale * a, leak=leak),
    )
    return RandomProblem(problem, end)
