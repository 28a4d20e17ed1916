"""Several classes, several targets and an output bias on the command line."""

import numpy as np
import pytest

CLASSES = "a,b,kind\n2,0.1,ant\n1.5,-0.2,ant\n-0.1,2,bee\n0.2,1.7,bee\n-2,-1.8,cow\n-1.5,-2,cow\n"
DESCENT = ("--method", "gd", "--lr", "0.05", "--iterations", 40, "--width", 5, "--scale", "0.3")


@pytest.fixture
def table(tmp_path):
    (tmp_path / "pets.csv").write_text(CLASSES)
    return tmp_path / "pets.csv"


def test_train_answers_with_classes_and_rows(reluflow, table):
    found = reluflow("train", table, *DESCENT, "--output-bias", "train", "--times", "1", "--json").json
    assert found["classes"] == ["ant", "bee", "cow"]
    assert np.shape(found["predictions"]) == (6, 3)
    (snapshot,) = found["snapshots"]
    assert np.shape(snapshot["v"]) == (5, 3)
    assert np.shape(snapshot["b"]) == (3,)
    assert "a" not in snapshot
    plain = reluflow("train", table, *DESCENT, "--times", "1", "--json").json
    assert "b" not in plain["snapshots"][0]
    assert "of 6 samples, as one of ant, bee, cow" in reluflow("train", table, *DESCENT).out


def test_a_fixed_bias_stays(reluflow, table, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "net.npz"
    np.savez(path, w=rng.normal(size=(4, 2)), v=rng.normal(size=(4, 3)), b=[0.1, 0.2, 0.3])
    words = ("train", table, "--init", path, *DESCENT[:4], "--iterations", 5, "--times", "0.25", "--json")
    fixed = reluflow(*words, "--output-bias", "fixed").json["snapshots"][0]
    assert fixed["b"] == [0.1, 0.2, 0.3]
    assert reluflow(*words).json["snapshots"][0]["b"] != [0.1, 0.2, 0.3]
    assert "b" not in reluflow(*words, "--output-bias", "none").json["snapshots"][0]


def test_certify_answers_with_multipliers_per_rival(reluflow, table, tmp_path):
    np.savez(tmp_path / "data.npz", X=np.eye(3), y=np.array(["x", "y", "z"]))
    v = np.eye(3) - 1.0 / 3.0
    np.savez(tmp_path / "net.npz", w=np.eye(3) * np.linalg.norm(v[0]), v=v)
    found = reluflow("certify", tmp_path / "data.npz", "--init", tmp_path / "net.npz", "--json").json
    assert (found["kind"], found["classes"], found["proof"]) == ("kkt-direction", ["x", "y", "z"], True)
    assert np.diag(found["multipliers"]).tolist() == [0.0, 0.0, 0.0]
    assert np.shape(found["multipliers"]) == (3, 3)
    assert found["margin"] == pytest.approx(float(np.linalg.norm(v[0]) / (2.0 * np.sum(v**2))))


def test_two_classes_under_softmax_and_several_targets(reluflow, tmp_path):
    found = reluflow("train", "min-toy", "--loss", "softmax", *DESCENT, "--json").json
    assert found["classes"] == ["-1", "1"]
    (tmp_path / "rows.csv").write_text("a,u,v\n1,0.5,2\n3,1,2.5\n0.5,2,1\n")
    rows = reluflow("train", tmp_path / "rows.csv", "--target", "u,v", *DESCENT, "--json").json
    assert np.shape(rows["predictions"]) == (3, 2)
    assert "classes" not in rows


@pytest.mark.parametrize("command", ["extremal", "align", "margin", "minimum-norm", "forecast"])
def test_what_is_open_names_one_class_against_the_rest(reluflow, table, command):
    found = reluflow(command, table)
    assert found.status == 2
    assert "sets one class against the rest" in found.err
    assert reluflow(command, table, "--labels", "ant").status == 0


def test_diagnose_takes_classes(reluflow, table):
    """It refused them; now an assumption of one output says that it is of one."""
    rows = {row["key"]: row for row in reluflow("diagnose", table, "--json").json["conditions"]}
    assert rows["linearly-separable"]["detail"] == "it is stated for one output"
    assert rows["orthogonally-separable-classes"]["margin"] is not None
