"""(7), (8), Definition 1, Lemma 12, Appendix E.2 and the orthogonal case."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    events_twice,
    in_reverse,
    scaled_neurons,
    turned,
    with_network,
    with_networks,
    with_outcome,
    with_snapshots,
)
from papers.min2024.cases import (
    EXPONENTIAL,
    TWICE_LOGISTIC,
    averaged,
    dead_cone_dataset,
    deterministic_problem,
    drawn_problem,
    leaky,
    not_separated,
    unbalanced,
)
from papers.min2024.tampering import chosen_neurons, one_crosses_thrice
from reluflow.data.registry import load
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome
from reluflow.geometry.alignment import align
from reluflow.network import Network
from reluflow.papers.min2024.theorems.constants import data_constants
from reluflow.papers.min2024.theorems.moving_neurons import cones_of
from reluflow.papers.min2024.theorems.pattern_history import alignment_time, disagreements, last_cones, pattern_history
from reluflow.theory.check import check
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract

STRICT = "orthogonally-separable-strict"


def leaky_at_the_end(evidence: Evidence) -> Evidence:
    """The last state has a leak, so that dead neurons are pulled."""
    return with_snapshots(evidence, lambda s: with_network(s, s.network.replace(leak=0.3), evidence.run))


def first_neuron_vanished(evidence: Evidence) -> Evidence:
    """In the first state one neuron is 0, and so active on no sample."""

    def change(network: Network) -> Network:
        return chosen_neurons(network, np.arange(network.num_neurons) == 0, w=0.0 * network.w)

    return with_networks(evidence, change, at=0)


def newcomers_at_the_end(evidence: Evidence) -> Evidence:
    """In the last state every positive neuron points along the aggregate of its class."""
    towards = data_constants(evidence).total(1)
    return with_networks(evidence, lambda n: n.replace(w=np.linalg.norm(n.w, axis=1)[:, None] * towards), sign=1)


FORGERIES: Forgeries = {
    ("def1", "absorbing"): Forgery(in_reverse),
    ("def1", "frozen"): Forgery(leaky_at_the_end),
    ("orthogonal-comparison", "no-gain"): Forgery(in_reverse),
    ("orthogonal-comparison", "membership"): Forgery(newcomers_at_the_end, also=("no-gain",)),
    ("eq7", "monotone"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("eq7", "one-way"): Forgery(one_crosses_thrice),
    ("eq7", "event-log"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("lemma12", "dead"): Forgery(first_neuron_vanished),
    ("lemma12", "own-cone"): Forgery(in_reverse),
    ("appE.2", "pushed"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("appE.2", "one-way"): Forgery(one_crosses_thrice),
    ("appE.2", "count"): Forgery(events_twice, also=("one-way",)),
    ("appE.2", "unbranched"): Forgery(lambda e: with_outcome(e, Outcome.RIDGE)),
}

CASES = (
    TheoremCase("min2024:eq7", in_reverse, STRICT, not_separated),
    TheoremCase("min2024:def1", in_reverse, "relu", leaky),
    TheoremCase("min2024:lemma12", in_reverse, "summed-loss", averaged),
    TheoremCase("min2024:appE.2", events_twice, "balanced", unbalanced),
    TheoremCase("min2024:orthogonal-comparison", in_reverse, "orthogonal", drawn_problem),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def test_repeated_events_break_the_one_way_rule():
    equation = theorem_named("min2024:eq7")
    evidence = gather(equation, deterministic_problem(np.log(1e-6)))
    assert equation.check(evidence).kind is VerdictKind.HOLDS
    failing = equation.check(events_twice(evidence)).failing_conclusions
    assert "one-way" in failing
    assert "event-log" in failing


@pytest.mark.parametrize("loss", [TWICE_LOGISTIC])
def test_monotone_for_twice_the_logistic_loss_and_with_a_leak(loss):
    for leak in (0.0, 0.3):
        verdict = check(theorem_named("min2024:eq7"), drawn_problem("min-toy", loss=loss, leak=leak))
        assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_monotone_for_descent_of_any_step():
    """s_j y_i <x_i, w_j> grows along gradient descent too, while no a_j changes its sign."""
    problem = deterministic_problem(np.log(1e-2))
    run = train(problem, GradientDescent(lr=0.05, iterations=200), times=np.arange(0.0, 10.1, 0.5))
    signs, y = np.sign(problem.network.a), problem.dataset.y
    held = [np.exp(s.network.log_scale) * s.network.pre_activations(problem.dataset.X) for s in run.snapshots]
    assert all(np.array_equal(np.sign(s.network.a), signs) for s in run.snapshots)
    increments = [signs[:, None] * y * (after - before) for before, after in pairwise(held)]
    assert min(float(np.min(change)) for change in increments) >= -1e-15
    verdict = theorem_named("min2024:eq7").check(run)
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert verdict.failing_hypotheses == ("gradient-flow",)
    assert verdict.conclusion("monotone").holds


def test_history_against_the_closed_form_alignment():
    """Settling times and cones of a run at e^-300 are those of the flow with frozen forces."""
    problem = drawn_problem(dead_cone_dataset(), width=16, scale="1e-130")
    evidence = gather(theorem_named("min2024:eq7"), problem)
    forces = problem.loss.label_forces(problem.dataset.y)
    exact = align(problem.dataset.X, forces, problem.network.w, problem.network.a)
    np.testing.assert_allclose(pattern_history(evidence).settling_times(), exact.times, atol=1e-12)
    np.testing.assert_array_equal(last_cones(evidence), cones_of(exact.patterns > 0, problem.dataset.y))
    assert alignment_time(evidence) == pytest.approx(float(np.max(exact.times)), abs=1e-12)
    assert disagreements(evidence) == 0
    assert np.sum(last_cones(evidence) == 0) > 0


def test_orthogonal_membership_is_constant_in_time():
    """Fewer neurons end in S_+ on orthogonal data than on nearly orthogonal data, from the same draw."""
    counts = []
    for spec in ("min-orthogonal", "min-correlated"):
        problem = drawn_problem(spec, width=40)
        forces = problem.loss.label_forces(problem.dataset.y)
        ends = align(problem.dataset.X, forces, problem.network.w, problem.network.a)
        positive = problem.network.a > 0
        counts.append(int(np.sum(cones_of(ends.patterns > 0, problem.dataset.y)[positive] == 1)))
    assert counts[0] < counts[1]


def test_an_irregular_solution_leaves_the_dead_cone():
    """Erratum E5: Lemma 12(a), printed for any solution, fails on the branch of App. E.4 that leaves."""
    problem = TrainingProblem(load("min-uniqueness-failure"), EXPONENTIAL, Network([[0.0, 1.0]], [1.0]))
    run = train(problem, EventDrivenFlow(ridge="positive"), until=AtTime(2.0), times=[0.0, 1.0, 2.0])
    lemma = theorem_named("min2024:lemma12")
    verdict = lemma.check(run)
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert verdict.failing_hypotheses == ("regular",)
    printed = lemma.conclusions[0].measure(Evidence(problem, trajectory=run))
    assert printed.holds is False
