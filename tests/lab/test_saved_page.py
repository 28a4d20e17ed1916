"""A run as one file: opened from disk by a browser, with its slider, its events and its explanations."""

import base64
import html
import re

import numpy as np
import pytest

import reluflow
from reluflow.errors import InvalidInputError
from reluflow.lab.wire import unpack
from reluflow.study.growing_report import GrowingReport


def until(page, condition):
    """Wait for a condition; the browser's own waiting evaluates text, which the policy of the page forbids."""
    for _ in range(600):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(condition)


@pytest.fixture(scope="module")
def trajectory():
    data = reluflow.load("three-points")
    network = reluflow.balanced_initialization(data, width=20, scale=1e-3, rng=np.random.default_rng(0))
    problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    return reluflow.train(problem, reluflow.EventDrivenFlow())


def test_the_page_holds_the_run_to_single_precision(trajectory, tmp_path):
    page = trajectory.to_html(tmp_path / "run.html", title="a <b> run")
    assert (tmp_path / "run.html").read_text() == page
    assert "<title>a &lt;b&gt; run" in page
    assert not re.search(r"(src|href)=\"http", page), "it asks nobody for anything"
    header, arrays = unpack(base64.b64decode(re.search(r'id="run">([^<]*)<', page)[1]))
    assert header["loss"] == trajectory.loss
    np.testing.assert_array_equal(arrays["event_t"], trajectory.events.times)
    w = trajectory.network.w
    np.testing.assert_allclose(np.exp(arrays["log_w"][-1]), np.linalg.norm(w, axis=1), rtol=1e-5)


def test_it_plays_from_disk(trajectory, tmp_path, chromium):
    """Slider, explanation of a neuron and events, without a server and without an error."""
    trajectory.to_html(tmp_path / "run.html", limit=reluflow.certified_limit(trajectory))
    page, complaints = chromium.new_page(), []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "run.html").as_uri())
    until(page, "reluflow.at() > 0")  # it plays by itself
    assert page.evaluate("reluflow.run().events") == len(trajectory.events)
    assert page.evaluate("reluflow.run().loss") == trajectory.loss
    words = page.inner_text("#says")
    assert "alignment" in words
    assert "The end: " in words
    assert f"{len(trajectory.events)} events" in words
    page.evaluate("reluflow.scrub(1)")
    page.wait_for_timeout(100)
    box, point = page.locator(".plane").bounding_box(), page.evaluate("reluflow.neuron(0)")
    page.mouse.click(box["x"] + point[0], box["y"] + point[1])
    until(page, "/Neuron \\d+ starts with/.test(document.getElementById('says').innerText)")
    assert page.locator("input.time").is_enabled()
    page.close()
    assert complaints == []


def test_several_classes_have_a_page_too(tmp_path, chromium):
    data = reluflow.Dataset([[1, 0.2], [-1, 0.3], [0.1, -1]], [0, 1, 2], classes=("a", "b", "c"))
    network = reluflow.Network(
        w=np.random.default_rng(1).normal(size=(9, 2)), v=np.random.default_rng(2).normal(size=(9, 3))
    ).scaled(np.log(0.1))
    problem = reluflow.TrainingProblem(data, "softmax", network)
    run = reluflow.train(problem, reluflow.CollocationFlow(rtol=1e-6), times=[0.5, 1, 2, 5, 10])
    run.to_html(tmp_path / "classes.html")
    page, complaints = chromium.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "classes.html").as_uri())
    until(page, "reluflow.at() > 0")
    assert "one entry per class" in page.inner_text(".plane-words")
    page.close()
    assert complaints == []


