"""What a scan over random data found in results of Phuong & Lampert, each with what was wrong."""

from __future__ import annotations

from reluflow.theory.check import check, example_problem
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from scanning import judged


def test_points_drawn_on_a_hyperplane_lie_on_it():
    """A w nearly along its sample was projected once, which left 7e-12 of it: Lemma A.2 was 6e-12 off, `fails`."""
    verdict = judged(theorem_named("phuong2021:lemmaA.2"), "separable", 1004)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_no_exponent_is_fitted_to_one_point():
    """A run that was cut short had one late state, and the slope through it was 0/0 with a warning of NumPy."""
    theorem = theorem_named("phuong2021:sec3.1")
    verdict = check(theorem, example_problem(theorem), at_own_scale=True, max_steps=150)
    assert verdict.kind is VerdictKind.INCONCLUSIVE
    assert not verdict.predictions
