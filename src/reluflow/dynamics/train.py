"""train: the one loop that advances a run, keeps what was asked for and stops it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from reluflow.dynamics.phases import find_phases
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.stopping import AbstractStoppingRule, DirectionConverged, FirstOf, Stationary
from reluflow.dynamics.trajectory import Outcome, Snapshot, Trajectory
from reluflow.errors import InvalidInputError

FloatArray = NDArray[np.float64]


def train(
    problem: TrainingProblem,
    solver: AbstractSolver,
    *,
    until: AbstractStoppingRule | None = None,
    times: Sequence[float] | FloatArray = (),
    horizon: float = np.inf,
    log_horizon: float = np.inf,
    progress: Callable[[AbstractRun], None] | None = None,
) -> Trajectory:
    """Train a network and return its trajectory.

    Parameters
    ----------
    problem
        Dataset, loss and initial network.
    solver
        The method, for example `EventDrivenFlow(rtol=1e-10)`.
    until
        When to stop; by default `Stationary()`, for classification losses also `DirectionConverged()`, whichever is
        first.
    times
        Take a snapshot of the network at exactly these times; the run goes on at least to the last of them.
    horizon, log_horizon
        Give up at this time, or at this logarithm of the time, which may lie beyond the range of a double.
    progress
        Called with the run after every step.

    Returns
    -------
    Trajectory
        One record per step, the snapshots, the events, the phases, the outcome and the limit. Ctrl-C ends the run with
        outcome `interrupted` and keeps what was done.
    """
    requested = _checked_times(times)
    if not horizon > 0:
        raise InvalidInputError(f"`horizon` must be positive, got {horizon}.")
    rule = until if until is not None else _default_rule(problem)
    run = solver.start(problem)
    records: list[tuple[float, float, float, FloatArray]] = []
    snapshots: list[Snapshot] = []

    def record() -> None:
        outputs = run.outputs()
        loss = problem.loss.total(outputs, problem.dataset.y)
        records.append((run.time, run.log_time, loss, outputs))
        while len(snapshots) < len(requested) and requested[len(snapshots)] <= run.time:
            snapshots.append(Snapshot(float(requested[len(snapshots)]), loss, outputs, run.network()))

    record()
    outcome = run.outcome
    try:
        while outcome is None:
            waits = len(snapshots) < len(requested)
            following = float(requested[len(snapshots)]) if waits else np.inf
            run.advance(min(following, horizon, np.inf if waits else rule.time_limit))
            record()
            if progress is not None:
                progress(run)
            outcome = run.outcome
            if outcome is None and len(snapshots) == len(requested):
                outcome = rule.check(run)
            if outcome is None and (min(run.time, horizon) == horizon < np.inf or run.log_time >= log_horizon):
                outcome = Outcome.HORIZON
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    limit = run.limit(outcome)
    columns = list(zip(*records, strict=True))
    recorded_times, log_times, losses = (np.array(column, dtype=np.float64) for column in columns[:3])
    outputs = np.array(columns[3])
    largest_label = float(np.max(np.abs(problem.dataset.y)))
    label_scale = 1.0 if problem.loss.is_classification or largest_label == 0.0 else largest_label
    return Trajectory(
        problem=problem,
        method=solver.describe(),
        outcome=outcome,
        times=recorded_times,
        log_times=log_times,
        losses=losses,
        outputs=outputs,
        snapshots=tuple(snapshots),
        events=run.recorder.log(),
        phases=find_phases(recorded_times, losses, outputs, label_scale=label_scale),
        network=limit.network,
        limit=limit,
        time=run.time,
        log_time=run.log_time,
        steps=run.steps,
        force_evaluations=run.force_evaluations,
        balancedness_drift=run.balancedness_drift(),
    )


def _default_rule(problem: TrainingProblem) -> AbstractStoppingRule:
    """Stationarity; for classification also convergence in direction, as a loss that fades for ever has no minimum."""
    return FirstOf((DirectionConverged(), Stationary())) if problem.loss.is_classification else Stationary()


def _checked_times(times: Sequence[float] | FloatArray) -> FloatArray:
    """The requested times in order."""
    requested = np.unique(np.asarray(times, dtype=np.float64).ravel())
    if requested.size and not (np.all(np.isfinite(requested)) and requested[0] >= 0.0):
        raise InvalidInputError(f"`times` must hold finite times of at least 0, got {requested[0]:g}.")
    return requested
