"""`--max-seconds` and `--max-steps` on every command that runs the flow, and what Ctrl-C leaves."""

import signal

import numpy as np
import pytest

from reluflow.dynamics.event_driven.flow_run import FlowRun


def test_the_message_names_an_option_that_exists(reluflow):
    """ "Raise `max_steps` to go on" named an option that no command had."""
    result = reluflow("train", "three-points", "--width", 5, "--max-steps", 7)
    assert result.status == 0
    assert "raise `max_steps`" in result.out
    assert "left open" in result.out
    for command in ("train", "study", "check"):
        text = reluflow(command, "--help").out
        assert "--max-steps" in text
        assert "--max-seconds" in text


def test_train_is_cut_and_goes_on(reluflow, tmp_path):
    words = ("train", "three-points", "--width", 5, "--json")
    whole = reluflow(*words).json
    path = tmp_path / "run.checkpoint"
    cut = reluflow(*words, "--max-steps", 7, "--checkpoint", path).json
    assert (cut["outcome"], cut["steps"], cut["limit"]["proof"]) == ("max-steps", 7, False)
    short = reluflow(*words, "--max-seconds", 1e-6, "--checkpoint", path).json
    assert short["outcome"] == "max-seconds"
    assert reluflow(*words, "--checkpoint", path).json == whole


def test_a_verdict_on_a_run_cut_short_is_inconclusive(reluflow):
    words = ("check", "boursier2024:thm1", "three-points", "--json")
    assert reluflow(*words, "--max-steps", 3).json["verdict"] == "inconclusive"
    assert reluflow(*words, "--max-seconds", 1e-6).json["verdict"] == "inconclusive"


def test_bounds_that_are_none_are_refused(reluflow):
    for command in ("train", "study"):
        result = reluflow(command, "three-points", "--max-seconds", 0)
        assert result.status == 2
        assert "must be positive" in result.err


def test_ctrl_c_in_check_leaves_a_verdict(reluflow, monkeypatch):
    """What had been judged was lost."""
    advance = FlowRun.advance

    def pressed(self, limit, most_steps):
        if self.steps == 3:
            signal.raise_signal(signal.SIGINT)
        advance(self, limit, most_steps)

    monkeypatch.setattr(FlowRun, "advance", pressed)
    result = reluflow("check", "boursier2024:thm1", "three-points", "--json")
    assert result.status == 130
    assert result.json["verdict"] == "inconclusive"
    assert len(result.json["hypotheses"]) > 1
    assert "interrupted" in result.err


@pytest.mark.usefixtures("no_pictures")
def test_study_follows_a_network_from_a_file(reluflow, tmp_path):
    path = tmp_path / "net.csv"
    path.write_text("w1,w2,a\n0.1,0.8,0.8\n0.2,-0.4,0.3\n")
    result = reluflow(
        "study", "three-points", "--init", path, "--quick", "--max-seconds", "inf", "--out", tmp_path / "out", "--json"
    )
    assert result.status == 0
    assert result.json["start"]["init"] == "given"
    assert result.json["start"]["width"] == 2
    assert result.json["complete"]


@pytest.fixture
def large_table(tmp_path):
    """A table whose cones are too many to visit and whose neurons take a while to follow."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 6))
    y = np.where(X @ rng.standard_normal(6) + 0.3 * rng.standard_normal(1500) > 0, 1, -1)
    path = tmp_path / "large.csv"
    header = ",".join([f"x{k}" for k in range(1, 7)] + ["y"])
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header=header, comments="")
    return path


@pytest.mark.parametrize(
    "command",
    ["study", "diagnose", "extremal", "align", "forecast", "train", "margin", "minimum-norm", "certify", "check"],
)
def test_every_command_has_the_same_bound(reluflow, command):
    """`extremal` and `align` on 20,000 samples, and `minimum-norm` on 442, ran past 400 s without a bound."""
    assert "--max-seconds S" in reluflow(command, "--help").out


def test_align_names_the_neurons_it_did_not_follow(reluflow, large_table):
    result = reluflow("align", large_table, "--width", 80, "--max-seconds", 0.01, "--json").json
    ends = [neuron["end"] for neuron in result["neurons"]]
    assert len(ends) == 80
    assert 0 < ends.count("open") < 80
    assert result["counts"]["open"] == ends.count("open")
    assert f"{ends.count('open')} of 80 neurons were not followed, for the time was spent" in result["why"]
    done = len(ends) - ends.count("open")
    whole = reluflow("align", large_table, "--width", 80, "--max-seconds", "inf", "--json").json
    assert whole["neurons"][:done] == result["neurons"][:done]
    assert whole["why"] is None


def test_extremal_says_how_much_it_searched(reluflow, large_table):
    result = reluflow("extremal", large_table, "--max-seconds", 0.01, "--json").json
    assert result["exact"] is False
    assert result["count"] >= 1
    assert "more neurons were not followed, for the time was spent" in result["why"]
    shown = reluflow("extremal", large_table, "--max-seconds", 0.01).out
    assert "The list may not be complete: there are up to" in shown
    assert "... 1500 signs" in shown


def test_minimum_norm_gives_both_bounds_when_stopped(reluflow, tmp_path):
    """Half of scikit-learn's diabetes table in size: one cone program over all its columns took minutes."""
    rng = np.random.default_rng(1)
    path = tmp_path / "table.csv"
    np.savetxt(path, rng.standard_normal((150, 8)), delimiter=",", header="a,b,c,d,e,f,g,y", comments="")
    result = reluflow("minimum-norm", path, "--max-seconds", 1, "--json").json
    assert result["fits"] is True
    assert 0.0 < result["lower"] < result["norm"]
    assert result["misfit"] < 1e-9
    assert "linear program" in result["why"]


def test_forecast_and_diagnose_leave_open_what_they_could_not_do(reluflow, large_table):
    process = reluflow("forecast", large_table, "--width", 200, "--max-seconds", 0.05, "--json").json
    assert process["exact"] is False
    assert "the time was spent" in process["why"].lower()
    found = reluflow("diagnose", large_table, "--max-seconds", 1e-6, "--json").json
    assert all(c["holds"] is None and "the time was spent" in c["detail"] for c in found["conditions"])


def test_a_forecast_without_time_names_no_end(reluflow, large_table):
    """It said "The end is a not-stationary." below the heading of a table without rows."""
    said = reluflow("forecast", large_table, "--width", 200, "--max-seconds", 0.05).out
    assert "The last state found is not stationary: the path goes on from there." in said
    assert "neurons that escape" not in said


def test_step_size_without_time_is_an_open_answer(reluflow, large_table):
    """Where the flow had taken all the seconds it ended with "`max_seconds` must be positive, got 0.0."."""
    result = reluflow("step-size", large_table, "--max-seconds", 0.05, "--json")
    assert result.status == 0
    assert result.json["limit"] is None


def test_no_bar_where_nobody_looks(reluflow, large_table):
    result = reluflow("align", large_table, "--width", 20, "--max-seconds", 0.01)
    assert "\x1b" not in result.err
    assert "following" not in result.err
