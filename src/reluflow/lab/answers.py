"""What each request is answered with: frames for the page, in the order they are ready."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.trajectory import Outcome, TrainingInterrupted, Trajectory
from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.lab import adapter
from reluflow.lab.frames import Frame, FrameKeeper
from reluflow.lab.movie import movie_of
from reluflow.lab.report import report_of
from reluflow.lab.run_answer import early_answer, run_answer
from reluflow.lab.warming import load_kernels
from reluflow.lab.wire import pack
from reluflow.lab.words import command_line, python_lines
from reluflow.network.network import row_norms

EARLY_SECONDS = 0.25  # a run that takes longer is shown as far as it is known by then
LATER = 2.0  # and again when it has taken this many times as long


@dataclass(frozen=True)
class Request:
    """One request of a page, already checked.

    Parameters
    ----------
    id
        The page's own number for it.
    what
        data, geometry, diagnosis, run, movie, verdict or report; warm from the server itself.
    tag
        main or ghost: which of the two runs of the page it is about.
    state
        The run it is about.
    key
        For a verdict, the theorem.
    seconds
        How long it may take.
    is_brief
        Of a run asked for in the middle of a drag: neither its limit nor more states are wanted.
    """

    id: int
    what: str
    tag: str
    state: Experiment
    key: str
    seconds: float
    is_brief: bool = False


@dataclass(frozen=True)
class Line:
    """The way back to the page while an answer is worked out.

    Parameters
    ----------
    step
        Called with the run after every step of it; may end the answer by an exception.
    stage
        Called with a sentence on what is being done.
    frame
        Called with each frame of the answer, in the order they are ready.
    """

    step: Callable[[AbstractRun], None]
    stage: Callable[[str], None]
    frame: Callable[[bytes], None]


def answer(request: Request, line: Line) -> None:
    """Answer a request: every frame goes down the line as soon as it is ready."""
    head = {"id": request.id, "what": request.what, "tag": request.tag}
    _ANSWERS[request.what](request, head, line)


def data_answer(request: Request, head: dict[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The data, the forces at the start, the neurons at the start, and the run in words to copy."""
    problem = adapter.problem_of(request.state)
    data, network = problem.dataset, problem.network
    header = {
        **head,
        "name": data.name,
        "provenance": data.provenance,
        "task": str(data.task),
        "n": data.n,
        "d": data.d,
        "log_scale": network.log_scale,
        "num_neurons": network.num_neurons,
        "classes": None if data.classes is None else list(data.classes),
        "command": command_line(request.state),
        "python": python_lines(request.state),
    }
    arrays = {
        "X": data.X,
        "y": data.y,
        "w": network.w,
        **start_arrays(problem),
        "weight": network.weight,
    }
    return header, arrays


def start_arrays(problem: TrainingProblem) -> dict[str, NDArray[Any]]:
    """The output weights at the start, and the forces there; of several outputs, `a` holds |v_j| and `v` all."""
    network, data = problem.network, problem.dataset
    if network.num_outputs == 1:
        return {"forces": problem.loss.label_forces(data.y), "a": network.a}
    return {"a": row_norms(network.v), "v": network.v}


def _data(request: Request, head: dict[str, Any], line: Line) -> None:
    line.frame(pack(*data_answer(request, head)))


def _geometry(request: Request, head: dict[str, Any], line: Line) -> None:
    problem = adapter.problem_of(request.state)
    header, arrays = adapter.geometry_of(problem)
    line.frame(pack(head | header, arrays))


def _diagnosis(request: Request, head: dict[str, Any], line: Line) -> None:
    line.frame(pack(head | adapter.diagnosis_of(adapter.problem_of(request.state))))


