"""Lemmas 1 to 4, 10 and (4): the contract, every leak and loss, and the loss for which they fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import with_record
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
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.papers.min2024.theorems.moving_neurons import force_excess, moments
from reluflow.theory.check import check
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


CASES = (
    TheoremCase("min2024:lemma1", everywhere(_triple), "small-scale", large_scale),
    TheoremCase("min2024:lemma2", _larger_outputs, "unit-slope", plain_logistic),
    TheoremCase("min2024:lemma3", everywhere(_grown), "summed-loss", averaged),
    TheoremCase("min2024:lemma4", everywhere(_triple), "balanced", unbalanced),
    TheoremCase("min2024:lemma10", everywhere(_triple), "min-loss", plain_logistic),
    TheoremCase("min2024:eq4", _stuck_sweep, "balanced", unbalanced),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES)


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
