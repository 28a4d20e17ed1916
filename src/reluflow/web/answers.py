"""What each request is answered with: frames for the page, in the order they are ready."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import Trajectory
from reluflow.errors import InvalidInputError
from reluflow.web import adapter
from reluflow.web.frames import Frame, FrameKeeper
from reluflow.web.state import RunState
from reluflow.web.wire import pack
from reluflow.web.words import command_line, python_lines

MOST_RECORDS = 4_000  # points of the loss curve
MOST_EVENTS = 60_000


@dataclass(frozen=True)
class Request:
    """One request of a page, already checked.

    Parameters
    ----------
    id
        The page's own number for it.
    what
        data, geometry, diagnosis, run, verdict or report.
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
    state = request.state
    problem = adapter.problem_of(state)
    keeper = FrameKeeper(problem.network, problem.initial_loss)

    def after_step(run: AbstractRun) -> None:
        keeper(run)
        on_step(run)

    trajectory = adapter.run_of(state, problem, after_step)
    if state.method == "flow" and trajectory.outcome.code != "interrupted":
        for stretch in keeper.stretches:
            times = stretch.times()
            if len(times):
                keeper.insert(adapter.states_between(problem, stretch.network, stretch.time, times, on_step))
    frames = keeper.finish(trajectory.network, trajectory.time, trajectory.log_time, trajectory.loss)
    header, arrays = run_answer(trajectory, frames, head)
    if trajectory.outcome.code == "interrupted":
        header["sentence"] = (
            f"Stopped after {request.seconds:g} seconds of computing; what was done is shown. "
            "The command line has no limit."
        )
    yield pack(header, arrays)
    yield pack(head | {"what": "limit"} | adapter.limit_of(trajectory))


def run_answer(
    trajectory: Trajectory,
    frames: list[Frame],
    head: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A whole run: its frames, the loss at every step, the events, the phases, how it ended."""
    network = trajectory.problem.network
    records = np.unique(np.linspace(0, len(trajectory.times) - 1, MOST_RECORDS).round().astype(np.intp))
    events = trajectory.events
    shown = slice(0, MOST_EVENTS)
    header = {
        **head,
        "method": trajectory.method,
        "outcome": trajectory.outcome.code,
        "sentence": trajectory.outcome.sentence,
        "time": trajectory.time,
        "log_time": trajectory.log_time,
        "loss": trajectory.loss,
        "steps": trajectory.steps,
        "crossings": trajectory.crossings,
        "slides": trajectory.slides,
        "balancedness_drift": trajectory.balancedness_drift,
        "phases": [{"name": p.name, "start": p.start, "end": p.end} for p in trajectory.phases],
        "num_neurons": network.num_neurons,
        "num_events": len(events),
        "events_complete": len(events) <= MOST_EVENTS,
        "kinds": ["refraction", "slide-entry", "slide-exit", "death", "ridge", "sign-change"],
        "leak": network.leak,
    }
    arrays: dict[str, NDArray[Any]] = {
        "t": np.array([frame.time for frame in frames]),
        "log_t": np.array([frame.log_time for frame in frames]),
        "frame_loss": np.array([frame.loss for frame in frames]),
        "change": np.cumsum([frame.change for frame in frames]),
        "units": np.stack([frame.units for frame in frames]),
        "log_w": np.stack([frame.log_w for frame in frames]),
        "log_a": np.stack([frame.log_a for frame in frames]),
        "signs": np.stack([frame.signs for frame in frames]),
        "weight": network.weight,
        "record_t": trajectory.times[records],
        "record_log_t": trajectory.log_times[records],
        "record_loss": trajectory.losses[records],
        "event_neuron": events.neurons[shown].astype(np.int32),
        "event_sample": events.samples[shown].astype(np.int32),
        "event_t": events.times[shown],
        "event_kind": events.codes[shown].astype(np.int8),
        "predictions": trajectory.predictions,
    }
    return header, arrays


def _verdict(request: Request, head: dict[str, Any], on_step: OnStep, on_stage: OnStage) -> Iterator[bytes]:
    problem = adapter.problem_of(request.state)
    yield pack(head | {"key": request.key} | adapter.verdict_of(request.key, problem, on_step))


def _report(request: Request, head: dict[str, Any], on_step: OnStep, on_stage: OnStage) -> Iterator[bytes]:
    if request.state.w is not None or request.state.width is None:
        raise InvalidInputError("a report needs drawn neurons, got neurons placed by hand or infinitely many.")
    problem = adapter.problem_of(request.state)
    command = command_line(request.state, verb="study")
    yield pack(head | {"html": adapter.report_of(request.state, problem, command, on_stage)})


_ANSWERS: dict[str, Callable[[Request, dict[str, Any], OnStep, OnStage], Iterator[bytes]]] = {
    "data": _data,
    "geometry": _geometry,
    "diagnosis": _diagnosis,
    "run": _run,
    "verdict": _verdict,
    "report": _report,
}
