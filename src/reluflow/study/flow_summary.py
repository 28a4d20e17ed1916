"""The flow to its limit, with frames kept on the way for pictures; descent from there where it may cost no more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from reluflow.after_run import Stage
from reluflow.arrays import FloatArray
from reluflow.budget import Budget, counting_work
from reluflow.certificates.limits.certified_limit import CertifiedLimit
from reluflow.certificates.limits.levelling import end_of_training
from reluflow.certificates.limits.undecided import limit_or_undecided, undecided
from reluflow.dynamics.flow_choice import MOST_STEPS, ChosenFlow, choose_flow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import AbstractStoppingRule, AtTime, Check
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome, Snapshot, TrainingInterrupted, Trajectory
from reluflow.errors import InvalidInputError
from reluflow.network import Network
from reluflow.study.descent_continuation import DescentPart, descend_from, stable_step

MAX_FRAMES = 80
SUMMARY_RTOLS = (
    (3_000, None),
    (30_000, 1e-6),
    (np.inf, 1e-5),
)  # n d m up to which a summary is computed to which tolerance
RUN_SECONDS = 10.0  # of work, where nothing else is said
DESCENT_WORK = 3e9  # n d m times iterations of the descent after a flow that was cut short: some seconds
MOST_ITERATIONS = 2_000_000  # each costs a microsecond or two, however small the problem
DESCENT_SHARE = 0.3  # of the seconds of a run, for the descent
LATEST_DESCENT = 600.0  # log t beyond which the time of a descent is out of the range of a double
_FRAME_STEPS = 500  # from a frame to the end of a phase


@dataclass(frozen=True, eq=False)
class FlowSummary:
    """One run of the flow.

    Parameters
    ----------
    trajectory
        The run; where `descent` is given, of the flow and the descent after it.
    frames
        Networks on the way, from the first to the last: evenly in what changes, and at the ends of the phases.
    limit
        What the end point provably is.
    max_steps
        Steps it was allowed.
    seconds
        What it took, of work within `counting_work`, else of processor time.
    descent
        Which part of it was made by descent, for the exact flow may cost no more; None where all of it is the flow.
    """

    trajectory: Trajectory
    frames: tuple[Snapshot, ...]
    limit: CertifiedLimit
    max_steps: float
    seconds: float = 0.0
    descent: DescentPart | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the run reached its own end."""
        return self.trajectory.outcome.is_limit

    @property
    def is_exact(self) -> bool:
        """Whether all of it is the flow."""
        return self.descent is None


class FlowInterrupted(KeyboardInterrupt):
    """Ctrl-C ended the run of a study; `summary` holds it up to then."""

    def __init__(self, summary: FlowSummary) -> None:
        super().__init__("the run was interrupted")
        self.summary = summary


def flow_of_study(problem: TrainingProblem) -> ChosenFlow:
    """The solver of a summary: the faster one, at the tolerance a summary needs where many neurons cross many walls."""
    size = problem.dataset.X.size * problem.network.num_neurons
    return choose_flow(problem, to_the_end=True, rtol=next(rtol for most, rtol in SUMMARY_RTOLS if size <= most))


