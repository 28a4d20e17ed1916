"""The arguments that several commands share, as in the interface: one definition each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from reluflow.cli.inputs import note
from reluflow.errors import InvalidInputError

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]

DEFAULT_SECONDS = 60.0  # of work, of every command that computes on a dataset, unless its own help says otherwise

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
    """The bound on the work: seconds that are asked for, or by default work that is counted, on every machine the same.

    With a default of None the command itself says what it may cost.
    """
    usual = (
        f"Seconds allowed, of processor time; inf: any. Default: {default or 0.0:g} seconds of counted work, so that a "
        "busy machine gives the same answer. What is open then is named."
    )
    return click.option(
        "--max-seconds",
        metavar="S",
        type=float,
        default=default,
        callback=_seconds_or_work,
        help=words or usual,
    )


def _seconds_or_work(context: click.Context, parameter: click.Parameter, seconds: float | None) -> float | None:
    """The seconds; where nobody asked for them, whatever the command computes is bounded by the work it counts."""
    if seconds is not None and not seconds > 0:
        raise InvalidInputError(f"`--max-seconds` must be positive, got {seconds:g}.")
    if context.get_parameter_source(parameter.name or "") is ParameterSource.DEFAULT:
        context.with_resource(_work_on_a_machine_fast_enough())
    return seconds


@contextmanager
def _work_on_a_machine_fast_enough() -> Iterator[None]:
    """`counting_work`, and a note where this machine was too slow for the work."""
    from reluflow.budget import SLOWEST, counting_work, num_ended_late

    before = num_ended_late()
    with counting_work():
        yield
    if num_ended_late() > before:
        note(
            f"this machine took more than {SLOWEST:g} times as long as the work should take, and was stopped there; on "
            "a faster one the answer may be another. --max-seconds allows more."
        )


def path_option(
    option: str, metavar: str, words: str, *, default: Path | None = None, name: str | None = None
) -> Callable[[Command], Command]:
    """An option that names a file or a folder."""
    kind = click.Path(path_type=Path)
    declared = (option,) if name is None else (option, name)
    return click.option(
        *declared, metavar=metavar, type=kind, default=default, show_default=default is not None, help=words
    )
