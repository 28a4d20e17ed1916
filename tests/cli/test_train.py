"""`reluflow train`: the contract's JSON, the digests' numbers, refusals."""

import signal

import numpy as np
import pytest

from reluflow.dynamics.event_driven.flow_run import FlowRun

KEYS = {
    "outcome",
    "time",
    "log_time",
    "loss",
    "predictions",
    "steps",
    "crossings",
    "slides",
    "balancedness_drift",
    "phases",
    "limit",
    "snapshots",
}


def test_three_points_end_on_the_least_squares_line(reluflow):
    result = reluflow("train", "three-points", "--width", 200, "--scale", "1e-3", "--json")
    assert result.status == 0
    answer = result.json
    assert set(answer) >= KEYS
    assert answer["outcome"] == "stationary"
    assert answer["predictions"] == pytest.approx([0.6897435897, 0.6743589744, 0.6358974359], abs=1e-10)
    assert answer["loss"] == pytest.approx(0.08752137, abs=5e-9)
    assert answer["force_evaluations"] <= 5000
    assert answer["balancedness_drift"] <= 1e-12
    assert answer["limit"]["kind"] == "local-minimum"
    assert answer["limit"]["proof"] is True
    assert [phase["name"] for phase in answer["phases"]][:4] == ["alignment", "growth", "fitting", "convergence"]


def test_snapshots_at_exactly_the_requested_times(reluflow):
    answer = reluflow("train", "three-points", "--width", 5, "--times", "0.5,2,7.25", "--until", 8, "--json").json
    assert [snapshot["t"] for snapshot in answer["snapshots"]] == [0.5, 2.0, 7.25]
    for snapshot in answer["snapshots"]:
        assert set(snapshot) >= {"t", "loss", "predictions", "w", "a"}
        assert np.shape(snapshot["w"]) == (5, 2)
    assert answer["time"] == 8.0
    assert answer["outcome"] == "horizon"


@pytest.mark.parametrize("scale", ["1e-300", "1e-4000"])
def test_any_scale(reluflow, scale):
    """Time grows like ln(1/scale)/|D|; what follows does not change (phase ends are interpolated between records)."""
    tiny = reluflow("train", "three-points", "--width", 50, "--scale", scale, "--json").json
    small = reluflow("train", "three-points", "--width", 50, "--scale", "1e-6", "--json").json
    shift = (float(scale.split("-")[1]) - 6) * np.log(10) / 0.7149689192933883
    growth = [{p["name"]: p for p in answer["phases"]}["growth"] for answer in (tiny, small)]
    assert growth[0]["start"] - growth[1]["start"] == pytest.approx(shift, rel=1e-6)
    assert growth[0]["end"] - growth[0]["start"] == pytest.approx(growth[1]["end"] - growth[1]["start"], rel=5e-3)
    assert tiny["predictions"] == pytest.approx(small["predictions"], abs=1e-10)


def test_infinite_width(reluflow):
    answer = reluflow("train", "three-points", "--width", "inf", "--until", 12, "--json").json
    assert answer["predictions"][0] == pytest.approx(0.7, abs=0.1)


def test_direction_of_a_classifier(reluflow):
    answer = reluflow(
        "train", "phuong-toy", "--reduction", "sum", "--width", 8, "--scale", "1e-4", "--init", "sphere", "--json"
    ).json
    assert answer["outcome"] == "direction-converged"
    assert answer["limit"]["kind"] == "max-margin"
    assert answer["limit"]["margin"] == pytest.approx(0.4606797898, abs=1e-9)
    assert answer["log_time"] > 5


def test_a_classifier_that_cannot_fit_ends_at_a_minimum(reluflow, tmp_path):
    """One neuron on the line cannot fit three samples; the run must not wait for a direction for ever."""
    (tmp_path / "data.csv").write_text("x1,y\n1,1\n2,-1\n3,1\n")
    (tmp_path / "neuron.csv").write_text("w1,a\n0.1,0.1\n")
    answer = reluflow("train", tmp_path / "data.csv", "--init", tmp_path / "neuron.csv", "--json").json
    assert answer["outcome"] == "stationary"
    assert answer["limit"]["kind"] == "global-minimum"  # on samples x > 0 every network is linear
    h = answer["predictions"][0]  # outputs are h, 2h, 3h; dL/dh = 0 at the minimum
    slope = -1 / (1 + np.exp(h)) + 2 / (1 + np.exp(-2 * h)) - 3 / (1 + np.exp(3 * h))
    assert abs(slope) < 1e-8


