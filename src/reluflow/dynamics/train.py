"""train: the one loop that advances a run, keeps what was asked for and stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from reluflow.after_run import Stage
from reluflow.arrays import FloatArray
from reluflow.budget import count, operations_done
from reluflow.dynamics.checkpoint import Checkpoint, settings_of
from reluflow.dynamics.keep import Keep, Recording
from reluflow.dynamics.matrix_threads import matrix_threads
from reluflow.dynamics.phases import find_phases
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import drift_between, gradient_of
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.stopping import AbstractStoppingRule, Allowance, AtTime, DirectionConverged, FirstOf, Stationary
from reluflow.dynamics.trajectory import Limit, Outcome, Phase, TrainingInterrupted, Trajectory
from reluflow.errors import InvalidInputError
from reluflow.network import Network

_SECONDS_BETWEEN_MARKS = 0.1  # what Ctrl-C in the middle of a step may cost, or
_MARKS_SHARE = 0.02  # as long as it takes for marks to cost no more than this share of the time

_OPERATIONS_A_STEP = 500.0  # of 1e9 a second, besides the products, in a compiled loop
_OPERATIONS_A_PRODUCT = 0.5  # of a number of a sample with one of a neuron, there and back: several at a time


def train(
    problem: TrainingProblem,
    solver: AbstractSolver,
    *,
    until: AbstractStoppingRule | float | None = None,
    keep: Keep | None = None,
    times: Sequence[float] | FloatArray = (),
    horizon: float = np.inf,
    log_horizon: float = np.inf,
    max_steps: float = np.inf,
    max_seconds: float = np.inf,
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
    keep
        What to record besides the losses.
    times
        Short for `keep=Keep(times=...)`: a snapshot of the network at exactly these times; the run goes on at least to
        the last of them.
    horizon, log_horizon
        Give up at this time, or at this logarithm of the time, which may lie beyond the range of a double.
    max_steps, max_seconds
        What the run may cost, as in `Allowance`: it ends with outcome `max-steps` or `max-seconds` where that is spent,
        and leaves its checkpoint, from which the same call with more goes on. Without them nothing depends on a clock.
    progress
        Called with the run after every step, to show how far it is.
    checkpoint
        Keep the run in a file, and go on from it if it is there.

    Returns
    -------
    Trajectory
        One record per step, the snapshots, the events, the phases, the outcome and the limit.

    Raises
    ------
    TrainingInterrupted
        On Ctrl-C; a KeyboardInterrupt that holds the trajectory up to then.

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
    if not horizon > 0:
        raise InvalidInputError(f"`horizon` must be positive, got {horizon}.")
    keep = (keep or Keep()).with_times(times)
    rule = _rule_of(until, problem)
    is_spent = Allowance(max_seconds, max_steps).start()
    settings, kept = {}, None
    if checkpoint is not None:  # milliseconds, which a short run would feel
        keep.check_resumable()
        settings = settings_of(problem, solver, until=rule, keep=keep, horizon=horizon, log_horizon=log_horizon)
        kept = checkpoint.read(settings)
    if kept is None:
        run, check, recording = solver.start(problem), rule.start(), keep.start()
        _check_iterations(keep, run)
        recording.add(run)
    else:
        run, check, recording = kept
        recording.keep = keep

    def ended() -> Outcome | None:
        outcome = run.outcome
        if outcome is None and recording.has_all_times:
            outcome = check(run)
        has_come = min(run.time, horizon) == horizon < np.inf or run.log_time >= log_horizon
        outcome = Outcome.HORIZON if outcome is None and has_come else outcome
        return is_spent(run) if outcome is None else outcome

    outcome = run.outcome if kept is None else ended()
    time_limit = rule.time_limit
    mark = _mark(run, recording, None if kept is not None else problem.network)
    is_whole = True
    try:
        with matrix_threads(problem.dataset.n, problem.dataset.d, has_own_threads=run.has_own_threads):
            while outcome is None:
                is_whole = False
                limit = min(recording.next_time, horizon, time_limit if recording.has_all_times else np.inf)
                advance_counted(run, limit, int(min(recording.next_step, max_steps)) - run.steps)
                recording.add(run)
                is_whole = True
                if time.monotonic() > mark.is_due_at:
                    mark = _mark(run, recording)
                if progress is not None:
                    progress(run)
                if checkpoint is not None and checkpoint.is_due():
                    checkpoint.write(settings, (run, check, recording))
                is_whole = False
                outcome = ended()
    except KeyboardInterrupt as interrupt:
        if is_whole:
            if checkpoint is not None:
                checkpoint.write(settings, (run, check, recording))
            mark = _mark(run, recording)
        raise TrainingInterrupted(_interrupted(problem, solver, run, recording, mark)) from interrupt
    if checkpoint is not None:
        with Stage("Keeping the checkpoint up to date"):
            if outcome.is_spent and run.outcome is None:
                checkpoint.write(settings, (run, check, recording))
            else:
                checkpoint.remove()
    end = _mark(run, recording, problem.network)
    try:
        point, drift = _end_point(run, outcome), _drift(run)
    except KeyboardInterrupt as interrupt:
        point = Limit(run.network(), np.nan, False, 0, "Not polished: polishing the end point was interrupted.")
        drift = drift_between(problem.network, point.network)
        raise TrainingInterrupted(
            _trajectory(problem, solver, outcome, run, recording, end, point, drift)
        ) from interrupt
    return _trajectory(problem, solver, outcome, run, recording, end, point, drift)


def advance_counted(run: AbstractRun, limit: float, most_steps: int) -> None:
    """`run.advance`, with its work counted."""
    done, steps, evaluations = operations_done(), run.steps, run.force_evaluations
    run.advance(limit, most_steps)
    if operations_done() == done:
        products = run.problem.dataset.X.size * run.problem.network.num_neurons * run.problem.num_outputs
        count(_OPERATIONS_A_STEP * (run.steps - steps))
        count(_OPERATIONS_A_PRODUCT * products * (run.force_evaluations - evaluations))


def _end_point(run: AbstractRun, outcome: Outcome) -> Limit:
    """Where the run tends to; its last state where that could not be worked out."""
    with Stage("Polishing the end point") as polishing:
        return run.limit(outcome)
    return Limit(run.network(), np.nan, False, 0, f"Not polished: {polishing.failure}")


def _drift(run: AbstractRun) -> float:
    with Stage("Measuring the drift of balancedness"):
        return run.balancedness_drift()
    return np.nan


class _Mark(NamedTuple):
    """A moment at which the run was whole: the network there, the clock, and how much had been recorded."""

    network: Network
    time: float
    log_time: float
    steps: int
    force_evaluations: int
    num_records: int
    num_measured: int
    num_event_blocks: int
    is_due_at: float  # seconds of the computer's clock, of the next one


def _mark(run: AbstractRun, recording: Recording, network: Network | None = None) -> _Mark:
    began = time.monotonic()
    network = network if network is not None else run.network()
    counts = (len(recording.records), len(recording.measured), run.recorder.num_blocks)
    now = time.monotonic()
    due = now + max(_SECONDS_BETWEEN_MARKS, (now - began) / _MARKS_SHARE)
    return _Mark(network, run.time, run.log_time, run.steps, run.force_evaluations, *counts, due)


def _interrupted(
    problem: TrainingProblem, solver: AbstractSolver, run: AbstractRun, recording: Recording, mark: _Mark
) -> Trajectory:
    """The run up to a mark, from what was recorded alone: the run itself may have stopped in the middle of a step."""
    gradient = gradient_of(problem, mark.network, recording.records[mark.num_records - 1][2])
    limit = Limit(mark.network, gradient.norm, False, 0, "Interrupted: the last state that was whole, not polished.")
    drift = drift_between(problem.network, mark.network)
    return _trajectory(problem, solver, Outcome.INTERRUPTED, run, recording, mark, limit, drift)


def _trajectory(
    problem: TrainingProblem,
    solver: AbstractSolver,
    outcome: Outcome,
    run: AbstractRun,
    recording: Recording,
    end: _Mark,
    limit: Limit,
    drift: float,
) -> Trajectory:
    columns = list(zip(*recording.records[: end.num_records], strict=True))
    times, log_times = (np.array(column, dtype=np.float64) for column in columns[:2])
    outputs = np.array(columns[2])
    losses = problem.loss.totals(outputs, problem.dataset.y)
    largest_label = float(np.max(np.abs(problem.dataset.y)))
    label_scale = 1.0 if problem.loss.is_classification or largest_label == 0.0 else largest_label
    phases: tuple[Phase, ...] = ()
    with Stage("Naming the phases"):
        phases = find_phases(times, losses, outputs, label_scale=label_scale)
    return Trajectory(
        problem=problem,
        method=solver.describe(),
        law=solver.law,
        outcome=outcome,
        times=times,
        log_times=log_times,
        losses=losses,
        outputs=outputs,
        snapshots=tuple(snapshot for snapshot in recording.snapshots if snapshot.step <= end.steps),
        frames=tuple(frame for frame in recording.frames if frame.step <= end.steps),
        measured=tuple(recording.measured[: end.num_measured]),
        events=run.recorder.log(end.num_event_blocks),
        phases=phases,
        network=limit.network,
        limit=limit,
        time=end.time,
        log_time=end.log_time,
        steps=end.steps,
        force_evaluations=end.force_evaluations,
        balancedness_drift=drift,
    )


def _rule_of(until: AbstractStoppingRule | float | None, problem: TrainingProblem) -> AbstractStoppingRule:
    if until is None:
        return default_rule(problem)
    if isinstance(until, AbstractStoppingRule):
        return until
    if isinstance(until, int | float) and not isinstance(until, bool):
        return AtTime(float(until))
    raise InvalidInputError(
        f"`until` must be a time or a stopping rule such as Stationary(), got {until!r}; the command line's words are "
        "rules here."
    )


def default_rule(problem: TrainingProblem) -> AbstractStoppingRule:
    """Stationarity; for classification also convergence in direction, as a loss that fades for ever has no minimum.

    Weight decay keeps it from fading; a frozen output layer does not.
    """
    is_endless = problem.loss.is_classification and problem.weight_decay == 0.0
    return FirstOf((DirectionConverged(), Stationary())) if is_endless else Stationary()


def _check_iterations(keep: Keep, run: AbstractRun) -> None:
    """Refuse iterations that the run cannot come to."""
    if keep.iterations and keep.iterations[-1] > run.last_step:
        raise InvalidInputError(
            f"`iterations` to keep must be at most the {run.last_step} of the solver, got {keep.iterations[-1]}."
        )
