"""From a table to a dataset, with a sentence on how it was read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.choice import TableChoice
from reluflow.data.dataset import Dataset
from reluflow.data.labelling import LABEL_NAMES, label_columns, labels_of, task_of
from reluflow.data.table import Column, Table, is_missing, listed, number_from, quoted
from reluflow.errors import InvalidInputError

WIDE_RANGE = 1e3  # features whose sizes differ by more, or are larger than this, are worth a word


@dataclass(frozen=True, eq=False)
class Reading:
    """A dataset read from somewhere, and what to say about it.

    Parameters
    ----------
    dataset
        The samples.
    summary
        What was understood, in one line: "569 samples, 30 features, 212 malignant (-1), ..., from breast.csv".
    remarks
        What the reader should know besides, one sentence each.
    notice
        What the labels were taken for where that is a guess, and how to say otherwise: to be said first.
    """

    dataset: Dataset
    summary: str
    remarks: tuple[str, ...] = ()
    notice: str = ""

    def sentences(self) -> list[str]:
        """All there is to say, the notice first."""
        said = (self.notice, self.summary, *self.remarks)
        return [f"{words[:1].upper()}{words[1:]}." if words == self.notice else f"{words}." for words in said if words]


def read_table(table: Table, choice: TableChoice, *, name: str, origin: str, bias: bool = False) -> Reading:
    """Choose columns, map labels, refuse what is missing, and say what was understood.

    Parameters
    ----------
    table
        Named columns.
    choice
        Which of them mean what.
    name
        What to call the dataset.
    origin
        Where it comes from, after "from", for people.
    bias
        Append the constant coordinate 1, after standardising.
    """
    kept = table.without(choice.drop) if choice.drop else table
    if not kept.names or kept.num_rows == 0:
        raise InvalidInputError(f"`{table.source}` must hold at least one row and one column, got none.")
    targets = label_columns(kept, choice)
    features = _features(kept, targets, choice)
    kept, num_dropped = _without_gaps(kept, [*features, *targets], choice)
    labelling = labels_of(kept, targets, choice)
    label_name = listed([kept.names[k] for k in targets])
    is_guessed = choice.target is None and not kept.targets and label_name.casefold() not in LABEL_NAMES
    guessed = label_name if is_guessed else None
    samples = _samples(kept.rows(labelling.is_kept), features, choice, guessed=guessed)
    labels = labelling.y[labelling.is_kept]
    provenance = f"read from {table.source}"
    if labelling.positive not in ("", "1") or labelling.negative not in ("", "-1"):
        rest = "the others are" if labelling.negative == "others" else f"label {labelling.negative} is"
        provenance += f"; label {labelling.positive} is +1, {rest} -1"
    for column, target in enumerate(targets if labels.ndim == 2 else targets[:1]):
        _check_finite(kept, target, labels if labels.ndim == 1 else labels[:, column])
    try:
        dataset = Dataset(
            samples,
            labels,
            task=task_of(labelling, choice),
            classes=labelling.classes,
            name=name,
            provenance=provenance,
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"`{table.source}`: {error}") from error
    names = tuple(kept.names[k] for k in features)
    remarks = [*table.remarks, *([labelling.remark] if labelling.remark else [])]
    if num_dropped:
        plural = "row" if num_dropped == 1 else "rows"
        verb = "is" if num_dropped == 1 else "are"
        remarks.append(f"{num_dropped} {plural} with missing values {verb} left out; samples are numbered without them")
    if choice.standardise:
        dataset = dataset.standardised()
    remarks += _feature_remarks(names, dataset, choice)
    remarks += _repeated_remark(dataset)
    place = "" if label_name.casefold() in LABEL_NAMES[:1] else f" (labels: {label_name})"
    plural = "feature" if len(names) == 1 else "features"
    summary = f"{dataset.n} samples, {len(names)} {plural}, {labelling.counted()}, from {origin}{place}"
    return Reading(dataset.with_bias() if bias else dataset, summary, tuple(remarks), labelling.notice)


def _features(table: Table, targets: list[int], choice: TableChoice) -> list[int]:
    if choice.features is None:
        features = [k for k in range(len(table.names)) if k not in targets]
        if not features:
            raise InvalidInputError(
                f"`{table.source}` must hold at least one feature besides its label column "
                f"{listed([table.names[k] for k in targets])}, got none."
            )
        return features
    features = [table.column(name, "features") for name in choice.features]
    if both := [table.names[k] for k in targets if k in features]:
        raise InvalidInputError(
            f"{choice.named('features')} must not hold the label column, got {both[0]!r}; name another with "
            f"{choice.named('target')}."
        )
    if len(set(features)) < len(features):
        raise InvalidInputError(
            f"{choice.named('features')} must name each column once, got {','.join(choice.features)!r}."
        )
    return features


def _without_gaps(table: Table, used: list[int], choice: TableChoice) -> tuple[Table, int]:
    """The table without rows that miss something in a column in use; refused unless that was asked for."""
    gaps = {k: is_missing(table.columns[k]) for k in used}
    counts = {table.names[k]: int(np.sum(gap)) for k, gap in gaps.items() if np.any(gap)}
    if not counts:
        return table, 0
    has_gap = np.any(np.array(list(gaps.values())), axis=0)
    if not choice.drop_missing:
        per_column = listed([f"{count} in {name}" for name, count in counts.items()])
        row = int(np.argmax(has_gap))
        where = f"line {table.lines[row]}" if table.lines.size else f"row {row + 1}"
        number = int(np.sum(has_gap))
        left_out = "row that has it" if number == 1 else f"{number} rows that have them"
        raise InvalidInputError(
            f"`{table.source}` must be finite, without missing values, got {per_column} (first in {where}); "
            f"{choice.named('drop_missing')} leaves out the {left_out}, {choice.named('drop', 'NAME')} a column."
        )
    if np.all(has_gap):
        raise InvalidInputError(
            f"`{table.source}` misses something in every row, so that {choice.named('drop_missing')} leaves none; "
            f"leave out columns instead, as in {choice.named('drop', max(counts, key=lambda name: counts[name]))}."
        )
    return table.rows(~has_gap), int(np.sum(has_gap))


def _samples(table: Table, features: list[int], choice: TableChoice, *, guessed: str | None) -> FloatArray:
    """The features as numbers; `guessed` is the label column where it was taken because it is the last."""
    chosen = []
    for k in features:
        column, name = _truth_as_numbers(table.columns[k]), table.names[k]
        if column.dtype.kind == "f":
            bad = np.flatnonzero(~np.isfinite(column))
            if bad.size:
                raise InvalidInputError(
                    f"{table.place(int(bad[0]), name)} must be finite, got {column[bad[0]]}; remove that sample."
                )
            chosen.append(column)
            continue
        raise _words_refused(table, k, choice, guessed)
    return np.column_stack(chosen)


def _truth_as_numbers(column: Column) -> Column:
    """True and false as 1 and 0."""
    if column.dtype.kind == "f" or not all(str(cell).casefold() in ("true", "false") for cell in column):
        return column
    return np.array([1.0 if str(cell).casefold() == "true" else 0.0 for cell in column])


def _words_refused(table: Table, index: int, choice: TableChoice, guessed: str | None) -> InvalidInputError:
    """One odd cell among numbers is a slip, named by its place; a column of words is a column to leave out."""
    column, name = table.columns[index], table.names[index]
    is_word = np.array([_is_word(cell) for cell in column])
    first = int(np.argmax(is_word))
    if 2 * int(np.sum(is_word)) <= len(column) or len(column) == 1:
        return InvalidInputError(f"{table.place(first, name)} must be a number, got {quoted(str(column[first]))}.")
    ways = f"leave it out with {choice.named('drop', name)}, or write it as numbers"
    if guessed is not None and len({str(cell) for cell in column}) < len(column):  # words that come again are classes
        way = choice.named("target", name)
        ways = f"make it the label with {way}, for {guessed} was taken as the last column; {ways}"
    return InvalidInputError(
        f"`{table.source}` must hold numbers in its features, got words in column {name} (such as "
        f"{quoted(str(column[first]))}); {ways}."
    )


def _is_word(cell: object) -> bool:
    return number_from(str(cell)) is None


def _check_finite(table: Table, label: int, labels: FloatArray) -> None:
    bad = np.flatnonzero(~np.isfinite(labels))
    if bad.size:
        raise InvalidInputError(
            f"{table.place(int(bad[0]), table.names[label])} must be finite, got {labels[bad[0]]}; remove that sample."
        )


def _feature_remarks(names: tuple[str, ...], dataset: Dataset, choice: TableChoice) -> list[str]:
    """Constant columns, and sizes so different that the flow is stiff."""
    remarks = []
    spread = np.ptp(dataset.X, axis=0)
    constant = [j for j in range(dataset.d) if spread[j] == 0.0]
    zero = [names[j] for j in constant if dataset.X[0, j] == 0.0]
    biases = [names[j] for j in constant if dataset.X[0, j] != 0.0]
    if zero and dataset.n > 1:
        subject = f"columns {listed(zero)} are" if len(zero) > 1 else f"column {zero[0]} is"
        remarks.append(f"{subject} zero for every sample, kept, without effect on the outputs")
    if biases and dataset.n > 1:
        many = len(biases) > 1
        how = "kept as " + ("they are" if many else "it is")
        if not choice.standardise:
            how = f"kept: {'they act as hidden biases' if many else 'it acts as a hidden bias'}"
        remarks.append(f"column{'s' if many else ''} {listed(biases)} {'are' if many else 'is'} constant, {how}")
    sizes = np.sqrt(np.mean(np.square(dataset.X / max(np.max(np.abs(dataset.X)), 1e-300)), axis=0))
    sizes *= max(np.max(np.abs(dataset.X)), 1e-300)
    positive = np.flatnonzero(sizes > 0)
    if positive.size and not choice.standardise:
        small, large = positive[np.argmin(sizes[positive])], int(np.argmax(sizes))
        if sizes[large] > WIDE_RANGE * min(sizes[small], 1.0):
            remarks.append(
                f"features differ in size, from {sizes[small]:.2g} ({names[small]}) to {sizes[large]:.2g} "
                f"({names[large]}), which makes the flow slow; {choice.named('standardise')} gives each mean 0 and "
                "variance 1"
            )
    return remarks


def _repeated_remark(dataset: Dataset) -> list[str]:
    copies = dataset.num_repeated
    if not copies:
        return []
    if copies == 1:
        return ["1 row repeats another one; each counts in the loss, and they share one hyperplane"]
    return [f"{copies} rows repeat another one; each counts in the loss, and they share one hyperplane"]
