"""Problems on which Min et al.'s results do not apply, the deterministic case, and ways to forge a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.event import EventLog
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import AbstractLoss, ExponentialLoss, LogisticLoss
from reluflow.network import Network, initialization_named
from reluflow.theory.evidence import Evidence
from theorem_cases import replace_network

EXPONENTIAL = ExponentialLoss(reduction="sum")
TWICE_LOGISTIC = LogisticLoss(reduction="sum", factor=2.0)


def drawn_problem(
    dataset: Dataset | str = "min-regression-case",
    *,
    loss: AbstractLoss = EXPONENTIAL,
    width: int = 8,
    scale: str = "1e-3",
    leak: float = 0.0,
    init: str = "min-balanced",
    seed: int = 0,
) -> TrainingProblem:
    data = load(dataset, seed=0) if isinstance(dataset, str) else dataset
    network = initialization_named(init)(data, width=width, scale=scale, rng=np.random.default_rng(seed), leak=leak)
    return TrainingProblem(data, loss, network)


def deterministic_problem(log_scale: float, loss: AbstractLoss = EXPONENTIAL) -> TrainingProblem:
    """12 unit neurons at 15 + 30k degrees with signs (+, +, -, -) repeated."""
    angles = np.deg2rad(15.0 + 30.0 * np.arange(12))
    signs = np.tile([1.0, 1.0, -1.0, -1.0], 3)
    w = np.column_stack([np.cos(angles), np.sin(angles)])
    return TrainingProblem(load("min-regression-case"), loss, Network(w, signs, log_scale=log_scale))


def dead_cone_dataset() -> Dataset:
    """(1, 0) positive and its rotation by 120 degrees negative: mu = 1/2, and directions in [210, 270] are dead."""
    return Dataset([[1.0, 0.0], [-0.5, np.sqrt(0.75)]], [1.0, -1.0], name="dead-cone")


not_separated = partial(drawn_problem, "min-orthogonal")
unbalanced = partial(drawn_problem, init="min-gaussian")
plain_logistic = partial(drawn_problem, loss=LogisticLoss(reduction="sum"))
averaged = partial(drawn_problem, loss=ExponentialLoss())
leaky = partial(drawn_problem, leak=0.2)
large_scale = partial(drawn_problem, scale="0.5")


def at_times(evidence: Evidence, chosen: Callable[[float], bool], change: Callable[[Network], Network]) -> Evidence:
    """Replace the network of the snapshots whose time is chosen."""
    run = evidence.run
    snapshots = tuple(replace_network(s, change(s.network), run) if chosen(s.time) else s for s in run.snapshots)
    return replace(evidence, trajectory=replace(run, snapshots=snapshots))


def everywhere(change: Callable[[Network], Network]) -> Callable[[Evidence], Evidence]:
    return lambda evidence: at_times(evidence, lambda time: True, change)


def last_snapshot(change: Callable[[Network], Network]) -> Callable[[Evidence], Evidence]:
    def forge(evidence: Evidence) -> Evidence:
        end = evidence.run.snapshots[-1].time
        return at_times(evidence, lambda time: time == end, change)

    return forge


def slower_clock(factor: float) -> Callable[[Evidence], Evidence]:
    """Every event and snapshot after the start is said to have happened `factor` times later."""

    def forge(evidence: Evidence) -> Evidence:
        run = evidence.run
        events = EventLog(run.events.neurons, run.events.samples, factor * run.events.times, run.events.codes)
        snapshots = tuple(replace(s, time=factor * s.time) for s in run.snapshots)
        other_scales = tuple(forge(other) for other in evidence.other_scales)
        return replace(evidence, trajectory=replace(run, events=events, snapshots=snapshots), other_scales=other_scales)

    return forge


def all_turned(degrees: float) -> Callable[[Network], Network]:
    """Every neuron of the plane rotated."""
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    return lambda network: network.rotated([[c, -s], [s, c]])
