"""Theorems 4.2 and 4.3, Corollary 4.4 and Appendix C: contract, published numbers, the untreated event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    in_reverse,
    with_end,
    with_record,
)
from papers.lyu2021.tampering import best_claimed, in_all_runs, of_other_samples, scaled, turned_network, with_samples
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.limits.certified_limit import LimitIdentified, certified_limit
from reluflow.data.registry import load
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.train import train
from reluflow.losses import LogisticLoss
from reluflow.network import Network, initialization_named
from reluflow.papers.lyu2021.figures.training_run import SquaredNorm
from reluflow.papers.lyu2021.theorems.linear_maximiser import ActivationValues, MaximiserAndPairs, symmetrized
from reluflow.papers.lyu2021.theorems.symmetric_flow import small_enough
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract


def _on_hinted(key: str):
    return lambda: example_problem(theorem_named(key), "lyu-hinted")


def _one_signed(evidence):
    """The run's end replaced by the KKT direction of positive neurons only, of margin leak gamma*/2."""
    separator = evidence.facts.separator.w
    network = evidence.run.network
    a = np.abs(network.a)
    forged = network.replace(w=np.outer(a, separator), a=a)
    return replace(evidence, trajectory=replace(evidence.run, network=forged))


def _larger_margin(evidence):
    found = evidence.record.best
    return with_record(evidence, best=replace(found, margin=1.01 * found.margin, upper=1.01 * found.upper))


def of_longer_positive_samples(evidence: Evidence) -> Evidence:
    """The run is one on data whose positive samples are longer, so that they need fewer neurons."""
    return with_samples(evidence, lambda X, y: np.where(y[:, None] > 0.0, 1.05 * X, X))


def first_share_larger(evidence: Evidence) -> Evidence:
    """At the end the first neuron has more than its share of the output weights."""

    def change(network: Network) -> Network:
        factors = np.ones(network.num_neurons)
        factors[0] = 1.1
        return network.replace(a=factors * network.a)

    return in_all_runs(evidence, lambda e: with_end(e, change))


def pairs_scaled(evidence: Evidence, factor: float) -> Evidence:
    pairs = evidence.recorded(MaximiserAndPairs).pairs
    return with_record(evidence, pairs=tuple(scaled(pair, factor) for pair in pairs))


def best_network_turned(evidence: Evidence) -> Evidence:
    best = evidence.recorded(MaximiserAndPairs).best
    assert best.network is not None
    return with_record(evidence, best=replace(best, network=turned_network(best.network, np.pi)))


