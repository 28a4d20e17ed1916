"""The states that travel: the first and the last of the run, in order, as many as fit, even in what changes."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from reluflow.lab import adapter
from reluflow.lab.answers import Line, Request, answer
from reluflow.lab.frames import MOST_FRAMES, FrameKeeper, most_frames
from reluflow.lab.state import read_state
from reluflow.lab.wire import unpack


def request(settings, what="run"):
    return Request(7, what, "main", read_state(settings), "", 60.0)


def answered(asked, on_step=lambda run: None):
    frames = []
    answer(asked, Line(on_step, lambda words: None, lambda frame: frames.append(unpack(frame))))
    return frames


def frames_of(settings):
    whole = [frame for frame in answered(request(settings)) if frame[0].get("outcome") != "running"]
    assert [header["what"] for header, _ in whole] in (["run", "limit"], ["run", "limit", "run"])
    return whole[0] if len(whole) == 2 else whole[2]


def test_frames_begin_and_end_with_the_run():
    settings = {"name": "min-toy", "loss": "logistic", "width": 30, "seed": 2}
    header, arrays = frames_of(settings)
    problem = adapter.problem_of(read_state(settings))
    assert header["outcome"] == "direction-converged"
    assert len(arrays["t"]) <= MOST_FRAMES
    assert arrays["t"][0] == 0.0
    assert arrays["t"][-1] == header["time"]
    assert arrays["frame_loss"][-1] == header["loss"]
    assert np.all(np.diff(arrays["log_t"]) > 0)
    w = problem.network.w
    np.testing.assert_allclose(arrays["units"][0], w / np.linalg.norm(w, axis=1)[:, None], atol=1e-6)
    sizes = np.log(np.linalg.norm(w, axis=1)) + problem.network.log_scale
    np.testing.assert_allclose(arrays["log_w"][0], sizes, rtol=1e-6)


def test_many_steps_leave_few_frames_even_in_what_changes():
    _, arrays = frames_of({"name": "min-toy", "loss": "logistic", "width": 60, "scale": "1e-100"})
    assert 100 <= len(arrays["t"]) <= MOST_FRAMES + 2
    steps = np.diff(arrays["change"])
    assert np.all(steps > 0)
    assert np.max(steps) < 12 * np.mean(steps)


def test_the_closed_form_start_of_a_tiny_scale_is_drawn_in_between():
    """At scale 1e-100 one step of the flow carried neurons through several cones, and the page drew them straight."""
    settings = {"name": "min-toy", "loss": "logistic", "width": 30, "scale": "1e-100"}
    _, arrays = frames_of(settings)
    cosines = np.sum(arrays["units"][1:] * arrays["units"][:-1], axis=2)
    assert np.degrees(np.arccos(np.clip(cosines.min(), -1, 1))) < 30  # it was 94
    first, _, second = (frame for frame in answered(request(settings)) if frame[0].get("outcome") != "running")
    assert second[1]["t"][1] < 0.1 < 100 < first[1]["t"][1], "the run comes at once, the states in between after it"
    assert {key: first[0][key] for key in ("loss", "time", "steps")} == {
        key: second[0][key] for key in ("loss", "time", "steps")
    }
    middle = len(arrays["t"]) // 6
    state = read_state(settings)
    problem = adapter.problem_of(state)
    time = float(arrays["t"][middle])
    (found,) = adapter.states_between(problem, problem.network, np.array([time]), lambda run: None)
    assert found.time == time
    units = found.network.w / np.linalg.norm(found.network.w, axis=1)[:, None]
    np.testing.assert_allclose(arrays["units"][middle], units, atol=1e-5)


def test_h_from_the_frames_is_that_of_the_network():
    """What the page draws, from single-precision logarithms, agrees with the library's own outputs."""
    settings = {"width": 40}
    header, arrays = frames_of(settings)
    X = adapter.problem_of(read_state(settings)).dataset.X
    w = arrays["units"][-1] * np.exp(arrays["log_w"][-1])[:, None].astype(np.float64)
    a = arrays["signs"][-1] * np.exp(arrays["log_a"][-1].astype(np.float64))
    np.testing.assert_allclose(np.maximum(w @ X.T, 0).T @ a, arrays["predictions"], rtol=1e-4)
    assert header["kinds"][3] == "death"


def test_infinitely_many_neurons_travel_as_directions_with_weights():
    header, arrays = frames_of({"width": "inf"})
    assert header["num_neurons"] == len(arrays["weight"]) == arrays["units"].shape[1]
    assert arrays["weight"].sum() == pytest.approx(2.0)
    X = adapter.problem_of(read_state({"width": "inf"})).dataset.X
    a = arrays["weight"] * arrays["signs"][-1] * np.exp((arrays["log_a"][-1] + arrays["log_w"][-1]).astype(np.float64))
    outputs = a @ np.maximum(arrays["units"][-1] @ X.T, 0)
    np.testing.assert_allclose(outputs, arrays["predictions"], rtol=1e-4)


