"""Does the story change with the draw or the scale? The same dataset from several seeds and scales, compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.trajectory import Outcome
from reluflow.network.network import Network
from reluflow.study.flow_story import FlowStory, follow_flow
from reluflow.study.neuron_groups import neuron_groups
from reluflow.theory.limit import unit_norm

SAME_FUNCTION = 0.02  # largest difference of outputs, relative to their size, of two runs that tell one story


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
    def tells_the_same(self) -> bool | None:
        """Whether it ends in the same function as the first run; None where it did not end."""
        return bool(self.difference <= SAME_FUNCTION) if self.has_ended else None


def vary(
    first: FlowStory,
    draw: Callable[[int, str], Network],
    *,
    seeds: Sequence[int],
    scales: Sequence[str],
    on_run: Callable[[str], None] | None = None,
) -> tuple[Variation, ...]:
    """Run the flow from every seed at every scale and compare its end with the first run's.

    Parameters
    ----------
    first
        The run to compare with.
    draw
        From seed and scale to a network.
    seeds, scales
        What to vary.
    on_run
        Called with a few words before each run.
    """
    problem = first.trajectory.problem
    found = []
    for scale in scales:
        for seed in seeds:
            if on_run is not None:
                on_run(f"varying: seed {seed}, scale {scale}")
            other = follow_flow(
                TrainingProblem(problem.dataset, problem.loss, draw(seed, scale)),
                max_steps=first.max_steps,
                at_phase_ends=False,
            )
            found.append(_compare(first, other, seed, scale))
    return tuple(found)


def _compare(first: FlowStory, other: FlowStory, seed: int, scale: str) -> Variation:
    certificate = other.limit.certificate
    bundles = [g for g in neuron_groups(other.limit.network, other.trajectory.problem.dataset) if g.name == "bundle"]
    ours, theirs = _function(first), _function(other)
    labels = float(np.max(np.abs(first.trajectory.problem.dataset.y)))
    size = max(float(np.max(np.abs(ours))), 1e-6 * labels) if labels > 0 else 1.0  # outputs that fade are all alike
    return Variation(
        seed,
        scale,
        other.trajectory.outcome.code,
        str(certificate.kind),
        other.trajectory.loss,
        certificate.margin,
        len(bundles),
        float(np.max(np.abs(ours - theirs))) / size,
        other.has_ended and first.has_ended,
    )


def _function(story: FlowStory) -> FloatArray:
    """Outputs on the samples: of the unit-norm limit for a run that grows for ever, of the end point otherwise."""
    X = story.trajectory.problem.dataset.X
    if story.trajectory.outcome is Outcome.DIRECTION_CONVERGED:
        return np.asarray(unit_norm(story.limit.network).outputs(X))
    return story.trajectory.predictions
