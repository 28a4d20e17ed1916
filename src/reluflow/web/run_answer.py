"""A whole run as one answer: its frames, the loss at every step, the events, the phases, how it ended."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.dynamics.trajectory import Trajectory
from reluflow.web.frames import Frame

MOST_RECORDS = 4_000  # points of the loss curve
MOST_EVENTS = 60_000


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
        **head,
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
