"""report.html: self-contained, well-formed, complete without JavaScript, with its numbers inside."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from reluflow.after_run import StageFailed
from reluflow.cli.study import _laboratory_command, command
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.lab.wire import unpack
from reluflow.study import descent_rates, growing_report, playing
from reluflow.study.growing_report import GrowingReport
from reluflow.study.page import Mark, Typeset, table
from reluflow.study.pictures import draw_study, drawings_of
from reluflow.study.report import write_report
from reluflow.study.scale_advice import power_of_ten
from reluflow.study.whole_study import study
from reluflow.theory.registry import theorem_named

VOID = {"meta", "img", "input", "br", "hr", "link"}


class Outline(HTMLParser):
    """Checks that tags nest, and collects ids, links and images."""

    def __init__(self):
        super().__init__()
        self.stack, self.ids, self.links, self.images, self.frames, self.problems = [], [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag not in VOID:
            self.stack.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            self.links.append(attributes["href"])
        if tag == "img":
            self.images.append(attributes)
        if tag == "iframe":
            self.frames.append(attributes)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.problems.append(tag)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(descent_rates, "MOST_SECONDS", 0.2)
        found = study(
            load("three-points"),
            width=20,
            seeds=1,
            scales=("1e-2",),
            theorems=(theorem_named("boursier2024:thm1"), theorem_named("boursier2024:thm2")),
        )
    path = write_report(
        found,
        draw_study(found, folder),
        folder / "report.html",
        command="reluflow study <three>",
        laboratory="reluflow lab three-points",
    )
    return found, path.read_text()


def test_the_first_picture_shows_what_was_learnt(page):
    """It showed the data alone, and the function came after the run; the laboratory was not named."""
    outline = Outline()
    outline.feed(page[1])
    assert outline.images[0]["alt"] == "The data and the function at the end of the run."
    assert page[1].index("Open in the laboratory: <code>reluflow lab three-points</code>") < page[1].index("<nav")
    assert "3 samples in dimension 2 (1 input + bias), regression" in page[1]


def test_the_laboratory_opens_the_data_as_the_study_read_them():
    """Options that say how a table is read go along, those of the study do not."""
    line = ["mine.csv", "--bias", "--target", "y", "--seeds", "2", "--drop", "a", "--max-seconds", "5"]
    with command.make_context("study", line):
        assert _laboratory_command(load("three-points")) == "reluflow lab mine.csv --target y --drop a --bias"
        assert _laboratory_command(Dataset(np.ones((501, 1)) * np.arange(1, 502)[:, None], np.ones(501))) == ""


def test_the_page_is_well_formed(page):
    outline = Outline()
    outline.feed(page[1])
    assert outline.problems == []
    assert outline.stack == []
    assert len(outline.ids) == len(set(outline.ids))
    assert all(link[1:] in outline.ids for link in outline.links if link != "run.html")
    assert len(outline.images) == 7
    assert all(image["alt"] and image["src"].startswith("data:image/png;base64,") for image in outline.images)


def test_nothing_is_fetched(page):
    text = re.sub(r'xmlns="[^"]*"|http://www.w3.org/2000/svg', "", page[1])
    assert "http://" not in text
    assert "https://" not in text


def test_the_numbers_are_inside(page):
    found, text = page
    inside = json.loads(re.search(r'id="study">(.*?)</script>', text, re.S).group(1))
    assert inside["flow"]["loss"] == pytest.approx(found.flow.trajectory.loss)
    assert inside["verdict"] == found.verdict()
    assert inside["verdicts"][0]["theorem"] == "boursier2024:thm1"
    assert inside["sensitivity"][0]["scale"] == "1e-2"


def test_the_command_is_escaped(page):
    assert "reluflow study &lt;three&gt;" in page[1]


def test_a_name_cannot_break_the_page(tmp_path):
    data = Dataset([[1.0, 0.5], [0.2, 1.0]], [1.0, 0.5], name="</script><b>&", provenance="<!-- x")
    found = study(data, width=5, seeds=0, theorems=())
    pictures = [drawings_of(found)[0].drawn_in(tmp_path)]
    assert found.dataset.name in pictures[0].caption
    text = write_report(found, pictures, tmp_path / "r.html", command="x").read_text()
    outline = Outline()
    outline.feed(text)
    assert outline.problems == []
    assert "<b>" not in text


def outline_of(text):
    outline = Outline()
    outline.feed(text)
    return outline


def states_of(page):
    """The arrays of the run in a page that plays."""
    return unpack(base64.b64decode(re.search(r'id="run">([^<]*)<', page)[1]))[1]


def test_the_report_plays_the_page_of_the_run(page):
    """It had a viewer of its own, with other colours, other signs and less to ask than the page beside it."""
    found, text = page
    frames = outline_of(text).frames
    assert len(frames) == 1
    assert frames[0]["srcdoc"] == playing.playing_page(found.flow).text
    assert frames[0]["srcdoc"].startswith("<!doctype html>")
    assert (frames[0]["sandbox"], frames[0]["loading"]) == ("allow-scripts", "lazy")
    assert frames[0]["title"]
    policies = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    inside = re.findall(r'Content-Security-Policy" content="([^"]*)"', frames[0]["srcdoc"])
    assert (
        policies
        == inside
        == ["default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"]
    )
    log_w = states_of(frames[0]["srcdoc"])["log_w"]
    np.testing.assert_allclose(np.exp(log_w[-1]), np.linalg.norm(found.flow.trajectory.network.w, axis=1), rtol=1e-5)


def test_the_page_keeps_directions_at_any_scale():
    """Of neurons of size 1e-400, which no double holds."""
    found = study(load("three-points"), width=8, scale="1e-400", seeds=0, theorems=())
    states = states_of(playing.playing_page(found.flow).text)
    assert len(states["units"]) == len(states["t"]) > 20
    np.testing.assert_allclose(np.linalg.norm(states["units"], axis=2), 1.0, rtol=1e-6)
    assert np.all(np.isfinite(states["log_w"]))
    assert states["log_w"][0].max() < -900


@pytest.mark.usefixtures("no_pictures")
def test_a_page_beside_the_report_is_the_one_inside_and_is_linked(page, tmp_path):
    report = GrowingReport(tmp_path, command="reluflow study three-points")
    report.update(page[0])
    assert report.page == tmp_path / "run.html"
    outline = outline_of(report.path.read_text())
    assert "run.html" in outline.links
    assert outline.frames[0]["srcdoc"] == report.page.read_text()


@pytest.mark.usefixtures("no_pictures")
def test_a_report_that_grows_names_the_page_and_does_not_start_it_anew(page, tmp_path):
    """It is read again every three seconds."""
    report = GrowingReport(tmp_path, command="reluflow study three-points")
    report.update(replace(page[0], pending=("theorems",)))
    outline = outline_of(report.path.read_text())
    assert (outline.frames, "run.html" in outline.links, report.page.exists()) == ([], True, True)


@pytest.fixture
def neurons_alone(monkeypatch):
    """Of the pictures of a report only that of the neurons."""
    monkeypatch.setattr(
        growing_report, "drawings_of", lambda found: [d for d in drawings_of(found) if d.name == "neurons"]
    )


@pytest.mark.usefixtures("neurons_alone")
def test_a_page_too_large_for_the_report_stands_beside_it(page, tmp_path, monkeypatch):
    monkeypatch.setattr(playing, "MOST_CHARACTERS", 1000)
    report = GrowingReport(tmp_path, command="reluflow study three-points")
    report.update(page[0])
    text = report.path.read_text()
    assert outline_of(text).frames == []
    assert re.search(r'The run plays in <a href="run.html">run.html</a>; with 0\.\d+ MB it is too large', text)
    assert "neurons" in {picture.name for picture in report.pictures}


@pytest.mark.usefixtures("neurons_alone")
def test_a_report_without_a_page_keeps_its_still_pictures(page, tmp_path, monkeypatch):
    """Where the page cannot be made the report says so and where to look."""

    def fails(*arguments, **options):
        raise MemoryError("no space")

    found = replace(page[0], flow=replace(page[0].flow))
    monkeypatch.setattr(type(found.flow.trajectory), "to_html", fails)
    report = GrowingReport(tmp_path, command="reluflow study three-points")
    with pytest.warns(StageFailed, match="no space"):
        report.update(found)
    text = report.path.read_text()
    assert report.page is None
    assert not (tmp_path / "run.html").exists()
    assert (report.failure, outline_of(text).frames) == ("", [])
    assert "Writing the page of the run failed with MemoryError: no space." in text
    assert "trajectory.to_html()" in text
    assert 'alt="The neurons at the turning points of the run' in text


def test_powers_of_ten():
    assert power_of_ten(0.0) == "1"
    assert power_of_ten(-533.0) == "3.32e-232"
    assert power_of_ten(-6931.471805599453) == "5.01e-3011"


def test_sentences_of_a_table_stand_below_each_other_on_a_phone():
    """A column of sentences was cut at 390 pixels; with the name of its column each cell can stand alone."""
    wordy = table(("condition", "holds", "measured"), [("a1", Mark(True), Typeset("w > 0"))], label="Conditions")
    assert '<table class="stacked">' in wordy
    assert 'data-column="holds"' in wordy
    assert "stacked" not in table(("phase", "from"), [("growth", "1")], label="Phases")
