"""The smoothed margin: values, gradients, and Appendix F.2 along a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forging import (
    Forgeries,
    Forgery,
    scaled_neurons,
    with_record,
)
from reluflow.data.registry import load
from reluflow.network import Network
from reluflow.papers.lyu2021.theorems.smoothed_margin import LateStates, MarginState, smoothed_margin
from reluflow.theory.check import example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from theorem_cases import TheoremCase, contract, with_each_network

SMOOTHED_MARGIN = theorem_named("lyu2021:appF.2")


def _wobbling(evidence):
    """Every other snapshot shrunk: the margin falls again and again, and its rate is not the flow's."""
    return with_each_network(
        evidence, lambda k, n: n.replace(w=n.w * (1.0 - 0.05 * (k % 2)), a=n.a * (1.0 - 0.05 * (k % 2)))
    )


def _not_separable():
    return example_problem(SMOOTHED_MARGIN, load("random-labels").subset(range(40)))


def _other_loss():
    problem = example_problem(SMOOTHED_MARGIN)
    from reluflow.losses import ExponentialLoss

    return replace(problem, loss=ExponentialLoss())


def _recounted(evidence):
    """The margins of states on more samples than the data have."""
    states = tuple(replace(s, X=np.tile(s.X, (500, 1)), y=np.tile(s.y, 500)) for s in evidence.record.states)
    return with_record(evidence, states=states)


def of_repeated_samples(state: MarginState) -> MarginState:
    """The state on samples that are each counted three hundred times."""
    return replace(state, X=np.tile(state.X, (300, 1)), y=np.tile(state.y, 300))


def late_states_changed(evidence: Evidence, change: Callable[[MarginState], MarginState]) -> Evidence:
    return with_record(evidence, states=tuple(change(state) for state in evidence.recorded(LateStates).states))


FORGERIES: Forgeries = {
    ("appF.2", "below"): Forgery(lambda e: late_states_changed(e, lambda s: replace(s, X=-s.X))),
    ("appF.2", "monotone"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("appF.2", "gap"): Forgery(lambda e: late_states_changed(e, of_repeated_samples)),
    ("appF.2.1", "weighted"): Forgery(lambda e: late_states_changed(e, of_repeated_samples), also=("radial",)),
    ("appF.2.1", "radial"): Forgery(lambda e: late_states_changed(e, of_repeated_samples), also=("weighted",)),
}

CASES = (
    TheoremCase("lyu2021:appF.2", forge=_wobbling, failing="loss", inapplicable=_other_loss),
    TheoremCase("lyu2021:appF.2.1", forge=_recounted, failing="linearly-separable", inapplicable=_not_separable),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-3.0, 25.0), min_size=1, max_size=6))
def test_the_value_is_minus_the_log_of_the_product(q):
    expected = -np.log(np.prod(1.0 + np.exp(-np.array(q, dtype=np.longdouble))) - 1.0)
    assert smoothed_margin(q) == pytest.approx(float(expected), abs=1e-6)


def test_the_value_beyond_the_range_of_exponentials():
    """For large margins alpha = q_min - ln(number of smallest ones)."""
    assert smoothed_margin([900.0, 900.0, 2000.0]) == pytest.approx(900.0 - np.log(2.0), abs=1e-12)


@pytest.mark.parametrize("q", [0.0, 1.0, 18.4, 18.42, 18.43, 18.5, 25.0, 700.0])
def test_of_one_sample_it_is_the_margin_itself(q):
    """Also across the change of formula, where n L is 1e-8; a first version was off by half of that there."""
    assert smoothed_margin([q]) == pytest.approx(q, abs=2e-14 * max(1.0, q))


def _state(seed):
    rng = np.random.default_rng(seed)
    data = load("lyu-counterexample-sharp")
    w = rng.standard_normal((4, 2)) + np.array([1.0, 0.0])
    return MarginState(Network(w, np.linalg.norm(w, axis=1) * [1, 1, 1, 0.2], leak=0.5), data.X, data.y)


@pytest.mark.parametrize("seed", range(3))
def test_erratum_e18_the_gradient_subtracts_its_radial_term(seed):
    """Finite differences agree with the corrected gradient and not with the printed plus sign."""
    state = _state(seed)
    numeric = np.zeros(state.theta.size)
    m, d = state.network.w.shape
    for k in range(state.theta.size):
        values = []
        for step in (1e-6, -1e-6):
            theta = state.theta.copy()
            theta[k] += step
            moved = MarginState(
                state.network.replace(w=theta[: m * d].reshape(m, d), a=theta[m * d :]), state.X, state.y
            )
            values.append(moved.smooth_gamma)
        numeric[k] = (values[0] - values[1]) / 2e-6
    assert numeric == pytest.approx(state.smooth_gradient, abs=1e-7)
    printed = state.smooth_gradient + 4.0 * state.smooth * state.theta / state.norm**4
    assert np.max(np.abs(numeric - printed)) > 1e-2


@pytest.mark.parametrize("seed", range(3))
def test_gradients_obey_eulers_identity(seed):
    state = _state(seed)
    assert state.gradients @ state.theta == pytest.approx(2.0 * state.q, rel=1e-12)
    assert np.sum(state.kappa) >= 1.0 - 1e-12