def follow_flow(
    problem: TrainingProblem,
    *,
    max_steps: float | None = None,
    max_seconds: float | None = None,
    at_phase_ends: bool = True,
    fallback: bool = True,
    on_step: Callable[[AbstractRun], None] | None = None,
    on_run: Callable[[FlowSummary], None] | None = None,
) -> FlowSummary:
    """Run the flow to its limit, or until it may cost no more, and from there descent; and keep frames.

    Parameters
    ----------
    problem
        Dataset, loss, initial network.
    max_steps, max_seconds
        What the run may cost; by default ten seconds of work, the same on every machine.
    at_phase_ends
        Whether to keep frames at exactly the ends of the phases as well, each from the frame before it.
    fallback
        Whether gradient descent goes on where the flow may cost no more.
    on_step
        Called after every step.
    on_run
        Called when the run is over, before its end is certified, with the summary that says so.

    Raises
    ------
    FlowInterrupted
        On Ctrl-C while the exact flow runs or is certified; it holds the run up to then.
    """
    if max_seconds is None:
        with counting_work():
            return follow_flow(
                problem,
                max_steps=max_steps,
                max_seconds=RUN_SECONDS,
                at_phase_ends=at_phase_ends,
                fallback=fallback,
                on_step=on_step,
                on_run=on_run,
            )
    spent = Budget()
    allowed = MOST_STEPS if max_steps is None else max_steps
    keep, rule = Keep(thinned=MAX_FRAMES, evenly="change"), end_of_training(problem)
    until = TimeLeftForDescent(rule, max_seconds * (1.0 - DESCENT_SHARE)) if fallback else rule
    try:
        trajectory = train(
            problem,
            flow_of_study(problem).solver,
            until=until,
            keep=keep,
            max_steps=allowed,
            max_seconds=max_seconds,
            progress=on_step,
        )
    except TrainingInterrupted as interrupt:
        cut = interrupt.trajectory
        summary = FlowSummary(cut, (*cut.frames, cut.end), _not_certified(cut), allowed, spent.used)
        if on_run is not None:
            on_run(summary)
        limit = limit_or_undecided(cut, is_left_by_interruption=True)
        raise FlowInterrupted(replace(summary, limit=limit)) from interrupt
    descent = None
    if (
        fallback
        and trajectory.outcome.is_spent
        and _descent_helps(problem, trajectory.network, trajectory.predictions, trajectory.time)
    ):
        with Stage("Going on by descent"), suppress(InvalidInputError):
            # refused at a scale or a time beyond the range of a double; in any case the flow stands alone
            trajectory, descent = descend_from(
                trajectory,
                until=rule,
                max_iterations=1 << 40,
                max_seconds=max_seconds * DESCENT_SHARE,
                keep=keep,
                progress=on_step,
            )
    between = list(trajectory.frames)
    if at_phase_ends:
        with Stage("Finding the networks at the ends of the phases"):
            between += _at_phase_ends(trajectory, descent)
    between = [frame for frame in between if frame.log_time < trajectory.end.log_time]
    frames = (*sorted(between, key=lambda frame: frame.log_time), trajectory.end)
    summary = FlowSummary(trajectory, frames, _not_certified(trajectory), allowed, spent.used, descent)
    if on_run is not None:
        on_run(summary)
    try:
        limit = limit_or_undecided(trajectory)
    except KeyboardInterrupt as interrupt:
        limit = undecided(trajectory, "certifying the end of the run was interrupted.")
        raise FlowInterrupted(replace(summary, limit=limit)) from interrupt
    if descent is not None:
        limit = replace(limit, is_proof=False, reason=f"The run is {descent}. {limit.reason}")
    return replace(summary, limit=limit, seconds=spent.used)


def _not_certified(trajectory: Trajectory) -> CertifiedLimit:
    return undecided(trajectory, "certifying the end of the run was not finished.")


@dataclass(frozen=True)
class TimeLeftForDescent(AbstractStoppingRule):
    """A rule that also ends the flow after some seconds, as a `Budget` has them, where descent would get on faster."""

    rule: AbstractStoppingRule
    seconds: float

    @property
    def time_limit(self) -> float:
        return self.rule.time_limit

    def start(self) -> Check:
        own, allowed = self.rule.start(), Budget(self.seconds)

        def check(run: AbstractRun) -> Outcome | None:
            outcome = own(run)
            if outcome is not None or not allowed.is_spent:
                return outcome
            helps = run.log_time < LATEST_DESCENT and _descent_helps(
                run.problem, run.network(), run.outputs(), run.time
            )
            return Outcome.MAX_SECONDS if helps else None

        return check


def _descent_helps(problem: TrainingProblem, network: Network, outputs: FloatArray, flow_time: float) -> bool:
    """Whether descent has anything to do, and would at least double the time that the flow has come to.

    A classifier that is right on every sample only grows, like log t. Where walls are few the steps of the flow grow
    with t, and those of descent do not: beyond some time descent only falls behind.
    """
    if not problem.is_plain:  # the step sizes of the descent that goes on are worked out for those
        return False
    if problem.loss.is_classification and not np.any(outputs * problem.dataset.y <= 0.0):
        return False
    step = stable_step(replace(problem, network=network))
    return _affordable_iterations(problem) * step >= flow_time


def _affordable_iterations(problem: TrainingProblem) -> int:
    """Iterations of descent that take some seconds, whatever the size of the problem."""
    work = problem.dataset.X.size * problem.network.num_neurons
    return min(max(100, int(DESCENT_WORK / work)), MOST_ITERATIONS)


def _at_phase_ends(trajectory: Trajectory, descent: DescentPart | None) -> list[Snapshot]:
    """The network at exactly the ends of the phases, which are known only when the run is over.

    The flow is run from the last frame before each; within a part by descent, whose iterates exist at their own times
    only, there is none.
    """
    last = trajectory.time if descent is None else descent.exact_until
    ends = sorted({phase.end for phase in trajectory.phases if 0.0 < phase.end < last and np.isfinite(phase.end)})
    found = []
    for end in ends:
        frame = max((f for f in trajectory.frames if f.time < end), key=lambda f: f.time, default=None)
        if frame is None:
            continue
        problem = replace(trajectory.problem, network=frame.network)
        part = train(
            problem,
            flow_of_study(problem).solver,
            until=AtTime(end - frame.time),
            max_steps=_FRAME_STEPS,
        )
        if part.outcome is Outcome.HORIZON:
            there = part.end
            found.append(replace(there, time=end, log_time=float(np.log(end)), step=frame.step))
    return found
