"""`reluflow study [DATASET]`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reluflow.cli.arguments import (
    BiasOption,
    FactorOption,
    InitOption,
    JsonOption,
    LeakOption,
    LossOption,
    OutOption,
    ReductionName,
    ReductionOption,
    ScaleOption,
    SeedOption,
)
from reluflow.cli.inputs import dataset_from, loss_from, note_suggested_leak
from reluflow.cli.output import print_json
from reluflow.cli.progress import stage_spinner
from reluflow.errors import InvalidInputError

if TYPE_CHECKING:
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
    animate: Annotated[
        bool, typer.Option("--animate", help="Also write run.gif, the run as a moving picture (at most two inputs).")
    ] = False,
    out: OutOption = None,
    json: JsonOption = False,
) -> None:
    """Tell the whole story of a dataset and write one self-contained report.html.

    Diagnosis, extremal vectors, the flow to its limit with its phases, the certified end point, every applicable
    theorem's verdict, and whether another draw or scale would change the story.

    Example: reluflow study three-points --out out/three-points
    """
    from reluflow.network import initialization_named
    from reluflow.study.export import as_json
    from reluflow.study.pictures import animate_study, draw_study
    from reluflow.study.report import write_report
    from reluflow.study.story import study

    data = dataset_from(dataset, bias=bias, seed=seed)
    note_suggested_leak(dataset, leak)
    folder = out if out is not None else Path("out") / _folder_name(dataset)
    _make_folder(folder)
    chosen = loss_from(data, loss, reduction, factor)
    with stage_spinner() as on_stage:
        found = study(
            data,
            chosen,
            leak=leak,
            initialization=initialization_named(init),
            width=width,
            scale=scale,
            seed=seed,
            seeds=0 if quick else seeds,
            scales=_scales(scales),
            theorems=_asked(quick=quick, lemmas=lemmas),
            on_stage=on_stage,
        )
        on_stage("drawing")
        pictures = draw_study(found, folder)
        film = animate_study(found, folder / "run.gif") if animate else None
        report = write_report(found, pictures, folder / "report.html", command=_command_line())
    if json:
        files = [report, *(picture.path for picture in pictures), *([film] if film else [])]
        print_json(as_json(found) | {"files": [str(path) for path in files]})
        return
    for sentence in (*found.verdict(), "", *found.sentences(), "", f"Report: {report}"):
        print(sentence)
    if animate:
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
