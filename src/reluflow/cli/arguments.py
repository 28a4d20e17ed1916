"""The arguments that several commands share, as in the interface: one definition each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from reluflow.errors import InvalidInputError

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]

DEFAULT_SECONDS = 60.0  # of every command that computes on a dataset, unless its own help says otherwise

json_option = click.option("--json", is_flag=True, help="Print one JSON object and nothing else.")
max_steps_option = click.option("--max-steps", type=click.IntRange(min=1), help="Steps allowed to a run.")


def dataset_argument(*, metavar: str = "DATASET", words: str = "") -> Callable[[Command], Command]:
    """The data: a registered name or a file; may be left out where `--experiment` names them."""
    usual = (
        "A registered name (see `reluflow datasets`; parameters as name:key=value,...), or a table with a label "
        "column: .csv, .tsv, .parquet, .npy, .npz with X and y, any of them gzipped."
    )
    return click.argument("dataset", required=False, metavar=metavar, help=words or usual)


def max_seconds_option(default: float | None = DEFAULT_SECONDS, *, words: str = "") -> Callable[[Command], Command]:
    """The bound on the work."""
    usual = "Seconds allowed to the work; what is open then is named; inf: any."
    return click.option(
        "--max-seconds",
        metavar="S",
        type=float,
        default=default,
        show_default=default is not None,
        callback=_positive_seconds,
        help=words or usual,
    )


def _positive_seconds(context: click.Context, parameter: click.Parameter, seconds: float | None) -> float | None:
    if seconds is not None and not seconds > 0:
        raise InvalidInputError(f"`--max-seconds` must be positive, got {seconds:g}.")
    return seconds


def path_option(
    option: str, metavar: str, words: str, *, default: Path | None = None, name: str | None = None
) -> Callable[[Command], Command]:
    """An option that names a file or a folder."""
    kind = click.Path(path_type=Path)
    declared = (option,) if name is None else (option, name)
    return click.option(
        *declared, metavar=metavar, type=kind, default=default, show_default=default is not None, help=words
    )
