"""What a first use on a machine has to compile, done on next to nothing before the clock of a study starts."""

from __future__ import annotations

from reluflow.data.dataset import Dataset
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.flow.choice import choose_flow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.train import train
from reluflow.geometry.alignment import alignment_of
from reluflow.geometry.extremal import extremal_vectors
from reluflow.losses import AbstractLoss
from reluflow.network.network import Network


def compile_event_driven(loss: AbstractLoss, leak: float) -> None:
    """Run the flow and the descent on next to nothing: what is compiled once on a machine then is."""
    problem = _next_to_nothing(loss, leak)
    train(problem, choose_flow(problem, solver="event-driven").solver, max_steps=100)
    train(problem, GradientDescent(lr=0.01, iterations=2))


def compile_collocation(loss: AbstractLoss, leak: float) -> None:
    """Likewise the flow on real data."""
    problem = _next_to_nothing(loss, leak)
    train(problem, choose_flow(problem, solver="collocation").solver, max_steps=5)


def compile_geometry(loss: AbstractLoss, leak: float) -> None:
    """Likewise alignments and extremal vectors."""
    problem = _next_to_nothing(loss, leak)
    alignment_of(problem.dataset, loss, problem.network.w, problem.network.a, leak=leak)
    extremal_vectors(problem.dataset, loss, leak=leak)
    extremal_vectors(problem.dataset, loss, leak=leak, max_cones=0)


def _next_to_nothing(loss: AbstractLoss, leak: float) -> TrainingProblem:
    data = Dataset([[1.0, 0.5], [-0.5, 1.0], [0.3, -1.0]], [1.0, -1.0, 1.0])
    network = Network([[0.3, 0.15], [-0.15, 0.3], [0.1, 0.3], [0.2, -0.3]], [0.4, -0.4, 0.4, 0.4], leak=leak)
    return TrainingProblem(data, loss, network)
