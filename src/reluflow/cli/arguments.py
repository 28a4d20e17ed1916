"""The arguments that several commands share, as in the interface: one definition each."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class LossName(StrEnum):
    """--loss."""

    SQUARE = "square"
    LOGISTIC = "logistic"
    EXPONENTIAL = "exponential"


class ReductionName(StrEnum):
    """--reduction."""

    MEAN = "mean"
    SUM = "sum"


class OutputBiasChoice(StrEnum):
    """--output-bias."""

    REFUSE = "refuse"
    NEURON = "neuron"


def _checked_bound(seconds: float) -> float:
    from reluflow.errors import InvalidInputError

    if not seconds > 0:
        raise InvalidInputError(f"`--max-seconds` must be positive, got {seconds:g}.")
    return seconds


DatasetArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="A registered name (see `reluflow datasets`; parameters as name:key=value,...), or a table with a label "
        "column: .csv, .tsv, .parquet, .npy, .npz with X and y, any of them gzipped.",
        show_default=False,
    ),
]
BiasOption = Annotated[bool, typer.Option("--bias", help="Append the constant coordinate 1.")]
LossOption = Annotated[
    LossName | None,
    typer.Option("--loss", help="Default: logistic if all labels are -1 or 1, else square.", show_default=False),
]
ReductionOption = Annotated[ReductionName, typer.Option("--reduction", help="Mean or sum over samples.")]
FactorOption = Annotated[float, typer.Option("--factor", help="Multiplies the loss.")]
LeakOption = Annotated[float, typer.Option("--leak", help="Negative slope in [0, 1]; 0 is ReLU.")]
WeightDecayOption = Annotated[
    float, typer.Option("--weight-decay", metavar="L", help="Adds (L/2) times the sum of the squared weights.")
]
FrozenOutputOption = Annotated[
    bool, typer.Option("--frozen-output", help="Train the input weights alone; the output weights stay.")
]
WidthOption = Annotated[str, typer.Option("--width", metavar="M", help="Number of neurons; inf in dimension 2.")]
ScaleOption = Annotated[
    str, typer.Option("--scale", metavar="S", help="Initialisation scale, any positive decimal: 1e-400 is fine.")
]
InitOption = Annotated[
    str,
    typer.Option(
        "--init",
        metavar="NAME|PATH",
        help="How neurons are drawn, or a network: .csv with header w1,...,wd,a, .npz, .safetensors, .pt.",
    ),
]
OutputBiasOption = Annotated[
    OutputBiasChoice,
    typer.Option(
        "--output-bias", help="What to do with the output bias of a checkpoint: refuse it, or carry it as a neuron."
    ),
]
MaxSecondsOption = Annotated[
    float | None,
    typer.Option(
        "--max-seconds",
        metavar="S",
        help="Seconds allowed to the work; what is open then is named; inf: any. Default: 60 for the flow.",
        show_default=False,
    ),
]
DEFAULT_SECONDS = 60.0  # of every command that computes on a dataset, unless its own help says otherwise
BoundOption = Annotated[
    float,
    typer.Option(
        "--max-seconds",
        metavar="S",
        help="Seconds allowed to the work; what is open then is named; inf: any.",
        callback=_checked_bound,
    ),
]
MaxStepsOption = Annotated[
    int | None, typer.Option("--max-steps", min=1, help="Steps allowed to a run.", show_default=False)
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="One seed fixes everything.")]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where files go.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
