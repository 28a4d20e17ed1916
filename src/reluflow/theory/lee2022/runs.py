"""The runs of the population model that results ask for, what they leave behind, and how a judge reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from reluflow.arrays import FloatArray, IntArray
from reluflow.errors import InvalidInputError
from reluflow.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import PopulationPlan
from reluflow.theory.lee2022.model import layers


@dataclass(frozen=True, eq=False)
class NeuronDescent:
    """Population gradient descent of one neuron.

    Parameters
    ----------
    start
        The balanced neuron at step 0.
    step_size
        eta.
    steps
        Recorded step numbers, shape (num_records,).
    magnitude, gap
        |w| and the angle to the teacher, shape (num_records,).
    v
        The scalar layers, shape (num_records, q).
    """

    start: BalancedNeuron
    step_size: float
    steps: IntArray
    magnitude: FloatArray
    gap: FloatArray
    v: FloatArray


@dataclass(frozen=True, eq=False)
class EulerRuns:
    """Euler's method on u' = -u (u^2 - A)/2 from one start, for several step sizes.

    `curves[k]` holds all iterates at `step_sizes[k]`, from step 0 on.
    """

    initial: float
    level: float
    step_sizes: FloatArray
    curves: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class ComparisonCurves:
    """The comparison equation integrated at the levels V (1 - eps_0) (`lower`) and V (`upper`), shape (num_times,)."""

    start: BalancedNeuron
    times: FloatArray
    lower: FloatArray
    upper: FloatArray


Run = TypeVar("Run")

BALANCED_FLOW = "balanced-flow"
VECTOR_FLOW = "vector-flow"
UNBALANCED_FLOW = "unbalanced-flow"
DESCENT = "descent"
EULER = "euler"
COMPARISON = "comparison"

MAX_STEPS = 20_000_000  # of descent: two seconds or so


def population_plan(evidence: Evidence, kind: str, *parameters: str, **settings: float) -> PopulationPlan:
    """A run of this kind with the number of layers, these parameters of the result and these settings."""
    return PopulationPlan(
        kind, {"q": layers(evidence), **{name: evidence.parameter(name) for name in parameters}, **settings}
    )


def run_of(evidence: Evidence, kind: type[Run]) -> Run:
    """The population run, refused where there is none or another kind of run."""
    if not isinstance(evidence.record, kind):
        raise InvalidInputError(
            f"`record` must be a {kind.__name__} to judge this result, got {type(evidence.record).__name__}; "
            "run its plan first."
        )
    return evidence.record
