"""How a study is computed: the same numbers in one process and in several, in time, and with what is done kept."""

from __future__ import annotations

import signal
import time
from collections import deque
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.losses import SquareLoss
from reluflow.network import Network, balanced_initialization
from reluflow.network.initialization import neuron_rng
from reluflow.study.export import as_json
from reluflow.study.flow_summary import follow_flow
from reluflow.study.growing_report import GrowingReport
from reluflow.study.sensitivity import repetition_of
from reluflow.study.task import Finished, StudyTask
from reluflow.study.whole_study import StudyInterrupted, main_theorems, study
from reluflow.study.workers import ProcessWorkers, SerialWorkers
from reluflow.theory.registry import theorem_named

SMALL = {"width": 15, "seeds": 2, "scales": ("1e-2", "1e-3")}
ASKED = ("boursier2024:thm1", "boursier2024:thm2", "min2024:thm1")


@pytest.mark.usefixtures("loaded_workers")
def test_processes_give_the_same_numbers():
    theorems = [theorem_named(key) for key in ASKED]
    alone = study(load("three-points"), theorems=theorems, **SMALL)
    together = study(load("three-points"), theorems=theorems, processes=2, **SMALL)
    one, two = as_json(alone), as_json(together)
    assert one == two
    assert len(one["sensitivity"]) == 4
    assert [answer["theorem"] for answer in one["verdicts"]] == list(ASKED)


def test_the_first_run_is_not_run_twice():
    """Seed 0 at scale 1e-3 was run once for the summary and once more as the first of its repetitions."""
    stages = []
    found = study(load("three-points"), theorems=(), on_stage=stages.append, **SMALL)
    assert [(v.seed, v.scale) for v in found.variations] == [(0, "1e-2"), (1, "1e-2"), (0, "1e-3"), (1, "1e-3")]
    assert found.variations[2].difference == 0.0
    assert sum(stage.startswith("run ") for stage in stages) == 3
    assert any("of 4" in stage for stage in stages)


@pytest.mark.usefixtures("no_pictures")
def test_the_report_is_there_early_and_fills_up(tmp_path):
    report = GrowingReport(tmp_path, command="reluflow study")
    seen = []

    def look(found):
        report.update(found)
        seen.append((report.path.read_text(), found.pending))

    found = study(load("three-points"), theorems=(), on_found=look, **SMALL)
    report.update(found)
    assert "Still to come: everything but the data" in seen[0][0]
    assert "The run is under way" in seen[0][0]
    assert 'http-equiv="refresh"' in seen[0][0]
    assert "finding the extremal vectors" in " ".join(seen[1][1])  # the first run comes before all of that
    assert "running the flow" not in " ".join(seen[1][1])
    whole = report.path.read_text()
    assert "Still to come" not in whole
    assert 'http-equiv="refresh"' not in whole
    assert "ends at a local minimum" in whole


@pytest.mark.usefixtures("loaded_workers")
@pytest.mark.parametrize("processes", [1, 2])
def test_ctrl_c_keeps_what_is_done(processes):
    def stop(found):
        if found.flow is not None:
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(StudyInterrupted) as caught:
        study(load("three-points"), theorems=(), processes=processes, on_found=stop, **SMALL)
    kept = caught.value.study
    assert kept.flow.has_ended
    assert kept.pending == ()
    assert any("Not finished before the interruption" in words for words in kept.open_questions)
    assert time.monotonic() - began < 300.0


@pytest.mark.usefixtures("ctrl_c_in_the_run")
def test_ctrl_c_within_the_run_keeps_the_run():
    """A study interrupted in its run lost everything it had found."""
    with pytest.raises(StudyInterrupted) as caught:
        study(load("three-points"), theorems=(), **SMALL)
    kept = caught.value.study
    assert "checking every assumption" in " ".join(kept.open_questions)  # the run comes first
    assert kept.flow.trajectory.outcome.code == "interrupted"
    assert "did not reach its end" in kept.verdict()[0]


@pytest.mark.usefixtures("loaded_workers")
def test_time_runs_out_and_the_story_says_what_is_missing():
    found = study(load("three-points"), theorems=(), max_seconds=1e-3, processes=2, **SMALL)
    assert found.flow is not None
    assert any("Not finished within 0.001 s in all" in words for words in found.open_questions)


