"""Appendix B's bounds through the theorem contract."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    scaled_times,
    with_record,
)
from papers.lyu2021.tampering import networks_scaled, outputs_scaled, states_changed
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.papers.lyu2021.theorems.subgradient_bounds import SmallNetworks
from reluflow.papers.lyu2021.theorems.unit_ball import DrawnNetworks, State, states
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract, with_each_network


def _with_square_loss(key: str):
    return lambda: replace(example_problem(theorem_named(key)), loss=SquareLoss())


def _false_outputs(evidence):
    return with_record(evidence, states=tuple(State(s.network, 1e6 * s.outputs) for s in states(evidence)))


def _false_forces(evidence):
    return with_record(evidence, forces=tuple(np.ones_like(forces) for forces in evidence.record.forces))


_ALIKE = ("eq2", "lemmaB.10", "lemmaB.11", "lemmaB.12", "corB.13", "lemmaB.14")


def outputs_shifted(evidence: Evidence, shift: float, *, first: int = 1) -> Evidence:
    return states_changed(evidence, lambda s: State(s.network, s.outputs + shift), first=first)


def half_of_states(evidence: Evidence) -> int:
    return len(evidence.recorded(DrawnNetworks).states) // 2


def forces_of_larger_outputs(evidence: Evidence) -> Evidence:
    """Networks with outputs that small networks do not have, and the forces that belong to them."""
    y = evidence.dataset.y
    states = tuple(State(s.network, s.outputs + 1.0) for s in evidence.recorded(SmallNetworks).states)
    return with_record(evidence, states=states, forces=tuple(y * LogisticLoss().force(s.outputs, y) for s in states))


def forces_off_by(evidence: Evidence, factor: float) -> Evidence:
    """Forces that differ from 1/2 by so many times |f|/2."""
    small = evidence.recorded(SmallNetworks).states
    return with_record(evidence, forces=tuple(0.5 + 0.5 * factor * np.abs(s.outputs) for s in small))


FORGERIES: Forgeries = {
    ("eq2", "loss"): Forgery(lambda e: networks_scaled(e, 30.0)),
    ("eq2", "order"): Forgery(lambda e: outputs_scaled(e, 0.0, first=1), also=("loss",)),
    ("eq2", "velocity"): Forgery(lambda e: outputs_shifted(e, 1.0)),
    ("lemmaB.10", "outputs"): Forgery(lambda e: outputs_scaled(e, 10.0)),
    ("lemmaB.10", "differences"): Forgery(lambda e: outputs_shifted(e, 1.0), also=("outputs",)),
    ("lemmaB.11", "input"): Forgery(lambda e: outputs_shifted(e, 1.0), also=("output", "input-sharp", "output-sharp")),
    ("lemmaB.11", "output"): Forgery(lambda e: outputs_shifted(e, 1.0), also=("input", "input-sharp", "output-sharp")),
    ("lemmaB.11", "input-sharp"): Forgery(
        lambda e: outputs_shifted(e, -30.0, first=half_of_states(e)), also=("output-sharp",)
    ),
    ("lemmaB.11", "output-sharp"): Forgery(
        lambda e: outputs_shifted(e, -30.0, first=half_of_states(e)), also=("input-sharp",)
    ),
    ("lemmaB.12", "gap"): Forgery(lambda e: outputs_shifted(e, 1.0), also=("gap-sharp",)),
    ("lemmaB.12", "gap-sharp"): Forgery(lambda e: outputs_shifted(e, -30.0, first=half_of_states(e))),
    ("corB.13", "subgradient"): Forgery(lambda e: outputs_shifted(e, 1.0)),
    ("lemmaB.14", "eps"): Forgery(forces_of_larger_outputs),
    ("lemmaB.14", "by-output"): Forgery(lambda e: forces_off_by(e, 2.1), also=("by-output-sharp",)),
    ("lemmaB.14", "by-output-sharp"): Forgery(lambda e: forces_off_by(e, 1.0)),
    ("lemmaE.10", "subgradient"): Forgery(lambda e: outputs_scaled(e, np.nan)),
    ("lemmaE.10", "steps"): Forgery(lambda e: scaled_times(e, 0.01)),
}

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
        forge=lambda e: with_each_network(e, lambda k, network: network.scaled(4.0 * k)),
        failing="loss",
        inapplicable=_with_square_loss("lyu2021:lemmaE.10"),
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


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
