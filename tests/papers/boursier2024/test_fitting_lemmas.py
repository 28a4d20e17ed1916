"""Lemmas 6, 16, 17 and 18 through the theorem contract; Eq. (47) by finite differences of a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    LATER,
    Forgeries,
    Forgery,
    scaled_clock,
    scaled_neurons,
    scaled_output_weights,
    standing_still,
    turned,
)
from papers.boursier2024.tampering import ODD, all_but_one_scaled, changed_outputs
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.papers.boursier2024.theorems.active_neurons import (
    facet_remainders,
    largest_delta_prime,
    largest_positive_mass,
)
from reluflow.papers.boursier2024.theorems.fitting_lemmas import energy_speed, line_distance, longest_fit
from reluflow.papers.boursier2024.theorems.phase_clock import phase_clock
from reluflow.papers.boursier2024.theorems.phase_states import phase_states
from reluflow.papers.boursier2024.theorems.spurious_constants import constants_of
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import scale_factor
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from theorem_cases import (
    TheoremCase,
    contract,
    own_problem,
    with_each_network,
)

LEMMA_18, LEMMA_6, LEMMA_16, LEMMA_17 = (
    theorem_named(f"boursier2024:{name}") for name in ("lemma18", "lemma6", "lemma16", "lemma17")
)

QUARTER = [[0.0, -1.0], [1.0, 0.0]]


def _from(evidence, later, change):
    first = phase_clock(evidence).growth.index + later
    return with_each_network(evidence, lambda k, network: change(network) if k >= first else network)


def _on_three_points(theorem):
    return lambda: example_problem(theorem, "three-points")


FORGERIES: Forgeries = {
    ("lemma6", "fitted"): Forgery(lambda e: scaled_neurons(e, 1e22, at=39, sign=-1)),
    ("lemma6", "active"): Forgery(lambda e: turned(e, np.pi, at=ODD), also=("fitted", "linear-pull")),
    ("lemma6", "negative"): Forgery(lambda e: scaled_output_weights(e, -1.0, at=39, sign=-1)),
    ("lemma6", "linear-pull"): Forgery(lambda e: changed_outputs(e, lambda h: 0.5 * h)),
    ("lemma6", "decay"): Forgery(lambda e: scaled_clock(e, 10.0)),
    ("lemma6", "duration"): Forgery(lambda e: scaled_clock(e, 1000.0), also=("decay",)),
    ("lemma16", "mass"): Forgery(lambda e: all_but_one_scaled(e, 2.0)),
    ("lemma17", "active"): Forgery(lambda e: standing_still(e, at=slice(len(e.run.snapshots) // 2, None))),
    ("lemma17", "facet-pull"): Forgery(lambda e: all_but_one_scaled(e, 2.0)),
    ("lemma18", "kept"): Forgery(lambda e: scaled_neurons(e, 0.5, at=ODD)),
    ("lemma18", "grows"): Forgery(lambda e: scaled_output_weights(e, -1.0, at=LATER, sign=1)),
}

CASES = (
    TheoremCase(
        "boursier2024:lemma6",
        forge=lambda evidence: _from(evidence, 1, lambda n: n.rotated(QUARTER)),
        failing="boursier-a5",
        inapplicable=_on_three_points(LEMMA_6),
    ),
    TheoremCase(
        "boursier2024:lemma16",
        forge=lambda evidence: _from(evidence, 4, lambda n: n.replace(a=3.0 * n.a, w=3.0 * n.w)),
        failing="boursier-a4",
        inapplicable=lambda: example_problem(LEMMA_16, "orthogonal-triple"),
    ),
    TheoremCase(
        "boursier2024:lemma17",
        forge=lambda evidence: _from(evidence, 1, lambda n: n.rotated(QUARTER)),
        failing="boursier-a5",
        inapplicable=_on_three_points(LEMMA_17),
    ),
    TheoremCase(
        "boursier2024:lemma18",
        forge=lambda evidence: _from(evidence, 4, lambda n: n.replace(a=0.1 * n.a, w=0.1 * n.w)),
        failing="boursier-a5",
        inapplicable=_on_three_points(LEMMA_18),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.fixture(scope="module")
def fitted():
    return gather(LEMMA_6, own_problem(LEMMA_6))


def test_eq_47_is_the_speed_of_the_distance_to_the_line():
    problem = own_problem(LEMMA_6)
    problem = replace(problem, network=problem.network.scaled(scale_factor(Evidence(problem), -9.0)))
    step = 1e-3
    for centre in (11.0, 13.0):
        times = (centre - step, centre, centre + step)
        run = train(problem, EventDrivenFlow(rtol=1e-13), times=times, until=AtTime(times[-1]))
        before, now, after = phase_states(Evidence(problem, trajectory=run))
        assert np.all(now.signs[now.sets.positive] > 0)
        change = (line_distance(after) ** 2 - line_distance(before) ** 2) / (2 * step)
        assert change == pytest.approx(energy_speed(now), rel=1e-5)
        assert change < -1e-3


def test_the_pull_is_minus_H_times_the_error_of_the_line_plus_the_negative_outputs(fitted):
    """D^t + H(beta_I - beta*) is exactly -(1/n) sum h_N(x_k) x_k; at this scale that is rounding."""
    state = phase_clock(fitted).states[phase_clock(fitted).growth.index]
    constants = constants_of(fitted)
    network = state.network.materialized()
    negative = network.a < 0
    outputs = np.maximum(state.X @ network.w[negative].T, 0.0) @ network.a[negative]
    left = state.pull + constants.hessian @ (state.beta_positive - constants.beta_star)
    np.testing.assert_allclose(left, -outputs @ state.X / 3, atol=1e-14)


def test_the_bound_on_the_mass_solves_its_quadratic(fitted):
    """s^2 <= C + lambda s, with equality at the root."""
    constants = constants_of(fitted)
    y, n = fitted.dataset.y, 3
    c = 2 * np.linalg.norm(y) / (np.sqrt(n) * constants.alpha_49)
    assert largest_positive_mass(fitted) == pytest.approx(c, rel=1e-12)  # lambda = e^-190 leaves no trace


def test_eq_48_is_far_above_the_time_it_takes(fitted):
    clock = phase_clock(fitted)
    verdict = LEMMA_6.check(fitted)
    assert verdict.conclusion("duration").bound == pytest.approx(longest_fit(fitted))
    assert longest_fit(fitted) == pytest.approx(42.3896, abs=1e-3)
    assert clock.fitting.time - clock.growth.time < 2.0


def test_smaller_eps_3_asks_for_a_smaller_scale(fitted):
    assert "scale" in LEMMA_6.check(fitted, eps_3=0.1).failing_hypotheses


def test_delta_prime_has_an_explicit_limit(fitted):
    assert largest_delta_prime(fitted) == pytest.approx(0.00457, abs=1e-5)
    assert np.all(facet_remainders(fitted) < 1e-8)
    assert "delta_prime" in LEMMA_17.check(fitted, delta_prime=0.005).failing_hypotheses


def test_negative_neurons_that_grow_too_much_are_noticed(fitted):
    first, negative = phase_clock(fitted).growth.index + 1, phase_clock(fitted).states[0].sets.negative
    grown = with_each_network(
        fitted, lambda k, n: n.replace(a=np.where(negative, np.exp(60.0) * n.a, n.a)) if k >= first else n
    )
    assert "fitted" in LEMMA_6.check(grown).failing_conclusions


def test_three_points_behave_as_lemma_16_says():
    """Assumption 4 is all it needs, and the paper's own data have that."""
    verdict = check(LEMMA_16, example_problem(LEMMA_16, "three-points"), at_own_scale=True)
    assert verdict.kind == "holds", verdict.why
