"""What a study runs, and which of its parts speak of one output without a bias only."""

from __future__ import annotations

from reluflow.dynamics.problem import TrainingProblem
from reluflow.network.network import Network
from reluflow.study.whole_study import Study


def problem_of(study: Study, network: Network) -> TrainingProblem:
    """The data, loss and bias of a study with this network."""
    return TrainingProblem(study.dataset, study.loss, network, trains_output_bias=study.output_bias != "fixed")


def one_output_only(problem: TrainingProblem) -> str:
    """What a study leaves out of a problem with several outputs or an output bias, and the way to have it."""
    if problem.num_outputs == 1:
        return (
            "Extremal vectors, alignments, the path at vanishing scale and the theorems were left out: they are of "
            "networks without an output bias; `--output-bias none` studies one."
        )
    way = (
        "`--labels CLASS` studies one class against the rest"
        if problem.dataset.classes is not None
        else "`--target NAME` studies one column"
    )
    return (
        "The path at vanishing scale and the theorems on one output were left out, and extremal pairs and alignments "
        f"are listed by `reluflow extremal` and `reluflow align`; {way}."
    )
