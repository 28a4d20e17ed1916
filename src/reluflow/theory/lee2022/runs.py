"""The runs of the population model that results ask for, by name and settings, and how a judge reads them."""

from __future__ import annotations

from typing import TypeVar

from reluflow.errors import InvalidInputError
from reluflow.theory.evidence import Evidence, PopulationPlan
from reluflow.theory.lee2022.model import layers

Run = TypeVar("Run")

BALANCED_FLOW = "balanced-flow"
VECTOR_FLOW = "vector-flow"
UNBALANCED_FLOW = "unbalanced-flow"
DESCENT = "descent"
EULER = "euler"
COMPARISON = "comparison"

MAX_STEPS = 20_000_000  # of descent: two seconds or so


def balanced_flow_plan(evidence: Evidence) -> PopulationPlan:
    """Magnitude and angle of the balanced flow until the gap has fallen to the parameter `gap`."""
    return PopulationPlan(BALANCED_FLOW, {"q": layers(evidence), "gap": evidence.parameter("gap")})


def run_of(evidence: Evidence, kind: type[Run]) -> Run:
    """The population run, refused where there is none or another kind of run."""
    if not isinstance(evidence.population, kind):
        raise InvalidInputError(
            f"`population` must be a {kind.__name__} to judge this result, got {type(evidence.population).__name__}; "
            "run its plan first."
        )
    return evidence.population
