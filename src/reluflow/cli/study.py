"""`reluflow study [DATASET]`."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reluflow.after_run import Stage
from reluflow.cli.arguments import (
    BiasOption,
    FactorOption,
    InitOption,
    JsonOption,
    LeakOption,
    LossOption,
    MaxStepsOption,
    OutOption,
    OutputBiasChoice,
    OutputBiasOption,
    ReductionName,
    ReductionOption,
    ScaleOption,
    SeedOption,
)
from reluflow.cli.inputs import loss_from, network_from, note, note_suggested_leak, reading_from
from reluflow.cli.output import print_json, print_table
from reluflow.cli.progress import stage_bar
from reluflow.errors import InvalidInputError

if TYPE_CHECKING:
    from reluflow.study.story import Study
    from reluflow.theory.theorem import Theorem

StudyDataset = Annotated[
    str, typer.Argument(metavar="DATASET", help="A registered name, a .csv with header x1,...,xd,y, or an .npz.")
]


def command(
    dataset: StudyDataset = "three-points",
    *,
    bias: BiasOption = False,
    loss: LossOption = None,
    reduction: ReductionOption = ReductionName.MEAN,
    factor: FactorOption = 1.0,
    leak: LeakOption = 0.0,
    width: Annotated[
        int | None,
        typer.Option("--width", min=1, help="Neurons; default 200, fewer for large data.", show_default=False),
    ] = None,
    scale: ScaleOption = "1e-3",
    init: InitOption = "balanced",
    output_bias: OutputBiasOption = OutputBiasChoice.REFUSE,
    seed: SeedOption = 0,
    seeds: Annotated[int, typer.Option("--seeds", min=0, help="Draws the run is repeated from, at each scale.")] = 3,
    scales: Annotated[
        str, typer.Option("--scales", metavar="S1,S2,...", help="Scales the run is repeated at.")
    ] = "1e-1,1e-3,1e-6",
    lemmas: Annotated[
        bool, typer.Option("--lemmas", help="Ask every encoded result, lemmas included, not only the theorems.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="One run, no repetitions, no theorems: seconds on small data.")
    ] = False,
    max_seconds: Annotated[
        float,
        typer.Option(
            "--max-seconds", metavar="S", help="Seconds allowed to the work; what is open then is named; inf: any."
        ),
    ] = 60.0,
    max_steps: MaxStepsOption = None,
    processes: Annotated[
        int | None,
        typer.Option("--processes", min=1, help="Processes side by side; default: one per core.", show_default=False),
    ] = None,
    animate: Annotated[
        bool, typer.Option("--animate", help="Also write run.gif, the run as a moving picture (at most two inputs).")
    ] = False,
    out: OutOption = None,
    json: JsonOption = False,
) -> int:
    """Study a dataset and write one self-contained report.html.

    The flow to its limit with its phases and the certified end point come first; then diagnosis, extremal vectors,
    every applicable theorem's verdict, and whether another draw or scale ends elsewhere. The report is there from the
    first finding on and fills up; Ctrl-C keeps what is done, and the same command goes on, also after a kill.

    Example: reluflow study three-points --out out/three-points
    """
    from reluflow.study.workers import started_workers

    if not max_seconds > 0:
        raise InvalidInputError(f"`--max-seconds` must be positive, got {max_seconds:g}.")
    number = 1 if quick else processes or _available_cores()
    with closing(started_workers(number)) as workers:  # they load while this process reads the data
        from reluflow.network import initialization_named, is_network_file
        from reluflow.network.initialization import balanced_initialization
        from reluflow.study.export import as_json
        from reluflow.study.growing_report import GrowingReport
        from reluflow.study.pictures import animate_study
        from reluflow.study.pieces import Pieces
        from reluflow.study.story import StudyInterrupted, study

        reading = reading_from(dataset, bias=bias, seed=seed)
        data = reading.dataset
        note_suggested_leak(dataset, leak)
        folder = out if out is not None else Path("out") / _folder_name(dataset)
        _make_folder(folder)
        chosen = loss_from(data, loss, reduction, factor)
        is_given = is_network_file(init)
        network = None
        if is_given:
            network = network_from(
                data, init=init, width="1", scale=scale, seed=seed, leak=leak, output_bias=output_bias.value
            )
        report = GrowingReport(folder, command=_command_line(), is_drawn_aside=workers.num_workers > 1)
        pieces, status = Pieces(folder / ".pieces", max_seconds=max_seconds), 0
        with stage_bar() as (on_stage, on_share):
            try:
                found = study(
                    data,
                    chosen,
                    leak=leak,
                    initialization=balanced_initialization if is_given else initialization_named(init),
                    network=network,
                    width=width,
                    scale=scale,
                    seed=seed,
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
            files = [report.path, *(picture.path for picture in report.pictures), *([film] if film else [])]
            print_json(as_json(found) | {"files": [str(path) for path in files if path.exists()]})
        else:
            _print(found, report.path, animated=(film,) if animate else ())
        if not status:
            pieces.remove()
        return status


def _print(found: Study, report: Path, *, animated: tuple[Path | None, ...]) -> None:
    noted = [f"Note: {words}." for words in found.notes]
    for sentence in (*noted, *found.verdict(), "", *found.sentences(), ""):
        print(sentence)
    if found.cuts:
        rows = [(cut.part, cut.limit, cut.missing) for cut in found.cuts]
        print_table(("cut short", "limit", "what is missing"), rows)
    print(f"Report: {report}")
    for film in animated:
        print(f"Moving picture: {film}" if film else "No moving picture: more than two inputs, or no flow was run.")


def _available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
