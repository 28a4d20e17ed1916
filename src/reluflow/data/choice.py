"""TableChoice: which columns of a table are the inputs, which one is the label, and what its values mean."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass

from reluflow.data.dataset import Task
from reluflow.errors import InvalidInputError

Names = str | Sequence[str] | None


@dataclass(frozen=True, init=False)
class TableChoice:
    """How to read labelled points out of a table; everything has a default.

    Parameters
    ----------
    target
        Name of the label column; by default the one called y, label, target or class, else the last. Several names are
        several numbers to fit per sample, or the columns of a one-hot code.
    features
        Names of the input columns, in this order; by default all the others.
    drop
        Columns to leave out.
    labels
        Which values are 1 and -1, as ("3", "8"); one value alone stands against all the rest; "numbers" takes the
        values of the column as they are; "classes" makes every value a class, also two; three values or more are those
        classes, in the order of the outputs.
    drop_missing
        Leave out the rows in which something is missing, which are otherwise refused.
    standardise
        Give every input that is not constant mean 0 and variance 1.
    task
        Classification or regression; by default classification exactly when the labels are classes.
    loss
        Name of the loss in use, where it is known: softmax asks for classes.
    is_command_line
        Whether somebody typed it as options of a command, which sentences then name instead of arguments.

    Examples
    --------
    >>> TableChoice(target="species", labels="virginica,versicolor").labels
    ('virginica', 'versicolor')
    >>> TableChoice().named("labels", "3,8"), TableChoice(is_command_line=True).named("labels", "3,8")
    ("`labels='3,8'`", '`--labels 3,8`')
    """

    target: str | tuple[str, ...] | None
    features: tuple[str, ...] | None
    drop: tuple[str, ...]
    labels: tuple[str, ...] | None
    takes_numbers: bool
    takes_classes: bool
    drop_missing: bool
    standardise: bool
    task: Task | None
    is_command_line: bool

    def __init__(
        self,
        *,
        target: Names = None,
        features: Names = None,
        drop: Names = None,
        labels: Names = None,
        drop_missing: bool = False,
        standardise: bool = False,
        task: Task | str | None = None,
        loss: str | None = None,
        is_command_line: bool = False,
    ) -> None:
        chosen = _task(task)
        takes_numbers = labels == "numbers" or chosen is Task.REGRESSION
        words = None if labels is None or labels in ("numbers", "classes") else _words(labels, "labels")
        takes_classes = labels == "classes" or loss == "softmax" or (words is not None and len(words) > 2)
        if words is not None and len(set(words)) != len(words):
            raise InvalidInputError(
                "`labels` must be POSITIVE,NEGATIVE, one value against the rest, or several classes, each once, got "
                f"{','.join(words)!r}."
            )
        if takes_classes and takes_numbers:
            raise InvalidInputError("`labels` must be classes for the softmax loss, got numbers; leave out one.")
        if words is not None and chosen is Task.REGRESSION:
            raise InvalidInputError("`labels` names two classes, and `task` is regression; give one of the two.")
        values = {
            "target": target if target is None or isinstance(target, str) else tuple(target),
            "features": None if features is None else _words(features, "features"),
            "drop": () if drop is None else _words(drop, "drop"),
            "labels": words,
            "takes_numbers": takes_numbers,
            "takes_classes": takes_classes,
            "drop_missing": drop_missing,
            "standardise": standardise,
            "task": chosen,
            "is_command_line": is_command_line,
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)

    def targets(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The names of the label columns that were asked for, of a table with these columns; none: not asked for."""
        if self.target is None:
            return ()
        if isinstance(self.target, str):
            return (self.target,) if self.target in columns else _words(self.target, "target")
        return self.target

    def named(self, argument: str, value: str = "") -> str:
        """An argument as whoever chose would write it, in backticks: an option of a command, or a keyword in Python."""
        if self.is_command_line:
            return f"`--{argument.replace('_', '-')} {value}".rstrip() + "`"
        return f"`{argument}={value!r}`" if value else f"`{argument}`"

    def names_columns(self) -> list[str]:
        """The arguments in use that only a table with named columns can obey."""
        given = {
            "target": self.target is not None,
            "features": self.features is not None,
            "drop": bool(self.drop),
            "labels": self.labels is not None,
            "drop_missing": self.drop_missing,
        }
        return [self.named(name) for name, is_given in given.items() if is_given]


def labels_under(labels: Names, loss: str | None) -> Names:
    """The choice of labels under a loss: the square loss fits numbers, also 0 and 1, unless `labels` says otherwise.

    >>> labels_under(None, "square"), labels_under("3,8", "square"), labels_under(None, None)
    ('numbers', '3,8', None)
    """
    return "numbers" if labels is None and loss == "square" else labels


def _words(names: str | Sequence[str], option: str) -> tuple[str, ...]:
    """Names from a list, or from text with commas; a name with a comma in it stands in double quotes."""
    if isinstance(names, str):
        try:
            found = next(csv.reader([names], skipinitialspace=True, strict=True), [])
        except csv.Error as error:
            raise InvalidInputError(f"`{option}` must be names separated by commas, got {names!r}: {error}.") from error
    else:
        found = [str(name) for name in names]
    words = tuple(word.strip() for word in found)
    if not words or not all(words):
        raise InvalidInputError(f"`{option}` must be names separated by commas, got {names!r}.")
    return words


def _task(task: Task | str | None) -> Task | None:
    if task is None or isinstance(task, Task):
        return task
    if task not in tuple(Task):
        raise InvalidInputError(f"`task` must be {' or '.join(Task)}, got {task!r}.")
    return Task(task)
