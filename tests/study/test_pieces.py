"""Studies are killed, really, at random moments: what is finished is not lost, and the numbers are the same."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from functools import partial

import pytest

from reluflow import numerics_version
from reluflow.cli.main import run as run_command
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.study.export import as_json
from reluflow.study.pieces import Pieces
from reluflow.study.task import Finished, StudyTask
from reluflow.study.verdicts import ask_theorem
from reluflow.study.whole_study import StudyInterrupted, study
from reluflow.study.workers import SerialWorkers
from reluflow.theory.registry import theorem_named

SMALL = {"width": 8, "seeds": 2, "scales": ("1e-2", "1e-3")}
ASKED = tuple(theorem_named(key) for key in ("boursier2024:thm1", "lyu2021:thm5.5", "chistikov2023:thm6"))
CLASSES = Dataset([[1.0, 0.3], [0.8, -0.4], [-0.9, 0.2], [-0.5, -0.7]], [1.0, 1.0, -1.0, -1.0], name="classes")
PROGRAM = """if True:
    import json, sys
    from pathlib import Path
    from reluflow.data.registry import load
    from reluflow.study.export import as_json
    from reluflow.study.pieces import Pieces
    from reluflow.study.whole_study import study
    pieces = Pieces(Path(sys.argv[1]))
    found = study(load("three-points"), width=8, seeds=2, scales=("1e-2", "1e-3"), theorems=(), pieces=pieces)
    print(json.dumps([pieces.num_taken, as_json(found)]))
"""


def no_more_work(self, timeout):
    raise AssertionError(f"{self.unfinished[0]} was computed again")


@pytest.mark.parametrize("dataset", [load("three-points"), CLASSES], ids=["regression", "classification"])
@pytest.mark.parametrize("max_seconds", [None, 300.0])
@pytest.mark.usefixtures("brief_descent")
def test_everything_is_taken_up_to_the_last_bit(tmp_path, monkeypatch, dataset, max_seconds):
    """Every kind of result a study has, with and without a clock."""
    settings = {**SMALL, "theorems": ASKED, "max_seconds": max_seconds}
    whole = study(dataset, pieces=Pieces(tmp_path, max_seconds=max_seconds), **settings)
    kept = len(list(tmp_path.glob("*.piece")))
    assert kept == 7 + dataset.is_binary + len(ASKED) + 3  # the run itself is the first of four repetitions
    if max_seconds is None:
        monkeypatch.setattr(SerialWorkers, "next_finished", no_more_work)
    pieces = Pieces(tmp_path, max_seconds=max_seconds)
    again = study(dataset, pieces=pieces, **settings)
    assert pieces.num_taken == kept
    assert json.dumps(as_json(again)) == json.dumps(as_json(whole))
    assert again.flow.trajectory.network.w.tobytes() == whole.flow.trajectory.network.w.tobytes()
    pieces.remove()
    assert not tmp_path.exists()


def question(key="boursier2024:thm1", dataset=CLASSES, leak=0.0, seed=0, max_seconds=3.0):
    return StudyTask("theorem", partial(ask_theorem, key, dataset, leak, seed, max_seconds=max_seconds))


def done(value):
    return Finished(TASK.name, value, seconds=0.5)


TASK = question()
SHIFTED = Dataset(CLASSES.X * (1 + 2**-52), CLASSES.y, name="classes")


@pytest.mark.parametrize(
    ("task", "max_seconds"),
    [
        (question(key="boursier2024:thm2"), 60.0),
        (question(leak=0.5), 60.0),
        (question(seed=1), 60.0),
        (question(dataset=CLASSES.with_bias()), 60.0),
        (question(dataset=SHIFTED), 60.0),
        (TASK, 61.0),
    ],
    ids=["theorem", "leak", "seed", "bias", "one bit", "seconds"],
)
def test_what_depends_on_anything_else_is_not_taken(tmp_path, task, max_seconds):
    Pieces(tmp_path, max_seconds=60.0).keep(TASK, done({"sentence": "kept"}))
    assert Pieces(tmp_path, max_seconds=60.0).find(question(max_seconds=2.0)).value == {"sentence": "kept"}
    assert Pieces(tmp_path, max_seconds=max_seconds).find(task) is None


def test_another_version_of_the_numerics_computes_again(tmp_path, monkeypatch):
    Pieces(tmp_path).keep(TASK, done(1.0))
    assert Pieces(tmp_path).find(TASK).value == 1.0
    monkeypatch.setattr(numerics_version, "NUMERICS_VERSION", numerics_version.NUMERICS_VERSION + 1)
    assert Pieces(tmp_path).find(TASK) is None


def test_the_loss_is_part_of_the_question(tmp_path):
    kept = study(CLASSES, loss=SquareLoss(), width=3, seeds=0, theorems=(), pieces=Pieces(tmp_path))
    pieces = Pieces(tmp_path)
    other = study(CLASSES, loss=LogisticLoss(), width=3, seeds=0, theorems=(), pieces=pieces)
    assert pieces.num_taken == 1  # the separator, which has no loss
    assert other.flow.trajectory.loss != kept.flow.trajectory.loss


def test_a_theorem_of_ones_own_is_asked_again(tmp_path):
    """It may be another one under the same key."""
    own = replace(ASKED[0], departs="in what I say today")
    for _ in range(2):
        pieces = Pieces(tmp_path)
        found = study(load("three-points"), width=3, seeds=0, theorems=[own], pieces=pieces)
        assert found.answers[0].theorem is own
    assert not any(path.name.startswith("boursier2024") for path in tmp_path.iterdir())


class _Runs:
    def __init__(self, function, *arguments):
        self._call = function, arguments

    def __reduce__(self):
        return self._call


FORGED = {
    "mkdir": _Runs(os.mkdir, "ran"),
    "eval": _Runs(eval, "1"),
    "our function": _Runs(load, "three-points"),
    "our class that is no result": _Runs(Pieces, "here"),
    "a name": os.system,
    "harmless": Finished("theorem", "words"),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_a_forged_piece_runs_nothing(tmp_path, monkeypatch, forged):
    """A folder may come from somebody else."""
    monkeypatch.chdir(tmp_path)
    pieces = Pieces(tmp_path / "pieces")
    pieces.keep(TASK, done("honest"))
    (path,) = pieces.folder.iterdir()
    payload = pickle.dumps(forged)
    path.write_bytes(hashlib.sha256(payload).digest() + payload)
    found = pieces.find(TASK)
    assert (found is not None and found.value == "words") == isinstance(forged, Finished)
    assert not (tmp_path / "ran").exists()


def test_a_damaged_piece_counts_as_absent(tmp_path):
    pieces = Pieces(tmp_path)
    pieces.keep(TASK, done(CLASSES))
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for damaged in (b"", whole[:20], whole[:-1], whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:]):
        path.write_bytes(damaged)
        assert pieces.find(TASK) is None
    path.write_bytes(whole)
    assert pieces.find(TASK).value.X.tobytes() == CLASSES.X.tobytes()


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path):
    (tmp_path / "file").write_text("")
    pieces = Pieces(tmp_path / "file" / "pieces")
    with pytest.warns(UserWarning, match="cannot be written"):
        pieces.keep(TASK, done(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pieces.keep(TASK, done(2.0))


def test_an_interrupted_run_is_not_taken_for_a_finished_one(tmp_path, ctrl_c_in_the_run):
    with pytest.raises(StudyInterrupted):
        study(load("three-points"), theorems=(), pieces=Pieces(tmp_path), **SMALL)
    ctrl_c_in_the_run.undo()
    pieces = Pieces(tmp_path)
    found = study(load("three-points"), theorems=(), pieces=pieces, **SMALL)
    assert pieces.num_taken == 0  # nothing comes before the run, and a run that was cut is none
    assert found.flow.has_ended


def killed_when_it_has(number, folder, command, rng, errors):
    """Start a command and kill -9 it a moment after it has kept so many pieces; whether it was still at work."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors)
    while process.poll() is None and len(list(folder.glob("*.piece"))) < number:
        time.sleep(0.002)
    time.sleep(rng.uniform(0.0, 0.05))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def test_a_study_survives_kills(tmp_path):
    """A study that was killed started over: nothing of what it had found was used."""
    folder, rng = tmp_path / "pieces", random.Random(3)
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    assert killed_when_it_has(2, folder, command, rng, subprocess.DEVNULL)
    first = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.piece")}
    assert len(first) >= 2
    assert killed_when_it_has(len(first) + 1, folder, command, rng, subprocess.DEVNULL)
    kept = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.piece")}
    assert first.items() <= kept.items()  # nothing was written twice
    pieces = Pieces(folder)
    found = study(load("three-points"), theorems=(), pieces=pieces, **SMALL)
    assert pieces.num_taken == len(kept)
    assert as_json(found) == as_json(study(load("three-points"), theorems=(), **SMALL))


