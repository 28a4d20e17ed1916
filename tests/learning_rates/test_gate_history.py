"""The walls that neurons meet, of flow and descent, and where the two first differ."""

import numpy as np
import pytest

from problems import small_problem
from reluflow import EventDrivenFlow, train
from reluflow.geometry.boundary.walls import Walls
from reluflow.learning_rates.gate_history import Departure, first_departure, gates_of_flow
from reluflow.learning_rates.watched_descent import DescentRule, GateEvents, WatchedDescent
from reluflow.learning_rates.watched_descent_kernels import CROSSING, SLIDE_ENTRY, SLIDE_EXIT

WALLS = Walls.of(np.eye(3))


def events(*rows):
    """From (time, neuron, wall, kind, side)."""
    columns = list(zip(*rows, strict=True)) or [()] * 5
    kinds = (np.float64, np.int64, np.int64, np.int8, np.int8)
    return GateEvents(*(np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)))


def departs(flow, descent, lr=0.01):
    return first_departure(events(*flow), events(*descent), WALLS, lr=lr, until=100.0)


CROSSES = (10.0, 4, 1, CROSSING, 1)


def test_the_same_events_a_little_later_are_the_same():
    assert departs([CROSSES], [(10.2, 4, 1, CROSSING, 1)]) is None


def test_an_event_that_one_of_them_lacks_is_a_departure():
    assert departs([CROSSES], []) == Departure(10.0, 4, 1)
    assert departs([], [CROSSES]) == Departure(10.0, 4, 1)


def test_another_neuron_or_wall_is_a_departure():
    assert departs([CROSSES], [(10.0, 3, 1, CROSSING, 1)]).time == 10.0
    assert departs([CROSSES], [(10.0, 4, 2, CROSSING, 1)]).time == 10.0


def test_the_first_of_several_is_named():
    late = (20.0, 1, 0, CROSSING, 1)
    assert departs([CROSSES, late], []) == Departure(10.0, 4, 1)


def test_events_within_a_step_may_swap():
    flow = [(10.0, 4, 1, CROSSING, 1), (10.005, 4, 2, CROSSING, 1)]
    descent = [(10.0, 4, 2, CROSSING, 1), (10.01, 4, 1, CROSSING, 1)]
    assert departs(flow, descent) is None


def test_events_in_another_order_are_a_departure():
    flow = [(10.0, 4, 1, CROSSING, 1), (11.0, 4, 2, CROSSING, 1)]
    descent = [(10.0, 4, 2, CROSSING, 1), (11.0, 4, 1, CROSSING, 1)]
    assert departs(flow, descent) == Departure(11.0, 4, 2)


def test_the_order_of_different_neurons_does_not_matter():
    flow = [(10.0, 4, 1, CROSSING, 1), (11.0, 5, 2, CROSSING, 1)]
    descent = [(10.0, 5, 2, CROSSING, 1), (11.0, 4, 1, CROSSING, 1)]
    assert departs(flow, descent) is None


def test_a_slide_too_short_for_steps_is_a_crossing():
    flow = [(5.0, 4, 1, CROSSING, -1), (10.0, 4, 1, SLIDE_ENTRY, 0), (10.02, 4, 1, SLIDE_EXIT, 1)]
    descent = [(5.0, 4, 1, CROSSING, -1), (10.0, 4, 1, CROSSING, 1)]
    assert departs(flow, descent) is None
    assert departs(flow, descent, lr=1e-4) is not None  # a step so small would have seen it


def test_an_event_at_the_very_end_may_come_after_it():
    assert departs([(99.0, 4, 1, CROSSING, 1)], []) is None


def test_sides_of_a_flow_lead_to_its_last_network():
    """Of the events with one wall the last leaves the neuron on the side where it ends."""
    problem = small_problem(width=30, scale=1e-2, seed=2)
    run = train(problem, EventDrivenFlow())
    walls = Walls.of(problem.dataset.X)
    gates = gates_of_flow(run.events, walls, run.network)
    last = {(int(j), int(b)): int(side) for j, b, side in zip(gates.neurons, gates.walls, gates.sides, strict=True)}
    heights = run.network.w @ walls.normals.T
    assert len(last) > 10
    for pair, side in last.items():
        assert side in (0, int(np.sign(heights[pair])))


@pytest.mark.parametrize("seed", range(4))
def test_small_steps_meet_the_walls_of_the_flow(seed):
    problem = small_problem(width=10, scale=1e-1, seed=seed)
    run = train(problem, EventDrivenFlow(), until=20.0)
    walls = Walls.of(problem.dataset.X)
    descent = WatchedDescent(problem, DescentRule(2e-3))
    descent.advance(10_000)
    gates = gates_of_flow(run.events, walls, run.network)
    assert len(gates.times) > 0
    assert first_departure(gates, descent.events(), walls, lr=2e-3, until=20.0) is None


def test_a_forged_descent_departs():
    """One event of a true descent left out, or of another wall, is found."""
    problem = small_problem(width=10, scale=1e-1, seed=0)
    run = train(problem, EventDrivenFlow(), until=20.0)
    walls = Walls.of(problem.dataset.X)
    descent = WatchedDescent(problem, DescentRule(2e-3))
    descent.advance(10_000)
    gates, found = gates_of_flow(run.events, walls, run.network), descent.events()
    for place in range(len(found.times)):
        less = GateEvents(*(np.delete(part, place) for part in found))
        assert first_departure(gates, less, walls, lr=2e-3, until=20.0) is not None
        moved = found._replace(walls=np.where(np.arange(len(found.times)) == place, (found.walls + 1) % 3, found.walls))
        assert first_departure(gates, moved, walls, lr=2e-3, until=20.0) is not None


def test_steps_as_large_as_the_time_are_compared_all_the_same():
    """Eight steps were left out at the end, so that at a rate above an eighth of the time every wall was the same."""
    assert departs([CROSSES], [], lr=20.0) == Departure(10.0, 4, 1)
    assert departs([(90.0, 4, 1, CROSSING, 1)], [], lr=20.0) is None
