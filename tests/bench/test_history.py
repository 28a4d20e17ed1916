"""The history of the benchmarks: one line per machine and version, a table to paste, a picture."""

import json

import pytest

from reluflow.bench.benchmark import Benchmark, Timing
from reluflow.bench.history import HistoryLine, Machine, keep_in_history, markdown_table, read_history
from reluflow.bench.history_picture import plot_history
from reluflow.cli.main import run as run_command
from reluflow.errors import InvalidInputError

FIRST = [Timing("flow/one", 0.5, "a peer", 2.0, "equal"), Timing("dense/two", 3.0, "none", None, "12 steps")]


def test_a_version_of_a_machine_has_one_line(tmp_path):
    path = tmp_path / "history.jsonl"
    keep_in_history(path, FIRST)
    lines = keep_in_history(path, [Timing("flow/one", 0.4, "a peer", None, "not installed")])
    assert lines == read_history(path)
    (line,) = lines
    assert line.seconds == {"flow/one": 0.4, "dense/two": 3.0}
    assert line.ratios == {}  # that of the earlier measurement would not be one of these seconds
    assert line.machine == Machine.here()
    assert len(path.read_text().splitlines()) == 1


def test_other_machines_and_versions_stay(tmp_path):
    path = tmp_path / "history.jsonl"
    other = HistoryLine(Machine("a processor", 8, "Linux", "3.12"), "0.1", 3, "2025-01-01", {"flow/one": 9.0}, {})
    keep_in_history(path, FIRST)
    text = path.read_text()
    kept = json.loads(text) | {"version": "0.1", "numerics": 3}
    path.write_text(json.dumps(kept) + "\n\n" + text)
    lines = keep_in_history(path, FIRST)
    assert [line.version == "0.1" for line in lines] == [True, False]
    assert other.key not in {line.key for line in lines}


def test_a_broken_line_is_named_and_nothing_is_lost(tmp_path):
    path = tmp_path / "history.jsonl"
    keep_in_history(path, FIRST)
    path.write_text(path.read_text() + "not a line\n")
    before = path.read_text()
    with pytest.raises(InvalidInputError, match="on line 2; remove that line"):
        keep_in_history(path, FIRST)
    assert path.read_text() == before


def test_the_table_can_be_pasted():
    lines = markdown_table([*FIRST, Timing("flow/odd", 1.0, "a|b", 1.0, "c")]).splitlines()
    assert lines[0].startswith("reluflow ")
    assert lines[3].replace(" ", "") == "|---|---:|---:|---:|---|"
    assert lines[4] == "| flow/one | 0.5 s | 2 s | 4 | a peer; equal |"
    assert lines[5] == "| dense/two | 3 s |  |  | 12 steps |"
    assert "a\\|b" in lines[6]


def test_the_picture_has_a_panel_per_group_and_a_point_per_line():
    pytest.importorskip("matplotlib")
    here = HistoryLine.of(FIRST)
    later = HistoryLine(here.machine, "9.9", 99, "2030-01-01", {"flow/one": 0.1}, {})
    figure = plot_history([here, later])
    assert [panel.get_title() for panel in figure.axes] == ["dense", "flow"]
    (line,) = figure.axes[1].lines
    assert line.get_ydata().tolist() == [0.5, 0.1]
    with pytest.raises(InvalidInputError, match="at least one line, got none"):
        plot_history([])


def command(*words):
    with pytest.raises(SystemExit) as end:
        run_command([str(word) for word in words])
    return end.value.code


def test_the_command_prints_keeps_and_draws(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("reluflow.bench.registry.ALL", (Benchmark("flow/one", "a task", lambda: FIRST[:1]),))
    path, picture = tmp_path / "history.jsonl", tmp_path / "history.svg"
    assert command("bench", "flow", "--history", path) == 0
    assert "| flow/one | 0.5 s | 2 s | 4 | a peer; equal |" in capsys.readouterr().out
    assert command("bench", "--history", path, "--draw", picture, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"lines": 1, "file": str(picture)}
    assert picture.read_text().lstrip().startswith("<?xml")
    assert command("bench", "--draw", picture) == 2
    assert "`--draw` must come with `--history`" in capsys.readouterr().err
    assert command("bench", "flow", "--against", tmp_path) == 2
    assert "`--against` must stand alone" in capsys.readouterr().err
