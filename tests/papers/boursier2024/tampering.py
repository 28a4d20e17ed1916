"""How the tests of boursier2024 tamper with a run or a record: what several of their forgeries share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from forging import (
    ALL,
    LATER,
    Forge,
    in_companion,
    in_sweep,
    rotation,
    with_end,
    with_networks,
    with_record,
    with_snapshots,
)
from reluflow.geometry.extremal import ExtremalVectors
from reluflow.network import Network
from reluflow.papers.boursier2024.theorems.critical_points import ExtremalPoints
from reluflow.theory.evidence import Evidence

ODD, SECOND = slice(1, None, 2), 1


def everywhere(evidence: Evidence, forge: Forge) -> Evidence:
    """The run forged, and that at every other scale of the sweep."""
    return in_sweep(forge(evidence), forge)


def changed_outputs(
    evidence: Evidence, change: Callable[[np.ndarray], np.ndarray], *, at: int | slice = ALL
) -> Evidence:
    """Recorded outputs that are not those of the recorded networks."""
    return with_snapshots(evidence, lambda s: replace(s, outputs=change(s.outputs)), at=at)


def some_scaled(network: Network, rows: int | slice, factor: float) -> Network:
    """Both layers of some neurons multiplied."""
    factors = np.ones(network.num_neurons)
    factors[rows] = factor
    return network.replace(w=factors[:, None] * network.w, a=factors * network.a)


def all_but_one_scaled(evidence: Evidence, factor: float) -> Evidence:
    """After the start all neurons but the first are larger or smaller."""
    return with_networks(evidence, lambda n: some_scaled(n, slice(1, None), factor), at=LATER)


def last_neuron_tiny_at_first(evidence: Evidence) -> Evidence:
    return with_networks(evidence, lambda n: some_scaled(n, -1, 1e-40), at=0)


def shifted(evidence: Evidence, *, w: float = 0.0, a: float = 0.0, at: int | slice = -1) -> Evidence:
    """The same number added to all entries of a layer."""
    return with_networks(evidence, lambda n: n.replace(w=n.w + w, a=n.a + a), at=at)


def negative_end_turned(evidence: Evidence) -> Evidence:
    """Negative neurons of the end point stand across the data."""
    return with_end(evidence, lambda n: n.replace(w=n.w @ rotation(0.3, n.d).T), sign=-1)


def other_end(evidence: Evidence, factor: float) -> Evidence:
    """The end point has other output weights."""
    return with_end(evidence, lambda n: n.replace(a=factor * n.a))


def other_ends(evidence: Evidence, factor: float, *names: str) -> Evidence:
    """So has that of runs beside it: the limit is another one, at every scale and width."""
    evidence = other_end(evidence, factor)
    for name in names:
        evidence = in_companion(evidence, name, lambda e: other_end(e, factor))
    return evidence


def with_vectors(evidence: Evidence, change: Callable[[ExtremalVectors], ExtremalVectors]) -> Evidence:
    return with_record(evidence, vectors=change(evidence.recorded(ExtremalPoints).vectors))
