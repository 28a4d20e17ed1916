"""Lemmas 1 to 4, 10 and (4): the contract, every leak and loss, and the loss for which they fail."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    Forge,
    Forgeries,
    Forgery,
    in_sweep,
    scaled_input_weights,
    scaled_output_weights,
    shifted_log_scale,
    with_networks,
    with_record,
)
from papers.min2024.cases import (
    EXPONENTIAL,
    TWICE_LOGISTIC,
    averaged,
    deterministic_problem,
    drawn_problem,
    everywhere,
    large_scale,
    plain_logistic,
    unbalanced,
)
from papers.min2024.tampering import changed, chosen_neurons, layers_traded, middle
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network import Network
from reluflow.papers.min2024.theorems.moving_neurons import force_excess, moments
from reluflow.papers.min2024.theorems.small_outputs import LEMMA_3, OutputGrid
from reluflow.theory.check import check
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract


def _triple(network):
    return network.replace(a=3.0 * network.a)


def _grown(network):
    return network.scaled(8.0)


def _larger_outputs(evidence):
    return with_record(evidence, outputs=np.linspace(-3.0, 3.0, 101))


def _stuck_sweep(evidence):
    forge = everywhere(_triple)
    return replace(forge(evidence), other_scales=tuple(forge(other) for other in evidence.other_scales))


def first_half(evidence: Evidence) -> slice:
    return slice((len(evidence.run.snapshots) + 1) // 2)


def last_neuron_scaled(evidence: Evidence, factor: float, *, at: int | slice) -> Evidence:
    def change(network: Network) -> Network:
        last = np.arange(network.num_neurons) == network.num_neurons - 1
        return chosen_neurons(network, last, w=factor * network.w, a=factor * network.a)

    return with_networks(evidence, change, at=at)


def shifted(evidence: Evidence, share: float, *, at: int | slice) -> Evidence:
    """A share of its length added to every input weight, in a fixed direction: directions and norms both change."""

    def change(network: Network) -> Network:
        lengths = np.linalg.norm(network.w, axis=1, keepdims=True)
        return network.replace(w=network.w + share * lengths * np.linspace(-1.0, 1.0, network.d))

    return with_networks(evidence, change, at=at)


def outputs_between_the_bounds(evidence: Evidence) -> Evidence:
    """The outputs of the first state lie between the sharp bound of Lemma 3 and the printed one, twice that."""
    log_bound = LEMMA_3.constants(evidence)["log_output_bound"] - 0.5 * math.log(2.0)
    factor = math.exp(log_bound - moments(evidence)[0].log_largest_output)
    return scaled_output_weights(evidence, factor, at=0)


def in_every_run(evidence: Evidence, forge: Forge) -> Evidence:
    return in_sweep(forge(evidence), forge)


FORGERIES: Forgeries = {
    ("eq4", "order"): Forgery(lambda e: in_every_run(e, lambda r: scaled_input_weights(r, 1.3, at=ALL))),
    ("lemma1", "error"): Forgery(lambda e: shifted(e, 0.1, at=first_half(e)), also=("error-sharp",)),
    ("lemma1", "error-sharp"): Forgery(lambda e: scaled_output_weights(e, 0.9, at=ALL)),
    ("lemma2", "force"): Forgery(changed(OutputGrid, outputs=lambda r: 10.0 * r.outputs)),
    ("lemma3", "norms"): Forgery(lambda e: layers_traded(e, 1e4, at=0), also=("norms-sharp",)),
    ("lemma3", "outputs"): Forgery(lambda e: scaled_output_weights(e, 1e9, at=0), also=("outputs-sharp",)),
    ("lemma3", "norms-sharp"): Forgery(lambda e: shifted_log_scale(e, 3.0, at=0)),
    ("lemma3", "outputs-sharp"): Forgery(outputs_between_the_bounds),
    ("lemma3", "growth"): Forgery(lambda e: last_neuron_scaled(e, 20.0, at=-1)),
    ("lemma4", "error"): Forgery(lambda e: scaled_output_weights(e, 1.05, at=0)),
    ("lemma4", "identity"): Forgery(lambda e: scaled_output_weights(e, 1.05, at=middle(e), sign=-1)),
    ("lemma10", "error"): Forgery(lambda e: shifted(e, 0.1, at=first_half(e))),
    ("lemma10", "formula"): Forgery(lambda e: with_record(e, across=lambda m, v: 1.000001 * m.across(v))),
}

CASES = (
    TheoremCase("min2024:lemma1", everywhere(_triple), "small-scale", large_scale),
    TheoremCase("min2024:lemma2", _larger_outputs, "unit-slope", plain_logistic),
    TheoremCase("min2024:lemma3", everywhere(_grown), "summed-loss", averaged),
    TheoremCase("min2024:lemma4", everywhere(_triple), "balanced", unbalanced),
    TheoremCase("min2024:lemma10", everywhere(_triple), "min-loss", plain_logistic),
    TheoremCase("min2024:eq4", _stuck_sweep, "balanced", unbalanced),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize("leak", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("loss", [EXPONENTIAL, TWICE_LOGISTIC, SquareLoss(reduction="sum")], ids=lambda loss: loss.name)
def test_lemmas_hold_for_every_leak_and_loss_of_lemma_2(leak, loss):
    """Remarks 4 and 5."""
    for key in ("min2024:lemma3", "min2024:lemma4"):
        verdict = check(theorem_named(key), drawn_problem(loss=loss, leak=leak, width=5), at_own_scale=True)
        assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_plain_logistic_loss_violates_lemma_4():
    """Erratum E4: without the factor 2 the direction moves at half the speed of (4), whatever the scale."""
    lemma = theorem_named("min2024:lemma4")
    problem = deterministic_problem(np.log(1e-4), LogisticLoss(reduction="sum"))
    ratio = lemma.conclusions[0].measure(gather(lemma, problem))
    assert ratio.holds is False
    assert ratio.measured > 100.0


def test_excess_force_against_subtraction_and_at_tiny_outputs():
    y = np.array([1.0, -1.0, 1.0])
    outputs = np.array([0.3, 0.2, -0.7])
    for loss in (EXPONENTIAL, TWICE_LOGISTIC, SquareLoss(reduction="sum")):
        np.testing.assert_allclose(force_excess(loss, outputs, y), loss.forces(outputs, y) - y, rtol=1e-13, atol=1e-15)
        slope = loss.factor * loss.curvature(np.zeros(3), y)
        np.testing.assert_allclose(force_excess(loss, 1e-30 * outputs, y), -1e-30 * slope * outputs, rtol=1e-12)


def test_relative_error_is_continuous_where_outputs_leave_the_doubles():
    """At e^-700 the outputs are 0 in double; the error relative to them is that of e^-30. (At time 0 they cancel.)"""
    lemma = theorem_named("min2024:lemma4")
    errors = []
    for log_scale in (-30.0, -110.0, -700.0):
        found = moments(gather(lemma, deterministic_problem(log_scale)))
        errors.append(np.array([moment.relative_error() for moment in found[1:8]]))
    np.testing.assert_allclose(errors[0], errors[1], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(errors[1], errors[2], rtol=1e-8, atol=1e-12)


def test_turning_against_differences_of_the_run():
    """The analytic velocity of a direction against a central difference between close snapshots."""
    lemma = theorem_named("min2024:lemma4")
    problem, step = deterministic_problem(np.log(1e-2)), 1e-4
    evidence = gather(lemma, problem, times=(1.6 - step, 1.6, 1.6 + step))
    before, middle, after = (next(m for m in moments(evidence) if m.time == t) for t in (1.6 - step, 1.6, 1.6 + step))
    np.testing.assert_allclose((after.directions - before.directions) / (2 * step), middle.turning, atol=1e-6)
    np.testing.assert_allclose((after.log_norms - before.log_norms) / (2 * step), middle.growth, atol=1e-6)
