"""Tables and networks as people have them, through the commands."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from reluflow.cli.main import COMMANDS
from reluflow.errors import InvalidInputError
from reluflow.study import flow_summary

FIXTURES = Path(__file__).parents[1] / "network" / "fixtures"
PETS = "name;height;width;kind\nann;1,5;2;cat\nbob;3;-4,5;dog\neve;0,25;1;dog\njim;0,25;1;dog\n"


@pytest.fixture
def pets(tmp_path):
    path = tmp_path / "pets.csv"
    path.write_text(PETS)
    return path


@pytest.mark.parametrize("command", ["diagnose", "extremal", "align", "margin"])
def test_every_command_reads_a_table(reluflow, pets, command):
    refused = reluflow(command, pets)
    assert refused.status == 2
    assert "words in column name" in refused.err
    result = reluflow(command, pets, "--drop", "name", "--json")
    assert result.status == 0, result.err
    assert result.json
    assert "4 samples, 2 features, 3 dog (-1), 1 cat (+1), from pets.csv (labels: kind)" in result.err
    assert "1 row repeats another one" in result.err
    flipped = reluflow(command, pets, "--drop", "name", "--labels", "dog,cat", "--bias", "--json")
    assert "1 cat (-1), 3 dog (+1)" in flipped.err


def test_train_keeps_a_network_that_certify_reads(reluflow, pets, tmp_path):
    kept = tmp_path / "net.npz"
    words = [pets, "--features", "height,width", "--target", "kind", "--standardise"]
    trained = reluflow("train", *words, "--width", 5, "--until", "3", "--save-network", kept, "--json")
    assert trained.status == 0, trained.err
    certified = reluflow("certify", *words, "--init", kept, "--json")
    assert certified.status == 0, certified.err
    assert certified.json["kind"] == "not-stationary"
    again = reluflow("train", *words, "--init", kept, "--until", "0.1", "--times", "0", "--json")
    np.testing.assert_allclose(again.json["snapshots"][0]["predictions"], trained.json["predictions"], atol=1e-12)


def test_impossible_places_are_noticed_before_the_training(reluflow, tmp_path, monkeypatch):
    """They were noticed after it, and an hour was lost."""

    def never(*_, **__):
        raise AssertionError("trained first")

    monkeypatch.setattr("reluflow.dynamics.train.train", never)
    (tmp_path / "folder.nc").mkdir()
    for option, place, words in (
        ("--save", tmp_path / "none" / "run.nc", "folder that exists"),
        ("--save", tmp_path / "run.txt", "must end in .nc"),
        ("--save", tmp_path / "folder.nc", "got a folder"),
        ("--save-network", tmp_path / "none" / "net.npz", "folder that exists"),
        ("--save-network", tmp_path / "net.pt", "must end in .csv, .npz, .safetensors"),
    ):
        result = reluflow("train", "three-points", option, place)
        assert result.status == 2
        assert words in result.err


def test_certify_reads_checkpoints(reluflow, tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("a,b,c,y\n1,2,3,0.5\n-1,0.5,2,1.5\n0.25,-2,1,0.25\n")
    without = reluflow("certify", path, "--init", FIXTURES / "hidden_bias.pt", "--leak", "0.1")
    assert without.status == 2
    assert "which a hidden bias needs" in without.err
    result = reluflow(
        "certify", path, "--bias", "--init", FIXTURES / "hidden_bias.safetensors", "--leak", "0.1", "--json"
    )
    assert result.json["kind"] == "not-stationary"
    without_bias = reluflow(
        "certify", path, "--bias", "--init", FIXTURES / "checkpoint.pt", "--output-bias", "none", "--json"
    )
    assert without_bias.status == 0
    assert "the output bias of the network is left out" in without_bias.err


def test_certify_says_where_the_flow_goes_from_here(reluflow, tmp_path):
    path = tmp_path / "net.csv"
    path.write_text("w1,w2,a\n0.1,0.8,0.8\n")
    result = reluflow("certify", "three-points", "--init", path, "--from-here", "--json")
    assert result.json["assessment"]["at"] == "local-minimum"
    assert result.json["whereabouts"] == result.json["assessment"], "the key of version 0.2"
    assert result.json["assessment"]["with loss"] == pytest.approx(0.0875213675, abs=1e-9)
    assert (
        "The exact flow reaches loss 0.0875214"
        in reluflow("certify", "three-points", "--init", path, "--from-here").out
    )


@pytest.mark.parametrize("scale", ["1e400", "1e200", "0", "-1", "nan", "inf", "x", "1e-99999999999999999999999"])
def test_scales_that_are_none(reluflow, scale):
    """1e400 reached LAPACK as an infinity; exponents beyond Decimal's own range ended in its exception."""
    result = reluflow("train", "three-points", "--width", 2, "--scale", scale, "--horizon", 1)
    assert result.status == 2
    assert "`scale` must be" in result.err


