"""What a lecturer would not show: words cut, words on words, a picture that stays behind the pointer."""

import json
import re

import numpy as np
import pytest

from lab.driving import drag, until

CUT_LABELS = """() => [...document.querySelectorAll("select")].filter((one) => one.offsetParent).flatMap((one) => {
  const style = getComputedStyle(one), context = document.createElement("canvas").getContext("2d"), ARROW = 20;
  context.font = style.font;
  const room = one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - ARROW;
  return [...one.options].map(({ label }) => label).filter((label) => context.measureText(label).width > room);
})"""


def svg_of(page, tmp_path):
    page.click("#tab-take")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="SVG", exact=True).click()
    waiting.value.save_as(tmp_path / "plane.svg")
    return (tmp_path / "plane.svg").read_text()


def test_no_choice_is_cut_and_every_scene_fits_a_projector(open_page):
    """They read "exponentia" and "phuong-dead-cone (n 4, d 2"; the words under the plane lay on an extremal vector."""
    page = open_page("v=1&width=5&ghost.scale=1e-6&view.scene=0")
    page.set_viewport_size({"width": 1280, "height": 800})
    assert page.evaluate(CUT_LABELS) == []
    for scene in range(6):
        page.evaluate("(scene) => { reluflow.set({ ...reluflow.state(), view: { scene } }); }", scene)
        until(page, f"document.querySelector('#tour h2').textContent.startsWith('{scene + 1}.')")
        page.wait_for_timeout(100)
        boxes = {name: page.locator(name).bounding_box() for name in (".plane", ".plane-words", ".transport")}
        assert boxes[".plane"]["y"] + boxes[".plane"]["height"] <= boxes[".plane-words"]["y"] + 0.5
        assert boxes[".transport"]["y"] + boxes[".transport"]["height"] <= 800
    page.evaluate("reluflow.set({ version: 1, run: { name: 'lyu-orthogonal', loss: 'logistic', width: 4 } })")
    assert page.is_visible("#plane")
    assert page.evaluate(CUT_LABELS) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(CUT_LABELS) == []


def test_a_label_of_zero_is_neither_plus_nor_minus(open_page, tmp_path):
    """Two of the three samples of Lee et al. have label 0, and had a plus; "h over the plane" called them y > 0."""
    page = open_page("v=1&name=lee-flat-minimum&init=lee&width=3")
    words = re.findall(r"<text [^>]*>([^<]*)</text>", svg_of(page, tmp_path))
    assert sorted(word for word in words if word in ("+", "−", "0")) == ["+", "0", "0"]


def test_words_of_samples_do_not_lie_on_each_other(open_page, tmp_path):
    page = open_page("v=1&width=4")
    picture = svg_of(page, tmp_path)
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>(\d: y = [\d.]+)</text>', picture)
    assert len(found) == 3
    places = np.array([(float(x), float(y)) for x, y, _ in found])
    for i in range(3):
        for j in range(i):
            across, down = np.abs(places[i] - places[j])
            assert across > 60 or down > 12, found


def test_the_loss_may_be_drawn_on_a_linear_axis_and_the_link_says_so(open_page):
    """Steps from saddle to saddle cannot be seen on fifteen decades: the sixth scene opens with the loss itself."""
    page = open_page("v=1&width=5")
    before = page.evaluate("document.querySelector('.tracks').toDataURL()")
    page.get_by_label("Axis of the loss").select_option("linear")
    until(page, "location.hash.includes('view.loss=linear')")
    assert page.evaluate("reluflow.state().view.loss") == "linear"
    assert page.evaluate("document.querySelector('.tracks').toDataURL()") != before
    page.evaluate("location.hash = location.hash.replace('linear', 'cubic')")
    until(page, "document.getElementById('status').textContent.includes('`loss` of a view must be one of log, linear')")
    assert page.evaluate("reluflow.state().view.loss") == "linear"


def test_a_certificate_counts_as_the_plane_does(open_page):
    """It said "no neuron is active on sample 1" and, below, "samples whose output stays 0: 2"."""
    page = open_page("v=1&name=own&X=1,0;-1,0.2&y=1,1&loss=logistic&neurons=1,0,1&width=1")
    page.click("#tab-end")
    words = " ".join(page.inner_text("#says-panel").split())
    assert "No neuron is active on sample 2:" in words
    assert "numbered as in the plane: 2." in words


def test_a_run_that_comes_in_the_middle_of_a_drag_is_drawn_while_one_drags(open_page):
    """All of it, the tracks and the function too, between two frames; and nothing is written that stays as it is."""
    page = open_page("v=1&name=min-toy&loss=logistic&width=40")
    pictures = "['.tracks', '.function'].map((name) => document.querySelector(name).toDataURL())"
    box, start = page.locator(".plane").bounding_box(), page.evaluate("reluflow.plane().samples[0]")
    x, y = box["x"] + start[0], box["y"] + start[1]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 30, y - 40, steps=3)
    until(page, "reluflow.answers() > 1")
    before, answers, link = page.evaluate(f"[{pictures}, reluflow.answers(), location.hash]")
    page.mouse.move(x - 60, y - 90, steps=3)
    until(page, f"reluflow.answers() > {answers}")
    until(page, f"{pictures}.every((one, k) => one !== {json.dumps(before)}[k])")
    until(page, "reluflow.marks().answered > reluflow.marks().asked")  # what moves now is the plane alone
    assert page.is_visible("#busy"), "it would come and go with every run"
    page.wait_for_timeout(200)
    page.evaluate(
        """() => {
          window.written = [];
          new MutationObserver((changes) => window.written.push(...changes.map(({ target }) => target.nodeName)))
            .observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
        }"""
    )
    page.evaluate("[1, 2, 3].forEach(() => reluflow.redrawPlane())")
    page.wait_for_timeout(100)
    assert page.evaluate("window.written") == []
    assert page.evaluate("location.hash") == link
    page.mouse.up()
    page.evaluate("reluflow.settled()")
    until(page, f"location.hash !== {json.dumps(link)}")


def test_canvases_are_opaque_and_never_black(open_page):
    """Blending them with the page took half of every frame; an opaque canvas begins black until it is drawn on."""
    page = open_page("v=1&width=6", settle=False)
    corner = """[...document.querySelectorAll(".pane canvas")].map((canvas) => {
      const context = canvas.getContext("2d");
      return [context.getContextAttributes().alpha, ...context.getImageData(2, 2, 1, 1).data];
    })"""
    assert page.evaluate(corner) == 3 * [[False, 255, 255, 255, 255]]
    page.evaluate("reluflow.settled()")
    start = page.evaluate("reluflow.plane().samples[0]")
    drag(page, start, [start[0] + 20, start[1]])
    assert page.evaluate(corner) == 3 * [[False, 255, 255, 255, 255]]


@pytest.mark.parametrize("width", [320, 390, 700])
def test_the_header_of_a_narrow_window_shows_every_button(open_page, width):
    """Half of the buttons were out of sight, in a row that had to be pushed aside."""
    page = open_page("v=1&name=three-points&width=4", settle=False)
    page.set_viewport_size({"width": width, "height": 844})
    for button in page.locator(".header-buttons button").all():
        box = button.bounding_box()
        assert 0.0 <= box["x"] < box["x"] + box["width"] <= width
    assert page.evaluate("document.querySelector('.header-buttons').scrollWidth") <= page.evaluate(
        "document.querySelector('.header-buttons').clientWidth"
    )
    assert page.evaluate("document.documentElement.scrollWidth") == width
