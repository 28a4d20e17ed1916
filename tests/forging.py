"""False evidence: plain functions that tamper with a run, with the runs beside it, or with a theorem's record.

A forgery takes the true evidence of a theorem and gives a false one on which exactly one conclusion fails, or also
those named. It changes what the check is given, a recorded state or a drawn or constructed object, and never a number
the check would compute from it. `at` says which snapshots: an index, or a slice such as `ALL` or `LATER`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reluflow.dynamics.event import EventLog
from reluflow.dynamics.trajectory import Outcome, Snapshot, Trajectory
from reluflow.network import Network
from reluflow.theory.evidence import Evidence

ALL, LATER = slice(None), slice(1, None)
HELD = 1e-290  # a neuron larger than this is as large as the network says
Forge = Callable[[Evidence], Evidence]


@dataclass(frozen=True)
class Forgery:
    """False evidence for one conclusion, and the conclusions that fail with it."""

    forge: Forge
    also: tuple[str, ...] = ()


Forgeries = Mapping[tuple[str, str], Forgery]  # by result, as in "lemma1", and conclusion


# Networks -------------------------------------------------------------------------------------------------------------


def rotation(angle: float, d: int) -> np.ndarray:
    """A turn in the plane of the first two coordinates; in one dimension the reflection."""
    turn = np.eye(d)
    if d > 1:
        turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    else:
        turn[0, 0] = -1.0
    return turn


def some_neurons(network: Network, changed: Network, sign: int) -> Network:
    """The changed network for neurons whose output weight has this sign (0: all), the true one for the others."""
    chosen = np.full(network.num_neurons, True) if sign == 0 else np.sign(network.a) == sign
    w, a = np.where(chosen[:, None], changed.w, network.w), np.where(chosen, changed.a, network.a)
    return network.replace(w=w, a=a)


# Snapshots ------------------------------------------------------------------------------------------------------------


def with_snapshots(evidence: Evidence, change: Callable[[Snapshot], Snapshot], *, at: int | slice = -1) -> Evidence:
    """Some snapshots changed."""
    snapshots = list(evidence.run.snapshots)
    chosen = range(len(snapshots))[at]
    for k in [chosen] if isinstance(chosen, int) else chosen:
        snapshots[k] = change(snapshots[k])
    return replace(evidence, trajectory=replace(evidence.run, snapshots=tuple(snapshots)))


def with_network(snapshot: Snapshot, network: Network, run: Trajectory) -> Snapshot:
    """A snapshot of another network, with the outputs, the loss and the sizes that network has."""
    outputs = network.outputs(run.problem.dataset.X)
    loss = run.problem.loss.total(outputs, run.problem.dataset.y)
    sizes = snapshot.log_sizes
    if sizes is not None:
        held, other = (
            np.hypot.reduce(np.column_stack([each.w, each.a]), axis=1) for each in (snapshot.network, network)
        )
        both = (held > 0.0) & (other > 0.0)
        grown = np.log(np.where(both, other / np.where(both, held, 1.0), 1.0))
        followed = sizes + grown + network.log_scale - snapshot.network.log_scale
        sizes = np.where(other > HELD, np.log(np.where(both, other, 1.0)) + network.log_scale, followed)
    return replace(snapshot, network=network, outputs=outputs, loss=loss, log_sizes=sizes)


def with_networks(
    evidence: Evidence, change: Callable[[Network], Network], *, at: int | slice = -1, sign: int = 0
) -> Evidence:
    """The networks of some snapshots changed, in all neurons or those of one sign."""

    def changed(snapshot: Snapshot) -> Snapshot:
        network = some_neurons(snapshot.network, change(snapshot.network), sign)
        return with_network(snapshot, network, evidence.run)

    return with_snapshots(evidence, changed, at=at)


def turned(evidence: Evidence, angle: float, *, at: int | slice = -1, sign: int = 0) -> Evidence:
    """Input weights turned."""
    return with_networks(evidence, lambda n: n.replace(w=n.w @ rotation(angle, n.d).T), at=at, sign=sign)


def scaled_neurons(evidence: Evidence, factor: float, *, at: int | slice = -1, sign: int = 0) -> Evidence:
    """Both layers multiplied."""
    return with_networks(evidence, lambda n: n.replace(w=factor * n.w, a=factor * n.a), at=at, sign=sign)


def scaled_input_weights(evidence: Evidence, factor: float, *, at: int | slice = -1, sign: int = 0) -> Evidence:
    """The first layer multiplied."""
    return with_networks(evidence, lambda n: n.replace(w=factor * n.w), at=at, sign=sign)


def scaled_output_weights(evidence: Evidence, factor: float, *, at: int | slice = -1, sign: int = 0) -> Evidence:
    """The second layer multiplied."""
    return with_networks(evidence, lambda n: n.replace(a=factor * n.a), at=at, sign=sign)


def shifted_log_scale(evidence: Evidence, shift: float, *, at: int | slice = -1) -> Evidence:
    """All weights multiplied by exp(shift), beyond the range of doubles too."""
    return with_snapshots(
        evidence,
        lambda s: with_network(s, s.network.replace(log_scale=s.network.log_scale + shift), evidence.run),
        at=at,
    )


def standing_still(evidence: Evidence, *, at: int | slice = LATER) -> Evidence:
    """The network of the first snapshot at later ones."""
    first = evidence.run.snapshots[0].network
    return with_snapshots(evidence, lambda s: with_network(s, first, evidence.run), at=at)


def in_reverse(evidence: Evidence) -> Evidence:
    """The networks in reverse order, the times as they were."""
    run = evidence.run
    networks = [s.network for s in reversed(run.snapshots)]
    snapshots = tuple(with_network(s, n, run) for s, n in zip(run.snapshots, networks, strict=True))
    return replace(evidence, trajectory=replace(run, snapshots=snapshots))


def scaled_losses(evidence: Evidence, factor: float, *, at: int | slice = -1) -> Evidence:
    """Recorded losses multiplied."""
    return with_snapshots(evidence, lambda s: replace(s, loss=factor * s.loss), at=at)


def scaled_times(evidence: Evidence, factor: float) -> Evidence:
    """The times of the snapshots multiplied, of nothing else."""
    return with_snapshots(evidence, lambda s: replace(s, time=factor * s.time), at=ALL)


# The rest of a run ----------------------------------------------------------------------------------------------------


def scaled_clock(evidence: Evidence, factor: float) -> Evidence:
    """Every time of the run multiplied: of snapshots, steps, events and the end."""
    run = evidence.run
    events = EventLog(run.events.neurons, run.events.samples, factor * run.events.times, run.events.codes)
    snapshots = tuple(replace(s, time=factor * s.time) for s in run.snapshots)
    changed = replace(run, events=events, snapshots=snapshots, times=factor * run.times, time=factor * run.time)
    return replace(evidence, trajectory=changed)


def with_end(evidence: Evidence, change: Callable[[Network], Network], *, sign: int = 0) -> Evidence:
    """The network at the end of the run, and that of its limit, changed."""
    run = evidence.run
    end = some_neurons(run.network, change(run.network), sign)
    return replace(evidence, trajectory=replace(run, network=end, limit=replace(run.limit, network=end)))


def events_twice(evidence: Evidence) -> Evidence:
    """Every event of the log happens twice."""
    log = evidence.run.events
    doubled = EventLog(*(np.repeat(part, 2) for part in (log.neurons, log.samples, log.times, log.codes)))
    return replace(evidence, trajectory=replace(evidence.run, events=doubled))


def with_outcome(evidence: Evidence, outcome: Outcome) -> Evidence:
    """Another reason for the end of the run."""
    return replace(evidence, trajectory=replace(evidence.run, outcome=outcome))


def in_sweep(evidence: Evidence, forge: Forge, *, at: int | slice = ALL) -> Evidence:
    """A forgery of runs at other scales."""
    other_scales = list(evidence.other_scales)
    chosen = range(len(other_scales))[at]
    for k in [chosen] if isinstance(chosen, int) else chosen:
        other_scales[k] = forge(other_scales[k])
    return replace(evidence, other_scales=tuple(other_scales))


def in_companion(evidence: Evidence, name: str, forge: Forge) -> Evidence:
    """A forgery of a run beside the problem's own."""
    other = evidence.beside(name)
    assert other is not None, f"there is no companion {name!r}"
    return replace(evidence, companions={**evidence.companions, name: forge(other).run})


# Records --------------------------------------------------------------------------------------------------------------


def with_record(evidence: Evidence, **changes: Any) -> Evidence:
    """Fields of the record changed: what the theorem drew or constructed, or what its own kind of run recorded."""
    record: Any = evidence.record
    assert record is not None, "there is no record; ask `theorem.recorded(evidence)`"
    return replace(evidence, record=replace(record, **changes))
