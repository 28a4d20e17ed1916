"""The study report of a state, for a page to take away."""

from __future__ import annotations

from collections.abc import Callable

from reluflow.dynamics.problem import TrainingProblem
from reluflow.experiment import Experiment
from reluflow.network import initialization_named


def report_of(state: Experiment, problem: TrainingProblem, command: str, on_stage: Callable[[str], None]) -> str:
    """The study of the same data and settings, as one self-contained page."""
    import tempfile
    from pathlib import Path

    from reluflow.study.pictures import draw_study
    from reluflow.study.report import write_report
    from reluflow.study.whole_study import study

    network = problem.network
    found = study(
        problem.dataset,
        loss=problem.loss,
        leak=state.leak,
        initialization=initialization_named(state.init),
        width=min(network.num_neurons, 200),
        scale=str(state.scale),
        seed=state.seed,
        seeds=0,
        theorems=(),
        on_stage=on_stage,
    )
    with tempfile.TemporaryDirectory() as folder:
        pictures = draw_study(found, Path(folder))
        return write_report(found, pictures, Path(folder) / "report.html", command=command).read_text(encoding="utf-8")
