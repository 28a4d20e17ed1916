"""One forgery per conclusion of lee2022: exactly this conclusion fails, or also those named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from forging import ALL, LATER, Forge, Forgeries, Forgery, with_record
from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset, Task
from reluflow.papers.lee2022.plans import BracketedRun
from reluflow.papers.lee2022.single_neuron import angle_band
from reluflow.papers.lee2022.single_neuron.angle import psi_of_gap
from reluflow.papers.lee2022.teacher_and_student import labelling_vector, start
from reluflow.papers.lee2022.theorems.flow_measures import flow
from reluflow.theory.evidence import Evidence

Change = Callable[[Any], Any]


def times(factor: float, at: int | slice = ALL) -> Change:
    """Entries of a recorded array multiplied."""

    def change(array: FloatArray) -> FloatArray:
        changed = array.copy()
        changed[at] = (factor * changed[at]).astype(changed.dtype)
        return changed

    return change


def plus(shift: float, at: int | slice = ALL) -> Change:
    """Entries of a recorded array shifted."""

    def change(array: FloatArray) -> FloatArray:
        changed = array.copy()
        changed[at] += shift
        return changed

    return change


def recorded(**changes: Change) -> Forge:
    """Fields of the record changed."""
    return lambda e: with_record(e, **{name: change(getattr(e.record, name)) for name, change in changes.items()})


def in_flow(**changes: Change) -> Forge:
    """The same of the flow that a record holds beside other things."""

    def forge(evidence: Evidence) -> Evidence:
        run: Any = getattr(evidence.record, "flow")  # noqa: B009
        changed = replace(run, **{name: change(getattr(run, name)) for name, change in changes.items()})
        return with_record(evidence, flow=changed)

    return forge


def start_with(**changes: Change) -> Change:
    """The start that a run says it had, with other numbers."""
    return lambda neuron: replace(neuron, **{name: change(getattr(neuron, name)) for name, change in changes.items()})


def teacher_times(factor: float) -> dict[str, Change]:
    """The recorded magnitudes, which are multiples of the teacher's, multiplied by way of its own."""
    return {"start": start_with(teacher_magnitude=lambda magnitude: factor * magnitude)}


def turned_back(psi: FloatArray) -> FloatArray:
    """The first angle is the third: it falls at once and grows again."""
    changed = psi.copy()
    changed[0] = psi[2]
    return changed


def teacher_elsewhere(shift: float) -> Forge:
    """The run has the angle to another teacher."""
    return recorded(teacher=lambda teacher: replace(teacher, w=teacher.w + shift))


def between_the_lower_curves(evidence: Evidence) -> Evidence:
    """The angle at one early time is above 2z - (2/3) z^3 and below 2 arctan z, its sharp lower curve."""
    run = flow(evidence)
    curves = [angle_band(start(evidence), run.times, sharp=sharp).lower for sharp in (False, True)]
    psi = run.psi.copy()
    psi[1] = psi_of_gap(0.5 * (max(curves[0][1], 0.0) + curves[1][1]))
    return with_record(evidence, psi=psi)


