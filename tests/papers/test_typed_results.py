"""A figure's results come back from their tree as they were, or are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import GenericAlias, SimpleNamespace

import numpy as np
import pytest

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.papers.typed_results import as_tree, from_tree, results_type_of


@dataclass(frozen=True, eq=False)
class Run:
    losses: FloatArray
    outcome: str
    limit: float | None = None


@dataclass(frozen=True, eq=False)
class Runs:
    runs: tuple[Run, ...]
    by_name: Mapping[str, Run]
    pair: tuple[int, float]
    first: Run | None


RUNS = Runs(
    (Run(np.arange(3.0), "ended", 0.5), Run(np.zeros(0), "went on")),
    {"left": Run(np.ones(2), "ended")},
    (3, 0.25),
    None,
)


def test_everything_comes_back():
    found = from_tree(Runs, as_tree(RUNS))
    assert isinstance(found.runs[0], Run)
    assert [run.outcome for run in found.runs] == ["ended", "went on"]
    assert (found.runs[0].limit, found.runs[1].limit) == (0.5, None)
    assert found.by_name["left"].losses.tolist() == [1.0, 1.0]
    assert (found.pair, found.first) == ((3, 0.25), None)


def _without_a_field(tree):
    del tree["runs"][0]["outcome"]


def _with_a_field_too_many(tree):
    tree["runs"][0]["more"] = 1


def _with_a_word_for_an_array(tree):
    tree["runs"][0]["losses"] = "none"


def _with_a_number_for_a_run(tree):
    tree["by_name"]["left"] = 3


def _with_a_pair_of_three(tree):
    tree["pair"] = [1, 2, 3]


@pytest.mark.parametrize(
    "change",
    [
        _without_a_field,
        _with_a_field_too_many,
        _with_a_word_for_an_array,
        _with_a_number_for_a_run,
        _with_a_pair_of_three,
    ],
)
def test_what_was_written_by_another_version_is_refused(change):
    tree = as_tree(RUNS)
    change(tree)
    with pytest.raises(ValueError, match=r"no value of|zip\(\) argument"):
        from_tree(Runs, tree)


def test_compute_must_name_its_dataclass():
    def compute(settings, workbench) -> int:
        return 0

    with pytest.raises(InvalidInputError, match="`compute` must say that it returns a dataclass, got <class 'int'>"):
        results_type_of(compute)


def test_arrays_come_back_under_an_alias_of_a_type_statement():
    """NumPy 2.5 defines NDArray by a `type` statement, whose origin is no class: results kept were not read back."""
    alias = SimpleNamespace(__value__=np.ndarray)
    kind = GenericAlias(alias, (np.float64,))
    np.testing.assert_array_equal(from_tree(kind, np.arange(3.0)), np.arange(3.0))
