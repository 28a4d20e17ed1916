"""Direction change and norm change of Appendix A.5."""

from __future__ import annotations

import numpy as np
import pytest

from papers.min2024.cases import EXPONENTIAL, deterministic_problem, drawn_problem
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.errors import InvalidInputError
from reluflow.network import Network
from reluflow.papers.min2024.theorems.two_phase_measures import direction_change, input_weight_pulls, norm_change


def test_measures_against_differences_along_the_flow():
    """Along the flow of both layers d/dt sum |w_j|^2 is the norm change, and the directions turn at its rate."""
    step, time = 1e-4, 5.0
    problem = deterministic_problem(np.log(1e-4))
    run = train(problem, EventDrivenFlow(), until=AtTime(time + step), times=[time - step, time, time + step])
    before, middle, after = (s.network.materialized() for s in run.snapshots)
    squares = [float(np.sum(n.w**2)) for n in (before, after)]
    assert norm_change(middle, problem.dataset, EXPONENTIAL) == pytest.approx(
        (squares[1] - squares[0]) / (2 * step), rel=1e-5
    )
    units = [n.w / np.linalg.norm(n.w, axis=1, keepdims=True) for n in (before, after)]
    turned = float(np.sum(np.linalg.norm(units[1] - units[0], axis=1))) / (2 * step)
    assert direction_change(middle, problem.dataset, EXPONENTIAL) == pytest.approx(turned, rel=1e-4, abs=1e-9)


def test_pulls_against_differences_of_the_loss():
    problem = drawn_problem("min-toy", scale="0.5", width=3)
    network = problem.network.materialized()
    velocity = network.a[:, None] * input_weight_pulls(network, problem.dataset, EXPONENTIAL)
    step = 1e-6
    for j in range(3):
        for k in range(2):
            moved = []
            for sign in (1.0, -1.0):
                w = network.w.copy()
                w[j, k] += sign * step
                outputs = network.replace(w=w).outputs(problem.dataset.X)
                moved.append(EXPONENTIAL.total(outputs, problem.dataset.y))
            assert velocity[j, k] == pytest.approx(-(moved[0] - moved[1]) / (2 * step), abs=1e-7)


def test_direction_change_does_not_depend_on_a_vanishing_scale():
    problem = drawn_problem(width=6)
    values = [
        direction_change(problem.network.replace(log_scale=s), problem.dataset, EXPONENTIAL) for s in (-40.0, -900.0)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    assert values[0] > 0.0


def test_a_zero_neuron_has_no_direction():
    problem = drawn_problem(width=2)
    one = direction_change(Network([[1.0, 0.5]], [1.0], log_scale=-30.0), problem.dataset, EXPONENTIAL)
    two = direction_change(Network([[1.0, 0.5], [0.0, 0.0]], [1.0, 0.0], log_scale=-30.0), problem.dataset, EXPONENTIAL)
    assert one == two


def test_another_dimension_is_refused():
    problem = drawn_problem(width=2)
    with pytest.raises(InvalidInputError, match="`network` expects inputs of dimension 3"):
        norm_change(Network([[1.0, 0.0, 0.0]], [1.0]), problem.dataset, EXPONENTIAL)
