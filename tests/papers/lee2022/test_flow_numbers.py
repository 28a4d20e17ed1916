"""The population flow in numbers: published values, errata, and second ways to the same."""

from __future__ import annotations

import numpy as np
import pytest

from papers.lee2022.neurons import neuron_problem
from reluflow.data.registry import load
from reluflow.papers.lee2022.single_neuron import BalancedNeuron, angle_band, magnitude_band, one_layer_flow
from reluflow.papers.lee2022.teacher_and_student import start
from reluflow.papers.lee2022.theorems.deep_flow import (
    implicit_error,
    nested_output,
    printed_antiderivative,
    travel_time,
)
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind


def test_golden_one_layer_flow():
    """Reference values of the closed form, v* = 1, phi_0 = pi/2: through the theorem's own start."""
    evidence = Evidence(neuron_problem(0, 0.1, np.pi / 2), parameters={"gap": 1e-4})
    run = one_layer_flow(start(evidence), [1.0, 5.0, 10.0])
    assert run.phi == pytest.approx([2.8425397625, 3.1237094623, 3.1402359234], abs=1e-10)
    assert run.magnitude == pytest.approx([0.3725496699, 0.9128358276, 0.9928340160], abs=1e-10)


def test_golden_turning_point():
    verdict = check(theorem_named("lee2022:sec5.2"), neuron_problem(0, 1.0, np.pi / 2), q=0)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert "predicted 0.70403209" in verdict.conclusion("turning").detail
    assert "predicted at $t$ = 1.95174" in verdict.conclusion("time").detail


def test_a_large_one_layer_start_may_fall_for_ever():
    """Erratum E11: phi_0 = 2.6, |w_0| = 2 v* never turns for q = 0, and does for q = 1."""
    theorem = theorem_named("lee2022:sec5.2")
    falls = check(theorem, neuron_problem(0, 2.0, 2.6), q=0)
    turns = check(theorem, neuron_problem(1, 2.0, 2.6), q=1)
    assert falls.kind is turns.kind is VerdictKind.HOLDS
    assert falls.conclusion("phases").detail == "0 changes of direction, 0 predicted"
    assert turns.conclusion("phases").detail == "1 changes of direction, 1 predicted"


def test_a_turn_too_late_to_be_seen_is_undecided():
    """A nearly aligned two-layer start turns where v* - v is below rounding."""
    verdict = check(theorem_named("lee2022:sec5.2"), neuron_problem(1, 2.0, 3.0), q=1)
    assert verdict.kind is VerdictKind.INCONCLUSIVE


def test_printed_upper_curve_of_theorem_3_8_fails():
    """Erratum E1: with eps_0 in both terms the curve starts at 0.0319, below v_0 = 0.1, and the flow crosses it."""
    theorem = theorem_named("lee2022:thm3.8")
    evidence = gather(theorem, neuron_problem(2, 0.1, np.pi / 2), parameters={"q": 2.0})
    run = evidence.record.flow
    printed = magnitude_band(start(evidence), run.times, printed=True)
    assert printed.upper[0] == pytest.approx(0.0319, abs=5e-5)
    assert np.min(printed.upper - run.magnitude) < -0.06
    assert theorem.check(evidence).kind is VerdictKind.HOLDS


@pytest.mark.parametrize("phi", [1.2, 2.4])
def test_equation_8_holds_late_on_one_side_of_a_threshold_angle_only(phi):
    """Erratum E2: late, the upper half holds exactly for phi_0 < pi - arctan pi = 107.66 degrees."""
    verdict = check(theorem_named("lee2022:eq8"), neuron_problem(0, 0.2, phi))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert ("it holds late" in verdict.conclusion("late").detail) == (phi < np.pi - np.arctan(np.pi))


def test_the_special_case_of_theorem_3_4_needs_a_start_below_the_teacher():
    """With R = v* the upper curve holds for |w_0| <= v* and fails for a larger start."""
    for ratio, expected in ((0.7, True), (4.0, False)):
        neuron = BalancedNeuron(0, ratio, phi=2.6)
        times = np.linspace(0.05, 20.0, 200)
        special = 2.0 * neuron.half_cotangent * np.exp(-neuron.phi * times / (2.0 * np.pi))
        assert np.all(one_layer_flow(neuron, times).gap < special) == expected


def test_vacuous_lower_curves_bind_nothing():
    neuron = BalancedNeuron(2, 0.5, phi=0.05)
    assert angle_band(neuron, [0.0, 0.1]).lower[0] < 0.0
    verdict = check(theorem_named("lee2022:thm3.9"), neuron_problem(2, 0.5, 0.05), q=2)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_antiderivative_of_theorem_3_8_by_quadrature():
    """The printed 2F1 below the fixed point gives the time that the integral gives."""
    for q in (2, 3, 5):
        by_series = 2.0 * float(printed_antiderivative(q, 0.2, 0.7) - printed_antiderivative(q, 0.6, 0.7))
        assert by_series == pytest.approx(travel_time(q, 0.2, 0.6, 0.7), rel=1e-10)


def test_a_wrong_comparison_curve_breaks_the_implicit_equation():
    times = np.linspace(0.0, 5.0, 50)
    band = magnitude_band(BalancedNeuron(2, 0.4, phi=1.5), times)
    assert implicit_error(2, 0.4, 1.0, band.upper, times) < 1e-10
    assert implicit_error(2, 0.4, 1.0, 1.001 * band.upper, times) > 1e-3


def test_nested_network_equals_the_product_form_for_positive_layers():
    X = np.random.default_rng(0).standard_normal((50, 3))
    w, v = np.array([0.3, -1.0, 0.4]), np.array([0.7, 1.3, 0.2])
    assert nested_output(w, v, X) == pytest.approx(np.prod(v) * np.maximum(X @ w, 0.0), rel=1e-13)
    assert np.all(nested_output(w, np.array([0.7, -1.3, 0.2]), X) == 0.0)


def test_the_papers_own_sample_is_judged_at_full_size():
    theorem = theorem_named("lee2022:thm3.3")
    verdict = check(theorem, example_problem(theorem, load("lee-single-neuron:layers=0")))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
