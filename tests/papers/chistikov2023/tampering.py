"""How the tests of chistikov2023 tamper with a run or a record: what several of their forgeries share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from forging import (
    with_networks,
    with_record,
    with_snapshots,
)
from reluflow.network import Network
from reluflow.papers.chistikov2023.theorems.scene import Scene
from reluflow.theory.evidence import Evidence


def one_neuron(
    evidence: Evidence, change: Callable[[Network], Network], neuron: int, *, at: int | slice = -1
) -> Evidence:
    """One neuron of some snapshots changed."""

    def changed(network: Network) -> Network:
        w, a, other = network.w.copy(), network.a.copy(), change(network)
        w[neuron], a[neuron] = other.w[neuron], other.a[neuron]
        return network.replace(w=w, a=a)

    return with_networks(evidence, changed, at=at)


def one_scaled(evidence: Evidence, factor: float, neuron: int, *, at: int | slice = -1) -> Evidence:
    return one_neuron(evidence, lambda n: n.replace(w=factor * n.w, a=factor * n.a), neuron, at=at)


def with_last_loss(evidence: Evidence, loss: float) -> Evidence:
    return with_snapshots(evidence, lambda s: replace(s, loss=loss))


def teacher_scaled(evidence: Evidence, factor: float) -> Evidence:
    """The labels are no longer those of the teacher."""
    return with_record(evidence, teacher=factor * evidence.recorded(Scene).teacher)
