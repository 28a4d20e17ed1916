"""The plans of the population model: every kind of run against an independent way to the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from papers.lee2022.neurons import neuron_problem
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.plans import (
    BalancedFlowPlan,
    BracketedFlowPlan,
    ComparisonPlan,
    DescentPlan,
    EulerPlan,
    UnbalancedFlowPlan,
    VectorFlowPlan,
    flow_times,
)
from reluflow.papers.lee2022.single_neuron import BalancedNeuron, balanced_flow, comparison_solution
from reluflow.theory.evidence import Evidence
from reluflow.theory.plan import RunOptions


def evidence(q, ratio=0.4, phi=1.3, teacher=1.2):
    return Evidence(neuron_problem(q, ratio, phi, teacher=teacher), parameters={"q": float(q)})


def record_of(plan, evidence):
    return plan.run(evidence, lambda _: None, RunOptions()).record


@pytest.mark.parametrize("q", [0, 1, 3])
def test_quadrature_and_integrator_agree(q):
    run = record_of(BalancedFlowPlan(1e-3), evidence(q))
    other = balanced_flow(run.start, run.times)
    assert run.magnitude == pytest.approx(other.magnitude, rel=1e-9)
    assert run.gap == pytest.approx(other.gap, abs=1e-9)


@pytest.mark.parametrize("q", [0, 1, 2])
def test_all_coordinates_and_the_plane_agree(q):
    run = record_of(VectorFlowPlan(0.05, rtol=1e-11), evidence(q))
    planar = balanced_flow(BalancedNeuron(q, 0.48, phi=1.3, teacher_magnitude=1.2), run.times)
    assert run.magnitude == pytest.approx(planar.magnitude, rel=1e-8)
    assert run.gap == pytest.approx(planar.gap, abs=1e-8)
    assert run.v == pytest.approx(np.repeat(planar.magnitude[:, None], q, axis=1), rel=1e-8)


def test_an_unbalanced_start_keeps_its_imbalance():
    run = record_of(UnbalancedFlowPlan(1.5, 5.0), evidence(2)).flow
    assert run.v[0] == pytest.approx([0.48 * 1.5, 0.48 / 1.5], rel=1e-14)
    assert np.max(np.abs(run.balance - run.balance[0])) < 1e-9


def test_small_steps_of_descent_follow_the_flow():
    run = record_of(DescentPlan(1e-4, 20_000), evidence(1))
    flow = balanced_flow(run.start, 1e-4 * run.steps)
    assert run.steps[:3].tolist() == [0, 1, 2]
    assert run.magnitude == pytest.approx(flow.magnitude, rel=1e-3)
    assert run.gap == pytest.approx(flow.gap, abs=1e-3)


def test_euler_converges_to_the_comparison_solution_at_first_order():
    run = record_of(EulerPlan(0.02, 5.0), evidence(1))
    errors = [
        np.max(np.abs(curve - comparison_solution(1, run.initial, run.level, step * np.arange(curve.size))))
        for step, curve in zip(run.step_sizes, run.curves, strict=True)
    ]
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("q", [1, 2])
def test_integrated_comparison_curves_are_the_elementary_ones(q):
    run = record_of(ComparisonPlan(1e-3), evidence(q))
    exact = comparison_solution(q, run.start.magnitude, run.start.teacher_power, run.times)
    assert run.upper == pytest.approx(exact, rel=1e-9)


def test_times_start_at_zero_increase_and_reach_the_gap():
    neuron = BalancedNeuron(2, 0.3, phi=1.0)
    times = flow_times(neuron, 1e-2)
    assert times[0] == 0.0
    assert np.all(np.diff(times) > 0.0)
    assert balanced_flow(neuron, times).gap[-1] < 1e-9


def test_the_curves_beside_a_flow_are_at_its_times():
    run = record_of(BracketedFlowPlan(1e-3), evidence(2))
    assert np.all(run.curves.lower[1:] < run.flow.magnitude[1:])
    assert run.curves.upper == pytest.approx(
        comparison_solution(2, run.flow.start.magnitude, run.flow.start.teacher_power, run.flow.times), rel=1e-12
    )


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (BalancedFlowPlan(3.0), "`gap` must lie between 0 and the gap at the start"),
        (DescentPlan(1e-9, 1e12), "between 1 and 20000000 steps"),
    ],
)
def test_refusals(plan, words):
    with pytest.raises(InvalidInputError, match=words):
        record_of(plan, evidence(1))
