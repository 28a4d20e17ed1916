"""The page in a real browser: load, scrub, links, tour, own data, reconnect, geometry, accessibility."""

import json

import numpy as np
import pytest

import reluflow
from lab.driving import drag, run_of, until
from reluflow.geometry.extremal import extremal_vectors_of
from reluflow.lab import adapter
from reluflow.lab.scenes import scenes
from reluflow.lab.state import read_state

COUNT_SENDS = """() => {
  window.sends = 0;
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (...words) { window.sends += 1; return send.apply(this, words); };
}"""


def test_it_loads_and_shows_the_run_of_the_command_line(open_page):
    page = open_page()
    assert page.title() == "three-points · reluflow laboratory"
    state = page.evaluate("reluflow.state()")
    assert state["run"]["name"] == "three-points"
    ours = read_state(state["run"])
    trajectory = adapter.run_of(ours, adapter.problem_of(ours), lambda run: None)
    assert run_of(page)["loss"] == trajectory.loss
    assert run_of(page)["time"] == trajectory.time
    page.click("#tab-end")
    assert "a local minimum (certified)" in " ".join(page.inner_text("#says-panel").split())
    page.click("#tab-extremal")
    assert "maximum" in page.inner_text("#says-panel")


def test_scrubbing_asks_the_server_nothing(open_page):
    page = open_page()
    sent = []
    page.on("websocket", lambda _: sent.append("opened"))
    page.evaluate(COUNT_SENDS)
    shown = []
    for place in (0, 0.25, 0.5, 0.75, 1):
        # in one call: on a busy machine the page plays on between two
        shown.append(page.evaluate(f"(reluflow.paint({place}), document.querySelector('.readout').innerText)"))
    assert len(set(shown)) == 5
    assert shown[0].startswith("t = 0,")
    page.locator(".time").focus()
    page.keyboard.press("ArrowLeft")
    page.evaluate("reluflow.paint(0)")
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_timeout(300)
    # on a busy machine the run may have been played to its end by now
    names = "(button) => button.ariaLabel ?? button.textContent"
    page.evaluate(f"[...document.querySelectorAll('button')].find((b) => ({names})(b).includes('Pause'))?.click()")
    assert page.evaluate("window.sends") == 0
    assert sent == []


def test_a_link_gives_the_same_state_and_the_same_run_to_the_last_digit(open_page):
    first = open_page("v=1&width=14&seed=3&scale=1e-40&ghost.scale=1e-80&view.axis=change&view.at=0.25&view.neuron=2")
    start = first.evaluate("reluflow.plane().samples[1]")
    drag(first, start, [start[0] + 33, start[1]])
    first.evaluate("reluflow.settled()")
    first.wait_for_timeout(300)
    link, state, run = first.evaluate("[location.hash, reluflow.state(), reluflow.run()]")
    assert state["ghost"] == {"scale": "1e-80"}
    second = open_page(link.removeprefix("#"))
    assert second.evaluate("reluflow.state()") == state
    again = second.evaluate("reluflow.run()")
    for key in ("loss", "time", "steps", "crossings"):
        assert again[key] == run[key]


BAD_LINKS = [
    ("v=1&leak=7", "`leak` must be a number in [0, 1]"),
    ("v=2&name=three-points", "`version` must be 1, got 2"),
    ("name=three-points", "must say its version"),
    ("v=1&X=1,2;3&y=1,2", "`X` must be rows of numbers"),
    ("v=1&width=ten", "a number must be a decimal, got ten"),
    ("v=1&code=alert(1)", "`code` is not a field of a run"),
    ("v=1&view.plane=<script>", "`plane` must be auto"),
]


def test_a_bad_link_is_refused_in_a_sentence_and_the_page_opens_all_the_same(open_page):
    """The sentence was once wiped away by the run that followed it."""
    fragment, sentence = BAD_LINKS[0]
    page = open_page(fragment)
    assert sentence in page.inner_text("#status")
    before = page.evaluate("reluflow.state()")
    assert before["run"]["name"] == "three-points"
    for fragment, sentence in BAD_LINKS[1:]:
        page.evaluate("(fragment) => { location.hash = fragment; }", fragment)
        until(page, f"document.getElementById('status').textContent.includes({json.dumps(sentence)})")
        assert page.evaluate("reluflow.state()") == before


def test_data_of_ones_own_are_pasted_and_bad_data_refused(open_page):
    page = open_page("v=1&width=10")
    page.get_by_text("Your own data", exact=True).click()
    for text, sentence in (
        ("x1,x2,y\n1,2,1\n3,four,1", 'Line 3, column 2 must be a number, got "four".'),
        ("1,2,1\n3,4", "Line 2 must hold 3 numbers like the first, got 2."),
        ("0,0,1\n1,2,1", "Sample 1 is zero"),
        ("", "must hold one sample per line, got nothing"),
    ):
        page.fill("#paste", text)
        page.click("#use-data")
        page.evaluate("reluflow.settled()")
        assert sentence in page.inner_text("#status")
    page.fill("#paste", "x1,x2,y\n1,0.2,1\n0.4,1,1\n-1,0.3,-1\n")
    page.click("#use-data")
    page.evaluate("reluflow.settled()")
    state = page.evaluate("reluflow.state().run")
    assert state["X"] == [[1, 0.2], [0.4, 1], [-1, 0.3]]
    assert state["loss"] == "logistic"
    assert run_of(page)["outcome"] == "direction-converged"


