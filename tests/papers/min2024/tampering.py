"""How the tests of min2024 tamper with a run or a record: what several of their forgeries share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from forging import (
    Forge,
    with_networks,
    with_record,
)
from reluflow.dynamics.event import EventKind, EventLog
from reluflow.network import Network
from reluflow.papers.min2024.theorems.class_groups import Group
from reluflow.theory.evidence import Evidence


def middle(evidence: Evidence) -> int:
    return len(evidence.run.snapshots) // 2


def chosen_neurons(network: Network, chosen: np.ndarray, *, w: np.ndarray | None = None, a: object = None) -> Network:
    """Other weights of the chosen neurons."""
    new_w = network.w if w is None else np.where(chosen[:, None], w, network.w)
    return network.replace(w=new_w, a=network.a if a is None else np.where(chosen, a, network.a))


def spread(evidence: Evidence, *, at: int = -1) -> Evidence:
    """Neuron j lies along axis j, so that W has full rank."""

    def change(network: Network) -> Network:
        axes = np.eye(network.d)[np.arange(network.num_neurons) % network.d]
        return network.replace(w=np.linalg.norm(network.w, axis=1, keepdims=True) * axes)

    return with_networks(evidence, change, at=at)


def layers_traded(evidence: Evidence, factor: float, *, at: int) -> Evidence:
    """Longer input weights and smaller output weights, with the same outputs."""
    return with_networks(evidence, lambda n: n.replace(w=factor * n.w, a=n.a / factor), at=at)


def lightest(group: Group) -> np.ndarray:
    """The neuron of the group with the smallest norm at t_1, as a mask."""
    neuron = np.flatnonzero(group.neurons)[np.argmin(group.moments[0].log_norms[group.neurons])]
    return np.arange(len(group.neurons)) == neuron


def _crossings(evidence: Evidence) -> list[int]:
    kinds = (EventKind.REFRACTION, EventKind.DEATH)
    return [k for k, event in enumerate(evidence.run.events) if event.kind in kinds]


def with_events(evidence: Evidence, rows: list[int], *, factor: float = 1.0) -> Evidence:
    """The chosen rows of the event log, their times multiplied."""
    log = evidence.run.events
    events = EventLog(log.neurons[rows], log.samples[rows], factor * log.times[rows], log.codes[rows])
    return replace(evidence, trajectory=replace(evidence.run, events=events))


def one_crosses_thrice(evidence: Evidence) -> Evidence:
    """The first crossing happens, is taken back and happens again, all at once."""
    first, rows = _crossings(evidence)[0], list(range(len(evidence.run.events)))
    return with_events(evidence, [*rows[:first], first, first, *rows[first:]])


def changed(kind: type, **changes: Callable[..., object]) -> Forge:
    """A forgery of a record: each named field replaced by a function of the record."""
    return lambda e: with_record(e, **{name: change(e.recorded(kind)) for name, change in changes.items()})
