"""Trajectory: what a run left behind: times, losses, snapshots, events, phases, and why it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any

from reluflow.arrays import FloatArray
from reluflow.dynamics.event import EventKind, EventLog
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.network import Network
from reluflow.tables import RowsToFrame, html_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import xarray

    from reluflow.data.dataset import Dataset


class Law(StrEnum):
    """What a method of training computes."""

    FLOW = "flow"
    DESCENT = "descent"


class Outcome(Enum):
    """Why a run ended: a short stable code and a sentence."""

    STATIONARY = ("stationary", "The gradient vanished to the tolerance and no neuron was still growing.")
    DIRECTION_CONVERGED = (
        "direction-converged",
        "The norm grows without bound; the direction has stopped turning, or its limit was solved for.",
    )
    LEVELLED_OFF = (
        "levelled-off",
        "The loss has levelled off above zero, less than a millionth above one that no network in these activation "
        "patterns attains.",
    )
    TAKEOVER_AHEAD = (
        "takeover-ahead",
        "A neuron is bound to change the limiting direction, but later than the run can wait for.",
    )
    ALIGNED = ("aligned", "Every neuron that is not dead points where the forces pull it.")
    REACHED = ("reached", "What the run was to bring about, such as a loss below a level, was reached; it would go on.")
    HORIZON = ("horizon", "The requested time was reached before the run ended by itself.")
    RIDGE = ("ridge", "A neuron stands where the flow is not unique; name a side with `ridge` to go on.")
    STALLED = ("stalled", "The steps fell below the spacing of floats; loosen `rtol`.")
    ROUNDED = (
        "rounded",
        "Outputs grew so large that rounding hides the differences the forces depend on; the direction still turns.",
    )
    DIVERGED = ("diverged", "The iterates left the range of a double; the last finite one is kept; lower `lr`.")
    VANISHED = ("vanished", "The loss fell below the smallest double, so a rate relative to it has no meaning left.")
    MAX_STEPS = ("max-steps", "The largest allowed number of steps was taken; raise `max_steps` to go on.")
    MAX_SECONDS = ("max-seconds", "The seconds allowed were spent; raise `max_seconds` to go on.")
    INTERRUPTED = ("interrupted", "The run was interrupted; what was done is kept.")

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        self.sentence = sentence

    def __str__(self) -> str:
        return self.code

    @property
    def is_limit(self) -> bool:
        """Whether the run came to its own end: a stationary point, a direction that no longer turns, a level loss."""
        return self in (Outcome.STATIONARY, Outcome.DIRECTION_CONVERGED, Outcome.LEVELLED_OFF)

    @property
    def is_cut_short(self) -> bool:
        """Whether the run ended before what was asked of it: out of steps, seconds or doubles, or by Ctrl-C."""
        return self.is_spent or self in (Outcome.STALLED, Outcome.ROUNDED, Outcome.DIVERGED, Outcome.INTERRUPTED)

    @property
    def is_spent(self) -> bool:
        """Whether the run ended because it may cost no more; with more it would go on."""
        return self in (Outcome.MAX_STEPS, Outcome.MAX_SECONDS)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The network at one moment.

    Parameters
    ----------
    time
        The requested time itself, or that of the requested iteration.
    loss
        L there.
    outputs
        h(x_k), shape (n,).
    network
        The network; (w, a) times exp(log_scale).
    log_time
        Logarithm of the time, finite beyond the range of a double.
    step
        Steps taken until then; for a descent, the iteration.
    log_sizes
        ln |(w_j, a_j)| of every neuron, the scale included, where some are so light that `network` holds their
        directions alone; else None. Shape (num_neurons,).
    """

    time: float
    loss: float
    outputs: FloatArray
    network: Network
    log_time: float
    step: int
    log_sizes: FloatArray | None = None


@dataclass(frozen=True)
class Phase:
    """A named stretch of training, [start, end] in time."""

    name: str
    start: float
    end: float


@dataclass(frozen=True, eq=False)
class Limit:
    """The end point of a run and the evidence for it.

    Parameters
    ----------
    network
        Where the run tends to: polished by Newton's method in the final pattern where that applies, else its last
        state.
    gradient_norm
        |grad L| there.
    is_polished
        Whether Newton's method was applied.
    num_iterations
        Newton steps taken.
    reason
        One sentence on what was done or why not.
    """

    network: Network
    gradient_norm: float
    is_polished: bool
    num_iterations: int
    reason: str


