"""Lemma 34 and Theorem 7: the rank-one limit and its norms."""

from __future__ import annotations

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    in_sweep,
    scaled_input_weights,
    scaled_neurons,
    scaled_output_weights,
    shifted_log_scale,
    turned,
)
from papers.chistikov2023.tampering import one_scaled, with_last_loss
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import SquareLoss
from reluflow.network import Network
from reluflow.papers.chistikov2023 import data
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from theorem_cases import TheoremCase, contract


def _case(name):
    key = f"chistikov2023:{name}"
    return TheoremCase(
        key,
        failing="correlated-teacher",
        inapplicable=lambda: example_problem(theorem_named(key), "three-points"),
    )


def longer_and_unbalanced(evidence: Evidence) -> Evidence:
    """At the last time w is twice as long and a half as long, so that the outputs are the same."""
    return scaled_output_weights(scaled_input_weights(evidence, 2.0), 0.5)


FORGERIES: Forgeries = {
    ("lemma34", "ratios"): Forgery(lambda e: one_scaled(e, 1.1, 2)),
    ("lemma34", "ratios-order"): Forgery(lambda e: in_sweep(e, lambda other: one_scaled(other, 1.1, 2, at=ALL), at=-1)),
    ("thm7", "loss"): Forgery(lambda e: with_last_loss(e, 1.0)),
    ("thm7", "teacher"): Forgery(lambda e: scaled_neurons(e, 1.1), also=("loss", "sum")),
    ("thm7", "rank-one"): Forgery(lambda e: turned(e, 0.01), also=("loss", "teacher")),
    ("thm7", "rank-one-order"): Forgery(lambda e: in_sweep(e, lambda other: turned(other, 0.01, at=ALL), at=-1)),
    ("thm7", "sum"): Forgery(longer_and_unbalanced),
    ("thm7", "others"): Forgery(lambda e: in_sweep(e, lambda other: shifted_log_scale(other, 1.0, at=ALL))),
}

CASES = tuple(_case(name) for name in ("lemma34", "thm7"))


test_holds_and_forged_evidence_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize(
    ("log10", "expected"),
    [(-3, (0.65952548, 0.40554126, 0.63290091)), (-6, (0.65976012, 0.40527734, 0.63282451))],
)
def test_norms_of_the_plane_at_two_scales(log10, expected):
    """Norms at the end of runs of another day; their limit is R_j/sqrt(sum R^2)."""
    z = np.array([(-1, 0.6), (0.6, -0.5), (0.2, 0.3), (0.5, 0.4), (-0.8, 0.6), (-1, -1), (-0.5, -0.9)])
    signs = np.array([1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0])
    network = Network(z, signs * np.linalg.norm(z, axis=1), log_scale=log10 * np.log(10.0))
    problem = TrainingProblem(data.plane(), SquareLoss(), network)
    end = gather(theorem_named("chistikov2023:thm7"), problem).run.snapshots[-1].network
    assert np.exp(end.log_scale) * np.linalg.norm(end.w[:3], axis=1) == pytest.approx(expected, abs=2e-8)


def test_where_the_criterion_is_positive_the_flow_goes_to_the_rank_one_limit_all_the_same():
    theorem = theorem_named("chistikov2023:thm7")
    verdict = check(theorem, example_problem(theorem, "chistikov-not-minimal"), at_own_scale=True)
    assert verdict.kind == "holds", verdict.why
