"""The JSON of every command has the keys of the interface, and the numbers of the digests."""

import json
import subprocess
import sys

import numpy as np
import pytest

from reluflow.found_papers import found_papers


def test_help_and_version(reluflow):
    result = reluflow("--help")
    assert result.status == 0
    for command in (
        "study",
        "datasets",
        "diagnose",
        "extremal",
        "align",
        "margin",
        "certify",
        "bench",
        "forecast",
        "minimum-norm",
    ):
        assert command in result.out
        shown = reluflow(command, "--help")
        assert shown.status == 0
        assert "Example: reluflow" in shown.out
    assert reluflow("--version").out.startswith("reluflow ")
    assert reluflow().status == 0


def test_datasets(reluflow):
    entries = reluflow("datasets", "--json").json["datasets"]
    names = [entry["name"] for entry in entries]
    assert "three-points" in names
    assert len(set(names)) == len(names)
    for entry in entries:
        assert {"name", "n", "d", "task", "paper"} <= set(entry)
    assert {entry["paper"] for entry in entries} == {*found_papers(), "general"}
    assert "three-points" in reluflow("datasets").out


def test_diagnose(reluflow):
    result = reluflow("diagnose", "three-points", "--json")
    assert result.status == 0
    answer = result.json
    assert (answer["n"], answer["d"]) == (3, 2)
    for condition in answer["conditions"]:
        assert set(condition) == {"key", "paper", "statement", "holds", "margin", "detail"}
    keys = {condition["key"]: condition for condition in answer["conditions"]}
    interface = (
        "linearly-separable orthogonally-separable orthogonally-separable-strict symmetric support-spans "
        "principal-direction lyu-a2 lyu-a3 lyu-a5 three-point-box boursier-a4 boursier-a5 boursier-a6 "
        "general-position no-saddle"
    )
    assert set(interface.split()) <= set(keys)
    assert keys["boursier-a4"]["holds"] is True
    assert keys["boursier-a5"]["holds"] is False
    assert keys["boursier-a6"]["holds"] is True
    for theorem in answer["theorems"]:
        assert set(theorem) == {"key", "applicable", "why"}
    assert "boursier-a4" in reluflow("diagnose", "three-points").out


def test_extremal(reluflow):
    answer = reluflow("extremal", "three-points", "--json").json
    assert answer["count"] == 1
    assert answer["exact"] is True
    assert answer["d_max"] == pytest.approx(0.7149689, abs=5e-8)
    assert answer["d_min"] == pytest.approx(0.2687419, abs=5e-8)
    (only,) = answer["vectors"]
    assert only["vector"] == pytest.approx([-0.2583333, 0.6666667], abs=5e-8)
    assert (only["kind"], only["side"], only["pattern"]) == ("maximum", 1, [1, 1, 1])
    assert only["norm"] == pytest.approx(np.linalg.norm(only["vector"]))


def test_extremal_reduction_scales_the_vectors(reluflow):
    mean = reluflow("extremal", "three-points", "--json").json
    total = reluflow("extremal", "three-points", "--reduction", "sum", "--factor", "2", "--json").json
    assert total["d_max"] == pytest.approx(6 * mean["d_max"], rel=1e-12)


def test_bias_turns_the_raw_points_into_three_points(reluflow, tmp_path):
    path = tmp_path / "raw.csv"
    path.write_text("x1,y\n-0.75,1.1\n-0.5,0.1\n0.125,0.8\n")
    assert reluflow("extremal", path, "--bias", "--json").json == reluflow("extremal", "three-points", "--json").json


def test_align(reluflow):
    answer = reluflow("align", "three-points", "--width", 50, "--seed", 3, "--json").json
    assert len(answer["neurons"]) == 50
    assert sum(answer["counts"].values()) == 50
    assert answer["counts"]["open"] == 0
    for neuron in answer["neurons"]:
        assert {"end", "extremal", "time", "crossings"} <= set(neuron)
        assert neuron["end"] in ("maximum", "minimum", "dead", "saddle", "open")
        if neuron["end"] == "maximum":
            assert neuron["extremal"] == pytest.approx([-0.2583333, 0.6666667], abs=5e-8)
    again = reluflow("align", "three-points", "--width", 50, "--seed", 3, "--json").json
    assert again == answer


def test_align_neurons_from_a_file(reluflow, tmp_path):
    path = tmp_path / "neurons.csv"
    path.write_text("w1,w2,a\n0,1,1\n0,-1,1\n")
    answer = reluflow("align", "three-points", "--init", path, "--json").json
    assert [neuron["end"] for neuron in answer["neurons"]] == ["maximum", "dead"]


def test_margin(reluflow):
    answer = reluflow("margin", "phuong-toy", "--json").json
    assert answer["separable"] is True
    assert answer["gap"] <= 1e-12
    assert answer["positive"]["w"] == pytest.approx([1 / 3, 1 / 3], abs=1e-12)
    assert answer["positive"]["norm"] == pytest.approx(0.4714045208, abs=1e-10)
    assert answer["negative"]["norm"] == pytest.approx(0.6139480626, abs=1e-10)
    assert answer["network"]["margin"] == pytest.approx(0.4606797898, abs=1e-8)
    assert answer["network"]["upper"] >= answer["network"]["margin"]