def activation_changed(evidence: Evidence, change: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    values = evidence.recorded(ActivationValues)
    return with_record(evidence, there=change(values.there), back=change(values.back))


FORGERIES: Forgeries = {
    ("thm4.2", "margin"): Forgery(lambda e: best_claimed(e, margin=10.0)),
    ("thm4.2", "linear"): Forgery(best_network_turned),
    ("thm4.2", "symmetrized"): Forgery(lambda e: pairs_scaled(e, 0.5)),
    ("thm4.2", "shorter"): Forgery(lambda e: pairs_scaled(e, 2.0), also=("symmetrized",)),
    ("thm4.3", "margin"): Forgery(lambda e: of_other_samples(e, 0.01), also=("linear",)),
    ("thm4.3", "linear"): Forgery(lambda e: of_other_samples(e, 0.01), also=("margin",)),
    ("thm4.3", "half-positive"): Forgery(of_longer_positive_samples, also=("margin", "linear")),
    ("thm4.3", "run"): Forgery(in_reverse),
    ("thm4.3", "shares"): Forgery(first_share_larger),
    ("cor4.4", "global"): Forgery(lambda e: of_other_samples(e, 0.01)),
    ("appC", "odd"): Forgery(lambda e: activation_changed(e, lambda phi: 0.1 * phi), also=("even",)),
    ("appC", "even"): Forgery(lambda e: activation_changed(e, lambda phi: phi - 0.01)),
}

CASES = (
    TheoremCase("lyu2021:thm4.2", forge=_larger_margin, failing="symmetric", inapplicable=_on_hinted("lyu2021:thm4.2")),
    TheoremCase("lyu2021:thm4.3", forge=_one_signed, failing="symmetric", inapplicable=_on_hinted("lyu2021:thm4.3")),
    TheoremCase("lyu2021:cor4.4", forge=_one_signed, failing="symmetric", inapplicable=_on_hinted("lyu2021:cor4.4")),
    TheoremCase(
        "lyu2021:appC",
        forge=lambda e: with_record(e, there=np.maximum(e.record.z, 0.0), back=np.maximum(-e.record.z, 0.0)),
        universal="of every leaky ReLU",
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize("leak", [0.0, 0.1, 0.3, 0.5, 0.7])
def test_the_margin_for_every_leak_and_in_three_dimensions(leak):
    theorem = theorem_named("lyu2021:thm4.2")
    for dataset in ("lyu-symmetric", "symmetric-separable:n=6,d=3"):
        problem = example_problem(theorem, dataset)
        problem = replace(problem, network=problem.network.replace(leak=leak))
        assert check(theorem, problem).kind is VerdictKind.HOLDS


def test_symmetrizing_can_lower_a_negative_margin():
    """The pair's q_min is never smaller, but its norm is not larger either: only positive margins must grow."""
    data, rng = load("lyu-symmetric"), np.random.default_rng(0)
    gains = []
    for _ in range(200):
        network = Network(rng.standard_normal((4, 2)), rng.standard_normal(4), leak=0.5)
        before, after = normalized_margin(network, data), normalized_margin(symmetrized(network), data)
        gains.append((before, after - before))
    assert all(gain >= -1e-12 for before, gain in gains if before > 0.0)
    assert any(before > 0.0 for before, _ in gains)
    assert min(gain for before, gain in gains if before <= 0.0) < -0.01


@pytest.fixture(scope="module")
def long_run():
    data = load("lyu-symmetric")
    network = initialization_named("lyu-gaussian")(data, width=6, scale="1e-3", rng=np.random.default_rng(0), leak=0.5)
    return train(TrainingProblem(data, LogisticLoss(), network), EventDrivenFlow(), until=SquaredNorm(1e3))


def test_published_margin_at_squared_norm_one_thousand(long_run):
    """Fig. 1 left, leak .5, width 6, scale 1e-3: margin .375 within 2e-9, positive share .5 within 1e-8."""
    network = long_run.network
    assert network.squared_norm() == pytest.approx(1e3, rel=0.05)
    assert normalized_margin(network, long_run.problem.dataset) == pytest.approx(0.375, abs=2e-9)
    positive = network.a > 0.0
    assert np.sum(network.a[positive] ** 2) / np.sum(network.a**2) == pytest.approx(0.5, abs=1e-8)


def test_the_untreated_event_ends_at_one_signed_neurons():
    """All b_k of one sign: the limit is phi(<w*, x>)/2 with margin leak gamma*/2 = .25; no theorem speaks of it."""
    theorem = theorem_named("lyu2021:thm4.3")
    problem = example_problem(theorem)
    network = problem.network.replace(a=5.0 + np.abs(problem.network.a))
    verdict = check(theorem, replace(problem, network=network))
    assert "good-embedding" in verdict.failing_hypotheses
    small = replace(problem, network=network.scaled(-6.0))
    run = train(small, EventDrivenFlow(), until=LimitIdentified())
    limit = certified_limit(run)
    assert normalized_margin(limit.network, problem.dataset) == pytest.approx(0.25, abs=1e-7)


def test_a_large_scale_is_outside_the_regime():
    problem = example_problem(theorem_named("lyu2021:cor4.4"))
    judged = small_enough(Evidence(replace(problem, network=problem.network.scaled(8.0))))
    assert judged.holds is False
    assert judged.margin < 0.0


def test_shares_tend_to_the_squares_of_the_embedding():
    theorem = theorem_named("lyu2021:thm4.3")
    verdict = check(theorem, example_problem(theorem, seed=2), at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.conclusion("shares").measured > 0.95
