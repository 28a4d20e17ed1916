"""What an audit found: conclusions that could not fail, hypotheses that assumed them, verdicts on nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import in_companion, with_end
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import ExponentialLoss, SquareLoss
from reluflow.network import balanced_initialization, initialization_named, neuron_rng
from reluflow.papers.boursier2024.errata import FINDING_DATA
from reluflow.theory.check import check, example_problem
from reluflow.theory.comparison import all_of, at_least, at_most, closes_in, none_of, nothing
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.theorem import Conclusion, Reference, Theorem
from reluflow.theory.verdict import VerdictKind
from theorem_cases import own_problem


def _light(theorem, dataset):
    """The theorem's draw on other data, at the scale it is shown at."""
    problem = example_problem(theorem, dataset)
    return replace(problem, network=problem.network.scaled(-60.0))


def _larger_outputs(evidence):
    """The end of the run with output weights one per cent too large."""
    return with_end(evidence, lambda network: network.replace(a=1.01 * network.a))


@pytest.fixture(scope="module")
def off_the_line():
    theorem = theorem_named("boursier2024:remark3")
    return gather(theorem, _light(theorem, FINDING_DATA))


def test_a_run_that_misses_the_line_is_a_finding_and_no_pass(off_the_line):
    """`fitting-ended` asked the run to be within 5e-7 of the line of Remark 3: a miss was not applicable."""
    verdict = theorem_named("boursier2024:remark3").check(off_the_line)
    assert verdict.kind is VerdictKind.FAILS
    assert "line" in verdict.failing_conclusions
    assert r"$|\sum a w - \beta^*|$ = 0.593" in verdict.conclusion("line").detail
    assert verdict.hypothesis("scale-settled").holds
    assert "fitting-ended" not in [h.name for h in verdict.hypotheses]


@pytest.mark.parametrize("key", ["thm4", "sec5-width", "sec5-nature", "sec5-omnidirectional"])
def test_results_that_need_assumption_5_name_it_there(key):
    verdict = check(
        theorem_named(f"boursier2024:{key}"), example_problem(theorem_named(f"boursier2024:{key}"), FINDING_DATA)
    )
    assert verdict.failing_hypotheses == ("boursier-a5",)


def test_a_scale_that_still_matters_is_out_of_the_regime():
    """Not whether the end is the line decides, but whether the same draw at the square of the scale ends there too."""
    theorem = theorem_named("boursier2024:thm4")
    evidence = gather(theorem, own_problem(theorem))
    moved = in_companion(evidence, "smaller", _larger_outputs)
    assert theorem.check(moved).failing_hypotheses == ("scale-settled",)
    assert theorem.check(_larger_outputs(moved)).kind is VerdictKind.FAILS


def test_nothing_measured_is_inconclusive():
    assert none_of(0, total=0).holds is None
    assert none_of(0, total=0).is_empty
    assert all_of([]).is_empty
    problem = own_problem(theorem_named("boursier2024:lemma1"))

    def verdict(*measurements):
        conclusions = tuple(Conclusion(f"part {k}", "a part", lambda e, m=m: m) for k, m in enumerate(measurements))
        made = Theorem("made2024:up", Reference("made2024", "Thm 1"), "a statement made up", (), conclusions)
        return made.check(Evidence(problem))

    assert verdict(nothing("no negative neuron")).kind is VerdictKind.INCONCLUSIVE
    mixed = verdict(none_of(0, total=3), nothing("no negative neuron"))
    assert mixed.kind is VerdictKind.HOLDS
    assert mixed.why == "holds; the smallest slack is 0 (part 0); part 1 has nothing to measure: no negative neuron"
    assert verdict(none_of(1, total=3), nothing("no negative neuron")).kind is VerdictKind.FAILS


def test_standing_still_is_not_closing_in():
    """`direction` and `run` of Theorems 3.1, 4.3 and 5.5 passed where the last distance equalled the first."""
    assert closes_in([0.5, 0.5]).holds is False
    assert closes_in([0.5, 0.46]).holds is False
    assert closes_in([0.5, 0.2]).holds is True
    assert closes_in([1e-12, 1e-12]).holds is True
    assert closes_in([0.5]).holds is None


