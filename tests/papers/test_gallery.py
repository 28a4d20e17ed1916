"""The gallery is one well-formed page with everything inside, safe from odd letters, told in words as well."""

import re
from html.parser import HTMLParser

import pytest

from papers import toy_figures as toys
from reluflow.papers.figure import Size
from reluflow.papers.gallery import write_gallery
from reluflow.papers.reproduction import Reproduction, reproduce_all

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """Checks that tags nest, and keeps what the tests look at."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.texts, self.ids = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
def page(tmp_path):
    entries = [toys.toy_entry("fig90", compute=toys.broken), toys.toy_entry("fig93"), toys.toy_entry("fig94")]
    made = list(reproduce_all(entries, Size.QUICK, tmp_path))
    return Page(write_gallery(made, tmp_path).read_text(encoding="utf-8"))


def test_nothing_is_fetched(page):
    for tag, attributes in page.tags:
        for name in ("src", "href", "data", "action"):
            value = attributes.get(name) or ""
            assert value == "" or value.startswith(("data:", "#")), (tag, name, value)
    assert not page.all("script")
    assert not page.all("link")
    style = "".join(page.texts)
    assert "url(" not in style
    assert "@import" not in style


def test_odd_letters_stay_letters(page):
    text = re.sub(r"\s", "", "".join(page.texts))  # a formula is set without its spaces
    odd = re.sub(r"\s", "", toys.ODD)
    assert f"thereareasmanyvaluesasneurons,{odd}" in text
    assert f"Toy:{odd}" in text
    assert f"Shows{odd}" in text
    assert "abug<here>" in text


def test_verdicts_are_words(page):
    text = " ".join("".join(page.texts).split())
    for words in ("holds:", "does not hold, known:", "not decided:", "Why: the proof drops a term"):
        assert words in text
    assert "Measured 3; expected 3." in text
    assert "reluflow reproduce lyu2021/fig93" in text
    assert (
        "3 figures and tables. Of 4 statements of the papers 2 hold, 2 do not (2 of these known and explained)" in text
    )
    assert "Of 2 statements of ours 2 are open." in text
    assert "1 could not be made." in text
    assert "(the paper's statements: 1 holds, 1 does not; ours: 1 is open)" in text


def test_pictures_have_words_and_links_lead_somewhere(page):
    pictures = [picture for picture in page.all("img") if picture.get("class") != "thumbnail"]
    assert len(pictures) == 2
    assert len(page.all("img")) == 4  # and a small one of each, which needs no words: its link has them
    for picture in pictures:
        assert picture["src"].startswith("data:image/png;base64,iVBOR")
        assert toys.ODD in picture["alt"]
    frames = page.all("iframe")
    assert len(frames) == 2
    assert frames[0]["srcdoc"].startswith("<!doctype html><title>toy</title>")
    assert frames[0]["title"]
    assert frames[0]["sandbox"] == "allow-scripts"
    assert len(set(page.ids)) == len(page.ids)
    assert {link["href"].removeprefix("#") for link in page.all("a")} <= set(page.ids)
    assert page.all("html")[0]["lang"] == "en"
    assert any(tag.get("name") == "viewport" for tag in page.all("meta"))


def test_a_picture_that_is_gone_is_named(tmp_path):
    item = Reproduction("lyu2021/fig1", "t", "", Size.FULL, {}, files=(tmp_path / "gone.png", tmp_path / "table.csv"))
    (tmp_path / "table.csv").write_text("a,b\n")
    text = " ".join(Page(write_gallery([item], tmp_path).read_text()).texts)
    assert "gone.png is no longer there." in text
    assert "table.csv" in text
    assert "reluflow reproduce lyu2021/fig1 --full" in text
