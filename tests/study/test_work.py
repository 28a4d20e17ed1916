"""A study costs work, not time: it says the same on a machine that is busy, slow or fast."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from reluflow import budget
from reluflow.data.registry import load
from reluflow.study import allowed, plan, whole_study
from reluflow.study.allowed import Allowed
from reluflow.study.export import as_json
from reluflow.study.task import Finished, StudyTask, do
from reluflow.study.whole_study import study
from reluflow.study.workers import SerialWorkers
from reluflow.theory.registry import theorem_named

ASKED = tuple(theorem_named(key) for key in ("boursier2024:thm1", "boursier2024:thm2", "min2024:thm1"))
SMALL = {"width": 40, "seeds": 2, "scales": ("1e-1", "1e-3"), "theorems": ASKED}


@contextmanager
def little_work():
    """So little that runs, descent and repetitions are cut short, on any machine by the count."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_study, "STUDY_SECONDS", 0.3)
        patch.setattr(budget, "SLOWEST", 1e9)
        patch.setattr(allowed, "LONGEST_BY_CLOCK", 1e9)
        yield


@pytest.fixture(scope="module")
def usual():
    """A study that is cut short, in this process and by clocks as they go."""
    with little_work():
        return as_json(study(load("stewart"), **SMALL))


def with_clocks(monkeypatch, factor):
    """Let every clock of this process go so many times as fast."""
    for name in ("thread_time", "process_time", "perf_counter", "monotonic"):
        clock = getattr(time, name)
        monkeypatch.setattr(time, name, lambda clock=clock: factor * clock())


@pytest.mark.parametrize("factor", [3.0, 1.0 / 3.0])
def test_clocks_that_go_faster_or_slower_change_nothing(monkeypatch, usual, factor):
    """The same command gave another answer on a busy machine: one theorem and eight repetitions were missing."""
    with_clocks(monkeypatch, factor)
    with little_work():
        again = as_json(study(load("stewart"), **SMALL))
    assert json.dumps(again) == json.dumps(usual)
    limits = {cut["limit"] for cut in usual["cut_short"]}
    assert limits >= {"0.21 s of work"}  # what it may cost has cut it, so that a clock would show


@pytest.mark.usefixtures("loaded_workers")
def test_processes_that_race_change_nothing(usual):
    """What is finished counts in one order, whichever process is faster."""
    with little_work():
        together = as_json(study(load("stewart"), processes=2, **SMALL))
    assert json.dumps(usual) == json.dumps(together)


@pytest.mark.parametrize("order", [1, -1])
def test_results_take_their_places_in_order_until_no_work_is_left(order):
    """With four tasks of 0.6 s and 1.5 s of work three are taken, also where the last comes first."""

    class Unordered(SerialWorkers):
        def next_finished(self, timeout):
            later = [task for task in self._queue if ":" in task.name]
            if len(later) == len(self._queue):
                self._queue = type(self._queue)(sorted(self._queue, key=lambda task: order * keys.index(task.name)))
            finished = super().next_finished(timeout)
            return replace(finished, seconds=0.6) if ":" in finished.name else finished

    keys = ["boursier2024:thm1", "boursier2024:thm2", "min2024:thm1", "phuong2021:thm1"]
    asked = [theorem_named(key) for key in keys]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_study, "STUDY_SECONDS", 1.0)
        patch.setattr(plan, "is_comparable", lambda problem, flow: False)
        found = study(load("three-points"), width=10, seeds=0, theorems=asked, processes=Unordered())
    assert [answer.theorem.key for answer in found.answers] == keys[:3]
    assert [(cut.part, cut.limit) for cut in found.cuts] == [("checking 1 theorem", "1.5 s of work")]
    assert "Not finished with 1.5 s of work: checking 1 theorem." in found.open_questions


def test_a_task_that_the_clock_has_ended_says_so(monkeypatch):
    monkeypatch.setattr(budget, "SLOWEST", 0.0)
    monkeypatch.setattr(budget, "LOADING_SECONDS", 0.0)

    def spend():
        return budget.Budget(1.0).is_spent

    assert do(StudyTask("a", spend, counts_work=True)) == as_finished("a", value=True, is_late=True)
    assert do(StudyTask("a", spend)).is_late is False


def as_finished(name, *, value, is_late):
    class Same:
        def __eq__(self, other):
            return isinstance(other, Finished) and (other.name, other.value, other.is_late) == (name, value, is_late)

    return Same()


def test_what_may_be_spent_is_put_in_words():
    assert Allowed(None, 60.0, counts_work=True).in_words(0.25) == "15 s of work"
    assert Allowed(None, 60.0, counts_work=False).in_words(0.7) == "42 s"
