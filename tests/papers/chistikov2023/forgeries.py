"""One forgery per conclusion of chistikov2023: exactly this conclusion fails, or also those named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from forging import (
    ALL,
    LATER,
    Forgeries,
    Forgery,
    events_twice,
    in_reverse,
    in_sweep,
    rotation,
    scaled_clock,
    scaled_input_weights,
    scaled_losses,
    scaled_neurons,
    scaled_output_weights,
    shifted_log_scale,
    turned,
    with_networks,
    with_record,
    with_snapshots,
)
from reluflow.dynamics.event import EventLog
from reluflow.geometry.alignment import AlignedState
from reluflow.network import Network
from reluflow.papers.chistikov2023.theorems.delta_bounds import Yardsticks
from reluflow.papers.chistikov2023.theorems.interpolators import TwoNeurons
from reluflow.papers.chistikov2023.theorems.least_norm import UnitNeurons
from reluflow.papers.chistikov2023.theorems.norms_of_interpolators import Interpolators
from reluflow.papers.chistikov2023.theorems.points_of_s import PointsOfS
from reluflow.papers.chistikov2023.theorems.polar_form import NUM_NODES
from reluflow.papers.chistikov2023.theorems.scene import Scene, scene
from reluflow.papers.chistikov2023.theorems.yardstick_laws import MovedNeurons, RandomYardsticks
from reluflow.papers.chistikov2023.theorems.yardsticks import Yardstick
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


def one_turned(evidence: Evidence, angle: float, neuron: int, *, at: int | slice = -1) -> Evidence:
    return one_neuron(evidence, lambda n: n.replace(w=n.w @ rotation(angle, n.d).T), neuron, at=at)


def one_unbalanced(evidence: Evidence) -> Evidence:
    return one_neuron(evidence, lambda n: n.replace(a=1.1 * n.a), 0, at=LATER)


def outputs_scaled(evidence: Evidence) -> Evidence:
    """At the last time outputs are recorded that the network does not have."""
    return with_snapshots(evidence, lambda s: replace(s, outputs=1.01 * s.outputs))


def with_last_loss(evidence: Evidence, loss: float) -> Evidence:
    return with_snapshots(evidence, lambda s: replace(s, loss=loss))


def longer_and_unbalanced(evidence: Evidence) -> Evidence:
    """At the last time w is twice as long and a half as long, so that the outputs are the same."""
    return scaled_output_weights(scaled_input_weights(evidence, 2.0), 0.5)


# Records --------------------------------------------------------------------------------------------------------------


def first_crossing(evidence: Evidence, *, other_sample: int = 0, later: float = 1.0) -> Evidence:
    """The first crossing of the vanishing-scale flow is with another sample, or at another time."""
    events = evidence.recorded(AlignedState).events
    samples, times = events.samples.copy(), events.times.copy()
    samples[0] += other_sample
    times[0] *= later
    return with_record(evidence, events=replace(events, samples=samples, times=times))


def crossings_at_once(evidence: Evidence) -> Evidence:
    events = evidence.recorded(AlignedState).events
    return with_record(evidence, events=replace(events, times=0.0 * events.times))


def aligned_the_other_way(evidence: Evidence) -> Evidence:
    w = evidence.recorded(AlignedState).w.copy()
    w[0] *= -1.0
    return with_record(evidence, w=w)


def aligned_longer(evidence: Evidence) -> Evidence:
    log_norms = evidence.recorded(AlignedState).log_norms.copy()
    log_norms[0] += 0.01
    return with_record(evidence, log_norms=log_norms)


def teacher_scaled(evidence: Evidence, factor: float) -> Evidence:
    """The labels are no longer those of the teacher."""
    return with_record(evidence, teacher=factor * evidence.recorded(Scene).teacher)


def first_sample_mirrored(evidence: Evidence) -> Evidence:
    X = evidence.recorded(Scene).X.copy()
    X[0] *= -1.0
    return with_record(evidence, X=X)


def yardsticks_changed(evidence: Evidence, change: Callable[[Yardstick], Yardstick]) -> Evidence:
    paths = evidence.recorded(Yardsticks).paths
    return with_record(evidence, paths={j: change(path) for j, path in paths.items()})


def data_of_positive_criterion(evidence: Evidence) -> Evidence:
    """Samples and teacher on which M > 0 and two neurons do better."""
    X, teacher = np.array([[0.9, 0.0, -0.1], [0.9, 1.0, 0.8], [1.5, 1.1, 0.4]]), np.array([0.8, 0.0, 0.6])
    return with_record(evidence, X=X / np.linalg.norm(X, axis=1)[:, None], teacher=teacher)


def obtuse_samples(evidence: Evidence) -> Evidence:
    """Two samples of the plane more than 90 degrees apart, the teacher along a vector of the dual basis."""
    X = np.array([[1.0, 0.0], [-0.6, 0.8]])
    return with_record(evidence, X=X, teacher=np.array([0.8, 0.6]))


def first_of_two_turned(evidence: Evidence) -> Evidence:
    network = evidence.recorded(TwoNeurons).network
    w = network.w.copy()
    w[0] = rotation(0.1, network.d) @ w[0]
    return with_record(evidence, network=network.replace(w=w))


def two_neurons_scaled(evidence: Evidence) -> Evidence:
    network = evidence.recorded(TwoNeurons).network
    return with_record(evidence, network=network.replace(w=1.1 * network.w, a=1.1 * network.a))


LATE_EDGE = (NUM_NODES + 1) * 28  # the state at the end of a late stretch, which is no node of it


def other_outputs_when_tiny(evidence: Evidence) -> Evidence:
    """Outputs at T_1, where V is too small to be held against them."""
    return with_snapshots(evidence, lambda s: replace(s, outputs=0.1 * evidence.dataset.y), at=0)


def a_late_crossing(evidence: Evidence) -> Evidence:
    """A neuron of J_+ meets a sample at the end of the run."""
    log, neuron, last = evidence.run.events, int(scene(evidence).positive[0]), evidence.run.time
    longer = EventLog(
        np.append(log.neurons, neuron),
        np.append(log.samples, 0),
        np.append(log.times, last),
        np.append(log.codes, log.codes[-1:]),
    )
    return replace(evidence, trajectory=replace(evidence.run, events=longer))


def interpolators_scaled(evidence: Evidence, factor: float) -> Evidence:
    return with_record(evidence, a=factor * evidence.recorded(Interpolators).a)


def opposite_samples(evidence: Evidence) -> Evidence:
    """Two samples that cancel each other's pull."""
    found = evidence.recorded(MovedNeurons)
    X = found.X.copy()
    X[1] = -X[0] * found.y[0] / found.y[1]
    return with_record(evidence, X=X)


