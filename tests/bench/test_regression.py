"""Two versions in turn: a slower one is found, noise is not taken for one, and what cannot be timed is said."""

import sys
from pathlib import Path

import pytest

import reluflow
from reluflow.bench import regression, short_tasks
from reluflow.bench.regression import compare_versions, judged
from reluflow.cli.main import run as run_command
from reluflow.errors import BackendError, InvalidInputError


@pytest.mark.parametrize(
    ("ours", "theirs", "is_regression"),
    [
        ([1.0, 1.01, 1.02], [1.0, 1.02, 1.01], False),
        ([1.08, 1.09, 1.085], [1.0, 1.01, 1.005], False),  # within a tenth
        ([1.3, 1.31, 1.32], [1.0, 1.02, 1.01], True),
        ([1.3, 1.6, 1.7], [1.0, 1.4, 1.5], False),  # on a machine this busy a third is nothing
        ([2.6, 3.2, 3.4], [1.0, 1.2, 1.3], True),
        ([0.2, 0.21, 0.2], [1.0, 1.01, 1.0], False),
    ],
)
def test_slower_than_the_noise(ours, theirs, is_regression):
    assert judged("task", ours, theirs).is_regression is is_regression


def test_what_only_the_other_version_can_do_is_a_regression():
    lost = judged("task", ["KeyError: 'x'"] * 3, [1.0, 1.0, 1.0])
    assert lost.is_regression
    assert lost.reason == "this version: KeyError: 'x'"
    new = judged("task", [1.0, 1.0, 1.0], ["AttributeError: no such name"] * 3)
    assert not new.is_regression
    assert new.reason == "the other: AttributeError: no such name"


def test_turns_alternate_and_the_first_does_not_count(tmp_path, monkeypatch):
    other = tmp_path / "reluflow"
    other.mkdir()
    (other / "__init__.py").write_text("")
    calls = []

    def timed(source, names):
        calls.append(source == tmp_path.resolve())
        return {name: 100.0 if len(calls) <= 2 else (1.0 if calls[-1] else 2.0) for name in names}

    monkeypatch.setattr(regression, "_timed_with", timed)
    (found,) = compare_versions(tmp_path, rounds=2, names=["certified-limit"])
    assert calls == [True, False, False, True, True, False]
    assert (found.ours, found.theirs) == (2.0, 1.0)
    assert found.is_regression
    monkeypatch.setattr(short_tasks, "TASKS", {"certified-limit": None})
    with pytest.raises(SystemExit) as end:
        run_command(["bench", "--against", str(tmp_path)])
    assert end.value.code == 1


def test_a_process_times_the_tasks_with_the_source_it_is_given():
    found = regression._timed_with(Path(reluflow.__file__).parent.parent, ["certified-limit"])
    assert 0.0 < found["certified-limit"] < 60.0


def test_a_version_that_cannot_do_a_task_says_so(monkeypatch):
    def broken():
        raise AttributeError("no such name")

    monkeypatch.setitem(short_tasks.TASKS, "broken", broken)
    assert short_tasks.measured(["broken"], 1) == {"broken": "AttributeError: no such name"}


def test_refusals(tmp_path, monkeypatch):
    with pytest.raises(InvalidInputError, match="must be a folder that holds the package reluflow"):
        compare_versions(tmp_path)
    with pytest.raises(InvalidInputError, match="`rounds` must be at least 2"):
        compare_versions(Path(reluflow.__file__).parent.parent, rounds=1)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BackendError, match="could not be timed"):
        regression._timed_with(tmp_path, ["certified-limit"])
