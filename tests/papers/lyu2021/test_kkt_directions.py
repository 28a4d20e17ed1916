"""Theorem 3.1 and Lemma B.9 through the theorem contract, and KKT directions in closed form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    in_reverse,
    scaled_clock,
    scaled_losses,
    scaled_neurons,
    with_end,
    with_record,
)
from papers.lyu2021.tampering import of_other_samples, record_scaled, scaled_outputs, stretched
from reluflow.certificates.hard_margin import linear_separator
from reluflow.certificates.kkt import kkt_certificate
from reluflow.data.registry import load
from reluflow.dynamics.trajectory import Outcome
from reluflow.losses import SquareLoss
from reluflow.network import Network
from reluflow.papers.lyu2021.theorems.kkt_directions import DirectionAndMultipliers
from reluflow.theory.check import example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract, with_each_network


def _with_square_loss(key: str):
    return lambda: replace(example_problem(theorem_named(key)), loss=SquareLoss())


def _longer_input_weights(evidence):
    """The direction of the limit with longer input weights, which is not balanced and no KKT direction."""
    network = evidence.record.network
    return with_record(evidence, network=network.replace(w=1.001 * network.w))


def limit_stretched(evidence: Evidence) -> Evidence:
    return with_record(evidence, network=stretched(evidence.recorded(DirectionAndMultipliers).network))


FORGERIES: Forgeries = {
    ("thm3.1", "falls"): Forgery(lambda e: scaled_losses(e, 2.0)),
    ("thm3.1", "loss"): Forgery(lambda e: with_end(e, lambda n: n.replace(a=-n.a)), also=("kkt", "direction")),
    ("thm3.1", "norm"): Forgery(lambda e: scaled_clock(e, 100.0)),
    ("thm3.1", "smoothed-margin"): Forgery(lambda e: scaled_outputs(e, 0.01)),
    ("thm3.1", "kkt"): Forgery(lambda e: of_other_samples(e, 0.01)),
    ("thm3.1", "direction"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1), also=("smoothed-margin",)),
    ("lemmaB.9", "balanced"): Forgery(limit_stretched, also=("multiplier-sum",)),
    ("lemmaB.9", "multiplier-sum"): Forgery(lambda e: record_scaled(e, "multipliers", 1.001)),
    ("lemmaB.9", "run"): Forgery(in_reverse),
}

CASES = (
    TheoremCase(
        "lyu2021:thm3.1",
        forge=lambda e: with_each_network(e, lambda k, network: network.scaled(-0.05 * max(k - 20, 0))),
        failing="loss",
        inapplicable=_with_square_loss("lyu2021:thm3.1"),
    ),
    TheoremCase(
        "lyu2021:lemmaB.9",
        forge=_longer_input_weights,
        failing="loss",
        inapplicable=_with_square_loss("lyu2021:lemmaB.9"),
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def test_a_run_cut_short_is_no_evidence_of_its_limit():
    theorem = theorem_named("lyu2021:thm3.1")
    evidence = gather(theorem, example_problem(theorem))
    cut = replace(evidence, trajectory=replace(evidence.run, outcome=Outcome.HORIZON))
    verdict = theorem.check(cut)
    assert verdict.kind is VerdictKind.INCONCLUSIVE
    assert verdict.conclusion("kkt").holds is None


@pytest.mark.parametrize("leak", [0.2, 0.5])
def test_the_three_closed_form_directions_of_two_neurons_are_kkt(leak):
    """(1/2)(w*, -w*, 1, -1) has margin (1 + leak) gamma*/4; one neuron alone has leak gamma*/2."""
    data = load(f"lyu-symmetric:leak={leak}")
    separator = linear_separator(data)
    pair = Network(0.5 * np.stack([separator.w, -separator.w]), [0.5, -0.5], leak=leak)
    single = Network(separator.w[None] / np.sqrt(2.0), [1.0 / np.sqrt(2.0)], leak=leak)
    for network, margin in ((pair, 0.25 * (1.0 + leak)), (single, 0.5 * leak)):
        certificate = kkt_certificate(network, data)
        assert certificate.residual <= 1e-12
        assert certificate.margin == pytest.approx(margin * separator.margin, rel=1e-12)
        assert certificate.multipliers.sum() == pytest.approx(1.0 / (2.0 * certificate.margin), rel=1e-9)
    unbalanced = Network(separator.w[None], [0.5], leak=leak)
    assert kkt_certificate(unbalanced, data).residual > 0.1
