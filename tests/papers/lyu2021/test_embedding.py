"""The embedding of two neurons through the theorem contract; exact for descent as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    in_companion,
    scaled_neurons,
    with_record,
)
from papers.lyu2021.tampering import scaled_outputs
from reluflow.data.registry import load
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.train import train
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.papers.lyu2021.theorems.embedding import EmbeddedPairs
from reluflow.papers.lyu2021.theorems.symmetric_flow import embed, network_of
from reluflow.papers.lyu2021.theorems.unit_ball import neuron_rows
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from theorem_cases import TheoremCase, contract, replace_network


def _with_square_loss(key: str):
    return lambda: replace(example_problem(theorem_named(key)), loss=SquareLoss())


def _other_pair(evidence):
    run = evidence.companions["pair"]
    snapshots = tuple(replace_network(s, s.network.scaled(1e-6), run) for s in run.snapshots)
    return replace(evidence, companions={**evidence.companions, "pair": replace(run, snapshots=snapshots)})


def _false_outputs(evidence):
    run = evidence.companions["pair"]
    snapshots = tuple(replace(s, outputs=1.001 * s.outputs) for s in run.snapshots)
    return replace(evidence, companions={**evidence.companions, "pair": replace(run, snapshots=snapshots)})


def embedded_changed(evidence: Evidence, change: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    embedded = evidence.recorded(EmbeddedPairs).embedded
    return with_record(evidence, embedded=tuple(change(rows) for rows in embedded))


FORGERIES: Forgeries = {
    ("lemma5.3", "commutes"): Forgery(lambda e: in_companion(e, "pair", lambda c: scaled_neurons(c, 30.0))),
    ("lemmaE.1", "velocity"): Forgery(lambda e: in_companion(e, "pair", lambda c: scaled_outputs(c, -1.0))),
    ("lemmaE.2", "function"): Forgery(lambda e: embedded_changed(e, lambda rows: -rows), also=("gradient",)),
    ("lemmaE.2", "norm"): Forgery(
        lambda e: embedded_changed(e, lambda rows: 0.0 * rows), also=("function", "gradient")
    ),
    ("lemmaE.2", "gradient"): Forgery(lambda e: embedded_changed(e, lambda rows: rows[::-1])),
}

CASES = (
    TheoremCase(
        "lyu2021:lemma5.3", forge=_other_pair, failing="loss", inapplicable=_with_square_loss("lyu2021:lemma5.3")
    ),
    TheoremCase(
        "lyu2021:lemmaE.1", forge=_false_outputs, failing="loss", inapplicable=_with_square_loss("lyu2021:lemmaE.1")
    ),
    TheoremCase(
        "lyu2021:lemmaE.2",
        forge=lambda e: with_record(e, embedded=tuple(1.01 * rows for rows in e.record.embedded)),
        failing="loss",
        inapplicable=_with_square_loss("lyu2021:lemmaE.2"),
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize("key", ["lyu2021:lemma5.3", "lyu2021:lemmaE.1"])
def test_a_draw_of_one_sign_is_not_applicable(key):
    theorem = theorem_named(key)
    problem = example_problem(theorem)
    one_sign = replace(problem, network=problem.network.replace(a=9.0 + np.abs(problem.network.a)))
    assert check(theorem, one_sign).failing_hypotheses == ("good-embedding",)


def test_descent_commutes_with_the_embedding_step_by_step():
    data, rng = load("lyu-symmetric"), np.random.default_rng(5)
    pair, b = rng.standard_normal((2, 3)), np.array([0.3, -1.0, 2.0, -0.2])
    pair[:, -1] = [0.4, -0.7]
    ends = []
    for rows in (pair, embed(pair, b)):
        problem = TrainingProblem(data, LogisticLoss(), network_of(rows, 0.5))
        run = train(problem, GradientDescent(lr=0.05, iterations=200), until=Exhausted())
        ends.append(neuron_rows(run.network.materialized()))
    np.testing.assert_allclose(embed(ends[0], b), ends[1], rtol=1e-11, atol=1e-12)
