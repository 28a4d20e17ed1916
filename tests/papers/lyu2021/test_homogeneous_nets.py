"""Homogeneous networks through the theorem contract: scaling, Euler, (M) and (P), maximisers of G."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import with_record
from reluflow.certificates.hard_margin import linear_separator
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.losses import SquareLoss
from reluflow.papers.lyu2021.hinted_data import max_margin_separator
from reluflow.papers.lyu2021.theorems.unit_ball import State, states
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract


def _on(key: str, dataset: str):
    return lambda: example_problem(theorem_named(key), dataset)


def _exclusive_or():
    corners = Dataset([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]], [1.0, 1.0, -1.0, -1.0])
    return example_problem(theorem_named("lyu2021:problemM"), corners)


def _with_square_loss(key: str):
    return lambda: replace(example_problem(theorem_named(key)), loss=SquareLoss())


def _shifted_gradients(evidence: Evidence) -> Evidence:
    return with_record(evidence, gradients=tuple(gradient + 1e-6 for gradient in evidence.record.gradients))


def _worse(evidence: Evidence):
    """The rescaled maximiser with one neuron longer than it should be."""
    best = evidence.record.maximiser
    return best.replace(w=best.w * np.array([[1.1], [1.0]]))


def _tilted(evidence: Evidence):
    return np.array([np.cos(0.01), np.sin(0.01)])


CASES = (
    TheoremCase(
        "lyu2021:data-scaling",
        forge=lambda e: with_record(e, states=tuple(State(s.network, 1.001 * s.outputs) for s in states(e))),
        failing="loss",
        inapplicable=_with_square_loss("lyu2021:data-scaling"),
    ),
    TheoremCase(
        "lyu2021:problemM",
        forge=lambda e: with_record(e, maximiser=_worse(e)),
        failing="linearly-separable",
        inapplicable=_exclusive_or,
    ),
    TheoremCase("lyu2021:thmB.2", forge=_shifted_gradients, universal="of every such network"),
    TheoremCase("lyu2021:thmB.3", forge=_shifted_gradients, universal="of every such network"),
    TheoremCase(
        "lyu2021:lemmaB.4",
        forge=lambda e: with_record(e, direction=_tilted(e)),
        failing="symmetric",
        inapplicable=_on("lyu2021:lemmaB.4", "lyu-hinted"),
    ),
    TheoremCase(
        "lyu2021:lemmaB.5",
        forge=lambda e: with_record(e, direction=_tilted(e)),
        failing="symmetric",
        inapplicable=_on("lyu2021:lemmaB.5", "lyu-hinted"),
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES)


@pytest.mark.parametrize("factor", [0.01, 0.5, 300.0])
def test_the_scaling_law_holds_for_every_factor(factor):
    theorem = theorem_named("lyu2021:data-scaling")
    assert check(theorem, example_problem(theorem), factor=factor).kind is VerdictKind.HOLDS


def test_the_maximiser_of_the_potential_in_three_dimensions():
    theorem = theorem_named("lyu2021:lemmaB.5")
    assert check(theorem, example_problem(theorem, "symmetric-separable:n=8,d=3")).kind is VerdictKind.HOLDS


@pytest.mark.parametrize(
    "name", ["lyu-symmetric", "lyu-hinted", "symmetric-separable:n=10,d=4", "lyu-gaussian:n=20,d=5"]
)
def test_the_separator_is_the_point_of_least_norm_in_the_hull(name):
    """Def. 3.3 by non-negative least squares and by the search that gives multipliers and a gap."""
    data = load(name, seed=1)
    direction, margin = max_margin_separator(data)
    found = linear_separator(data)
    assert found.margin == pytest.approx(margin, rel=1e-9)
    np.testing.assert_allclose(found.w, direction, atol=1e-7)
    np.testing.assert_allclose(found.multipliers @ (data.X * data.y[:, None]), found.margin * found.w, atol=1e-8)
