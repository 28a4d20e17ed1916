"""What a study says first, and how: accuracy and the samples that are wrong, the data on top, the rest folded."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import reluflow
from reluflow.cli.main import run as run_command
from reluflow.data.dataset import Dataset
from reluflow.dynamics.trajectory import Outcome
from reluflow.network import Network
from reluflow.study import descent_rates, plan
from reluflow.study.pictures import animate_study, draw_study
from reluflow.study.report import write_report
from reluflow.study.whole_study import study
from reluflow.theory.registry import theorem_named
from reluflow.viz.function_frames import function_frames


@pytest.fixture(scope="module")
def found():
    """Four samples of the plane; the last has the label of the other side."""
    data = Dataset([[1.0, 0.2], [0.4, 1.0], [-1.0, 0.3], [0.5, 0.1]], [1.0, 1.0, -1.0, -1.0], name="four")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(descent_rates, "MOST_SECONDS", 0.2)
        patch.setattr(plan, "LARGEST_FORECAST", 0)
        return study(data, width=10, seeds=0, theorems=(theorem_named("boursier2024:thm2"),), max_steps=4000)


def test_the_first_sentence_has_the_accuracy_and_who_is_wrong(found):
    outputs = found.flow.trajectory.predictions
    wrong = np.flatnonzero(found.dataset.y * outputs <= 0.0)
    first = found.verdict()[0]
    if len(wrong):
        right = 4 - len(wrong)
        assert f"classifies {right} of 4 samples correctly ({right / 4:.1%}" in first
        assert f"wrong: {', '.join(str(k + 1) for k in wrong)}" in first
    else:
        assert "classifies all 4 samples correctly" in first


def test_the_page_shows_the_data_first_and_folds_what_does_not_apply(found, tmp_path):
    page = write_report(found, draw_study(found, tmp_path), tmp_path / "report.html", command="x").read_text()
    assert page.index("<img") < page.index('<nav aria-label="Contents">') < page.index('id="summary"')
    folded = page.index("Theorems that do not apply, or could not be checked")
    assert page[:folded].endswith("<details><summary>")
    assert page.index("<iframe") < page.index('alt="The neurons')


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


def test_a_run_near_the_best_margin_says_what_is_known():
    """Digits 3 and 8: 'where it ends is not decided here', of a run with 99.99% of the best margin known."""
    data = Dataset([[1.0, 0.4], [-1.0, 0.3], [0.8, -0.5], [-0.7, -0.6]], [1.0, -1.0, 1.0, -1.0])
    whole = study(data, width=12, seeds=0, theorems=())
    certificate = whole.flow.limit.certificate
    assert certificate.margin_bound >= certificate.margin * (1.0 - 1e-9)
    cut = replace(whole.flow.trajectory, outcome=Outcome.MAX_SECONDS)
    limit = replace(whole.flow.limit, is_proof=False)
    said = " ".join(replace(whole, flow=replace(whole.flow, trajectory=cut, limit=limit)).verdict())
    assert "its limit is not determined here" in said
    assert f"Its normalised margin is {certificate.margin:.6g}" in said
    assert "What is known: its margin is" in said
    assert "residual of the KKT conditions" in said


UNCLEAR = (
    "as tried", "borne out", "tells the summary", "the same, best", "point where they are pulled",
    "balance, and the norm", "for ever", "FAIL here",
)  # fmt: skip


@pytest.mark.parametrize("name", ["study", "certificates", "endings", "cli", "experiments"])
def test_sentences_for_readers_are_plain(name):
    """What a user reads of SciPy's kind: no 'as tried', no 'borne out'. Docstrings and comments are not looked at."""
    for path in sorted((Path(reluflow.__file__).parent / name).rglob("*.py")):
        tree = ast.parse(path.read_text())
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        docstrings = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and node.body
                      and isinstance(node.body[0], ast.Expr)}  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                assert not [words for words in UNCLEAR if words in node.value], f"{path}:{node.lineno}: {node.value}"


@pytest.mark.slow
def test_many_bundles_are_counted_and_not_listed(tmp_path):
    """Twelve bundles stood in one sentence."""
    rng = np.random.default_rng(0)
    data = Dataset(rng.standard_normal((30, 2)), rng.standard_normal(30))
    found = study(data, width=40, seeds=0, theorems=(), max_steps=30)
    count = sum(g.name == "bundle" for g in found.groups)
    assert count > 3
    said = next(words for words in found.sentences() if words.startswith("Of 40 neurons"))
    assert f"{count} bundles of neurons that point the same way" in said
    assert said.count("with a") == 0
    page = write_report(found, [], tmp_path / "report.html", command="x").read_text()
    assert page.count("<td>bundle</td>") == count or page.count("bundle") >= count


@pytest.mark.usefixtures("no_pictures")
def test_numbers_in_sentences_are_rows_of_the_file(capsys, tmp_path, monkeypatch):
    """The accuracy counted wrong samples from 0, the assumptions and the page that plays counted them from 1."""
    monkeypatch.setattr(plan, "LARGEST_FORECAST", 0)
    rows = np.array([[1.0, 0.2, 1], [0.9, -0.3, 1], [-1.0, 0.1, -1], [0.95, -0.05, -1], [-0.8, 0.3, -1]])
    path = tmp_path / "mine.csv"
    path.write_text("x1,x2,y\n" + "\n".join(",".join(f"{v:g}" for v in row) for row in rows) + "\n")
    words = ["--quick", "--width", "4", "--max-seconds", "5", "--out", str(tmp_path / "out"), "--json"]
    with pytest.raises(SystemExit) as end:
        run_command(["study", str(path), *words])
    assert end.value.code == 0
    answer = json.loads(capsys.readouterr().out)
    outputs = np.array(answer["flow"]["predictions"])
    wrong = [k for k in range(1, 6) if rows[k - 1, 2] * outputs[k - 1] <= 0.0]
    assert wrong, "the fourth row lies among those of the other class"
    assert f"wrong: {', '.join(map(str, wrong))}" in answer["verdict"][0]
    assert "counted from 0" not in (tmp_path / "out" / "report.html").read_text()


def test_an_ignored_sample_has_its_row_and_its_index():
    """In the sentences the row, counted from 1; in the array, which indexes X, its place from 0."""
    data = Dataset([[1.0, 0.0], [-1.0, 0.2]], [1.0, 1.0])
    start = Network(w=np.array([[1.0, 0.0]]), a=np.array([1.0]))
    found = study(data, loss="logistic", network=start, seeds=0, theorems=())
    certificate = found.flow.limit.certificate
    assert tuple(certificate.ignored) == (1,)
    assert "ignores sample 2: no neuron is active there" in found.verdict()[0]
    assert any("No neuron is active on sample 2:" in reason for reason in certificate.reasons)
