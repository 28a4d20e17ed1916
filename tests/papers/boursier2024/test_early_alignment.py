"""Theorems 1 and 3: the contract, the three levels, errata E2 and E4, and the published regime."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    LATER,
    Forgeries,
    Forgery,
    scaled_input_weights,
    scaled_output_weights,
    shifted_log_scale,
    turned,
    with_networks,
)
from papers.boursier2024.tampering import SECOND, everywhere, last_neuron_tiny_at_first
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network import Network, balanced_initialization, dominated_initialization
from reluflow.papers.boursier2024.theorems.alignment_regime import alignment_plan, states_of
from reluflow.papers.boursier2024.theorems.neuron_states import log_lambda
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

THEOREM_1, THEOREM_3 = (theorem_named(f"boursier2024:{name}") for name in ("thm1", "thm3"))


def _last_network_is_the_first(evidence):
    last = len(evidence.run.snapshots) - 1
    return with_each_network(evidence, lambda k, network: evidence.network if k == last else network)


def smaller_at_first(evidence: Evidence) -> Evidence:
    """The first state is smaller than the start by the factor lambda."""
    return shifted_log_scale(evidence, log_lambda(evidence.network), at=0)


def on_the_wrong_side(evidence: Evidence) -> Evidence:
    """At tau all neurons are negative ones that stand on the maximum of G."""
    aim = evidence.facts.extremal.directions[list(evidence.facts.extremal.kinds).index("maximum")]
    return with_networks(evidence, lambda n: n.replace(w=np.abs(n.a)[:, None] * aim, a=-np.abs(n.a)))


FORGERIES: Forgeries = {
    ("thm1", "growth"): Forgery(smaller_at_first),
    ("thm1", "dominance"): Forgery(lambda e: scaled_input_weights(e, 1.01, at=SECOND)),
    ("thm1", "extremal"): Forgery(lambda e: turned(e, 1.2)),
    ("thm1", "gap"): Forgery(lambda e: turned(e, 0.1)),
    ("thm1", "kind"): Forgery(on_the_wrong_side),
    ("thm1", "exponent"): Forgery(lambda e: everywhere(e, lambda o: turned(o, 1e-4))),
    ("thm3", "growth"): Forgery(last_neuron_tiny_at_first),
    ("thm3", "extremal"): Forgery(lambda e: scaled_output_weights(e, -1.0, at=LATER, sign=1), also=("gap",)),
    ("thm3", "gap"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("thm3", "exponent"): Forgery(lambda e: everywhere(e, lambda o: turned(o, 1e-4))),
}

CASES = (
    TheoremCase(
        "boursier2024:thm1",
        forge=_last_network_is_the_first,
        failing="no-saddle",
        inapplicable=lambda: example_problem(THEOREM_1, "relu-teacher:n=2,d=4"),
    ),
    TheoremCase(
        "boursier2024:thm3",
        forge=_last_network_is_the_first,
        failing="general-position",
        inapplicable=lambda: example_problem(THEOREM_3, "orthogonal-triple"),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def _three_points(width, scale, *, seed=0):
    """Balanced neurons on the three points with sum_j a_j^2 = scale^2."""
    data = load("three-points")
    network = balanced_initialization(data, width=width, scale=1.0, rng=np.random.default_rng(seed))
    return TrainingProblem(data, SquareLoss(), network.scaled(np.log(scale) - log_lambda(network)))


def _at_own_scale(problem):
    bare = Evidence(problem, parameters=THEOREM_1.parameter_values({}))
    return replace(problem, network=problem.network.scaled(THEOREM_1.log_scale(bare)))


@pytest.mark.parametrize(
    ("width", "scale", "eps", "seed", "lost", "met"), [(2000, 1e-2, 0.1, 0, 212, 673), (60, 1e-4, 0.15, 1, 2, 19)]
)
def test_erratum_e2_the_printed_threshold_does_not_suffice(width, scale, eps, seed, lost, met):
    """Below lambda*_1 of Eq. (22), without saddles, neurons with Condition 1 are in no extremal cone at tau."""
    problem = _three_points(width, scale, seed=seed)
    at_one_scale = replace(THEOREM_1, plan=alignment_plan)
    printed = replace(at_one_scale, hypotheses=tuple(h for h in THEOREM_1.hypotheses if h.name != "settled-before-tau"))
    verdict = check(printed, problem, eps=eps)
    assert all(h.holds for h in verdict.hypotheses)
    assert verdict.kind is VerdictKind.FAILS
    assert verdict.failing_conclusions == ("extremal",)
    assert verdict.conclusion("extremal").measured == lost
    assert f"{lost} of {met} " in verdict.conclusion("extremal").detail
    corrected = check(at_one_scale, problem, eps=eps)
    assert corrected.kind is VerdictKind.NOT_APPLICABLE
    assert corrected.failing_hypotheses == ("settled-before-tau",)


@pytest.mark.parametrize(("eps", "log_settled"), [(0.1, -533.18), (0.25, -213.27)])
def test_holds_at_the_corrected_scale_itself(eps, log_settled):
    """Just below e^-533 (e^-213) all neurons of the counter-run's draw are where the theorem says."""
    problem = _three_points(100, 1e-2)
    network = problem.network.scaled(log_settled - 0.01 - log_lambda(problem.network))
    verdict = check(THEOREM_1, replace(problem, network=network), eps=eps)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.constants["log_lambda_settled"] == pytest.approx(log_settled, abs=5e-3)
    assert verdict.constants["log_c"] == pytest.approx(np.log(1.545e24), abs=5e-4)
    just_above = problem.network.scaled(log_settled + 0.1 - log_lambda(problem.network))
    at_one_scale = replace(THEOREM_1, plan=alignment_plan)
    above = check(at_one_scale, replace(problem, network=just_above), eps=eps)
    assert above.failing_hypotheses == ("settled-before-tau",)


