"""Appendix I.1.1 for ten leaks with its table, the family beyond it, and I.1.2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    with_record,
)
from papers.lyu2021.tampering import Change, best_claimed, scaled, stretched
from reluflow.certificates.best_neuron import NeuronOracle
from reluflow.certificates.kkt import kkt_certificate, normalized_margin
from reluflow.certificates.limits.directions import unit_norm
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.errors import InvalidInputError
from reluflow.network import Network
from reluflow.papers.lyu2021.data import figure1_left, symmetric_angle
from reluflow.papers.lyu2021.theorems.closed_form_kkt import (
    DirectionAndBest,
    closed_form_direction,
    cosine_of,
)
from reluflow.papers.lyu2021.theorems.middle_points import NeuronAndBest, middle_points
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract

APPENDIX_I_1_1, APPENDIX_I_1_2 = (theorem_named(f"lyu2021:{name}") for name in ("appI.1.1", "appI.1.2"))


def closed_form_changed(evidence: Evidence, change: Change) -> Evidence:
    direction = evidence.recorded(DirectionAndBest).direction
    return with_record(evidence, direction=replace(direction, network=change(direction.network)))


def closed_form_claimed(evidence: Evidence, *, shift: float = 0.0, factor: float = 1.0) -> Evidence:
    """Other multipliers, or another margin."""
    direction = evidence.recorded(DirectionAndBest).direction
    claimed = replace(direction, multipliers=direction.multipliers + shift, margin=factor * direction.margin)
    return with_record(evidence, direction=claimed)


def best_neuron_changed(evidence: Evidence, change: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    return with_record(evidence, w=change(evidence.recorded(NeuronAndBest).w))


def leaning(w: np.ndarray) -> np.ndarray:
    return w + 3e-9 * np.eye(w.size)[1]


FORGERIES: Forgeries = {
    ("appI.1.1", "stated"): Forgery(lambda e: closed_form_claimed(e, shift=-30.0)),
    ("appI.1.1", "kkt"): Forgery(lambda e: closed_form_changed(e, stretched), also=("stated", "margin")),
    ("appI.1.1", "margin"): Forgery(lambda e: closed_form_claimed(e, factor=1.1)),
    ("appI.1.1", "suboptimal"): Forgery(lambda e: best_claimed(e, margin=0.1)),
    ("appI.1.1", "nonlinear"): Forgery(lambda e: closed_form_changed(e, lambda n: scaled(n, 0.001))),
    ("appI.1.2", "neuron"): Forgery(lambda e: best_neuron_changed(e, leaning), also=("kkt",)),
    ("appI.1.2", "kkt"): Forgery(lambda e: best_neuron_changed(e, lambda w: 10.0 * w), also=("neuron",)),
    ("appI.1.2", "suboptimal"): Forgery(lambda e: best_claimed(e, margin=0.1)),
}

CASES = (
    TheoremCase(
        "lyu2021:appI.1.1",
        forge=lambda evidence: with_record(evidence, direction=closed_form_direction(evidence.leak, 0.95)),
        failing="six-points",
        inapplicable=lambda: example_problem(APPENDIX_I_1_1, "lyu-hinted"),
    ),
    TheoremCase(
        "lyu2021:appI.1.2",
        forge=lambda evidence: with_record(evidence, w=np.array([1.0, 0.0, 0.0])),
        failing="middle",
        inapplicable=lambda: example_problem(APPENDIX_I_1_2, "lyu-hinted"),
    ),
)


test_holds_and_a_forged_direction_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def _six_points(cosine):
    cotangent = cosine / np.sqrt(1.0 - cosine**2)
    positive = np.array([[1.0, cotangent], [1.0, 0.0], [1.0, -cotangent]])
    return Dataset(np.vstack([positive, -positive]), np.repeat([1.0, -1.0], 3))


@pytest.mark.parametrize("leak", [0.0, 0.01, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.99])
def test_ten_leaks(leak):
    """The stated network and multipliers satisfy the KKT equations to rounding, and a linear program agrees."""
    data, direction = figure1_left(leak), closed_form_direction(leak)
    assert direction.residual(data.X) < 2e-14
    assert direction.slope == pytest.approx(leak, abs=1e-13)
    assert kkt_certificate(direction.network, data).residual < 1e-12
    assert data.y * direction.network.outputs(data.X) == pytest.approx(np.ones(6), rel=1e-12)
    assert normalized_margin(direction.network, data) == pytest.approx(direction.margin, rel=1e-12)
    assert direction.margin < 0.25 * (1.0 + leak)


@pytest.mark.parametrize(
    ("leak", "degrees", "cotangent", "first", "fifth", "margin", "best"),
    [
        (0.0, 45.0, 1.0, 0.70711, 1.0, 0.207107, 0.25),
        (0.1, 40.3923, 1.17532, 0.61262, 0.87748, 0.237788, 0.275),
        (0.25, 34.2888, 1.46656, 0.51219, 0.74391, 0.282761, 0.3125),
        (0.5, 25.3015, 2.11537, 0.40407, 0.59593, 0.356107, 0.375),
        (0.75, 16.4512, 3.38654, 0.33450, 0.49825, 0.428358, 0.4375),
        (0.9, 9.9542, 5.69788, 0.30338, 0.45392, 0.471398, 0.475),
    ],
)
def test_the_table(leak, degrees, cotangent, first, fifth, margin, best):
    cosine, cot = symmetric_angle(leak)
    direction = closed_form_direction(leak)
    assert np.degrees(np.arccos(cosine)) == pytest.approx(degrees, abs=6e-5)
    assert cot == pytest.approx(cotangent, abs=6e-6)
    assert direction.multipliers[[0, 4]] == pytest.approx([first, fifth], abs=6e-6)
    assert direction.margin == pytest.approx(margin, abs=6e-7)
    assert 0.25 * (1.0 + leak) == best


def test_the_paper_s_equation_has_the_spurious_root_one():
    """(2 sin^2 b + cos b) a^2 - (1 + cos b) a + cos 2b vanishes at a = leak and, for every b, at a = 1."""
    for leak in (0.1, 0.5, 0.9):
        c, _ = symmetric_angle(leak)
        sine = 1.0 - c * c
        polynomial = np.array([2.0 * sine + c, -(1.0 + c), 2.0 * c * c - 1.0])
        assert np.polyval(polynomial, leak) == pytest.approx(0.0, abs=1e-14)
        assert np.polyval(polynomial, 1.0) == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("leak", [0.0, 0.3, 0.5, 0.8])
def test_the_family_goes_on_for_larger_cosines_and_stops_at_the_smallest(leak):
    smallest, _ = symmetric_angle(leak)
    for cosine in (smallest + 0.3 * (1.0 - smallest), smallest + 0.8 * (1.0 - smallest)):
        direction, data = closed_form_direction(leak, cosine), _six_points(cosine)
        assert leak <= direction.slope <= 1.0
        assert direction.residual(data.X) < 1e-12
        assert kkt_certificate(direction.network, data).residual < 1e-11
        verdict = check(APPENDIX_I_1_1, _with_leak(data, leak))
        assert verdict.kind is VerdictKind.HOLDS, verdict.why
    below = smallest - 0.02
    assert kkt_certificate(closed_form_direction(leak, below).network, _six_points(below)).residual > 1e-3
    assert check(APPENDIX_I_1_1, _with_leak(_six_points(below), leak)).failing_hypotheses == ("six-points",)


def _with_leak(data, leak):
    problem = example_problem(APPENDIX_I_1_1, data)
    return replace(problem, network=problem.network.replace(leak=leak))


def test_the_residual_just_below_the_smallest_cosine():
    """The largest entry of the residual is 1.6e-2 of |theta| at c* - 0.02 for leak 1/2, whatever the multipliers."""
    cosine = symmetric_angle(0.5)[0] - 0.02
    data, network = _six_points(cosine), unit_norm(closed_form_direction(0.5, cosine).network)
    found = kkt_certificate(network, data)
    pull = found.multipliers * data.y
    left_w = network.w - network.a[:, None] * ((found.slopes * pull) @ data.X)
    left_a = network.a - (found.slopes * (network.w @ data.X.T)) @ pull
    assert max(np.max(np.abs(left_w)), np.max(np.abs(left_a))) == pytest.approx(1.6e-2, abs=5e-4)


def test_the_certificate_of_suboptimality():
    """M(lambda) = 1.106107 at leak 1/2, attained by the positive neuron along (1, 0)."""
    data, direction = figure1_left(0.5), closed_form_direction(0.5)
    gains = NeuronOracle(data.X, data.y, 0.5).gains(direction.multipliers * data.y)
    assert gains.upper == pytest.approx(1.106107, abs=6e-7)
    best = int(np.argmax(gains.values))
    assert gains.sides[best] == 0
    assert gains.vectors[best] / gains.values[best] == pytest.approx([1.0, 0.0], abs=1e-9)


def test_leaks_and_cosines_are_checked():
    with pytest.raises(InvalidInputError, match="`cosine` must lie in"):
        closed_form_direction(0.5, 1.0)
    assert cosine_of(load("lyu-hinted").X, load("lyu-hinted").y) is None
    assert cosine_of(figure1_left(0.5).X * 2.0, figure1_left(0.5).y) is None


@pytest.mark.parametrize(
    ("name", "half", "best"), [("lyu-middle", 0.11180, 0.14895), ("lyu-middle-sharp", 0.05590, 0.10592)]
)
def test_the_middle_instances(name, half, best):
    verdict = check(APPENDIX_I_1_2, example_problem(APPENDIX_I_1_2, name))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    evidence = Evidence(example_problem(APPENDIX_I_1_2, name))
    assert 0.5 * evidence.facts.leaky.positive.margin == pytest.approx(half, abs=6e-6)
    ratio = verdict.conclusion("suboptimal").measured
    assert ratio == pytest.approx(best / half, rel=2e-4)


def test_the_condition_for_the_middle_set_is_exact():
    """Just outside leak eps eps' >= eps^2 + (1 + leak) c^2 the best neuron leans on a negative sample as well."""
    for offset, is_inside in ((0.1, True), (0.22, False)):
        data = load("lyu-middle")
        X = data.X.copy()
        X[:, 2] = offset
        points = middle_points(X, data.y, 0.5)
        assert (points.attained >= points.required) is is_inside
        evidence = Evidence(example_problem(APPENDIX_I_1_2, Dataset(X, data.y)))
        stated = np.array([0.2, 0.0, offset]) / np.hypot(0.2, offset)
        residual = kkt_certificate(Network([stated], [1.0], leak=0.5), evidence.dataset).residual
        assert (residual < 1e-9) is is_inside