def test_scales_far_below_any_decimal_context(reluflow):
    result = reluflow("train", "three-points", "--width", 5, "--scale", "1e-2000060", "--json")
    assert result.status == 0
    assert result.json["loss"] == pytest.approx(0.0875213675, abs=1e-9)


def commands_with_a_dataset():
    """Every command whose function takes DATASET."""
    found = []
    for name in COMMANDS:
        command = importlib.import_module(f"reluflow.cli.{name.replace('-', '_')}").command
        if "dataset" in [parameter.name for parameter in command.params]:
            found.append(name)
    return found


def test_the_commands_with_a_dataset_are_known():
    assert set(commands_with_a_dataset()) == set(COMMANDS) - {"datasets", "theorems", "reproduce", "bench", "warm-up"}


@pytest.mark.parametrize("command", commands_with_a_dataset())
def test_every_command_reads_data_alike(reluflow, command):
    """`sweep` had no `--labels`, `--target`, ...: a table that `train` reads could not be swept."""
    text = reluflow(command, "--help").out
    for option in ("--target NAME", "--features A,B,C", "--drop A,B,C", "--labels POS,NEG", "--drop-missing"):
        assert option in text
    assert "--standardise" in text


def test_a_table_of_words_is_swept(reluflow, tmp_path):
    path = tmp_path / "flowers.csv"
    rows = [
        "length,width,species,id",
        *(f"{1 + 0.1 * k},{2 - 0.1 * k},rose,{k}" for k in range(4)),
        *(f"{3 + 0.1 * k},{-1 + 0.1 * k},lily,{k}" for k in range(4)),
        "5,5,oak,9",
    ]
    path.write_text("\n".join(rows) + "\n")
    how = ("--target", "species", "--drop", "id", "--labels", "rose,lily", "--standardise")
    sweep = ("sweep", path, *how, "--over", "seed=0..1", "--measure", "outcome,loss", "--width", 6, "--until", "0.5")
    folder = ("--out", tmp_path / "out", "--executor", "serial", "--json")
    result = reluflow(*sweep, *folder)
    assert result.status == 0, result.err
    assert (result.json["done"], result.json["computed"]) == (2, 2)
    assert "4 lily (-1), 4 rose (+1)" in result.err
    assert reluflow(*sweep, *folder).json["computed"] == 0
    alone = reluflow("train", path, *how, "--width", 6, "--until", "0.5", "--seed", 1, "--json").json
    import pandas

    table = pandas.read_parquet(result.json["table"])
    assert float(table.loc[table["seed"] == 1, "loss"].iloc[0]) == alone["loss"]
    other = [word for word in sweep if word != "--standardise"]
    assert reluflow(*other, *folder).json["computed"] == 2  # another way to read it is another case


def test_what_the_square_loss_does_to_labels_is_the_same_in_a_sweep(reluflow, tmp_path):
    """`train --loss square` fitted the numbers 0 and 1, and a sweep with the same settings -1 and 1."""
    path = tmp_path / "pairs.csv"
    path.write_text("a,b,y\n1,0.5,1\n-1,0.25,0\n0.5,1,1\n")
    words = ("--loss", "square", "--width", 5, "--until", "2", "--json")
    alone = reluflow("train", path, *words).json["loss"]
    out = ("--over", "seed=0", "--measure", "loss", "--out", tmp_path / "out", "--executor", "serial")
    swept = reluflow("sweep", path, *words, *out)
    import pandas

    assert float(pandas.read_parquet(swept.json["table"])["loss"].iloc[0]) == alone


