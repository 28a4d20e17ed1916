"""Random settings on which a check of Lee et al. broke or said `fails`, each with what was wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reluflow.theory.check import check, example_problem
from reluflow.theory.comparison import Source
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind


@pytest.mark.parametrize(
    ("dataset", "seed", "log_factor", "layers"),
    [
        ("lee-single-neuron:n=33,d=4,layers=2,std=2.7", 144, 1.69, 2.0),
        ("lee-single-neuron:n=377,d=6,layers=3,std=0.426", 976, -3.51, 3.0),
        ("lee-single-neuron:n=239,d=7,layers=2,std=2.16", 775, -2.65, 2.0),
    ],
)
def test_bounds_are_rebuilt_before_they_have_met_the_teacher(dataset, seed, log_factor, layers):
    """App. D.1 rebuilt them at shares of all recorded times: after arrival there was none left, and a ValueError."""
    theorem = theorem_named("lee2022:appD.1")
    problem = example_problem(theorem, dataset, seed=seed)
    scaled = replace(problem, network=problem.network.scaled(log_factor))
    verdict = check(theorem, scaled, q=layers)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_few_samples_do_not_refute_an_expectation():
    """Of 63 samples a handful was active for both: their mean was 7.75 of their own standard errors away."""
    theorem = theorem_named("lee2022:propB.1")
    problem = example_problem(theorem, "lee-single-neuron:n=63,d=3,layers=3,std=0.166", seed=603)
    verdict = check(theorem, problem)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.conclusion("sample").source is Source.RELUFLOW
    assert verdict.conclusion("sample").holds is None