@dataclass(frozen=True, eq=False)
class Trajectory(RowsToFrame):
    """One finished run.

    Parameters
    ----------
    problem
        What was trained.
    method, law
        Which solver with which settings, in words; and whether it is a flow or a descent.
    outcome
        Why it ended.
    times, log_times
        Recorded times (one per step, infinite beyond the range of a double) and their logarithms, shape (T,).
    losses
        L at the recorded times, shape (T,).
    outputs
        h at the recorded times, shape (T, n).
    snapshots
        The network at exactly the requested times and iterations, in order.
    events
        All boundary events in order.
    phases
        Alignment, growth, fitting, convergence, and plateaus.
    network
        The end point: the last state of the run, polished where it ended stationary.
    limit
        The end point with the evidence for it.
    time, log_time
        When the run ended.
    steps, force_evaluations
        What it cost.
    balancedness_drift
        Largest change of $a_j^2 - |w_j|^2$, relative to the neuron's largest squared norm so far.
    frames
        Networks on the way, thinned; see `Keep.thinned`.
    measured
        What `Keep.measure` gave at the requested times and iterations, in place of `snapshots`.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> trajectory = reluflow.train(problem, reluflow.EventDrivenFlow())
    >>> print(trajectory.outcome, round(trajectory.loss, 6), [phase.name for phase in trajectory.phases])
    stationary 0.087521 ['alignment', 'growth', 'fitting', 'convergence']
    """

    problem: TrainingProblem
    method: str
    law: Law
    outcome: Outcome
    times: FloatArray
    log_times: FloatArray
    losses: FloatArray
    outputs: FloatArray
    snapshots: tuple[Snapshot, ...]
    events: EventLog
    phases: tuple[Phase, ...]
    network: Network
    limit: Limit
    time: float
    log_time: float
    steps: int
    force_evaluations: int
    balancedness_drift: float
    frames: tuple[Snapshot, ...] = ()
    measured: tuple[Any, ...] = ()

    @property
    def crossings(self) -> int:
        """How often a neuron met a boundary and passed, stopped or died there; a slide counts once, at its entry."""
        kinds = (EventKind.REFRACTION, EventKind.SLIDE_ENTRY, EventKind.DEATH)
        return sum(self.events.count(kind) for kind in kinds)

    @property
    def slides(self) -> int:
        """How often a neuron began to slide along a boundary."""
        return self.events.count(EventKind.SLIDE_ENTRY)

    @property
    def loss(self) -> float:
        """L at the end point."""
        return self.problem.loss.total(self.predictions, self.problem.dataset.y)

    @property
    def predictions(self) -> FloatArray:
        """$h(x_k)$ at the end point, shape (n,)."""
        return self.network.outputs(self.problem.dataset.X)

    @property
    def end(self) -> Snapshot:
        """The end point as a snapshot."""
        return Snapshot(self.time, self.loss, self.predictions, self.network, self.log_time, self.steps)

    def snapshot_at(self, time: float) -> Snapshot:
        """The snapshot taken at a requested time."""
        for snapshot in self.snapshots:
            if snapshot.time == time:
                return snapshot
        taken = ", ".join(f"{snapshot.time:g}" for snapshot in self.snapshots) or "none"
        raise InvalidInputError(f"`time` must be one at which a snapshot was taken ({taken}), got {time:g}.")

    def to_xarray(self) -> xarray.Dataset:
        """The run as labelled arrays (times, losses, outputs, snapshots, events); needs the extra `storage`."""
        from reluflow.dynamics.storage import to_xarray

        return to_xarray(self)

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        limit: Any = None,
        states: Sequence[Snapshot] = (),
        held_out: Dataset | None = None,
    ) -> str:
        """The run as one self-contained web page with a slider, its events and their explanations; no server needed.

        Parameters
        ----------
        path
            Where to write it; the text is returned in any case.
        title
            By default the name of the dataset.
        limit
            What `certified_limit(trajectory)` said, to be said on the page too.
        states
            States of the run to show, where they are kept apart from it; by default its snapshots or frames.
        held_out
            Samples that it was not trained on, shown hollow, with their loss.
        """
        from importlib import import_module

        # by name, since the viewer stands above the dynamics and knows them, not the other way round
        page: str = import_module("reluflow.lab.saved_page").page_of(
            self, path, title=title, limit=limit, states=states, held_out=held_out
        )
        return page

    def table(self) -> list[dict[str, Any]]:
        """One row per phase, ready for a data frame."""
        return [{"phase": phase.name, "start": phase.start, "end": phase.end} for phase in self.phases]

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table())

    def __repr__(self) -> str:
        return (
            f"Trajectory({self.outcome}, t={self.time:g}, loss={self.loss:.6g}, steps={self.steps}, "
            f"crossings={self.crossings}, slides={self.slides})"
        )


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C ended `train`.

    Parameters
    ----------
    trajectory
        The run up to then, with outcome `interrupted`: to the last step where the interrupt came between two, else to
        the last state that was kept whole, a fraction of a second earlier (seconds for a million neurons).
    """

    def __init__(self, trajectory: Trajectory) -> None:
        super().__init__(f"interrupted at t = {trajectory.time:g} after {trajectory.steps} steps")
        self.trajectory = trajectory
