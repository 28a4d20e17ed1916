"""Lemma 5.4 and Lemmas E.8, E.9, E.11 through the theorem contract; published orders in sigma and r."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reluflow.theory.check import check, example_problem
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import (
    TheoremCase,
    contract,
    replace_network,
    with_networks,
)


def _on_hinted(key: str):
    return lambda: example_problem(theorem_named(key), "lyu-hinted")


def _other_limit(evidence):
    run = evidence.companions["limit"]
    snapshots = tuple(replace_network(s, s.network.scaled(0.01), run) for s in run.snapshots)
    return replace(evidence, companions={**evidence.companions, "limit": replace(run, snapshots=snapshots)})


CASES = (
    *(
        TheoremCase(key, forge=_other_limit, failing="symmetric", inapplicable=_on_hinted(key))
        for key in ("lyu2021:lemma5.4", "lyu2021:lemmaE.8", "lyu2021:lemmaE.9")
    ),
    TheoremCase(
        "lyu2021:lemmaE.11",
        forge=lambda e: with_networks(e, lambda k, network: network.scaled(40.0 * (k == 20))),
        failing="symmetric",
        inapplicable=_on_hinted("lyu2021:lemmaE.11"),
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES)


def test_the_published_orders():
    """First order in sigma and second in r, to the digits the fits allow."""
    theorem = theorem_named("lyu2021:lemma5.4")
    verdict = check(theorem, example_problem(theorem, seed=3), at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.conclusion("scale-order").measured == pytest.approx(1.0, abs=1e-3)
    assert verdict.conclusion("radius-order").measured == pytest.approx(2.0, abs=0.02)
    assert verdict.constants["probability"] == 1.0 - 2.0**-5


def test_a_large_scale_is_outside_the_regime():
    theorem = theorem_named("lyu2021:lemmaE.8")
    problem = example_problem(theorem)
    verdict = check(theorem, replace(problem, network=problem.network.scaled(9.0)))
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert "small-start" in verdict.failing_hypotheses


def test_other_symmetric_data():
    theorem = theorem_named("lyu2021:lemma5.4")
    verdict = check(theorem, example_problem(theorem, "symmetric-separable:n=10,d=5", seed=2), at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert np.isfinite(verdict.constants["T12"])