def test_a_swept_way_of_reading_has_the_fingerprints_of_its_cases(tmp_path):
    from reluflow.experiment import Experiment
    from reluflow.sweep.plan import make_plan

    path = tmp_path / "pairs.csv"
    path.write_text("a,b,y\n1,0.5,1\n-1,0.25,0\n0.5,1,1\n")
    for over in ({"standardise": "false,true"}, {"loss": "square,logistic"}, {"seed": "0..2"}):
        plan = make_plan(Experiment(str(path)), over, ["loss"])
        found = [bytes(row).hex() for row in plan.fingerprints()]
        assert found == [plan.case_at(k).fingerprint() for k in range(len(plan))]
        assert len(set(found)) == len(plan)
    with pytest.raises(InvalidInputError, match="`--target` is for tables"):
        make_plan(Experiment("three-points", target="y"), {"seed": "0..1"}, ["loss"])


def table_with_labels(path, labels):
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{label}" for (a, b), label in zip(rng.normal(size=(len(labels), 2)), labels, strict=True)]
    path.write_text("\n".join(["a,b,target", *rows]) + "\n")
    return path


def test_whole_numbers_of_few_kinds_are_asked_about_first(reluflow, tmp_path):
    """`study digits10.csv` fitted numbers to the digits 0 to 9, with one line of note among others."""
    path = table_with_labels(tmp_path / "digits.csv", [0, 1, 2, 3] * 3)
    words = ("--method", "gd", "--lr", "0.01", "--iterations", 3, "--width", 4)
    result = reluflow("train", path, *words, "--json")
    first, second = result.err.splitlines()[:2]
    assert first.startswith(
        "Note: The labels are 4 whole numbers from 0 to 3, each occurring at least 3 times, and are taken as 4 classes"
    )
    for way in ("`--labels 3`", "`--labels numbers`"):
        assert way in first
    assert second.startswith("Note: 12 samples, 2 features")
    assert result.json["notes"][0] == first.removeprefix("Note: ")
    for said in (("--labels", "numbers"), ("--loss", "square"), ("--labels", "3,0"), ("--labels", "2")):
        assert "taken as 4 classes" not in reluflow("train", path, *said, "--width", 4, "--until", "0.1").err


@pytest.mark.parametrize("labels", [[0.5, 1.5, 2.5] * 4, list(range(12)), list(range(24)) * 2])
def test_what_cannot_be_classes_is_not_asked_about(reluflow, tmp_path, labels):
    path = table_with_labels(tmp_path / "numbers.csv", labels)
    assert "taken as" not in reluflow("diagnose", path).err


def test_two_numbers_say_what_they_were_taken_for(reluflow, tmp_path):
    pair = reluflow("diagnose", table_with_labels(tmp_path / "pair.csv", [3, 8] * 4)).err.splitlines()[0]
    assert "taken as numbers to fit (regression)" in pair
    assert "`--labels 8,3`" in pair
    binary = reluflow("diagnose", table_with_labels(tmp_path / "binary.csv", [0, 1] * 4)).err.splitlines()[0]
    assert "taken as the classes -1 and 1; `--labels numbers` fits the numbers instead" in binary


@pytest.mark.usefixtures("no_pictures")
def test_a_study_begins_with_what_the_labels_were_taken_for(reluflow, tmp_path, monkeypatch):
    monkeypatch.setattr(flow_summary, "DESCENT_SHARE", 1e-9)  # where the run ends is another matter
    path = table_with_labels(tmp_path / "digits.csv", [3, 8] * 3)
    words = ("study", path, "--quick", "--width", 4, "--max-steps", 20, "--out", tmp_path / "out")
    result = reluflow(*words)
    assert result.err.startswith("Note: The labels 3 and 8 are taken as numbers")
    assert "taken as numbers" not in result.out  # it was said twice
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.index("taken as numbers to fit") < page.index("In short")
