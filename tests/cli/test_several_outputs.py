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


@pytest.mark.parametrize(
    "words",
    [("margin",), ("minimum-norm",), ("forecast",), ("check", "boursier2024:thm1"), ("train", "--width", "inf")],
    ids=lambda words: words[0],
)
def test_what_is_open_names_one_class_against_the_rest(reluflow, table, words):
    command, *rest = words
    place = (*rest, table) if command == "check" else (table, *rest)
    found = reluflow(command, *place)
    assert found.status == 2
    assert "must have one output for" in found.err
    assert "got 3 classes; `dataset.one_against_rest(CLASS)` (`--labels CLASS`)" in found.err
    assert "sets one class against the rest" in found.err
    if command not in ("check", "train"):  # which take longer
        assert reluflow(command, table, "--labels", "ant").status == 0


def test_extremal_lists_pairs(reluflow, table):
    found = reluflow("extremal", table, "--reduction", "sum", "--json").json
    assert found["exact"]
    assert found["count"] == len(found["vectors"]) == 6
    first = found["vectors"][0]
    assert first["kind"] == "maximum"
    assert (first["side"], first["pattern"]) == (1, [-1, -1, -1, -1, 1, 1])
    np.testing.assert_allclose(first["vector"], np.sqrt(2.0 / 3.0) * np.array([-3.5, -3.8]))
    np.testing.assert_allclose(first["output"], np.array([-1.0, -1.0, 2.0]) / 6**0.5)
    assert first["rate"] == first["norm"] == pytest.approx(np.linalg.norm(first["vector"]))
    assert found["d_max"] >= first["rate"] > found["d_min"]
    words = reluflow("extremal", table).out
    assert "6 extremal pairs (all of them, by enumeration)" in words
    assert "output q" in words


def test_align_says_what_each_class_does(reluflow, table):
    found = reluflow("align", table, "--width", 30, "--json").json
    assert found["counts"]["maximum"] == 30
    assert found["classes"] == ["ant", "bee", "cow"]
    assert sum(row["neurons"] for row in found["by_class"]) == 30
    ends = [sum(row["to"][name] for row in found["by_class"]) for name in found["classes"]]
    assert ends == [sum(neuron["class"] == name for neuron in found["neurons"]) for name in found["classes"]]
    neuron = found["neurons"][0]
    assert neuron.keys() >= {"end", "extremal", "output", "rate", "time", "crossings", "slides", "direction"}
    assert np.linalg.norm(neuron["extremal"]) == pytest.approx(neuron["rate"])
    words = reluflow("align", table, "--width", 30).out
    assert "Neurons by the class at which their v starts largest" in words
    assert "to bee" in words


def test_align_and_extremal_keep_to_their_time(reluflow, table):
    found = reluflow("align", table, "--width", 3000, "--max-seconds", "1e-6", "--json").json
    assert "were not followed, for the time was spent" in found["why"]
    assert found["counts"]["open"] > 0
    assert "were not visited" in reluflow("extremal", table, "--max-seconds", "1e-9", "--json").json["why"]


def test_diagnose_answers_what_has_a_meaning_for_several_classes(reluflow, table):
    found = reluflow("diagnose", table, "--json").json
    conditions = {condition["key"]: condition for condition in found["conditions"]}
    assert conditions["linearly-separable"]["holds"] is True
    assert conditions["linearly-separable"]["margin"] == pytest.approx(0.5280149, abs=1e-6)
    assert conditions["orthogonally-separable"]["holds"] is False
    assert conditions["orthogonally-separable"]["margin"] == pytest.approx(-0.1662910, abs=1e-6)
    assert "(ant and bee)" in conditions["orthogonally-separable"]["detail"]
    assert conditions["general-position"]["holds"] is True
    assert conditions["no-saddle"]["holds"] is False
    assert conditions["lyu-a5"]["holds"] is None
    assert "one class against the rest" in conditions["lyu-a5"]["detail"]
    assert {theorem["applicable"] for theorem in found["theorems"]} == {False}
    of_one_output = [theorem for theorem in found["theorems"] if not theorem["key"].startswith("min2025:")]
    assert all(theorem["why"].startswith("stated for one output, got 3") for theorem in of_one_output)
    assert "--labels CLASS sets one class against the rest" in reluflow("diagnose", table).out


def test_several_targets_have_pairs_and_a_diagnosis(reluflow, tmp_path):
    (tmp_path / "rows.csv").write_text("a,u,v\n1,0.5,2\n3,1,2.5\n0.5,2,1\n")
    words = (tmp_path / "rows.csv", "--target", "u,v", "--json")
    (only,) = reluflow("extremal", *words).json["vectors"]
    np.testing.assert_allclose(np.array(only["output"]) * only["rate"], [4.5 / 3.0, 10.0 / 3.0])
    aligned = reluflow("align", *words, "--width", 10).json
    assert "by_class" not in aligned
    assert {neuron["end"] for neuron in aligned["neurons"]} == {"maximum", "dead"}
    conditions = {c["key"]: c for c in reluflow("diagnose", *words).json["conditions"]}
    assert conditions["orthogonally-separable"]["holds"] is None
    assert "--target NAME" in conditions["orthogonally-separable"]["detail"]


def test_one_hot_columns_at_the_end_are_classes(reluflow, tmp_path):
    """The last column alone was the label, and the other columns of the code were inputs that gave it away."""
    rows = ["a,b,ant,bee,cow", *(f"{x},{-x},{int(x < 2)},{int(x == 2)},{int(x > 2)}" for x in (1, 2, 3, 1.5, 2.5))]
    (tmp_path / "coded.csv").write_text("\n".join(rows))
    found = reluflow("train", tmp_path / "coded.csv", *DESCENT, "--json")
    assert found.json["classes"] == ["ant", "bee", "cow"]
    assert np.shape(found.json["predictions"]) == (5, 3)
    assert "hold one 1 per row and are taken as 3 classes" in found.err
    alone = reluflow("train", tmp_path / "coded.csv", *DESCENT, "--target", "cow", "--json").json
    assert "classes" not in alone


@pytest.mark.usefixtures("no_pictures")
def test_a_study_takes_the_output_bias(reluflow, table, tmp_path):
    words = ("study", table, "--quick", "--width", 4, "--scale", "0.3", "--max-steps", 60, "--out", tmp_path / "out")
    found = reluflow(*words, "--output-bias", "train", "--json").json
    assert found["start"]["output_bias"] == "train"
    assert found["classes"] == ["ant", "bee", "cow"]
    assert "output_bias" not in reluflow(*words, "--json").json["start"]


@pytest.mark.usefixtures("loaded_workers")
def test_a_sweep_over_several_classes(reluflow, table, tmp_path):
    import pandas

    found = reluflow(
        "sweep", table, "--over", "seed=0..1", "--width", 4, "--scale", "0.3", "--until", "20",
        "--measure", "outcome,loss,accuracy,least_squares_distance", "--out", tmp_path / "kept", "--json",
    ).json  # fmt: skip
    assert (found["done"], found["failed"]) == (2, 0)
    measured = pandas.read_parquet(found["table"])
    assert set(measured["accuracy"]) == {1.0}
    assert measured["least_squares_distance"].isna().all()
