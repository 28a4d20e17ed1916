"""A whole run as one answer: its frames, the loss at every step, the events, the phases, how it ended."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.dynamics.event import EventKind, EventLog
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import Trajectory
from reluflow.lab.frames import Frame
from reluflow.network import Network

MOST_RECORDS = 4_000  # points of the loss curve
MOST_EVENTS = 60_000
RUNNING = "running"  # the outcome of a run that is still going on


def run_answer(
    trajectory: Trajectory,
    frames: list[Frame],
    head: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A whole run: its frames, the loss at every step, the events, the phases, how it ended."""
    records = np.unique(np.linspace(0, len(trajectory.times) - 1, MOST_RECORDS).round().astype(np.intp))
    header = {
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
        **_about(trajectory.problem.network, trajectory.events),
        **head,
    }
    arrays: dict[str, NDArray[Any]] = {
        **_states(frames, trajectory.problem.network),
        "record_t": trajectory.times[records],
        "record_log_t": trajectory.log_times[records],
        "record_loss": trajectory.losses[records],
        **_events(trajectory.events),
        "predictions": trajectory.predictions,
    }
    return header, arrays


def early_answer(
    run: AbstractRun, method: str, frames: list[Frame], head: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A run that is still going on, as far as it is known; of the phases, which depend on the end, nothing is said."""
    events = run.recorder.log()
    passed, slid = events.count(EventKind.REFRACTION), events.count(EventKind.SLIDE_ENTRY)
    header = {
        "method": method,
        "outcome": RUNNING,
        "sentence": "Shown as far as it is known; the rest is being computed.",
        "time": run.time,
        "log_time": run.log_time,
        "loss": run.loss(),
        "steps": run.steps,
        "crossings": passed + slid + events.count(EventKind.DEATH),
        "slides": slid,
        "balancedness_drift": run.balancedness_drift(),
        "phases": [],
        **_about(run.problem.network, events),
        **head,
    }
    states = _states(frames, run.problem.network)
    arrays: dict[str, NDArray[Any]] = {
        **states,
        "record_t": states["t"],
        "record_log_t": states["log_t"],
        "record_loss": states["frame_loss"],
        **_events(events),
        "predictions": np.array(run.outputs()),
    }
    return header, arrays


def _about(network: Network, events: EventLog) -> dict[str, Any]:
    return {
        "num_neurons": network.num_neurons,
        "num_outputs": network.num_outputs,
        "num_events": len(events),
        "events_complete": len(events) <= MOST_EVENTS,
        "kinds": ["refraction", "slide-entry", "slide-exit", "death", "ridge", "sign-change"],
        "leak": network.leak,
    }


def _states(frames: list[Frame], network: Network) -> dict[str, NDArray[Any]]:
    """The frames as arrays; output directions and biases travel where there are several outputs or a bias."""
    several = {"outs": np.stack([frame.outs for frame in frames])} if network.num_outputs > 1 else {}
    biases = {} if network.b is None else {"b": np.stack([frame.b for frame in frames])}
    return {
        **several,
        **biases,
        "t": np.array([frame.time for frame in frames]),
        "log_t": np.array([frame.log_time for frame in frames]),
        "frame_loss": np.array([frame.loss for frame in frames]),
        "change": np.cumsum([frame.change for frame in frames]),
        "units": np.stack([frame.units for frame in frames]),
        "log_w": np.stack([frame.log_w for frame in frames]),
        "log_a": np.stack([frame.log_a for frame in frames]),
        "signs": np.stack([frame.signs for frame in frames]),
        "weight": network.weight,
    }


def _events(events: EventLog) -> dict[str, NDArray[Any]]:
    shown = slice(0, MOST_EVENTS)
    return {
        "event_neuron": events.neurons[shown].astype(np.int32),
        "event_sample": events.samples[shown].astype(np.int32),
        "event_t": events.times[shown],
        "event_kind": events.codes[shown].astype(np.int8),
    }