def test_the_tour_has_scenes_that_run_and_gives_back_what_was_there(open_page):
    """Closing the tour left the last scene on the page, and what one had made was gone."""
    page = open_page("v=1&width=5")
    before = page.evaluate("reluflow.state().run")
    page.click("#start-tour")
    titles = []
    for index in (6, 0, 1, 2, 3, 4, 5):
        until(page, f"reluflow.state().view.scene === {index}")
        page.evaluate("reluflow.settled()")
        titles.append(page.inner_text("#tour h2"))
        assert run_of(page)["outcome"] in ("stationary", "direction-converged"), titles
        name = "Next" if index != 5 else "End the tour"
        page.locator("#tour").get_by_role("button", name=name).click()
    assert [title[0] for title in titles] == list("0123456")
    assert page.locator("#tour").is_hidden()
    assert page.evaluate("reluflow.state().run") == before


def test_what_the_tour_says_of_its_scenes_is_true():
    """Two sentences each: the ends they promise are those of the library."""
    runs = {scene.name: scene.trajectory() for scene in scenes()}
    ends = {"early-alignment": "local-minimum", "linear-classifier": "max-margin", "one-teacher": "global-minimum"}
    for name, kind in ends.items():
        limit = adapter.limit_of(runs[name])
        assert (limit["kind"], limit["proof"]) == (kind, True)
    assert "plateau" in [phase.name for phase in runs["saddle-to-saddle"].phases]


def test_a_lost_line_is_taken_up_again(open_page):
    page = open_page("v=1&width=9", expect_errors=True)
    before = page.evaluate("reluflow.state()")
    page.evaluate("reluflow.drop()")
    until(page, "document.getElementById('connection').textContent === 'not connected'")
    until(page, "document.getElementById('connection').textContent === ''")
    assert page.evaluate("reluflow.state()") == before
    page.fill("#seed", "5")
    page.keyboard.press("Enter")
    page.evaluate("reluflow.settled()")
    assert page.evaluate("[reluflow.state().run.seed, reluflow.run().num_neurons]") == [5, 9]


def test_the_geometry_of_the_page_is_that_of_the_library(open_page, rng):
    page = open_page("v=1&width=5")
    for trial in range(40):
        n = int(rng.integers(1, 9))
        X = rng.standard_normal((n, 2))
        forces = rng.standard_normal(n)
        leak = float(rng.choice([0.0, 0.0, 0.3, 0.7]))
        ours = extremal_vectors_of(X, forces, leak)
        theirs = page.evaluate("([X, f, leak]) => reluflow.planar(X, f, leak)", [X.tolist(), forces.tolist(), leak])
        assert len(theirs) == len(ours), (trial, n, leak)
        for row, vector, kind, side, pattern in zip(
            theirs, ours.vectors, ours.kinds, ours.sides, ours.patterns, strict=True
        ):
            np.testing.assert_allclose(row["vector"], vector, atol=1e-10)
            assert (row["kind"], row["side"], row["pattern"]) == (kind, side, pattern.tolist())


@pytest.mark.parametrize(
    "settings",
    ["width=80", "name=min-toy&loss=logistic&width=80", "name=lyu-symmetric&loss=logistic&leak=0.5&width=80"],
)
def test_the_forecast_of_the_page_is_that_of_the_library(open_page, settings):
    """Where neurons turn to, by the basins of the page, against the closed-form alignment of the server."""
    page = open_page(f"v=1&{settings}")
    state = read_state(page.evaluate("reluflow.state().run"))
    problem = adapter.problem_of(state)
    header, arrays = adapter.geometry_of(problem)
    forecast = page.evaluate("reluflow.geometry().forecast")
    assert len(forecast) == 80
    for told, end, target in zip(forecast, arrays["end"], arrays["target"], strict=True):
        name = header["ends"][end]
        if isinstance(told, int):
            assert told == target
        else:
            assert told in ("dead", "open")
            assert name in ("dead", "open", "saddle")


TABS = ("why", "end", "extremal", "diagnosis", "take", "theorems")


