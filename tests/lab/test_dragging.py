"""The page under the hand: samples, neurons and labels are dragged, or moved by keys."""

import numpy as np

import reluflow
from lab.driving import box_of, drag, run_of
from reluflow.lab import adapter
from reluflow.lab.state import read_state

MIN_TOY = "v=1&name=min-toy&loss=exponential&width=30&scale=1e-4"


def test_dragging_a_sample_moves_the_geometry_at_once_and_the_flow_after(open_page):
    page = open_page(MIN_TOY)
    before = page.evaluate("[reluflow.geometry().extremal, reluflow.run().loss]")
    start = page.evaluate("reluflow.plane().samples[0]")
    drag(page, start, [start[0] - 40, start[1] - 70])
    page.evaluate("reluflow.settled()")
    state = page.evaluate("reluflow.state()")
    moved = np.array(state["run"]["X"])
    original = reluflow.load("min-toy").X
    assert np.linalg.norm(moved[0] - original[0]) > 0.1
    np.testing.assert_array_equal(moved[1:], original[1:])
    after = page.evaluate("[reluflow.geometry().extremal, reluflow.run().loss]")
    assert before != after
    ours = read_state(state["run"])
    assert run_of(page)["loss"] == adapter.run_of(ours, adapter.problem_of(ours), lambda run: None).loss
    assert "edited" in page.title()


def test_dragging_a_neuron_starts_it_elsewhere(open_page):
    page = open_page("v=1&width=12&view.at=0")
    start = page.evaluate("reluflow.plane().neuron(2)")
    drag(page, start, [start[0] + 60, start[1] - 30])
    page.evaluate("reluflow.settled()")
    state = page.evaluate("reluflow.state()")
    assert len(state["run"]["neurons"]) == 12
    drawn = adapter.problem_of(read_state({"width": 12})).network
    shape = np.array(state["run"]["neurons"])
    assert not np.allclose(
        shape[2, :2] / np.linalg.norm(shape[2, :2]), drawn.w[2] / np.linalg.norm(drawn.w[2]), atol=0.05
    )
    np.testing.assert_allclose(shape[3, :2], drawn.w[3] / np.sqrt(12), rtol=1e-5)
    page.get_by_role("button", name="Draw the neurons again").click()
    page.evaluate("reluflow.settled()")
    assert page.evaluate("reluflow.state().run.neurons") is None


def test_dragging_a_point_of_the_function_changes_its_label(open_page):
    page = open_page("v=1&width=12")
    box = box_of(page, ".function")
    # the middle sample x = -0.5, y = 0.1 of the published data
    low, high = -0.75 - 0.35 * 0.875, 0.125 + 0.35 * 0.875
    bottom, top = 0.0 - 0.25, 1.1 + 0.25
    start = [
        38 + (-0.5 - low) / (high - low) * (box["width"] - 48),
        16 + (1 - (0.1 - bottom) / (top - bottom)) * (box["height"] - 42),
    ]
    drag(page, start, [start[0], start[1] - 60], selector=".function")
    page.evaluate("reluflow.settled()")
    labels = page.evaluate("reluflow.state().run.y")
    assert labels[1] > 0.2
    assert labels[0] == 1.1


def test_the_keyboard_reaches_samples_and_neurons(open_page):
    page = open_page("v=1&width=9")
    page.locator(".plane").focus()
    page.keyboard.press("]")
    page.keyboard.press("]")
    assert "Sample 2 of 3" in page.inner_text("#editor")
    page.keyboard.press("ArrowRight")
    page.evaluate("reluflow.settled()")
    assert page.evaluate("reluflow.state().run.X[1][0]") > -0.5
    page.keyboard.press("f")
    page.evaluate("reluflow.settled()")
    assert page.evaluate("reluflow.state().run.y[1]") == -0.1
    page.keyboard.press("Delete")
    page.evaluate("reluflow.settled()")
    assert page.evaluate("reluflow.state().run.X.length") == 2
    page.keyboard.press("}")
    assert "Neuron 1 of 9" in page.inner_text("#editor")
    assert "Neuron 1 starts with a" in page.inner_text("#says-panel")


def test_a_neuron_is_dragged_within_the_plane_shown(open_page):
    """In three dimensions it once could not be moved; what lies outside the plane keeps its size."""
    page = open_page("v=1&name=lyu-orthogonal&loss=logistic&leak=0.5&width=6&view.plane=samples-0-1&view.at=0")
    X = reluflow.load("lyu-orthogonal").X
    settings = {"name": "lyu-orthogonal", "loss": "logistic", "leak": 0.5, "width": 6}
    drawn = adapter.problem_of(read_state(settings)).network.w
    basis = np.linalg.qr(X[:2].T)[0].T
    shares = np.linalg.norm(drawn @ basis.T, axis=1) / np.linalg.norm(drawn, axis=1)
    j = int(np.argmax(shares))
    start = page.evaluate(f"reluflow.plane().neuron({j})")
    drag(page, start, [start[0] + 50, start[1] + 60])
    page.evaluate("reluflow.settled()")
    w = np.array(page.evaluate("reluflow.state().run.neurons"))[j, :3]
    unit, before = w / np.linalg.norm(w), drawn[j] / np.linalg.norm(drawn[j])
    assert np.linalg.norm(unit - before) > 0.05
    np.testing.assert_allclose(unit - basis.T @ (basis @ unit), before - basis.T @ (basis @ before), atol=1e-5)
    assert run_of(page)["num_neurons"] == 6