def test_lemma_20_speaks_of_neurons_that_are_there():
    verdict = check(theorem_named("boursier2024:lemma20"), own_problem(theorem_named("boursier2024:lemma20")))
    assert verdict.kind is VerdictKind.HOLDS
    assert "13 mixed neurons at the entry" in verdict.conclusion("shrinking").detail


def test_saddles_on_dead_faces_are_refused_by_theorem_1_and_lemma_13_as_by_lemma_12():
    data = Dataset(np.eye(3), [1.0, 0.7, -0.8])
    problem = TrainingProblem(
        data, SquareLoss(), balanced_initialization(data, width=6, scale=1e-3, rng=np.random.default_rng(0))
    )
    for key in ("thm1", "lemma12", "lemma13"):
        assert "no-dead-saddle" in check(theorem_named(f"boursier2024:{key}"), problem).failing_hypotheses


def test_part_1_of_mins_theorem_does_not_need_both_cones():
    theorem = theorem_named("min2024:thm1")
    data = load("min-regression-case")
    network = initialization_named("min-balanced")(data, width=8, scale="1e-3", rng=neuron_rng(0))
    problem = TrainingProblem(data, ExponentialLoss(reduction="sum"), network.replace(a=np.abs(network.a)))
    verdict = check(theorem, problem, at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.conclusion("classified").holds
    assert {c.name for c in verdict.conclusions if c.is_empty} == {"window", "loss", "norm", "low-rank", "limit-rank"}


def test_an_end_just_below_ln_2_is_not_a_loss_that_vanishes():
    theorem = theorem_named("lyu2021:thmB.19")
    evidence = gather(theorem, own_problem(theorem))
    run = evidence.run
    cut = 0.99 * np.log(2.0) / evidence.dataset.n
    held = replace(run, snapshots=tuple(replace(s, loss=max(s.loss, cut)) for s in run.snapshots))
    assert "falls" in theorem.check(replace(evidence, trajectory=held)).failing_conclusions


def test_a_norm_that_stands_still_is_noticed():
    theorem = theorem_named("lyu2021:thm3.1")
    evidence = gather(theorem, own_problem(theorem))
    size = evidence.run.snapshots[-1].network.squared_norm()
    snapshots = tuple(
        replace(s, network=s.network.scaled(0.5 * np.log(size / s.network.squared_norm())))
        for s in evidence.run.snapshots
    )
    still = replace(evidence, trajectory=replace(evidence.run, snapshots=snapshots))
    assert "norm" in theorem.check(still).failing_conclusions


def test_the_largest_of_nothing_is_no_pass():
    """`dwell-time/cap` held of data of one class, `lemmaB.17/alive` of a run of one state: -1 and inf were measured."""
    assert at_most(-np.inf, 1.0).is_empty
    assert at_least(np.inf, 1.0).is_empty
    assert at_most(-np.inf, 1.0).holds is None
    assert at_least(-np.inf, 1.0).holds is False
    assert at_most(np.inf, 1.0).holds is False


@pytest.mark.parametrize(
    ("key", "conclusion", "change"),
    [
        ("phuong2021:lemma1", "dead-stay", {"dataset": "phuong-toy"}),
        ("lyu2021:lemmaG.8", "losers", {"signs": 1.0}),
    ],
)
def test_nobody_there_is_said_and_not_passed(key, conclusion, change):
    """ "No neuron is dead" and "no neuron is negative" counted as `holds`."""
    theorem = theorem_named(key)
    problem = own_problem(theorem)
    if "dataset" in change:
        problem = replace(example_problem(theorem, load(change["dataset"])), network=problem.network)
    else:
        problem = replace(problem, network=problem.network.replace(a=np.abs(problem.network.a)))
    measured = next(c for c in theorem.conclusions if c.name == conclusion)
    evidence = gather(theorem, problem).with_parameters(theorem.parameter_values({}))
    assert measured.measure(evidence).is_empty
