"""A state is words from closed lists and numbers in bounds; and the same run in words elsewhere."""

import json
import shlex

import numpy as np
import pytest

from reluflow.cli.main import run as run_command
from reluflow.errors import ReluflowError
from reluflow.lab import adapter
from reluflow.lab.state import check_size, read_state
from reluflow.lab.words import command_line, python_lines

REFUSED = [
    (["no", "object"], "`state` must be an object, got list"),
    ({"path": "/etc/passwd"}, "`state` must hold the fields"),
    ({"name": "/etc/passwd"}, "`name` must be a registered dataset"),
    ({"name": "../data.csv"}, "`name` must be a registered dataset"),
    ({"name": "x" * 300}, "at most 200 characters"),
    ({"loss": "hinge"}, "`loss` must be one of square, logistic, exponential, softmax, got 'hinge'"),
    ({"leak": 1.5}, r"`leak` must lie in \[0, 1\], got 1.5"),
    ({"leak": True}, "`leak` must be a number, got True"),
    ({"leak": float("nan")}, r"`leak` must lie in \[0, 1\], got nan"),
    ({"width": 0}, r"`width` must be a whole number in \[1, 5000\], got 0"),
    ({"width": 10**30}, "`width` must be a whole number"),
    ({"width": "INF"}, "`width` must be a whole number, got 'INF'"),
    ({"scale": 1e-3}, "`scale` must be a positive decimal"),
    ({"scale": "1e-3000"}, "`scale` must lie between 1e-1000 and 10"),
    ({"scale": "0e1"}, "`scale` must be a positive decimal number"),
    ({"scale": "__import__('os')"}, "`scale` must be a positive decimal"),
    ({"init": "neurons.csv"}, "`init` must be one of balanced"),
    ({"seed": -1}, "`seed` must be a whole number"),
    ({"seed": 1.5}, "`seed` must be a whole number"),
    ({"X": [[1, 2]]}, "`X` and `y` must be given together"),
    ({"X": [[1, 2], [3]], "y": [1, 2]}, "`X` must hold rows of the same length"),
    ({"X": [[1, 2]], "y": [1, 2]}, "`y` must hold one label for each of the 1 samples, got 2"),
    ({"X": [[1, "2"]], "y": [1]}, "`X` must be a number, got '2'"),
    ({"X": [[1, 1e9]], "y": [1]}, "`X` must lie in"),
    ({"X": [[1, 2]] * 501, "y": [1] * 501}, "`X` must be a list of 1 to 500 rows"),
    ({"neurons": [[1.0]]}, "`neurons` must hold rows"),
    (
        {"X": [[1, 2]], "y": [1], "neurons": [[1.0, 2.0]]},
        "`neurons` must hold 2 input weights and a in each",
    ),
    ({"method": "sgd"}, "`method` must be one of flow, gd"),
    ({"iterations": 10**9}, "`iterations` must be a whole number"),
]


@pytest.mark.parametrize(("message", "words"), REFUSED, ids=[words[:40] for _, words in REFUSED])
def test_a_state_out_of_bounds_is_refused_in_one_sentence(message, words):
    with pytest.raises(ReluflowError, match=words) as error:
        read_state(message)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"name": "no-such-data"}, "neither a registered dataset"),
        ({"name": "orthogonally-separable:n=100000"}, "`n` must be at most 500 in the laboratory, got 100000"),
        ({"name": "mnist-0-1:source=full"}, "`source` is not a parameter of the laboratory"),
        ({"name": "mnist-0-1"}, "the laboratory takes n up to 500, got 2,000"),
        ({"name": "orthogonally-separable", "width": "inf"}, "infinite width is available in dimension 2 only"),
        ({"width": "inf", "init": "he"}, "`width` inf is available for init balanced"),
        ({"X": [[0.0, 0.0]], "y": [1.0]}, "must hold no zero sample"),
        ({"X": [[1.0, 0.0]], "y": [0.5], "loss": "logistic"}, "label"),
    ],
)
def test_data_that_cannot_be_run_are_refused(settings, words):
    with pytest.raises(ReluflowError, match=words):
        adapter.problem_of(read_state(settings))


def test_sizes_are_bounded():
    check_size(500, 2, 2000)
    with pytest.raises(ReluflowError, match=r"n times the number of neurons up to 1,000,000, got 2,500,000"):
        check_size(500, 2, 5000)


STATES = [
    {"width": 20},
    {"width": 20, "scale": "1e-400", "seed": 3},
    {"name": "min-toy", "loss": "exponential", "reduction": "sum", "factor": 2.0, "width": 10},
    {"name": "lyu-symmetric", "loss": "logistic", "leak": 0.5, "width": 10},
    {"X": [[-0.5], [0.1], [0.9]], "y": [0.3, 1.0, -0.2], "bias": True, "width": 15, "init": "dominated"},
    {"neurons": [[0.3, 0.4, 0.5], [-1.0, 0.2, -1.5]], "scale": "0.01"},
    {"width": 10, "method": "gd", "lr": 0.02, "iterations": 300},
]


@pytest.mark.parametrize("settings", STATES, ids=[json.dumps(one)[:40] for one in STATES])
def test_the_python_lines_give_the_same_run_to_the_last_digit(settings, capsys):
    state = read_state(settings)
    ours = adapter.run_of(state, adapter.problem_of(state), lambda run: None)
    names = {}
    exec(python_lines(state), names)
    theirs = names["trajectory"]
    assert theirs.loss == ours.loss
    assert theirs.time == ours.time
    np.testing.assert_array_equal(theirs.network.w, ours.network.w)
    assert "Trajectory(" in capsys.readouterr().out


@pytest.mark.parametrize("settings", [one for one in STATES if "X" not in one and "neurons" not in one])
def test_the_command_gives_the_same_run_to_the_last_digit(settings, capsys):
    state = read_state(settings)
    ours = adapter.run_of(state, adapter.problem_of(state), lambda run: None)
    with pytest.raises(SystemExit) as end:
        run_command([*shlex.split(command_line(state))[1:], "--json"])
    assert end.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["loss"] == ours.loss
    assert told["time"] == ours.time


def test_the_command_reads_data_and_neurons_from_the_files_the_page_offers(tmp_path, monkeypatch, capsys):
    settings = {"X": [[-0.5, 1.0], [0.25, 1.0]], "y": [0.5, 1.5], "neurons": [[0.5, 0.25, 0.75], [-0.5, 1.0, -1.25]]}
    state = read_state({**settings, "scale": "0.5"})
    assert command_line(state) == "reluflow train data.csv --loss square --init neurons.csv --rtol 1e-05"
    ours = adapter.run_of(state, adapter.problem_of(state), lambda run: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("x1,x2,y\n-0.5,1,0.5\n0.25,1,1.5\n")
    (tmp_path / "neurons.csv").write_text("w1,w2,a\n0.25,0.125,0.375\n-0.25,0.5,-0.625\n")
    with pytest.raises(SystemExit):
        run_command([*shlex.split(command_line(state))[1:], "--json"])
    assert json.loads(capsys.readouterr().out)["loss"] == pytest.approx(ours.loss, rel=1e-9)
