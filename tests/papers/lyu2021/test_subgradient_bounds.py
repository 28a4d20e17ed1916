"""Appendix B's bounds through the theorem contract."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import with_record
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.papers.lyu2021.theorems.unit_ball import State, states
from reluflow.theory.check import check, example_problem
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract, with_networks


def _with_square_loss(key: str):
    return lambda: replace(example_problem(theorem_named(key)), loss=SquareLoss())


def _false_outputs(evidence):
    return with_record(evidence, states=tuple(State(s.network, 1e6 * s.outputs) for s in states(evidence)))


def _false_forces(evidence):
    return with_record(evidence, forces=tuple(np.ones_like(forces) for forces in evidence.record.forces))


_ALIKE = ("eq2", "lemmaB.10", "lemmaB.11", "lemmaB.12", "corB.13", "lemmaB.14")

CASES = (
    *(
        TheoremCase(
            f"lyu2021:{name}",
            forge=_false_forces if name == "lemmaB.14" else _false_outputs,
            failing="loss",
            inapplicable=_with_square_loss(f"lyu2021:{name}"),
        )
        for name in _ALIKE
    ),
    TheoremCase(
        "lyu2021:lemmaE.10",
        forge=lambda e: with_networks(e, lambda k, network: network.scaled(4.0 * k)),
        failing="loss",
        inapplicable=_with_square_loss("lyu2021:lemmaE.10"),
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES)


@pytest.mark.parametrize("name", [*_ALIKE, "lemmaE.10"])
@pytest.mark.parametrize("dataset", ["lyu-hinted", "min-toy", "symmetric-separable:n=6,d=4"])
def test_the_bounds_hold_on_data_that_are_not_symmetric(name, dataset):
    theorem = theorem_named(f"lyu2021:{name}")
    assert check(theorem, example_problem(theorem, dataset, seed=3)).kind is VerdictKind.HOLDS


def test_a_sum_over_samples_is_refused():
    theorem = theorem_named("lyu2021:lemmaB.10")
    summed = replace(example_problem(theorem), loss=LogisticLoss(reduction="sum"))
    assert check(theorem, summed).failing_hypotheses == ("loss",)


def test_no_network_small_enough_is_not_applicable():
    theorem = theorem_named("lyu2021:lemmaB.14")
    verdict = check(theorem, example_problem(theorem), eps=1e-6)
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert verdict.failing_hypotheses == ("small-network",)


def test_forces_deviate_by_the_hyperbolic_tangent_of_half_the_output():
    """|2 g - 1| = tanh(|f|/2), so the sharp form of Lemma B.14 has |f|/2 for the paper's 2 |f|."""
    f = np.linspace(-3.0, 3.0, 101)
    np.testing.assert_allclose(
        np.abs(2.0 * LogisticLoss().force(f, np.ones(101)) - 1.0), np.tanh(np.abs(f) / 2.0), atol=1e-15
    )
