"""Runs that play within the pages of the site."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import reluflow

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def hook():
    spec = importlib.util.spec_from_file_location("playing_pages", DOCS / "hooks" / "playing_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_runs_play_within_pages(hook):
    """No page of the site moved: the landing page had a GIF, the scenes and steps of the tutorial had none."""
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


def test_every_step_of_the_tutorial_after_the_data_plays():
    """Two of the six steps did; the first shows the data, before any run."""
    steps = re.split(r"^## \d\. ", (DOCS / "tutorial.md").read_text(encoding="utf-8"), flags=re.M)[1:]
    assert [len(re.findall(r"^<!-- play: ", step, re.M)) for step in steps] == [0, 1, 1, 1, 1, 1]


def test_the_neuron_that_sets_the_tutorial_free_is_the_one_its_certificate_names(hook):
    data = reluflow.load("three-points")
    network = reluflow.balanced_initialization(data, width=200, scale=1e-3, rng=np.random.default_rng(0))
    problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    limit = reluflow.certified_limit(reluflow.train(problem, reluflow.EventDrivenFlow()))
    named = limit.certificate.escape
    line, missing = (np.array(row) for row in hook.RUNS["three-points-set-free"]["neurons"])
    np.testing.assert_allclose(missing, 0.01 * np.append(named.w, named.a), rtol=1e-5)
    np.testing.assert_allclose(data.X @ line[:2] * line[2], np.asarray(limit.network.outputs(data.X)), atol=1e-4)


def test_the_runs_of_the_tutorial_end_as_it_says(hook):
    page = hook.playing_page("three-points-set-free")
    assert '"kind": "global-minimum"' in page
    run = hook.scene_of("three-point-box")
    np.testing.assert_allclose(run.trajectory().predictions, [0.6299, 0.6866, 0.7353], atol=1e-4)
