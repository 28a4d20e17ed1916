"""`reluflow diagnose` for people: what holds first, the rest by name, and "does not apply" is not "no"."""

import pytest

from reluflow.cli.main import run


def printed(capsys, *words: str) -> str:
    with pytest.raises(SystemExit) as end:
        run(["diagnose", "three-points", *words])
    assert end.value.code == 0
    return capsys.readouterr().out


def test_short_by_default(capsys):
    """It was 201 lines on a terminal of 80 columns."""
    text = printed(capsys)
    assert len(text.splitlines()) < 40
    assert "boursier-a4" in text
    assert "Do not hold: " in text
    assert "Do not apply to such labels: linearly-separable" in text
    assert "Stated for another loss or other labels: min2024:thm1" in text
    assert "the labels are not" not in text


def test_a_width_that_is_asked_for_is_kept(capsys, monkeypatch):
    """Written to a file with COLUMNS=80, the sentences were 80 wide and the tables 160."""
    monkeypatch.setenv("COLUMNS", "80")
    assert max(len(line) for line in printed(capsys).splitlines()[1:]) <= 80


def test_everything_on_request(capsys):
    text = printed(capsys, "--all")
    row = next(line for line in text.splitlines() if line.startswith("linearly-separable"))
    assert "n/a" in row
    assert "the labels are not -1 and 1" in row
    assert any(line.startswith("boursier-a5") and " no " in line for line in text.splitlines())


def test_a_set_without_separator_is_not_nearly_separable(capsys, tmp_path):
    """Its margin is 0 however far from separable it is; the exclusive or was called nearly separable."""
    path = tmp_path / "xor.csv"
    path.write_text("x1,x2,y\n1,1,1\n-1,-1,1\n1,-1,-1\n-1,1,-1\n")
    with pytest.raises(SystemExit):
        run(["diagnose", str(path)])
    text = capsys.readouterr().out
    assert "Do not hold: linearly-separable" in text
    assert not any(line.startswith("linearly-separable") for line in text.splitlines())
