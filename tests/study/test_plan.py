"""How a study is told: the same numbers in one process and in several, in time, and with what is done kept."""

from __future__ import annotations

import time

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.errors import InvalidInputError
from reluflow.losses import SquareLoss
from reluflow.network import Network
from reluflow.study.export import as_json
from reluflow.study.growing_report import GrowingReport
from reluflow.study.story import StudyInterrupted, study
from reluflow.study.worker_family import StudyTask
from reluflow.study.workers import ProcessWorkers, SerialWorkers
from reluflow.theory.registry import theorem_named

SMALL = {"width": 15, "seeds": 2, "scales": ("1e-2", "1e-3")}
ASKED = ("boursier2024:thm1", "boursier2024:thm2", "min2024:thm1")


def test_processes_give_the_same_numbers():
    theorems = [theorem_named(key) for key in ASKED]
    alone = study(load("three-points"), theorems=theorems, **SMALL)
    together = study(load("three-points"), theorems=theorems, processes=2, **SMALL)
    one, two = as_json(alone), as_json(together)
    assert one == two
    assert len(one["sensitivity"]) == 4
    assert [answer["theorem"] for answer in one["verdicts"]] == list(ASKED)


def test_the_first_run_is_not_run_twice():
    """Seed 0 at scale 1e-3 was run once for the story and once more as the first of its repetitions."""
    stages = []
    found = study(load("three-points"), theorems=(), on_stage=stages.append, **SMALL)
    assert [(v.seed, v.scale) for v in found.variations] == [(0, "1e-2"), (1, "1e-2"), (0, "1e-3"), (1, "1e-3")]
    assert found.variations[2].difference == 0.0
    assert sum(stage.startswith("run ") for stage in stages) == 3
    assert any("of 4" in stage for stage in stages)


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
    assert "running the flow" in " ".join(seen[1][1])
    whole = report.path.read_text()
    assert "Still to come" not in whole
    assert 'http-equiv="refresh"' not in whole
    assert "ends at a local minimum" in whole


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


def test_ctrl_c_within_the_run_keeps_the_run(monkeypatch):
    """A study interrupted in its run lost everything it had found."""
    from reluflow.study import flow_story

    train = flow_story.train

    def interrupted(problem, solver, **options):
        def stop(run):
            if run.steps >= 3:
                raise KeyboardInterrupt

        return train(problem, solver, **options | {"progress": stop})

    monkeypatch.setattr(flow_story, "train", interrupted)
    with pytest.raises(StudyInterrupted) as caught:
        study(load("three-points"), theorems=(), **SMALL)
    kept = caught.value.study
    assert kept.diagnosis is not None
    assert kept.flow.trajectory.outcome.code == "interrupted"
    assert "did not reach its end" in kept.verdict()[0]


def test_time_runs_out_and_the_story_says_what_is_missing():
    found = study(load("three-points"), theorems=(), max_seconds=1e-3, processes=2, **SMALL)
    assert found.flow is not None
    assert any("Not finished within the 0.001 seconds allowed" in words for words in found.open_questions)


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


def test_a_worker_that_dies_is_a_sentence():
    import os

    workers = ProcessWorkers(1)
    try:
        workers.submit(StudyTask("gone", os._exit, (3,)))
        workers.submit(StudyTask("next", abs, (-2,)))
        first, second = workers.next_finished(120.0), workers.next_finished(120.0)
    finally:
        workers.close()
    assert "ended" in first.refusal
    assert (second.name, second.value) == ("next", 2)


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
    found = study(load("three-points"), "square", width=5, seeds=0, theorems=())
    assert isinstance(found.loss, SquareLoss)
    assert np.isfinite(found.flow.trajectory.loss)
