"""`--max-seconds` and `--max-steps` on every command that runs the flow, and what Ctrl-C leaves."""

import signal

from reluflow.dynamics.flow.flow_run import FlowRun


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
