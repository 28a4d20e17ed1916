"""What each request is answered with: frames for the page, in the order they are ready."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import TrainingInterrupted, Trajectory
from reluflow.errors import InvalidInputError
from reluflow.web import adapter
from reluflow.web.frames import Frame, FrameKeeper
from reluflow.web.movie import movie_of
from reluflow.web.report import report_of
from reluflow.web.run_answer import run_answer
from reluflow.web.state import RunState
from reluflow.web.wire import pack
from reluflow.web.words import command_line, python_lines


@dataclass(frozen=True)
class Request:
    """One request of a page, already checked.

    Parameters
    ----------
    id
        The page's own number for it.
    what
        data, geometry, diagnosis, run, movie, verdict or report.
    tag
        main or ghost: which of the two runs of the page it is about.
    state
        The run it is about.
    key
        For a verdict, the theorem.
    seconds
        How long it may take.
    """

    id: int
    what: str
    tag: str
    state: RunState
    key: str
    seconds: float


OnStep = Callable[[AbstractRun], None]
OnStage = Callable[[str], None]


def answer(request: Request, on_step: OnStep, on_stage: OnStage) -> Iterator[bytes]:
    """The frames a request is answered with."""
    head = {"id": request.id, "what": request.what, "tag": request.tag}
    yield from _ANSWERS[request.what](request, head, on_step, on_stage)


def _data(request: Request, head: dict[str, Any], on_step: OnStep, on_stage: OnStage) -> Iterator[bytes]:
    yield pack(*data_answer(request, head))


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
        "command": command_line(request.state),
        "python": python_lines(request.state),
    }
    arrays = {
        "X": data.X,
        "y": data.y,
        "forces": problem.loss.label_forces(data.y),
        "w": network.w,
        "a": network.a,
        "weight": network.weight,
    }
    return header, arrays


def _geometry(request: Request, head: dict[str, Any], on_step: OnStep, on_stage: OnStage) -> Iterator[bytes]:
    problem = adapter.problem_of(request.state)
    header, arrays = adapter.geometry_of(problem)
    yield pack(head | header, arrays)


def _diagnosis(request: Request, head: dict[str, Any], on_step: OnStep, on_stage: OnStage) -> Iterator[bytes]:
    yield pack(head | adapter.diagnosis_of(adapter.problem_of(request.state)))


def _run(request: Request, head: dict[str, Any], on_step: OnStep, on_stage: OnStage) -> Iterator[bytes]:
    """The run as soon as it is known; again with states in between where much changed in one step; then its limit."""
    trajectory, keeper = _followed(request, on_step)
    told = dict(head)
    if trajectory.outcome.code == "interrupted":
        told["sentence"] = (
            f"Stopped after {request.seconds:g} seconds of computing; what was done is shown. "
            "The command line has no limit."
        )
    yield pack(*run_answer(trajectory, keeper.shown(), told))
    finer = _refined(request, trajectory, keeper, on_step)
    if finer is not None:
        yield pack(*run_answer(trajectory, finer, told))
    yield pack(head | {"what": "limit"} | adapter.limit_of(trajectory))


def _followed(request: Request, on_step: OnStep) -> tuple[Trajectory, FrameKeeper]:
    """The run of a request and what is kept of it."""
    problem = adapter.problem_of(request.state)
    keeper = FrameKeeper(problem.network, problem.initial_loss)

    def after_step(run: AbstractRun) -> None:
        keeper(run)
        on_step(run)

    trajectory = adapter.run_of(request.state, problem, after_step)
    keeper.finish(trajectory.network, trajectory.time, trajectory.log_time, trajectory.loss)
    return trajectory, keeper


def _refined(request: Request, trajectory: Trajectory, keeper: FrameKeeper, on_step: OnStep) -> list[Frame] | None:
    """The states of a run with more of them where much changed in one step, or None where no step was so large."""
    if request.state.method != "flow" or trajectory.outcome.code == "interrupted":
        return None
    is_finer = False
    try:
        for stretch in keeper.stretches:
            times = stretch.times()
            if len(times):
                states = adapter.states_between(trajectory.problem, stretch.network, stretch.time, times, on_step)
                keeper.insert(states)
                is_finer = True
    except TrainingInterrupted:
        return keeper.shown() if is_finer else None  # out of time: what there is was computed, and stays
    return keeper.shown() if is_finer else None


def _movie(request: Request, head: dict[str, Any], on_step: OnStep, on_stage: OnStage) -> Iterator[bytes]:
    on_stage("The exact flow is followed again ...")
    trajectory, keeper = _followed(request, on_step)
    frames = _refined(request, trajectory, keeper, on_step) or keeper.shown()
    on_stage("The MP4 is being drawn ...")
    yield pack(head, {"mp4": movie_of(trajectory, frames)})


def _verdict(request: Request, head: dict[str, Any], on_step: OnStep, on_stage: OnStage) -> Iterator[bytes]:
    problem = adapter.problem_of(request.state)
    yield pack(head | {"key": request.key} | adapter.verdict_of(request.key, problem, on_step))


def _report(request: Request, head: dict[str, Any], on_step: OnStep, on_stage: OnStage) -> Iterator[bytes]:
    if request.state.w is not None or request.state.width is None:
        raise InvalidInputError("a report needs drawn neurons, got neurons placed by hand or infinitely many.")
    problem = adapter.problem_of(request.state)
    command = command_line(request.state, verb="study")
    yield pack(head | {"html": report_of(request.state, problem, command, on_stage)})


_ANSWERS: dict[str, Callable[[Request, dict[str, Any], OnStep, OnStage], Iterator[bytes]]] = {
    "data": _data,
    "geometry": _geometry,
    "diagnosis": _diagnosis,
    "run": _run,
    "movie": _movie,
    "verdict": _verdict,
    "report": _report,
}
