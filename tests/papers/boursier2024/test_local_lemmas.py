"""Lemmas 21, 22 and 23 through the theorem contract; the excess loss and Eq. (59) computed a second way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    in_reverse,
    scaled_clock,
    with_networks,
)
from papers.boursier2024.tampering import changed_outputs
from reluflow.papers.boursier2024.theorems.local_lemmas import (
    active_mass,
    bend_bound,
    bent_outputs,
    excess_loss,
    gradient_square,
    line_error,
    mobilities,
    pl_remainder,
)
from reluflow.papers.boursier2024.theorems.mixed_lemmas import late_states
from reluflow.papers.boursier2024.theorems.phase_clock import phase_clock
from reluflow.papers.boursier2024.theorems.spurious_constants import constants_of
from reluflow.theory.check import example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from theorem_cases import (
    TheoremCase,
    contract,
    own_problem,
    with_each_network,
)

LEMMA_23, LEMMA_21, LEMMA_22 = (theorem_named(f"boursier2024:{name}") for name in ("lemma23", "lemma21", "lemma22"))


def _lighter_outputs(evidence):
    """The same function with half of every output weight: its gradient is too small for Lemma 21."""
    return with_each_network(evidence, lambda k, n: n.replace(a=0.5 * n.a, w=2.0 * n.w))


def _frozen(evidence):
    """A run that stops moving when Phase 3 begins."""
    first = phase_clock(evidence).fitting.index
    entry = evidence.run.snapshots[first].network
    return with_each_network(evidence, lambda k, network: entry if k >= first else network)


def _other_outputs(evidence):
    first, run = phase_clock(evidence).fitting.index + 2, evidence.run
    snapshots = tuple(replace(s, outputs=1.01 * s.outputs) if k >= first else s for k, s in enumerate(run.snapshots))
    return replace(evidence, trajectory=replace(run, snapshots=snapshots))


def traded_in_phase_3(evidence: Evidence) -> Evidence:
    """From tau_3 on the layers trade a factor, so that outputs stay and the sum of a^2 falls."""
    first = phase_clock(evidence).fitting.index
    return with_networks(evidence, lambda n: n.replace(w=4.0 * n.w, a=n.a / 4.0), at=slice(first, None))


FORGERIES: Forgeries = {
    ("lemma21", "polyak"): Forgery(traded_in_phase_3),
    ("lemma22", "decay"): Forgery(in_reverse, also=("late-rate",)),
    ("lemma22", "late-rate"): Forgery(lambda e: scaled_clock(e, 2.0)),
    ("lemma23", "pull"): Forgery(in_reverse),
    ("lemma23", "travel"): Forgery(lambda e: changed_outputs(e, lambda h: 1.1 * h, at=-1), also=("pull",)),
}

CASES = (
    TheoremCase(
        "boursier2024:lemma21",
        forge=_lighter_outputs,
        failing="boursier-a5",
        inapplicable=lambda: example_problem(LEMMA_21, "three-points"),
    ),
    TheoremCase(
        "boursier2024:lemma22",
        forge=_frozen,
        failing="boursier-a5",
        inapplicable=lambda: example_problem(LEMMA_22, "three-points"),
    ),
    TheoremCase(
        "boursier2024:lemma23",
        forge=_other_outputs,
        failing="boursier-a5",
        inapplicable=lambda: example_problem(LEMMA_23, "three-points"),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.fixture(scope="module")
def evidence():
    return gather(LEMMA_21, own_problem(LEMMA_21))


def _with_a_mixed_neuron(state, size):
    """The state with one more neuron, negative and across the data."""
    network = state.network
    grown = network.replace(
        w=np.vstack([network.w, [size, 0.0]]), a=np.append(network.a, -size), weight=np.append(network.weight, 1.0)
    )
    outputs = grown.outputs(state.X)
    snapshot = replace(state.snapshot, network=grown, outputs=outputs)
    sets = replace(
        state.sets, positive=np.append(state.sets.positive, False), negative=np.append(state.sets.negative, True)
    )
    return replace(state, snapshot=snapshot, sets=sets)


@pytest.mark.parametrize("size", [0.0, 0.01, 0.3])
def test_excess_loss_is_the_difference_of_two_losses(evidence, size):
    constants = constants_of(evidence)
    index = phase_clock(evidence).growth.index + 6
    state = _with_a_mixed_neuron(phase_clock(evidence).states[index], size)
    loss = evidence.loss.total(state.outputs, state.y)
    assert excess_loss(state) == pytest.approx(loss - constants.loss_star, rel=1e-12, abs=1e-15)
    linear = state.X @ (constants.beta_star + line_error(state))
    np.testing.assert_allclose(state.outputs, linear + bent_outputs(state), atol=1e-14)
    b = line_error(state)
    assert abs(excess_loss(state) - 0.5 * b @ constants.hessian @ b) <= bend_bound(state) + 1e-16


@pytest.mark.parametrize("size", [0.003, 0.03, 0.1])
def test_the_remainder_covers_mixed_neurons(evidence, size):
    """|g|^2 + remainder >= c (L - L*) with a neuron across the data, for the sharp constant too (erratum E9)."""
    for index in (2, 6, 12):
        state = _with_a_mixed_neuron(phase_clock(evidence).states[phase_clock(evidence).growth.index + index], size)
        square = gradient_square(state, evidence)
        for constant in (constants_of(evidence).pl_constant, 2 * constants_of(evidence).sigma_min * active_mass(state)):
            if constant <= 2 * constants_of(evidence).sigma_min * active_mass(state):
                assert square + pl_remainder(state, constant) >= constant * excess_loss(state)


def test_gradient_square_is_that_of_the_flow(evidence):
    """dL/dt = -|g|^2, by central differences of the recorded loss on a fine stretch of the run."""
    from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
    from reluflow.dynamics.stopping import AtTime
    from reluflow.dynamics.train import train

    centre, step = phase_clock(evidence).growth.time + 2.0, 1e-3
    times = (centre - step, centre, centre + step)
    run = train(evidence.problem, EventDrivenFlow(rtol=1e-13), times=times, until=AtTime(times[-1]))
    state = replace(phase_clock(evidence).states[0], snapshot=run.snapshots[1])
    slope = (run.snapshots[2].loss - run.snapshots[0].loss) / (2 * step)
    assert slope == pytest.approx(-gradient_square(state, evidence), rel=1e-5)


def test_the_late_rate_is_twice_the_least_eigenvalue(evidence):
    verdict = LEMMA_22.check(evidence)
    last = late_states(evidence)[-1]
    assert verdict.conclusion("late-rate").measured == pytest.approx(2 * mobilities(last)[0], rel=1e-3)
    assert mobilities(last)[0] >= constants_of(evidence).pl_constant


def test_the_rate_of_the_three_points_is_the_measured_one():
    """Rate of |beta_I - beta*| between t = 40.8 and 54.4, measured elsewhere by descent as 0.078."""
    from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
    from reluflow.dynamics.stopping import AtTime
    from reluflow.dynamics.train import train
    from reluflow.papers.boursier2024.theorems.phase_states import phase_states
    from reluflow.theory.evidence import Evidence

    problem = example_problem(LEMMA_21, "three-points")
    times = (2e-3 * 20422, 2e-3 * 27184)
    run = train(problem, EventDrivenFlow(), times=times, until=AtTime(times[-1]))
    first, last = phase_states(Evidence(problem, trajectory=run))
    ratio = np.linalg.norm(line_error(first)) / np.linalg.norm(line_error(last))
    assert np.log(ratio) / (times[1] - times[0]) == pytest.approx(0.078, abs=5e-4)
