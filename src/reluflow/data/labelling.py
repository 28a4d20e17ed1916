"""From a label column to labels: numbers as they are, or two classes as 1 and -1, saying which is which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.data.choice import TableChoice
from reluflow.data.dataset import Task
from reluflow.data.table import Column, Table, listed, number_from
from reluflow.errors import InvalidInputError

LABEL_NAMES = ("y", "label", "target", "class", "labels")
CLASS_NAMES = frozenset({"label", "labels", "class"})  # a column of this name holds classes even where they are numbers
MOST_KINDS = 20  # so many whole numbers or fewer, each repeated, look like classes
_MOST_CLASSES = 50  # more whole numbers than this in a column are counts, not classes

# words that mean 1, each with those that mean -1
_YES_AND_NO = {
    "true": "false", "yes": "no", "y": "n", "t": "f", "positive": "negative", "pos": "neg", "plus": "minus",
    "on": "off", "+": "-", "+1": "-1",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Labelling:
    """Labels and what they stand for.

    Parameters
    ----------
    y
        Labels, shape (n,).
    is_kept
        Rows that stay: all, or those of the two classes asked for.
    positive, negative
        What 1 and -1 are called; empty where the labels are numbers.
    remark
        What else should be said.
    notice
        What the labels were taken for, why, and how to say otherwise, where another reader might take them for
        something else; it is said before anything is computed.
    """

    y: FloatArray
    is_kept: BoolArray
    positive: str = ""
    negative: str = ""
    remark: str = ""
    notice: str = ""

    def counted(self) -> str:
        """The labels in words, for the sentence that says what was read."""
        kept = self.y[self.is_kept]
        if not self.positive:
            return f"labels from {kept.min():.6g} to {kept.max():.6g}"
        counts = int(np.sum(kept < 0)), int(np.sum(kept > 0))
        if (self.negative, self.positive) == ("-1", "1"):
            return f"{counts[0]} of label -1, {counts[1]} of label 1"
        kind = "of label " if number_from(self.positive) is not None else ""
        return f"{counts[0]} {kind}{self.negative} (-1), {counts[1]} {kind}{self.positive} (+1)"


def label_column(table: Table, choice: TableChoice) -> int:
    """Index of the label column: the one asked for, the one with a label's name, or the last."""
    if choice.target is not None:
        return table.column(choice.target, "target")
    names = [name.casefold() for name in table.names]
    asked = {name.casefold() for name in choice.features or ()}
    for name in LABEL_NAMES:
        if names.count(name) == 1 and name not in asked:
            return names.index(name)
    rest = [k for k, name in enumerate(names) if name not in asked]
    if not rest:
        raise InvalidInputError(
            f"`{table.source}` must have a label column besides its features, got {listed(table.names)}; name it with "
            f"{choice.named('target')}."
        )
    return rest[-1]


def labels_of(table: Table, index: int, choice: TableChoice) -> Labelling:
    """The labels in a column that has no gaps."""
    column, name = table.columns[index], table.names[index]
    everyone = np.ones(column.shape, dtype=bool)
    classes = () if choice.takes_numbers else table.classes
    words = _words(column, classes)
    values = [word for word in classes if word in set(words)] if classes else _distinct(words)
    if choice.labels is not None:
        return _two_of(table, name, words, values, choice)
    is_number = column.dtype.kind == "f"
    if choice.takes_numbers:
        if not is_number:
            raise InvalidInputError(
                f"`{table.source}` must hold numbers in its label column {name}, got the words {listed(values)}; "
                f"{choice.named('labels', 'POSITIVE,NEGATIVE')} makes two of them 1 and -1."
            )
        return Labelling(column, everyone)
    if is_number and not table.classes:
        return _numbers(table, name, column, everyone, values, choice)
    if len(values) == 2:
        positive, negative = _which_is_which(values, is_ordered=bool(table.classes))
        return Labelling(np.where(np.array(words) == positive, 1.0, -1.0), everyone, positive, negative)
    raise _too_many(table, name, values, choice)


