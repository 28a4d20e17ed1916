"""The options that say how a table is read, added to every command that takes DATASET, and DATASET with them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from reluflow.data.choice import TableChoice, labels_under

TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target", metavar="NAME", help="Label column; default: y, label, target, class or the last.",
        show_default=False,
    ),
]  # fmt: skip
FeaturesOption = Annotated[
    str | None,
    typer.Option("--features", metavar="A,B,C", help="Input columns; default: all others.", show_default=False),
]
DropOption = Annotated[
    str | None, typer.Option("--drop", metavar="A,B,C", help="Columns to leave out.", show_default=False)
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        "--labels", metavar="POS,NEG",
        help="The values that are 1 and -1; one value alone stands against the rest; `numbers` takes them as they are.",
        show_default=False,
    ),
]  # fmt: skip
DropMissingOption = Annotated[bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")]
StandardiseOption = Annotated[
    bool, typer.Option("--standardise", help="Give every input mean 0 and variance 1, before --bias.")
]

_OPTIONS: dict[str, tuple[Any, Any]] = {
    "target": (TargetOption, None),
    "features": (FeaturesOption, None),
    "drop": (DropOption, None),
    "labels": (LabelsOption, None),
    "drop_missing": (DropMissingOption, False),
    "standardise": (StandardiseOption, False),
}


class DatasetWords(str):
    """The DATASET of a command line: a name or a path, and how to read it if it is a table."""

    __slots__ = ("choice", "options")
    choice: TableChoice
    options: dict[str, Any]

    @classmethod
    def of(cls, spec: str, options: dict[str, Any], *, loss: str | None) -> DatasetWords:
        """The words with the options as they were written, under a loss."""
        labels = labels_under(options["labels"], loss)
        words = cls.of_choice(spec, TableChoice(**options | {"labels": labels}, is_command_line=True))
        words.options = options
        return words

    @classmethod
    def of_choice(cls, spec: str, choice: TableChoice) -> DatasetWords:
        """The words with what the options mean."""
        words = cls(spec)
        words.choice, words.options = choice, {}
        return words


def with_data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options of this file, if it has a parameter `dataset`, which then is a `DatasetWords`.

    With `--loss square` labels 0 and 1 are numbers to fit, not classes, unless `--labels` says otherwise. `sweep`,
    whose cases are read by other processes, takes the options as they were written.
    """
    signature = inspect.signature(command, eval_str=True)
    if "dataset" not in signature.parameters:
        return command

    @functools.wraps(command)
    def reading(*args: Any, **given: Any) -> Any:
        options = {name: given.pop(name) for name in _OPTIONS}
        loss, spec = given.get("loss"), given.get("dataset")
        if spec is not None:
            given["dataset"] = DatasetWords.of(spec, options, loss=None if loss is None else loss.value)
        return command(*args, **given)

    kept = [parameter for parameter in signature.parameters.values() if parameter.name not in _OPTIONS]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in _OPTIONS.items()
    ]
    place = next((k for k, p in enumerate(kept) if p.name == "bias"), len(kept))
    parameters = [*kept[:place], *added, *kept[place:]]
    annotations = {parameter.name: parameter.annotation for parameter in parameters}
    # what Typer reads; the type of a function does not know the attribute
    reading.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    reading.__annotations__ = annotations
    return reading
