"""Paths in the grid of activation counts: what Figures 14 to 17 draw, read off the exact flow of many neurons.

App. C.2 follows a positive neuron through the pairs (positive samples, negative samples) that activate it. It gains
the first and loses the second, one sample at a time, until all positive ones and no negative one are active; the time
on an edge is at most 4/(kappa sqrt(mu) X_min) over the number of active samples. The maximal path is the longest of
all.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.data.dataset import Dataset
from reluflow.dynamics import AtTime, EventDrivenFlow, TrainingProblem
from reluflow.dynamics.train import train
from reluflow.network import Network
from reluflow.papers.min2024.figures.section_4 import (
    SCALE,
    SUMMED,
    class_sums,
    cosines,
    separable_samples,
    smallest_correlation,
)
from reluflow.papers.min2024.theorems.alignment_paths import paths_of
from reluflow.papers.min2024.theorems.pattern_history import pattern_history
from reluflow.papers.workbench import Workbench
from reluflow.theory.evidence import Evidence

Node = tuple[int, int]
Edge = tuple[Node, Node]


@dataclass(frozen=True)
class Settings:
    """The samples, how many positive neurons are followed, how far from x_- they may start, and for how long."""

    num_neurons: int
    n: int = 10
    d: int = 5
    spread: float = 0.45
    distance: float = 0.5
    seed: int = 4
    horizon: float = 12.0
    scale: float = SCALE


@dataclass(frozen=True, eq=False)
class CountPaths:
    """The paths of all neurons, a row for each.

    Parameters
    ----------
    nodes
        Pairs of counts, shape (neurons, steps, 2); -1 after the end of a path.
    times
        When each node is reached, shape (neurons, steps); not a number after the end of a path.
    num_positive, num_negative
        Of the samples.
    unit
        4/(kappa sqrt(mu) X_min), the travel time of an edge on which one sample is active.
    """

    nodes: IntArray
    times: FloatArray
    num_positive: int
    num_negative: int
    mu: float
    kappa: float
    unit: float


def compute(settings: Settings, workbench: Workbench) -> CountPaths:
    """The path of every neuron with the time of every step, by the exact flow."""
    data = separable_samples(settings.seed, n=settings.n, d=settings.d, spread=settings.spread)
    w = _neurons(settings, data)
    network = Network(w, np.ones(len(w)), log_scale=float(np.log(settings.scale)))
    problem = TrainingProblem(data, SUMMED, network)
    run = train(problem, EventDrivenFlow(rtol=1e-10), until=AtTime(settings.horizon))
    evidence = Evidence(problem, trajectory=run)
    paths, history = paths_of(evidence), pattern_history(evidence)
    longest = max(len(path) for path in paths)
    nodes = np.full((len(w), longest, 2), -1)
    times = np.full((len(w), longest), np.nan)
    for j, path in enumerate(paths):
        nodes[j, : len(path)] = path
        times[j, : len(path)] = [stay.start for stay in history.of(j)]
    mu = smallest_correlation(data)
    kappa = min(mu**2, 1.0 - float(np.max(cosines(w, class_sums(data)[1]))) ** 2)
    smallest = float(np.min(np.linalg.norm(data.X, axis=1)))
    return CountPaths(
        nodes=nodes,
        times=times,
        num_positive=int(np.sum(data.y > 0)),
        num_negative=int(np.sum(data.y < 0)),
        mu=mu,
        kappa=kappa,
        unit=float(4.0 / (kappa * np.sqrt(mu) * smallest)),
    )


def _neurons(settings: Settings, data: Dataset) -> FloatArray:
    """Unit vectors: half of them at random around x_-, where the longest paths begin, half anywhere."""
    rng = np.random.default_rng([settings.seed, 1])
    half = settings.num_neurons // 2
    middle = class_sums(data)[1]
    near = middle / np.linalg.norm(middle) + settings.distance * rng.standard_normal((half, data.d))
    w = np.vstack([near, rng.standard_normal((settings.num_neurons - half, data.d))])
    return np.asarray(w / np.linalg.norm(w, axis=1, keepdims=True))


def path_of(results: CountPaths, neuron: int) -> list[Node]:
    """The nodes a neuron goes through."""
    rows = results.nodes[neuron]
    return [(int(k_plus), int(k_minus)) for k_plus, k_minus in rows[rows[:, 0] >= 0]]


def reaching(results: CountPaths) -> list[int]:
    """The neurons that are not in S_+ at the start and reach it."""
    goal = (results.num_positive, 0)
    paths = [path_of(results, j) for j in range(len(results.nodes))]
    return [j for j, path in enumerate(paths) if path[-1] == goal and len(path) > 1]


def shown_neuron(results: CountPaths) -> int:
    """Of the neurons that reach S_+ in the most steps, the one in the middle by travel time."""
    chosen = reaching(results)
    length = max(len(path_of(results, j)) for j in chosen)
    longest = [j for j in chosen if len(path_of(results, j)) == length]
    return sorted(longest, key=lambda j: travel(path_of(results, j)))[len(longest) // 2]


def maximal_path(num_positive: int, num_negative: int) -> list[Node]:
    """(0, n_-), ..., (0, 1), (1, 1), (1, 0), ..., (n_+, 0).

    >>> maximal_path(2, 2)
    [(0, 2), (0, 1), (1, 1), (1, 0), (2, 0)]
    """
    down = [(0, k) for k in range(num_negative, 0, -1)]
    return [*down, (1, 1), *((k, 0) for k in range(1, num_positive + 1))]


def travel(path: list[Node]) -> float:
    """Sum of 1/(k_+ + k_-) over the edges, in units of 4/(kappa sqrt(mu) X_min).

    >>> travel(maximal_path(2, 2))
    3.0
    """
    return float(sum(1.0 / (k_plus + k_minus) for k_plus, k_minus in path[:-1]))


def partner(edge: Edge) -> Edge:
    """The edge of the maximal path that takes the place of one that changes one sample, and is no quicker.

    Losing a negative sample goes to (0, k_-) -> (0, k_- - 1), the last of them to (1, 1) -> (1, 0); gaining a positive
    one to (k_+, 0) -> (k_+ + 1, 0), the first of them to (0, 1) -> (1, 1).

    >>> partner(((2, 3), (2, 2))), partner(((0, 3), (1, 3)))
    (((0, 3), (0, 2)), ((0, 1), (1, 1)))
    """
    (k_plus, k_minus), (_, after) = edge
    if after < k_minus:
        return ((0, k_minus), (0, after)) if k_minus > 1 else ((1, 1), (1, 0))
    return ((k_plus, 0), (k_plus + 1, 0)) if k_plus > 0 else ((0, 1), (1, 1))


def edges(path: list[Node]) -> list[Edge]:
    """Its steps."""
    return list(pairwise(path))


def all_paths(num_positive: int, num_negative: int) -> list[list[Node]]:
    """Every path of single steps from any node to (n_+, 0) that avoids (0, 0)."""
    goal = (num_positive, 0)
    ending: dict[Node, list[list[Node]]] = {goal: [[goal]]}
    for k_plus in range(num_positive, -1, -1):
        for k_minus in range(num_negative + 1):
            here = (k_plus, k_minus)
            if here in (goal, (0, 0)):
                continue
            following = [(k_plus + 1, k_minus)] * (k_plus < num_positive) + [(k_plus, k_minus - 1)] * (k_minus > 0)
            ending[here] = [[here, *rest] for node in following for rest in ending.get(node, [])]
    return [path for found in ending.values() for path in found]
