"""Phase I through the theorem contract: the orders, the explicit constants, erratum E1's factor 2."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    in_sweep,
    scaled_neurons,
    shifted_log_scale,
    turned,
    with_record,
)
from reluflow.data.dataset import Dataset
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.train import train
from reluflow.papers.lyu2021.theorems.phase_one import (
    DrawnEmbeddings,
    LinearisedFlow,
    phase_one_constant,
    phase_one_error,
)
from reluflow.papers.lyu2021.theorems.symmetric_flow import relative_linear_flow, symmetric_flow
from reluflow.papers.lyu2021.theorems.unit_ball import m_norm
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


def _on_hinted(key: str):
    return lambda: example_problem(theorem_named(key), "lyu-hinted")


def _scaled(evidence, log_factor: float):
    return with_each_network(evidence, lambda k, network: network.scaled(log_factor))


def _without_mean():
    return example_problem(theorem_named("lyu2021:lemmaE.7"), Dataset([[1.0, 0.0], [-1.0, 0.0]], [1.0, 1.0]))


def _too_large_linear_flow(evidence):
    flow = symmetric_flow(evidence)
    rows = flow.shape * np.sqrt(len(flow.shape))
    return with_record(
        evidence, rows=tuple(3.0 * relative_linear_flow(rows, flow.mean_direction, k) for k in range(13))
    )


def linearised_larger(evidence: Evidence) -> Evidence:
    return with_record(evidence, rows=tuple(10.0 * rows for rows in evidence.recorded(LinearisedFlow).rows))


def one_sign_drawn(evidence: Evidence) -> Evidence:
    return with_record(evidence, b=np.abs(evidence.recorded(DrawnEmbeddings).b))


FORGERIES: Forgeries = {
    ("eq3", "boost"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("eq3", "direction"): Forgery(lambda e: turned(e, 0.02, at=ALL), also=("boost",)),
    ("lemma5.2", "bound"): Forgery(lambda e: in_sweep(e, lambda s: scaled_neurons(s, 1.5, at=ALL), at=0)),
    ("lemma5.2", "order"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("lemmaD.1", "growth"): Forgery(linearised_larger),
    ("lemmaD.2", "gap"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("lemmaD.2", "norm"): Forgery(lambda e: shifted_log_scale(e, 3.0, at=0)),
    ("lemmaE.7", "frequency"): Forgery(one_sign_drawn),
}

CASES = (
    TheoremCase(
        "lyu2021:eq3", forge=lambda e: _scaled(e, 0.01), failing="symmetric", inapplicable=_on_hinted("lyu2021:eq3")
    ),
    TheoremCase(
        "lyu2021:lemma5.2",
        forge=lambda e: _scaled(e, 0.5),
        failing="symmetric",
        inapplicable=_on_hinted("lyu2021:lemma5.2"),
    ),
    TheoremCase(
        "lyu2021:lemmaD.1",
        forge=_too_large_linear_flow,
        failing="symmetric",
        inapplicable=_on_hinted("lyu2021:lemmaD.1"),
    ),
    TheoremCase(
        "lyu2021:lemmaD.2",
        forge=lambda e: _scaled(e, 1.0),
        failing="symmetric",
        inapplicable=_on_hinted("lyu2021:lemmaD.2"),
    ),
    TheoremCase(
        "lyu2021:lemmaE.7",
        forge=lambda e: with_record(
            e, b=np.abs(e.record.b) * np.where(np.arange(len(e.record.b)) % 20, -1.0, 1.0)[:, None]
        ),
        failing="mean",
        inapplicable=_without_mean,
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.fixture(scope="module")
def phase_one():
    theorem = theorem_named("lyu2021:lemma5.2")
    return gather(theorem, own_problem(theorem))


def test_the_error_over_the_cube_of_the_radius_is_constant(phase_one):
    each = (phase_one, *phase_one.other_scales)
    ratios = [phase_one_error(e) * np.exp(-2.0 * symmetric_flow(e).log_radius) for e in each]
    np.testing.assert_allclose(ratios, ratios[-1], rtol=0.02)
    assert phase_one_constant(phase_one) == pytest.approx(4.0 / symmetric_flow(phase_one).growth + np.sqrt(2.0))


def test_the_printed_growth_rate_misses_by_the_order_of_the_radius(phase_one):
    """Erratum E1: at T1 with lambda_0 = ((1 + leak)/2) |mu| the error over r does not vanish but settles."""
    ratios = []
    for each in (phase_one, *phase_one.other_scales):
        flow = symmetric_flow(each)
        printed = 0.5 * flow.ball.own_time(flow.phase_one_time(flow.log_radius))
        run = train(each.problem, EventDrivenFlow(), times=[printed], horizon=2.0 * printed)
        ratios.append(phase_one_error(replace(each, trajectory=run)))
    assert min(ratios) > 0.1
    assert abs(ratios[-1] - ratios[-2]) < abs(ratios[-2] - ratios[0])
    assert ratios[-1] == pytest.approx(m_norm(symmetric_flow(phase_one).aligned), rel=0.1)


def test_the_regime_is_needed():
    """Erratum E9: r <= sqrt(lambda_0)/2; beyond it the bound is still measured, but the lemma does not apply."""
    theorem = theorem_named("lyu2021:lemma5.2")
    problem = example_problem(theorem)
    refused = check(theorem, replace(problem, network=problem.network.scaled(6.0)))
    assert refused.kind is VerdictKind.NOT_APPLICABLE
    assert refused.failing_hypotheses == ("small-scale",)
    assert refused.conclusions


@pytest.mark.parametrize("width", [2, 3, 5])
def test_the_probability_at_several_widths(width):
    theorem = theorem_named("lyu2021:lemmaE.7")
    problem = example_problem(theorem)
    network = problem.network.replace(
        w=problem.network.w[:width], a=problem.network.a[:width], weight=problem.network.weight[:width]
    )
    for ratio in (0.3, 1.0, 4.0):
        verdict = check(theorem, replace(problem, network=network), output_ratio=ratio)
        assert verdict.kind is VerdictKind.HOLDS
        assert verdict.predictions["probability"] == 1.0 - 2.0 ** -(width - 1)


def test_lemma_d2_at_a_scale_below_the_range_of_doubles():
    theorem = theorem_named("lyu2021:lemmaD.2")
    problem = example_problem(theorem)
    tiny = replace(problem, network=problem.network.scaled(-900.0))
    verdict = check(theorem, tiny)
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.constants["log_size"] < -890.0


def test_neurons_turn_to_the_mean_in_three_dimensions():
    theorem = theorem_named("lyu2021:eq3")
    problem = example_problem(theorem, "symmetric-separable:n=6,d=3", seed=4)
    verdict = check(theorem, problem, at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS
    assert Evidence(problem).leak == 0.5
