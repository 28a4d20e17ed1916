"""The phase clock: which clause ends each phase, and when, on runs and on forged ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import SquareLoss
from reluflow.network import balanced_initialization
from reluflow.papers.boursier2024.theorems.neuron_states import log_lambda as log_scale_of
from reluflow.papers.boursier2024.theorems.phase_clock import parameter_distance, phase_clock, phase_plan
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import run_plan
from theorem_cases import with_each_network

SPEC = "three-point-box-worst:eta=0.09"


def _evidence(spec=SPEC, *, log_lambda=-30.0, refine=1, **parameters):
    data = load(spec)
    network = balanced_initialization(data, width=16, scale=1.0, rng=np.random.default_rng(0))
    network = network.scaled(log_lambda - log_scale_of(network))
    evidence = Evidence(TrainingProblem(data, SquareLoss(), network), parameters=parameters)
    plan = phase_plan(evidence)
    if refine > 1:
        times = np.asarray(plan.times)
        finer = np.interp(np.arange(0, len(times) - 1 + 1e-9, 1 / refine), np.arange(len(times)), times)
        plan = replace(plan, times=tuple(finer))
    return replace(evidence, trajectory=run_plan(plan, evidence.problem))


@pytest.fixture(scope="module")
def evidence():
    return _evidence()


def test_every_phase_ends_as_the_proof_says(evidence):
    clock = phase_clock(evidence)
    ends = (clock.alignment, clock.growth, clock.fitting, clock.convergence)
    assert [end.clause for end in ends] == ["time", "grown", "fitted", ""]
    assert clock.log_lambda == pytest.approx(-30.0)
    assert clock.alignment.time == pytest.approx(0.25 * 30.0 / 0.7624636, rel=1e-6)
    assert clock.alignment.time < clock.growth.time < clock.fitting.time < clock.convergence.time == np.inf


def test_times_do_not_depend_on_the_grid(evidence):
    """Linear interpolation of the logarithms between records is good to a few 1e-3 of a unit of time."""
    coarse, fine = phase_clock(evidence), phase_clock(_evidence(refine=4))
    assert coarse.growth.time == pytest.approx(fine.growth.time, abs=0.01)
    assert coarse.fitting.time == pytest.approx(fine.fitting.time, abs=0.05)


def test_eps_2_is_reached_at_tau_2(evidence):
    clock = phase_clock(evidence)
    before, after = clock.states[clock.growth.index - 1], clock.states[clock.growth.index]
    share = (clock.growth.time - before.time) / (after.time - before.time)
    logs = [s.log_square_sum(s.sets.positive) for s in (before, after)]
    assert 0.0 <= share <= 1.0
    assert np.exp(logs[0] + share * (logs[1] - logs[0])) == pytest.approx(0.04)


def test_each_clause_of_the_growth_and_fitting_phases_can_fire(evidence):
    clock = phase_clock(evidence)
    negative = clock.states[0].sets.negative
    early, late = clock.alignment.index + 1, clock.growth.index + 1
    heavier = with_each_network(
        evidence, lambda k, n: n.replace(a=np.where(negative & (k >= early), 10.0 * n.a, n.a)) if k >= early else n
    )
    assert phase_clock(heavier).growth.clause == "negative"
    turned = with_each_network(evidence, lambda k, n: n.rotated([[0.0, -1.0], [1.0, 0.0]]) if k >= late else n)
    assert phase_clock(turned).fitting.clause == "facet"
    first = int(np.flatnonzero(clock.states[0].sets.positive)[0])
    tilt = np.eye(2) + 0.3 * np.array([[0.0, -1.0], [1.0, 0.0]])

    def spread(k, network):
        w = network.w.copy()
        w[first] = tilt @ w[first] if k >= late else w[first]
        return network.replace(w=w)

    assert phase_clock(with_each_network(evidence, spread)).fitting.clause == "spread"
    bigger = np.exp(14.0)
    heavy = with_each_network(
        evidence, lambda k, n: n.replace(a=np.where(negative, bigger * n.a, n.a)) if k >= late else n
    )
    assert phase_clock(heavy).fitting.clause == "negative"


def test_each_clause_of_phase_3_can_fire(evidence):
    clock = phase_clock(evidence)
    after = clock.fitting.index + 2
    moved = with_each_network(evidence, lambda k, n: n.replace(a=1.01 * n.a) if k >= after else n)
    assert phase_clock(moved).convergence.clause == "moved"
    wide = replace(evidence, parameters={"eps_4": 10.0})
    turned = with_each_network(wide, lambda k, n: n.rotated([[0.0, -1.0], [1.0, 0.0]]) if k >= after else n)
    assert phase_clock(turned).convergence.clause == "facet"


def test_a_large_scale_does_not_follow_the_phases():
    clock = phase_clock(_evidence(log_lambda=-1.0))
    assert clock.fitting.clause != "fitted"


def test_readers_constants_move_the_times(evidence):
    earlier = phase_clock(replace(evidence, parameters={"eps_2": 0.01, "eps_3": 0.1}))
    clock = phase_clock(evidence)
    assert earlier.growth.time < clock.growth.time
    assert earlier.fitting.time < clock.fitting.time


def test_distance_between_states_is_that_of_the_parameters(evidence):
    first, last = phase_clock(evidence).states[-2:]
    theta = [np.concatenate([s.network.materialized().w.ravel(), s.network.materialized().a]) for s in (first, last)]
    assert parameter_distance(first, last) == pytest.approx(np.linalg.norm(theta[0] - theta[1]))
