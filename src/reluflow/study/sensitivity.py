"""Does the summary change with the draw or the scale? The same dataset from several seeds and scales, compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.limits.directions import unit_norm
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.trajectory import Outcome
from reluflow.study.flow_summary import FlowSummary, follow_flow
from reluflow.study.neuron_groups import neuron_groups

SAME_FUNCTION = 0.02  # largest difference of outputs, relative to their size, of two runs with one summary


@dataclass(frozen=True, eq=False)
class Variation:
    """One more run.

    Parameters
    ----------
    seed, scale
        Its draw and its scale.
    outcome, kind
        How it ended and what the end point is.
    loss
        At the end.
    margin
        Normalised margin of the limit; nan for a finite end point.
    num_bundles
        How many bundles of neurons carry the function.
    difference
        Largest difference of its outputs from the first run's, relative to their size; of the limiting directions for
        a classifier.
    has_ended
        Whether it reached its own end.
    """

    seed: int
    scale: str
    outcome: str
    kind: str
    loss: float
    margin: float
    num_bundles: int
    difference: float
    has_ended: bool

    @property
    def ends_in_same_function(self) -> bool | None:
        """Whether it ends in the same function as the first run; None where it did not end."""
        return bool(self.difference <= SAME_FUNCTION) if self.has_ended else None


@dataclass(frozen=True, eq=False)
class Repetition:
    """The end of one more run, to be compared with the first: small enough to come from another process.

    Parameters
    ----------
    seed, scale
        Its draw and its scale.
    outcome, kind, loss, margin, num_bundles, has_ended
        As in `Variation`.
    function
        Outputs on the samples: of the unit-norm limit for a run that grows for ever, of the end point otherwise.
    """

    seed: int
    scale: str
    outcome: str
    kind: str
    loss: float
    margin: float
    num_bundles: int
    has_ended: bool
    function: FloatArray


def repeat_flow(
    problem: TrainingProblem, seed: int, scale: str, max_steps: float | None, *, max_seconds: float
) -> Repetition:
    """Run the flow once more, from another draw or scale."""
    other = follow_flow(problem, max_steps=max_steps, max_seconds=max_seconds, at_phase_ends=False, fallback=False)
    return repetition_of(other, seed, scale)


def repetition_of(other: FlowSummary, seed: int, scale: str) -> Repetition:
    """The end of a run, to be compared."""
    certificate = other.limit.certificate
    dataset = other.trajectory.problem.dataset
    bundles = [g for g in neuron_groups(other.limit.network, dataset) if g.name == "bundle"]
    return Repetition(
        seed,
        scale,
        other.trajectory.outcome.code,
        str(certificate.kind),
        other.trajectory.loss,
        certificate.margin,
        len(bundles),
        other.has_ended,
        _function(other),
    )


def compare(first: FlowSummary, other: Repetition) -> Variation:
    """A repetition beside the first run."""
    ours = _function(first)
    labels = float(np.max(np.abs(first.trajectory.problem.dataset.y)))
    size = max(float(np.max(np.abs(ours))), 1e-6 * labels) if labels > 0 else 1.0  # outputs that fade are all alike
    return Variation(
        other.seed,
        other.scale,
        other.outcome,
        other.kind,
        other.loss,
        other.margin,
        other.num_bundles,
        float(np.max(np.abs(ours - other.function))) / size,
        other.has_ended and first.has_ended,
    )


def _function(summary: FlowSummary) -> FloatArray:
    X = summary.trajectory.problem.dataset.X
    if summary.trajectory.outcome is Outcome.DIRECTION_CONVERGED:
        return np.asarray(unit_norm(summary.limit.network).outputs(X))
    return summary.trajectory.predictions
