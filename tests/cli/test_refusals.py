"""Bad input gets one clear sentence on standard error, nothing on standard output, status 2 and no traceback."""

import numpy as np
import pytest

GOOD = "x1,x2,y\n1,2,1\n-1,0.5,-1\n0.3,0.4,1\n"


def assert_one_sentence(result):
    assert result.status == 2
    assert result.out == ""
    lines = [line for line in result.err.splitlines() if not line.startswith("Note:")]
    assert len(lines) == 1, result.err
    assert lines[0].strip()
    assert "Traceback" not in result.err


@pytest.mark.parametrize("command", ["diagnose", "extremal", "align", "margin", "study"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("x1,x2,y\n1,nan,1\n0,1,-1\n", "finite"),
        ("x1,x2,y\n1,two,1\n0,1,-1\n", "two"),
        ("x1,x2,y\n", "no sample|header"),
        ("", "empty"),
        ("x1,x2,y\n1,2,1\n0,0,-1\n", "zero sample"),
        ("a,b,y\n1,,1\n3,4,-1\n,6,-1\n", "1 in a, 1 in b.*`--drop-missing`"),
        ("a,b,y\ncat,2,1\ncow,4,-1\n", "words in column a.*`--drop a`"),
        ("x1,x2,y\n1,2\n", "line 2"),
    ],
)
def test_bad_files(reluflow, tmp_path, command, content, words):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    result = reluflow(command, path, *(["--out", tmp_path / "out"] if command == "study" else []))
    assert_one_sentence(result)
    import re

    assert re.search(words, result.err), result.err


@pytest.mark.parametrize("command", ["margin", "minimum-norm", "forecast"])
def test_classes_where_one_output_is_asked(reluflow, tmp_path, command):
    path = tmp_path / "bad.csv"
    path.write_text("a,b,c\n1,2,red\n3,4,green\n5,6,blue\n")
    result = reluflow(command, path)
    assert_one_sentence(result)
    assert "one output" in result.err
    assert "got 3 classes" in result.err
    assert "`--labels CLASS`" in result.err


def test_one_row_cannot_be_diagnosed(reluflow, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("x1,x2,y\n1,2,1\n")
    result = reluflow("diagnose", path)
    assert_one_sentence(result)
    assert "at least 2" in result.err


def test_labels_zero_and_one(reluflow, tmp_path):
    path = tmp_path / "zero_one.csv"
    path.write_text("x1,x2,y\n1,2,1\n-1,0.5,0\n")
    for loss in ([], ["--loss", "logistic"]):
        result = reluflow("diagnose", path, *loss)
        assert result.status == 0
        assert "1 of label 0 (-1), 1 of label 1 (+1), from zero_one.csv" in result.err
        assert "classification" in result.out
    fitted = reluflow("diagnose", path, "--loss", "square")
    assert "labels from 0 to 1" in fitted.err
    assert "regression" in fitted.out
    as_numbers = reluflow("diagnose", path, "--labels", "numbers", "--loss", "logistic")
    assert_one_sentence(as_numbers)
    assert "2*y - 1" in as_numbers.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["diagnose", "no-such-file.csv"], "no-such-file.csv"),
        (["diagnose", "thre-points"], "three-points"),
        (["diagnose", "three-points:eta=1"], "no parameters"),
        (["diagnose", "three-point-box:eta=big"], "number"),
        (["diagnose"], "DATASET"),
        (["diagnose", "three-points", "--leak", "2"], "leak"),
        (["diagnose", "three-points", "--loss", "hinge"], "hinge"),
        (["diagnose", "three-points", "--factor", "-1"], "factor"),
        (["diagnose", "three-points", "--what"], "--what"),
        (["align", "three-points", "--width", "0"], "--width"),
        (["align", "three-points", "--width", "many"], "--width"),
        (["align", "three-points", "--init", "xavier"], "xavier"),
        (["align", "three-points", "--init", "none.csv"], "none.csv"),
        (["align", "lyu-orthogonal", "--width", "inf"], "dimension 2"),
        (["margin", "three-points"], "labels -1 and 1"),
        (["frobnicate"], "not a command"),
        (["diagnos", "three-points"], "diagnose"),
    ],
)
def test_bad_arguments(reluflow, words, said):
    result = reluflow(*words)
    assert_one_sentence(result)
    assert said in result.err


def test_neurons_of_another_dimension(reluflow, tmp_path):
    path = tmp_path / "neurons.csv"
    path.write_text("w1,w2,w3,a\n1,2,3,1\n")
    result = reluflow("align", "three-points", "--init", path)
    assert_one_sentence(result)
    assert "--bias" in result.err


def test_binary_npz_without_keys(reluflow, tmp_path):
    np.savez(tmp_path / "data.npz", A=np.eye(2))
    assert_one_sentence(reluflow("diagnose", tmp_path / "data.npz"))


def test_good_file_is_fine(reluflow, tmp_path):
    path = tmp_path / "good.csv"
    path.write_text(GOOD)
    assert reluflow("diagnose", path).status == 0


def test_interruption_that_reaches_compiled_code_is_an_interruption(reluflow, monkeypatch):
    """Numba wraps the exception it meets on its way, so Ctrl-C ended in a SystemError and a traceback."""
    import reluflow.cli.datasets as module

    def interrupted(json):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise SystemError("CPUDispatcher returned a result with an exception set") from error

    monkeypatch.setattr(module.command, "callback", interrupted)
    result = reluflow("datasets")
    assert result.status == 130
    assert result.err == "Interrupted.\n"


def test_an_interruption_is_said(reluflow, monkeypatch):
    """Typer turned Ctrl-C into the status 130 without a word."""
    import reluflow.cli.datasets as module

    def interrupted(json):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.command, "callback", interrupted)
    result = reluflow("datasets")
    assert result.status == 130
    assert result.err == "Interrupted.\n"


def test_an_accelerator_that_is_not_there(reluflow, tmp_path, monkeypatch):
    import jax

    monkeypatch.setattr(jax, "devices", lambda: jax.local_devices(backend="cpu"))
    rng = np.random.default_rng(0)
    table = rng.standard_normal((4000, 2))
    path = tmp_path / "many.csv"
    np.savetxt(path, np.column_stack([table, np.sign(table[:, 0])]), delimiter=",", header="a,b,y", comments="")
    result = reluflow("train", path, "--width", "3", "--until", "0.1", "--device", "gpu")
    assert_one_sentence(result)
    assert "no accelerator" in result.err
