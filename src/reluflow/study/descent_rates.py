"""What a study says of gradient descent: up to which learning rate it ends where the flow does."""

from __future__ import annotations

from reluflow.dynamics.descent.descent_run import materialized
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.learning_rates.step_size import StepSize, step_size
from reluflow.study.flow_summary import FlowSummary

LARGEST_COMPARED = 5_000  # n d m beyond which descent beside the flow would take longer than the rest of a study
MOST_SECONDS = 5.0  # of processor time


def is_comparable(problem: TrainingProblem, flow: FlowSummary) -> bool:
    """Whether descent is compared: a small problem of a scale that descent can hold, whose flow has ended."""
    size = problem.dataset.X.size * problem.network.num_neurons
    if not flow.has_ended or not flow.is_exact or not problem.has_single_output or size > LARGEST_COMPARED:
        return False
    try:
        materialized(problem.network)
    except InvalidInputError:
        return False
    return True


def compare_with_descent(problem: TrainingProblem, *, max_seconds: float) -> StepSize:
    """`step_size` in the time that a study has for it."""
    return step_size(problem, max_seconds=min(max_seconds, MOST_SECONDS))