def test_descent_takes_over_and_is_named():
    found = study(load("three-points"), theorems=(), max_steps=12, width=15, seeds=0)
    words = found.verdict()[1]
    assert f"exact until t = {found.flow.descent.exact_until:.5g}, from there by gradient descent" in words
    assert "need not be that of the flow" in words
    assert not found.flow.limit.is_proof
    assert found.flow.trajectory.loss < 0.1
    assert as_json(found)["flow"]["descent"]["iterations"] > 0


def test_a_given_network_is_followed():
    network = Network([[0.1, 0.8], [0.2, -0.4]], [0.8, 0.3])
    found = study(load("three-points"), network=network, theorems=(), **SMALL)
    assert found.width == 2
    assert found.flow.trajectory.problem.network is network
    assert found.variations == ()
    assert "the network was given" in " ".join(found.open_questions)
    assert as_json(found)["start"]["init"] == "given"


def test_no_allowance_is_refused():
    with pytest.raises(InvalidInputError, match="`max_seconds` must be positive"):
        study(load("three-points"), max_seconds=-1.0)


@pytest.mark.usefixtures("loaded_workers")
def test_a_refusal_is_a_sentence_here_and_there():
    task = StudyTask("flow", study, (Dataset([[0.0, 0.0]], [1.0]),))
    serial = SerialWorkers()
    serial.submit(task)
    here = serial.next_finished(1.0).refusal
    workers = ProcessWorkers(1)
    try:
        workers.submit(task)
        there = workers.next_finished(300.0).refusal
    finally:
        workers.close()
    assert here == there
    assert "`" in here


def test_a_loss_may_be_named():
    found = study(load("three-points"), loss="square", width=5, seeds=0, theorems=())
    assert isinstance(found.loss, SquareLoss)
    assert np.isfinite(found.flow.trajectory.loss)


def test_draws_at_a_scale_whose_first_cannot_end_are_not_tried():
    """Two moons: three runs at scale 1e-1 were cut one after the other, a third of the time of the study."""
    from reluflow.study.repetitions import Repetitions

    whole = study(load("three-points"), theorems=(), width=5, seeds=0)
    draw = partial(_draw, whole.dataset)
    repetitions = Repetitions(draw, whole, 3, ("1e-1", "1e-3", "1e-2"), 60.0)
    begun = repetitions.begin(whole.flow, max_steps=None, seconds_left=50.0)
    assert [task.name for task in begun] == [
        "seed 0, scale 1e-1", "seed 0, scale 1e-2", "seed 1, scale 1e-3", "seed 2, scale 1e-3",
    ]  # fmt: skip
    assert len(repetitions.waiting) == 4
    ended = repetition_of(whole.flow, 0, "1e-1")
    assert [task.name for task in repetitions.after("seed 0, scale 1e-1", ended)] == [
        "seed 1, scale 1e-1", "seed 2, scale 1e-1",
    ]  # fmt: skip
    cut = replace(ended, scale="1e-2", outcome="max-seconds", has_ended=False)
    assert repetitions.after("seed 0, scale 1e-2", cut) == []
    assert repetitions.waiting == []
    assert repetitions.open == [
        "At scale 1e-2 the other 2 draws were not run, because the first there did not reach its end: The seconds "
        "allowed were spent; raise `max_seconds` to go on."
    ]
    assert [(v.scale, v.seed) for v in repetitions.variations] == [("1e-1", 0), ("1e-3", 0), ("1e-2", 0)]


def _draw(dataset, seed, scale, width):
    return balanced_initialization(dataset, width=width, scale=scale, rng=np.random.default_rng(seed), leak=0.0)


@pytest.mark.usefixtures("loaded_workers")
def test_pictures_drawn_aside_are_all_there_at_the_end(tmp_path):
    """While a picture was drawn no process was handed anything to do."""
    report = GrowingReport(tmp_path, command="reluflow study", is_drawn_aside=True)
    found = study(load("three-points"), theorems=(), processes=2, on_found=report.update, width=15, seeds=0)
    report.update(found)
    assert [picture.name for picture in report.pictures] == [
        "dataset", "geometry", "neurons", "loss", "norms", "function", "conditions",
    ]  # fmt: skip
    assert report.path.read_text().count("data:image/png") == 7


