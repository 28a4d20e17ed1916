"""Theorem 1 at the scale it asks for, and the remarks after it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import events_twice, with_record
from papers.min2024.cases import (
    TWICE_LOGISTIC,
    averaged,
    dead_cone_dataset,
    deterministic_problem,
    drawn_problem,
    large_scale,
    last_snapshot,
    not_separated,
    slower_clock,
    turned,
)
from papers.min2024.forgeries import one_looks_away
from reluflow.data.dataset import Dataset
from reluflow.papers.min2024.theorems.constants import data_constants
from reluflow.papers.min2024.theorems.low_rank import stable_rank
from reluflow.papers.min2024.theorems.moving_neurons import moments
from reluflow.theory.check import check
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract


def _inactive_draws(evidence):
    away = -data_constants(evidence).X[:1]
    return with_record(evidence, directions=np.vstack([np.tile(away, (180, 1)), np.tile(-away, (20, 1))]))


CASES = (
    TheoremCase("min2024:thm1", None, "orthogonally-separable-strict", not_separated),
    TheoremCase("min2024:refined-alignment", one_looks_away, "scale-28", large_scale),
    TheoremCase("min2024:random-start", _inactive_draws, "summed-loss", averaged),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES)


@pytest.fixture(scope="module")
def explicit():
    """The deterministic case at log eps = -1623.159, the largest scale that (28) allows."""
    return gather(theorem_named("min2024:thm1"), deterministic_problem(-1623.159))


def test_theorem_1_at_the_explicit_scale(explicit):
    verdict = theorem_named("min2024:thm1").check(explicit)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.constants["t_1"] == pytest.approx(101.370, abs=5e-4)
    assert verdict.constants["T"] == pytest.approx(verdict.constants["t_1"], rel=1e-6)
    assert verdict.predictions["alignment_time"] == pytest.approx(0.950063, abs=5e-7)
    assert verdict.predictions["t_2"] == pytest.approx(839.7236, abs=1e-4)
    assert verdict.conclusion("limit-rank").is_empty  # in the plane
    rank = stable_rank(explicit.run.snapshots[-1].network.w)
    assert rank == pytest.approx(1.007654, abs=5e-7)
    assert rank < 2.0 / (1.0 + verdict.constants["mu"])  # erratum E9: not 2
    assert verdict.conclusion("classified").detail.endswith("{'S_+': 6, 'S_-': 6, 'S_dead': 0}")


@pytest.mark.parametrize(
    ("forge", "conclusion"),
    [
        (slower_clock(200.0), "aligned"),
        (slower_clock(50.0), "aligned-sharp"),
        (events_twice, "one-way"),
        (last_snapshot(turned(90.0)), "trapped"),
        (last_snapshot(lambda network: network.scaled(-1.5)), "loss"),
    ],
)
def test_each_part_notices_its_forgery(explicit, forge, conclusion):
    assert conclusion in theorem_named("min2024:thm1").check(forge(explicit)).failing_conclusions


def test_theorem_1_with_dead_neurons_and_twice_the_logistic_loss():
    problem = drawn_problem(dead_cone_dataset(), width=12, loss=TWICE_LOGISTIC)
    verdict = check(theorem_named("min2024:thm1"), problem, at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert "'S_dead': 0" not in verdict.conclusion("classified").detail


def test_theorem_1_with_one_class():
    verdict = check(theorem_named("min2024:thm1"), drawn_problem("min-correlated", width=6), at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_the_conclusion_holds_at_one_millionth_where_the_certificate_is_silent():
    verdict = check(theorem_named("min2024:thm1"), deterministic_problem(np.log(1e-6)))
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert verdict.failing_hypotheses == ("scale-28",)
    assert verdict.conclusion("aligned").holds
    assert verdict.conclusion("loss").holds
    assert verdict.constants["T"] < verdict.predictions["alignment_time"]


def test_probability_of_an_own_active_sample_in_the_plane():
    """Two samples 30 degrees apart are both inactive on an arc of 150 degrees: the probability is 210/360."""
    verdict = check(theorem_named("min2024:random-start"), drawn_problem())
    measured = verdict.conclusion("frequency").measured
    assert measured == pytest.approx(210.0 / 360.0, abs=3.0 * np.sqrt(0.25 / 2000.0))


@pytest.mark.slow
def test_classes_that_fit_at_very_different_times():
    """With norms 1 and 1/2 the second class fits e^700 later in norm: its neurons leave the doubles of snapshots."""
    data = dead_cone_dataset()
    problem = drawn_problem(Dataset(data.X * [[1.0], [0.5]], data.y), width=10)
    theorem = theorem_named("min2024:thm1")
    scaled = replace(problem, network=problem.network.scaled(theorem.log_scale(Evidence(problem))))
    evidence = gather(theorem, scaled)
    lost = [int(np.sum(~moment.seen)) for moment in moments(evidence)]
    assert max(lost) > 0
    for key in ("thm1", "lemma12", "lemma14", "eq32", "t2", "rate", "eq40", "cosine-quarter", "norm-growth", "appD.3"):
        verdict = theorem_named(f"min2024:{key}").check(evidence)
        assert verdict.kind is VerdictKind.HOLDS, (key, verdict.why)