def lower_curve_bent(evidence: Evidence) -> Evidence:
    """The lower curve of Theorem 3.8 is a hundredth too low in its second half."""
    curves = evidence.recorded(BracketedRun).curves
    lower = times(0.99, at=slice(curves.lower.size // 2, None))(curves.lower)
    return with_record(evidence, curves=replace(curves, lower=lower))


def dependent_coordinates(evidence: Evidence) -> Evidence:
    """Samples whose signs depend on each other by threes, with the teacher's labels.

    The fourth coordinate has the sign of the product of the first two, the fifth that of the first and the third. Any
    two coordinates together are standard Gaussian, so that no test of the hypothesis notices; three are not.
    """
    X = evidence.dataset.X.copy()
    X[:, 3] = np.abs(X[:, 3]) * np.sign(X[:, 0] * X[:, 1])
    X[:, 4] = np.abs(X[:, 4]) * np.sign(X[:, 0] * X[:, 2])
    y = np.maximum(X @ labelling_vector(evidence), 0.0)
    return replace(evidence, problem=replace(evidence.problem, dataset=Dataset(X, y, task=Task.REGRESSION)))


SHARP = {
    "range": Forgery(recorded(**teacher_times(0.1))),
    "lower": Forgery(recorded(times=times(0.1)), also=("sharp-lower",)),
    "upper": Forgery(recorded(psi=times(0.0, at=-1)), also=("sharp-upper",)),
    "sharp-lower": Forgery(between_the_lower_curves),
    "sharp-upper": Forgery(recorded(times=plus(1e-6))),
}
DESCENT_ANGLE = {
    "lower": Forgery(recorded(steps=times(0))),
    "upper": Forgery(recorded(steps=times(10, at=LATER))),
    "grows": Forgery(recorded(gap=times(0.9, at=0))),
}

FORGERIES: Forgeries = {
    ("lemma2.1", "matrix"): Forgery(recorded(matrix=plus(1e-6)), also=("eigenvalues",)),
    ("lemma2.1", "kernel"): Forgery(recorded(kernel=lambda kernel: 2.0 * kernel)),
    ("lemma2.1", "eigenvalues"): Forgery(recorded(matrix=plus(1e-6)), also=("matrix",)),
    ("lemma2.1", "sample"): Forgery(recorded(matrix=times(10.0)), also=("matrix", "eigenvalues")),
    ("prop3.1", "magnitude"): Forgery(recorded(w=times(0.5))),
    ("prop3.1", "angle"): Forgery(teacher_elsewhere(1e-6), also=("closed-form",)),
    ("prop3.1", "closed-form"): Forgery(teacher_elsewhere(1e-6), also=("angle",)),
    ("prop3.1", "sample-gradient"): Forgery(dependent_coordinates),
    ("thm3.2", "angle"): Forgery(recorded(psi=turned_back)),
    ("thm3.2", "converges"): Forgery(recorded(log_ratio=plus(-1.0))),
    ("thm3.3", "lower"): Forgery(recorded(**teacher_times(0.1))),
    ("thm3.3", "upper"): Forgery(recorded(**teacher_times(10.0))),
    ("eq8", "lower"): Forgery(recorded(**teacher_times(0.1))),
    ("eq8", "early"): Forgery(recorded(log_ratio=lambda r: np.where(np.arange(r.size) == 1, -8.3, r))),
    ("eq8", "late"): Forgery(recorded(**teacher_times(10.0))),
    **{("thm3.4", name): forgery for name, forgery in SHARP.items()},
    ("prop3.5", "positive"): Forgery(in_flow(v=times(-1.0, at=LATER))),
    ("prop3.5", "conserved"): Forgery(in_flow(w=times(0.5))),
    ("prop3.5", "dead"): Forgery(recorded(dead_layers=np.abs)),
    ("prop3.6", "magnitude"): Forgery(recorded(times=times(10.0)), also=("angle",)),
    ("prop3.6", "angle"): Forgery(teacher_elsewhere(-30.0)),
    ("prop3.6", "balanced"): Forgery(recorded(v=plus(1e-6))),
    ("prop3.6", "sample-gradient"): Forgery(dependent_coordinates),
    ("thm3.7", "angle"): Forgery(recorded(psi=turned_back)),
    ("thm3.7", "converges"): Forgery(recorded(log_ratio=plus(-0.01))),
    ("thm3.7", "away-from-0"): Forgery(recorded(**teacher_times(0.1))),
    ("eq11", "direction"): Forgery(recorded(start=start_with(q=lambda q: 10 * q))),
    ("eq11", "threshold"): Forgery(recorded(psi=turned_back)),
    ("eq11", "one-switch"): Forgery(recorded(log_ratio=lambda r: np.where(np.arange(r.size) == r.size // 2, -r, r))),
    ("thm3.8", "lower"): Forgery(in_flow(**teacher_times(0.1))),
    ("thm3.8", "upper"): Forgery(in_flow(**teacher_times(10.0))),
    ("thm3.8", "implicit"): Forgery(lower_curve_bent),
    **{("thm3.9", name): forgery for name, forgery in SHARP.items()},
    ("thm4.1", "uniform"): Forgery(recorded(level=lambda level: 0.9 * level), also=("second-order",)),
    ("thm4.1", "second-order"): Forgery(recorded(step_sizes=plus(1e-6, at=1))),
    **{("thm4.2", name): forgery for name, forgery in DESCENT_ANGLE.items()},
    ("cor4.3", "aligned"): Forgery(recorded(gap=lambda gap: gap[::-1].copy())),
    ("sec5.2", "phases"): Forgery(recorded(psi=times(-1.0))),
    ("sec5.2", "turning"): Forgery(recorded(**teacher_times(0.1))),
    ("sec5.2", "time"): Forgery(recorded(times=times(0.1))),
    ("thmA.1", "lower"): Forgery(recorded(steps=times(0))),
    ("thmA.1", "upper"): Forgery(recorded(magnitude=times(1.000001))),
    **{("thmA.2", name): forgery for name, forgery in DESCENT_ANGLE.items()},
    ("thmA.3", "lower-w"): Forgery(recorded(steps=times(0)), also=("lower-v",)),
    ("thmA.3", "upper-w"): Forgery(recorded(magnitude=times(1.1)), also=("drift",)),
    ("thmA.3", "lower-v"): Forgery(recorded(steps=times(0)), also=("lower-w",)),
    ("thmA.3", "upper-v"): Forgery(recorded(v=times(1.1)), also=("drift",)),
    ("thmA.3", "drift"): Forgery(recorded(v=times(1.001))),
    ("propB.1", "speed"): Forgery(recorded(kappa=lambda kappa: kappa + 1e-6)),
    ("propB.1", "sample"): Forgery(recorded(kappa=lambda kappa: 10.0 * kappa), also=("speed",)),
    ("propB.2", "unique"): Forgery(recorded(fits=times(10.0))),
    ("propB.2", "growth"): Forgery(recorded(losses=times(0.0))),
    ("propC.1", "two-sided"): Forgery(recorded(tail=times(10.0)), also=("one-sided",)),
    ("propC.1", "one-sided"): Forgery(recorded(tail=times(10.0)), also=("two-sided",)),
    ("propC.1", "draws"): Forgery(recorded(drawn=np.abs)),
    ("lemmaC.2", "ordered"): Forgery(recorded(upper=times(-1.0)), also=("closed-forms",)),
    ("lemmaC.2", "closed-forms"): Forgery(recorded(times=plus(1e-6))),
    ("appD.1", "inside"): Forgery(recorded(start=start_with(q=lambda q: 0 * q)), also=("nested",)),
    ("appD.1", "nested"): Forgery(recorded(psi=plus(-30.0, at=LATER))),
}
