"""Every theorem can be asked about any problem: it may not apply, but it never breaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import ReluflowError
from reluflow.losses import ExponentialLoss, LogisticLoss, SquareLoss
from reluflow.network import Network, initialization_named, neuron_rng
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named, theorems

RNG = np.random.default_rng(0)


def _problem(dataset, loss, *, leak=0.0, width=6, init="balanced", scale="1e-3"):
    network = initialization_named(init)(dataset, width=width, scale=scale, rng=neuron_rng(0), leak=leak)
    return TrainingProblem(dataset, loss, network)


PROBLEMS = {
    "classes that cancel": lambda: _problem(
        Dataset([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]], [1, 1, -1, -1]), ExponentialLoss(reduction="sum")
    ),
    "labels all zero": lambda: _problem(Dataset([[1.0, 0.5], [0.2, 1.0], [-1.0, 0.3]], [0.0] * 3), SquareLoss()),
    "one sample": lambda: _problem(Dataset([[0.5, 1.0]], [2.0]), SquareLoss()),
    "one classified sample": lambda: _problem(Dataset([[0.5, 1.0]], [1]), ExponentialLoss(reduction="sum")),
    "one class": lambda: _problem(Dataset(RNG.normal(size=(5, 2)), np.ones(5)), LogisticLoss(), leak=0.5),
    "exclusive or": lambda: _problem(
        Dataset([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]], [1, 1, -1, -1]), LogisticLoss(), leak=0.5
    ),
    "collinear samples": lambda: _problem(
        Dataset([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0]], [1.0, 2.5, 0.3]), SquareLoss()
    ),
    "one input": lambda: _problem(Dataset([[0.5], [-0.3], [1.2]], [1, -1, 1]), LogisticLoss(), leak=0.3),
    "an orthogonal triple": lambda: _problem(load("orthogonal-triple"), SquareLoss(), init="unbalanced"),
    "a linear activation": lambda: _problem(load("min-toy"), LogisticLoss(), leak=1.0),
    "a neuron that is zero": lambda: TrainingProblem(
        load("min-toy"), ExponentialLoss(reduction="sum"), Network(w=[[0.0, 0.0], [1.0, 1.0]], a=[0.0, 1.0])
    ),
    "only negative neurons": lambda: TrainingProblem(
        load("min-toy"), ExponentialLoss(reduction="sum"), Network(w=[[0.3, 0.1], [1.0, 1.0]], a=[-1.0, -1.0])
    ),
    "more dimensions than samples": lambda: _problem(
        Dataset(RNG.normal(size=(3, 8)), [1, -1, 1]), LogisticLoss(), leak=0.5, init="he"
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_hypotheses_can_be_judged(name):
    problem = PROBLEMS[name]()
    for theorem in theorems():
        evidence = Evidence(problem, parameters=theorem.parameter_values({}))
        try:
            refused = theorem.preliminary(evidence)
        except ReluflowError:
            continue  # a sentence: the constants are out of reach for these data
        except Exception as error:
            pytest.fail(f"{theorem.key}: {error!r}")
        assert refused is None or refused.failing_hypotheses, theorem.key


@pytest.mark.parametrize("name", ["one classified sample", "exclusive or", "collinear samples", "an orthogonal triple"])
@pytest.mark.parametrize(
    "key", ["boursier2024:thm1", "boursier2024:thm3", "lyu2021:thm3.1", "min2024:lemma3", "phuong2021:lemma3"]
)
def test_odd_problems_get_a_verdict(key, name):
    verdict = check(theorem_named(key), PROBLEMS[name](), at_own_scale=True)
    assert verdict.kind in ("holds", "not-applicable", "inconclusive"), verdict.why


@pytest.mark.parametrize(
    ("key", "shift", "expected"),
    [
        ("boursier2024:lemma4", -400.0, "inconclusive"),
        ("lyu2021:lemmaG.5", -400.0, "inconclusive"),
        ("lyu2021:lemmaG.7", -400.0, "inconclusive"),
        ("lyu2021:lemmaG.7", -1500.0, "inconclusive"),
        ("lyu2021:appF.1", -1500.0, "holds"),
        ("phuong2021:lemmaA.3", -400.0, "holds"),
        ("phuong2021:lemmaA.4", -1500.0, "holds"),
    ],
)
def test_scales_far_below_a_theorems_own_refute_nothing(key, shift, expected):
    """These said `fails`: bounds of e^-108 or 1e-176 were held against rounding, or squares of weights underflowed."""
    theorem = theorem_named(key)
    problem = example_problem(theorem)
    own = theorem.log_scale(Evidence(problem, parameters=theorem.parameter_values({}))) if theorem.log_scale else 0.0
    verdict = check(theorem, replace(problem, network=problem.network.scaled(own + shift)))
    assert verdict.kind == expected, verdict.why
