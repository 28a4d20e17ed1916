"""Evidence: what a theorem judges: a problem, a run, perhaps runs at other scales or a record of another kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from reluflow.data.dataset import Dataset
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.trajectory import Law, Trajectory
from reluflow.errors import InvalidInputError
from reluflow.losses import AbstractLoss
from reluflow.network import Network
from reluflow.theory.facts import DatasetFacts
from reluflow.theory.output_facts import OutputFacts

Value = TypeVar("Value")
More = ParamSpec("More")


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a theorem judges.

    Parameters
    ----------
    problem
        Dataset, loss and initial network.
    trajectory
        The run, or None where the data alone decide or nothing was run yet.
    parameters
        Values for the numbers a result leaves to its reader.
    other_scales
        Evidence from the same draw at other scales, largest scale first.
    record
        What a paper's own kind of run recorded, or what the theorem's `record` drew or constructed; `recorded` gives it
        by its type.
    companions
        The runs of the plan's companions, by name.
    rtol
        The tolerance its runs were computed to; None where nothing was run, or what was run has none or does not say.
    ended_at
        The time at which the reader had the run end, where the plan would have gone on; else None.
    """

    problem: TrainingProblem
    trajectory: Trajectory | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    other_scales: tuple[Evidence, ...] = ()
    record: object = None
    companions: Mapping[str, Trajectory] = field(default_factory=dict)
    rtol: float | None = None
    ended_at: float | None = None
    _computed: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def dataset(self) -> Dataset:
        """The samples."""
        return self.problem.dataset

    @property
    def loss(self) -> AbstractLoss:
        """The loss."""
        return self.problem.loss

    @property
    def network(self) -> Network:
        """The network at time 0."""
        return self.problem.network

    @property
    def leak(self) -> float:
        """Negative slope of the activation."""
        return self.problem.network.leak

    @cached_property
    def facts(self) -> DatasetFacts:
        """The quantities assumptions share."""
        return DatasetFacts(self.dataset, self.loss, self.leak)

    @cached_property
    def output_facts(self) -> OutputFacts:
        """The same of data with several outputs."""
        return OutputFacts(self.dataset, self.loss, self.leak)

    @property
    def run(self) -> Trajectory:
        """The trajectory, refused where there is none."""
        if self.trajectory is None:
            raise InvalidInputError("`trajectory` must be given to judge this result, got none; run its plan first.")
        return self.trajectory

    @property
    def is_flow(self) -> bool:
        """Whether the trajectory was made by a gradient flow, not by a descent."""
        return self.trajectory is not None and self.trajectory.law is Law.FLOW

    @property
    def has_run(self) -> bool:
        """Whether something was run, of whatever kind."""
        return self.trajectory is not None or self.record is not None

    @property
    def runs(self) -> list[Trajectory]:
        """The runs of a two-layer network, those at other scales and the companions included."""
        found = [e.trajectory for e in (self, *self.other_scales) if e.trajectory is not None]
        return [*found, *self.companions.values()]

    @property
    def cut_short(self) -> str:
        """Why a run ended before what was asked of it, as a sentence; empty where none did."""
        cut = next((run for run in self.runs if run.outcome.is_cut_short), None)
        if cut is not None:
            return cut.outcome.sentence
        if self.ended_at is None:
            return ""
        return f"The run was ended at $t$ = {self.ended_at:.6g}, before the times that the result speaks of."

    def recorded(self, kind: type[Value]) -> Value:
        """The record of a paper's own kind of run, refused where there is none of this kind."""
        if not isinstance(self.record, kind):
            raise InvalidInputError(
                f"`record` must be a {kind.__name__} to judge this result, got {type(self.record).__name__}; "
                "run its plan first."
            )
        return self.record

    def beside(self, name: str) -> Evidence | None:
        """The companion of this name with its run as evidence of its own, or None where it was not run."""
        run = self.companions.get(name)
        return (
            None if run is None else replace(self, problem=run.problem, trajectory=run, other_scales=(), companions={})
        )

    def parameter(self, name: str) -> float:
        """The value of a number the result leaves to its reader."""
        return float(self.parameters[name])

    def with_parameters(self, parameters: Mapping[str, float]) -> Evidence:
        """The same evidence with other parameters, also at its other scales; nothing computed is carried over."""
        if dict(parameters) == dict(self.parameters):
            return self
        other_scales = tuple(e.with_parameters(parameters) for e in self.other_scales)
        return replace(self, parameters=dict(parameters), other_scales=other_scales)


def computed_once(
    compute: Callable[Concatenate[Evidence, More], Value],
) -> Callable[Concatenate[Evidence, More], Value]:
    """A function of evidence that hypotheses, constants and conclusions share: computed at the first asking.

    Nothing is carried over to other evidence, so a forged run is measured anew.

    >>> @computed_once
    ... def dimension(evidence: Evidence) -> int:
    ...     return evidence.dataset.d
    """

    @wraps(compute)
    def asked(evidence: Evidence, /, *args: More.args, **kwargs: More.kwargs) -> Value:
        key = (asked, args, tuple(kwargs.items()))
        if key not in evidence._computed:
            evidence._computed[key] = compute(evidence, *args, **kwargs)
        return cast(Value, evidence._computed[key])

    return asked