def test_margin_of_a_class_that_is_undecided(reluflow, tmp_path):
    """An open half-space holds the class, by products of size 1e-13; "neither w_+ nor w_- exists" was said of it."""
    path = tmp_path / "nearly-on-a-line.csv"
    rows = "41.01219330881976,50.22947341949844,1\n-33.941125496954285,-41.56921938165305,1\n"
    path.write_text(f"x1,x2,y\n{rows}28.284271247461902,34.641016151378544,1\n0,1,-1\n0,-1,-1\n")
    words = reluflow("margin", path, "--no-network").out
    assert "neither w_+ nor w_- exists" not in words
    assert "whether they exist could not be verified exactly" in words


def test_margin_of_a_set_that_is_not_separable(reluflow, tmp_path):
    path = tmp_path / "xor.csv"
    path.write_text("x1,x2,y\n1,1,1\n-1,-1,1\n1,-1,-1\n-1,1,-1\n")
    result = reluflow("margin", path, "--json")
    assert result.status == 0
    answer = result.json
    assert answer["separable"] is False
    X, y = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]]), np.array([1, 1, -1, -1])
    assert np.linalg.norm(np.array(answer["multipliers"]) @ (y[:, None] * X)) < 1e-12
    assert sum(answer["multipliers"]) == pytest.approx(1.0)
    words = reluflow("margin", path).out
    assert "No class lies in an open half-space, so that neither w_+ nor w_- exists." in words
    assert "support samples" not in words  # the head of a table without rows was printed


def test_json_is_one_object_even_with_notes(reluflow):
    result = reluflow("diagnose", "lyu-hinted", "--json")  # built for leak 0.5, run at leak 0
    assert "--leak 0.5" in result.err
    assert isinstance(json.loads(result.out), dict)


@pytest.mark.usefixtures("brief_descent", "one_process")
def test_study_writes_a_self_contained_report(reluflow, tmp_path):
    result = reluflow("study", "three-points", "--seeds", 1, "--max-seconds", "inf", "--out", tmp_path, "--json")
    assert result.status == 0
    answer = result.json
    page = (tmp_path / "report.html").read_text()
    assert "least-squares linear function" in answer["verdict"][1]
    assert 'src="data:image/png;base64,' in page
    named = page.replace("http://www.w3.org/2000/svg", "")  # a name that is never fetched, in the page of the run
    for outside in ("http://", "https://", 'src="/', "<link"):
        assert outside not in named
    for name in answer["files"]:
        assert (tmp_path / name.split("/")[-1]).exists()


@pytest.mark.slow
def test_study_of_a_dataset_in_three_dimensions_and_in_784(reluflow, tmp_path):
    assert (
        reluflow(
            "study", "lyu-orthogonal", "--quick", "--max-seconds", "inf", "--width", 30, "--out", tmp_path / "three"
        ).status
        == 0
    )
    assert (
        reluflow(
            "study", "mnist-0-1:size=20", "--quick", "--max-seconds", "inf", "--width", 5, "--out", tmp_path / "mnist"
        ).status
        == 0
    )


def test_entry_point_runs_as_a_program():
    result = subprocess.run(
        [sys.executable, "-m", "reluflow", "diagnose", "nowhere.csv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_forecast(reluflow, tmp_path):
    path = tmp_path / "orthogonal.csv"
    path.write_text("x1,x2,y\n1,0,1\n0,1,-0.5\n")
    neurons = tmp_path / "neurons.csv"
    neurons.write_text("w1,w2,a\n1,-0.2,1.0198039027185569\n-0.3,1,-1.044030650891055\n")
    result = reluflow("forecast", path, "--init", neurons, "--json")
    assert result.status == 0
    answer = result.json
    assert {"jumps", "end", "exact"} <= set(answer)
    for jump in answer["jumps"]:
        assert {"clock", "loss_before", "loss_after", "neurons", "extremal", "saddle"} <= set(jump)
    assert [jump["clock"] for jump in answer["jumps"]] == pytest.approx([2.0, 4.0], abs=1e-9)
    assert [jump["loss_after"] for jump in answer["jumps"]] == pytest.approx([0.0625, 0.0], abs=1e-12)
    assert [jump["neurons"] for jump in answer["jumps"]] == [[0], [1]]
    assert answer["jumps"][1]["extremal"] == pytest.approx([0.0, -0.25], abs=1e-9)
    assert answer["jumps"][0]["saddle"]["kind"] == "saddle"
    assert answer["end"]["kind"] == "global-minimum"
    assert {"loss", "kind", "network"} <= set(answer["end"])
    assert answer["exact"] is True
    assert answer["why"] is None
    assert "falls in 2 steps, at 2 and 4 log(1/scale)" in reluflow("forecast", path, "--init", neurons).out


def test_minimum_norm(reluflow, tmp_path):
    path = tmp_path / "orthogonal.csv"
    path.write_text("x1,x2,y\n1,0,3\n0,1,4\n")
    answer = reluflow("minimum-norm", path, "--json").json
    assert answer["norm"] == pytest.approx(5.0, rel=1e-8)
    assert answer["lower"] == pytest.approx(5.0, rel=1e-8)
    assert answer["fits"] is True
    assert answer["exact"] is True
    assert "5, at least 5" in reluflow("minimum-norm", path).out
    network = tmp_path / "two.csv"
    network.write_text("w1,w2,a\n1,0,3\n0,1,4\n")
    verdict = reluflow("certify", path, "--init", network, "--loss", "square", "--json").json
    assert verdict["minimum_norm"] == pytest.approx(5.0, rel=1e-8)
    assert verdict["norm"] == pytest.approx(7.0)
    path.write_text("x1,x2,y\n1,0,1\n2,0,3\n")
    impossible = reluflow("minimum-norm", path, "--json")
    assert impossible.status == 0
    assert impossible.json["fits"] is False
    assert impossible.json["norm"] is None
