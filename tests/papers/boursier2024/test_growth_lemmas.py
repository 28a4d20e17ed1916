"""Lemma 5 through the theorem contract, and the identity for pairs of directions by finite differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    LATER,
    Forgeries,
    Forgery,
    scaled_clock,
    scaled_neurons,
    scaled_output_weights,
)
from papers.boursier2024.tampering import ODD, changed_outputs, everywhere, shifted
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.papers.boursier2024.theorems.growth_lemmas import growth_duration, pair_drift, slowest_growth
from reluflow.papers.boursier2024.theorems.phase_clock import phase_clock
from reluflow.papers.boursier2024.theorems.phase_states import phase_states
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import largest_eps_2, scale_factor
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import (
    TheoremCase,
    contract,
    own_problem,
    with_each_network,
)

LEMMA_5 = theorem_named("boursier2024:lemma5")


def _turned_after_tau(evidence):
    turn = [[np.cos(0.8), -np.sin(0.8)], [np.sin(0.8), np.cos(0.8)]]
    first = phase_clock(evidence).alignment.index + 2
    return with_each_network(evidence, lambda k, network: network.rotated(turn) if k >= first else network)


FORGERIES: Forgeries = {
    ("lemma5", "grown"): Forgery(lambda e: shifted(e, a=0.1, at=ODD), also=("duration",)),
    ("lemma5", "projections"): Forgery(
        lambda e: everywhere(e, lambda o: scaled_output_weights(o, 0.0, at=ODD)), also=("rates",)
    ),
    ("lemma5", "pairs"): Forgery(lambda e: scaled_neurons(e, 0.5, at=ODD)),
    ("lemma5", "pair-exponent"): Forgery(
        lambda e: everywhere(e, lambda o: shifted(o, w=1e-9, at=LATER)), also=("rates",)
    ),
    ("lemma5", "negative"): Forgery(lambda e: scaled_neurons(e, 1.5, at=ALL)),
    ("lemma5", "rates"): Forgery(lambda e: changed_outputs(e, lambda h: h - 1.0)),
    ("lemma5", "duration"): Forgery(lambda e: scaled_clock(e, 2.0)),
}

CASES = (
    TheoremCase(
        "boursier2024:lemma5",
        forge=_turned_after_tau,
        failing="boursier-a4",
        inapplicable=lambda: example_problem(LEMMA_5, "orthogonal-triple"),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.fixture(scope="module")
def evidence():
    return gather(LEMMA_5, own_problem(LEMMA_5))


def test_pairs_close_in_like_lambda_squared(evidence):
    """Eq. (43) tends to the exponent 2 - 3 eps as eps_2 vanishes; the conserved product gives 2."""
    measured = LEMMA_5.check(evidence).conclusion("pair-exponent").measured
    assert measured == pytest.approx(2.0, abs=0.02)
    assert measured > 2.0 - 3.0 * 0.25


def test_eq_42_is_below_and_eq_41_above_the_duration(evidence):
    shortest, longest = growth_duration(evidence)
    clock = phase_clock(evidence)
    assert shortest < clock.growth.time - clock.alignment.time < longest
    assert 0.0 < slowest_growth(evidence) < 0.7624636


def test_too_large_eps_2_is_out_of_the_regime(evidence):
    assert largest_eps_2(evidence) == pytest.approx(0.0411444, abs=1e-7)
    assert "eps_2" in LEMMA_5.check(evidence, eps_2=0.05).failing_hypotheses


def test_eps_2_star_of_the_three_points_is_that_of_the_labels():
    evidence = Evidence(example_problem(LEMMA_5, "three-points"))
    labels = np.min(evidence.dataset.y / (2 * np.linalg.norm(evidence.dataset.X, axis=1)))
    assert labels == pytest.approx(0.04472, abs=5e-6)
    assert largest_eps_2(evidence) <= labels


def test_a_large_scale_is_not_yet_aligned_at_tau():
    verdict = check(LEMMA_5, example_problem(LEMMA_5))
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert verdict.failing_hypotheses == ("aligned",)


def test_derivative_of_the_inner_product_of_two_directions():
    """d<wbar_i, wbar_j>/dt = <D^t, wbar_i + wbar_j>(1 - <wbar_i, wbar_j>), by central differences of the run itself."""
    problem = own_problem(LEMMA_5)
    bare = Evidence(problem)
    problem = replace(problem, network=problem.network.scaled(scale_factor(bare, -9.0)))
    step, centre = 1e-3, 9.0
    times = (centre - step, centre, centre + step)
    run = train(problem, EventDrivenFlow(rtol=1e-13), times=times, until=AtTime(times[-1]))
    before, now, after = phase_states(Evidence(problem, trajectory=run))
    assert np.all(now.signs[now.sets.positive] > 0)
    change = -(after.pair_gaps - before.pair_gaps) / (2 * step)
    wbar = now.directions[now.sets.positive]
    along = wbar @ now.pull
    expected = (along[:, None] + along[None, :]) * now.pair_gaps
    scale = np.max(np.abs(expected))
    assert scale > 1e-3
    np.testing.assert_allclose(change, expected, atol=1e-5 * scale)
    assert pair_drift((before, now, after)) < 1e-9