def test_gradient_descent_follows_the_flow(reluflow, tmp_path):
    flow = reluflow("train", "three-points", "--width", 10, "--scale", 0.1, "--until", 5, "--json").json
    errors = []
    for lr, iterations in ((1e-2, 500), (5e-3, 1000)):
        words = ("train", "three-points", "--method", "gd", "--width", 10, "--scale", 0.1)
        descent = reluflow(*words, "--lr", lr, "--iterations", iterations, "--json").json
        assert descent["time"] == pytest.approx(5.0)
        errors.append(np.abs(np.subtract(descent["predictions"], flow["predictions"])).max())
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)  # first order in the learning rate


def test_sgd_is_fixed_by_its_seed(reluflow):
    words = (
        "train",
        "phuong-orthants",
        "--method",
        "sgd",
        "--width",
        10,
        "--lr",
        0.1,
        "--batch",
        50,
        "--iterations",
        100,
    )
    one, two = (reluflow(*words, "--json").json for _ in range(2))
    assert one["predictions"] == two["predictions"]


def test_trajectory_is_kept(reluflow, tmp_path):
    from reluflow.dynamics.storage import load_trajectory

    path = tmp_path / "run.nc"
    answer = reluflow("train", "three-points", "--width", 5, "--until", 3, "--save", path, "--json").json
    assert load_trajectory(path).time == answer["time"]


def test_neurons_that_depend_on_the_tolerance_are_asked_for(reluflow):
    words = ("train", "three-points", "--width", 20, "--until", 30, "--rtol", "1e-6", "--check-rtol")
    answer = reluflow(*words, "--json").json["branching"]
    assert answer["neurons"] == []
    assert answer["whole"] is True
    assert answer["tighter"] == pytest.approx(1e-8)
    assert answer["output_change"] < 1e-6
    assert "every neuron goes the same way" in reluflow(*words).out
    assert "branching" not in reluflow(*words[:-1], "--json").json
    refused = reluflow("train", "three-points", "--method", "gd", "--iterations", 5, "--check-rtol")
    assert refused.status == 2
    assert "has no tolerance" in refused.err


def test_ctrl_c_waits_for_the_step_and_what_was_done_is_printed(reluflow, tmp_path, monkeypatch):
    """The command line holds the signal back; a library call would raise. The same command then goes on."""
    words = ("train", "three-points", "--width", 5, "--until", 30, "--json")
    whole = reluflow(*words).json
    advance = FlowRun.advance

    def pressed(self, limit, most_steps):
        if self.steps == 9:
            signal.raise_signal(signal.SIGINT)
        advance(self, limit, most_steps)

    monkeypatch.setattr(FlowRun, "advance", pressed)
    path = tmp_path / "run.checkpoint"
    result = reluflow(*words, "--checkpoint", path)
    assert (result.status, result.json["outcome"], result.json["steps"]) == (0, "interrupted", 10)
    assert not result.json["limit"]["proof"]
    monkeypatch.undo()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    other = reluflow("train", "three-points", "--width", 5, "--until", 31, "--json", "--checkpoint", path)
    assert (other.status, "another `until`" in other.err) == (2, True)
    assert reluflow(*words, "--checkpoint", path).json == whole


def test_checkpoint_is_gone_when_the_run_is_done(reluflow, tmp_path):
    path = tmp_path / "run.checkpoint"
    assert reluflow("train", "three-points", "--width", 5, "--until", 3, "--checkpoint", path, "--json").status == 0
    assert not path.exists()


