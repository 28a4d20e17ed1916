"""What a study says first, and how: accuracy and the samples that are wrong, the data on top, the rest folded."""

import re

import numpy as np
import pytest
from PIL import Image

from reluflow.data.dataset import Dataset
from reluflow.study.pictures import animate_study, draw_study
from reluflow.study.report import write_report
from reluflow.study.story import study
from reluflow.theory.registry import theorem_named
from reluflow.viz.function_frames import function_frames


@pytest.fixture(scope="module")
def found():
    """Four samples of the plane; the last has the label of the other side."""
    data = Dataset([[1.0, 0.2], [0.4, 1.0], [-1.0, 0.3], [0.5, 0.1]], [1.0, 1.0, -1.0, -1.0], name="four")
    return study(data, width=10, seeds=0, theorems=(theorem_named("boursier2024:thm2"),), max_steps=4000)


def test_the_first_sentence_has_the_accuracy_and_who_is_wrong(found):
    outputs = found.flow.trajectory.predictions
    wrong = np.flatnonzero(found.dataset.y * outputs <= 0.0)
    first = found.verdict()[0]
    if len(wrong):
        right = 4 - len(wrong)
        assert f"classifies {right} of 4 samples rightly ({right / 4:.1%}" in first
        assert f"wrong, counted from 0: {', '.join(map(str, wrong))}" in first
    else:
        assert "classifies all 4 samples rightly" in first


def test_the_page_shows_the_data_first_and_folds_what_does_not_apply(found, tmp_path):
    page = write_report(found, draw_study(found, tmp_path), tmp_path / "report.html", command="x").read_text()
    assert page.index("<img") < page.index('<nav aria-label="Contents">') < page.index('id="story"')
    folded = page.index("Theorems that do not apply, or could not be asked")
    assert page[:folded].endswith("<details><summary>")
    assert 'class="edge"' in page
    assert "Moment of the run" in page
    assert re.search(r'text-anchor="end">0</text>', page), "the loss has an axis with numbers"


def test_the_function_is_seen_among_the_samples(found, tmp_path):
    frames = function_frames([frame.network for frame in found.flow.frames], found.dataset)
    assert frames is not None
    assert frames.is_plane
    assert len(frames.curves) == len(found.flow.frames)
    last = np.concatenate(frames.curves[-1])
    assert np.max(np.abs(found.flow.frames[-1].network.outputs(last))) < 0.05 * np.max(np.abs(found.dataset.y))
    path = animate_study(found, tmp_path / "run.gif")
    with Image.open(path) as film:
        assert film.n_frames >= len(frames.curves)


def test_three_inputs_have_no_plane():
    data = Dataset([[1.0, 0.0, 0.5], [0.0, 1.0, 0.25]], [1.0, -1.0])
    assert function_frames([], data) is None
