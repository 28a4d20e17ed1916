"""From label columns to labels: numbers as they are, two classes as 1 and -1, more as indices, and what is which."""

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
MOST_KINDS = 20  # so many whole numbers or fewer, each repeated, are classes
_MOST_CLASSES = 50  # more whole numbers than this in a column are counts, not classes

# words that mean 1, each with those that mean -1
_YES_AND_NO = {
    "true": "false", "yes": "no", "y": "n", "t": "f", "positive": "negative", "pos": "neg", "plus": "minus",
    "on": "off", "+": "-", "+1": "-1",
}  # fmt: skip

_FEWEST_ONE_HOT = 3  # columns of 0 and 1 at the end of a table that are taken for classes without being asked


@dataclass(frozen=True, eq=False)
class Labelling:
    """Labels and what they stand for.

    Parameters
    ----------
    y
        Labels, shape (n,), or rows of numbers, shape (n, K).
    is_kept
        Rows that stay: all, or those of the two classes asked for.
    positive, negative
        What 1 and -1 are called; empty where the labels are numbers or indices of classes.
    classes
        Names of the classes, of which `y` holds the indices; None where it holds none.
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
    classes: tuple[str, ...] | None = None

    def counted(self) -> str:
        """The labels in words, for the sentence on what was read."""
        kept = self.y[self.is_kept]
        if self.classes is not None:
            of = "" if any(number_from(name) is None for name in self.classes) else "of label "
            counts = [f"{int(np.sum(kept == c))} {of}{name}" for c, name in enumerate(self.classes)]
            return f"{len(self.classes)} classes ({listed(counts)})"
        if kept.ndim == 2:
            return f"{kept.shape[1]} targets from {kept.min():.6g} to {kept.max():.6g}"
        if not self.positive:
            return f"labels from {kept.min():.6g} to {kept.max():.6g}"
        signs = int(np.sum(kept < 0)), int(np.sum(kept > 0))
        if (self.negative, self.positive) == ("-1", "1"):
            return f"{signs[0]} of label -1, {signs[1]} of label 1"
        kind = "of label " if number_from(self.positive) is not None else ""
        return f"{signs[0]} {kind}{self.negative} (-1), {signs[1]} {kind}{self.positive} (+1)"


def label_columns(table: Table, choice: TableChoice) -> list[int]:
    """Indices of the label columns: those asked for, the one with a label's name, or the last."""
    if targets := choice.targets(table.names) or tuple(name for name in table.targets if name in table.names):
        columns = [table.column(name, "target") for name in targets]
        if len(set(columns)) < len(columns):
            raise InvalidInputError(f"{choice.named('target')} must name each column once, got {','.join(targets)!r}.")
        return columns
    several = _numbered_targets(table) or _one_hot_targets(table)
    return several if several and choice.features is None else [_label_column(table, choice)]


def _numbered_targets(table: Table) -> list[int]:
    """The last columns y1, ..., yK of a table in which none has a label's name; none where K would be 1."""
    names = [name.casefold() for name in table.names]
    count = sum(name[:1] == "y" and name[1:].isdigit() for name in names)
    is_numbered = count > 1 and names[len(names) - count :] == [f"y{c}" for c in range(1, count + 1)]
    return [] if not is_numbered or set(names) & set(LABEL_NAMES) else list(range(len(names) - count, len(names)))


def _one_hot_targets(table: Table) -> list[int]:
    """The last columns of a table if they are a one-hot code of three or more classes and none has a label's name."""
    if {name.casefold() for name in table.names} & set(LABEL_NAMES):
        return []
    total = np.zeros(len(table.columns[-1]))
    for first in range(len(table.names) - 1, 0, -1):
        column = table.columns[first]
        if column.dtype.kind != "f" or not np.all((column == 0.0) | (column == 1.0)) or not np.any(column):
            return []
        total = total + column
        if np.all(total == 1.0):
            return list(range(first, len(table.names))) if len(table.names) - first >= _FEWEST_ONE_HOT else []
        if np.any(total > 1.0):
            return []
    return []


def _label_column(table: Table, choice: TableChoice) -> int:
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


def labels_of(table: Table, columns: Sequence[int], choice: TableChoice) -> Labelling:
    """The labels in columns that have no gaps."""
    if len(columns) > 1:
        return rows_of(table, columns, choice)
    index = columns[0]
    column, name = table.columns[index], table.names[index]
    everyone = np.ones(column.shape, dtype=bool)
    classes = () if choice.takes_numbers else table.classes
    words = _words(column, classes)
    values = [word for word in classes if word in set(words)] if classes else _distinct(words)
    if choice.takes_classes:
        return _classes_of(table, name, words, values, choice)
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
    return _classes_of(table, name, words, values, choice)


def rows_of(table: Table, columns: Sequence[int], choice: TableChoice) -> Labelling:
    """Several label columns: numbers to fit, or the classes of a one-hot code."""
    for k in columns:
        if table.columns[k].dtype.kind != "f":
            raise InvalidInputError(
                f"`{table.source}` must hold numbers in each of several label columns, got words in {table.names[k]}; "
                f"one column of words is a column of classes: {choice.named('target', table.names[k])}."
            )
    if choice.labels is not None:
        raise InvalidInputError(
            f"{choice.named('labels')} names values of one label column, got {len(columns)}; leave it out."
        )
    rows = np.column_stack([table.columns[k] for k in columns])
    everyone, names = np.ones(len(rows), dtype=bool), tuple(table.names[k] for k in columns)
    is_one_hot = bool(np.all((rows == 0.0) | (rows == 1.0)) and np.all(rows.sum(axis=1) == 1.0))
    if choice.takes_classes and not is_one_hot:
        raise InvalidInputError(
            f"`{table.source}` must hold one class per sample for the softmax loss, got {len(columns)} label columns "
            "that are no one-hot code (one 1 per row, else 0); the square loss fits them as numbers."
        )
    if not is_one_hot or choice.takes_numbers:
        return Labelling(rows, everyone)
    taken = (
        f"the label columns {listed(names)} hold one 1 per row and are taken as {len(names)} classes (softmax); "
        f"{choice.named('labels', 'numbers')} fits the numbers instead"
    )
    index = np.argmax(rows, axis=1).astype(np.float64)
    return Labelling(index, everyone, notice=taken, classes=names, remark=_rare(index, names))


