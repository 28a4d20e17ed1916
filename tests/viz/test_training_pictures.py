"""Moments of a run as rows of panels, as a GIF and as a page with a slider."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from reluflow import load
from reluflow.errors import InvalidInputError
from reluflow.viz.training_animation import save_training_animation
from reluflow.viz.training_moments import Backdrop, TrainingMoment, plot_training_moments
from reluflow.viz.training_slider import save_training_slider

GRID = np.linspace(-1.0, 1.0, 11)


@pytest.fixture
def backdrop():
    return Backdrop(
        load("three-points"), GRID, GRID, output_label="a < b", reference_label="line", prediction_label="p"
    )


def moments(count=3, *, has_prediction=True):
    rng = np.random.default_rng(0)
    made = []
    for k in range(count):
        a = rng.standard_normal(20)
        a[0] = (-1) ** k  # a sign that changes on the way
        prediction = GRID * k + 0.1 if has_prediction else None
        made.append(TrainingMoment(f"moment {k} <b>", rng.standard_normal((20, 2)), a, GRID * k, prediction))
    return made


def part(axes, name):
    (found,) = [artist for artist in axes.findobj() if artist.get_gid() == name]
    return found


def test_rows_show_function_and_neurons(backdrop):
    made = moments()
    figure = plot_training_moments(made, backdrop, title="a run")
    assert len(figure.axes) == 9
    largest = max(np.linalg.norm(moment.w, axis=1).max() for moment in made)
    for k, moment in enumerate(made):
        left, right, common = figure.axes[3 * k : 3 * k + 3]
        np.testing.assert_array_equal(part(left, "function").get_ydata(), moment.outputs)
        angles, radii = np.asarray(part(right, "neurons").get_offsets()).T
        norms = np.linalg.norm(moment.w, axis=1)
        np.testing.assert_allclose(radii, norms / norms.max())
        np.testing.assert_allclose(np.column_stack([np.cos(angles), np.sin(angles)]), moment.w / norms[:, None])
        assert f"{norms.max():.2g}" in right.texts[-1].get_text()
        # Growth could not be seen where every moment had an axis of its own.
        np.testing.assert_allclose(np.asarray(part(common, "neurons").get_offsets())[:, 1], norms / largest)
        assert f"{largest:.2g}" in common.texts[-1].get_text()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:3] == ["a < b", "p", "line"]


def test_without_a_prediction_or_cones(backdrop):
    from dataclasses import replace

    figure = plot_training_moments(moments(1, has_prediction=False), replace(backdrop, shows_cones=False))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "p" not in labels
    assert not any("cone" in label for label in labels)
    assert not [artist for artist in figure.findobj() if str(artist.get_gid()).startswith("cone-boundary")]


def test_the_animation_has_a_frame_per_moment(backdrop, tmp_path):
    from PIL import Image

    path = save_training_animation(moments(4), backdrop, tmp_path / "run.gif")
    with Image.open(path) as picture:
        assert picture.n_frames == 4
        assert picture.info["duration"] == 100
    assert [item.name for item in tmp_path.iterdir()] == ["run.gif"]


def test_a_broken_animation_leaves_nothing(backdrop, tmp_path):
    made = moments(2)
    broken = [made[0], TrainingMoment("bad", made[1].w, made[1].a, GRID[:3], GRID)]
    with pytest.raises(ValueError, match="shape"):
        save_training_animation(broken, backdrop, tmp_path / "run.gif")
    assert list(tmp_path.iterdir()) == []


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_slider_page(backdrop, tmp_path):
    made = moments()
    text = save_training_slider(made, backdrop, tmp_path / "run.html", title="a & b </script>").read_text()
    page = Page(text)
    assert not any("src" in attributes or "href" in attributes for _, attributes in page.tags)
    assert "http" not in text
    assert "<h1>a &amp; b &lt;/script&gt;</h1>" in text
    (slider,) = [attributes for tag, attributes in page.tags if tag == "input"]
    assert (slider["type"], slider["max"]) == ("range", "2")
    assert slider["aria-label"]
    run = json.loads(re.search(r'id="run">(.*?)</script>', text, re.DOTALL)[1])
    assert [moment["title"] for moment in run["moments"]] == [moment.title for moment in made]
    np.testing.assert_allclose(run["moments"][2]["outputs"], made[2].outputs, atol=1e-4)
    assert run["moments"][0]["signs"][0] == 1
    assert run["moments"][1]["signs"][0] == -1
    assert len(run["boundaries"]) == 6


def test_refusals(backdrop, tmp_path):
    wrong = Backdrop(load("min-toy"), GRID, GRID, output_label="h", reference_label="r")
    with pytest.raises(InvalidInputError, match="one input and a constant coordinate"):
        plot_training_moments(moments(1), wrong)
    for draw in (
        lambda: plot_training_moments([], backdrop),
        lambda: save_training_slider([], backdrop, tmp_path / "x.html", title="t"),
        lambda: save_training_animation([], backdrop, tmp_path / "x.gif"),
    ):
        with pytest.raises(InvalidInputError, match="`moments` must hold at least one moment"):
            draw()
    with pytest.raises(InvalidInputError, match=r"must end in \.gif"):
        save_training_animation(moments(1), backdrop, tmp_path / "x.mp4")
    with pytest.raises(InvalidInputError, match=r"`w` must have shape \(m, 2\)"):
        plot_training_moments([TrainingMoment("t", np.ones((3, 3)), np.ones(3), GRID)], backdrop)


def test_no_words_collide(backdrop):
    from viz.figure_parts import colliding_words

    assert colliding_words(plot_training_moments(moments(4), backdrop, title="a run of some length")) == []
