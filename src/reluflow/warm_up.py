"""Which kernels a kind of work needs, and compiling them before it starts: the first use on a machine, made short.

Everything works without it; a kernel that is not in Numba's cache is then compiled when it is first called, one after
the other in one process.
"""

from __future__ import annotations

from enum import Enum
from types import ModuleType

from reluflow import bernstein_kernels
from reluflow.certificates.backends import active_set_kernel, coordinate_descent_kernel
from reluflow.compilation.parallel import Progress, compile_kernels
from reluflow.dynamics.collocation import neuron_path_kernels, output_kernels, sliding_kernels, tangent_kernels
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.descent import cone_group_kernels, descent_kernels, grouped_descent_kernels
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.descent.grouped_descent import GroupedGradientDescent
from reluflow.dynamics.event_driven import (
    carrying_kernels,
    crossing_kernels,
    event_kernels,
    grouped_neurons_kernels,
    next_step_kernels,
    step_kernels,
)
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.shared import flow_kernels
from reluflow.dynamics.solver import AbstractSolver
from reluflow.geometry import alignment_kernels, ascent_kernels, cone_kernels, pair_path_kernels, subgradient_kernels
from reluflow.geometry.boundary import decision, minimum_norm
from reluflow.learning_rates import watched_descent_kernels
from reluflow.losses import AbstractLoss


class Work(Enum):
    """Kinds of work, each with the files of kernels that it calls; those that these call come with them."""

    EVENT_DRIVEN_FLOW = (
        bernstein_kernels,
        carrying_kernels,
        crossing_kernels,
        event_kernels,
        next_step_kernels,
        step_kernels,
        flow_kernels,
        grouped_neurons_kernels,
        decision,
        minimum_norm,
    )
    COLLOCATION_FLOW = (neuron_path_kernels, output_kernels, sliding_kernels, tangent_kernels)
    DESCENT = (descent_kernels,)
    GROUPED_DESCENT = (cone_group_kernels, grouped_descent_kernels)
    ALIGNMENT = (alignment_kernels,)
    PAIR_ALIGNMENT = (pair_path_kernels, decision, minimum_norm)
    EXTREMAL_VECTORS = (ascent_kernels, cone_kernels, subgradient_kernels)
    STEP_SIZE = (watched_descent_kernels,)
    CERTIFICATES = (active_set_kernel, coordinate_descent_kernel, minimum_norm)

    @property
    def modules(self) -> tuple[ModuleType, ...]:
        """The files of kernels."""
        files: tuple[ModuleType, ...] = self.value
        return files


def work_of(solver: AbstractSolver, loss: AbstractLoss) -> tuple[Work, ...]:
    """The work of a run by this solver, with the certificate of its end."""
    certificates = (Work.CERTIFICATES,) if loss.is_classification else ()
    if isinstance(solver, EventDrivenFlow):
        return (Work.EVENT_DRIVEN_FLOW, *certificates)
    if isinstance(solver, CollocationFlow):
        return (Work.COLLOCATION_FLOW, *certificates)
    if isinstance(solver, GradientDescent):
        return (Work.DESCENT, *certificates)
    if isinstance(solver, GroupedGradientDescent):
        return (Work.GROUPED_DESCENT, *certificates)
    return certificates


def warm_up(*kinds: Work, on_progress: Progress | None = None) -> int:
    """Compile what some kinds of work need (all of them where none is named), unless it is in the cache.

    Returns
    -------
    int
        How many kernels had to be compiled; 0 on a machine that has done this before.
    """
    modules = {module.__name__: module for kind in (kinds or tuple(Work)) for module in kind.modules}
    return compile_kernels(modules.values(), on_progress=on_progress)
