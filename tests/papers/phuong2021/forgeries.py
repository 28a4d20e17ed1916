"""One forgery per conclusion of phuong2021: exactly this conclusion fails, or also those named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from forging import (
    ALL,
    LATER,
    Forgeries,
    Forgery,
    events_twice,
    in_reverse,
    rotation,
    scaled_neurons,
    scaled_output_weights,
    scaled_times,
    standing_still,
    turned,
    with_network,
    with_networks,
    with_record,
    with_snapshots,
)
from reluflow.network import Network
from reluflow.papers.phuong2021.theorems.extremal_directions import Displacements, ExtremalDirections, StatedExtrema
from reluflow.papers.phuong2021.theorems.two_neuron_limit import Death, MarginPoint
from reluflow.theory.evidence import Evidence


def stated_direction_turned(evidence: Evidence, index: int) -> Evidence:
    """The stated maximum or minimum lies elsewhere."""
    directions = list(evidence.recorded(StatedExtrema).directions)
    directions[index] = rotation(0.1, evidence.dataset.d) @ directions[index]
    return with_record(evidence, directions=tuple(directions))


def stated_sector_mirrored(evidence: Evidence) -> Evidence:
    positive, negative = evidence.recorded(StatedExtrema).sectors
    return with_record(evidence, sectors=(-positive, negative))


def directions_off_the_extrema(evidence: Evidence) -> Evidence:
    vectors = evidence.recorded(ExtremalDirections).vectors
    return with_record(evidence, vectors=vectors @ rotation(0.1, evidence.dataset.d).T)


def steps_beyond_the_boundary(evidence: Evidence) -> Evidence:
    """Lemma A.2 speaks of steps up to eps_max, after which a sample changes its side."""
    cases = evidence.recorded(Displacements).cases
    return with_record(evidence, cases=tuple(replace(case, step=8.0 * case.step) for case in cases))


def margin_point_scaled(evidence: Evidence, factor: float) -> Evidence:
    network = evidence.recorded(MarginPoint).network
    return with_record(evidence, network=network.replace(w=factor * network.w, a=factor * network.a))


def margin_point_skewed(evidence: Evidence) -> Evidence:
    """The positive neurons are longer in w and shorter in a, so that outputs stay and the point is not stationary."""
    network = evidence.recorded(MarginPoint).network
    factor = np.where(network.a > 0, 1.1, 1.0)
    return with_record(evidence, network=network.replace(w=factor[:, None] * network.w, a=network.a / factor))


def multipliers_shifted(evidence: Evidence) -> Evidence:
    return with_record(evidence, multipliers=evidence.recorded(MarginPoint).multipliers + 1.0)


def every_neuron_dies(evidence: Evidence) -> Evidence:
    return replace(evidence, record=Death(1.0, 1.0, is_exact=True))


def one_neuron_unbalanced(evidence: Evidence) -> Evidence:
    """At the last time one positive neuron has twice its output weight, so that neurons share the limit otherwise."""

    def change(network: Network) -> Network:
        a = network.a.copy()
        a[np.flatnonzero(a > 0)[0]] *= 2.0
        return network.replace(a=a)

    return with_networks(evidence, change)


def leaky_at_the_end(evidence: Evidence) -> Evidence:
    """The last state has a leak, which the problem has not."""
    return with_snapshots(evidence, lambda s: with_network(s, s.network.replace(leak=0.3), evidence.run))


NEGATIVE_LONGER = ("W", "a", "u", "z", "growth-minus")


def negative_longer(evidence: Evidence) -> Evidence:
    """At the last time the negative neurons are twice as long as they should be."""
    return scaled_neurons(evidence, 2.0, sign=-1)


def but(*names: str) -> tuple[str, ...]:
    return tuple(name for name in NEGATIVE_LONGER if name not in names)


FORGERIES: Forgeries = {
    ("lemma1", "sorted"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("lemma1", "dead-stay"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("lemma2", "one-maximum"): Forgery(lambda e: stated_direction_turned(e, 0), also=("ascent",)),
    ("lemma2", "one-minimum"): Forgery(lambda e: stated_direction_turned(e, 1), also=("ascent",)),
    ("lemma2", "sectors"): Forgery(stated_sector_mirrored),
    ("lemma2", "ascent"): Forgery(lambda e: stated_direction_turned(e, 0), also=("one-maximum",)),
    ("lemma3", "absorbed"): Forgery(in_reverse),
    ("sec3.1", "one-way"): Forgery(lambda e: scaled_output_weights(e, -1.0, at=LATER, sign=1)),
    ("sec3.1", "left-behind"): Forgery(lambda e: standing_still(e, at=slice(3, None)), also=("one-way",)),
    ("sec3.1", "W"): Forgery(negative_longer),
    ("thm1", "W"): Forgery(negative_longer, also=but("W")),
    ("thm1", "a"): Forgery(negative_longer, also=but("a")),
    ("thm1", "limit"): Forgery(one_neuron_unbalanced),
    ("thm1", "u"): Forgery(negative_longer, also=but("u")),
    ("thm1", "z"): Forgery(negative_longer, also=but("z")),
    ("thm1", "growth-plus"): Forgery(lambda e: scaled_neurons(e, 1.5, at=ALL), also=("growth-minus",)),
    ("thm1", "growth-minus"): Forgery(lambda e: scaled_neurons(e, 1.5, at=ALL), also=("growth-plus",)),
    ("thm1", "probability"): Forgery(every_neuron_dies),
    ("cor1", "function"): Forgery(negative_longer),
    ("cor1", "limit"): Forgery(leaky_at_the_end, also=("function",)),
    ("lemmaA.1", "eigen"): Forgery(directions_off_the_extrema),
    ("lemmaA.2", "expansion"): Forgery(steps_beyond_the_boundary),
    ("lemmaA.3", "output-weight"): Forgery(
        lambda e: scaled_output_weights(e, 1.05, at=len(e.run.snapshots) // 2, sign=-1)
    ),
    ("lemmaA.3", "input-weight"): Forgery(lambda e: turned(e, 0.7)),
    ("lemmaA.4", "balance"): Forgery(lambda e: scaled_output_weights(e, -1.0, at=LATER, sign=1)),
    ("lemmaA.4", "rate"): Forgery(lambda e: scaled_times(e, 0.01)),
    ("lemmaB.1", "stays-active"): Forgery(lambda e: scaled_output_weights(e, -1.0)),
    ("lemmaB.1", "one-way"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("lemmaB.1", "one-flip"): Forgery(events_twice),
    ("lemmaC.1", "feasible"): Forgery(lambda e: margin_point_scaled(e, 0.99), also=("complementary", "norm")),
    ("lemmaC.1", "complementary"): Forgery(lambda e: margin_point_scaled(e, 30.0), also=("norm",)),
    ("lemmaC.1", "stationary"): Forgery(multipliers_shifted),
    ("lemmaC.1", "certificate"): Forgery(margin_point_skewed, also=("stationary", "norm")),
    ("lemmaC.1", "norm"): Forgery(lambda e: margin_point_scaled(e, 30.0), also=("complementary",)),
}
