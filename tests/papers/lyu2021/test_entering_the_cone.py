"""Lemmas G.3 and G.4, also at the astronomically small scale the proof asks for, and the rays of erratum E7."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    scaled_neurons,
    standing_still,
    with_record,
)
from reluflow.papers.lyu2021.theorems.early_constants import correct_cone, idealised_state
from reluflow.papers.lyu2021.theorems.entering_the_cone import IdealisedEntry
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

LEMMA_G_3, LEMMA_G_4 = (theorem_named(f"lyu2021:{name}") for name in ("lemmaG.3", "lemmaG.4"))


def _on_the_ray(theorem):
    problem = example_problem(theorem)
    ray = -correct_cone(Evidence(problem)).mean(-1.0)
    w, a = problem.network.w.copy(), problem.network.a.copy()
    w[1], a[1] = ray, np.linalg.norm(ray)  # a positive neuron, whatever sign was drawn
    return replace(problem, network=problem.network.replace(w=w, a=a))


def _too_early(evidence):
    return with_record(evidence, time=0.0, state=idealised_state(evidence, 0.0))


def entered_elsewhere(evidence: Evidence) -> Evidence:
    state = evidence.recorded(IdealisedEntry).state
    return with_record(evidence, state=replace(state, w=state.w - 30.0))


def left_again(evidence: Evidence) -> Evidence:
    """Of the later states the last has the first neuron on the other side."""
    *before, last = evidence.recorded(IdealisedEntry).later
    w = last.w.copy()
    w[0] *= -1.0
    return with_record(evidence, later=(*before, replace(last, w=w)))


def state_at_proof_time(evidence: Evidence, **changes: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    state = evidence.record
    return with_record(evidence, **{name: change(getattr(state, name)) for name, change in changes.items()})


FORGERIES: Forgeries = {
    ("lemmaG.3", "enters"): Forgery(entered_elsewhere),
    ("lemmaG.3", "stays"): Forgery(left_again),
    ("lemmaG.4", "in-cone"): Forgery(lambda e: state_at_proof_time(e, w=lambda w: -w)),
    ("lemmaG.4", "time"): Forgery(standing_still, also=("in-cone",)),
    ("lemmaG.4", "norms"): Forgery(lambda e: state_at_proof_time(e, log_norms=lambda x: np.sign(x) * x**2)),
    ("lemmaG.4", "monotone"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
}

CASES = (
    TheoremCase("lyu2021:lemmaG.3", forge=_too_early, failing="off-rays", inapplicable=lambda: _on_the_ray(LEMMA_G_3)),
    TheoremCase(
        "lyu2021:lemmaG.4",
        forge=lambda evidence: with_each_network(
            evidence, lambda k, network: network.replace(w=-network.w) if k > 35 else network
        ),
        failing="lyu-a2",
        inapplicable=lambda: example_problem(LEMMA_G_4, "lyu-symmetric"),
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.fixture(scope="module")
def verdict():
    return LEMMA_G_4.check(gather(LEMMA_G_4, own_problem(LEMMA_G_4)))


def test_the_scale_of_the_proof_is_met(verdict):
    """sigma_max is e^(-70000) here: T0 of the proof is thousands of times the true time of entry."""
    assert verdict.hypothesis("scale").holds is True
    assert verdict.constants["log_sigma_max"] < -1e4
    assert verdict.conclusion("time").measured < 1e-3 * verdict.constants["T0"]


def test_the_entry_time_does_not_depend_on_the_scale(verdict):
    problem = own_problem(LEMMA_G_4)
    larger = LEMMA_G_4.check(gather(LEMMA_G_4, replace(problem, network=problem.network.replace(log_scale=-30.0))))
    assert larger.kind is VerdictKind.NOT_APPLICABLE  # above sigma_max, yet
    assert larger.conclusion("monotone").holds is True
    assert larger.conclusion("in-cone").holds is None  # at T0 such a network has long been fitting
    assert larger.conclusion("time").measured == pytest.approx(verdict.conclusion("time").measured, rel=1e-9)


def test_erratum_e7_the_excluded_rays():
    """A positive neuron on -mu^- shrinks like e^(-lambda_0^- t); on +mu^-, which the paper excludes, it grows."""
    base = Evidence(example_problem(LEMMA_G_3, "lyu-counterexample-sharp"))
    cone = correct_cone(base)
    mean = cone.mean(-1.0)
    sizes = {}
    for sign in (1.0, -1.0):
        w = sign * mean[None]
        network = base.network.replace(w=w, a=np.linalg.norm(w, axis=1), weight=[1.0])
        state = idealised_state(Evidence(replace(base.problem, network=network)), 6.0)
        sizes[sign] = float(np.exp(state.log_norms[0]) * np.linalg.norm(state.w[0]) / np.linalg.norm(mean))
    assert sizes[-1.0] == pytest.approx(np.exp(-6.0 * cone.growth(-1.0)), rel=1e-9)
    assert sizes[1.0] > 10.0
    allowed = replace(base.problem, network=base.network.replace(w=mean[None], a=[np.linalg.norm(mean)], weight=[1.0]))
    assert check(LEMMA_G_3, allowed).kind is VerdictKind.HOLDS
