"""(28), (29), boundary speed, dwell times, paths, (30) and the sharper bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    events_twice,
    scaled_clock,
    scaled_output_weights,
    turned,
    with_network,
    with_networks,
    with_record,
    with_snapshots,
)
from papers.min2024.cases import (
    TWICE_LOGISTIC,
    averaged,
    deterministic_problem,
    drawn_problem,
    everywhere,
    large_scale,
    leaky,
    not_separated,
    plain_logistic,
    slower_clock,
    unbalanced,
)
from papers.min2024.tampering import _crossings, changed, chosen_neurons, middle, with_events
from reluflow.data.dataset import Dataset
from reluflow.geometry.alignment import Alignment, align
from reluflow.network import Network
from reluflow.papers.min2024.theorems.alignment_paths import AlignmentsOfTwoSamples, LongestPaths, paths_of
from reluflow.papers.min2024.theorems.alignment_scale import StartsOf28
from reluflow.papers.min2024.theorems.constants import data_constants, proof_constants
from reluflow.papers.min2024.theorems.moving_neurons import OUTSIDE, Moment, moments
from reluflow.theory.check import check
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract, own_problem


def _large(network):
    return network.replace(log_scale=0.0)


def _sluggish(network):
    return network.replace(a=1e-3 * network.a)


def _printed_factor(evidence):
    """The first term of (28) with the printed 4 in place of 8 (erratum E2)."""
    return with_record(evidence, at_first_term=evidence.recorded(StartsOf28).at_first_term.scaled(np.log(2.0)))


def _towards_the_other_class():
    problem = drawn_problem()
    minus = problem.dataset.X[2:].sum(axis=0)
    network = Network([minus, [1.0, 0.3]], [np.linalg.norm(minus), -np.hypot(1.0, 0.3)], log_scale=-7.0)
    return type(problem)(problem.dataset, problem.loss, network)


def _one_sample():
    return drawn_problem(Dataset([[1.0, 0.0]], [1.0]))


def large_in_the_middle(evidence: Evidence) -> Evidence:
    """The state in the middle of the run has weights of size 1."""
    return with_snapshots(
        evidence, lambda s: with_network(s, s.network.replace(log_scale=0.0), evidence.run), at=middle(evidence)
    )


def slowed(evidence: Evidence, chosen: Callable[[Moment], np.ndarray]) -> Evidence:
    """The chosen neurons of every state have a thousandth of their output weight, by which they turn."""
    for k, moment in enumerate(moments(evidence)):
        network = moment.network
        slow = chosen_neurons(network, chosen(moment), a=1e-3 * network.a)
        evidence = with_networks(evidence, lambda _, slow=slow: slow, at=k)
    return evidence


def without_the_last_crossing(evidence: Evidence) -> Evidence:
    last = _crossings(evidence)[-1]
    return with_events(evidence, [k for k in range(len(evidence.run.events)) if k != last])


def later_and_later(record: AlignmentsOfTwoSamples) -> tuple[Alignment, ...]:
    """Every neuron aligns at a power of its time."""
    return tuple(replace(end, times=end.times**10) for end in record.ends)


FORGERIES: Forgeries = {
    ("eq28", "window"): Forgery(changed(StartsOf28, own=lambda r: r.own.scaled(1.0))),
    ("eq28", "implies-29"): Forgery(
        changed(StartsOf28, at_first_term=lambda r: r.at_first_term.replace(w=1.1 * r.at_first_term.w))
    ),
    ("eq29", "outputs"): Forgery(large_in_the_middle),
    ("boundary-speed", "speed"): Forgery(lambda e: scaled_output_weights(e, 1e-3, at=ALL)),
    ("dwell-time", "dwell"): Forgery(lambda e: scaled_clock(e, 100.0)),
    ("dwell-time", "towards"): Forgery(lambda e: slowed(e, lambda m: m.cones == OUTSIDE)),
    ("dwell-time", "away"): Forgery(lambda e: slowed(e, lambda m: m.cones == -m.signs)),
    ("dwell-time", "cap"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("paths", "valid"): Forgery(events_twice, also=("end",)),
    ("paths", "end"): Forgery(without_the_last_crossing),
    ("paths", "travel"): Forgery(lambda e: scaled_clock(e, 1e4)),
    ("paths", "maximal"): Forgery(changed(LongestPaths, positive=lambda r: r.positive[:1] + r.positive)),
    ("eq30", "aligned"): Forgery(events_twice, also=("harmonic",)),
    ("eq30", "harmonic"): Forgery(lambda e: scaled_clock(e, 300.0)),
    ("eq30", "order"): Forgery(changed(AlignmentsOfTwoSamples, ends=later_and_later)),
    ("sharp-alignment", "aligned"): Forgery(lambda e: scaled_clock(e, 100.0)),
}

CASES = (
    TheoremCase("min2024:eq28", _printed_factor, "min-a2", _towards_the_other_class),
    TheoremCase("min2024:eq29", everywhere(_large), "scale-28", large_scale),
    TheoremCase("min2024:boundary-speed", everywhere(_sluggish), "relu", leaky),
    TheoremCase("min2024:dwell-time", slower_clock(1e4), "summed-loss", averaged),
    TheoremCase("min2024:paths", events_twice, "balanced", unbalanced),
    TheoremCase("min2024:eq30", slower_clock(1e4), "two-samples", _one_sample),
    TheoremCase("min2024:sharp-alignment", slower_clock(1e4), "min-loss", plain_logistic),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def test_the_printed_factor_four_gives_twice_what_29_claims():
    """Erratum E2."""
    equation = theorem_named("min2024:eq28")
    evidence = equation.recorded(Evidence(own_problem(equation)))
    corrected = equation.conclusions[1].measure(evidence)
    printed = equation.conclusions[1].measure(_printed_factor(evidence))
    assert corrected.holds is True
    assert printed.holds is False
    assert printed.measured - printed.bound == pytest.approx(np.log(2.0), abs=1e-9)


def test_the_printed_maximum_would_let_a_neuron_start_inside_the_cap():
    """Erratum E1: with zeta = max(zeta_1, zeta_2) the cap around x_- holds a positive neuron at the start."""
    evidence = Evidence(deterministic_problem(-1623.2))
    constants = proof_constants(evidence)
    minus = data_constants(evidence).total(-1)
    positive = evidence.network.w[evidence.network.a > 0]
    largest = float(np.max(positive @ minus / np.linalg.norm(minus)))
    assert largest <= np.sqrt(1.0 - constants.zeta) + 1e-12
    assert largest > np.sqrt(1.0 - max(constants.zeta_1, constants.zeta_2))


def test_every_path_of_the_deterministic_case():
    """Erratum E6: own samples are gained, others lost; the printed, reversed inequalities fail on every neuron."""
    equation = theorem_named("min2024:paths")
    evidence = gather(equation, deterministic_problem(-1623.2))
    paths = paths_of(evidence)
    moving = [path for path in paths if len(path) > 1]
    assert len(moving) == 8
    assert all(path[-1] == (2, 0) for path in paths)
    assert sum(len(path) - 1 for path in paths) == 28
    assert not any(path[-1][0] <= path[0][0] and path[-1][1] >= path[0][1] for path in moving)


def test_the_regime_flag_still_measures_the_conclusions():
    """At scale 1e-6 (28) fails, the certificate is silent, and yet every neuron is aligned by t_1."""
    verdict = check(theorem_named("min2024:eq30"), deterministic_problem(np.log(1e-6)))
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert verdict.failing_hypotheses == ("scale-28",)
    assert verdict.constants["T"] == pytest.approx(0.785816, abs=5e-7)
    assert verdict.hypothesis("scale-28").margin == pytest.approx(-1623.158722 + 13.815511, abs=1e-5)


def test_exact_alignment_is_below_both_bounds_on_random_data():
    for n, d, seed in ((3, 2, 0), (6, 3, 1), (10, 4, 2)):
        problem = drawn_problem(f"orthogonally-separable:n={n},d={d}", width=60, seed=seed)
        constants = proof_constants(Evidence(problem))
        forces = problem.loss.label_forces(problem.dataset.y)
        exact = align(problem.dataset.X, forces, problem.network.w, problem.network.a)
        assert float(np.max(exact.times)) <= constants.t_1_sharp <= constants.t_1


def test_twice_the_logistic_loss_in_the_regime():
    for key in ("min2024:dwell-time", "min2024:sharp-alignment"):
        verdict = check(theorem_named(key), deterministic_problem(-1623.2, TWICE_LOGISTIC))
        assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_not_separated_data_are_refused_before_any_run():
    verdict = check(theorem_named("min2024:eq30"), not_separated(), at_own_scale=True)
    assert "orthogonally-separable-strict" in verdict.failing_hypotheses
    assert verdict.conclusions == ()
