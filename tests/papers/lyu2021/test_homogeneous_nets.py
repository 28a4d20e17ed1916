"""Homogeneous networks through the theorem contract: scaling, Euler, (M) and (P), maximisers of G."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    rotation,
    with_record,
)
from papers.lyu2021.tampering import best_claimed, networks_scaled, outputs_scaled, scaled, stretched
from reluflow.certificates.hard_margin import linear_separator
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.losses import SquareLoss
from reluflow.papers.lyu2021.hinted_data import max_margin_separator
from reluflow.papers.lyu2021.theorems.homogeneous_nets import FeasiblePoints, OutputGradients, StatedMaximiser
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


def feasible_scaled(evidence: Evidence) -> Evidence:
    """The networks rescaled to a smallest margin above 1."""
    return with_record(evidence, feasible=tuple(scaled(t, 1.01) for t in evidence.recorded(FeasiblePoints).feasible))


def maximiser_stretched(evidence: Evidence) -> Evidence:
    maximiser = evidence.recorded(FeasiblePoints).maximiser
    assert maximiser is not None
    return with_record(evidence, maximiser=stretched(maximiser))


def gradients_changed(evidence: Evidence, change: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    gradients = evidence.recorded(OutputGradients).gradients
    return with_record(evidence, gradients=tuple(change(gradient) for gradient in gradients))


def direction_turned(evidence: Evidence) -> Evidence:
    direction = evidence.recorded(StatedMaximiser).direction
    return with_record(evidence, direction=rotation(0.1, direction.size) @ direction)


def direction_scaled(evidence: Evidence, factor: float) -> Evidence:
    return with_record(evidence, direction=factor * evidence.recorded(StatedMaximiser).direction)


def direction_leaning(evidence: Evidence) -> Evidence:
    """A vector orthogonal to mu-bar added, which leaves G as it is."""
    direction = evidence.recorded(StatedMaximiser).direction
    return with_record(evidence, direction=direction + 0.2 * rotation(0.5 * np.pi, direction.size) @ direction)


FORGERIES: Forgeries = {
    ("data-scaling", "outputs"): Forgery(lambda e: outputs_scaled(e, 1.01), also=("velocities", "margins")),
    ("data-scaling", "velocities"): Forgery(lambda e: outputs_scaled(e, 1.01), also=("outputs", "margins")),
    ("data-scaling", "margins"): Forgery(lambda e: networks_scaled(e, 30.0), also=("outputs", "velocities")),
    ("problemM", "identity"): Forgery(feasible_scaled),
    ("problemM", "solves-P"): Forgery(lambda e: best_claimed(e, upper=10.0)),
    ("problemM", "beats-others"): Forgery(maximiser_stretched, also=("solves-P",)),
    ("thmB.2", "homogeneous"): Forgery(lambda e: gradients_changed(e, lambda g: g + 1e-6)),
    ("thmB.3", "euler"): Forgery(lambda e: gradients_changed(e, lambda g: 10.0 * g)),
    ("lemmaB.4", "maximiser"): Forgery(direction_turned, also=("gradient",)),
    ("lemmaB.4", "gradient"): Forgery(direction_leaning),
    ("lemmaB.5", "maximiser"): Forgery(direction_turned, also=("gradient", "growth-rate")),
    ("lemmaB.5", "gradient"): Forgery(direction_leaning),
    ("lemmaB.5", "growth-rate"): Forgery(lambda e: direction_scaled(e, 10.0), also=("gradient",)),
}

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


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


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
