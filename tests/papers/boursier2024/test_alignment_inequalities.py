"""The differential inequalities of the alignment phase: the contract, and their closed forms against integration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from forging import (
    ALL,
    Forgeries,
    Forgery,
    in_reverse,
    scaled_clock,
    scaled_neurons,
    shifted_log_scale,
    standing_still,
    turned,
)
from papers.boursier2024.tampering import all_but_one_scaled, changed_outputs
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network import Network, dominated_initialization, unbalanced_initialization
from reluflow.papers.boursier2024.theorems import alignment_inequalities as inequalities
from reluflow.papers.boursier2024.theorems.alignment_regime import states_of
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import (
    TheoremCase,
    contract,
    own_problem,
    with_each_network,
)

EQUATION_8, EQUATION_33, APPENDIX_D3, EQUATION_32, EQUATION_36, EQUATION_39 = (
    theorem_named(f"boursier2024:{name}") for name in ("eq8", "eq33", "appD.3", "eq32", "eq36", "eq39")
)


def _unscaled(theorem):
    """Far above lambda*."""
    problem = example_problem(theorem)
    return replace(problem, network=problem.network.scaled(10.0))


def _orthogonal(theorem):
    return example_problem(theorem, "orthogonal-triple")


def _unbalanced(theorem):
    problem = own_problem(theorem)
    rng = np.random.default_rng(0)
    drawn = unbalanced_initialization(problem.dataset, width=30, scale=1.0, rng=rng)
    return replace(problem, network=drawn.replace(log_scale=problem.network.log_scale))


def _goes_back(evidence):
    """The last snapshot's neurons are those of the start."""
    last = len(evidence.run.snapshots) - 1
    return with_each_network(evidence, lambda k, network: evidence.network if k == last else network)


def _blown_up(evidence):
    """Neurons thirty times too large from the second snapshot on: their outputs bend the forces too much."""
    return with_each_network(evidence, lambda k, network: network.scaled(3.4 * (k > 0)))


def _never_ends(evidence):
    """All later snapshots show the neurons of the start."""
    return with_each_network(evidence, lambda k, network: evidence.network)


