"""Runs that play within the pages of the site."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_runs_play_within_pages():
    """No page of the site moved: the landing page had a GIF, the scenes and steps of the tutorial had none."""
    spec = importlib.util.spec_from_file_location("playing_pages", DOCS / "hooks" / "playing_pages.py")
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    texts = [path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")]
    asked = {name for text in texts for name in re.findall(r"^<!-- play: ([a-z-]+) -->$", text, re.M)}
    assert "early-alignment" in asked
    assert set(hook.RUNS) <= asked, "a run that no page plays"
    assert hook.RUNS.keys() == hook.TITLES.keys()
    assert any("<!-- play every scene -->" in text for text in texts)
    page = hook.playing_page("what-you-see")
    assert 'modules["saved.js"].showSavedPage()' in page
    assert not re.search(r"(src|href)=\"http", page)
    with pytest.raises(ValueError, match="`play` must name one of early-alignment"):
        hook._frame("nothing", "")
