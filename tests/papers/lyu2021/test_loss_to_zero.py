"""Theorem B.19, Lemma B.20 and Gronwall's inequality through the theorem contract, with errata E13 and E14."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    scaled_clock,
    scaled_losses,
    scaled_output_weights,
    with_end,
    with_record,
    with_snapshots,
)
from papers.lyu2021.tampering import middle, scaled_outputs
from reluflow.certificates.hard_margin import linear_separator
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network import Network
from reluflow.papers.lyu2021.theorems.gronwall import Subsolutions
from reluflow.papers.lyu2021.theorems.loss_to_zero import driving_strengths, loss_rate_bound
from reluflow.papers.lyu2021.theorems.unit_ball import velocity
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract, with_each_network


def _inflated_loss(evidence):
    snapshots = tuple(replace(s, loss=50.0 * s.loss) for s in evidence.run.snapshots)
    return replace(evidence, trajectory=replace(evidence.run, snapshots=snapshots))


def _without_driver():
    """Output weights of the sign that pulls every neuron away from the separator."""
    problem = example_problem(theorem_named("lyu2021:thmB.19"))
    network = problem.network
    against = -np.sign(network.w @ linear_separator(problem.dataset).w)
    return replace(problem, network=network.replace(a=against * np.abs(network.a)))


def late_by_log(evidence: Evidence, shift: float) -> Evidence:
    """Every step of the run is recorded at a later time."""
    return replace(evidence, trajectory=replace(evidence.run, log_times=evidence.run.log_times + shift))


def with_loss_added(evidence: Evidence, more: float) -> Evidence:
    return with_snapshots(evidence, lambda s: replace(s, loss=s.loss + more))


def subsolution_changed(evidence: Evidence, index: int, change: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    functions = list(evidence.recorded(Subsolutions).functions)
    functions[index] = change(functions[index])
    return with_record(evidence, functions=tuple(functions))


def end_doubled(values: np.ndarray) -> np.ndarray:
    changed = values.copy()
    changed[-1] *= 2.0
    return changed


FORGERIES: Forgeries = {
    ("lemmaB.1", "integral-form"): Forgery(lambda e: subsolution_changed(e, 2, end_doubled)),
    ("lemmaB.1", "attained"): Forgery(lambda e: subsolution_changed(e, 0, lambda u: 10.0 * u)),
    ("lemmaB.1", "closed-form"): Forgery(
        lambda e: subsolution_changed(e, 2, lambda u: u[::-1]), also=("integral-form",)
    ),
    ("thmB.19", "output-weight"): Forgery(lambda e: scaled_output_weights(e, 0.9, at=0)),
    ("thmB.19", "loss-rate"): Forgery(lambda e: with_loss_added(e, 1.0)),
    ("thmB.19", "hitting-time"): Forgery(lambda e: late_by_log(e, 40.0)),
    ("thmB.19", "falls"): Forgery(lambda e: scaled_losses(e, 0.5, at=middle(e))),
    ("thmB.19", "loss"): Forgery(lambda e: with_end(e, lambda n: n.replace(a=0.1 * n.a))),
    ("thmB.19", "norm"): Forgery(lambda e: scaled_clock(e, 2.0)),
    ("lemmaB.20", "pull"): Forgery(lambda e: scaled_outputs(e, 1.1), also=("forces",)),
    ("lemmaB.20", "forces"): Forgery(lambda e: scaled_losses(e, 1.015)),
}

CASES = (
    TheoremCase(
        "lyu2021:lemmaB.1",
        forge=lambda e: with_record(e, functions=tuple(1.5 * u for u in e.record.functions)),
        universal="of every function",
    ),
    TheoremCase(
        "lyu2021:thmB.19",
        forge=lambda e: with_each_network(e, lambda k, network: network.replace(a=0.1 * network.a)),
        failing="driving-neuron",
        inapplicable=_without_driver,
    ),
    TheoremCase(
        "lyu2021:lemmaB.20",
        forge=_inflated_loss,
        failing="loss",
        inapplicable=lambda: replace(example_problem(theorem_named("lyu2021:lemmaB.20")), loss=SquareLoss()),
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def test_the_printed_rate_with_the_square_of_c_fails_where_c_is_large():
    """Erratum E14: -dL/dt >= c (leak gamma*/2n)^2, while c^2 in its place is wrong for c > 1."""
    data = load("lyu-symmetric")
    separator = linear_separator(data)
    network = Network(1e-9 * separator.w[None], [1e4], leak=0.5)
    evidence = Evidence(TrainingProblem(data, LogisticLoss(), network))
    c = float(driving_strengths(evidence).max())
    assert c == pytest.approx(1e8)
    speed = np.sum(velocity(network, network.outputs(data.X), data, LogisticLoss()) ** 2)
    assert speed >= np.exp(loss_rate_bound(evidence))
    printed = c**2 * (0.5 * separator.margin / (2.0 * data.n)) ** 2
    assert speed < printed


def test_the_union_bound_replaces_the_printed_step():
    """Erratum E13: with losses .3, .4, .5 the total force is .982 >= .699, but 1 - exp(-max) is only .393."""
    losses = np.array([0.3, 0.4, 0.5])
    forces = -np.expm1(-losses)
    assert forces.sum() == pytest.approx(0.982, abs=1e-3)
    assert -np.expm1(-losses.sum()) == pytest.approx(0.699, abs=1e-3)
    assert -np.expm1(-losses.max()) == pytest.approx(0.393, abs=1e-3)
    assert forces.sum() >= -np.expm1(-losses.sum()) > -np.expm1(-losses.max())


def test_the_hinted_set_is_driven_too():
    theorem = theorem_named("lyu2021:thmB.19")
    verdict = check(theorem, example_problem(theorem, "lyu-hinted"))
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.conclusion("hitting-time").slack > 5.0
