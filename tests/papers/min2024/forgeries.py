"""One forgery per conclusion of min2024: exactly this conclusion fails, or also those named."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from forging import (
    ALL,
    LATER,
    Forge,
    Forgeries,
    Forgery,
    events_twice,
    in_companion,
    in_reverse,
    in_sweep,
    rotation,
    scaled_clock,
    scaled_input_weights,
    scaled_neurons,
    scaled_output_weights,
    scaled_times,
    shifted_log_scale,
    standing_still,
    turned,
    with_network,
    with_networks,
    with_outcome,
    with_record,
    with_snapshots,
)
from papers.min2024.cases import at_times
from reluflow.certificates.one_class import OneClassVectors
from reluflow.dynamics.event import EventKind, EventLog
from reluflow.dynamics.trajectory import Outcome
from reluflow.geometry.extremal import ExtremalVectors
from reluflow.network import Network
from reluflow.papers.min2024.theorems.aggregates import Aggregates
from reluflow.papers.min2024.theorems.alignment_paths import AlignmentTimes, LongestPaths
from reluflow.papers.min2024.theorems.class_groups import Group, dead_neurons, groups
from reluflow.papers.min2024.theorems.cone_geometry import Caps, ConeMembers, ConePoints, Outsiders
from reluflow.papers.min2024.theorems.constants import ProofConstants, data_constants, proof_constants
from reluflow.papers.min2024.theorems.counterexamples import BranchedPaths, EulerPaths, LeavingPath
from reluflow.papers.min2024.theorems.filippov import Exits, Selections
from reluflow.papers.min2024.theorems.moving_neurons import OUTSIDE, Moment, moments
from reluflow.papers.min2024.theorems.pattern_history import alignment_time
from reluflow.papers.min2024.theorems.random_start import Draws
from reluflow.papers.min2024.theorems.small_outputs import LEMMA_3, OutputGrid
from reluflow.papers.min2024.theorems.solutions import FirstStep
from reluflow.theory.evidence import Evidence

ODD = slice(1, None, 2)


def middle(evidence: Evidence) -> int:
    return len(evidence.run.snapshots) // 2


def first_half(evidence: Evidence) -> slice:
    return slice((len(evidence.run.snapshots) + 1) // 2)


def second_half(evidence: Evidence) -> slice:
    return slice(middle(evidence), None)


# Networks -------------------------------------------------------------------------------------------------------------


def chosen_neurons(network: Network, chosen: np.ndarray, *, w: np.ndarray | None = None, a: object = None) -> Network:
    """Other weights of the chosen neurons."""
    new_w = network.w if w is None else np.where(chosen[:, None], w, network.w)
    return network.replace(w=new_w, a=network.a if a is None else np.where(chosen, a, network.a))


def last_neuron_scaled(evidence: Evidence, factor: float, *, at: int | slice) -> Evidence:
    def change(network: Network) -> Network:
        last = np.arange(network.num_neurons) == network.num_neurons - 1
        return chosen_neurons(network, last, w=factor * network.w, a=factor * network.a)

    return with_networks(evidence, change, at=at)


def shifted(evidence: Evidence, share: float, *, at: int | slice) -> Evidence:
    """A share of its length added to every input weight, in a fixed direction: directions and norms both change."""

    def change(network: Network) -> Network:
        lengths = np.linalg.norm(network.w, axis=1, keepdims=True)
        return network.replace(w=network.w + share * lengths * np.linspace(-1.0, 1.0, network.d))

    return with_networks(evidence, change, at=at)


def spread(evidence: Evidence, *, at: int = -1) -> Evidence:
    """Neuron j lies along axis j, so that W has full rank."""

    def change(network: Network) -> Network:
        axes = np.eye(network.d)[np.arange(network.num_neurons) % network.d]
        return network.replace(w=np.linalg.norm(network.w, axis=1, keepdims=True) * axes)

    return with_networks(evidence, change, at=at)


def unbalanced(evidence: Evidence, factor: float, *, at: int) -> Evidence:
    """Longer input weights and smaller output weights, with the same outputs."""
    return with_networks(evidence, lambda n: n.replace(w=factor * n.w, a=n.a / factor), at=at)


def outputs_between_the_bounds(evidence: Evidence) -> Evidence:
    """The outputs of the first state lie between the sharp bound of Lemma 3 and the printed one, twice that."""
    log_bound = LEMMA_3.constants(evidence)["log_output_bound"] - 0.5 * math.log(2.0)
    factor = math.exp(log_bound - moments(evidence)[0].log_largest_output)
    return scaled_output_weights(evidence, factor, at=0)


def flatter_at_the_end(evidence: Evidence) -> Evidence:
    """The last neurons count for many and are shorter: the same outputs and loss, with half the slope of Lemma 15."""
    last, rate = moments(evidence)[-1], 4.0 * proof_constants(evidence).rate
    size = last.gauge * math.exp(last.network.log_scale)
    factor = 2.0 * size**2 * last.gauged_gradient_square / (last.loss_value**2 * rate)

    def change(network: Network) -> Network:
        root = math.sqrt(factor)
        return network.replace(w=network.w / root, a=network.a / root, weight=factor * network.weight)

    return with_snapshots(evidence, lambda s: with_network(s, change(s.network), evidence.run))


def large_in_the_middle(evidence: Evidence) -> Evidence:
    """The state in the middle of the run has weights of size 1."""
    return with_snapshots(
        evidence, lambda s: with_network(s, s.network.replace(log_scale=0.0), evidence.run), at=middle(evidence)
    )


def leaky_at_the_end(evidence: Evidence) -> Evidence:
    """The last state has a leak, so that dead neurons are pulled."""
    return with_snapshots(evidence, lambda s: with_network(s, s.network.replace(leak=0.3), evidence.run))


def vanished_at_the_start(evidence: Evidence, leak: float) -> Evidence:
    """In the first state the input weights are 0, where the slope of the activation is its leak."""
    return with_snapshots(
        evidence, lambda s: with_network(s, s.network.replace(w=0.0 * s.network.w, leak=leak), evidence.run), at=0
    )


def first_neuron_vanished(evidence: Evidence) -> Evidence:
    """In the first state one neuron is 0, and so active on no sample."""

    def change(network: Network) -> Network:
        return chosen_neurons(network, np.arange(network.num_neurons) == 0, w=0.0 * network.w)

    return with_networks(evidence, change, at=0)


def slowed(evidence: Evidence, chosen: Callable[[Moment], np.ndarray]) -> Evidence:
    """The chosen neurons of every state have a thousandth of their output weight, by which they turn."""
    for k, moment in enumerate(moments(evidence)):
        network = moment.network
        slow = chosen_neurons(network, chosen(moment), a=1e-3 * network.a)
        evidence = with_networks(evidence, lambda _, slow=slow: slow, at=k)
    return evidence


def newcomers_at_the_end(evidence: Evidence) -> Evidence:
    """In the last state every positive neuron points along the aggregate of its class."""
    towards = data_constants(evidence).total(1)
    return with_networks(evidence, lambda n: n.replace(w=np.linalg.norm(n.w, axis=1)[:, None] * towards), sign=1)


# Neurons of a class ---------------------------------------------------------------------------------------------------


def lightest(group: Group) -> np.ndarray:
    """The neuron of the group with the smallest norm at t_1, as a mask."""
    neuron = np.flatnonzero(group.neurons)[np.argmin(group.moments[0].log_norms[group.neurons])]
    return np.arange(len(group.neurons)) == neuron


def while_growing(evidence: Evidence, change: Callable[[Network], Network]) -> Evidence:
    """Other networks at the second and third state after t_1, well before t_2."""
    times = [moment.time for moment in groups(evidence)[0].moments][1:3]
    return at_times(evidence, lambda time: time in times, change)


def turned_while_growing(evidence: Evidence, degrees: float) -> Evidence:
    return while_growing(evidence, lambda n: n.replace(w=n.w @ rotation(math.radians(degrees), n.d).T))


def one_looks_away(evidence: Evidence) -> Evidence:
    """From t_2 on the lightest positive neuron points away from x_+."""
    group = groups(evidence)[0]
    chosen, fitted = lightest(group), group.fitted
    assert fitted is not None
    return at_times(evidence, lambda t: t >= fitted, lambda n: chosen_neurons(n, chosen, w=-n.w))


def one_turns_back(evidence: Evidence) -> Evidence:
    """Between t_1 and t_2 the lightest positive neuron points away from x_+."""
    group = groups(evidence)[0]
    chosen, towards = lightest(group), group.unit
    lengths = np.linalg.norm
    return while_growing(evidence, lambda n: chosen_neurons(n, chosen, w=-lengths(n.w, axis=1)[:, None] * towards))


def last_before_fit(evidence: Evidence, sign: int) -> int:
    """Index of the last state before t_2^+ or t_2^-."""
    group = next(g for g in groups(evidence) if g.sign == sign)
    return [snapshot.time for snapshot in evidence.run.snapshots].index(group.growing[-1].time)


def outputs_before_fit(evidence: Evidence, value: float, sign: int) -> Evidence:
    """Just before t_2^+ a neuron of this sign, which the group of x_+ does not count, adds `value` to its outputs.

    A negative one points along x_+, a positive one is also active on a negative sample.
    """
    data = data_constants(evidence)
    towards = data.total(1) / np.linalg.norm(data.total(1))
    if sign > 0:
        pool = np.random.default_rng(0).standard_normal((20_000, data.X.shape[1]))
        is_odd = np.all(pool @ data.X[data.y > 0].T > 0.0, axis=1) & np.any(pool @ data.X[data.y < 0].T > 0.0, axis=1)
        towards = pool[is_odd][np.argmax(np.min(pool[is_odd] @ data.X[data.y > 0].T, axis=1))]
    least = float(np.min(data.X[data.members(1)] @ towards))
    chosen = lightest(next(g for g in groups(evidence) if g.sign == sign))

    def change(network: Network) -> Network:
        unit = math.exp(-network.log_scale)
        rows = np.tile(unit * towards, (network.num_neurons, 1))
        return chosen_neurons(network, chosen, w=rows, a=unit * value / least)

    return with_networks(evidence, change, at=last_before_fit(evidence, 1))


def one_of_a_class_turned(evidence: Evidence, sign: int) -> Evidence:
    """In the second half of the run one neuron of a cone points elsewhere."""
    group = next(g for g in groups(evidence) if g.sign == sign)
    chosen = np.arange(len(group.neurons)) == np.flatnonzero(group.neurons)[-1]
    return with_networks(
        evidence,
        lambda n: chosen_neurons(n, chosen, w=n.w @ rotation(0.3, n.d).T),
        at=second_half(evidence),
    )


def dead_ones_grown(evidence: Evidence) -> Evidence:
    """In the last state the dead neurons are as long as a thousandth, where nothing has pulled them."""
    dead, directions = dead_neurons(evidence), moments(evidence)[-1].directions
    return with_networks(evidence, lambda n: chosen_neurons(n, dead, w=1e-3 * math.exp(-n.log_scale) * directions))


def one_dies(evidence: Evidence) -> Evidence:
    """From t_1 on the lightest negative neuron is dead, though it was active on its class at the start."""
    data, group = data_constants(evidence), groups(evidence)[1]
    is_active = np.any(evidence.network.pre_activations(data.X[group.own]) > 0.0, axis=1)
    chosen = lightest(replace(group, neurons=group.neurons & is_active))
    pool = np.random.default_rng(0).standard_normal((20_000, data.X.shape[1]))
    dead = pool[np.all(pool @ data.X.T < 0.0, axis=1)][0]
    t_1, lengths = proof_constants(evidence).t_1, np.linalg.norm
    return at_times(
        evidence,
        lambda time: time >= t_1,
        lambda n: chosen_neurons(n, chosen, w=lengths(n.w, axis=1)[:, None] * dead / lengths(dead)),
    )


# Events ---------------------------------------------------------------------------------------------------------------


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


def without_the_last_crossing(evidence: Evidence) -> Evidence:
    last = _crossings(evidence)[-1]
    return with_events(evidence, [k for k in range(len(evidence.run.events)) if k != last])


def aligned_at(evidence: Evidence, time: float) -> Evidence:
    """Every event later, the last crossing at this time."""
    return with_events(evidence, list(range(len(evidence.run.events))), factor=time / alignment_time(evidence))


def aligned_after_t_1(evidence: Evidence) -> Evidence:
    return aligned_at(evidence, 2.0 * proof_constants(evidence).t_1)


def aligned_between_the_bounds(evidence: Evidence) -> Evidence:
    constants = proof_constants(evidence)
    return aligned_at(evidence, 0.5 * (constants.t_1 + constants.t_1_sharp))


# Records --------------------------------------------------------------------------------------------------------------


def changed(kind: type, **changes: Callable[..., object]) -> Forge:
    """A forgery of a record: each named field replaced by a function of the record."""
    return lambda e: with_record(e, **{name: change(e.recorded(kind)) for name, change in changes.items()})


def inactive_draws(evidence: Evidence) -> Evidence:
    """No drawn neuron is active on a positive sample."""
    away = -data_constants(evidence).total(1)
    return with_record(evidence, directions=np.tile(away, (len(evidence.recorded(Draws).directions), 1)))


def draws_along_an_aggregate(evidence: Evidence) -> Evidence:
    directions = evidence.recorded(Draws).directions.copy()
    directions[0] = data_constants(evidence).total(1)
    return with_record(evidence, directions=directions)


def _drifting(path: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: path(times) + 0.1 * np.asarray(times)[:, None]


def _moved(path: Callable[[np.ndarray], np.ndarray], by: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: path(times) + by


def _first_replaced(paths: tuple[object, ...], first: object) -> tuple[object, ...]:
    return (first, *paths[1:])


def orthogonal_class_vectors(evidence: Evidence) -> Evidence:
    """The max-margin direction of the negative class is orthogonal to that of the positive one, and as long."""
    vectors = evidence.recorded(OneClassVectors)
    assert vectors.positive is not None
    assert vectors.negative is not None
    turned_away = rotation(0.5 * math.pi, vectors.positive.w.size) @ np.append(vectors.positive.w[:2], 0.0)
    return with_record(evidence, negative=replace(vectors.negative, w=turned_away))


def in_every_run(evidence: Evidence, forge: Forge) -> Evidence:
    return in_sweep(forge(evidence), forge)


FORGERIES: Forgeries = {
    ("remark1", "kept"): Forgery(lambda e: scaled_output_weights(e, 1.05, at=middle(e), sign=-1)),
    ("remark1", "descent"): Forgery(changed(FirstStep, w=lambda r: 1.01 * r.w)),
    ("remark2", "zeros"): Forgery(
        lambda e: in_companion(e, "zeroed", lambda c: with_networks(c, lambda n: n.replace(w=n.w + 1e-9)))
    ),
    ("eq4", "order"): Forgery(lambda e: in_every_run(e, lambda r: scaled_input_weights(r, 1.3, at=ALL))),
    ("extreme-vectors", "extremal"): Forgery(changed(ExtremalVectors, vectors=lambda r: 10.0 * r.vectors)),
    ("def1", "absorbing"): Forgery(in_reverse),
    ("def1", "frozen"): Forgery(leaky_at_the_end),
    ("thm1", "aligned"): Forgery(aligned_after_t_1, also=("aligned-sharp",)),
    ("thm1", "aligned-sharp"): Forgery(aligned_between_the_bounds),
    ("thm1", "classified"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("thm1", "survivors"): Forgery(one_dies),
    ("thm1", "one-way"): Forgery(one_crosses_thrice),
    ("thm1", "trapped"): Forgery(lambda e: standing_still(e, at=-1), also=("loss", "norm")),
    ("thm1", "window"): Forgery(lambda e: scaled_times(e, 0.1)),
    ("thm1", "loss"): Forgery(lambda e: scaled_neurons(e, 0.5, at=ODD)),
    ("thm1", "norm"): Forgery(lambda e: standing_still(e, at=-1), also=("trapped", "loss")),
    ("thm1", "low-rank"): Forgery(spread, also=("trapped", "loss", "limit-rank")),
    ("thm1", "limit-rank"): Forgery(spread, also=("trapped", "loss", "low-rank")),
    ("random-start", "frequency"): Forgery(inactive_draws),
    ("random-start", "reach"): Forgery(changed(Draws, ends=lambda r: {s: -p for s, p in r.ends.items()})),
    ("random-start", "assumption-2"): Forgery(draws_along_an_aggregate),
    ("refined-alignment", "cosine"): Forgery(one_looks_away),
    ("orthogonal-comparison", "no-gain"): Forgery(in_reverse),
    ("orthogonal-comparison", "membership"): Forgery(newcomers_at_the_end, also=("no-gain",)),
    ("lemma1", "error"): Forgery(lambda e: shifted(e, 0.1, at=first_half(e)), also=("error-sharp",)),
    ("lemma1", "error-sharp"): Forgery(lambda e: scaled_output_weights(e, 0.9, at=ALL)),
    ("eq7", "monotone"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("eq7", "one-way"): Forgery(one_crosses_thrice),
    ("eq7", "event-log"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("lemma2", "force"): Forgery(changed(OutputGrid, outputs=lambda r: 10.0 * r.outputs)),
    ("lemma3", "norms"): Forgery(lambda e: unbalanced(e, 1e4, at=0), also=("norms-sharp",)),
    ("lemma3", "outputs"): Forgery(lambda e: scaled_output_weights(e, 1e9, at=0), also=("outputs-sharp",)),
    ("lemma3", "norms-sharp"): Forgery(lambda e: shifted_log_scale(e, 3.0, at=0)),
    ("lemma3", "outputs-sharp"): Forgery(outputs_between_the_bounds),
    ("lemma3", "growth"): Forgery(lambda e: last_neuron_scaled(e, 20.0, at=-1)),
    ("lemma4", "error"): Forgery(lambda e: scaled_output_weights(e, 1.05, at=0)),
    ("lemma4", "identity"): Forgery(lambda e: scaled_output_weights(e, 1.05, at=middle(e), sign=-1)),
    ("lemma5", "cosine"): Forgery(changed(ConePoints, points=lambda r: np.vstack([r.points, -r.points[:1]]))),
    ("lemma5", "attained"): Forgery(changed(ConePoints, generators=lambda r: (1.0 + 1e-6) * r.generators)),
    ("lemma6", "convex"): Forgery(changed(ConeMembers, positive=lambda r: -r.positive)),
    ("lemma7", "depth"): Forgery(changed(ConePoints, points=lambda r: 0.9 * r.points)),
    ("lemma7", "inside"): Forgery(changed(ConePoints, points=lambda r: -r.points), also=("depth",)),
    ("lemma8", "cap"): Forgery(changed(Caps, inside=lambda r: r.beyond)),
    ("lemma8", "sharp"): Forgery(changed(Caps, beyond=lambda r: r.inside)),
    ("lemma8", "size"): Forgery(changed(Caps, largest=lambda r: 0.5 * r.largest)),
    ("lemma9", "cosine"): Forgery(changed(Outsiders, outsiders=lambda r: r.points)),
    ("lemma9", "attained"): Forgery(changed(Outsiders, closest=lambda r: rotation(0.1, r.closest.size) @ r.closest)),
    ("lemma10", "error"): Forgery(lambda e: shifted(e, 0.1, at=first_half(e))),
    ("lemma10", "formula"): Forgery(lambda e: with_record(e, across=lambda m, v: 1.000001 * m.across(v))),
    ("lemma11", "length"): Forgery(changed(Aggregates, sums=lambda r: 0.1 * r.sums), also=("length-sharp",)),
    ("lemma11", "length-sharp"): Forgery(changed(Aggregates, sums=lambda r: 0.95 * r.sums)),
    ("eq28", "window"): Forgery(changed(ProofConstants, horizon=lambda r: 0.9 * r.horizon)),
    ("eq28", "implies-29"): Forgery(changed(ProofConstants, log_first=lambda r: r.log_first + math.log(2.0))),
    ("eq29", "outputs"): Forgery(large_in_the_middle),
    ("boundary-speed", "speed"): Forgery(lambda e: scaled_output_weights(e, 1e-3, at=ALL)),
    ("dwell-time", "dwell"): Forgery(lambda e: scaled_clock(e, 100.0)),
    ("dwell-time", "towards"): Forgery(lambda e: slowed(e, lambda m: m.cones == OUTSIDE)),
    ("dwell-time", "away"): Forgery(lambda e: slowed(e, lambda m: m.cones == -m.signs)),
    ("dwell-time", "cap"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("paths", "valid"): Forgery(events_twice, also=("end",)),
    ("paths", "end"): Forgery(without_the_last_crossing),
    ("paths", "travel"): Forgery(lambda e: scaled_clock(e, 1e4)),
    ("paths", "maximal"): Forgery(changed(LongestPaths, positive=lambda r: r.positive + 1e-6)),
    ("eq30", "aligned"): Forgery(events_twice, also=("harmonic",)),
    ("eq30", "harmonic"): Forgery(lambda e: scaled_clock(e, 300.0)),
    ("eq30", "order"): Forgery(changed(AlignmentTimes, times=lambda r: r.times**10)),
    ("sharp-alignment", "aligned"): Forgery(lambda e: scaled_clock(e, 100.0)),
    ("lemma12", "dead"): Forgery(first_neuron_vanished),
    ("lemma12", "own-cone"): Forgery(in_reverse),
    ("lemma13", "norms"): Forgery(lambda e: scaled_times(e, 0.01)),
    ("lemma14", "norms"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("lemma15", "decrease"): Forgery(lambda e: vanished_at_the_start(e, 0.0), also=("decrease-sharp",)),
    ("lemma15", "decrease-sharp"): Forgery(lambda e: vanished_at_the_start(e, 0.7)),
    ("eq32", "loss"): Forgery(lambda e: scaled_output_weights(e, -1.0, at=LATER, sign=1)),
    ("eq32", "gradient"): Forgery(in_reverse),
    ("t2", "norms"): Forgery(in_reverse),
    ("rate", "slope"): Forgery(lambda e: scaled_times(e, 0.0), also=("slope-sharp",)),
    ("rate", "curve"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("rate", "slope-sharp"): Forgery(flatter_at_the_end),
    ("eq39", "lower"): Forgery(in_reverse, also=("slope",)),
    ("eq39", "upper"): Forgery(lambda e: scaled_clock(e, 100.0), also=("slope",)),
    ("eq39", "slope"): Forgery(lambda e: scaled_clock(e, 2.0)),
    ("eq40", "forces"): Forgery(lambda e: outputs_before_fit(e, -1.0, -1)),
    # a pull that vanishes has no direction; within a class of the example no other is far from x_+
    ("eq40", "cosine"): Forgery(lambda e: outputs_before_fit(e, 1e4, 1), also=("forces", "length", "aggregate")),
    ("eq40", "aggregate"): Forgery(lambda e: outputs_before_fit(e, 5.0, 1), also=("forces", "length")),
    ("eq40", "length"): Forgery(lambda e: outputs_before_fit(e, 0.235, 1), also=("forces",)),
    ("eq37", "turning"): Forgery(one_turns_back),
    ("eq37", "quarter"): Forgery(lambda e: outputs_before_fit(e, 10.0, 1), also=("turning",)),
    ("cosine-quarter", "cosine"): Forgery(one_turns_back),
    ("norm-growth", "rate"): Forgery(lambda e: turned_while_growing(e, 100.0)),
    ("norm-growth", "sum"): Forgery(lambda e: unbalanced(e, 2.3, at=last_before_fit(e, 1))),
    ("appD.3", "invariant"): Forgery(lambda e: scaled_output_weights(e, 1.05, at=middle(e), sign=-1)),
    ("appD.3", "invariant-size"): Forgery(lambda e: scaled_times(e, 0.5)),
    ("appD.3", "eq41"): Forgery(lambda e: one_of_a_class_turned(e, 1), also=("invariant",)),
    ("appD.3", "eq42"): Forgery(lambda e: one_of_a_class_turned(e, -1), also=("invariant",)),
    ("appD.3", "eq43"): Forgery(dead_ones_grown),
    ("appD.3", "sum"): Forgery(spread, also=("invariant", "eq41", "eq42")),
    ("appD.3", "norm"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("stable-rank", "bound"): Forgery(orthogonal_class_vectors, also=("approach",)),
    ("stable-rank", "approach"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("stable-rank", "ranks"): Forgery(lambda e: spread(e, at=0)),
    ("appE.1", "residual"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("appE.2", "pushed"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("appE.2", "one-way"): Forgery(one_crosses_thrice),
    ("appE.2", "count"): Forgery(events_twice, also=("one-way",)),
    ("appE.2", "unbranched"): Forgery(lambda e: with_outcome(e, Outcome.RIDGE)),
    ("appE.3", "euler"): Forgery(changed(EulerPaths, euler=lambda r: _first_replaced(r.euler, 10.0 * r.euler[0]))),
    ("appE.3", "no-solution"): Forgery(
        changed(EulerPaths, euler=lambda r: (r.euler[0], 0.5 * r.euler[1], r.euler[2])), also=("euler",)
    ),
    ("appE.3", "zero-slope"): Forgery(changed(EulerPaths, resting=lambda r: _moved(r.resting, 1.0))),
    ("appE.4", "stay"): Forgery(changed(BranchedPaths, resting=lambda r: _moved(r.resting, 1e-6))),
    ("appE.4", "filippov"): Forgery(changed(BranchedPaths, resting=lambda r: _drifting(r.resting)), also=("stay",)),
    ("appE.4", "leave"): Forgery(
        changed(BranchedPaths, leaving=lambda r: _first_replaced(r.leaving, LeavingPath(1e-6)))
    ),
    ("appE.4", "differ"): Forgery(
        changed(BranchedPaths, leaving=lambda r: _first_replaced(r.leaving, lambda t: 0.0 * r.resting(t)))
    ),
    ("remark8", "exit"): Forgery(changed(Exits, pulls=lambda r: -r.pulls)),
    ("eq50", "growth"): Forgery(lambda e: scaled_output_weights(e, -1.0, at=LATER, sign=1)),
    ("appF", "one-way"): Forgery(changed(Selections, vectors=lambda r: np.vstack([r.vectors, -r.vectors[:1]]))),
}
