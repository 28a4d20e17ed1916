"""Lemma F.11: what is left to travel near a max-margin direction."""

from __future__ import annotations

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    in_reverse,
    scaled_neurons,
)
from papers.lyu2021.tampering import of_other_samples
from reluflow.papers.lyu2021.theorems.margin_growth import remaining_arc
from reluflow.theory.check import check, example_problem
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import (
    TheoremCase,
    contract,
    own_problem,
    with_each_network,
)

LEMMA_F_11 = theorem_named("lyu2021:lemmaF.11")


def _spinning(evidence):
    """A direction that never comes to rest."""

    def spun(k, network):
        angle = 0.3 * (-1) ** k
        return network.rotated([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    return with_each_network(evidence, spun)


FORGERIES: Forgeries = {
    ("lemmaF.11", "below"): Forgery(lambda e: of_other_samples(e, 0.01), also=("vanishes",)),
    ("lemmaF.11", "rises"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("lemmaF.11", "vanishes"): Forgery(in_reverse, also=("rises",)),
}

CASES = (
    TheoremCase(
        "lyu2021:lemmaF.11",
        forge=_spinning,
        failing="linearly-separable",
        inapplicable=lambda: example_problem(LEMMA_F_11, "random-labels"),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def test_a_limit_that_is_not_the_best_is_not_spoken_of():
    """On the hinted set the limit is a KKT direction only: locally the best among its signs, not among all networks."""
    verdict = check(LEMMA_F_11, example_problem(LEMMA_F_11, "lyu-hinted"))
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert "max-margin" in verdict.failing_hypotheses


def test_the_arc_length_left_shrinks_at_every_snapshot():
    evidence = gather(LEMMA_F_11, own_problem(LEMMA_F_11))
    gaps, left = remaining_arc(evidence)
    assert np.all(np.diff(left) < 0.0)
    assert np.all(np.diff(gaps) < 0.0)
    constants = LEMMA_F_11.check(evidence).constants
    assert constants["c"] == 2.0  # gamma*/(2 ln n + 1) is below 2
    assert constants["log_rho_0"] == pytest.approx(2.0 * np.log((4.0 * np.log(3.0) + 2.0) / 0.5), rel=1e-6)
