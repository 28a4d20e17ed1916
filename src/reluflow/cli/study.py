"""`reluflow study [DATASET]`."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from reluflow.after_run import Stage
from reluflow.cli.arguments import dataset_argument, json_option, max_seconds_option, max_steps_option, path_option
from reluflow.cli.inputs import note, note_left_out_bias, note_suggested_leak, reading_of
from reluflow.cli.output import print_json, print_table, print_text
from reluflow.cli.progress import stage_bar
from reluflow.cli.run_options import DATA, LOSS, GivenOptions, run_options
from reluflow.errors import InvalidInputError

if TYPE_CHECKING:
    from reluflow.data.dataset import Dataset
    from reluflow.study.growing_report import GrowingReport
    from reluflow.study.whole_study import Study
    from reluflow.theory.theorem import Theorem


@click.command()
@dataset_argument(metavar="[DATASET]", words="A registered name, or a file as for `train`; default: three-points.")
@run_options(
    *DATA, *LOSS, "leak", "width", "scale", "init", "output_bias",
    words={"width": "Neurons; default 200, fewer for large data."},
)  # fmt: skip
@click.option(
    "--seeds", type=click.IntRange(min=0), default=3, show_default=True,
    help="Draws the run is repeated from, at each scale.",
)  # fmt: skip
@click.option(
    "--scales", metavar="S1,S2,...", default="1e-1,1e-3,1e-6", show_default=True, help="Scales the run is repeated at."
)
@click.option("--lemmas", is_flag=True, help="Ask every encoded result, lemmas included, not only the theorems.")
@click.option("--quick", is_flag=True, help="One run, no repetitions, no theorems: seconds on small data.")
@max_seconds_option(
    None,
    words="Seconds allowed on the clock, more than half of them to the first run; inf: any. Default: as much counted "
    "work as two cores do in about 60 seconds, so that a busy machine gives the same answer.",
)
@max_steps_option
@click.option("--processes", type=click.IntRange(min=1), help="Processes side by side; default: one per core.")
@click.option("--animate", is_flag=True, help="Also write run.gif, the run as a moving picture (at most two inputs).")
@path_option("--out", "DIR", "Where files go.")
@json_option
def command(
    dataset: str | None,
    *,
    run: GivenOptions,
    seeds: int,
    scales: str,
    lemmas: bool,
    quick: bool,
    max_seconds: float | None,
    max_steps: int | None,
    processes: int | None,
    animate: bool,
    out: Path | None,
    json: bool,
) -> int:
    """Study a dataset and write one self-contained report.html.

    The flow to its limit with its phases and the certified end point come first; then diagnosis, extremal vectors,
    every applicable theorem's verdict, and whether another draw or scale ends elsewhere. The report is there from the
    first finding on and fills up; Ctrl-C keeps what is done, and the same command goes on, also after a kill.

    Example: reluflow study three-points --out out/three-points
    """
    from reluflow.study.workers import started_workers
    from reluflow.workers.starting import available_cores

    experiment = run.experiment("three-points" if dataset is None and run.file is None else dataset)
    width = experiment.width if run.is_given("width") else None
    if isinstance(width, str):
        raise InvalidInputError("`--width` must be a whole number in a study, got inf; `reluflow train` takes it.")
    number = 1 if quick else processes or available_cores()
    with closing(started_workers(number)) as workers:  # they load while this process reads the data
        from reluflow.network import initialization_named, is_network_file
        from reluflow.network.initialization import balanced_initialization
        from reluflow.study.export import as_json
        from reluflow.study.growing_report import GrowingReport
        from reluflow.study.pictures import animate_study
        from reluflow.study.pieces import Pieces
        from reluflow.study.whole_study import StudyInterrupted, study

        reading = reading_of(experiment)
        data = reading.dataset
        note_suggested_leak(experiment)
        folder = out if out is not None else Path("out") / _folder_name(experiment.data)
        _make_folder(folder)
        chosen = experiment.loss_for(data)
        is_given = is_network_file(experiment.init) or experiment.neurons is not None
        network = experiment.network_for(data) if is_given else None
        note_left_out_bias(experiment)
        laboratory = _laboratory_command(data)
        report = GrowingReport(
            folder, command=_command_line(), laboratory=laboratory, is_drawn_aside=workers.num_workers > 1
        )
        pieces, status = Pieces(folder / ".pieces", max_seconds=max_seconds), 0
        with stage_bar() as (on_stage, on_share):
            try:
                found = study(
                    data,
                    loss=chosen,
                    leak=experiment.leak,
                    initialization=balanced_initialization if is_given else initialization_named(experiment.init),
                    network=network,
                    output_bias=experiment.output_bias,
                    width=width,
                    scale=str(experiment.scale),
                    seed=experiment.seed,
                    seeds=0 if quick else seeds,
                    scales=_scales(scales),
                    theorems=_asked(quick=quick, lemmas=lemmas),
                    max_steps=max_steps,
                    max_seconds=max_seconds,
                    notes=[reading.notice] if reading.notice else [],
                    processes=workers,
                    pieces=pieces,
                    on_stage=on_stage,
                    on_share=on_share,
                    on_found=report.update,
                )
            except StudyInterrupted as interrupt:
                found, status = interrupt.study, 130
            on_stage("drawing")
            report.update(found)
            film = None
            if animate:
                with Stage("Drawing the moving picture"):
                    film = animate_study(found, folder / "run.gif")
        if pieces.num_taken:
            note(
                f"{pieces.num_taken} parts of this study, finished by an earlier call, were taken from {pieces.folder}."
            )
        if status:
            note(f"interrupted; what was done is in {report.path}, and the same command goes on from there.")
        elif report.failure:
            note(f"what was done is kept in {pieces.folder}, and the same command goes on from there.")
            status = 2
        if json:
            files = [
                report.path,
                *(picture.path for picture in report.pictures),
                *([report.page] if report.page else []),
            ]
            files += [film] if film else []
            print_json(as_json(found) | {"files": [str(path) for path in files if path.exists()]})
        else:
            _print(found, report, laboratory=laboratory, animated=(film,) if animate else ())
        if not status:
            pieces.remove()
        return status


def _print(found: Study, report: GrowingReport, *, laboratory: str, animated: tuple[Path | None, ...]) -> None:
    for sentence in (*found.verdict(), "", *found.sentences(), ""):
        print_text(sentence)
    if found.cuts:
        rows = [(cut.part, cut.limit, cut.missing) for cut in found.cuts]
        print_table(("cut short", "limit", "what is missing"), rows)
    print(f"Report: {report.path}")
    if report.page:
        print(f"The run as a page that plays: {report.page}")
    if laboratory:
        print(f"Open in the laboratory: {laboratory}")
    for film in animated:
        print(f"Moving picture: {film}" if film else "No moving picture: more than two inputs, or no flow was run.")


def _asked(*, quick: bool, lemmas: bool) -> tuple[Theorem, ...] | None:
    """The results to ask: none, all, or by default the theorems."""
    from reluflow.theory.registry import theorems

    return theorems() if lemmas else () if quick else None


def _scales(text: str) -> list[str]:
    from reluflow.network import log_of_scale

    scales = [part.strip() for part in text.split(",") if part.strip()]
    for scale in scales:
        log_of_scale(scale)  # refuses what is no positive decimal
    return scales


def _folder_name(spec: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in Path(spec).stem)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(
            f"`--out` must be a folder that can be made, got {folder}: {error.strerror}."
        ) from error


def _command_line() -> str:
    return shlex.join(["reluflow", *sys.argv[1:]])


def _laboratory_command(data: Dataset) -> str:
    """The command that opens the data of this study in the laboratory; none where they do not fit a page."""
    from reluflow.cli.lab import command as laboratory
    from reluflow.lab.state import check_size

    try:
        check_size(data.n, data.d, 1, data.num_outputs)
    except InvalidInputError:
        return ""
    context, known = click.get_current_context(), {parameter.name for parameter in laboratory.params}
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in known or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        if isinstance(parameter, click.Argument):
            words.insert(0, str(value))
        elif isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:
            for one in value if isinstance(value, tuple) else (value,):
                words += [parameter.opts[-1], str(one)]
    return shlex.join(["reluflow", "lab", *words])
