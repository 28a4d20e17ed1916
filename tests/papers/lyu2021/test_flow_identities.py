"""Energy, balance, zero neurons and signs through the theorem contract."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    LATER,
    Forgeries,
    Forgery,
    in_companion,
    scaled_neurons,
    scaled_output_weights,
    scaled_times,
    turned,
    with_networks,
)
from papers.lyu2021.tampering import middle, scaled_outputs
from reluflow.losses import SquareLoss
from reluflow.network import Network, initialization_named
from reluflow.theory.check import check, example_problem
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import (
    TheoremCase,
    contract,
    replace_network,
    with_each_network,
)


def _with_square_loss(key: str):
    return lambda: replace(example_problem(theorem_named(key)), loss=SquareLoss())


def _unbalanced():
    problem = example_problem(theorem_named("lyu2021:corB.18"))
    rng = np.random.default_rng(0)
    network = initialization_named("lyu-gaussian")(problem.dataset, width=6, scale="1e-2", rng=rng, leak=0.5)
    return replace(problem, network=network)


FORGERIES: Forgeries = {
    ("lemmaB.15", "energy"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("lemmaB.16", "rates"): Forgery(lambda e: scaled_outputs(e, np.nan), also=("integral",)),
    ("lemmaB.16", "integral"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("lemmaB.16", "conserved"): Forgery(lambda e: scaled_output_weights(e, 1.05, at=middle(e), sign=-1)),
    ("lemmaB.17", "zero"): Forgery(
        lambda e: in_companion(e, "zero", lambda c: with_networks(c, lambda n: n.replace(w=n.w + 1e-9)))
    ),
    ("lemmaB.17", "alive"): Forgery(lambda e: scaled_times(e, 0.01)),
    ("corB.18", "balanced"): Forgery(lambda e: scaled_output_weights(e, 1.05, at=middle(e), sign=-1)),
    ("corB.18", "signs"): Forgery(lambda e: scaled_output_weights(e, -1.0, at=LATER, sign=1)),
}

CASES = (
    TheoremCase(
        "lyu2021:lemmaB.15",
        forge=lambda e: with_each_network(e, lambda k, network: network.scaled(1e-4 * k)),
        failing="loss",
        inapplicable=_with_square_loss("lyu2021:lemmaB.15"),
    ),
    TheoremCase(
        "lyu2021:lemmaB.16",
        forge=lambda e: with_each_network(e, lambda k, network: network.replace(a=network.a * (1.0 + 1e-5 * k))),
        failing="loss",
        inapplicable=_with_square_loss("lyu2021:lemmaB.16"),
    ),
    TheoremCase(
        "lyu2021:lemmaB.17",
        forge=lambda e: with_each_network(e, lambda k, network: network.scaled(-8.0 * k)),
        failing="loss",
        inapplicable=_with_square_loss("lyu2021:lemmaB.17"),
    ),
    TheoremCase(
        "lyu2021:corB.18",
        forge=lambda e: with_each_network(e, lambda k, network: network.replace(a=network.a * (-1.0) ** k)),
        failing="balanced",
        inapplicable=_unbalanced,
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize("key", ["lyu2021:lemmaB.15", "lyu2021:lemmaB.16"])
def test_holds_through_slides(key):
    """On the hinted set neurons slide along boundaries; the shortest subgradient gives their energy too."""
    theorem = theorem_named(key)
    problem = example_problem(theorem, "lyu-hinted")
    evidence = gather(theorem, problem, parameters={"until": 1000.0})
    assert evidence.run.slides > 0
    assert theorem.check(evidence).kind is VerdictKind.HOLDS


def test_a_zero_neuron_that_moves_is_noticed():
    theorem = theorem_named("lyu2021:lemmaB.17")
    evidence = gather(theorem, example_problem(theorem))
    run = evidence.companions["zero"]
    last = run.snapshots[-1]
    moved = last.network.replace(a=last.network.a + 1e-12)
    forged = replace(run, snapshots=(*run.snapshots[:-1], replace_network(last, moved, run)))
    assert theorem.check(replace(evidence, companions={"zero": forged})).failing_conclusions == ("zero",)


def test_the_missing_companion_is_never_a_pass():
    theorem = theorem_named("lyu2021:lemmaB.17")
    evidence = gather(theorem, example_problem(theorem))
    verdict = theorem.check(replace(evidence, companions={}))
    assert verdict.kind is VerdictKind.INCONCLUSIVE


def test_a_ridge_is_not_applicable():
    """A positive neuron along (0, 1) stands on a boundary that it may leave to either side."""
    theorem = theorem_named("lyu2021:lemmaB.15")
    problem = example_problem(theorem, "lyu-ridge")
    on_ridge = Network([[0.0, 1.0]], [1.0], leak=problem.network.leak, log_scale=problem.network.log_scale)
    verdict = check(theorem, replace(problem, network=on_ridge))
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert "non-branching" in verdict.failing_hypotheses