def _numbers(
    table: Table, name: str, column: FloatArray, everyone: BoolArray, values: list[str], choice: TableChoice
) -> Labelling:
    found = set(column.tolist())
    if found == {-1.0, 1.0}:
        return Labelling(column, everyone, "1", "-1")
    is_whole = bool(np.all(column == np.round(column)))
    is_pair = len(found) == 2 and is_whole
    numbers = choice.named("labels", "numbers")
    if found == {0.0, 1.0} or (is_pair and name.casefold() in CLASS_NAMES):
        low, high = sorted(found)
        taken = f"the labels {low:g} and {high:g} are taken as the classes -1 and 1; {numbers} fits the numbers instead"
        return Labelling(np.where(column == high, 1.0, -1.0), everyone, f"{high:g}", f"{low:g}", notice=taken)
    if is_whole and name.casefold() in CLASS_NAMES and 2 < len(found) <= _MOST_CLASSES:
        raise _too_many(table, name, values, choice)
    notice = ""
    fewest = int(np.min(np.unique(column, return_counts=True)[1]))
    if is_pair:
        low, high = sorted(found)
        way = choice.named("labels", f"{high:g},{low:g}")
        notice = (
            f"the labels {low:g} and {high:g} are taken as numbers to fit (regression), since only -1 and 1, or 0 and "
            f"1, are read as classes; {way} makes them the classes 1 and -1, {numbers} confirms that they are numbers"
        )
    elif is_whole and 3 <= len(found) <= MOST_KINDS and fewest >= 2:
        high = f"{max(found):g}"
        pair, one = choice.named("labels", f"{high},{min(found):g}"), choice.named("labels", high)
        notice = (
            f"the labels are {len(found)} whole numbers from {min(found):g} to {high}, each occurring at "
            f"least {fewest} times, and look like classes; they are taken as numbers to fit (regression), since more "
            f"than two classes are not supported: {pair} keeps two of them as 1 and -1, {one} sets one against the "
            f"rest, {numbers} confirms that they are numbers"
        )
    return Labelling(column, everyone, notice=notice)


def _two_of(table: Table, name: str, words: list[str], values: list[str], choice: TableChoice) -> Labelling:
    chosen = [_match(table, name, label, values, choice) for label in choice.labels or ()]
    array = np.array(words)
    is_positive = array == chosen[0]
    if len(chosen) == 1:
        negative = values[1 - values.index(chosen[0])] if len(values) == 2 else "others"
        return Labelling(np.where(is_positive, 1.0, -1.0), np.ones(array.shape, dtype=bool), chosen[0], negative)
    is_kept = is_positive | (array == chosen[1])
    left = int(np.sum(~is_kept))
    remark = (
        f"{left} row{'s' if left > 1 else ''} of other classes {'are' if left > 1 else 'is'} left out" if left else ""
    )
    return Labelling(np.where(is_positive, 1.0, -1.0), is_kept, chosen[0], chosen[1], remark)


def _match(table: Table, name: str, label: str, values: list[str], choice: TableChoice) -> str:
    """The value of the column that a word of `labels` means."""
    number = number_from(label)
    candidates = [
        [value for value in values if value == label],
        [value for value in values if number is not None and number_from(value) == number],
        [value for value in values if value.casefold() == label.casefold()],
    ]
    found = next((group for group in candidates if len(group) == 1), None)
    if found is None:
        raise InvalidInputError(
            f"{choice.named('labels')} must name values of the label column {name} of `{table.source}`, which holds "
            f"{listed(values)}; got {label!r}."
        )
    return found[0]


def _which_is_which(values: list[str], *, is_ordered: bool) -> tuple[str, str]:
    """The class that is 1 and the one that is -1: yes before no; named numbers by size, other words by the alphabet."""
    for positive, negative in (values, values[::-1]):
        if _YES_AND_NO.get(positive.casefold()) == negative.casefold():
            return positive, negative
    return (values[1], values[0]) if is_ordered else (values[0], values[1])


def _too_many(table: Table, name: str, values: list[str], choice: TableChoice) -> InvalidInputError:
    if len(values) < 2:
        return InvalidInputError(
            f"`{table.source}` must hold two classes in its label column {name}, got only {values[0]!r}; "
            f"name another column with {choice.named('target')}."
        )
    one = _option(values[0])
    pair = choice.named("labels", f"{one},{_option(values[1])}")
    return InvalidInputError(
        f"`{table.source}` must hold two classes in its label column {name}, got {len(values)}: {listed(values)}; "
        f"choose two, as in {pair}, or one against the rest, as in {choice.named('labels', one)}."
    )


def _option(value: str) -> str:
    return f'"{value}"' if " " in value or "," in value else value


def _words(column: Column, classes: Sequence[str]) -> list[str]:
    if column.dtype.kind != "f":
        return [str(cell) for cell in column]
    if classes and bool(np.all((column == np.round(column)) & (column >= 0) & (column < len(classes)))):
        return [classes[int(value)] for value in column]
    return [f"{value:.17g}" for value in column]


def _distinct(words: list[str]) -> list[str]:
    """The values in order: numbers by size, words by the alphabet."""
    found = set(words)
    numbers = {word: number_from(word) for word in found}
    if any(number is None for number in numbers.values()):
        return sorted(found, key=lambda word: (word.casefold(), word))
    return sorted(found, key=lambda word: numbers[word] or 0.0)


def task_of(labelling: Labelling, choice: TableChoice) -> Task | None:
    """The task asked for; None leaves it to the labels."""
    return Task.CLASSIFICATION if labelling.positive and choice.task is None else choice.task
