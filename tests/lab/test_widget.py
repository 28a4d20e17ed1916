"""The viewer in a notebook: the same modules in one, the frames of a trajectory, drawn by a real browser."""

import base64

import numpy as np
import pytest

import reluflow
from reluflow.dynamics import CollocationFlow, EventDrivenFlow, GradientDescent, Keep
from reluflow.lab.widget import browser_module, frames_of, lab_widget
from reluflow.lab.wire import unpack


def trained(solver=None, **settings):
    data = reluflow.load("three-points")
    network = reluflow.balanced_initialization(data, width=8, scale=1e-3, rng=np.random.default_rng(0))
    problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    return reluflow.train(problem, solver or reluflow.EventDrivenFlow(), **settings)


def test_snapshots_are_the_frames():
    trajectory = trained(times=np.linspace(1, 20, 30))
    _, arrays = unpack(frames_of(trajectory)[1])
    np.testing.assert_allclose(arrays["t"][1:31], np.linspace(1, 20, 30))
    assert arrays["t"][-1] == trajectory.time


@pytest.mark.parametrize("solver", [EventDrivenFlow(), CollocationFlow(rtol=1e-7)], ids=repr)
def test_a_flow_without_snapshots_is_followed_again_to_the_same_end(solver):
    """A flow by collocation was taken for a descent, by the first word of its method: only its two ends were shown."""
    trajectory = trained(solver)
    _, arrays = unpack(frames_of(trajectory)[1])
    assert len(arrays["t"]) > 40
    assert arrays["t"][-1] == trajectory.time
    assert arrays["frame_loss"][-1] == trajectory.loss


def test_a_descent_shows_the_frames_it_kept():
    trajectory = trained(GradientDescent(lr=0.01, iterations=1000), keep=Keep(thinned=20))
    _, arrays = unpack(frames_of(trajectory)[1])
    assert set(arrays["t"]) == {0.0, trajectory.time, *(frame.time for frame in trajectory.frames)}


def test_the_widget_carries_module_style_and_frames():
    widget = lab_widget(trained(times=[1.0, 5.0]))
    assert widget.data[:4] == widget.run[:4] == b"RLF1"
    assert "import " not in browser_module().replace("important", "")


@pytest.mark.parametrize("times", [(), tuple(np.linspace(0.5, 15, 20))])
def test_the_joined_module_draws_in_a_browser(chromium, times, tmp_path):
    data, run = frames_of(trained(times=times))
    page = chromium.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto("about:blank")
    drawn = page.evaluate(
        """async ([module, data, run]) => {
          const bytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
          const url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
          const widget = (await import(url)).default;
          document.body.innerHTML = "<div id='here'></div>";
          const el = document.getElementById("here");
          el.style.width = "900px";
          widget.render({ el, model: { get: (name) => bytes(name === "data" ? data : run) } });
          await new Promise((resolve) => setTimeout(resolve, 300));
          return [el.querySelectorAll("canvas").length, el.querySelector(".readout").textContent];
        }""",
        [browser_module(), base64.b64encode(data).decode(), base64.b64encode(run).decode()],
    )
    page.close()
    assert errors == []
    assert drawn[0] == 3
    assert "loss 0.08752" in drawn[1]