def test_dragging_on_a_saved_page_moves_the_geometry_and_gives_the_run_back(trajectory, tmp_path, chromium):
    """It only played: a sample could not be moved, though the page works its cones out by itself."""
    trajectory.to_html(tmp_path / "run.html")
    page, complaints = chromium.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "run.html").as_uri())
    until(page, "reluflow.at() > 0")
    page.locator(".play").click()
    run, before = page.evaluate("[reluflow.run(), reluflow.extremal()]")
    box, point = page.locator(".plane").bounding_box(), page.evaluate("reluflow.sample(0)")
    page.mouse.move(box["x"] + point[0], box["y"] + point[1])
    page.mouse.down()
    page.mouse.move(box["x"] + point[0] + 30, box["y"] + point[1] - 50, steps=5)
    page.mouse.up()
    moved = page.evaluate("reluflow.data()")
    assert np.linalg.norm(np.array(moved["X"][0]) - trajectory.problem.dataset.X[0]) > 0.1
    data = reluflow.Dataset(moved["X"], moved["y"])
    problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), trajectory.problem.network)
    ours = reluflow.extremal_vectors(problem).vectors
    theirs = [row["vector"] for row in page.evaluate("reluflow.extremal()")]
    np.testing.assert_allclose(np.array(theirs), np.array(ours), atol=1e-9)
    assert "worked out in this page" in page.inner_text("#says")
    assert page.evaluate("reluflow.run()") is None
    page.click("#put-back")
    assert page.evaluate("[reluflow.run(), reluflow.extremal()]") == [run, before]
    page.close()
    assert complaints == []


def test_a_page_within_another_plays_when_it_comes_into_sight(trajectory, tmp_path, chromium):
    """It played while nobody saw it, or stood still for good: without a size yet, a circle had a negative radius."""
    source = html.escape(trajectory.to_html())
    frame = f'<iframe sandbox="allow-scripts" style="width:900px;height:660px" srcdoc="{source}"></iframe>'
    (tmp_path / "outer.html").write_text(f'<!doctype html><p style="height:9000px">Far below:</p>{frame}')
    page, complaints = chromium.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "outer.html").as_uri())
    inner = page.frames[1]
    until(inner, "typeof reluflow === 'object'")
    page.wait_for_timeout(500)
    assert inner.evaluate("reluflow.at()") == 0
    page.locator("iframe").scroll_into_view_if_needed()
    until(inner, "reluflow.at() > 0")
    page.close()
    assert complaints == []


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    """A study and its report, with all pictures."""
    found = reluflow.study("three-points", width=10, seeds=0, theorems=())
    report = GrowingReport(tmp_path_factory.mktemp("report"), command="reluflow study three-points")
    report.update(found)
    return found, report


@pytest.mark.parametrize("width", [390, 1280])
def test_the_report_of_a_study_plays_the_run(studied, chromium, width):
    """In the report itself, on a phone too, without an error or a request, and no wider than the screen."""
    found, report = studied
    page, complaints, asked = chromium.new_page(), [], []
    page.set_viewport_size({"width": width, "height": 800})
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.path.as_uri())
    page.locator(".playing iframe").scroll_into_view_if_needed()
    inner = page.frames[1]
    until(inner, "typeof reluflow === 'object' && reluflow.at() > 0")
    assert inner.evaluate("reluflow.run().loss") == found.flow.trajectory.loss
    for one in (page, inner):
        assert one.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(media="print")
    assert not page.locator(".playing").is_visible()
    assert page.locator("img[alt^='The neurons at the turning points']").is_visible()
    page.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []


def test_samples_held_out_are_on_the_page(chromium, trajectory, tmp_path):
    """The button of the laboratory took them along, and `to_html` could not."""
    held = reluflow.Dataset([[0.3, 1.0], [-0.6, 0.8]], [0.4, 0.9])
    trajectory.to_html(tmp_path / "run.html", held_out=held)
    page = chromium.new_page()
    try:
        page.goto((tmp_path / "run.html").as_uri())
        until(page, "reluflow.at() > 0")
        page.evaluate("reluflow.scrub(1)")
        page.wait_for_timeout(100)
        assert len(page.evaluate("reluflow.held()")) == 2
        loss = float(re.search(r"held out ([0-9.]+)", page.inner_text(".readout"))[1])
    finally:
        page.close()
    network = trajectory.network
    assert loss == pytest.approx(trajectory.problem.loss.total(network.outputs(held.X), held.y), rel=1e-3)
    with pytest.raises(InvalidInputError, match="`held_out` must have one label"):
        trajectory.to_html(held_out=reluflow.Dataset([[0.3]], [0.4]))
