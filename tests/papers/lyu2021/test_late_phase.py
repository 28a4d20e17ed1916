"""Theorems 5.5 and 5.6 through the theorem contract, with erratum E3."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    in_companion,
    with_networks,
)
from papers.lyu2021.tampering import of_other_samples, towards
from reluflow.certificates.limits.directions import direction_distance, unit_norm
from reluflow.losses import SquareLoss
from reluflow.papers.lyu2021.theorems.late_phase import opposite_pair, opposite_start
from reluflow.theory.check import check, example_problem
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract


def _positive_only(evidence):
    """Every companion's end replaced by the KKT direction of positive neurons only, of margin leak gamma*/2."""
    separator = evidence.facts.separator.w
    forged = {}
    for name, run in evidence.companions.items():
        a = np.abs(run.network.a)
        forged[name] = replace(run, network=run.network.replace(w=np.outer(a, separator), a=a))
    return replace(evidence, companions=forged)


FORGERIES: Forgeries = {
    ("thm5.5", "pair"): Forgery(
        lambda e: in_companion(e, "pair", lambda c: of_other_samples(c, 0.01)), also=("margin",)
    ),
    ("thm5.5", "run"): Forgery(
        lambda e: in_companion(e, "pair", lambda c: with_networks(c, lambda n: towards(n, 0.3), at=ALL))
    ),
    ("thm5.5", "margin"): Forgery(
        lambda e: in_companion(e, "pair", lambda c: of_other_samples(c, 0.01)), also=("pair",)
    ),
    ("thm5.6", "margin"): Forgery(lambda e: in_companion(e, "size 0.01", lambda c: of_other_samples(c, 0.01))),
    ("thm5.6", "distance"): Forgery(
        lambda e: in_companion(e, "size 0.001", lambda c: of_other_samples(c, 0.01)), also=("margin",)
    ),
}

CASES = (
    TheoremCase(
        "lyu2021:thm5.5",
        forge=_positive_only,
        failing="symmetric",
        inapplicable=lambda: example_problem(theorem_named("lyu2021:thm5.5"), "lyu-hinted"),
    ),
    TheoremCase(
        "lyu2021:thm5.6",
        forge=_positive_only,
        failing="loss",
        inapplicable=lambda: replace(example_problem(theorem_named("lyu2021:thm5.6")), loss=SquareLoss()),
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize("seed", [1, 2])
def test_two_neurons_find_the_pair_in_three_dimensions(seed):
    theorem = theorem_named("lyu2021:thm5.5")
    assert check(theorem, example_problem(theorem, "symmetric-separable:n=6,d=3", seed=seed)).kind is VerdictKind.HOLDS


def test_the_start_is_left_alone_where_it_qualifies():
    problem = example_problem(theorem_named("lyu2021:thm5.5"))
    separator = np.array([1.0, 0.0])
    start = opposite_start(problem.network, separator)
    np.testing.assert_array_equal(opposite_start(start, separator).w, start.w)
    np.testing.assert_allclose(np.abs(start.a), np.linalg.norm(start.w, axis=1))
    assert start.a[0] > 0.0 > start.a[1]
    assert start.w[0, 0] > 0.0 > start.w[1, 0]


def test_the_printed_limit_has_norm_one_half():
    """Erratum E3: (1/4)(w*, -w*, 1, -1) is no unit vector, so no direction converges to it."""
    pair = opposite_pair(np.array([1.0, 0.0]))
    assert pair.squared_norm() == pytest.approx(1.0)
    printed = pair.replace(w=0.5 * pair.w, a=0.5 * pair.a)
    assert np.sqrt(printed.squared_norm()) == pytest.approx(0.5)
    assert direction_distance(printed, unit_norm(pair)) == pytest.approx(0.5)


def test_the_global_maximiser_of_the_hinted_set_attracts_what_starts_near_it():
    """From small scale the flow ends elsewhere (Theorem 6.2); Theorem 5.6 speaks of starts near the maximiser."""
    theorem = theorem_named("lyu2021:thm5.6")
    verdict = check(theorem, example_problem(theorem, "lyu-hinted"))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.constants["margin"] == pytest.approx(0.0543784, abs=1e-7)