def _classes_of(
    table: Table, name: str, words: list[str], values: list[str], choice: TableChoice, notice: str = ""
) -> Labelling:
    """Every value a class, in their order, or those asked for in that order."""
    if len(values) < 2:
        raise InvalidInputError(
            f"`{table.source}` must hold at least two classes in its label column {name}, got only {values[0]!r}; "
            f"name another column with {choice.named('target')}."
        )
    if not choice.takes_classes and len(values) > max(_MOST_CLASSES, len(words) // 2):
        raise InvalidInputError(
            f"`{table.source}` must hold classes or numbers in its label column {name}, got {len(values)} different "
            f"words on {len(words)} samples; name another column with {choice.named('target')}, or "
            f"{choice.named('labels', 'classes')} makes each a class."
        )
    chosen = values
    if choice.labels is not None:
        chosen = [_match(table, name, label, values, choice) for label in choice.labels]
        if len(chosen) == 1:
            raise InvalidInputError(
                f"{choice.named('labels')} must name at least two classes for the softmax loss, got {chosen[0]!r}; one "
                "class against the rest is for the logistic loss."
            )
    place = {word: c for c, word in enumerate(chosen)}
    index = np.array([place.get(word, -1) for word in words], dtype=np.float64)
    is_kept = index >= 0.0
    named = len(set(table.classes) - set(values)) if table.classes else 0
    remarks = [_left_out(int(np.sum(~is_kept))), _rare(index[is_kept], chosen)]
    if named:
        remarks.append(f"{named} named class{'es are' if named > 1 else ' is'} never seen and has no output")
    remark = "; ".join(words for words in remarks if words)
    return Labelling(index, is_kept, remark=remark, notice=notice, classes=tuple(chosen))


def _left_out(count: int) -> str:
    if not count:
        return ""
    return f"{count} row{'s' if count > 1 else ''} of other classes {'are' if count > 1 else 'is'} left out"


def _rare(index: FloatArray, classes: Sequence[str]) -> str:
    """What to say of classes with one member, or none."""
    counts = np.bincount(index.astype(np.int64), minlength=len(classes))
    said = []
    for count, word in ((0, "no member"), (1, "one member")):
        if found := [name for name, number in zip(classes, counts, strict=True) if number == count]:
            several = len(found) > 1
            said.append(f"class{'es' if several else ''} {listed(found)} {'have' if several else 'has'} {word}")
    return "; ".join(said)


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
    fewest = int(np.min(np.unique(column, return_counts=True)[1]))
    is_named = name.casefold() in CLASS_NAMES and 2 < len(found) <= _MOST_CLASSES
    if is_whole and (is_named or _look_like_classes(column, fewest)):
        high = f"{max(found):g}"
        taken = (
            f"the labels are {len(found)} whole numbers from {min(found):g} to {high}, each occurring at least "
            f"{fewest} time{'s' if fewest > 1 else ''}, and are taken as {len(found)} classes (softmax); {numbers} or "
            f"the square loss fits the numbers instead, {choice.named('labels', high)} sets one class against the rest"
        )
        return _classes_of(table, name, _words(column, ()), values, choice, taken)
    notice = ""
    if is_pair:
        low, high = sorted(found)
        way = choice.named("labels", f"{high:g},{low:g}")
        notice = (
            f"the labels {low:g} and {high:g} are taken as numbers to fit (regression), since only -1 and 1, or 0 and "
            f"1, are read as classes; {way} makes them the classes 1 and -1, {numbers} confirms that they are numbers"
        )
    return Labelling(column, everyone, notice=notice)


def _look_like_classes(column: FloatArray, fewest: int) -> bool:
    """Whether whole numbers are few of each kind: each repeated, or 0, 1, ..., K - 1 or 1, ..., K on many samples."""
    kinds = np.unique(column)
    if not 3 <= len(kinds) <= MOST_KINDS:
        return False
    are_consecutive = kinds[0] in (0.0, 1.0) and bool(np.all(np.diff(kinds) == 1.0))
    return fewest >= 2 or (are_consecutive and 2 * len(kinds) <= len(column))


def _two_of(table: Table, name: str, words: list[str], values: list[str], choice: TableChoice) -> Labelling:
    chosen = [_match(table, name, label, values, choice) for label in choice.labels or ()]
    array = np.array(words)
    is_positive = array == chosen[0]
    if len(chosen) == 1:
        negative = values[1 - values.index(chosen[0])] if len(values) == 2 else "others"
        return Labelling(np.where(is_positive, 1.0, -1.0), np.ones(array.shape, dtype=bool), chosen[0], negative)
    is_kept = is_positive | (array == chosen[1])
    remark = _left_out(int(np.sum(~is_kept)))
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
    is_class = labelling.positive or labelling.classes is not None
    return Task.CLASSIFICATION if is_class and choice.task is None else choice.task
