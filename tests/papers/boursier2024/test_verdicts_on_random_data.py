"""What a scan over random data found: `fails` of proven results, each with what was wrong."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.papers.boursier2024.data import three_point_box
from reluflow.theory.check import check, example_problem
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind


def test_a_fitted_rate_is_ours_and_does_not_refute_theorem_2():
    """Theorem 2 has no rate. A slope fitted to the run, 0.390426, missed sigma_min |beta*| = 0.390677: `fails`."""
    theorem = theorem_named("boursier2024:thm2")
    data = Dataset([[-0.9025, 1.0975], [0.0975, 1.0975], [0.9999025, 1.0]], [1.0, 0.00195, 1.0975])
    verdict = check(theorem, example_problem(theorem, data, seed=205), at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.conclusion("rate").holds is False
    assert "also measured, not in the paper: rate is not so" in verdict.why


@pytest.mark.parametrize("key", ["lemma12", "thm1", "lemma13"])
def test_the_directions_orthogonal_to_all_samples_are_a_dead_saddle(key):
    """With fewer samples than dimensions and labels of both signs G takes both signs around them; none was counted."""
    theorem = theorem_named(f"boursier2024:{key}")
    data = Dataset([[2.036, 0.955, 0.593], [-1.694, 0.129, -1.618]], [-0.5, 1.927])
    verdict = check(theorem, example_problem(theorem, data), at_own_scale=True)
    assert verdict.kind is VerdictKind.NOT_APPLICABLE, verdict.why
    assert "no-dead-saddle" in verdict.failing_hypotheses


@pytest.mark.parametrize("x", [-1.5, 0.4])
@pytest.mark.parametrize("y", [-0.7, 1.2])
def test_example_1_leaves_to_the_side_of_the_sample(x, y):
    """For x < 0 the run that should leave was sent to the side where the neuron is dead: `fails`."""
    theorem = theorem_named("boursier2024:example1")
    verdict = check(theorem, example_problem(theorem, Dataset([[x]], [y])))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_theorem_2_speaks_of_the_box_of_the_papers_figure():
    """For 0.0977 <= eta < 1/6 it was not applicable, on the paper's own Figure 1; Assumption 5 itself decides there."""
    theorem, remark = theorem_named("boursier2024:thm2"), theorem_named("boursier2024:remark3")
    kinds = set()
    for seed in range(6):
        data = three_point_box(0.12, np.random.default_rng(seed))
        problem = example_problem(theorem, data, seed=seed)
        verdict, beyond = (check(result, problem, at_own_scale=True) for result in (theorem, remark))
        kinds.add(verdict.kind)
        assert verdict.kind is not VerdictKind.FAILS
        if verdict.kind is VerdictKind.NOT_APPLICABLE:
            assert verdict.failing_hypotheses == ("boursier-a5",)
        else:
            assert beyond.failing_hypotheses == ("outside-box",)
    assert VerdictKind.HOLDS in kinds
