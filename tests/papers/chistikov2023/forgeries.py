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
    scaled_neurons,
    scaled_output_weights,
    shifted_log_scale,
    turned,
    with_networks,
    with_record,
    with_snapshots,
)
from reluflow.geometry.alignment import AlignedState
from reluflow.network import Network
from reluflow.papers.chistikov2023.theorems.delta_bounds import Yardsticks
from reluflow.papers.chistikov2023.theorems.interpolators import TwoNeurons
from reluflow.papers.chistikov2023.theorems.least_norm import UnitNeurons
from reluflow.papers.chistikov2023.theorems.scene import Scene
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
        lambda e: turned(e, 2.0, at=len(e.run.snapshots) // 2), also=("order", "linear", "grows-in-S1", "grows")
    ),
    ("lemma28", "order"): Forgery(in_reverse),
    ("lemma28", "linear"): Forgery(outputs_scaled),
    ("lemma28", "velocity"): Forgery(lambda e: scaled_output_weights(e, 1.0001, at=0)),
    ("lemma28", "grows-in-S1"): Forgery(lambda e: turned(e, 3.0, at=0), also=("in-S", "grows")),
    ("lemma28", "grows"): Forgery(lambda e: turned(e, 3.0, at=0), also=("in-S", "grows-in-S1")),
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
}

UNFORGED = {
    ("prop17", "largest"): "eta_1 <= max |x_i|^2 <= Delta^2 for any samples: no set of them breaks it",
    ("prop17", "ratio"): "delta is at most (d - 1) times the least gap of sqrt eta_k by its definition, and sqrt eta_k "
    "at most Delta, so the inequality holds for any samples",
}
