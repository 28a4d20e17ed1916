"""A computation runs once; its pieces survive an interruption."""

import time
from dataclasses import dataclass

import numpy as np
import pytest

from reluflow.papers.store import ResultStore
from reluflow.papers.workbench import Workbench


@dataclass(frozen=True, eq=False)
class One:
    value: np.ndarray


@dataclass(frozen=True, eq=False)
class All:
    values: np.ndarray


class Seeds:
    """A computation of four seeds that counts what it does and can be interrupted at one."""

    def __init__(self, breaks_at=None):
        self.breaks_at = breaks_at
        self.done = []

    def one(self, seed):
        if seed == self.breaks_at:
            raise KeyboardInterrupt
        self.done.append(seed)
        return One(np.array([float(seed) ** 2]))

    def all(self, workbench):
        values = []
        for seed in range(4):
            workbench.progress(seed / 4, f"seed {seed}")
            values.append(workbench.piece(f"seed-{seed}", One, lambda seed=seed: self.one(seed)).value)
        return All(np.concatenate(values))


def run(store, seeds, *, settings=None, code="a", is_fresh=False, progress=None):
    workbench = Workbench(
        "lyu2021/fig9", settings or {"n": 4}, code=code, store=store, is_fresh=is_fresh, progress=progress
    )
    return workbench.whole(All, lambda: seeds.all(workbench))


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path)


def test_the_second_time_nothing_is_computed(store):
    first, again = Seeds(), Seeds()
    results, seconds = run(store, first)
    kept, kept_seconds = run(store, again)
    assert (first.done, again.done) == ([0, 1, 2, 3], [])
    np.testing.assert_array_equal(kept.values, results.values)
    assert isinstance(kept, All)
    assert kept_seconds == seconds > 0


def test_an_interrupted_run_goes_on(store):
    broken, again = Seeds(breaks_at=2), Seeds()
    with pytest.raises(KeyboardInterrupt):
        run(store, broken)
    results, _ = run(store, again)
    assert (broken.done, again.done) == ([0, 1], [2, 3])
    assert results.values.tolist() == [0.0, 1.0, 4.0, 9.0]


def test_a_piece_that_was_cut_short_is_computed_again(store):
    with pytest.raises(KeyboardInterrupt):
        run(store, Seeds(breaks_at=3))
    pieces = sorted(store.folder.rglob("seed-1-*.npz"))
    assert len(pieces) == 1
    pieces[0].write_bytes(pieces[0].read_bytes()[:100])
    again = Seeds()
    run(store, again)
    assert again.done == [1, 3]


@pytest.mark.parametrize("change", [{"settings": {"n": 5}}, {"code": "b"}, {"is_fresh": True}])
def test_what_makes_it_compute_again(store, change):
    run(store, Seeds())
    again = Seeds()
    run(store, again, **change)
    assert again.done == [0, 1, 2, 3]


def test_what_has_another_form_now_is_computed_again(store):
    """Results were dictionaries once: what is kept in a form that the program no longer knows counts as absent."""

    @dataclass(frozen=True, eq=False)
    class OtherOne:
        value: np.ndarray
        weight: float

    first = Workbench("figure", {}, store=store).piece("part", One, lambda: One(np.ones(2)))
    second = Workbench("figure", {}, store=store).piece("part", OtherOne, lambda: OtherOne(np.ones(2), 0.5))
    assert (type(first), second.weight) == (One, 0.5)


def test_without_a_store_everything_is_computed():
    again = Seeds()
    assert run(None, again)[0].values.tolist() == [0.0, 1.0, 4.0, 9.0]
    run(None, again)
    assert again.done == [0, 1, 2, 3] * 2


def test_a_piece_with_settings_of_its_own_serves_others(store):
    def piece_of(settings, seeds):
        workbench = Workbench("lyu2021/fig9", settings, store=store)
        return workbench.piece("seed-1", One, lambda: seeds.one(1), settings={"width": 3})

    first, second = Seeds(), Seeds()
    piece_of({"width": 3, "seeds": 2}, first)
    piece_of({"width": 3, "seeds": 10}, second)
    assert (first.done, second.done) == ([1], [])


def test_a_piece_of_several_figures_counts_in_the_time_of_each(store):
    """Runs that Figures 1 and 7 share: the one that finds them kept has cost what they cost."""

    def of_figure(name, seeds):
        workbench = Workbench(name, {}, store=store)

        def compute():
            return All(workbench.piece("seed-1", One, lambda: busy(seeds), settings=(1,), of="paper/runs").value)

        return workbench.whole(All, compute)[1]

    def busy(seeds):
        began = time.process_time()
        while time.process_time() - began < 0.2:
            pass
        return seeds.one(1)

    first, second = Seeds(), Seeds()
    assert of_figure("paper/fig1", first) >= 0.2
    assert of_figure("paper/fig7", second) >= 0.2
    assert (first.done, second.done) == ([1], [])


def test_progress_is_a_share(store):
    seen = []
    workbench = Workbench("figure", {}, progress=lambda share, words: seen.append((share, words)))
    workbench.progress(0.5, "half")
    workbench.progress(7.0)
    workbench.progress(-1.0)
    assert seen == [(0.5, "half"), (1.0, ""), (0.0, "")]


def test_the_seconds_are_those_of_a_core():
    """A clock's seconds grew with whatever else the machine did; waiting is not work."""
    _, seconds = Workbench("figure", {}).whole(One, lambda: time.sleep(0.3) or One(np.ones(1)))
    assert seconds < 0.2
