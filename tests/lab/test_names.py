"""Names under the pointer: in the tracks, and of samples that are held out; and a drag in the plot of the function."""

import re

import numpy as np
import pytest

from lab.driving import drag, until

LINE = "v=1&name=own&X=1,1;0.4,1;-0.3,1;-1,1&y=1.1,0.2,0.5,0.8&width=4&scale=1e-2&held.X=0.7,1&held.y=0.6"
PLANE = (
    "v=1&name=own&X=1,0.2;0.9,-0.4;-1,0.3;-0.7,0.8&y=1,1,-1,-1&loss=logistic&width=4&scale=1e-2"
    "&held.X=0.2,0.9;-0.2,-1&held.y=-1,1"
)
SPACE = "v=1&name=own&X=1,0.2,0.3;-0.4,1,0.2;-0.3,-0.7,0.6;0.2,-0.1,-1&y=1,-1,1,-1&loss=logistic&scale=1e-2&width=4"


def name_at(page, selector, x, y):
    """What is written beside the pointer at a point of a canvas; nothing where nothing is named."""
    box = page.locator(selector).bounding_box()
    page.mouse.move(box["x"] + x, box["y"] + y)
    return page.inner_text(".name") if page.is_visible(".name") else ""


def final_lines(page):
    """Where the lines of the neurons end in the tracks: sizes in the second row, directions in the third."""
    box = page.locator(".tracks").bounding_box()
    arrays = page.evaluate("reluflow.run().arrays")
    log_w, units = (
        np.array(list(arrays[name]["data"].values())).reshape(arrays[name]["shape"]) for name in ("log_w", "units")
    )
    log_w = log_w / np.log(10)
    height = (box["height"] - 36 - 34 - 48) / 3
    low, high = np.floor(log_w.min()), np.ceil(log_w.max())
    sizes = 36 + height + 24 + height * (1 - (log_w[-1] - low) / (high - low))
    angles = np.degrees(np.arctan2(units[-1, :, 1], units[-1, :, 0]))
    directions = 36 + 2 * (height + 24) + height * (1 - (angles + 180) / 360)
    return box["width"] - 15, 10 ** log_w[-1], sizes, angles, directions


def test_lines_of_the_tracks_have_names_and_numbers(open_page):
    """Nothing in the tracks said what it was: sixty lines, events and phases without a name."""
    page = open_page(LINE)
    x, sizes, heights, angles, places = final_lines(page)
    apart = [j for j in range(4) if np.sort(np.abs(heights - heights[j]))[1] > 12]
    assert apart, "no line stands alone"
    for j in apart:
        found = re.match(
            rf"Neuron {j + 1}, a [<>] 0(?:, dead)?: \|w\| = (\S+) at t = ", name_at(page, ".tracks", x, heights[j])
        )
        assert float(found[1]) == pytest.approx(sizes[j], rel=6e-3)
    apart = [j for j in range(4) if np.sort(np.abs(places - places[j]))[1] > 12]
    assert apart, "no line stands alone"
    for j in apart:
        words = name_at(page, ".tracks", x, places[j])
        found = re.match(rf"Neuron {j + 1}, .*: direction of w, in degrees: (\S+) at t = ", words)
        assert float(found[1].replace("−", "-")) == pytest.approx(angles[j], rel=1e-3)
    box = page.locator(".tracks").bounding_box()
    assert name_at(page, ".tracks", 70, 10).startswith('The phase "alignment", from t = 0 to ')
    across = np.arange(60, box["width"] - 14, 3)
    events = {name_at(page, ".tracks", x, box["height"] - 25) for x in across} - {""}
    assert any(re.match(r"crossing at t = \S+: neuron \d, sample \d\.$", one) for one in events), events
    down = np.arange(36, 36 + (box["height"] - 118) / 3, 3)
    losses = {name_at(page, ".tracks", x, y) for y in down} - {""}
    assert any(one.startswith("The loss: ") for one in losses), losses
    assert any(one.startswith("The loss on what is held out: ") for one in losses), losses
    page.mouse.move(5, 5)
    assert not page.is_visible(".name")


@pytest.mark.parametrize(("link", "words"), [(LINE, ["y = 0.6"]), (PLANE, ["y = −1", "y = 1"])])
def test_held_out_samples_are_in_the_circle_and_have_names(open_page, link, words):
    """They were drawn in the plot of the function alone, and pointing at them named nothing."""
    page = open_page(link)
    for selector, places in ((".plane", "plane"), (".function", "plot")):
        points = page.evaluate(f"reluflow.{places}().held")
        assert len(points) == len(words)
        for k, (x, y) in enumerate(points):
            name = name_at(page, selector, x, y)
            assert name.startswith(f"Held-out sample {k + 1}: x = (")
            assert f"{words[k]}; the run was not trained on it." in name
    x, y = (round(value) for value in page.evaluate("reluflow.plane().held[0]"))
    pen = "document.querySelector('.plane').getContext('2d')"
    ring = f"[...{pen}.getImageData({x - 11}, {y - 11}, 22, 22).data].join()"
    drawn = page.evaluate(ring)
    page.evaluate("reluflow.set({ ...reluflow.state(), held: null })")
    page.evaluate("reluflow.settled()")
    assert page.evaluate(ring) != drawn


