"""False evidence for every conclusion of Boursier & Flammarion (2024), in the words of `tests/forging.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from forging import (
    ALL,
    LATER,
    Forge,
    Forgeries,
    Forgery,
    in_companion,
    in_reverse,
    in_sweep,
    rotation,
    scaled_clock,
    scaled_input_weights,
    scaled_neurons,
    scaled_output_weights,
    shifted_log_scale,
    standing_still,
    turned,
    with_end,
    with_networks,
    with_record,
    with_snapshots,
)
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.geometry.extremal import ExtremalVectors
from reluflow.network import Network
from reluflow.papers.boursier2024.theorems.balancedness import DescentSteps
from reluflow.papers.boursier2024.theorems.critical_cones import SmallOutputs
from reluflow.papers.boursier2024.theorems.critical_points import ExtremalPoints, LandscapePoints
from reluflow.papers.boursier2024.theorems.generic_data import MovedDatasets
from reluflow.papers.boursier2024.theorems.neuron_states import log_lambda
from reluflow.papers.boursier2024.theorems.phase_clock import phase_clock
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import SMALLER
from reluflow.papers.boursier2024.theorems.spurious_limit import NUM_COPIES, DataConePoints
from reluflow.papers.boursier2024.theorems.three_points import box_corners
from reluflow.theory.evidence import Evidence
from reluflow.theory.facts import DatasetFacts

ODD, SECOND = slice(1, None, 2), 1


# Runs -----------------------------------------------------------------------------------------------------------------


def everywhere(evidence: Evidence, forge: Forge) -> Evidence:
    """The run forged, and that at every other scale of the sweep."""
    return in_sweep(forge(evidence), forge)


def anew(evidence: Evidence) -> Evidence:
    """The record is to be made of the forged run."""
    return replace(evidence, record=None)


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


def smaller_at_first(evidence: Evidence) -> Evidence:
    """The first state is smaller than the start by the factor lambda."""
    return shifted_log_scale(evidence, log_lambda(evidence.network), at=0)


def on_the_wrong_side(evidence: Evidence) -> Evidence:
    """At tau all neurons are negative ones that stand on the maximum of G."""
    aim = evidence.facts.extremal.directions[list(evidence.facts.extremal.kinds).index("maximum")]
    return with_networks(evidence, lambda n: n.replace(w=np.abs(n.a)[:, None] * aim, a=-np.abs(n.a)))


def shifted(evidence: Evidence, *, w: float = 0.0, a: float = 0.0, at: int | slice = -1) -> Evidence:
    """The same number added to all entries of a layer."""
    return with_networks(evidence, lambda n: n.replace(w=n.w + w, a=n.a + a), at=at)


def traded_in_phase_3(evidence: Evidence) -> Evidence:
    """From tau_3 on the layers trade a factor, so that outputs stay and the sum of a^2 falls."""
    first = phase_clock(evidence).fitting.index
    return with_networks(evidence, lambda n: n.replace(w=4.0 * n.w, a=n.a / 4.0), at=slice(first, None))


# End points -----------------------------------------------------------------------------------------------------------


def without_rest(evidence: Evidence) -> Evidence:
    """The end point is not stationary."""
    run = evidence.run
    limit = replace(run.limit, gradient_norm=run.limit.gradient_norm + 1e-6)
    return replace(evidence, trajectory=replace(run, limit=limit))


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


def off_the_line(evidence: Evidence) -> Evidence:
    return other_ends(evidence, 1.0001, SMALLER)


def signs_of_the_start(evidence: Evidence) -> Evidence:
    """At the end every output weight has the sign it started with."""
    return with_end(evidence, lambda n: n.replace(a=np.abs(n.a) * np.sign(evidence.network.a)))


# Records --------------------------------------------------------------------------------------------------------------


def steps_beside(evidence: Evidence) -> Evidence:
    steps = evidence.recorded(DescentSteps).steps
    return with_record(evidence, steps=tuple((w + 0.01, a) for w, a in steps))


def without_labels(evidence: Evidence) -> Evidence:
    """One of the moved datasets has no label but 0."""
    *others, last = evidence.recorded(MovedDatasets).datasets
    return with_record(evidence, datasets=(*others, Dataset(last.X, 0.0 * last.y)))


def orthogonal_samples(evidence: Evidence) -> Evidence:
    """Data that no density gives (erratum E13)."""
    return with_record(evidence, datasets=(load("orthogonal-triple"),))


def with_vectors(evidence: Evidence, change: Callable[[ExtremalVectors], ExtremalVectors]) -> Evidence:
    return with_record(evidence, vectors=change(evidence.recorded(ExtremalPoints).vectors))


def longer_vectors(evidence: Evidence) -> Evidence:
    return with_vectors(evidence, lambda v: replace(v, vectors=10.0 * v.vectors))


def points_of_other_cones(evidence: Evidence) -> Evidence:
    cones = evidence.recorded(LandscapePoints).cones
    return with_record(evidence, cones=replace(cones, witnesses=cones.witnesses - 30.0))


def beyond_the_budget(evidence: Evidence) -> Evidence:
    outputs = evidence.recorded(SmallOutputs).outputs
    assert outputs is not None
    return with_record(evidence, outputs=10.0 * outputs)


def points_off_the_cone(evidence: Evidence) -> Evidence:
    """ReLU is not odd (erratum E7)."""
    return with_record(evidence, points=-evidence.recorded(DataConePoints).points)


def larger_box(evidence: Evidence) -> Evidence:
    """Its corners do not meet Assumption 5 (erratum E3)."""
    samples, labels = box_corners(0.16)
    return with_record(evidence, samples=samples, labels=labels)


def with_facts_of(evidence: Evidence, dataset: Dataset) -> Evidence:
    """The assumptions are asked about three points that are in no such box."""
    return with_record(evidence, facts=DatasetFacts(dataset, evidence.loss, evidence.leak))


def with_outer_points(evidence: Evidence, x: float, height: float, *, middle: float) -> Evidence:
    """Points (-x, height), (0, 1) and (x, height) with the labels 1, `middle` and 1."""
    return with_facts_of(evidence, Dataset([[-x, height], [0.0, 1.0], [x, height]], [1.0, middle, 1.0]))


def middle_above_the_line(evidence: Evidence) -> Evidence:
    return with_outer_points(evidence, 0.95, 1.0, middle=1.1)


def wider_end_turned(evidence: Evidence) -> Evidence:
    """One of the wider networks ends elsewhere."""
    return in_companion(
        evidence, "wider by 4", lambda o: with_end(o, lambda n: n.replace(w=n.w @ rotation(-0.02, n.d).T))
    )


FORGERIES: Forgeries = {
    ("lemma1", "conserved"): Forgery(
        lambda e: anew(scaled_output_weights(e, 1.05, at=len(e.run.snapshots) // 2, sign=-1))
    ),
    ("lemma1", "sign"): Forgery(lambda e: anew(scaled_output_weights(e, -1.0, at=LATER, sign=1))),
    ("lemma1", "descent-step"): Forgery(steps_beside),
    ("lemma2", "generic"): Forgery(without_labels),
    ("eq7", "potential"): Forgery(points_of_other_cones),
    ("eq7", "critical"): Forgery(longer_vectors),
    ("eq7", "kinds"): Forgery(lambda e: with_vectors(e, lambda v: replace(v, kinds=("saddle",) * len(v)))),
    ("lemma3", "exists"): Forgery(without_labels),
    ("thm1", "growth"): Forgery(smaller_at_first),
    ("thm1", "dominance"): Forgery(lambda e: scaled_input_weights(e, 1.01, at=SECOND)),
    ("thm1", "extremal"): Forgery(lambda e: turned(e, 1.2)),
    ("thm1", "gap"): Forgery(lambda e: turned(e, 0.1)),
    ("thm1", "kind"): Forgery(on_the_wrong_side),
    ("thm1", "exponent"): Forgery(lambda e: everywhere(e, lambda o: turned(o, 1e-4))),
    ("remark1", "slow"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("remark2", "never-zero"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("eq8", "equation"): Forgery(lambda e: changed_outputs(e, lambda h: h - 1.0)),
    ("eq17", "shortest"): Forgery(longer_vectors),
    ("eq20", "sign"): Forgery(longer_vectors),
    ("lemma9", "positive"): Forgery(orthogonal_samples),
    ("lemma10", "positive"): Forgery(orthogonal_samples),
    ("lemma11", "sides"): Forgery(beyond_the_budget),
    ("appD.3", "gronwall"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("appD.3", "t_1"): Forgery(lambda e: all_but_one_scaled(e, 2.0), also=("gronwall",)),
    ("appD.3", "outputs"): Forgery(lambda e: shifted_log_scale(e, 3.0, at=0), also=("t_1",)),
    ("lemma12", "one-sign"): Forgery(beyond_the_budget),
    ("lemma13", "frozen"): Forgery(in_reverse),
    ("lemma14", "quantised"): Forgery(lambda e: with_vectors(e, lambda v: replace(v, sides=-v.sides))),
    ("eq32", "integrated"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("eq33", "t_2"): Forgery(standing_still, also=("ascent",)),
    ("eq33", "ascent"): Forgery(in_reverse),
    ("eq36", "tanh"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("eq36", "exponential"): Forgery(lambda e: scaled_clock(e, 100.0), also=("tanh",)),
    ("appD.7", "tanh"): Forgery(lambda e: with_record(e, unit=10.0)),
    ("appD.7", "root"): Forgery(lambda e: with_record(e, quarter=2.5)),
    ("appD.7", "entropy"): Forgery(lambda e: with_record(e, inverse_e=0.3)),
    ("thm3", "growth"): Forgery(last_neuron_tiny_at_first),
    ("thm3", "extremal"): Forgery(lambda e: scaled_output_weights(e, -1.0, at=LATER, sign=1), also=("gap",)),
    ("thm3", "gap"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("thm3", "exponent"): Forgery(lambda e: everywhere(e, lambda o: turned(o, 1e-4))),
    ("eq39", "t_2"): Forgery(lambda e: turned(e, 0.02, at=ALL), also=("ascent",)),
    ("eq39", "ascent"): Forgery(in_reverse),
    ("remark4", "positive"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("example1", "stays"): Forgery(lambda e: in_companion(e, "staying", lambda o: shifted(o, w=1e-6))),
    ("example1", "leaves"): Forgery(lambda e: in_companion(e, "leaving", in_reverse)),
    ("example1", "later"): Forgery(lambda e: in_companion(e, "later", in_reverse)),
    ("lemma4", "aligned"): Forgery(in_reverse),
    ("lemma4", "exponent"): Forgery(lambda e: everywhere(e, lambda o: scaled_clock(o, 2.0))),
    ("lemma4", "growth"): Forgery(last_neuron_tiny_at_first),
    ("lemma4", "negative"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("lemma4", "resting"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("lemma5", "grown"): Forgery(lambda e: shifted(e, a=0.1, at=ODD), also=("duration",)),
    ("lemma5", "projections"): Forgery(
        lambda e: everywhere(e, lambda o: scaled_output_weights(o, 0.0, at=ODD)), also=("rates",)
    ),
    ("lemma5", "pairs"): Forgery(lambda e: scaled_neurons(e, 0.5, at=ODD)),
    ("lemma5", "pair-exponent"): Forgery(
        lambda e: everywhere(e, lambda o: shifted(o, w=1e-9, at=LATER)), also=("rates",)
    ),
    ("lemma5", "negative"): Forgery(lambda e: scaled_neurons(e, 1.5, at=ALL)),
    ("lemma5", "rates"): Forgery(lambda e: changed_outputs(e, lambda h: h - 1.0)),
    ("lemma5", "duration"): Forgery(lambda e: scaled_clock(e, 2.0)),
    ("lemma6", "fitted"): Forgery(lambda e: scaled_neurons(e, 1e22, at=39, sign=-1)),
    ("lemma6", "active"): Forgery(lambda e: turned(e, np.pi, at=ODD), also=("fitted", "linear-pull")),
    ("lemma6", "negative"): Forgery(lambda e: scaled_output_weights(e, -1.0, at=39, sign=-1)),
    ("lemma6", "linear-pull"): Forgery(lambda e: changed_outputs(e, lambda h: 0.5 * h)),
    ("lemma6", "decay"): Forgery(lambda e: scaled_clock(e, 10.0)),
    ("lemma6", "duration"): Forgery(lambda e: scaled_clock(e, 1000.0), also=("decay",)),
    ("lemma7", "never-ends"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("lemma7", "limit"): Forgery(without_rest),
    ("lemma7", "patterns"): Forgery(negative_end_turned),
    ("lemma7", "line"): Forgery(lambda e: other_end(e, 1.0001)),
    ("sec5-nature", "nature"): Forgery(negative_end_turned),
    ("sec5-nature", "dominated"): Forgery(lambda e: with_end(e, lambda n: some_scaled(n, -1, 1e-40))),
    ("sec5-omnidirectional", "lost"): Forgery(negative_end_turned),
    ("sec5-omnidirectional", "trapped"): Forgery(lambda e: other_ends(e, 1.3, SMALLER)),
    ("sec5-unbalanced", "global-minimum"): Forgery(lambda e: other_end(e, 1.05)),
    ("sec5-unbalanced", "flips"): Forgery(signs_of_the_start, also=("global-minimum",)),
    ("sec5-width", "same-limit"): Forgery(wider_end_turned),
    ("sec5-width", "limit"): Forgery(without_rest),
    ("sec5-width", "patterns"): Forgery(negative_end_turned),
    ("sec5-width", "line"): Forgery(lambda e: other_ends(e, 1.0001, SMALLER, *(f"wider by {k}" for k in NUM_COPIES))),
    ("sec5-best-neuron", "best-neuron"): Forgery(lambda e: other_ends(e, 1.01, SMALLER)),
    ("lemma8", "assumption-4"): Forgery(lambda e: with_outer_points(e, 1.0, 0.9, middle=0.1)),
    ("lemma8", "assumption-5"): Forgery(lambda e: with_facts_of(e, load("three-points"))),
    ("lemma8", "corners"): Forgery(larger_box),
    ("lemma8", "assumption-6"): Forgery(middle_above_the_line, also=("residuals",)),
    ("lemma8", "middle"): Forgery(
        lambda e: with_outer_points(e, 1.0, -0.2, middle=0.1), also=("assumption-4", "residuals")
    ),
    ("lemma8", "residuals"): Forgery(middle_above_the_line, also=("assumption-6",)),
    ("appB.2", "direction"): Forgery(lambda e: turned(e, -0.02, at=ALL)),
    ("appB.2", "rate"): Forgery(lambda e: scaled_clock(e, 2.0)),
    ("lemma15", "projections"): Forgery(in_reverse),
    ("lemma16", "mass"): Forgery(lambda e: all_but_one_scaled(e, 2.0)),
    ("lemma17", "active"): Forgery(lambda e: standing_still(e, at=slice(len(e.run.snapshots) // 2, None))),
    ("lemma17", "facet-pull"): Forgery(lambda e: all_but_one_scaled(e, 2.0)),
    ("lemma18", "kept"): Forgery(lambda e: scaled_neurons(e, 0.5, at=ODD)),
    ("lemma18", "grows"): Forgery(lambda e: scaled_output_weights(e, -1.0, at=LATER, sign=1)),
    ("lemma19", "moved"): Forgery(lambda e: changed_outputs(e, lambda h: 1.1 * h, at=-1), also=("fit",)),
    ("lemma19", "fit"): Forgery(lambda e: changed_outputs(e, lambda h: 0.5 * h)),
    ("lemma20", "shrinking"): Forgery(in_reverse),
    ("lemma20", "mixed-norm"): Forgery(lambda e: scaled_clock(e, 1e4)),
    ("lemma20", "mixed-rate"): Forgery(lambda e: scaled_output_weights(e, 0.1, at=ALL, sign=-1)),
    ("lemma21", "polyak"): Forgery(traded_in_phase_3),
    ("lemma22", "decay"): Forgery(in_reverse, also=("late-rate",)),
    ("lemma22", "late-rate"): Forgery(lambda e: scaled_clock(e, 2.0)),
    ("lemma23", "pull"): Forgery(in_reverse),
    ("lemma23", "travel"): Forgery(lambda e: changed_outputs(e, lambda h: 1.1 * h, at=-1), also=("pull",)),
    ("lemma24", "positive"): Forgery(in_reverse),
    ("lemma24", "negative"): Forgery(lambda e: scaled_neurons(e, 1e6, sign=-1)),
    ("cor1", "never-ends"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    **{
        (result, name): forgery
        for result in ("thm2", "remark3", "thm4")
        for name, forgery in {
            "limit": Forgery(without_rest),
            "patterns": Forgery(negative_end_turned),
            "line": Forgery(off_the_line, also=("data-cone", "loss")),
            "data-cone": Forgery(points_off_the_cone),
            "loss": Forgery(off_the_line, also=("line", "data-cone")),
            "rate": Forgery(lambda e: scaled_clock(e, 2.0)),
        }.items()
    },
}
