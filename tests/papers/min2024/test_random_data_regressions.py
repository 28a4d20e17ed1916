"""Verdicts that were `fails` of proven results on ordinary random data, or took minutes, each with what was wrong."""

from __future__ import annotations

import numpy as np

from papers.min2024.cases import drawn_problem
from reluflow.data.dataset import Dataset
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind

FLAT = Dataset(
    [[-1.1041, -0.11, -0.0106], [1.3748, -0.323, -0.0715], [-1.4171, -0.403, -0.0267]], [-1.0, 1.0, -1.0]
)  # of classes that pull by 2.6 and 1.4


def test_an_invariant_is_not_read_off_weights_whose_squares_underflow():
    """App. D.3 said that W_-^T W_- - a a^T changes by all of itself: its weights were 1e-170, their squares 0."""
    theorem = theorem_named("min2024:appD.3")
    verdict = check(theorem, example_problem(theorem, FLAT, seed=403), at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.conclusion("invariant").measured < 1e-12


def test_theorem_1_is_as_fast_at_a_tiny_scale_as_at_any():
    """At log eps = -60,000 one class waited 100,000 steps, over a minute, while the other grew; now they run apart."""
    theorem = theorem_named("min2024:thm1")
    data = Dataset([[1.0, -0.05, -0.05], [-0.2, -0.9, -0.4], [0.5, 0.6, 0.1]], [1.0, -1.0, 1.0])
    problem = drawn_problem(data, width=9)
    assert theorem.log_scale(Evidence(problem, parameters=theorem.parameter_values({}))) < -40_000.0
    verdict = check(theorem, problem, at_own_scale=True, max_steps=300)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.conclusion("low-rank").holds


def test_directions_of_light_neurons_are_those_of_the_snapshot():
    """Beside a class that had fitted, the other kept the directions of 35,000 time units before, 83 degrees off x_-."""
    theorem = theorem_named("min2024:cosine-quarter")
    data = Dataset(
        [
            [-0.43274693, 0.54304041],
            [0.59466672, -0.76363577],
            [-0.63741921, 0.77173533],
            [-0.33547828, 0.49855881],
            [-0.89216907, 1.18392937],
        ],
        [1.0, -1.0, 1.0, 1.0, 1.0],
    )
    verdict = check(theorem, drawn_problem(data, width=11, seed=10), at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.conclusion("cosine").measured > 0.99


def test_a_stable_rank_that_has_not_closed_in_by_the_end_is_no_failure():
    """The exponent of the approach in log t is ours, of very late times; on four of 60 sets it failed at t = 1e260."""
    conclusion = next(c for c in theorem_named("min2024:stable-rank").conclusions if c.name == "approach")
    assert conclusion.is_asymptotic


def test_where_neurons_slide_there_is_no_caratheodory_solution():
    """App. E.1 was judged without Assumption 1, where the right-hand side with slope 0 on a wall is not followed."""
    data = Dataset(
        [
            [0.8511, 0.7293, -0.2206],
            [1.0689, -0.7199, 0.9025],
            [0.9466, 0.2252, -1.427],
            [-0.0358, 1.3511, 1.2334],
            [-0.6512, 0.9463, -0.7727],
        ],
        [-1.0, 1.0, -1.0, -1.0, -1.0],
    )
    verdict = check(theorem_named("min2024:appE.1"), drawn_problem(data, width=4, scale="1e-8"))
    assert verdict.failing_hypotheses == ("orthogonally-separable-strict",)


def test_the_quadrature_of_appendix_E_1_knows_how_fast_neurons_grow():
    """Pieces of 0.2 left a relative residual of 1.3e-10 to 8e-10 on samples of length 3, where 1e-10 is allowed."""
    theorem = theorem_named("min2024:appE.1")
    rng = np.random.default_rng(5)
    y = np.array([1.0, -1.0, 1.0, -1.0])
    data = Dataset(y[:, None] * (3.0 * np.abs(rng.standard_normal((4, 3))) + 0.3), y)
    verdict = check(theorem, example_problem(theorem, data))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.conclusion("residual").measured < 1e-11