def test_a_saved_page_carries_what_is_held_out_and_is_dragged_too(open_page, chromium, tmp_path):
    page = open_page(PLANE)
    readout = page.inner_text(".readout")
    assert "held out" in readout
    page.click("#tab-take")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as a web page").click()
    waiting.value.save_as(tmp_path / "run.html")
    saved, complaints = chromium.new_page(), []
    saved.on("pageerror", lambda error: complaints.append(str(error)))
    saved.goto((tmp_path / "run.html").as_uri())
    until(saved, "reluflow.at() > 0")
    saved.evaluate("reluflow.scrub(1)")
    until(saved, "document.querySelector('.readout').innerText.includes('of 2 right)')")
    x, y = saved.evaluate("reluflow.held()[1]")
    assert name_at(saved, ".plane", x, y).startswith("Held-out sample 2: x = (−0.2, −1), y = 1")
    start = saved.evaluate("reluflow.plot(0)")
    drag(saved, start, [start[0] - 25, start[1] + 20], selector=".function")
    until(saved, "document.getElementById('put-back') !== null")
    assert saved.evaluate("reluflow.data().X[0]") != page.evaluate("reluflow.data().X[0]")
    saved.close()
    assert complaints == []


@pytest.mark.parametrize("link", [PLANE, SPACE])
def test_a_sample_is_dragged_in_the_plot_of_the_function_over_a_plane(open_page, link):
    """Over the line one could; over the plane a click chose the sample and no more."""
    page = open_page(link)
    before = page.evaluate("reluflow.data()")
    start = page.evaluate("reluflow.plot().samples[0]")
    box, end = page.locator(".function").bounding_box(), [start[0] - 25, start[1] + 20]
    page.mouse.move(box["x"] + start[0], box["y"] + start[1])
    assert page.inner_text(".name").startswith("Sample 1: x = ")
    page.mouse.down()
    page.mouse.move(box["x"] + end[0], box["y"] + end[1], steps=5)
    if link == PLANE:  # elsewhere the plane itself is that of the samples, and turns with them
        assert page.evaluate("reluflow.plot().samples[0]") == pytest.approx(end, abs=0.6)
    page.mouse.up()
    page.evaluate("reluflow.settled()")
    after = page.evaluate("reluflow.state().run")
    assert after["X"][1:] == before["X"][1:]
    assert np.linalg.norm(np.subtract(after["X"][0], before["X"][0])) > 0.05
    assert after["y"] == before["y"]
    page.click("#undo")
    page.evaluate("reluflow.settled()")
    assert page.evaluate("reluflow.state().run.X") == before["X"]


def test_the_curve_of_the_function_has_a_name_and_its_value(open_page):
    """Nothing said which curve h is, nor what it is under the pointer."""
    page = open_page(LINE)
    box = page.locator(".function").bounding_box()
    names = {name_at(page, ".function", 0.55 * box["width"], y) for y in np.arange(20, box["height"] - 20, 3)}
    (found,) = [one for one in names if one.startswith("h(x)")]
    words = re.match(r"h\(x\) = (\S+) at x = (\S+): what the network computes", found).groups()
    value, x = (float(word.replace("\u2212", "-")) for word in words)
    assert value == pytest.approx(outputs_at(page, x), abs=0.02)


def outputs_at(page, x):
    """h at (x, 1) by the neurons at the end of the run."""
    arrays = page.evaluate("reluflow.run().arrays")
    log_w, log_a, units, signs = (
        np.array(list(arrays[name]["data"].values())).reshape(arrays[name]["shape"])[-1]
        for name in ("log_w", "log_a", "units", "signs")
    )
    return float(np.sum(signs * np.exp(log_w + log_a) * np.maximum(units @ [x, 1.0], 0.0)))


def test_shades_have_names(open_page):
    """The deeper colours of the circle and of the plot of the function were explained nowhere."""
    page = open_page(PLANE)
    box = page.locator(".function").bounding_box()
    words = {name_at(page, ".function", x, 0.5 * box["height"]) for x in np.arange(0.3, 0.7, 0.02) * box["width"]}
    assert any("the shade is deeper where |h| is larger" in one for one in words), words
    box = page.locator(".plane").bounding_box()
    middle = np.array([0.5 * box["width"], 0.5 * box["height"]])
    around = [middle + 0.2 * box["height"] * np.array([np.cos(a), np.sin(a)]) for a in np.arange(0.1, 6.2, 0.15)]
    words = {name_at(page, ".plane", *place) for place in around}
    assert any(re.search(r"Neurons in this cone respond to \d of 4 samples", one) for one in words), words