@pytest.mark.usefixtures("no_pictures")
def test_the_command_goes_on_and_says_so(tmp_path, capsys):
    def told():
        command = ["study", "three-points", "--out", str(tmp_path), "--json", "--width", "8", "--quick"]
        with pytest.raises(SystemExit) as end:
            run_command([*command, "--max-seconds", "300"])
        assert end.value.code in (0, None)
        return capsys.readouterr()

    first = told()
    assert not (tmp_path / ".pieces").exists()
    assert "earlier call" not in first.err
    pieces = Pieces(tmp_path / ".pieces", max_seconds=300.0)
    study(load("three-points"), width=8, seeds=0, theorems=(), max_seconds=300.0, pieces=pieces)
    (tmp_path / ".pieces" / ".flow-0123.piece.89ab.part").write_bytes(b"half")
    again = told()
    assert "5 parts of this study, finished by an earlier call," in again.err
    assert again.out == first.out
    assert not (tmp_path / ".pieces").exists()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_whole_command_survives_many_kills(tmp_path, seed):
    """With processes, theorems and a clock that does not strike."""
    rng = random.Random(seed)
    program = "from reluflow.cli.main import run; run()"
    command = [sys.executable, "-c", program, "study", "three-points", "--out"]
    more = ["--width", "20", "--max-seconds", "3000", "--json", "--processes", "2"]
    whole = subprocess.run([*command, str(tmp_path / "whole"), *more], capture_output=True, check=True)
    folder, kills, number = tmp_path / "killed" / ".pieces", 0, 1
    while killed_when_it_has(number, folder, [*command, str(tmp_path / "killed"), *more], rng, subprocess.PIPE):
        kills += 1
        number = len(list(folder.glob("*.piece"))) + rng.randrange(1, 12)
    assert kills >= 3
    again = subprocess.run([*command, str(tmp_path / "killed"), *more], capture_output=True, check=True)
    one, two = json.loads(whole.stdout), json.loads(again.stdout)
    assert one | {"files": None} == two | {"files": None}
    assert len(one["files"]) == len(two["files"])