def along_one_of_two_orthogonal(evidence: Evidence) -> Evidence:
    """Orthogonal samples, and at the start every neuron along the first of them."""
    found = evidence.recorded(MovedNeurons)
    w = found.w.copy()
    w[0] = np.linalg.norm(found.w[0], axis=1)[:, None] * np.eye(2)[0]
    return with_record(evidence, X=np.eye(2), w=w)


def moved_shorter(evidence: Evidence, shift: float) -> Evidence:
    """The neurons at the last time shorter by a factor."""
    logs = evidence.recorded(MovedNeurons).log_norms.copy()
    logs[-1] -= shift
    return with_record(evidence, log_norms=logs)


def turned_at_crossings(evidence: Evidence) -> Evidence:
    """Neurons a little aside of the wall that they meet."""
    found = evidence.recorded(MovedNeurons)
    w = found.w.copy()
    for step in np.flatnonzero(found.meets[:, 0] >= 0):
        w[step, found.meets[step, 0]] = w[step, found.meets[step, 0]] @ rotation(1e-6, 2).T
    return with_record(evidence, w=w)


def negative_along_gamma(evidence: Evidence) -> Evidence:
    """At the start every neuron of J_- along gamma."""
    found = evidence.recorded(MovedNeurons)
    w, gamma = found.w.copy(), found.y @ found.X
    lengths = np.linalg.norm(w[0], axis=1)[:, None]
    w[0] = np.where(found.signs[:, None] < 0, lengths * gamma / np.linalg.norm(gamma), w[0])
    return with_record(evidence, w=w)


def two_at_once(evidence: Evidence) -> Evidence:
    """The first yardstick with two crossings has both at one time."""
    paths = list(evidence.recorded(RandomYardsticks).paths)
    first = next(k for k, path in enumerate(paths) if len(path.times) > 2)
    times = paths[first].times.copy()
    times[2] = times[1]
    paths[first] = replace(paths[first], times=times)
    return with_record(evidence, paths=tuple(paths))


def points_reflected(evidence: Evidence) -> Evidence:
    return with_record(evidence, V=-evidence.recorded(PointsOfS).V)


