import json
import shlex

import numpy as np
import pytest

from reluflow import numerics_version
from reluflow.cli.main import run
from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.sweep.plan import make_plan, read_plan
from reluflow.sweep.swept import described_case, with_value
from reluflow.sweep.training import finished_run


def test_equal_settings_have_one_fingerprint_however_written():
    one = Experiment("orthogonally-separable:n=6,mu=0.5", scale="1e-3", leak=0)
    two = Experiment("orthogonally-separable:mu=0.50,n=6", scale="0.001", leak=0.0)
    three = with_value(with_value(Experiment("orthogonally-separable"), "n", "6"), "mu", "0.50")
    assert one.fingerprint() == two.fingerprint() == three.fingerprint()
    assert described_case(json.loads(json.dumps(one.to_document()))) == one


def test_every_setting_counts():
    base = Experiment("linear-teacher")
    values = {
        "scale": "1e-4", "width": "7", "seed": "3", "leak": "0.1", "loss": "square", "init": "dominated",
        "bias": "true",
        "reduction": "sum", "factor": "2", "method": "gd", "solver": "collocation", "rtol": "1e-9", "ridge": "stay",
        "until": "5", "horizon": "7", "lr": "0.1", "iterations": "5", "batch": "4", "n": "5", "noise": "0.5",
    }  # fmt: skip
    names = {name: with_value(base, name, text).fingerprint() for name, text in values.items()}
    assert len({base.fingerprint(), *names.values()}) == len(values) + 1


def test_a_changed_solver_is_seen(monkeypatch):
    case = Experiment("three-points")
    before = case.fingerprint()
    monkeypatch.setattr(numerics_version, "NUMERICS_VERSION", numerics_version.NUMERICS_VERSION + 1)
    assert case.fingerprint() != before


def test_a_file_counts_by_its_content_and_not_by_its_name(tmp_path):
    for name, label in (("one.csv", 1), ("same.csv", 1), ("other.csv", 2)):
        (tmp_path / name).write_text(f"x1,y\n1,{label}\n-2,0.5\n")
    one, same, other = (Experiment(str(tmp_path / f"{name}.csv")).pinned() for name in ("one", "same", "other"))
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()
    (tmp_path / "one.csv").write_text("x1,y\n1,7\n-2,0.5\n")
    with pytest.raises(InvalidInputError, match="must stay as it was"):
        finished_run(one)


@pytest.mark.parametrize(
    "case",
    [
        Experiment("three-points", width=20, scale="1e-400", seed=2),
        Experiment("orthogonally-separable:n=6,mu=0.5", width=10, seed=4, loss="exponential", leak=0.1),
        Experiment("min-toy", width=5, method="sgd", iterations=40, batch=2, lr=0.1, seed=1),
        Experiment("three-points", width=8, until="3.5", init="dominated", reduction="sum"),
    ],
)
def test_the_command_of_a_case_gives_its_numbers(case, capsys):
    trajectory = finished_run(case)
    with pytest.raises(SystemExit) as end:
        run([*shlex.split(case.command())[1:], "--json"])
    assert end.value.code == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["loss"] == trajectory.loss
    assert printed["predictions"] == trajectory.predictions.tolist()


def test_fingerprints_of_a_plan_are_those_of_its_cases():
    over = {"n": "4..6", "leak": [0, 0.5], "scale": "1e-1..1e-3:log:3", "noise": "0..1:lin:3"}
    plan = make_plan("linear-teacher:task=regression", over, ["loss"])
    found = [bytes(name).hex() for name in plan.fingerprints()]
    assert found == [plan.case_at(index).fingerprint() for index in range(len(plan))]
    assert len(set(found)) == len(plan) == 54


def test_spaced_values_of_a_count_are_rounded():
    plan = make_plan("linear-teacher", {"width": "10..1000:log:5", "n": "2..4:lin:5"}, ["loss"])
    assert plan.axes[0].values == (10, 32, 100, 316, 1000)
    assert plan.axes[1].values == (2, 3, 4)


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({"widht": "3"}, "`widht` must be one of dataset, scale"),
        ({"width": "0"}, "`width` must be a whole number of at least 1"),
        ({"leak": "0,1.5"}, r"`leak` must lie in \[0, 1\]"),
        ({"scale": "1e-3,-1"}, "`scale` must be a positive decimal"),
        ({"seed": "1,2,1"}, "`seed` must have each value once, got 1 twice"),
        ({"scale": "0.1,1e-1"}, "`scale` must have each value once"),
        ({"loss": "hinge"}, "`loss` must be one of square"),
        ({"seed": []}, "`seed` must have at least one value"),
    ],
)
def test_plans_that_cannot_be_are_refused(over, words):
    with pytest.raises(InvalidInputError, match=words):
        make_plan("three-points", over, ["loss"])


def test_the_leak_of_the_network_and_of_the_data_are_two_names():
    plan = make_plan("lyu-symmetric", {"leak": [0.5], "data.leak": [0.25]}, ["loss"])
    case = plan.case_at(0)
    assert case.leak == 0.5
    assert case.data_parts() == ("lyu-symmetric", {"leak": 0.25})
    assert bytes(plan.fingerprints()[0]).hex() == case.fingerprint()


def test_a_sweep_from_a_file(tmp_path):
    toml = '[case]\ndataset = "three-points"\nwidth = 12\n[over]\nscale = "1e-1..1e-3:log:3"\nseed = [0, 1]\n'
    (tmp_path / "a.toml").write_text('measure = ["end"]\n' + toml)
    (tmp_path / "a.yaml").write_text(
        "measure: [end]\ncase: {dataset: three-points, width: 12}\nover: {scale: '1e-1..1e-3:log:3', seed: [0, 1]}\n"
    )
    plans = [make_plan(*read_plan(tmp_path / name)[:3]) for name in ("a.toml", "a.yaml")]
    assert plans[0].settings() == plans[1].settings()
    assert plans[0].base.width == 12
    np.testing.assert_array_equal(plans[0].fingerprints(), plans[1].fingerprints())
    (tmp_path / "b.toml").write_text("[case]\nwidth = 3\n")
    with pytest.raises(InvalidInputError, match="a table `case` with a `dataset`"):
        read_plan(tmp_path / "b.toml")
