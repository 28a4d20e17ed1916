"""Lemma 15, the rate, Appendix D.3 and the limit of the stable rank."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    rotation,
    scaled_neurons,
    scaled_output_weights,
    scaled_times,
    with_network,
    with_networks,
    with_record,
    with_snapshots,
)
from papers.min2024.cases import (
    EXPONENTIAL,
    TWICE_LOGISTIC,
    dead_cone_dataset,
    deterministic_problem,
    drawn_problem,
    everywhere,
    large_scale,
    not_separated,
    plain_logistic,
)
from papers.min2024.tampering import chosen_neurons, middle, spread
from reluflow.certificates.one_class import OneClassVectors
from reluflow.data.dataset import Dataset
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.network import Network
from reluflow.papers.min2024.theorems.class_groups import dead_neurons, groups
from reluflow.papers.min2024.theorems.constants import proof_constants
from reluflow.papers.min2024.theorems.landmarks import last_fitted_time
from reluflow.papers.min2024.theorems.low_rank import stable_rank, stable_rank_limit
from reluflow.papers.min2024.theorems.moving_neurons import moments
from reluflow.theory.check import check
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract, replace_network


def _dead_relu(network):
    return network.replace(w=-network.w, a=-network.a, leak=0.0)


def _frozen_at_the_fit(evidence):
    """The run is said to have stopped moving at t_2."""
    fitted, run = last_fitted_time(evidence), evidence.run
    at_fit = next(s for s in run.snapshots if s.time >= fitted)
    snapshots = tuple(replace_network(s, at_fit.network, run) if s.time > fitted else s for s in run.snapshots)
    return replace(evidence, trajectory=replace(run, snapshots=snapshots))


def _unbalanced(network):
    return network.replace(a=network.a * np.linspace(0.5, 1.5, network.num_neurons))


def second_half(evidence: Evidence) -> slice:
    return slice(middle(evidence), None)


def flatter_at_the_end(evidence: Evidence) -> Evidence:
    """The last neurons count for many and are shorter: the same outputs and loss, with half the slope of Lemma 15."""
    last, rate = moments(evidence)[-1], 4.0 * proof_constants(evidence).rate
    size = last.gauge * math.exp(last.network.log_scale)
    factor = 2.0 * size**2 * last.gauged_gradient_square / (last.loss_value**2 * rate)

    def change(network: Network) -> Network:
        root = math.sqrt(factor)
        return network.replace(w=network.w / root, a=network.a / root, weight=factor * network.weight)

    return with_snapshots(evidence, lambda s: with_network(s, change(s.network), evidence.run))


def vanished_at_the_start(evidence: Evidence, leak: float) -> Evidence:
    """In the first state the input weights are 0, where the slope of the activation is its leak."""
    return with_snapshots(
        evidence, lambda s: with_network(s, s.network.replace(w=0.0 * s.network.w, leak=leak), evidence.run), at=0
    )


def one_of_a_class_turned(evidence: Evidence, sign: int) -> Evidence:
    """In the second half of the run one neuron of a cone points elsewhere."""
    group = next(g for g in groups(evidence) if g.sign == sign)
    chosen = np.arange(len(group.neurons)) == np.flatnonzero(group.neurons)[-1]
    return with_networks(
        evidence,
        lambda n: chosen_neurons(n, chosen, w=n.w @ rotation(0.3, n.d).T),
        at=second_half(evidence),
    )


def dead_ones_grown(evidence: Evidence) -> Evidence:
    """In the last state the dead neurons are as long as a thousandth, where nothing has pulled them."""
    dead, directions = dead_neurons(evidence), moments(evidence)[-1].directions
    return with_networks(evidence, lambda n: chosen_neurons(n, dead, w=1e-3 * math.exp(-n.log_scale) * directions))


def orthogonal_class_vectors(evidence: Evidence) -> Evidence:
    """The max-margin direction of the negative class is orthogonal to that of the positive one, and as long."""
    vectors = evidence.recorded(OneClassVectors)
    assert vectors.positive is not None
    assert vectors.negative is not None
    turned_away = rotation(0.5 * math.pi, vectors.positive.w.size) @ np.append(vectors.positive.w[:2], 0.0)
    return with_record(evidence, negative=replace(vectors.negative, w=turned_away))


FORGERIES: Forgeries = {
    ("lemma15", "decrease"): Forgery(lambda e: vanished_at_the_start(e, 0.0), also=("decrease-sharp",)),
    ("lemma15", "decrease-sharp"): Forgery(lambda e: vanished_at_the_start(e, 0.7)),
    ("rate", "slope"): Forgery(lambda e: scaled_times(e, 0.0), also=("slope-sharp",)),
    ("rate", "curve"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("rate", "slope-sharp"): Forgery(flatter_at_the_end),
    ("appD.3", "invariant"): Forgery(lambda e: scaled_output_weights(e, 1.05, at=middle(e), sign=-1)),
    ("appD.3", "invariant-size"): Forgery(lambda e: scaled_times(e, 0.5)),
    ("appD.3", "eq41"): Forgery(lambda e: one_of_a_class_turned(e, 1), also=("invariant",)),
    ("appD.3", "eq42"): Forgery(lambda e: one_of_a_class_turned(e, -1), also=("invariant",)),
    ("appD.3", "eq43"): Forgery(dead_ones_grown),
    ("appD.3", "sum"): Forgery(spread, also=("invariant", "eq41", "eq42")),
    ("appD.3", "norm"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("stable-rank", "bound"): Forgery(orthogonal_class_vectors, also=("approach",)),
    ("stable-rank", "approach"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("stable-rank", "ranks"): Forgery(lambda e: spread(e, at=0)),
}

CASES = (
    TheoremCase("min2024:lemma15", everywhere(_dead_relu), "linear", drawn_problem),
    TheoremCase("min2024:rate", _frozen_at_the_fit, "scale-28", large_scale),
    TheoremCase("min2024:appD.3", everywhere(_unbalanced), "orthogonally-separable-strict", not_separated),
    TheoremCase("min2024:stable-rank", None, "min-loss", plain_logistic),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def test_late_loss_and_stable_rank_of_the_deterministic_case():
    run = train(deterministic_problem(math.log(1e-6)), EventDrivenFlow(), until=AtTime(400.0), times=[400.0])
    last = run.snapshots[-1]
    assert last.loss == pytest.approx(3.188e-4, abs=5e-8)
    assert stable_rank(last.network.w) == pytest.approx(1.007654, abs=5e-7)
    assert stable_rank(last.network.w) == pytest.approx(2.0 / (1.0 + math.cos(math.radians(10.0))), abs=1e-6)
    patterns = last.network.patterns(run.problem.dataset.X)
    assert [int(np.sum(np.all(patterns == p, axis=1))) for p in ((1, 1, -1, -1), (-1, -1, 1, 1))] == [6, 6]


def _two_samples(degrees: float, length: float) -> TrainingProblem:
    """One positive and one negative sample whose signed directions enclose the angle; two neurons, each on its own."""
    angle = math.radians(180.0 - degrees)
    data = Dataset([[1.0, 0.0], [length * math.cos(angle), length * math.sin(angle)]], [1.0, -1.0])
    w = data.X / np.linalg.norm(data.X, axis=1, keepdims=True)
    return TrainingProblem(data, EXPONENTIAL, Network(w, [1.0, -1.0], log_scale=-7.0))


@pytest.mark.parametrize(("degrees", "limit"), [(85.0, 1.83966), (60.0, 1.33333)])
def test_stable_rank_with_equal_norms(degrees, limit):
    problem = _two_samples(degrees, 1.0)
    assert stable_rank_limit(Evidence(problem).facts.one_class) == pytest.approx(limit, abs=5e-6)
    run = train(problem, EventDrivenFlow(), until=AtTime(1e30), times=[1e30])
    assert stable_rank(run.snapshots[-1].network.w) == pytest.approx(limit, abs=1e-5)


def test_stable_rank_with_unequal_norms_approaches_slowly():
    """Norms 1 and 1/2 at 85 degrees: the limit is 1.48886, and the gap closes only like 1/log t."""
    problem = _two_samples(85.0, 0.5)
    assert stable_rank_limit(Evidence(problem).facts.one_class) == pytest.approx(1.48886, abs=5e-6)
    times = [1e3, 1e5, 1e7, 1e9, 1e12]
    run = train(problem, EventDrivenFlow(), until=AtTime(1e12), times=times)
    ranks = [stable_rank(s.network.w) for s in run.snapshots]
    np.testing.assert_allclose(ranks[1:], [1.5141, 1.5071, 1.5033, 1.4998], atol=6e-5)
    assert ranks[0] == pytest.approx(1.5320, abs=1e-3)  # at t = 1e3 the scale of the start still shows
    scaled = [(rank - 1.48886) * math.log(t) for rank, t in zip(ranks, times, strict=True)]
    assert all(0.285 < value < 0.305 for value in scaled)


def test_dead_neurons_are_counted_in_43():
    """With a dead cone the bound (43) is not empty, and the late snapshots still know the dead neurons."""
    verdict = check(theorem_named("min2024:appD.3"), drawn_problem(dead_cone_dataset(), width=12), at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert "dead neurons" in verdict.conclusion("eq43").detail
    assert verdict.conclusion("eq43").slack > 0.0


def test_lemma_15_with_twice_the_logistic_loss():
    verdict = check(theorem_named("min2024:lemma15"), drawn_problem(loss=TWICE_LOGISTIC, leak=1.0))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_the_best_factor_of_lemma_15_for_twice_the_logistic_loss():
    """min of (2 z/(1 + z))^2/(2 log(1 + z))^2 on (0, 1], z = e^(-yf), is 1/(4 ln^2 2), attained at z = 1."""
    z = np.linspace(1e-6, 1.0, 100_001)
    ratios = (2.0 * z / (1.0 + z) / (2.0 * np.log1p(z))) ** 2
    assert float(np.min(ratios)) == pytest.approx(1.0 / (4.0 * math.log(2.0) ** 2), rel=1e-12)
    assert 1.0 / (4.0 * math.log(2.0) ** 2) == pytest.approx(0.52, abs=5e-3)
