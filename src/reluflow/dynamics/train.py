"""train: the one loop that advances a run, keeps what was asked for and stops it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from reluflow.dynamics.checkpoint import Checkpoint, fingerprint_of, interrupt_between_steps
from reluflow.dynamics.phases import find_phases
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.stopping import AbstractStoppingRule, AtTime, DirectionConverged, FirstOf, Stationary
from reluflow.dynamics.trajectory import Outcome, Snapshot, Trajectory
from reluflow.errors import InvalidInputError

FloatArray = NDArray[np.float64]


def train(
    problem: TrainingProblem,
    solver: AbstractSolver,
    *,
    until: AbstractStoppingRule | float | None = None,
    times: Sequence[float] | FloatArray = (),
    horizon: float = np.inf,
    log_horizon: float = np.inf,
    progress: Callable[[AbstractRun], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Trajectory:
    """Train a network and return its trajectory.

    Parameters
    ----------
    problem
        Dataset, loss and initial network.
    solver
        The method, for example `EventDrivenFlow(rtol=1e-10)`.
    until
        When to stop, a rule or a time; by default `Stationary()`, for classification losses also
        `DirectionConverged()`, whichever is first.
    times
        Take a snapshot of the network at exactly these times; the run goes on at least to the last of them.
    horizon, log_horizon
        Give up at this time, or at this logarithm of the time, which may lie beyond the range of a double.
    progress
        Called with the run after every step.
    checkpoint
        Keep the run in a file, and go on from it if it is there.

    Returns
    -------
    Trajectory
        One record per step, the snapshots, the events, the phases, the outcome and the limit. Ctrl-C ends the run with
        outcome `interrupted` and keeps what was done.

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.load("three-points")
    >>> network = reluflow.balanced_initialization(data, width=20, scale=1e-3, rng=np.random.default_rng(0))
    >>> problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    >>> trajectory = train(problem, reluflow.EventDrivenFlow(), times=[5.0])
    >>> round(trajectory.loss, 7), [phase.name for phase in trajectory.phases]
    (0.0875214, ['alignment', 'growth', 'fitting', 'convergence'])
    """
    requested = _checked_times(times)
    if not horizon > 0:
        raise InvalidInputError(f"`horizon` must be positive, got {horizon}.")
    rule = _rule_of(until, problem)
    fingerprint = fingerprint_of(problem, solver.describe(), requested.tolist(), horizon, log_horizon)
    kept = checkpoint.read(fingerprint) if checkpoint is not None else None
    records: list[tuple[float, float, float, FloatArray]] = []
    snapshots: list[Snapshot] = []
    run = solver.start(problem) if kept is None else kept[0]
    if kept is not None:
        _, rule, records, snapshots = kept

    def record() -> None:
        outputs = run.outputs()
        loss = problem.loss.total(outputs, problem.dataset.y)
        records.append((run.time, run.log_time, loss, outputs))
        while len(snapshots) < len(requested) and requested[len(snapshots)] <= run.time:
            snapshots.append(Snapshot(float(requested[len(snapshots)]), loss, outputs, run.network()))

    def keep() -> None:
        if checkpoint is not None:
            checkpoint.write(fingerprint, (run, rule, records, snapshots))

    if kept is None:
        record()
    outcome = run.outcome
    is_between_steps = True
    try:
        with interrupt_between_steps() as interrupted:
            while outcome is None:
                if interrupted():
                    raise KeyboardInterrupt
                waits = len(snapshots) < len(requested)
                following = float(requested[len(snapshots)]) if waits else np.inf
                is_between_steps = False
                run.advance(min(following, horizon, np.inf if waits else rule.time_limit))
                record()
                is_between_steps = True
                if progress is not None:
                    progress(run)
                outcome = run.outcome
                if outcome is None and len(snapshots) == len(requested):
                    outcome = rule.check(run)
                if outcome is None and (min(run.time, horizon) == horizon < np.inf or run.log_time >= log_horizon):
                    outcome = Outcome.HORIZON
                if outcome is None and checkpoint is not None and checkpoint.is_due():
                    keep()
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
        if is_between_steps:  # a state in the middle of a step could not be gone on from
            keep()
    if checkpoint is not None and outcome is not Outcome.INTERRUPTED:
        checkpoint.remove()
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


def _rule_of(until: AbstractStoppingRule | float | None, problem: TrainingProblem) -> AbstractStoppingRule:
    if until is None:
        return _default_rule(problem)
    if isinstance(until, AbstractStoppingRule):
        return until
    if isinstance(until, int | float) and not isinstance(until, bool):
        return AtTime(float(until))
    raise InvalidInputError(
        f"`until` must be a time or a stopping rule such as Stationary(), got {until!r}; the command line's words are "
        "rules here."
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
