"""`reluflow sweep`: the contract of its words, its JSON and its table."""

import json

import numpy as np
import pandas
import pytest

KEYS = {"cases", "done", "computed", "failed", "seconds", "table"}
SERIAL = ("--executor", "serial", "--width", "6")


def test_the_contract(reluflow, tmp_path):
    words = ["sweep", "three-points", "--over", "scale=1e-1..1e-3:log:3", "--over", "seed=0..1", *SERIAL]
    words += ["--measure", "outcome,loss,kind,time,crossings,theorem:boursier2024:lemma1", "--out", tmp_path, "--json"]
    first = reluflow(*words)
    assert first.status == 0
    answer = first.json
    assert set(answer) >= KEYS
    assert (answer["cases"], answer["done"], answer["computed"], answer["failed"]) == (6, 6, 6, 0)
    frame = pandas.read_parquet(answer["table"])
    assert len(frame) == 6
    assert {"scale", "seed", "fingerprint", "status", "outcome", "loss", "kind", "time", "crossings"} <= set(frame)
    np.testing.assert_allclose(frame["scale"].unique(), [1e-1, 1e-2, 1e-3], rtol=1e-12)
    assert frame["fingerprint"].is_unique
    assert (frame["theorem:boursier2024:lemma1"] == "holds").all()
    again = reluflow(*words).json
    assert (again["computed"], again["done"]) == (0, 6)
    status = reluflow("sweep", "status", tmp_path, "--json").json
    assert status == {"cases": 6, "done": 6, "failed": 0, "running": 0}
    assert "6 cases: 6 done, 0 failed, 0 running now, 0 without a result" in reluflow("sweep", "status", tmp_path).out


def test_a_row_is_what_train_says(reluflow, tmp_path):
    words = ["--over", "mu=0.2,0.5", "--over", "n=4", "--leak", "0.1", "--seed", "3", *SERIAL]
    measures = ["--measure", "loss,outcome,crossings", "--out", tmp_path, "--json"]
    answer = reluflow("sweep", "orthogonally-separable", *words, *measures).json
    row = pandas.read_parquet(answer["table"]).iloc[1]
    said = reluflow(
        "train", "orthogonally-separable:mu=0.5,n=4", "--width", 6, "--leak", 0.1, "--seed", 3, "--json"
    ).json
    assert (row["loss"], row["outcome"], row["crossings"]) == (said["loss"], said["outcome"], said["crossings"])


def test_failed_cases_are_counted_said_and_left_alone(reluflow, tmp_path):
    words = ["sweep", "three-points", "--over", "loss=square,logistic", *SERIAL, "--out", tmp_path]
    first = reluflow(*words)
    assert first.status == 0
    assert "2 cases: 1 done, 1 failed; 2 computed now" in first.out
    assert "`y` must hold only the labels -1 and 1" in first.out
    assert reluflow(*words, "--json").json["computed"] == 0
    retried = reluflow(*words, "--json", "--retry-failed").json
    assert (retried["computed"], retried["failed"], retried["done"]) == (1, 1, 1)


def test_an_interrupt_before_the_first_case_leaves_all_missing(reluflow, tmp_path, monkeypatch):
    """It printed "0 computed now, nothing was missing" where nothing had been computed."""
    from reluflow.sweep import run

    def interrupted(*arguments, **settings):
        raise KeyboardInterrupt

    words = ["sweep", "three-points", "--over", "seed=0..1", *SERIAL, "--out", tmp_path]
    with monkeypatch.context() as patch:
        patch.setattr(run, "run_plan", interrupted)
        result = reluflow(*words)
    assert result.status == 130
    assert "2 cases: 0 done, 0 failed; 0 computed now.\n" in result.out
    assert "Interrupted; 0 of 2 are done and kept." in result.err
    reluflow(*words)
    assert "2 cases: 2 done, 0 failed; 0 computed now, nothing was missing.\n" in reluflow(*words).out


def test_a_dry_run_computes_nothing_and_a_million_is_no_matter(reluflow, tmp_path):
    words = ["sweep", "three-points", "--over", "seed=0..999", "--over", "scale=1e-1..1e-9:log:1000", *SERIAL]
    shown = reluflow(*words, "--dry-run", "--out", tmp_path / "none", "--json").json
    assert (shown["cases"], shown["computed"], shown["table"]) == (1_000_000, 0, None)
    assert shown["estimate_s"] == pytest.approx(1_000_000 * shown["seconds_per_case"])
    assert shown["listed"][:2] == [{"seed": 0, "scale": 0.1}, {"seed": 0, "scale": pytest.approx(0.0982, rel=1e-3)}]
    assert not (tmp_path / "none").exists()
    people = reluflow(*words[:4], *SERIAL, "--dry-run", "--out", tmp_path / "none")
    assert "1,000 cases, 0 done, 0 failed." in people.out
    assert "... and 980 more." in people.out


def test_a_sweep_from_a_file(reluflow, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        f'out = "{tmp_path / "kept"}"\nmeasure = ["end"]\n[case]\ndataset = "three-points"\nwidth = 6\n'
        '[over]\nscale = "1e-1..1e-3:log:2"\n'
    )
    answer = reluflow("sweep", file, "--executor", "serial", "--json").json
    assert answer["cases"] == 2
    assert answer["table"] == str(tmp_path / "kept" / "table.parquet")
    more = reluflow("sweep", file, "--executor", "serial", "--over", "seed=0..1", "--json").json
    assert (more["cases"], more["computed"]) == (4, 2)


