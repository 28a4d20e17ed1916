"""Theorem E.4, Lemmas E.5 and E.6 through the theorem contract; well-aligned networks and t0 computed twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    in_companion,
    in_reverse,
    scaled_neurons,
    scaled_output_weights,
    with_networks,
)
from papers.lyu2021.tampering import one_neuron_scaled, towards
from reluflow.papers.lyu2021.theorems.phase_two import RADII, aligned_start, clearance, is_well_aligned, threshold_time
from reluflow.papers.lyu2021.theorems.symmetric_flow import symmetric_flow
from reluflow.papers.lyu2021.theorems.unit_ball import m_norm
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import (
    TheoremCase,
    contract,
    own_problem,
    replace_network,
)


def _scaled(evidence: Evidence, kind: str) -> Evidence:
    """Every snapshot of the runs of one kind made e times too large."""
    forged = {
        name: replace(run, snapshots=tuple(replace_network(s, s.network.scaled(1.0), run) for s in run.snapshots))
        if name.startswith(kind)
        else run
        for name, run in evidence.companions.items()
    }
    return replace(evidence, companions=forged)


def _on_hinted(key: str):
    return lambda: example_problem(theorem_named(key), "lyu-hinted")


FORGERIES: Forgeries = {
    ("thmE.4", "limit"): Forgery(lambda e: in_companion(e, "base 0", lambda c: scaled_output_weights(c, 0.5))),
    ("thmE.4", "exponential"): Forgery(
        lambda e: in_companion(e, "base 2", lambda c: scaled_neurons(c, 1.5, at=0)), also=("limit",)
    ),
    ("thmE.4", "same-limit"): Forgery(lambda e: in_companion(e, "near 2", lambda c: scaled_neurons(c, 1.5))),
    ("lemmaE.5", "patterns"): Forgery(
        lambda e: in_companion(e, "near 0", lambda c: with_networks(c, lambda n: towards(n, 2.0))), also=("active",)
    ),
    ("lemmaE.5", "norm"): Forgery(lambda e: in_companion(e, "near 0", in_reverse), also=("active",)),
    ("lemmaE.5", "active"): Forgery(lambda e: in_companion(e, "near 0", lambda c: scaled_output_weights(c, 0.5))),
    ("lemmaE.5", "zero"): Forgery(
        lambda e: in_companion(
            e, "near 0", lambda c: with_networks(c, lambda n: one_neuron_scaled(n, -1, 30.0), at=ALL)
        )
    ),
    ("lemmaE.6", "distance"): Forgery(lambda e: in_companion(e, "base 0", lambda c: scaled_output_weights(c, 0.5))),
}

CASES = (
    TheoremCase(
        "lyu2021:thmE.4",
        forge=lambda e: _scaled(e, "base"),
        failing="symmetric",
        inapplicable=_on_hinted("lyu2021:thmE.4"),
    ),
    TheoremCase(
        "lyu2021:lemmaE.5",
        forge=lambda e: _scaled(e, "near"),
        failing="symmetric",
        inapplicable=_on_hinted("lyu2021:lemmaE.5"),
    ),
    TheoremCase(
        "lyu2021:lemmaE.6",
        forge=lambda e: _scaled(e, "near"),
        failing="symmetric",
        inapplicable=_on_hinted("lyu2021:lemmaE.6"),
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.fixture(scope="module")
def evidence():
    theorem = theorem_named("lyu2021:thmE.4")
    return gather(theorem, own_problem(theorem))


def test_the_runs_converge_at_second_order_in_the_radius(evidence):
    """The limit of Theorem E.4: differences between runs from r and r e^-1.5 fall like r^2."""
    start = aligned_start(evidence)
    ends = [start.flow.ball.neurons(evidence.companions[f"base {k}"].snapshots[-1].network) for k in range(len(RADII))]
    gaps = [m_norm(ends[k] - ends[k + 1]) for k in range(2)]
    assert np.log(gaps[0] / gaps[1]) / (RADII[1] - RADII[0]) == pytest.approx(2.0, abs=0.05)


def test_missing_runs_are_never_a_pass(evidence):
    verdict = theorem_named("lyu2021:thmE.4").check(replace(evidence, companions={}))
    assert verdict.kind is VerdictKind.INCONCLUSIVE
    assert all(c.holds is None for c in verdict.conclusions)


def test_threshold_and_clearance_by_brute_force(evidence):
    start, flow = aligned_start(evidence), symmetric_flow(evidence)
    rows = start.rows
    size = max(max(np.linalg.norm(row[:-1]), abs(row[-1])) for row in rows)
    smallest = min(abs(row[:-1] @ x) for row in rows if np.any(row) for x in flow.ball.X) / size
    assert clearance(rows, flow.ball) == pytest.approx(smallest)
    assert 0.0 < smallest <= 1.0
    expected = np.log(flow.growth * smallest / (16.0 * len(rows) * size**2)) / (2.0 * flow.growth)
    assert threshold_time(rows, flow.ball, flow.growth) == pytest.approx(expected)


def test_the_aligned_start_is_well_aligned_and_the_printed_order_is_not(evidence):
    """Erratum E10: read as (w_1, w_2, a_1, a_2), the printed (b_+, b_+ mu-bar, b_-, b_- mu-bar) is not aligned."""
    flow = symmetric_flow(evidence)
    judge = lambda rows: is_well_aligned(rows, flow.ball.X, flow.ball.y, evidence.leak, flow.growth)  # noqa: E731
    assert judge(aligned_start(evidence).rows)
    assert judge(flow.aligned_pair)
    (w_1, b_plus), (w_2, b_minus) = ((row[:-1], row[-1]) for row in flow.aligned_pair)
    printed = np.concatenate([[b_plus], w_1, [b_minus], w_2])
    misread = np.column_stack([printed[:4].reshape(2, 2), printed[4:]])
    assert not judge(misread)
    assert not judge(np.zeros((2, 3)))
    assert not judge(flow.aligned_pair * np.array([1.0, 1.0, 1.1]))


@pytest.mark.parametrize("dataset", ["symmetric-separable:n=6,d=3", "symmetric-separable:n=10,d=5"])
def test_holds_on_other_symmetric_data(dataset):
    for key in ("lyu2021:thmE.4", "lyu2021:lemmaE.5", "lyu2021:lemmaE.6"):
        theorem = theorem_named(key)
        assert check(theorem, example_problem(theorem, dataset, seed=2)).kind is VerdictKind.HOLDS
