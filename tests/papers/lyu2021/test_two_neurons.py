"""Lemmas F.1 to F.3 and the angles of Theorem 5.5's proof on symmetric data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    scaled_neurons,
    turned,
    with_record,
)
from papers.lyu2021.tampering import Change, scaled, second_half, stretched
from reluflow.certificates.kkt import kkt_certificate, normalized_margin
from reluflow.data.registry import load
from reluflow.network import Network
from reluflow.papers.lyu2021.theorems.two_neurons import FeasiblePairs, PairDirections, named_directions
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

LEMMA_F_1, ANGLES, LEMMA_F_3, LEMMA_F_2 = (
    theorem_named(f"lyu2021:{name}") for name in ("lemmaF.1", "appF.1", "lemmaF.3", "lemmaF.2")
)


def _asymmetric(theorem):
    return lambda: example_problem(theorem, "lyu-counterexample-sharp")


def _wrong_slopes(evidence):
    return with_record(evidence, slopes_first=0.5 * evidence.record.slopes_first)


def _lopsided(evidence):
    """A direction that is no KKT direction, claimed to be one."""
    return with_record(evidence, found=(Network([[0.6, 0.0], [-0.4, 0.0]], [0.6, -0.33], leak=evidence.leak),))


def with_outputs_weighted(network: Network, factor: float) -> Network:
    return network.replace(a=factor * network.a)


def slopes_shifted(evidence: Evidence) -> Evidence:
    return with_record(evidence, slopes_first=evidence.recorded(FeasiblePairs).slopes_first + 1e-6)


def found_changed(evidence: Evidence, index: int, change: Change) -> Evidence:
    """One of the directions found from random starts changed."""
    found = list(evidence.recorded(PairDirections).found)
    found[index] = change(found[index])
    return with_record(evidence, found=tuple(found))


def named_stretched(evidence: Evidence) -> Evidence:
    first, *others = evidence.recorded(PairDirections).named
    return with_record(evidence, named=(stretched(first), *others))


FORGERIES: Forgeries = {
    ("lemmaF.1", "crossed"): Forgery(slopes_shifted),
    ("lemmaF.2", "kkt"): Forgery(lambda e: found_changed(e, 1, lambda n: with_outputs_weighted(n, 0.5))),
    ("lemmaF.2", "mirrored"): Forgery(lambda e: found_changed(e, 0, stretched), also=("kkt",)),
    ("lemmaF.3", "kkt"): Forgery(lambda e: found_changed(e, 0, stretched), also=("nothing-else",)),
    ("lemmaF.3", "margins"): Forgery(named_stretched, also=("kkt", "nothing-else")),
    ("lemmaF.3", "nothing-else"): Forgery(lambda e: found_changed(e, 0, lambda n: scaled(n, 30.0))),
    ("appF.1", "angles"): Forgery(lambda e: turned(e, np.pi, at=second_half(e))),
    ("appF.1", "rate"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
}

CASES = (
    TheoremCase("lyu2021:lemmaF.1", forge=_wrong_slopes, failing="symmetric", inapplicable=_asymmetric(LEMMA_F_1)),
    TheoremCase("lyu2021:lemmaF.2", forge=_lopsided, failing="symmetric", inapplicable=_asymmetric(LEMMA_F_2)),
    TheoremCase("lyu2021:lemmaF.3", forge=_lopsided, failing="symmetric", inapplicable=_asymmetric(LEMMA_F_3)),
    TheoremCase(
        "lyu2021:appF.1",
        forge=lambda evidence: with_each_network(
            evidence, lambda k, n: n.replace(w=n.w * [[1.0 + 0.01 * (k % 3)], [1.0]]) if k else n
        ),
        failing="symmetric",
        inapplicable=_asymmetric(ANGLES),
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize("leak", [0.1, 0.5, 0.9])
def test_the_three_directions_and_their_margins(leak):
    problem = example_problem(LEMMA_F_3, f"lyu-symmetric:leak={leak}")
    problem = replace(problem, network=problem.network.replace(leak=leak))
    margins = [normalized_margin(n, problem.dataset) for n in named_directions(Evidence(problem))]
    assert margins == pytest.approx([0.25 * (1.0 + leak), 0.5 * leak, 0.5 * leak], rel=1e-12)


def test_erratum_e3_the_printed_factor_has_norm_one_half():
    first = named_directions(Evidence(example_problem(LEMMA_F_3)))[0]
    assert first.squared_norm() == pytest.approx(1.0, rel=1e-12)
    assert first.replace(w=0.5 * first.w, a=0.5 * first.a).squared_norm() == pytest.approx(0.25)


def test_erratum_e17_the_last_direction_points_backwards():
    """(0, w*, 0, -1)/sqrt 2 would classify nothing; (0, -w*, 0, -1)/sqrt 2 is a KKT direction."""
    data = load("lyu-symmetric")
    last = named_directions(Evidence(example_problem(LEMMA_F_3)))[2]
    assert kkt_certificate(last, data).residual < 1e-12
    assert kkt_certificate(last.replace(w=-last.w), data).residual == np.inf


def test_on_a_random_symmetric_set():
    for theorem in (LEMMA_F_1, LEMMA_F_3):
        verdict = check(theorem, example_problem(theorem, "symmetric-separable:n=6,d=2"))
        assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_angles_only_count_from_the_first_recorded_time():
    evidence = gather(ANGLES, own_problem(ANGLES))
    backwards = with_each_network(evidence, lambda k, n: n.replace(w=-n.w))
    assert "ahead" in ANGLES.check(backwards).failing_hypotheses
