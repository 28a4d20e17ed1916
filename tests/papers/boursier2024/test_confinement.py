"""Lemma 24, Corollary 1 and Lemma 7 through the theorem contract."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    in_reverse,
    scaled_neurons,
)
from papers.boursier2024.tampering import negative_end_turned, other_end
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.papers.boursier2024.theorems.confinement import farthest_move
from reluflow.papers.boursier2024.theorems.local_lemmas import largest_travel
from reluflow.papers.boursier2024.theorems.mixed_lemmas import late_states
from reluflow.papers.boursier2024.theorems.phase_clock import parameter_distance, phase_clock
from reluflow.theory.check import example_problem
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import (
    TheoremCase,
    contract,
    own_problem,
    with_each_network,
)

LEMMA_8, LEMMA_24, COROLLARY_1, LEMMA_7 = (
    theorem_named(f"boursier2024:{name}") for name in ("lemma8", "lemma24", "cor1", "lemma7")
)


def _turned_late(evidence, angle):
    turn = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    first = phase_clock(evidence).fitting.index + 2
    return with_each_network(evidence, lambda k, network: network.rotated(turn) if k >= first else network)


def _other_end(evidence):
    run = evidence.run
    return replace(evidence, trajectory=replace(run, network=run.network.replace(a=1.001 * run.network.a)))


FORGERIES: Forgeries = {
    ("lemma7", "never-ends"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("lemma7", "limit"): Forgery(lambda e: other_end(e, 1.0001), also=("line",)),
    ("lemma7", "patterns"): Forgery(negative_end_turned),
    ("lemma7", "line"): Forgery(lambda e: other_end(e, 1.0001), also=("limit",)),
    ("lemma24", "positive"): Forgery(in_reverse),
    ("lemma24", "negative"): Forgery(lambda e: scaled_neurons(e, 1e6, sign=-1)),
    ("cor1", "never-ends"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
}

CASES = (
    TheoremCase(
        "boursier2024:lemma24",
        forge=lambda evidence: _turned_late(evidence, 8e-4),
        failing="boursier-a5",
        inapplicable=lambda: example_problem(LEMMA_24, "three-points"),
    ),
    TheoremCase(
        "boursier2024:cor1",
        forge=lambda evidence: _turned_late(evidence, 0.1),
        failing="boursier-a5",
        inapplicable=lambda: example_problem(COROLLARY_1, "three-points"),
    ),
    TheoremCase(
        "boursier2024:lemma7",
        forge=_other_end,
        failing="boursier-a5",
        inapplicable=lambda: example_problem(LEMMA_7, "three-points"),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.fixture(scope="module")
def evidence():
    return gather(COROLLARY_1, own_problem(COROLLARY_1))


def test_the_travel_bounds_every_move(evidence):
    """|theta - theta(tau_3)|^2 <= int |grad L| dt <= 2 sqrt(sum a^2) int |D| dt: a cruder way to the same end."""
    states = late_states(evidence)
    moved = max(parameter_distance(state, states[0]) for state in states)
    travel = largest_travel(evidence, states)
    mass = np.exp(0.5 * states[0].log_square_sum(states[0].sets.positive))
    assert moved < travel * mass * np.sqrt(2.0) * 1.01
    assert moved < farthest_move(evidence, states) < 1e-3


def test_a_large_eps_3_is_out_of_the_regime(evidence):
    assert "confined" in COROLLARY_1.check(evidence, eps_3=1e-4).failing_hypotheses


def test_a_run_cut_short_has_no_limit_to_judge():
    short = gather(LEMMA_7, own_problem(LEMMA_7), horizon=112.0)
    verdict = LEMMA_7.check(short)
    assert verdict.kind is VerdictKind.INCONCLUSIVE
    assert verdict.conclusion("line").holds is None


# the results of the fitting phase: those of the alignment speak of the first instants too
FITTING = (
    *("thm2", "thm4", "remark3", "cor1", "appB.2", "sec5-nature", "sec5-omnidirectional", "sec5-unbalanced"),
    *("sec5-width", "lemma4", "lemma5", "lemma6", "lemma7", "lemma8", *(f"lemma{k}" for k in range(15, 25))),
)


@pytest.mark.parametrize("key", [f"boursier2024:{name}" for name in FITTING])
def test_a_run_without_snapshots_is_never_a_pass(key):
    """Nothing breaks, nothing passes: what the phases need was not recorded. Lemma 8 asks for no run."""
    theorem = theorem_named(key)
    run = train(example_problem(theorem), EventDrivenFlow(), until=AtTime(0.5))
    expected = (VerdictKind.INCONCLUSIVE, VerdictKind.NOT_APPLICABLE) if key != LEMMA_8.key else (VerdictKind.HOLDS,)
    assert theorem.check(run).kind in expected


def test_a_mixed_neuron_at_the_end_is_noticed(evidence):
    run = evidence.run
    w = run.network.w.copy()
    w[0] = [1e-20, 0.0]
    forged = replace(evidence, trajectory=replace(run, network=run.network.replace(w=w)))
    assert "patterns" in LEMMA_7.check(forged).failing_conclusions