@pytest.mark.parametrize("eps", [0.25, 0.32])
def test_gap_exponent_is_twice_the_claimed_one(eps):
    """The gap is claimed to be O(lambda^(eps |D|/D_max)); the flow gives the exponent 2 eps |D|/D_max."""
    verdict = check(THEOREM_1, own_problem(THEOREM_1), eps=eps, at_own_scale=True)
    assert verdict.predictions["gap_exponents"] == pytest.approx([2 * eps])
    assert verdict.conclusion("exponent").measured == pytest.approx(2.0, abs=2e-3)
    assert verdict.conclusion("exponent").holds


def test_growth_reaches_half_of_what_is_allowed():
    """The sharp growth is lambda^-eps; the theorem allows lambda^(-2 eps)."""
    conclusion = check(THEOREM_1, example_problem(THEOREM_1), at_own_scale=True).conclusion("growth")
    assert conclusion.measured == pytest.approx(0.5 * conclusion.bound, rel=2e-3)
    assert conclusion.measured < 0.5 * conclusion.bound


@pytest.mark.parametrize("name", ["obtuse-pair", "phuong-toy", "random-labels:n=2,d=2"])
@pytest.mark.parametrize(
    "initialization", [balanced_initialization, dominated_initialization], ids=["balanced", "ball"]
)
def test_theorem_1_holds_on_other_data(name, initialization):
    data = load(name, seed=0)
    network = initialization(data, width=24, scale=1e-3, rng=np.random.default_rng(1))
    verdict = check(THEOREM_1, TrainingProblem(data, LogisticLoss(), network), at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_theorem_3_holds_where_neurons_slide_and_g_has_saddles():
    problem = example_problem(THEOREM_3, "linear-teacher:n=3,d=3")
    verdict = check(THEOREM_3, problem, at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert "saddle" in verdict.predictions["kinds"]


def test_erratum_e4_the_opposite_ray_is_that_of_w_over_a():
    """A negative neuron on a ray that is a minimum with D in it: w/|w| = +D/|D|, so the printed -D/|D| is wrong."""
    data, angles = load("obtuse-pair"), np.linspace(0.05, 6.2, 40)
    network = Network(np.stack([np.cos(angles), np.sin(angles)], axis=1), np.where(np.arange(40) % 4 == 0, 1.0, -1.0))
    problem = TrainingProblem(data, LogisticLoss(), network)
    bare = Evidence(problem, parameters=THEOREM_1.parameter_values({"alpha_0": 0.3}))
    problem = replace(problem, network=network.scaled(THEOREM_1.log_scale(bare)))
    evidence = gather(THEOREM_1, problem, parameters={"alpha_0": 0.3})
    end = states_of(evidence)[-1]
    assert np.sum(end.is_opposite) >= 4
    assert np.all(end.signs[end.is_opposite] < 0)
    w = end.network.w[end.is_opposite]
    unit, aim = w / np.linalg.norm(w, axis=1)[:, None], end.pulls[end.is_opposite]
    aim = aim / np.linalg.norm(aim, axis=1)[:, None]
    assert np.max(np.abs(unit - aim)) < 1e-14
    assert np.min(np.linalg.norm(unit + aim, axis=1)) > 1.99
    assert THEOREM_1.check(evidence).kind is VerdictKind.HOLDS


def test_forged_kinds_and_too_large_weights_are_named():
    evidence = gather(THEOREM_1, own_problem(THEOREM_1))
    assert THEOREM_1.check(on_the_wrong_side(evidence)).failing_conclusions == ("kind",)
    grown = with_each_network(evidence, lambda k, network: network.scaled(130.0 * (k > 3)))
    assert "growth" in THEOREM_1.check(grown).failing_conclusions
    longer = with_each_network(evidence, lambda k, network: network.replace(w=network.w * 1.0001))
    assert {"dominance", "gap"} <= set(THEOREM_1.check(longer).failing_conclusions)


def test_later_snapshots_do_not_count_and_shorter_runs_do_not_pass():
    """Times after tau leave the verdict as it is; a run that ends before tau leaves it open and says why."""
    theorem = replace(THEOREM_1, plan=alignment_plan, conclusions=THEOREM_1.conclusions[:-1])
    problem = own_problem(theorem)
    plain = check(theorem, problem)
    tau = plain.predictions["tau"]
    longer = check(theorem, problem, times=(1.5 * tau, 2.0 * tau))
    assert longer.kind is plain.kind is VerdictKind.HOLDS
    assert [c.measured for c in longer.conclusions[:-2]] == pytest.approx([c.measured for c in plain.conclusions[:-2]])
    shorter = check(theorem, problem, horizon=0.9 * tau)
    assert shorter.kind is VerdictKind.INCONCLUSIVE
    assert r"not recorded at $\tau$" in shorter.why


def test_one_sample_in_one_dimension_is_aligned_from_the_start():
    """Gaps are 0 and every living neuron starts in its last cone: nothing is left to measure, and nothing undecided."""
    for theorem in (THEOREM_1, THEOREM_3, theorem_named("boursier2024:eq33"), theorem_named("boursier2024:eq39")):
        verdict = check(theorem, example_problem(theorem, "one-point"), at_own_scale=True)
        assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_neurons_too_far_apart_for_doubles_are_judged_too():
    """On the published box the scale asked for lets neurons grow apart by e^1384 and more."""
    evidence = gather(THEOREM_1, _at_own_scale(example_problem(THEOREM_1, "three-point-box")))
    end = states_of(evidence)[-1]
    assert np.min(np.abs(end.network.a)) < 1e-299  # shown at the least size there is, beside the largest
    assert np.ptp(end.log_outputs) > 1384.0
    verdict = THEOREM_1.check(evidence)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_lost_neurons_are_no_pass_where_no_closed_form_serves():
    """The same loss of digits at a scale where outputs bend the forces leaves the verdict open."""
    theorem = replace(THEOREM_1, plan=alignment_plan)
    evidence = gather(theorem, _three_points(20, 1e-3))
    lost = with_each_network(
        evidence, lambda k, network: network.replace(a=np.where(np.arange(20) == 3, 1e-300, network.a))
    )
    conclusions = theorem.check(lost).conclusions
    assert all(c.holds is None for c in conclusions)
    assert "$e^{700}$" in conclusions[0].detail


def test_scale_one_and_too_many_cones_are_not_passes():
    problem = example_problem(THEOREM_1)
    large = replace(problem, network=problem.network.scaled(10.0))
    verdict = check(THEOREM_1, large)
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert set(verdict.failing_hypotheses) == {"small-scale", "settled-before-tau"}
    data = load("random-labels:n=60,d=12", seed=0)
    network = balanced_initialization(data, width=2, scale=1e-3, rng=np.random.default_rng(0))
    undecided = check(THEOREM_1, TrainingProblem(data, SquareLoss(), network))
    assert undecided.kind is VerdictKind.INCONCLUSIVE
    assert all(c.holds is None for c in undecided.conclusions)
