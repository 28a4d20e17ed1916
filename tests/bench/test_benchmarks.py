"""Benchmarks: the peers compute the same thing, the command reports ratios, no second is asserted."""

import numpy as np
import pytest

from reluflow.bench.benchmark import Comparison, best_time
from reluflow.bench.linear_programs import cells_by_linear_programs
from reluflow.bench.registry import ALL, benchmarks_named
from reluflow.errors import InvalidInputError
from reluflow.geometry.cones import activation_cones


def test_linear_programs_find_the_same_cells():
    X = np.random.default_rng(8).standard_normal((6, 3))
    theirs = {tuple(row) for row in cells_by_linear_programs(X).tolist()}
    ours = {tuple(row) for row in activation_cones(X, open_only=True).patterns.tolist()}
    assert theirs == ours


def test_ratio_is_the_peer_over_ours():
    assert Comparison("a", 2.0, "b", 6.0, "").ratio == 3.0
    assert Comparison("a", 2.0, "b", None, "").ratio is None


def test_best_time_warms_up_once():
    calls = []
    seconds, result = best_time(lambda: calls.append(1) or len(calls), repeats=2)
    assert len(calls) == 3
    assert result == 3
    assert seconds >= 0.0


def test_names():
    assert benchmarks_named(None) == ALL
    assert {b.name.partition("/")[0] for b in benchmarks_named("geometry")} == {"geometry"}
    with pytest.raises(InvalidInputError, match="`NAME` must be one of"):
        benchmarks_named("speed")


def test_extremal_benchmark_agrees():
    (comparison,) = benchmarks_named("geometry/extremal")[0].run()
    assert "the same" in comparison.agreement
    assert comparison.ratio is not None
