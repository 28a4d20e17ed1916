"""The run of a state as an MP4, for a page to take away."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np

from reluflow.arrays import ByteArray
from reluflow.dynamics.trajectory import Trajectory
from reluflow.errors import InvalidInputError
from reluflow.lab.frames import Frame
from reluflow.network import Network

MOVIE_FRAMES = 90
SMALLEST = 1e-9  # a direction is drawn at any size


def has_ffmpeg() -> bool:
    """Whether an MP4 can be written on this machine."""
    return shutil.which("ffmpeg") is not None


def movie_of(trajectory: Trajectory, frames: list[Frame]) -> ByteArray:
    """The bytes of an MP4: the neurons beside the function, even in what changes."""
    from reluflow.viz.function_frames import function_frames
    from reluflow.viz.run_animation import save_run_animation

    picked = [frames[k] for k in np.unique(np.linspace(0, len(frames) - 1, MOVIE_FRAMES).round().astype(int))]
    problem = trajectory.problem
    networks = [_network(frame, problem.network) for frame in picked]
    functions = function_frames(networks, problem.dataset) if problem.dataset.d <= 2 else None
    if functions is None:
        raise InvalidInputError("an MP4 shows up to two inputs; the GIF shows the chosen plane of any number.")
    largest = max(float(frame.log_w.max()) for frame in picked)
    sizes = [np.maximum(np.exp(frame.log_w - largest), SMALLEST)[:, None] for frame in picked]
    flat = np.stack([size * frame.units for size, frame in zip(sizes, picked, strict=True)]).astype(np.float64)
    places = flat if flat.shape[2] == 2 else np.concatenate([flat, np.zeros_like(flat)], axis=2)
    signs = np.stack([frame.signs for frame in picked]).astype(np.float64)
    captions = [_caption(frame) for frame in picked]
    with tempfile.TemporaryDirectory() as folder:
        path = save_run_animation(places, signs, captions, functions, Path(folder) / "run.mp4")
        return np.frombuffer(path.read_bytes(), dtype=np.int8)


def _network(frame: Frame, first: Network) -> Network:
    """The network of a frame, in the frame's single precision."""
    scale = float(frame.log_w.max())
    w = frame.units.astype(np.float64) * np.exp(frame.log_w.astype(np.float64) - scale)[:, None]
    a = frame.signs * np.exp(frame.log_a.astype(np.float64) - scale)
    return Network(w, a, leak=first.leak, log_scale=scale, weight=first.weight)


def _caption(frame: Frame) -> str:
    when = f"t = {frame.time:.4g}" if np.isfinite(frame.time) else f"ln t = {frame.log_time:.4g}"
    return f"{when}, loss {frame.loss:.4g}"