def test_large_networks_send_fewer_frames():
    assert most_frames(200, 2) == MOST_FRAMES
    assert most_frames(5000, 20) < 60
    assert most_frames(5000, 200) == 30


def test_a_run_stopped_by_the_clock_says_so_and_shows_what_was_done():
    def stop(run):
        if run.steps >= 20:
            raise KeyboardInterrupt

    asked = request({"width": 60})
    (header, arrays), (limit, _) = answered(asked, stop)
    assert header["outcome"] == "interrupted"
    assert "Stopped after 60 seconds of computing" in header["sentence"]
    assert len(arrays["t"]) > 10
    assert limit["proof"] is False


def test_a_long_run_is_shown_as_far_as_it_is_known(monkeypatch):
    """After a drag one waited for the end of the flow, of which most is spent long after the fit."""
    monkeypatch.setattr("reluflow.lab.answers.EARLY_SECONDS", 0.0)
    monkeypatch.setattr("reluflow.lab.answers.LATER", 0.0)  # after every step
    settings = {"name": "min-toy", "loss": "logistic", "width": 30, "seed": 2}
    frames = answered(request(settings))
    early = [frame for frame in frames if frame[0].get("outcome") == "running"]
    whole = next(frame for frame in frames if frame[0].get("outcome") == "direction-converged")
    assert frames[: len(early)] == early
    assert whole[0]["steps"] == len(early)
    middle, arrays = early[len(early) // 2]
    assert middle["phases"] == []
    assert middle["method"] == whole[0]["method"]
    assert len(arrays["event_t"]) <= len(whole[1]["event_t"])
    at = np.searchsorted(whole[1]["record_t"], middle["time"])
    assert whole[1]["record_t"][at] == arrays["t"][-1] == middle["time"]
    assert whole[1]["record_loss"][at] == arrays["frame_loss"][-1]


def test_in_the_middle_of_a_drag_only_the_run_is_worked_out():
    brief = Request(7, "run", "main", read_state({"width": 10}), "", 60.0, is_brief=True)
    assert [header["what"] for header, _ in answered(brief) if header["outcome"] != "running"] == ["run"]


def test_nothing_is_compiled_or_loaded_after_warming_up():
    """The first drag after a start waited for machine code that the warming runs had not touched."""
    code = (
        "import gc\n"
        "from reluflow.lab.warming import load_kernels\n"
        "load_kernels()\n"
        "from numba.core.dispatcher import Dispatcher\n"
        "def loaded():\n"
        "    kernels = [one for one in gc.get_objects() if isinstance(one, Dispatcher)]\n"
        "    return {(one.py_func.__qualname__, str(kind)) for one in kernels for kind in one.signatures}\n"
        "before = loaded()\n"
        "from reluflow.lab.answers import Line, Request, answer\n"
        "from reluflow.lab.state import read_state\n"
        "circle = [[1.0, 0.1], [0.3, 1.0], [-0.8, 0.7], [-1.0, -0.2], [-0.2, -1.0], [0.7, -0.6]]\n"
        "given = {'name': 'six', 'X': circle, 'y': [1, 1, -1, -1, -1, 1]}\n"
        "for more in ({}, {'width': 'inf'}, {**given, 'width': 300, 'loss': 'logistic'}, {**given, 'leak': 0.3},\n"
        "             {**given, 'loss': 'exponential', 'width': 300, 'scale': '1e-100'}, {'method': 'gd'}):\n"
        "    asked = Request(1, 'run', 'main', read_state(more), '', 60.0, is_brief=True)\n"
        "    answer(asked, Line(lambda run: None, lambda words: None, lambda frame: None))\n"
        "print(sorted(loaded() - before))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_start_without_steps_is_a_run_of_one_state():
    problem = adapter.problem_of(read_state({"width": 5}))
    keeper = FrameKeeper(problem.network, problem.initial_loss)
    keeper.finish(SimpleNamespace(network=problem.network, time=0.0, log_time=-np.inf, loss=problem.initial_loss))
    frames = keeper.shown()
    assert len(frames) == 2
    assert frames[-1].time == 0.0


def test_a_direction_approached_like_one_over_log_t_is_reached():
    """These four samples ended with "stopped after 20 seconds at t = 10^2027, no stationary point"."""
    settings = {"name": "four", "X": [[1, 2], [3, 4], [-1, 2], [0.5, -1]], "y": [1, -1, 1, -1], "loss": "logistic"}
    frames = [one for one in answered(request(settings)) if one[0].get("outcome") != "running"]
    header, arrays = frames[0]
    assert header["outcome"] == "direction-converged"
    assert np.all(arrays["predictions"] * [1, -1, 1, -1] > 0)
    limit = frames[1][0]
    assert limit["kind"] == "max-margin"
    assert limit["margin"] == pytest.approx(limit["global_margin"], rel=1e-9)