def test_the_page_fits_a_telephone_and_is_accessible_in_light_and_dark(open_page):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page("v=1&width=9&view.neuron=2")
    axe = Axe()
    for scheme, tabs in (("light", TABS), ("dark", ("theorems",))):
        page.emulate_media(color_scheme=scheme)
        for tab in tabs:
            page.click(f"#tab-{tab}")
            if tab in ("diagnosis", "theorems"):
                page.wait_for_selector("#says-panel table")
            # the whole page once in each scheme; the other tabs change nothing but the panel
            found = axe.run(page, context=None if tab == tabs[-1] else "#says")
            assert found.violations_count == 0, json.dumps(
                [(one["id"], [node["html"][:120] for node in one["nodes"]][:4]) for one in found.response["violations"]]
            )
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for selector in (".plane", ".time", "#data", "#tab-take"):
        box = page.locator(selector).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.set_viewport_size({"width": 1280, "height": 860})


def test_three_dimensions_have_a_sphere_and_planes_to_choose(open_page):
    page = open_page("v=1&name=lyu-orthogonal&loss=logistic&leak=0.5&width=10")
    page.select_option("#plane", "sphere")
    assert "sphere" in page.inner_text(".plane-words")
    page.select_option("#plane", "samples-0-2")
    assert "samples 1 and 3" in page.inner_text(".plane-words")


def test_a_plane_may_hold_an_extremal_vector_and_a_sample(open_page):
    page = open_page("v=1&name=lyu-orthogonal&loss=logistic&leak=0.5&width=10&view.at=0")
    page.select_option("#plane", "extremal-0-sample-2")
    assert "extremal vector 1 and sample 3" in page.inner_text(".plane-words")
    X = reluflow.load("lyu-orthogonal").X
    D = np.array(page.evaluate("reluflow.extremal()[0].vector"))
    basis = np.linalg.qr(np.column_stack([D, X[2]]))[0]
    drawn = np.array(page.evaluate("reluflow.plane().samples"))
    lengths = np.linalg.norm(drawn - page.evaluate("reluflow.plane().center"), axis=1)
    inside = np.linalg.norm(X @ basis, axis=1)
    np.testing.assert_allclose(lengths / lengths.max(), inside / inside.max(), atol=1e-6)
    until(page, "location.hash.includes('extremal-0-sample-2')")
    page.focus("#plane")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.id") == "plane"
    assert "extremal vector 1 and sample 4" in page.inner_text(".plane-words")


def test_infinitely_many_neurons_and_a_second_run(open_page):
    page = open_page("v=1&width=inf")
    assert page.is_checked("#infinite")
    assert run_of(page)["num_neurons"] > 1000
    page.uncheck("#infinite")
    page.evaluate("reluflow.settled()")
    assert run_of(page)["num_neurons"] == 60
    page.select_option("#ghost", "gd")
    page.evaluate("reluflow.settled()")
    page.click("#tab-end")
    assert "gradient descent" in page.inner_text("#says-panel")


def test_theorems_are_asked_one_by_one(open_page):
    page = open_page("v=1&width=10")
    page.click("#tab-theorems")
    page.get_by_role("button", name="Check boursier2024:thm1", exact=True).click()
    page.wait_for_selector("#says-panel .verdict")
    assert page.inner_text("#says-panel .verdict") in ("holds", "not-applicable", "inconclusive")


def test_descent_beside_the_flow_has_the_gates_that_differ_marked(open_page):
    """The second run was drawn faintly, and which neurons had other samples active was left to the eye."""
    run = "v=1&name=gate-disagreement&loss=square&width=2&scale=1e-2"
    page = open_page(run + "&ghost.method=gd&ghost.lr=0.1&ghost.iterations=2000&view.at=0")
    assert page.evaluate("reluflow.differingGates()") == []
    page.evaluate("reluflow.paint(1)")
    gates = page.evaluate("reluflow.differingGates()")
    problem = reluflow.Experiment("gate-disagreement", width=2, scale="1e-2", seed=0).problem()
    flow = reluflow.train(problem, reluflow.EventDrivenFlow()).network
    descent = reluflow.train(problem, reluflow.GradientDescent(lr=0.1, iterations=2000)).network
    X = problem.dataset.X / np.linalg.norm(problem.dataset.X, axis=1, keepdims=True)
    one, two = (found.w / np.linalg.norm(found.w, axis=1, keepdims=True) @ X.T for found in (flow, descent))
    differ = (one * two < 0.0) & (np.minimum(np.abs(one), np.abs(two)) > 1e-2)  # nearer a boundary is on it
    expected = [{"neuron": int(j), "sample": int(k)} for j, k in np.argwhere(differ)]
    assert expected
    assert gates == expected
    page.click("#tab-end")
    assert f"neuron {expected[0]['neuron'] + 1} at sample {expected[0]['sample'] + 1}" in page.inner_text("#says-panel")
    assert "ring" in page.inner_text("body")
    # the sentence was that of the time at which the tab was opened
    page.evaluate(
        """() => { const slider = document.querySelector("input.time");
        slider.value = 0; slider.dispatchEvent(new Event("input")); }"""
    )
    assert "every neuron is active on the same samples" in page.inner_text("#says-panel")
    page = open_page("v=1&width=6&ghost.seed=5")  # other neurons: nothing to compare
    assert page.evaluate("reluflow.differingGates()") == []
