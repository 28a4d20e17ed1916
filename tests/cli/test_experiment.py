"""`--experiment FILE` and `--save-experiment FILE`: the same run from its description."""

import pytest

from reluflow.experiment import Experiment

WORDS = ("train", "three-points", "--width", 5, "--until", 3, "--weight-decay", 0.1, "--times", "1,2", "--json")


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_a_kept_description_makes_the_same_run(reluflow, tmp_path, suffix):
    path = tmp_path / f"run{suffix}"
    first = reluflow(*WORDS, "--save-experiment", path)
    assert first.status == 0
    assert Experiment.read(path) == Experiment("three-points", width=5, until=3, weight_decay=0.1, times=(1, 2))
    assert reluflow("train", "--experiment", path, "--json").json == first.json
    other = reluflow("train", "--experiment", path, "--width", 6, "--json").json
    assert len(other["snapshots"][0]["a"]) == 6
    assert other["weight_decay"] == 0.1


def test_a_description_pins_the_content_of_its_files(reluflow, tmp_path):
    data, path = tmp_path / "points.csv", tmp_path / "run.toml"
    data.write_text("x1,x2,y\n1,2,1\n-1,0.5,-1\n")
    words = ("train", data, "--loss", "square", "--width", 3, "--until", 1)
    assert reluflow(*words, "--save-experiment", path).status == 0
    assert reluflow("train", "--experiment", path).status == 0
    data.write_text("x1,x2,y\n1,2,1\n-1,0.5,-2\n")
    refused = reluflow("train", "--experiment", path)
    assert refused.status == 2
    assert "must stay as it was" in refused.err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("width = 3\n", "must give its `data`, or DATASET must be given"),
        ('data = "three-points"\nwidht = 3\n', "`widht` is not a field of an experiment; did you mean width"),
        ('data = "three-points"\nwidth = 0\n', "`width` must be a whole number of at least 1"),
        ("data = ", "must be a TOML document"),
    ],
)
def test_descriptions_that_cannot_be_are_refused(reluflow, tmp_path, content, words):
    path = tmp_path / "run.toml"
    path.write_text(content)
    result = reluflow("train", "--experiment", path)
    assert (result.status, result.out) == (2, "")
    assert words in result.err
    assert len(result.err.splitlines()) == 1


def test_what_a_command_cannot_take_is_refused_and_not_ignored(reluflow, tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('data = "three-points"\nweight_decay = 0.5\n')
    result = reluflow("align", "--experiment", path)
    assert result.status == 2
    assert "must leave out `weight_decay`, which this command cannot take" in result.err
    path.write_text('data = "three-points"\nwidth = 7\nscale = "1e-9"\n')
    assert len(reluflow("align", "--experiment", path, "--json").json["neurons"]) == 7
    assert reluflow("train").status == 2
    assert "Missing argument 'DATASET'" in reluflow("train").err
