"""Which of the two flow solvers a problem gets, and why, in one line."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from enum import StrEnum
from math import comb

from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.collocation.sample_forces import Device
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.geometry.boundary.decision import Ridge

_WIDE = 4  # with this many times d + 1 neurons per possible cone, groups of neurons are cheaper than single ones
_TINY = 3000  # n d m up to which a step of everything costs nothing
_TIGHT, _SMALL = 1e-8, 20_000  # below this tolerance every crossing ends a step, and small problems stay event-driven
_LOOSE, _NOT_SO_TINY = 1e-5, 2_000  # from this tolerance and size on collocation is faster: docs/evidence/small-runs.md
MOST_STEPS = 1_000_000
_RTOL_OF_SMALL = 1e-10  # that of event-driven steps, of small problems which only collocation takes


class FlowSolver(StrEnum):
    """The solvers of the flow by name."""

    AUTO = "auto"
    EVENT_DRIVEN = "event-driven"
    COLLOCATION = "collocation"


@dataclass(frozen=True)
class ChosenFlow:
    """A flow solver, its name and the reason in a sentence it was taken."""

    solver: EventDrivenFlow | CollocationFlow
    name: FlowSolver
    reason: str


def choose_flow(
    problem: TrainingProblem,
    *,
    solver: FlowSolver | str = FlowSolver.AUTO,
    rtol: float | None = None,
    ridge: Ridge = "stop",
    max_steps: int = MOST_STEPS,
    to_the_end: bool = False,
    device: Device = "cpu",
) -> ChosenFlow:
    """The faster flow solver for a problem, or the one that is named.

    Both compute the same flow to `rtol`. The event-driven solver carries neurons of one activation pattern together and
    ends a step at every heavy crossing: best for few samples and many neurons, and for tight tolerances; a looser one
    hardly saves it a step. Collocation
    carries every neuron alone through its own crossings: best for real data, and the one for several outputs and for an
    output bias.

    Parameters
    ----------
    problem
        What is to be trained.
    solver
        "auto", "event-driven" or "collocation".
    rtol
        Tolerance; by default each solver's own, of a small problem that only collocation takes 1e-10.
    ridge, max_steps
        As for the solvers.
    to_the_end
        Whether the run is to reach its end at all costs: of a classifier whose samples do not all fade that is stiff,
        with little weight decay too, and steps from event to event crawl there, on few samples too.
    device
        Of collocation.

    Returns
    -------
    ChosenFlow
        The solver, its name and the reason in a sentence.

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.load("three-points")
    >>> network = reluflow.balanced_initialization(data, width=200, scale=1e-3, rng=np.random.default_rng(0))
    >>> choose_flow(reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)).solver
    EventDrivenFlow(rtol=1e-10, ridge='stop', max_steps=1000000)
    """
    try:
        name = FlowSolver(solver)
    except ValueError:
        raise InvalidInputError(f"`solver` must be one of {', '.join(FlowSolver)}, got {solver!r}.") from None
    reason = f"The {name} solver, as asked."
    if not problem.has_single_output:
        if name is FlowSolver.EVENT_DRIVEN:
            raise InvalidInputError(
                f"`solver` must be 'collocation' or 'auto' for a problem with {problem.variant}, got 'event-driven', "
                "which has one output without a bias."
            )
        name, reason = FlowSolver.COLLOCATION, f"Collocation of the forces: it takes {problem.variant}."
        is_small = problem.dataset.X.size * problem.network.num_neurons * problem.num_outputs <= _SMALL
        rtol = _RTOL_OF_SMALL if rtol is None and is_small else rtol
    if name is FlowSolver.AUTO:
        may_be_stiff = to_the_end and (problem.loss.fades or not problem.is_plain)
        name, reason = _fastest(problem, rtol, may_be_stiff=may_be_stiff)
    if name is FlowSolver.EVENT_DRIVEN:
        exact = EventDrivenFlow(ridge=ridge, max_steps=max_steps)
        return ChosenFlow(exact if rtol is None else EventDrivenFlow(rtol, ridge, max_steps), name, reason)
    _check_memory(problem)
    dense = CollocationFlow(ridge=ridge, max_steps=max_steps, device=device)
    return ChosenFlow(dense if rtol is None else replace(dense, rtol=rtol), name, reason)


def _fastest(problem: TrainingProblem, rtol: float | None, *, may_be_stiff: bool) -> tuple[FlowSolver, str]:
    """The solver that is likely to be faster, and why."""
    n, d, m = problem.dataset.n, problem.dataset.d, problem.network.num_neurons
    size = f"{n} samples in dimension {d} with {m} neurons"
    is_loose = rtol is not None and rtol >= _LOOSE and n * d * m >= _NOT_SO_TINY
    if n * d * m <= _TINY and not may_be_stiff and not is_loose:
        return FlowSolver.EVENT_DRIVEN, f"Event-driven steps: {size} are few."
    cones = 2 * sum(comb(n - 1, k) for k in range(min(d, n)))
    if problem.is_plain and m >= _WIDE * (d + 1) * cones:  # else the neurons of a group are carried one by one
        return FlowSolver.EVENT_DRIVEN, f"Event-driven steps: {m} neurons share at most {cones} activation patterns."
    if rtol is not None and rtol < _TIGHT and n * d * m <= _SMALL:
        return FlowSolver.EVENT_DRIVEN, f"Event-driven steps: {size} at rtol {rtol:g}."
    if n * d * m <= _TINY and is_loose:
        return FlowSolver.COLLOCATION, f"Collocation of the forces: {size} at rtol {rtol:g}."
    if n * d * m <= _TINY:
        whose = "a classifier" if problem.is_plain else f"a run with {problem.variant}"
        return FlowSolver.COLLOCATION, f"Collocation of the forces: the end of {whose} may be stiff."
    return FlowSolver.COLLOCATION, f"Collocation of the forces: {size} cross too many boundaries to stop at each."


def _check_memory(problem: TrainingProblem) -> None:
    """Refuse a problem whose run would not fit, before it starts."""
    n, d, m = problem.dataset.n, problem.dataset.d, problem.network.num_neurons
    needed = memory_of_collocation(n, d, m)
    free = _free_memory()
    if needed > free:
        raise InvalidInputError(
            f"`problem` needs about {needed:,} bytes of memory ({n} samples, {m} neurons) and {free:,} are free; "
            "take fewer samples or neurons."
        )


def memory_of_collocation(n: int, d: int, m: int) -> int:
    """Bytes that a collocation run of this size takes, about.

    >>> memory_of_collocation(2000, 784, 50) < 1_000_000_000
    True
    """
    kernels = 3 * n * n * (8 if n <= 3000 else 4)
    paths = 8 * m * (6 * n + 12 * (d + 1) + 2 * n) + 8 * 10 * min(m * n, 2**24)
    return kernels + paths + 3 * 8 * n * d


def _free_memory() -> int:
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return 2**63
    return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
