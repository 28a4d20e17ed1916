"""Verdicts that were `fails`, exit 1, of proven results on ordinary random data, each with what was wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reluflow.certificates.network_margin import network_margin
from reluflow.data.dataset import Dataset
from reluflow.papers.lyu2021.data import figure1_middle
from reluflow.papers.lyu2021.theorems.middle_points import middle_points
from reluflow.theory.check import check, example_problem
from reluflow.theory.comparison import Source
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind


def _verdict(key, rows, *, leak, seed, **parameters):
    theorem, rows = theorem_named(f"lyu2021:{key}"), np.array(rows)
    problem = example_problem(theorem, Dataset(rows[:, :-1], rows[:, -1]), seed=seed, leak=leak)
    return check(theorem, problem, at_own_scale=True, **parameters)


def test_a_direction_that_closes_in_slowly_does_not_refute_theorem_3_1():
    """A tenth of the distance was to be gone by the end; the paper gives no rate, and KKT is proved beside it."""
    rows = [
        [-0.72, 0.0416, 1.165, 1.0],
        [0.755, -0.4622, -0.7046, -1.0],
        [-0.3653, 0.0453, 1.2379, 1.0],
        [-0.8737, 0.2534, 0.7047, 1.0],
    ]
    verdict = _verdict("thm3.1", rows, leak=0.7, seed=15)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.conclusion("direction").holds is None
    assert verdict.conclusion("direction").source is Source.RELUFLOW
    assert verdict.conclusion("kkt").is_certified


def test_a_run_that_is_0_058_from_its_limit_does_not_refute_theorem_A_7():
    """`approach` asked for 0.05 at log t = 700, where the certificate proves nothing of the limit yet."""
    rows = [[0.6883, 1.2494, 1.0], [0.0001, -1.3757, -1.0], [0.0167, 0.9471, 1.0], [0.9087, 1.1984, 1.0]]
    verdict = _verdict("thmA.7", rows, leak=0.7, seed=47)
    assert verdict.kind is VerdictKind.INCONCLUSIVE, verdict.why
    assert "the limit was not identified" in verdict.why
    assert verdict.conclusion("approach").holds is None


@pytest.mark.parametrize("key", ["thmG.9", "thmA.7", "thm6.2"])
def test_how_near_a_run_has_come_decides_nothing(key):
    """Four of 74 random sets failed Theorem G.9 in `approach`, a distance at a finite time that is ours."""
    theorem = theorem_named(f"lyu2021:{key}")
    verdict = check(theorem, example_problem(theorem), at_own_scale=True, close=1e-18)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.conclusion("approach").holds is None


@pytest.mark.parametrize(
    ("rows", "seed"),
    [
        ([[-1.0805, -0.8185, -1.0], [-1.1279, -0.5755, -1.0], [2.0711, 0.3944, 1.0], [-0.1023, -2.6764, -1.0]], 960),
        ([[-2.0523, 1.0435, 1.0], [1.9492, 0.5256, -1.0], [1.0872, 0.1921, -1.0]], 328),
    ],
)
def test_the_rate_of_lemma_F_6_is_integrated_where_it_changes_fast(rows, seed):
    """Right after the samples are classified a difference over 2e-4 of the time missed the rate by 1e-5 to 3e-5."""
    verdict = _verdict("lemmaF.6", rows, leak=0.9, seed=seed)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.conclusion("rate").measured < 1e-7


def test_near_leak_1_the_single_neuron_of_the_middle_set_is_the_best_network():
    """Appendix I.1.2 was stated for every leak of the condition on S^+, and failed: 0.9 is almost a linear network."""
    theorem = theorem_named("lyu2021:appI.1.2")
    near, far = (check(theorem, example_problem(theorem, f"lyu-middle:leak={leak}", leak=leak)) for leak in (0.5, 0.9))
    assert near.kind is VerdictKind.HOLDS, near.why
    assert far.failing_hypotheses == ("pair-is-better",), far.why


def test_the_better_of_one_neuron_and_a_pair_is_the_best_network_of_the_middle_points():
    """Two ways: the distance of 0 from a segment, and the best margin of any network by linear programs."""
    rng, seen = np.random.default_rng(0), []
    while len(seen) < 12:
        leak, nearest, farthest, offset = rng.uniform((0.3, 0.02, 0.3, 0.01), (0.98, 0.5, 3.0, 0.3))
        if leak * nearest * farthest < nearest**2 + (1.0 + leak) * offset**2:
            continue
        data = figure1_middle(
            positive=(nearest, nearest + 1.0, 4.0), negative=(farthest, farthest + 0.5), offset=offset, leak=leak
        )
        points = middle_points(data.X, data.y, leak)
        single = 0.5 * np.hypot(nearest, offset)
        assert network_margin(data, leak).margin == pytest.approx(max(points.pair_margin, single), rel=1e-6)
        seen.append(points.pair_margin > single)
    assert set(seen) == {True, False}


def test_where_every_neuron_starts_in_its_cone_no_length_grows_but_for_rounding():
    """T_0 is then 0, and Lemma G.4 failed by 2e-16: the logarithm of a length was taken twice."""
    rows = [[1.4308978520423112, 0.7489155581225753, 1.0], [-0.8431149914759923, -0.048573442804615584, -1.0]]
    verdict = _verdict("lemmaG.4", rows, leak=0.5, seed=7010)
    assert verdict.conclusion("norms").bound == 0.0
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_the_rate_of_lemma_F_6_is_not_read_off_rounding():
    """From loss 1e-20 on the rise of the margin between two snapshots has five digits, and the lemma failed by 1e-5."""
    rows = [
        [0.76801517, 0.22062988, 1.0],
        [-0.29241886, -0.02037055, -1.0],
        [-1.05100579, -0.02068676, -1.0],
        [-1.26374145, 0.2811041, -1.0],
    ]
    verdict = _verdict("lemmaF.6", rows, leak=0.9, seed=7006)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_theorem_4_3_does_not_wait_for_our_shares():
    """From tiny scales the shares differ by rounding alone and show no order in sigma: it was inconclusive."""
    theorem = theorem_named("lyu2021:thm4.3")
    problem = example_problem(theorem)
    verdict = check(theorem, replace(problem, network=problem.network.scaled(-40.0)))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.conclusion("shares").holds is None


def test_a_run_whose_loss_is_not_small_yet_is_decided_by_its_limit():
    """n L / ln 2 was held against e^-5 at the end; a proved limit of positive margin says that L tends to 0."""
    theorem = theorem_named("lyu2021:thm3.1")
    names = {c.name: c for c in theorem.conclusions}
    assert names["loss"].is_asymptotic
    assert not names["falls"].is_asymptotic


def test_an_order_of_convergence_is_ours():
    """The order of the error in r, fitted over four scales, failed Lemma G.5 whose bound held."""
    for key, name in (("lemmaG.5", "order"), ("lemma5.2", "order"), ("thm4.3", "shares"), ("thm6.2", "late-law")):
        conclusion = next(c for c in theorem_named(f"lyu2021:{key}").conclusions if c.name == name)
        assert conclusion.source is Source.RELUFLOW, key


def test_lemma_e_2_at_a_pair_on_which_no_sample_pulls():
    """With leak 0 both neurons of a pair were off on every sample, and the check divided by a gradient of 0."""
    rows = [[1.21684564, 0.12101228, 0.46786658, 1.0], [-1.2270368, -2.10519808, -0.15425205, -1.0]]
    verdict = _verdict("lemmaE.2", rows, leak=0.0, seed=1002)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
