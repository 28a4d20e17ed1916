"""Defects that people met on the page, each with what was wrong."""

import io
import re

import numpy as np
import pytest

import reluflow
from lab.driving import drag, until
from lab.running import start_laboratory, stop

OVERLAPS = """() => {
  const box = (one) => document.querySelector(one).getBoundingClientRect();
  const viewer = box("#viewer"), others = [...document.querySelectorAll("#says [role=tab], #says-panel")];
  return others.map((one) => one.getBoundingClientRect()).filter((one) => one.left < viewer.right
    && viewer.left < one.right && one.top < viewer.bottom && viewer.top < one.bottom).length;
}"""


def resize(page, width, height):
    """Another size of the window, drawn."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_timeout(150)


def test_what_it_says_stands_beside_the_picture(open_page):
    """From 1001 to 1699 pixels the picture lay over four of the six tabs, and an answer began below the window."""
    page = open_page("v=1&width=9")
    for neuron, size in enumerate([(1001, 700), (1280, 720), (1366, 768), (1680, 1050), (1920, 1080)]):
        resize(page, *size)
        assert page.evaluate(OVERLAPS) == 0, size
        point, box = page.evaluate(f"reluflow.plane().neuron({neuron})"), page.locator(".plane").bounding_box()
        page.mouse.click(box["x"] + point[0], box["y"] + point[1])
        until(page, f"/Neuron {neuron + 1} starts/.test(document.getElementById('says-panel').innerText)")
        assert page.locator("#says-panel p").first.bounding_box()["y"] < size[1] - 40, size


def test_on_a_telephone_the_answer_is_in_sight_and_the_page_scrolls(open_page):
    """The answer to a click was 2377 pixels down, and a finger on the circle could not scroll the page."""
    page = open_page("v=1&width=9")
    resize(page, 390, 844)
    point, box = page.evaluate("reluflow.plane().neuron(0)"), page.locator(".plane").bounding_box()
    page.mouse.click(box["x"] + point[0], box["y"] + point[1])
    until(page, "/Neuron \\d+ starts/.test(document.getElementById('says-panel').innerText)")
    assert page.locator("#says-panel p").first.bounding_box()["y"] < 800
    touch = """([x, y]) => {
      const canvas = document.querySelector(".plane"), box = canvas.getBoundingClientRect();
      const finger = new Touch({ identifier: 1, target: canvas, clientX: box.left + x, clientY: box.top + y });
      return canvas.dispatchEvent(new TouchEvent("touchstart", { touches: [finger], cancelable: true, bubbles: true }));
    }"""
    assert page.evaluate("getComputedStyle(document.querySelector('.plane')).touchAction") == "pan-y"
    assert page.evaluate(touch, [3, 3]), "a finger on an empty place scrolls"
    assert not page.evaluate(touch, page.evaluate("reluflow.plane().samples[0]")), "one on a sample drags it"


def test_a_sample_is_dragged_among_infinitely_many_neurons(open_page):
    """It threw "reading 'X' of null" and the sample moved by three pixels."""
    page = open_page("v=1&name=min-toy&loss=logistic&width=inf", settle=False)
    until(page, "reluflow.geometry() !== null")
    start, center = page.evaluate("[reluflow.plane().samples[0], reluflow.plane().center]")
    drag(page, start, [0.7 * start[0] + 0.3 * center[0], 0.7 * start[1] + 0.3 * center[1] + 25])
    moved = page.evaluate("reluflow.plane().samples[0]")
    assert np.hypot(moved[0] - start[0], moved[1] - start[1]) > 20
    assert page.evaluate("reluflow.state().run.width") == "inf"
    until(page, "reluflow.state().run.X !== null")  # a busy machine takes its time


def test_words_that_come_and_go_do_not_move_the_picture(open_page):
    """What was said stood above the picture: an answer that came as one reached for a sample moved it by 36 pixels."""
    page = open_page("v=1&width=5")
    for size in ((390, 844), (1100, 800), (1280, 720), (1920, 1080)):
        resize(page, *size)
        places = []
        for words in ("", "Connecting again. " * 12):
            page.evaluate(
                """(words) => {
                  const status = document.getElementById("status"), busy = document.getElementById("busy");
                  status.textContent = words; status.hidden = words === ""; busy.hidden = false;
                }""",
                words,
            )
            places.append(page.locator(".plane").bounding_box())
        page.evaluate("document.getElementById('status').hidden = document.getElementById('busy').hidden = true")
        places.append(page.locator(".plane").bounding_box())
        assert places[0] == places[1] == places[2], size


def test_play_goes_on_though_the_first_stamp_lies_before_the_click(open_page):
    """The stamp of the first frame may be older than the click; the position became negative and it stopped."""
    page = open_page("v=1&width=5&view.at=0")
    page.evaluate(
        """() => {
          const real = window.requestAnimationFrame.bind(window);
          let isFirst = true;
          window.requestAnimationFrame = (act) => real((now) => {
            const at = isFirst ? now - 200 : now;
            isFirst = false;
            act(at);
          });
        }"""
    )
    page.click(".play")
    page.wait_for_timeout(300)
    assert page.get_attribute(".play", "aria-label") == "Pause"
    until(page, "Number(document.querySelector('.time').value) > 0")


def test_samples_dragged_outwards_again_and_again_stay_in_reach(open_page):
    """Each drag took the sample beyond the circle, which then took its new size: X came to 1e6."""
    page = open_page("v=1&name=own&X=1,0.2;-0.5,1;0.3,-1&y=1,-1,1&loss=logistic&width=4")
    for _ in range(6):
        start, center = page.evaluate("[reluflow.plane().samples[0], reluflow.plane().center]")
        away = np.array(start) - center
        drag(page, start, list(np.array(center) + 1.25 * away), steps=2)
    page.evaluate("reluflow.settled()")
    norms = np.linalg.norm(page.evaluate("reluflow.state().run.X"), axis=1)
    assert norms[0] < 5.5 * np.median(norms[1:])


@pytest.mark.parametrize(
    ("text", "y", "loss", "words"),
    [
        ("1,2,0\n2,1,1\n-1,0.5,0", [-1, 1, -1], "logistic", "1 is the class +1, 0 the class −1"),
        ("x,y,kind\n1,2,cat\n2,1,dog\n-1,0.5,cat", [-1, 1, -1], "logistic", "dog is the class +1, cat the class −1"),
        ("1,2,red\n2,-1,green\n-1,0.5,blue", [2, 1, 0], "softmax", "3 classes: blue is class 1"),
        ("1,2,0.5\n2,1,1.5\n-1,0.5,0", [0.5, 1.5, 0], "square", "taken as numbers"),
    ],
)
def test_pasted_labels_mean_what_they_mean_in_a_file(open_page, text, y, loss, words):
    """0 and 1 silently became a regression and words were refused, although `reluflow lab FILE` takes both."""
    page = open_page("v=1&width=5")
    page.click("summary:text('Your own data')")
    page.fill("#paste", text)
    page.click("#use-data")
    page.evaluate("reluflow.settled()")
    assert page.evaluate("reluflow.state().run.y") == y
    assert page.evaluate("reluflow.state().run.loss") == loss
    assert words in page.inner_text("#status")


def test_dead_neurons_of_a_descent_are_hollow(open_page):
    """A descent has no events, so neurons that nothing pulls were drawn as if they lived."""
    page = open_page("v=1&width=30&method=gd&lr=0.05&iterations=400")
    dead = page.evaluate("reluflow.dead()")
    X = np.array(page.evaluate("reluflow.data().X"))
    w = np.array(page.evaluate("reluflow.data().w"))
    asleep = {int(j) for j in np.flatnonzero(np.all(w @ X.T <= 0, axis=1))}
    assert asleep
    assert asleep <= set(dead) != set(range(30))


def test_a_second_run_that_goes_on_is_cut_where_the_first_ends(open_page):
    """It was drawn as a cliff at the edge: all later losses above one place."""
    page = open_page("v=1&width=6&scale=1e-1&ghost.scale=1e-8")
    page.evaluate("reluflow.settled()")
    points = page.evaluate("reluflow.ghostCurve()")
    last = page.evaluate("reluflow.run().log_time")
    assert max(time for time, isShown in points) > last
    assert all(isShown == (time <= last + 1e-9) for time, isShown in points)


def test_margins_say_what_they_are_divided_by(open_page):
    """ "best linear margin 1" stood above "largest margin of any network 0.375": two normalisations."""
    page = open_page("v=1&name=min-toy&loss=logistic&width=20")
    page.click("#tab-end")
    until(page, "document.getElementById('says-panel').innerText.includes('margin')")
    words = page.inner_text("#says-panel")
    assert "largest margin of a linear classifier, over |w|" in words
    assert "over |(w, a)|²" in words


def test_files_hold_the_whole_picture_in_its_colours(open_page, tmp_path):
    """PNG, SVG and GIF held the circle alone, and the GIF had colours of a cube of 216."""
    from PIL import Image

    page = open_page("v=1&width=8")
    page.click("#tab-take")
    for name in ("PNG", "SVG", "GIF of the run"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name, exact=True).click()
        waiting.value.save_as(tmp_path / name[:3])
    text = (tmp_path / "SVG").read_text()
    assert "h(x): what the network computes" in text
    assert "size of the neurons" in text
    image = Image.open(io.BytesIO((tmp_path / "PNG").read_bytes()))
    plane = page.locator(".plane").bounding_box()
    assert image.width > 1.4 * plane["width"]
    first = Image.open(io.BytesIO((tmp_path / "GIF").read_bytes())).convert("RGB")
    assert first.width > 1.4 * first.height * plane["width"] / plane["height"] or first.width == 760
    used = {colour for _, colour in first.getcolors(1 << 20)}
    orange = np.array([0xD5, 0x5E, 0x00])
    assert min(np.abs(np.array(colour) - orange).max() for colour in used) <= 8


def test_the_curve_does_not_run_through_its_title(open_page):
    page = open_page("v=1&width=8")
    top, height = page.evaluate("reluflow.functionTop()")
    assert top >= 24
    assert height > 60


def test_several_classes_have_colours_and_regions_that_move(open_page):
    """Of K classes the page showed nothing: `loss` softmax was refused."""
    page = open_page(
        "v=1&name=own&X=1,0.2;0.9,-0.3;-1,0.3;-0.7,0.8;0,-1;0.2,-0.9&y=0,0,1,1,2,2&loss=softmax&scale=1e-2&width=6"
    )
    run = page.evaluate("reluflow.run()")
    assert (run["outcome"], run["num_outputs"]) == ("direction-converged", 3)
    before = page.evaluate("document.querySelector('.function').toDataURL()")
    page.evaluate("reluflow.paint(0.3)")
    assert page.evaluate("document.querySelector('.function').toDataURL()") != before
    drag(
        page, page.evaluate("reluflow.plane().samples[4]"), page.evaluate("reluflow.plane().center.map((v) => v + 40)")
    )
    page.evaluate("reluflow.settled()")
    assert page.evaluate("reluflow.state().run.loss") == "softmax"
    page.click("#tab-extremal")
    assert "one class against the rest" in page.inner_text("#says-panel")


def test_infinitely_many_neurons_are_told_in_shares(open_page):
    """It said "635 turn to an arrow": the directions of a quadrature, counted without their weights."""
    page = open_page("v=1&name=min-toy&loss=logistic&width=inf")
    until(page, "document.getElementById('says-panel').innerText.includes('start small enough')")
    found = re.findall(r"([\d.]+) % (turn|stop)", page.inner_text("#says-panel"))
    problem = reluflow.Experiment("min-toy", loss="logistic", width="inf").problem()
    ends, weight = np.array(reluflow.align(problem).end_names), problem.network.weight
    expected = [100 * weight[ends == end].sum() / weight.sum() for end in ("maximum", "minimum", "dead")]
    assert [word for _, word in found] == ["turn", "turn", "stop"]
    assert [float(share) for share, _ in found] == pytest.approx(expected, abs=0.3)


def test_the_slider_is_in_sight_on_a_telephone_and_while_presenting(open_page):
    """Two lines of buttons and the sheet hid it, and large type pushed it out of the window."""
    page = open_page("v=1&width=9")
    resize(page, 390, 844)
    slider, sheet = page.locator("input.time").bounding_box(), page.locator("#says").bounding_box()
    assert slider["y"] + slider["height"] < sheet["y"]
    buttons = [one.bounding_box() for one in page.locator(".transport button, .transport select").all()]
    assert len(buttons) >= 9
    assert [box for box in buttons if box["y"] + box["height"] > sheet["y"]] == [], "under the sheet until one scrolled"
    page.click("#present")
    resize(page, 1280, 720)
    transport = page.locator(".transport").bounding_box()
    assert transport["y"] + transport["height"] <= 720


def test_a_scene_of_the_tour_and_its_slider_fit_a_telephone(open_page):
    """Words and circle filled the window: to play the scene one had to scroll its words away."""
    page = open_page("v=1&width=5")
    page.set_viewport_size({"width": 390, "height": 844})
    page.click("#start-tour")
    for scene in range(7):
        until(page, f"document.querySelector('#tour h2').textContent.startsWith('{scene}.')")
        page.evaluate("reluflow.settled()")
        page.wait_for_timeout(150)
        sheet, circle = page.locator("#says").bounding_box(), page.locator(".plane").bounding_box()
        assert circle["height"] > 200
        for one in (".transport .time", ".transport .play"):
            box = page.locator(one).bounding_box()
            assert box["y"] + box["height"] <= sheet["y"], (scene, one)
        if scene < 6:
            page.get_by_role("button", name="Next", exact=True).click()


def test_no_button_of_the_settings_is_cut(open_page):
    """ "Add a neuron" ended beyond the edge of the settings."""
    page = open_page("v=1&width=9")
    for width in (1280, 1440, 1920):
        resize(page, width, 900)
        side = page.locator(".side").bounding_box()
        boxes = [one.bounding_box() for one in page.locator(".side button:visible").all()]
        assert len(boxes) >= 3
        assert [box for box in boxes if box["x"] + box["width"] > side["x"] + side["width"]] == [], width


def test_samples_and_neurons_on_the_sphere_have_names_and_are_chosen(open_page):
    """Pointing at anything on the sphere named nothing, and a click chose nothing."""
    page = open_page(
        "v=1&name=own&X=1,0.2,0.3;-0.4,1,0.2;-0.3,-0.7,0.6;0.2,-0.1,-1&y=1,-1,1,-1&loss=logistic&scale=1e-3"
        "&width=6&view.plane=sphere&view.at=0"
    )
    box, names = page.locator(".plane").bounding_box(), {}
    for kind in ("sample", "neuron"):
        for x, y, _ in page.evaluate(f"reluflow.nearSide('{kind}')"):
            page.mouse.move(box["x"] + x, box["y"] + y)
            names[kind] = page.inner_text(".name")
            page.mouse.down()
            page.mouse.up()
            chosen = page.inner_text(".selected h2")
    assert re.match(r"Sample \d: x = ", names["sample"])
    assert re.match(r"Neuron \d", names["neuron"])
    assert re.match(r"(Neuron|Sample) \d of", chosen)


def test_a_neuron_of_several_classes_says_why(open_page):
    """A click on it threw "reading 'data' of undefined" and the answer stayed that of before."""
    page = open_page("v=1&name=own&X=1,0.2;-1,0.3;0,-1&y=0,1,2&loss=softmax&scale=1e-2&width=6&view.at=0")
    until(page, "document.getElementById('says-panel').innerText.includes('Solver')")
    point, box = page.evaluate("reluflow.plane().neuron(2)"), page.locator(".plane").bounding_box()
    page.mouse.click(box["x"] + point[0], box["y"] + point[1])
    until(page, "/Neuron 3 starts .* speaking most for class/.test(document.getElementById('says-panel').innerText)")


def test_undo_redo_and_reset(open_page):
    page = open_page("v=1&width=5")
    page.fill("#seed", "7")
    page.press("#seed", "Enter")
    page.evaluate("reluflow.settled()")
    page.click("#undo")
    page.evaluate("reluflow.settled()")
    assert page.evaluate("reluflow.state().run.seed") == 0
    page.click("#redo")
    page.evaluate("reluflow.settled()")
    assert page.evaluate("reluflow.state().run.seed") == 7
    page.click("#reset")
    page.evaluate("reluflow.settled()")
    assert page.evaluate("reluflow.state().run.seed") == 0


def test_a_click_adds_a_sample_of_the_chosen_class(open_page):
    page = open_page("v=1&name=min-toy&loss=logistic&width=5")
    page.select_option("#adding", "-1")
    center, box = page.evaluate("reluflow.plane().center"), page.locator(".plane").bounding_box()
    before = page.evaluate("reluflow.plane().samples.length")
    page.mouse.click(box["x"] + center[0] - 70, box["y"] + center[1] + 95)
    page.evaluate("reluflow.settled()")
    assert page.evaluate("reluflow.state().run.X.length") == before + 1
    assert page.evaluate("reluflow.state().run.y.at(-1)") == -1


def test_pointing_names_what_is_there(open_page):
    page = open_page("v=1&width=5")
    box, point = page.locator(".plane").bounding_box(), page.evaluate("reluflow.plane().samples[1]")
    page.mouse.move(box["x"] + point[0], box["y"] + point[1])
    until(page, "document.querySelector('.name').innerText.startsWith('Sample 2: x = ')")
    assert "Each dot is one neuron" in page.inner_text(".plane-words")


def test_a_page_whose_laboratory_was_started_anew_says_so(chromium):
    """It went on trying with the word of the old address, which no new server knows."""
    first = start_laboratory()
    page = chromium.new_page()
    page.goto(first.url + "#v=1&width=4")
    page.wait_for_selector("#data")
    until(page, "document.getElementById('connection').textContent === ''")
    stop(first)
    second = start_laboratory("--port", str(first.port))
    try:
        until(page, "document.getElementById('status').textContent.includes('another one answers')")
        assert "reluflow lab 'LINK'" in page.inner_text("#status")
    finally:
        page.close()
        stop(second)