def test_a_setting_given_beside_a_file_wins(reluflow, tmp_path):
    """`--width 4` beside a file was read and forgotten: the sweep ran with the file's width."""
    file = tmp_path / "mine.yaml"
    file.write_text(
        "measure: end, loss\ncase: {dataset: three-points, width: 6, until: , leak: 0.1}\nover: {seed: [0, 1]}\n"
    )
    words = ["sweep", file, "--executor", "serial", "--json", "--out"]
    answer = reluflow(*words, tmp_path / "own").json
    assert (answer["cases"], answer["done"]) == (2, 2)
    assert {"end", "loss"} <= set(pandas.read_parquet(answer["table"]))
    kept = json.loads((tmp_path / "own" / "sweep.json").read_text())["base"]
    assert kept == {"data": "three-points", "leak": 0.1, "width": 6}
    reluflow(*words, tmp_path / "given", "--width", "4", "--loss", "square", "--scale", "1e-3")
    kept = json.loads((tmp_path / "given" / "sweep.json").read_text())["base"]
    assert kept == {"data": "three-points", "loss": "square", "leak": 0.1, "width": 4}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("over = 3\n[case]\ndataset = 'three-points'\n", "must have a table `case`"),
        ("case = 'three-points'\n[over]\nseed = '0..1'\n", "must have a table `case`"),
        ("measure = 3\n[case]\ndataset = 'three-points'\n[over]\nseed = '0..1'\n", "a list of names under `measure`"),
        ("measure = [3]\n[case]\ndataset = 'three-points'\n[over]\nseed = '0..1'\n", "a list of names under `measure`"),
        ("executor = 'dask'\n[case]\ndataset = 'three-points'\n[over]\nseed = '0..1'\n", "got 'executor'"),
        ("[case]\ndataset = 'three-points'\nwidht = 3\n[over]\nseed = '0..1'\n", "`widht` must be one of"),
        ("[case\n", "must be a TOML file"),
    ],
)
def test_files_that_are_no_sweep_are_refused_in_a_sentence(reluflow, tmp_path, text, sentence):
    """A number where a table or a list belongs once ended in a traceback."""
    file = tmp_path / "mine.toml"
    file.write_text(text)
    refused = reluflow("sweep", file, "--out", tmp_path / "none")
    assert refused.status == 2
    assert sentence in refused.err
    assert len(refused.err.strip().splitlines()) == 1


def test_a_picture_and_a_page(reluflow, tmp_path):
    words = ["sweep", "three-points", "--over", "scale=1e-1,1e-3", "--over", "width=4,6", "--over", "seed=0..1"]
    words += ["--executor", "serial", "--measure", "end,loss", "--out", tmp_path]
    made = reluflow(*words, "--plot", "--event", "end=least-squares", "--json")
    assert made.status == 0, made.err
    assert [path.rpartition("/")[2] for path in made.json["files"]] == ["picture.png", "index.html"]
    page = (tmp_path / "index.html").read_text()
    assert page.count('<rect class="cell"') == 4
    assert "reluflow train three-points --width 4 --scale 0.1" in page
    assert "http" not in page.replace("http-equiv", ""), "the page needs no network"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("three-points",), "`--over` must be given at least once"),
        (("three-points", "--over", "seed"), "`--over` must read NAME=VALUES"),
        (("three-points", "--over", "seed=0..1", "--over", "seed=3"), "`--over` must name 'seed' once"),
        (("three-points", "--over", "widht=3"), "`widht` must be one of dataset, scale, width"),
        (("three-points", "--over", "scale=0..1:log:3"), "`scale` must be positive to be spaced"),
        (("three-points", "--over", "width=0,10"), "`width` must be a whole number of at least 1"),
        (("linear-teacher", "--over", "mu=0.1"), "the parameters of linear-teacher are n, d, task, noise, shift"),
        (("three-pints", "--over", "seed=0..1"), "did you mean `three-points`"),
        (("missing.csv", "--over", "seed=0..1"), "missing.csv"),
        (("three-points", "--over", "seed=0..1", "--measure", "lss"), "did you mean loss?"),
        (("three-points", "--over", "seed=0..1", "--measure", "theorem:boursier2024:thm99"), "reluflow theorems"),
        (
            ("three-points", "--over", "seed=0..1", "--executor", "processes", "--scheduler", "tcp://x:1"),
            "goes with executor dask",
        ),
        (("three-points", "--over", "seed=0..1", "--executor", "threads"), "threads"),
        (("status", "nowhere"), "`nowhere` must be the folder of a sweep"),
        (("diagram", "three-point-angel"), "did you mean three-point-angle?"),
        (("three-points", "extra", "--over", "seed=0..1"), "is not expected after 'three-points'"),
        (("three-points", "--over", "seed=0..1", "--event", "kind=saddle"), "one of the measures outcome, loss"),
    ],
)
def test_refusals(reluflow, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    refused = reluflow("sweep", *words)
    assert refused.status == 2
    assert refused.out == ""
    assert sentence in refused.err
    assert len(refused.err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir()), "nothing is written before the words are understood"


def test_diagrams_are_listed(reluflow):
    named = [item["name"] for item in reluflow("sweep", "diagram", "--json").json["diagrams"]]
    assert named == ["three-point-angle", "max-margin", "optimisation-threshold"]


def test_the_description_in_the_folder_is_readable(reluflow, tmp_path):
    reluflow("sweep", "three-points", "--over", "seed=0..1", *SERIAL, "--out", tmp_path)
    kept = json.loads((tmp_path / "sweep.json").read_text())
    assert kept["over"] == {"seed": [0, 1]}
    assert kept["base"] == {"data": "three-points", "width": 6}