FORGERIES: Forgeries = {
    ("eq8", "equation"): Forgery(lambda e: changed_outputs(e, lambda h: h - 1.0)),
    ("appD.3", "gronwall"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("appD.3", "t_1"): Forgery(lambda e: all_but_one_scaled(e, 2.0), also=("gronwall",)),
    ("appD.3", "outputs"): Forgery(lambda e: shifted_log_scale(e, 3.0, at=0), also=("t_1",)),
    ("eq32", "integrated"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("eq33", "t_2"): Forgery(standing_still, also=("ascent",)),
    ("eq33", "ascent"): Forgery(in_reverse),
    ("eq36", "tanh"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("eq36", "exponential"): Forgery(lambda e: scaled_clock(e, 100.0), also=("tanh",)),
    ("eq39", "t_2"): Forgery(lambda e: turned(e, 0.02, at=ALL), also=("ascent",)),
    ("eq39", "ascent"): Forgery(in_reverse),
}

CASES = (
    TheoremCase(
        "boursier2024:appD.3",
        forge=_blown_up,
        failing="dominated",
        inapplicable=lambda: _unbalanced(APPENDIX_D3),
    ),
    TheoremCase(
        "boursier2024:eq8",
        forge=_blown_up,
        failing="small-scale",
        inapplicable=lambda: _unscaled(EQUATION_8),
    ),
    TheoremCase(
        "boursier2024:eq32",
        forge=_goes_back,
        failing="general-position",
        inapplicable=lambda: _orthogonal(EQUATION_32),
    ),
    TheoremCase(
        "boursier2024:eq33",
        forge=_never_ends,
        failing="settled-before-tau",
        inapplicable=lambda: example_problem(EQUATION_33),
    ),
    TheoremCase(
        "boursier2024:eq36",
        forge=_goes_back,
        failing="no-saddle",
        inapplicable=lambda: example_problem(EQUATION_36, "relu-teacher:n=2,d=4"),
    ),
    TheoremCase(
        "boursier2024:eq39",
        forge=_never_ends,
        failing="settled-before-tau",
        inapplicable=lambda: example_problem(EQUATION_39),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize("start", [-0.69, -0.2, 0.0, 0.5, 0.9])
def test_riccati_solution_agrees_with_integration(start):
    exact = inequalities.riccati(np.array([start]), np.array([0.7]), 2.5)[0]
    found = solve_ivp(lambda t, f: 0.49 - f**2, (0.0, 2.5), [start], rtol=1e-12, atol=1e-14).y[0, -1]
    assert exact == pytest.approx(found, abs=1e-10)


def test_riccati_below_the_repelling_point_bounds_nothing():
    assert inequalities.riccati(np.array([-0.8]), np.array([0.7]), 1.0)[0] == -np.inf


@pytest.mark.parametrize("name", ["obtuse-pair", "linear-teacher:n=3,d=3", "relu-teacher:n=3,d=2"])
@pytest.mark.parametrize("key", ["eq8", "eq32", "appD.3"])
def test_they_hold_on_other_data_just_below_lambda_star(key, name):
    theorem = theorem_named(f"boursier2024:{key}")
    problem = example_problem(theorem, name, seed=0)
    rng = np.random.default_rng(2)
    network = dominated_initialization(problem.dataset, width=20, scale=1e-3, rng=rng)
    verdict = check(theorem, replace(problem, network=network), at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_eq_8_is_the_derivative_of_the_alignment():
    """The rate from the forces at a snapshot agrees with a central difference of <w/a, D> along the run."""
    theorem = EQUATION_8
    problem = own_problem(theorem)
    step = 1e-4
    evidence = gather(theorem, problem, times=(0.05 - step, 0.05, 0.05 + step))
    before, here, after = (s for s in states_of(evidence) if abs(s.time - 0.05) < 2 * step)
    same = np.all(before.patterns == after.patterns, axis=1) & ~here.is_dead
    moved = np.sum(here.directions * here.bent_pulls, axis=1)
    rate = np.sum(here.pulls * here.bent_pulls, axis=1) - here.alignments * moved
    difference = (after.alignments - before.alignments) / (2 * step)
    assert np.sum(same) > 15
    assert np.max(np.abs(rate - difference)[same]) < 1e-8
    turning = here.bent_pulls - moved[:, None] * here.directions  # Eq. (31)
    turned = (after.directions - before.directions) / (2 * step)
    assert np.max(np.abs(turning - turned)[same]) < 1e-8


def test_neurons_on_the_opposite_ray_have_ended_too():
    """Eq. (34): negative neurons on rays that are minima with D in them count as ended, and reach them by t_2."""
    theorem = EQUATION_33
    angles = np.linspace(0.05, 6.2, 24)
    network = Network(np.stack([np.cos(angles), np.sin(angles)], axis=1), -np.ones(24), log_scale=-10.0)
    problem = TrainingProblem(load("obtuse-pair"), LogisticLoss(), network)
    bare = Evidence(problem, parameters=theorem.parameter_values({"alpha_0": 0.3}))
    problem = replace(problem, network=network.scaled(theorem.log_scale(bare)))
    evidence = gather(theorem, problem, parameters={"alpha_0": 0.3})
    assert np.sum(states_of(evidence)[-1].is_opposite) >= 4
    verdict = theorem.check(evidence)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


@pytest.mark.parametrize("key", ["eq8", "eq32", "appD.3", "remark1", "remark2", "thm1", "lemma13"])
def test_a_neuron_at_zero_is_named_and_not_divided_by(key):
    theorem = theorem_named(f"boursier2024:{key}")
    network = Network([[1.0, 0.0], [0.0, 0.0]], [1.0, 0.0], log_scale=-10.0)
    verdict = check(theorem, TrainingProblem(load("three-points"), SquareLoss(), network))
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert "nonzero" in verdict.failing_hypotheses


def test_settling_is_faster_than_its_bound_by_far():
    """On the three points the bound 74.57 is conservative: the last neuron with Condition 1 settles before 3.3."""
    verdict = check(EQUATION_33, example_problem(EQUATION_33), at_own_scale=True)
    assert verdict.conclusion("t_2").bound == pytest.approx(74.57, abs=5e-3)
    assert 0.5 < verdict.conclusion("t_2").measured < 3.3
