"""`reluflow theorems` and `reluflow check`: the contract's JSON, exit statuses, refusals."""

import numpy as np
import pytest

from reluflow.found_papers import found_papers


def test_theorems_lists_every_paper(reluflow):
    rows = reluflow("theorems", "--json").json["theorems"]
    assert all(set(row) >= {"key", "paper", "statement", "erratum"} for row in rows)
    assert {row["paper"] for row in rows} == set(found_papers())
    keys = [row["key"] for row in rows]
    assert len(keys) == len(set(keys))
    assert all(row["key"].startswith(row["paper"] + ":") for row in rows)
    assert {"min2024:thm1", "boursier2024:lemma8"} <= set(keys)


def test_one_papers_theorems(reluflow):
    rows = reluflow("theorems", "min2024", "--json").json["theorems"]
    assert rows
    assert all(row["paper"] == "min2024" for row in rows)
    refused = reluflow("theorems", "min2023")
    assert refused.status == 2
    assert "`paper` must be one of boursier2024" in refused.err


def test_a_theorem_that_holds(reluflow):
    result = reluflow("check", "boursier2024:lemma1", "three-points", "--width", 10, "--json")
    assert result.status == 0
    answer = result.json
    assert answer["theorem"] == "boursier2024:lemma1"
    assert answer["verdict"] == "holds"
    assert all(h["holds"] for h in answer["hypotheses"])
    assert all(c["holds"] and c["slack"] >= 0 for c in answer["conclusions"])


def test_a_theorem_that_does_not_apply(reluflow):
    result = reluflow("check", "boursier2024:thm4", "three-points", "--json")
    assert result.status == 0
    assert result.json["verdict"] == "not-applicable"
    assert [h["name"] for h in result.json["hypotheses"] if h["holds"] is False] == ["boursier-a5"]


def test_labels_that_a_theorem_does_not_speak_of(reluflow):
    """Regression labels refuse the exponential loss; the verdict says so, not an error."""
    result = reluflow("check", "min2024:thm1", "three-points", "--json")
    assert result.status == 0
    assert result.json["verdict"] == "not-applicable"


def test_a_stored_run_is_judged_and_a_forged_one_fails(reluflow, tmp_path):
    true_run, forged_run = tmp_path / "true.nc", tmp_path / "forged.nc"
    times = ",".join(str(t) for t in np.linspace(0, 30, 5))
    reluflow("train", "three-points", "--width", 6, "--until", 30, "--times", times, "--save", true_run)
    assert reluflow("check", "boursier2024:lemma1", "--run", true_run, "--json").json["verdict"] == "holds"
    import xarray as xr

    with xr.open_dataset(true_run) as stored:
        forged = stored.load()
    name = next(v for v in ("snapshot_a", "a") if v in forged)
    forged[name] = forged[name] * 1.001
    forged.to_netcdf(forged_run)
    result = reluflow("check", "boursier2024:lemma1", "--run", forged_run, "--json")
    assert result.status == 1
    assert result.json["verdict"] == "fails"


def test_a_stored_run_that_ends_before_the_times_of_a_result_is_inconclusive(reluflow, tmp_path):
    """Of a run to t = 1 Theorem 1 of Min et al. was said to fail, for no neuron was aligned by then."""
    stored = tmp_path / "short.nc"
    reluflow("train", "min-toy", "--loss", "exponential", "--reduction", "sum", "--width", 8, "--init", "min-balanced",
             "--scale", "1e-30000", "--until", 1, "--times", "0,0.5,1", "--save", stored)  # fmt: skip
    result = reluflow("check", "min2024:thm1", "--run", stored, "--json")
    assert result.status == 0
    assert result.json["verdict"] == "inconclusive"
    assert [h["name"] for h in result.json["hypotheses"] if h["holds"] is None] == ["completed"]


def test_the_times_of_a_result_can_be_chosen_to_be_those_of_a_stored_run(reluflow, tmp_path):
    stored = tmp_path / "run.nc"
    reluflow("train", "three-points", "--width", 6, "--until", 5, "--times", "0,2,5", "--save", stored)
    words = ("check", "boursier2024:lemma1", "--run", stored, "--json")
    assert reluflow(*words).json["verdict"] == "inconclusive"
    assert reluflow(*words, "--set", "until=5").json["verdict"] == "holds"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("check", "boursier2024:lemma99"), "must be a key listed by `reluflow theorems`"),
        (("check", "boursier2024:lemma1", "--set", "until"), "`--set` must be NAME=VALUE"),
        (("check", "boursier2024:lemma1", "--set", "epsilon=1"), "`epsilon` is no parameter of boursier2024:lemma1"),
        (("check", "boursier2024:lemma1", "--until", "never"), "`--until` must be a positive time"),
        (("check", "boursier2024:lemma1", "nowhere.csv"), "nowhere.csv"),
        (("check", "boursier2024:lemma1", "--run", "nowhere.nc"), "does not exist"),
    ],
)
def test_refusals(reluflow, words, sentence):
    result = reluflow(*words)
    assert result.status == 2
    assert sentence in result.err
    assert len(result.err.strip().splitlines()) == 1
