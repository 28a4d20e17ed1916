"""Lemma 5.4 and Lemmas E.8, E.9, E.11 through the theorem contract; published orders in sigma and r."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    in_companion,
    scaled_neurons,
)
from papers.lyu2021.tampering import in_all_runs, last_time_scaled
from reluflow.theory.check import check, example_problem
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import (
    TheoremCase,
    contract,
    replace_network,
    with_each_network,
)


def _on_hinted(key: str):
    return lambda: example_problem(theorem_named(key), "lyu-hinted")


def _other_limit(evidence):
    run = evidence.companions["limit"]
    snapshots = tuple(replace_network(s, s.network.scaled(0.01), run) for s in run.snapshots)
    return replace(evidence, companions={**evidence.companions, "limit": replace(run, snapshots=snapshots)})


FORGERIES: Forgeries = {
    ("lemma5.4", "radius-order"): Forgery(lambda e: in_companion(e, "wide", lambda c: scaled_neurons(c, 1.5, at=ALL))),
    ("lemma5.4", "not-zero"): Forgery(
        lambda e: in_companion(e, "limit", lambda c: scaled_neurons(c, 0.1, at=0)), also=("scale-order",)
    ),
    ("lemma5.4", "scale-order"): Forgery(lambda e: in_all_runs(e, lambda r: scaled_neurons(r, 30.0))),
    ("lemmaE.8", "exponential"): Forgery(
        lambda e: in_companion(e, "limit", lambda c: scaled_neurons(c, 1.5, at=0)), also=("scale-order",)
    ),
    ("lemmaE.8", "scale-order"): Forgery(lambda e: in_all_runs(e, lambda r: scaled_neurons(r, 30.0))),
    ("lemmaE.9", "scale-order"): Forgery(lambda e: in_all_runs(e, lambda r: scaled_neurons(r, 30.0))),
    ("lemmaE.11", "lipschitz"): Forgery(lambda e: last_time_scaled(e, 0.01)),
}

CASES = (
    *(
        TheoremCase(key, forge=_other_limit, failing="symmetric", inapplicable=_on_hinted(key))
        for key in ("lyu2021:lemma5.4", "lyu2021:lemmaE.8", "lyu2021:lemmaE.9")
    ),
    TheoremCase(
        "lyu2021:lemmaE.11",
        forge=lambda e: with_each_network(e, lambda k, network: network.scaled(40.0 * (k == 20))),
        failing="symmetric",
        inapplicable=_on_hinted("lyu2021:lemmaE.11"),
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


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
