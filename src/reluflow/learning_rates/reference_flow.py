"""ReferenceFlow: the exact flow that descent is held against: its events, its limit, its outputs at given times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.limits.certified_limit import CertifiedLimit
from reluflow.certificates.limits.levelling import end_of_training, may_be_stiff
from reluflow.certificates.limits.undecided import limit_or_undecided
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.flow_choice import choose_flow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Trajectory
from reluflow.geometry.boundary.walls import Walls
from reluflow.learning_rates.gate_history import gates_of_flow
from reluflow.learning_rates.watched_descent import GateEvents
from reluflow.network import Network

_SETTLED = 1e-6  # share of its fall that the loss of a regression has left where the comparison ends
_LEARNT = 1e-2  # the same of a classifier, whose direction is followed by the flow
_CUT_SHORT = 3  # of a flow that was cut short the first part of so many, by steps, is compared: it is run again twice
_ONWARD_RTOL = 1e-6
_SAME_FUNCTION = 1e-5  # largest distance of the outputs of one limit from those of another, relative to their size
_SAME_DIRECTION = 1e-3  # the same of normalised outputs of two directions, which runs come to like 1/log t


def follow_flow(
    problem: TrainingProblem, *, max_seconds: float, rtol: float | None = None
) -> tuple[Trajectory, AbstractSolver]:
    """The flow to its end, and the solver that was taken."""
    stiff = may_be_stiff(problem)
    solver = choose_flow(problem, rtol=rtol, to_the_end=stiff).solver
    return train(problem, solver, until=end_of_training(problem), max_seconds=max_seconds), solver


@dataclass(frozen=True, eq=False)
class ReferenceFlow:
    """The flow from the problem's network, to its end.

    Parameters
    ----------
    trajectory
        The run.
    limit
        What its end is; None where the run was cut short, so that there is no end to compare with.
    solver
        Its method.
    horizon
        Time up to which descent is compared with it step by step: where its loss has come down.
    walls, gates
        The walls of the samples and the events of the run at them.
    """

    trajectory: Trajectory
    limit: CertifiedLimit | None
    solver: AbstractSolver
    horizon: float
    walls: Walls
    gates: GateEvents

    @classmethod
    def of(
        cls, problem: TrainingProblem, *, horizon: float | None = None, max_seconds: float = np.inf,
        rtol: float | None = None,
    ) -> ReferenceFlow:  # fmt: skip
        """Run the flow to its end; `horizon` is by default where the loss has come down."""
        trajectory, solver = follow_flow(problem, max_seconds=max_seconds, rtol=rtol)
        walls = Walls.of(problem.dataset.X)
        gates = gates_of_flow(trajectory.events, walls, trajectory.network)
        end = _come_down(trajectory) if horizon is None else min(horizon, trajectory.time)
        limit = limit_or_undecided(trajectory) if not trajectory.outcome.is_cut_short else None
        return cls(trajectory, limit, solver, end, walls, gates)

    @property
    def problem(self) -> TrainingProblem:
        """What is trained."""
        return self.trajectory.problem

    @property
    def onward_rtol(self) -> float | None:
        """Tolerance of the flows that say where descent ends: a direction on large data is compared to 1e-3."""
        return _ONWARD_RTOL if self._is_direction and isinstance(self.solver, CollocationFlow) else None

    def outputs_at(self, times: FloatArray, *, max_seconds: float = np.inf) -> dict[float, FloatArray]:
        """h(x_k) of the flow at some times, by a run of its own; the last ones are missing where it took too long."""
        wanted = np.unique(times)
        keep = Keep(times=wanted, measure=_outputs)
        run = train(self.problem, self.solver, until=AtTime(float(wanted[-1])), keep=keep, max_seconds=max_seconds)
        return dict(zip(wanted.tolist(), run.measured, strict=False))

    def snapshots_at(self, times: FloatArray, *, max_seconds: float = np.inf) -> list[Network]:
        """The network of the flow at some times, in order; the last ones are missing where it took too long."""
        until = AtTime(float(np.max(times)))
        run = train(self.problem, self.solver, until=until, times=times, max_seconds=max_seconds)
        return [snapshot.network for snapshot in run.snapshots]

    def is_same_limit(self, other: CertifiedLimit) -> bool | None:
        """Whether another run's limit has the same certificate and function; None where there is no limit."""
        if self.limit is None:
            return None
        if other.certificate.kind != self.limit.certificate.kind:
            return False
        if tuple(other.certificate.ignored) != tuple(self.limit.certificate.ignored):
            return False
        mine, theirs = (self._function(limit.network) for limit in (self.limit, other))
        size = max(
            float(np.max(np.abs(mine))), float(np.max(np.abs(self.problem.dataset.y))) * (not self._is_direction)
        )
        allowed = _SAME_DIRECTION if self._is_direction else _SAME_FUNCTION
        return bool(np.max(np.abs(mine - theirs)) <= allowed * size)

    @property
    def _is_direction(self) -> bool:
        return self.problem.loss.is_classification and self.problem.weight_decay == 0.0

    def _function(self, network: Network) -> FloatArray:
        """Its outputs on the data; of a direction, those of the normalised network."""
        if not self._is_direction:
            return network.outputs(self.problem.dataset.X)
        shape = network.replace(log_scale=0.0)
        return np.asarray(shape.outputs(self.problem.dataset.X) / shape.squared_norm())


def _outputs(run: AbstractRun) -> FloatArray:
    return run.outputs().copy()


def _come_down(trajectory: Trajectory) -> float:
    """The time at which almost all of the fall of the loss is over, or the first part of a run that was cut short."""
    losses, times = trajectory.losses, trajectory.times
    share = _LEARNT if trajectory.problem.loss.is_classification else _SETTLED
    above = np.flatnonzero(losses - trajectory.loss > share * (losses[0] - trajectory.loss))
    last = min(int(above[-1]) + 1, len(times) - 1) if len(above) else len(times) - 1
    if trajectory.outcome.is_cut_short:
        last = max(min(last, len(times) // _CUT_SHORT), 1)
    finite = times[: last + 1][np.isfinite(times[: last + 1])]
    return float(finite[-1])
