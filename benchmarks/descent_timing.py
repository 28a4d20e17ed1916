"""How long an iteration of gradient descent takes: plain, fused over the neurons, and grouped by cone.

    python benchmarks/descent_timing.py [--width 200000] [--plain-iterations 2000] [--grouped-iterations 2000000]

The problem is the three-point example of Boursier & Flammarion (2024), Sec. 6, balanced at scale 1e-3, lr 1e-3.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from reluflow.data import Dataset
from reluflow.dynamics.descent_run import descend
from reluflow.dynamics.gradient_descent import GradientDescent
from reluflow.dynamics.grouped_descent import GroupedGradientDescent
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import SquareLoss
from reluflow.network.initialization import initialization_named

LEARNING_RATE = 1e-3


def three_point_problem(width: int, *, init: str = "balanced", seed: int = 0) -> TrainingProblem:
    """The problem every timing is taken on."""
    dataset = Dataset([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]], [1.1, 0.1, 0.8])
    network = initialization_named(init)(dataset, width=width, scale=1e-3, rng=np.random.default_rng(seed))
    return TrainingProblem(dataset, SquareLoss(factor=2.0), network)


def seconds_for(
    problem: TrainingProblem, method: type[GradientDescent] | type[GroupedGradientDescent], n: int
) -> float:
    """Wall seconds for `n` iterations, compilation excluded."""
    method(lr=LEARNING_RATE, iterations=1).start(problem).iterate_to(1)
    run = method(lr=LEARNING_RATE, iterations=n).start(problem)
    began = time.perf_counter()
    run.iterate_to(n)
    return time.perf_counter() - began


def seconds_per_plain_iteration(width: int = 200_000, iterations: int = 2000) -> float:
    """Wall seconds of one iteration of the fused kernel: the best of five shares, as other work only adds to it."""
    problem, share = three_point_problem(width), max(1, iterations // 5)
    run = GradientDescent(lr=LEARNING_RATE, iterations=20 + 5 * share).start(problem)
    run.iterate_to(20)  # compiles and warms up
    seconds = []
    for number in range(1, 6):
        began = time.perf_counter()
        run.iterate_to(20 + number * share)
        seconds.append((time.perf_counter() - began) / share)
    return min(seconds)


def seconds_for_grouped(width: int = 200_000, iterations: int = 2_000_000, init: str = "balanced") -> float:
    """Wall seconds of a whole grouped run."""
    return seconds_for(three_point_problem(width, init=init), GroupedGradientDescent, iterations)


def disagreement(width: int = 200_000, iterations: int = 10_000, init: str = "balanced") -> dict[str, float]:
    """Largest differences between grouped and plain descent at eleven iterations up to the last."""
    problem = three_point_problem(width, init=init)
    stops = np.linspace(0, iterations, 11).astype(int)
    plain, grouped = (
        descend(problem, method(lr=LEARNING_RATE, iterations=iterations), iterations=stops)
        for method in (GradientDescent, GroupedGradientDescent)
    )
    weights, neurons, largest = 0.0, 0.0, np.zeros(width)
    for ours, theirs in zip(grouped.networks, plain.networks, strict=True):
        z = np.column_stack([theirs.w, theirs.a])
        distance = np.linalg.norm(np.column_stack([ours.w, ours.a]) - z, axis=1)
        largest = np.maximum(largest, np.linalg.norm(z, axis=1))
        weights = max(weights, float(np.max(distance) / np.max(np.abs(z))))
        neurons = max(neurons, float(np.max(distance / largest)))
    return {
        "outputs": float(np.max(np.abs(plain.outputs - grouped.outputs)) / np.max(np.abs(plain.outputs))),
        "losses": float(np.max(np.abs(plain.losses / grouped.losses - 1.0))),
        "weights_relative_to_the_largest": weights,
        "neurons_relative_to_their_largest_norm_so_far": neurons,
    }


def main() -> None:
    """Print all timings as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=200_000)
    parser.add_argument("--plain-iterations", type=int, default=2000)
    parser.add_argument("--grouped-iterations", type=int, default=2_000_000)
    parser.add_argument("--init", default="balanced")
    options = parser.parse_args()
    plain = seconds_per_plain_iteration(options.width, options.plain_iterations)
    grouped = seconds_for_grouped(options.width, options.grouped_iterations, options.init)
    result = {
        "width": options.width,
        "plain_seconds_per_iteration": plain,
        "grouped_iterations": options.grouped_iterations,
        "grouped_seconds": grouped,
        "plain_seconds_extrapolated": plain * options.grouped_iterations,
        "ratio": plain * options.grouped_iterations / grouped,
        "disagreement_over_10000_iterations": disagreement(options.width, init=options.init),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
