"""Lemma 1 through the theorem contract."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from forging import (
    LATER,
    Forgeries,
    Forgery,
    scaled_output_weights,
    with_record,
)
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.train import train
from reluflow.losses import SquareLoss
from reluflow.papers.boursier2024.theorems.alignment_regime import recorded_states
from reluflow.papers.boursier2024.theorems.balancedness import DescentSteps, descent_change, descent_step
from reluflow.papers.boursier2024.theorems.neuron_states import NeuronStates
from reluflow.theory.check import check
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


def _mean_square_without_half():
    problem = own_problem(theorem_named("boursier2024:lemma1"))
    return type(problem)(problem.dataset, SquareLoss(factor=2.0), problem.network)


def anew(evidence: Evidence) -> Evidence:
    """The record is to be made of the forged run."""
    return replace(evidence, record=None)


def steps_beside(evidence: Evidence) -> Evidence:
    steps = evidence.recorded(DescentSteps).steps
    return with_record(evidence, steps=tuple((w + 0.01, a) for w, a in steps))


FORGERIES: Forgeries = {
    ("lemma1", "conserved"): Forgery(
        lambda e: anew(scaled_output_weights(e, 1.05, at=len(e.run.snapshots) // 2, sign=-1))
    ),
    ("lemma1", "sign"): Forgery(lambda e: anew(scaled_output_weights(e, -1.0, at=LATER, sign=1))),
    ("lemma1", "descent-step"): Forgery(steps_beside),
}

CASES = (
    TheoremCase(
        "boursier2024:lemma1",
        forge=lambda evidence: with_each_network(
            evidence, lambda k, network: network.replace(a=network.a * (1.0 + 1e-6 * k))
        ),
        failing="boursier-a1",
        inapplicable=_mean_square_without_half,  # erratum E1: the squared loss without the half is 2-Lipschitz
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def test_a_flipped_output_weight_is_noticed():
    case = CASES[0]
    theorem = case.theorem
    evidence = gather(theorem, own_problem(theorem))
    flipped = with_each_network(
        evidence, lambda k, network: network.replace(a=np.where(np.arange(30) == k, -1, 1) * network.a)
    )
    assert theorem.check(flipped).failing_conclusions == ("sign",)


def test_a_run_of_descent_changes_balancedness_by_the_identity():
    """200 steps of gradient descent: the drift is the sum of lr^2 (<w, D>^2 - a^2 |D|^2) over the steps, not 0."""
    problem = own_problem(theorem_named("boursier2024:lemma1"))
    network = problem.network.materialized()
    problem = replace(problem, network=network.replace(w=100.0 * network.w, a=100.0 * network.a))
    lr, steps = 0.05, 200
    descent = GradientDescent(lr=lr, iterations=steps)
    run = train(problem, descent, until=Exhausted(), times=[lr * k for k in range(steps + 1)])
    networks = [s.network for s in run.snapshots]
    assert len(networks) == steps + 1
    predicted = np.zeros(network.num_neurons)
    for snapshot in run.snapshots[:-1]:
        predicted += descent_change(NeuronStates.at(snapshot, problem), lr)
    drift = networks[-1].balancedness() - networks[0].balancedness()
    assert np.max(np.abs(drift - predicted)) < 1e-12 * np.max(networks[-1].a ** 2)
    assert np.all(drift <= 1e-15)
    assert np.min(drift) < -1e-4


def test_a_descent_step_from_another_formula_is_noticed():
    theorem = theorem_named("boursier2024:lemma1")
    evidence = gather(theorem, own_problem(theorem))
    steps = tuple(descent_step(here, 0.1001) for here in recorded_states(evidence))
    assert theorem.check(replace(evidence, record=DescentSteps(steps))).failing_conclusions == ("descent-step",)


def test_descent_keeps_the_balance_up_to_the_order_of_its_step():
    """`check --method gd` was never applicable; what descent loses of the balance halves with its step."""
    theorem = theorem_named("boursier2024:lemma1")
    verdict = check(theorem, own_problem(theorem), solver=GradientDescent(lr=0.05, iterations=600))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    conserved = verdict.conclusion("conserved")
    assert conserved.holds
    assert conserved.slack < 0.0
    assert "times the step size" in conserved.detail
    assert "judged for gradient descent at step size 0.05, a half and a quarter of it" in verdict.why
    assert "conserved is met up to" in verdict.why
