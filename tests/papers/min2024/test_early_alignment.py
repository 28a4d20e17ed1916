"""Theorem 1 at the scale it asks for, and the remarks after it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    events_twice,
    scaled_neurons,
    scaled_times,
    standing_still,
    turned,
    with_record,
)
from papers.min2024.cases import (
    TWICE_LOGISTIC,
    all_turned,
    at_times,
    averaged,
    dead_cone_dataset,
    deterministic_problem,
    drawn_problem,
    large_scale,
    last_snapshot,
    not_separated,
    slower_clock,
)
from papers.min2024.tampering import changed, chosen_neurons, lightest, one_crosses_thrice, spread, with_events
from reluflow.data.dataset import Dataset
from reluflow.papers.min2024.theorems.class_groups import groups
from reluflow.papers.min2024.theorems.constants import data_constants, proof_constants
from reluflow.papers.min2024.theorems.low_rank import stable_rank
from reluflow.papers.min2024.theorems.moving_neurons import moments
from reluflow.papers.min2024.theorems.pattern_history import alignment_time
from reluflow.papers.min2024.theorems.random_start import Draws
from reluflow.theory.check import check
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract


def _inactive_draws(evidence):
    away = -data_constants(evidence).X[:1]
    return with_record(evidence, directions=np.vstack([np.tile(away, (180, 1)), np.tile(-away, (20, 1))]))


ODD = slice(1, None, 2)


def one_looks_away(evidence: Evidence) -> Evidence:
    """From t_2 on the lightest positive neuron points away from x_+."""
    group = groups(evidence)[0]
    chosen, fitted = lightest(group), group.fitted
    assert fitted is not None
    return at_times(evidence, lambda t: t >= fitted, lambda n: chosen_neurons(n, chosen, w=-n.w))


def one_dies(evidence: Evidence) -> Evidence:
    """From t_1 on the lightest negative neuron is dead, though it was active on its class at the start."""
    data, group = data_constants(evidence), groups(evidence)[1]
    is_active = np.any(evidence.network.pre_activations(data.X[group.own]) > 0.0, axis=1)
    chosen = lightest(replace(group, neurons=group.neurons & is_active))
    pool = np.random.default_rng(0).standard_normal((20_000, data.X.shape[1]))
    dead = pool[np.all(pool @ data.X.T < 0.0, axis=1)][0]
    t_1, lengths = proof_constants(evidence).t_1, np.linalg.norm
    return at_times(
        evidence,
        lambda time: time >= t_1,
        lambda n: chosen_neurons(n, chosen, w=lengths(n.w, axis=1)[:, None] * dead / lengths(dead)),
    )


def aligned_at(evidence: Evidence, time: float) -> Evidence:
    """Every event later, the last crossing at this time."""
    return with_events(evidence, list(range(len(evidence.run.events))), factor=time / alignment_time(evidence))


def aligned_after_t_1(evidence: Evidence) -> Evidence:
    return aligned_at(evidence, 2.0 * proof_constants(evidence).t_1)


def aligned_between_the_bounds(evidence: Evidence) -> Evidence:
    constants = proof_constants(evidence)
    return aligned_at(evidence, 0.5 * (constants.t_1 + constants.t_1_sharp))


def inactive_draws(evidence: Evidence) -> Evidence:
    """No drawn neuron is active on a positive sample."""
    away = -data_constants(evidence).total(1)
    return with_record(evidence, directions=np.tile(away, (len(evidence.recorded(Draws).directions), 1)))


def draws_along_an_aggregate(evidence: Evidence) -> Evidence:
    directions = evidence.recorded(Draws).directions.copy()
    directions[0] = data_constants(evidence).total(1)
    return with_record(evidence, directions=directions)


FORGERIES: Forgeries = {
    ("thm1", "aligned"): Forgery(aligned_after_t_1, also=("aligned-sharp",)),
    ("thm1", "aligned-sharp"): Forgery(aligned_between_the_bounds),
    ("thm1", "classified"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("thm1", "survivors"): Forgery(one_dies),
    ("thm1", "one-way"): Forgery(one_crosses_thrice),
    ("thm1", "trapped"): Forgery(lambda e: standing_still(e, at=-1), also=("loss", "norm")),
    ("thm1", "window"): Forgery(lambda e: scaled_times(e, 0.1)),
    ("thm1", "loss"): Forgery(lambda e: scaled_neurons(e, 0.5, at=ODD)),
    ("thm1", "norm"): Forgery(lambda e: standing_still(e, at=-1), also=("trapped", "loss")),
    ("thm1", "low-rank"): Forgery(spread, also=("trapped", "loss", "limit-rank")),
    ("thm1", "limit-rank"): Forgery(spread, also=("trapped", "loss", "low-rank")),
    ("random-start", "frequency"): Forgery(inactive_draws),
    ("random-start", "reach"): Forgery(changed(Draws, ends=lambda r: {s: -p for s, p in r.ends.items()})),
    ("random-start", "assumption-2"): Forgery(draws_along_an_aggregate),
    ("refined-alignment", "cosine"): Forgery(one_looks_away),
}

CASES = (
    TheoremCase("min2024:thm1", None, "orthogonally-separable-strict", not_separated),
    TheoremCase("min2024:refined-alignment", one_looks_away, "scale-28", large_scale),
    TheoremCase("min2024:random-start", _inactive_draws, "summed-loss", averaged),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


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
        (last_snapshot(all_turned(90.0)), "trapped"),
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