@pytest.mark.usefixtures("loaded_workers")
def test_ctrl_c_does_not_tear_an_answer(monkeypatch):
    """A Ctrl-C while an answer was read left half of it in the pipe, and the next one was read from there."""
    take = ProcessWorkers._take
    signalled = []

    def interrupted(self, *event):
        if not signalled:
            signalled.append(True)
            signal.raise_signal(signal.SIGINT)
        return take(self, *event)

    monkeypatch.setattr(ProcessWorkers, "_take", interrupted)
    with pytest.raises(StudyInterrupted) as caught:
        study(load("three-points"), theorems=(), processes=2, **SMALL)
    assert len(signalled) == 1
    assert any("Not finished before the interruption" in words for words in caught.value.study.open_questions)


@pytest.mark.usefixtures("brief_descent")
def test_the_first_run_comes_before_theorems_and_repetitions():
    """Of a minute for 100 points on two circles theorems had taken half when the run was stopped, its end unknown."""
    order = []
    study(
        load("three-points"),
        theorems=main_theorems()[:2],
        max_seconds=60.0,
        on_stage=order.append,
        **SMALL | {"seeds": 1},
    )
    begun = [words for words in order if ":" not in words or words.startswith("checking")]
    first = begun.index("running the flow to its limit")
    late = [k for k, words in enumerate(begun) if words.startswith(("checking boursier", "checking min", "run "))]
    assert late
    assert first < min(late)
    assert all("preparing" in words for words in begun[:first])


@pytest.mark.usefixtures("loaded_workers")
def test_the_parts_cut_short_are_listed():
    found = study(load("three-points"), theorems=(), max_steps=12, width=15)
    first, *others = found.cuts
    assert (first.part, first.limit) == ("the first run", "12 steps")
    assert first.missing.startswith("the exact flow after t = ")
    assert {cut.part for cut in others} == {"other draws and scales"}
    assert as_json(found)["cut_short"][0]["limit"] == "12 steps"
    spent = study(load("three-points"), theorems=(), max_seconds=1e-3, processes=2, **SMALL)
    assert any(cut.limit == "0.001 s in all" for cut in spent.cuts)
    assert study(load("three-points"), theorems=(), width=5, seeds=0).cuts == ()


@pytest.mark.parametrize(
    ("allowed", "limit"), [({"max_steps": 12, "max_seconds": 600.0}, "12 steps"), ({"max_seconds": 0.02}, "0.014 s")]
)
def test_the_limit_that_cut_a_run_is_named(allowed, limit):
    """The report said "12 steps or 420 s" of a run that its steps had ended."""
    found = study(load("three-points"), theorems=(), width=15, seeds=0, **allowed)
    assert found.cuts[0].part == "the first run"
    assert found.cuts[0].limit == limit


def test_a_run_whose_end_was_not_certified_in_time_is_told():
    """Breast cancer on a busy machine: after 160 s the study said "The run is under way." and nothing else."""
    data, runs = load("three-points"), []
    problem = TrainingProblem(data, SquareLoss(), balanced_initialization(data, width=5, scale=1e-3, rng=neuron_rng(0)))
    follow_flow(problem, on_run=runs.append)

    class Late(SerialWorkers):
        def next_finished(self, timeout):
            time.sleep(timeout)

        def stop(self, grace, *, hurry):
            is_asked, self._queue = any(task.name == "flow" for task in self._queue), deque()
            return [Finished("flow", runs[0], is_whole=False)] if is_asked else []

    found = study(data, width=5, seeds=0, theorems=(), max_seconds=1, processes=Late())
    assert found.flow.trajectory.outcome.code == "stationary"
    assert "certifying the end of the first run" in " ".join(found.open_questions)
    assert ("certifying the end of the first run", "1 s in all") in [(cut.part, cut.limit) for cut in found.cuts]
    assert "under way" not in " ".join(found.verdict())
    assert "minimum" not in " ".join(found.verdict())