def _run(request: Request, head: dict[str, Any], line: Line) -> None:
    """The run: what is known of it early, then all of it, its limit, and again with more states where much changed.

    A request in the middle of a drag gets the run alone, and one core: the page draws, and a newer one is to come.
    """
    from reluflow.threads import at_most_threads

    with at_most_threads(1 if request.is_brief else None):
        trajectory, keeper = _followed(request, line, head)
    header = dict(head)
    if trajectory.outcome is Outcome.INTERRUPTED:
        header["sentence"] = (
            f"Stopped after {request.seconds:g} seconds of computing; what was done is shown. "
            "The command line has no limit."
        )
    line.frame(pack(*run_answer(trajectory, keeper.shown(), header)))
    if request.is_brief:
        return
    line.frame(pack(head | {"what": "limit"} | adapter.limit_of(trajectory)))
    finer = _refined(request, trajectory, keeper, line)
    if finer is not None:
        line.frame(pack(*run_answer(trajectory, finer, header)))


def _followed(request: Request, line: Line, head: dict[str, Any] | None = None) -> tuple[Trajectory, FrameKeeper]:
    """The run of a request and what is kept of it; with a head, what is known goes down the line early."""
    problem = adapter.problem_of(request.state)
    began = time.monotonic()
    due = began + EARLY_SECONDS

    def follow(solver: AbstractSolver) -> tuple[Trajectory, FrameKeeper]:
        keeper = FrameKeeper(problem.network, problem.initial_loss)

        def after_step(run: AbstractRun) -> None:
            nonlocal due
            line.step(run)
            if adapter.is_slow_direction(run, solver):
                raise _SlowDirection
            now = time.monotonic()
            if head is not None and now >= due:
                due = began + LATER * (now - began)
                line.frame(pack(*early_answer(run, solver.describe(), keeper.shown(), head)))

        trajectory = adapter.run_of(request.state, problem, after_step, solver=solver, keep=Keep(recorder=keeper))
        keeper.finish(trajectory)
        return trajectory, keeper

    try:
        return follow(request.state.solver_for(problem))
    except _SlowDirection:
        return follow(adapter.solver_of_directions())


class _SlowDirection(BaseException):
    """The solver of few samples is on the way to a direction that it comes near to only like 1/log t."""


def _refined(request: Request, trajectory: Trajectory, keeper: FrameKeeper, line: Line) -> list[Frame] | None:
    """The states of a run with more of them where much changed in one step, or None where no step was so large."""
    if request.state.method != "flow" or trajectory.outcome is Outcome.INTERRUPTED:
        return None
    is_finer = False
    try:
        for stretch in keeper.stretches:
            times = stretch.times(trajectory.events.times)
            if len(times):
                states = adapter.states_between(trajectory.problem, stretch.network, times, line.step)
                keeper.insert(states, start=stretch.time, log_excess=stretch.log_excess)
                is_finer = True
    except TrainingInterrupted:
        return keeper.shown() if is_finer else None  # out of time: what there is was computed, and stays
    return keeper.shown() if is_finer else None


def _movie(request: Request, head: dict[str, Any], line: Line) -> None:
    line.stage("The exact flow is followed again ...")
    trajectory, keeper = _followed(request, line)
    frames = _refined(request, trajectory, keeper, line) or keeper.shown()
    line.stage("The MP4 is being drawn ...")
    line.frame(pack(head, {"mp4": movie_of(trajectory, frames)}))


def _verdict(request: Request, head: dict[str, Any], line: Line) -> None:
    problem = adapter.problem_of(request.state)
    line.frame(pack(head | {"key": request.key} | adapter.verdict_of(request.key, problem, line.step)))


def _report(request: Request, head: dict[str, Any], line: Line) -> None:
    if request.state.neurons is not None or request.state.width == "inf":
        raise InvalidInputError("a report needs drawn neurons, got neurons placed by hand or infinitely many.")
    problem = adapter.problem_of(request.state)
    command = command_line(request.state, verb="study")
    line.frame(pack(head | {"html": report_of(request.state, problem, command, line.stage)}))


def _warm(request: Request, head: dict[str, Any], line: Line) -> None:
    load_kernels()


_ANSWERS: dict[str, Callable[[Request, dict[str, Any], Line], None]] = {
    "data": _data,
    "geometry": _geometry,
    "diagnosis": _diagnosis,
    "run": _run,
    "movie": _movie,
    "verdict": _verdict,
    "report": _report,
    "warm": _warm,
}
