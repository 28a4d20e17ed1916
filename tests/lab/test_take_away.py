"""What one takes away from the page: the command, Python lines, pictures, tables, films."""

import shutil
import subprocess

import numpy as np
import pytest

import reluflow


def test_the_command_and_the_lines_are_those_of_the_run(open_page):
    page = open_page("v=1&name=min-toy&loss=logistic&width=11&scale=1e-5&seed=4&leak=0.25")
    page.click("#tab-take")
    assert page.inner_text("#take-command") == (
        "reluflow train min-toy --loss logistic --leak 0.25 --width 11 --scale 0.00001 --seed 4 --rtol 1e-05"
    )
    assert "reluflow.Experiment(data='min-toy', loss='logistic', leak=0.25, width=11" in page.inner_text("#take-python")


@pytest.mark.parametrize(
    "name", ["MP4 of the run", "PNG", "SVG", "CSV of the data", "CSV of the run", "GIF of the run"]
)
def test_files_are_taken_away(open_page, name, tmp_path):
    page = open_page("v=1&width=8")
    page.click("#tab-take")
    if name == "MP4 of the run" and shutil.which("ffmpeg") is None:
        assert "needs ffmpeg, which was not found" in page.inner_text("#says-panel")
        return
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name, exact=True).click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    content = path.read_bytes()
    if name == "MP4 of the run":
        assert content[4:8] == b"ftyp"
        words = ["ffmpeg", "-v", "error", "-i", str(path), "-f", "null", "-"]
        assert subprocess.run(words, capture_output=True, check=True).stderr == b"", "every frame can be decoded"
    elif name == "CSV of the data":
        assert reluflow.read_dataset(path) == reluflow.load("three-points")
    elif name == "SVG":
        assert content.startswith(b"<svg")
        assert content.count(b"<circle") > 8
    elif name == "CSV of the run":
        rows = np.genfromtxt(path, delimiter=",", names=True)
        assert set(rows["neuron"]) == set(range(8))
        assert rows["loss"][-1] == page.evaluate("reluflow.run().loss")
    else:
        from PIL import Image

        image = Image.open(path)
        assert image.width > 200
        if name == "GIF of the run":
            assert image.n_frames == 60
            image.seek(59)
            assert len(image.convert("RGB").getcolors(100_000)) > 4
