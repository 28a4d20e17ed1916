"""How the tests of lyu2021 tamper with a run or a record: what several of their forgeries share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from forging import (
    Forge,
    in_sweep,
    rotation,
    with_record,
    with_snapshots,
)
from reluflow.network import Network
from reluflow.papers.lyu2021.theorems.closed_form_kkt import DirectionAndBest
from reluflow.papers.lyu2021.theorems.hinted import HintsAndBest
from reluflow.papers.lyu2021.theorems.homogeneous_nets import FeasiblePoints
from reluflow.papers.lyu2021.theorems.linear_maximiser import MaximiserAndPairs
from reluflow.papers.lyu2021.theorems.middle_points import NeuronAndBest
from reluflow.papers.lyu2021.theorems.unit_ball import DrawnNetworks, State
from reluflow.theory.evidence import Evidence

Change = Callable[[Network], Network]


def stretched(network: Network, factor: float = 1.3) -> Network:
    """Input weights longer, so that the neurons are not balanced."""
    return network.replace(w=factor * network.w)


def scaled(network: Network, factor: float) -> Network:
    return network.replace(w=factor * network.w, a=factor * network.a)


def turned_network(network: Network, angle: float) -> Network:
    return network.replace(w=network.w @ rotation(angle, network.d).T)


def towards(network: Network, angle: float) -> Network:
    """Every neuron in one direction."""
    lengths = np.linalg.norm(network.w, axis=1, keepdims=True)
    return network.replace(w=lengths * rotation(angle, network.d)[:, 0])


def one_neuron_scaled(network: Network, index: int, factor: float) -> Network:
    factors = np.ones(network.num_neurons)
    factors[index] = factor
    return network.replace(w=factors[:, None] * network.w, a=factors * network.a)


def of_other_samples(evidence: Evidence, angle: float) -> Evidence:
    """The run is one on samples that are turned, so its limit is the limit there."""
    return with_samples(evidence, lambda X, y: X @ rotation(angle, X.shape[1]).T)


def with_samples(evidence: Evidence, change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Evidence:
    problem = evidence.run.problem
    data = problem.dataset
    other = replace(problem, dataset=data.replace(X=change(data.X, data.y)))
    return replace(evidence, trajectory=replace(evidence.run, problem=other))


def in_all_runs(evidence: Evidence, forge: Forge) -> Evidence:
    """The run and that of every other scale."""
    return in_sweep(forge(evidence), forge)


def scaled_outputs(evidence: Evidence, factor: float, *, at: int | slice = -1) -> Evidence:
    """Recorded outputs multiplied."""
    return with_snapshots(evidence, lambda s: replace(s, outputs=factor * s.outputs), at=at)


def last_time_scaled(evidence: Evidence, factor: float) -> Evidence:
    return with_snapshots(evidence, lambda s: replace(s, time=factor * s.time))


def middle(evidence: Evidence) -> int:
    return len(evidence.run.snapshots) // 2


def second_half(evidence: Evidence) -> slice:
    return slice(middle(evidence), None)


def states_changed(evidence: Evidence, change: Callable[[State], State], *, first: int = 0) -> Evidence:
    """The drawn networks or their outputs changed, from one of them on."""
    drawn = evidence.recorded(DrawnNetworks).states
    return with_record(evidence, states=(*drawn[:first], *(change(s) for s in drawn[first:])))


def outputs_scaled(evidence: Evidence, factor: float, *, first: int = 0) -> Evidence:
    return states_changed(evidence, lambda s: State(s.network, factor * s.outputs), first=first)


def networks_scaled(evidence: Evidence, factor: float) -> Evidence:
    return states_changed(evidence, lambda s: State(scaled(s.network, factor), s.outputs))


def best_claimed(evidence: Evidence, *, margin: float = 1.0, upper: float = 1.0) -> Evidence:
    """Another margin of the best network, or another upper bound of all."""
    record = evidence.record
    assert isinstance(record, MaximiserAndPairs | FeasiblePoints | HintsAndBest | DirectionAndBest | NeuronAndBest)
    best = record.best
    assert best is not None
    return with_record(evidence, best=replace(best, margin=margin * best.margin, upper=upper * best.upper))


def record_scaled(evidence: Evidence, name: str, factor: float) -> Evidence:
    """One number or array of the record multiplied."""
    return with_record(evidence, **{name: factor * getattr(evidence.record, name)})