def points_aside(evidence: Evidence) -> Evidence:
    """Points 51 degrees from the teacher, before all samples."""
    found = evidence.recorded(PointsOfS)
    aside = rotation(0.9, 2) @ evidence.facts.least_squares
    return with_record(evidence, V=np.tile(0.1 * aside, (len(found.V), 1)))


FORGERIES: Forgeries = {
    ("prop1", "balance"): Forgery(one_unbalanced),
    ("prop1", "floor"): Forgery(lambda e: shifted_log_scale(e, -40.0)),
    ("prop2", "one-way"): Forgery(lambda e: first_crossing(e, other_sample=5)),
    ("prop2", "one-at-a-time"): Forgery(crossings_at_once),
    ("prop14", "order"): Forgery(lambda e: first_crossing(e, other_sample=1)),
    ("prop14", "times"): Forgery(lambda e: first_crossing(e, later=1.001)),
    ("prop14", "direction"): Forgery(aligned_the_other_way),
    ("prop14", "norm"): Forgery(aligned_longer),
    ("prop16", "gamma"): Forgery(lambda e: teacher_scaled(e, 1.01)),
    ("prop17", "pulls"): Forgery(lambda e: yardsticks_changed(e, lambda p: replace(p, speeds=1e-3 * p.speeds))),
    ("prop17", "positive"): Forgery(lambda e: yardsticks_changed(e, lambda p: replace(p, ends=1e-3 * p.ends))),
    ("prop17", "negative"): Forgery(lambda e: yardsticks_changed(e, lambda p: replace(p, starts=1e-3 * p.starts))),
    ("prop17", "last"): Forgery(
        lambda e: yardsticks_changed(e, lambda p: replace(p, times=1e4 * p.times)), also=("approach",)
    ),
    ("prop17", "approach"): Forgery(
        lambda e: yardsticks_changed(e, lambda p: replace(p, directions=1e-3 * p.directions))
    ),
    ("prop18", "early"): Forgery(lambda e: with_record(e, log_scale=-1.0)),
    ("lemma3", "order"): Forgery(events_twice),
    ("lemma3", "force"): Forgery(lambda e: shifted_log_scale(e, 8000.0, at=1)),
    ("lemma3", "direction"): Forgery(lambda e: turned(e, 0.1, at=1)),
    ("lemma3", "times"): Forgery(lambda e: scaled_clock(e, 1.001), also=("direction",)),
    ("lemma3", "times-order"): Forgery(lambda e: in_sweep(e, lambda other: scaled_clock(other, 1.001), at=-1)),
    ("lemma19", "growth"): Forgery(lambda e: shifted_log_scale(e, 5.0, at=1), also=("monotone",)),
    ("lemma19", "monotone"): Forgery(lambda e: one_scaled(e, 0.5, 2, at=1)),
    ("lemma19", "outputs"): Forgery(lambda e: shifted_log_scale(e, 8000.0, at=1), also=("growth", "monotone")),
    ("lemma4", "shrunk"): Forgery(lambda e: shifted_log_scale(e, 5.0, at=LATER)),
    ("lemma4", "constant"): Forgery(lambda e: one_scaled(e, 0.5, 0, at=4)),
    ("lemma5", "inside"): Forgery(lambda e: turned(e, 2.5), also=("aligned",)),
    ("lemma5", "aligned"): Forgery(lambda e: turned(e, 0.1)),
    ("lemma5", "aligned-order"): Forgery(lambda e: in_sweep(e, lambda other: turned(other, 0.1, at=ALL), at=-1)),
    ("lemma5", "norm"): Forgery(lambda e: shifted_log_scale(e, 0.1)),
    ("prop24", "cone"): Forgery(first_sample_mirrored),
    ("prop24", "coordinate"): Forgery(lambda e: teacher_scaled(e, 0.5)),
    ("lemma28", "together"): Forgery(lambda e: one_turned(e, 1e-7, 2, at=1)),
    ("lemma28", "in-S"): Forgery(
        lambda e: turned(e, 2.0, at=len(e.run.snapshots) // 2),
        also=("order", "linear", "same-pull", "grows-in-S1", "grows"),
    ),
    ("lemma28", "order"): Forgery(in_reverse),
    ("lemma28", "linear"): Forgery(outputs_scaled, also=("same-pull",)),
    ("lemma28", "same-pull"): Forgery(other_outputs_when_tiny),
    ("lemma28", "smooth"): Forgery(a_late_crossing),
    ("lemma28", "velocity"): Forgery(lambda e: scaled_output_weights(e, 1.0001, at=0)),
    ("lemma28", "grows-in-S1"): Forgery(lambda e: turned(e, 3.0, at=0), also=("in-S", "same-pull", "grows")),
    ("lemma28", "grows"): Forgery(lambda e: turned(e, 3.0, at=0), also=("in-S", "same-pull", "grows-in-S1")),
    ("lemma28", "not-too-fast"): Forgery(lambda e: scaled_output_weights(e, 3.0, at=0), also=("velocity",)),
    ("lemma32", "small"): Forgery(lambda e: scaled_neurons(turned(e, 1.2, at=14), 1.1, at=14)),
    ("lemma32", "large"): Forgery(lambda e: scaled_neurons(e, 0.4)),
    ("lemma32", "gradient"): Forgery(lambda e: scaled_neurons(e, 0.1), also=("large",)),
    ("thm6", "escape"): Forgery(lambda e: scaled_clock(e, 1e9), also=("decay",)),
    ("thm6", "decay"): Forgery(lambda e: with_last_loss(e, 3.0)),
    ("lemma34", "ratios"): Forgery(lambda e: one_scaled(e, 1.1, 2)),
    ("lemma34", "ratios-order"): Forgery(lambda e: in_sweep(e, lambda other: one_scaled(other, 1.1, 2, at=ALL), at=-1)),
    ("thm7", "loss"): Forgery(lambda e: with_last_loss(e, 1.0)),
    ("thm7", "teacher"): Forgery(lambda e: scaled_neurons(e, 1.1), also=("loss", "sum")),
    ("thm7", "rank-one"): Forgery(lambda e: turned(e, 0.01), also=("loss", "teacher")),
    ("thm7", "rank-one-order"): Forgery(lambda e: in_sweep(e, lambda other: turned(other, 0.01, at=ALL), at=-1)),
    ("thm7", "sum"): Forgery(longer_and_unbalanced),
    ("thm7", "others"): Forgery(lambda e: in_sweep(e, lambda other: shifted_log_scale(other, 1.0, at=ALL))),
    ("thm8i", "least"): Forgery(data_of_positive_criterion, also=("only",)),
    ("thm8i", "only"): Forgery(data_of_positive_criterion, also=("least",)),
    ("thm8ii", "fits"): Forgery(first_of_two_turned),
    ("thm8ii", "shorter"): Forgery(lambda e: with_record(e, xi=2.0 * e.recorded(TwoNeurons).xi)),
    ("thm8ii", "not-least"): Forgery(two_neurons_scaled, also=("fits", "shorter")),
    ("claim36", "part"): Forgery(lambda e: with_record(e, w=2.0 * e.recorded(UnitNeurons).w)),
    ("remark38", "negative"): Forgery(obtuse_samples),
    ("remark38i", "fits"): Forgery(lambda e: interpolators_scaled(e, 1.001)),
    ("remark38i", "norm"): Forgery(lambda e: interpolators_scaled(e, 0.9), also=("fits",)),
    ("remark38i", "root"): Forgery(lambda e: interpolators_scaled(e, 0.5), also=("fits", "norm")),
    ("prop9", "fall"): Forgery(lambda e: scaled_losses(e, 1.01, at=ALL)),
    ("cor10", "norm"): Forgery(lambda e: scaled_neurons(e, 1.001, at=LATE_EDGE)),
    ("cor10", "direction"): Forgery(lambda e: turned(e, 0.01, at=LATE_EDGE)),
    ("prop11", "pull"): Forgery(opposite_samples, also=("length",)),
    ("prop11", "towards"): Forgery(lambda e: with_record(e, y=-e.recorded(MovedNeurons).y)),
    ("prop11", "not-along"): Forgery(along_one_of_two_orthogonal),
    ("prop11", "length"): Forgery(lambda e: moved_shorter(e, 9.0)),
    ("prop12", "continuous"): Forgery(turned_at_crossings),
    ("prop12", "rises"): Forgery(lambda e: moved_shorter(e, 1.0)),
    ("prop12", "negative-start"): Forgery(negative_along_gamma),
    ("cor15", "alone"): Forgery(two_at_once),
    ("prop25", "ball"): Forgery(points_reflected),
    ("prop26", "cosine"): Forgery(points_reflected),
    ("prop27", "samples"): Forgery(points_reflected, also=("teacher",)),
    ("prop27", "teacher"): Forgery(points_aside),
}