def test_ridge_is_reported_and_can_be_left(reluflow, tmp_path):
    """Min et al. (2024), App. E.4: (w, a) = ((0, 1), 1) on the sample ((1, 0), 1) may stay or leave at any time."""
    (tmp_path / "data.csv").write_text("x1,x2,y\n1,0,1\n")
    (tmp_path / "neuron.csv").write_text("w1,w2,a\n0,1,1\n")
    words = (
        "train",
        tmp_path / "data.csv",
        "--init",
        tmp_path / "neuron.csv",
        "--loss",
        "exponential",
        "--until",
        2,
        "--json",
    )
    assert reluflow(*words).json["outcome"] == "ridge"
    left = reluflow(*words, "--ridge", "positive").json
    assert left["outcome"] == "horizon"
    assert left["predictions"][0] > 0.5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--until", "soon"], "--until"),
        (["--until", "-3"], "--until"),
        (["--until", "direction"], "classification loss"),
        (["--times", "1,two"], "--times"),
        (["--times", "-1"], "times"),
        (["--horizon", "-1"], "--horizon"),
        (["--scale", "0"], "scale"),
        (["--rtol", "2"], "rtol"),
        (["--method", "gd"], "--iterations"),
        (["--method", "gd", "--iterations", "10", "--lr", "-1"], "lr"),
        (["--method", "sgd", "--iterations", "10", "--batch", "0"], "batch"),
        (["--method", "newton"], "newton"),
        (["--save", "run.csv", "--until", "0.1"], ".nc"),
    ],
)
def test_refusals(reluflow, words, said):
    result = reluflow("train", "three-points", "--width", 3, *words)
    assert result.status == 2
    assert result.out == ""
    assert len(result.err.strip().splitlines()) == 1
    assert said in result.err


def test_weight_decay_ends_at_a_minimum_of_the_regularised_loss(reluflow):
    result = reluflow("train", "three-points", "--width", 20, "--weight-decay", 0.1, "--json")
    assert result.status == 0
    answer = result.json
    assert answer["outcome"] == "stationary"
    assert answer["weight_decay"] == 0.1
    assert answer["frozen_output"] is False
    assert answer["penalty"] > 0.0
    assert answer["limit"]["kind"] in ("global-minimum", "saddle", "stationary")
    assert answer["limit"]["residuals"]["stationarity"] < 1e-6
    assert answer["limit"]["residuals"]["penalty"] == pytest.approx(answer["penalty"], rel=1e-9)


def test_a_frozen_output_layer_keeps_its_weights(reluflow):
    options = ("--width", 8, "--scale", 1, "--frozen-output", "--until", 2, "--times", "0,2", "--json")
    first, last = reluflow("train", "three-points", *options).json["snapshots"]
    assert first["a"] == last["a"]
    assert first["w"] != last["w"]


@pytest.mark.parametrize(
    "words",
    [("--weight-decay", 0.1), ("--frozen-output", "--scale", 1), ("--loss", "logistic", "--weight-decay", 0.02)],
)
def test_either_flow_solver_takes_it(reluflow, words):
    options = ("min-toy", "--width", 6, *words, "--until", 3, "--json")
    ends = [reluflow("train", *options, "--solver", name).json for name in ("event-driven", "collocation")]
    assert ends[0]["outcome"] == ends[1]["outcome"] == "horizon"
    assert ends[1]["loss"] == pytest.approx(ends[0]["loss"], rel=1e-6)


def test_what_is_not_plain_is_said_and_refused_where_it_must_be(reluflow):
    shown = reluflow("train", "three-points", "--width", 5, "--scale", 1, "--weight-decay", 0.2, "--until", 1)
    assert "weight decay 0.2; minimum, saddle and stationary are words of that problem" in " ".join(shown.out.split())
    refused = reluflow("train", "min-toy", "--frozen-output", "--until", "direction")
    assert refused.status == 2
    assert "a frozen output layer for `--until direction`" in refused.err


def test_certify_judges_the_regularised_loss(reluflow, tmp_path):
    place = tmp_path / "network.csv"
    options = ("--width", 20, "--weight-decay", 0.1, "--save-network", str(place), "--json")
    assert reluflow("train", "three-points", *options).status == 0
    regularised = reluflow("certify", "three-points", "--init", str(place), "--weight-decay", 0.1, "--json").json
    assert regularised["residuals"]["stationarity"] < 1e-6
    plain = reluflow("certify", "three-points", "--init", str(place), "--json").json
    assert plain["kind"] == "not-stationary"
