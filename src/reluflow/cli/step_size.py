"""`reluflow step-size DATASET`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reluflow.cli.arguments import dataset_argument, json_option, max_seconds_option, path_option
from reluflow.cli.inputs import note_suggested_leak, reading_of
from reluflow.cli.output import number, print_json, print_table
from reluflow.cli.progress import compile_first, stage_spinner
from reluflow.cli.run_options import DATA, LOSS, VARIANT, GivenOptions, run_options
from reluflow.errors import InvalidInputError

if TYPE_CHECKING:
    from reluflow.learning_rates.step_size import StepSize

_WORDS = {True: "yes", False: "no", None: "open"}


@click.command()
@dataset_argument()
@run_options(*DATA, *LOSS, "leak", *VARIANT, "width", "scale", "init", "horizon")
@click.option("--rates", metavar="R1,R2,...", default="", help="Rates to follow; default: seven around 2/sharpness.")
@click.option("--batch", type=click.IntRange(min=1), help="Also judge SGD with batches of this size at every rate.")
@click.option("--momentum", type=float, default=0.0, help="Also judge descent with this momentum at every rate.")
@click.option("--trials", type=click.IntRange(min=1), default=20, help="Seeds of SGD with --batch.")
@path_option("--picture", "FILE", "Draw the distances rate by rate and the sharpness along the flow.")
@path_option("--out", "DIR", "Write the picture and the table of rates there.")
@max_seconds_option()
@json_option
def command(
    dataset: str | None,
    *,
    run: GivenOptions,
    rates: str,
    batch: int | None,
    momentum: float,
    trials: int,
    picture: Path | None,
    out: Path | None,
    max_seconds: float,
    json: bool,
) -> None:
    """Compare gradient descent with the exact flow: walls, outputs and limit, and the largest rate that keeps them.

    Example: reluflow step-size three-points --width 20 --scale 1e-2 --json
    """
    from reluflow.learning_rates.step_size import step_size
    from reluflow.warm_up import Work

    chosen = _rates(rates)
    experiment = run.experiment(dataset)
    reading = reading_of(experiment)
    note_suggested_leak(experiment)
    problem = experiment.problem(reading.dataset)
    compile_first(Work.EVENT_DRIVEN_FLOW, Work.COLLOCATION_FLOW, Work.STEP_SIZE)
    with stage_spinner() as on_stage:
        answer = step_size(
            problem,
            rates=chosen,
            horizon=experiment.horizon,
            batch=batch,
            momentum=momentum,
            trials=trials,
            max_seconds=max_seconds,
            progress=lambda share, words: on_stage(words),
        )
        files = _written(answer, picture, out)
    if json:
        print_json({**answer.as_json(), "notes": reading.sentences(), "files": [str(file) for file in files]})
        return
    _print(answer)
    for file in files:
        print(f"Written: {file}")


def _written(answer: StepSize, picture: Path | None, out: Path | None) -> list[Path]:
    """Draw the picture and write the table where they were asked for."""
    files = []
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        answer.to_frame().to_csv(out / "step-size.csv", index=False)
        files.append(out / "step-size.csv")
    pictures = [path for path in (picture, None if out is None else out / "step-size.png") if path is not None]
    if pictures:
        from reluflow.viz.saving import save_figure
        from reluflow.viz.step_size_picture import plot_step_size

        for path in pictures:
            save_figure(plot_step_size(answer), path)
    return [*files, *pictures]


def _rates(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InvalidInputError(f"`--rates` must be numbers separated by commas, got {text!r}.") from None


def _print(answer: StepSize) -> None:
    print(answer.sentence())
    print_table(
        ("learning rate", "outcome", "largest distance", "bound", "order", "same walls", "same limit"),
        [
            (
                number(run.lr),
                str(run.outcome),
                number(run.largest_distance),
                number(row["bound"]),
                number(run.order),
                _WORDS[run.same_gates],
                _WORDS[run.same_limit],
            )
            for run, row in zip(answer.runs, answer.table(), strict=True)
        ],
    )
    for share in answer.shares:
        print(share.sentence())
