"""Datasets from objects in memory: arrays, data frames, a scikit-learn `Bunch`, tensors.

None of these packages is imported: a data frame is what has `columns` and gives each by name, a `Bunch` what has `data`
and `target`, a tensor what `detach`es.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.data.choice import Names, TableChoice
from reluflow.data.dataset import Dataset, Task
from reluflow.data.files import table_of_arrays
from reluflow.data.reading import Reading, read_table
from reluflow.data.table import Table, column_from_values
from reluflow.errors import InvalidInputError


def as_dataset(
    given: Any,
    y: Any = None,
    *,
    bias: bool = False,
    task: Task | str | None = None,
    target: Names = None,
    features: Names = None,
    drop: Names = None,
    labels: Names = None,
    drop_missing: bool = False,
    standardise: bool = False,
    name: str | None = None,
) -> Dataset:
    """A dataset from arrays, tensors, a data frame or a scikit-learn `Bunch`; labels 0/1 and two words become -1 and 1.

    Parameters
    ----------
    given
        A `Dataset`, which is returned as it is; a registered name or a path; samples (n, d) with `y`; a pair (X, y); a
        data frame with a label column; a `Bunch` or a mapping with `data` and `target` or with `X` and `y`.
    y
        Labels, where `given` holds samples only.
    bias, task, target, features, drop, labels, drop_missing, standardise
        As for `read_dataset`.
    name
        What to call it.

    Returns
    -------
    Dataset
        The samples and labels.

    Examples
    --------
    >>> as_dataset([[1.0, 2.0], [3.0, 4.0]], ["cat", "dog"]).y
    array([ 1., -1.])
    """
    if isinstance(given, str | os.PathLike):
        from reluflow.data.registry import load

        return load(
            given, y, bias=bias, task=task, target=target, features=features, drop=drop, labels=labels,
            drop_missing=drop_missing, standardise=standardise,
        )  # fmt: skip
    choice = TableChoice(
        target=target, features=features, drop=drop, labels=labels, drop_missing=drop_missing,
        standardise=standardise, task=task,
    )  # fmt: skip
    return reading_of(given, y, choice, bias=bias, name=name).dataset


def reading_of(given: Any, y: Any, choice: TableChoice, *, bias: bool = False, name: str | None = None) -> Reading:
    """A dataset from objects in memory, with a sentence on how it was read."""
    if isinstance(given, Dataset):
        if y is not None or choice.names_columns():
            raise InvalidInputError(
                "a `Dataset` has its labels and columns already; give X and y, or a table, instead."
            )
        dataset = given.standardised() if choice.standardise else given
        dataset = dataset.with_class_indices() if choice.takes_classes else dataset
        return Reading(dataset.with_bias() if bias else dataset, repr(given))
    table, called = _table(given, y)
    return read_table(table, choice, name=name or called, origin=table.source, bias=bias)


def _table(given: Any, y: Any) -> tuple[Table, str]:
    if y is not None:
        names = _column_names(given)
        return table_of_arrays(_array(given, "X"), _array(y, "y"), "the arrays", names), "unnamed"
    if _is_frame(given):
        return _frame(given), "data frame"
    pair = _pair(given)
    if pair is not None:
        samples, labels, names, classes, called = pair
        source = "the Bunch" if called == "bunch" else "the arrays"
        return table_of_arrays(_array(samples, "X"), _array(labels, "y"), source, names, classes), called
    raise InvalidInputError(
        "`data` must be a dataset: X and y, a pair (X, y), a data frame with a label column, a scikit-learn Bunch, a "
        f"registered name or a path; got {type(given).__name__}."
    )


def _pair(given: Any) -> tuple[Any, Any, tuple[str, ...], tuple[str, ...], str] | None:
    """Samples, labels, names of the columns, names of the classes, and what to call it."""
    if isinstance(given, Mapping) or (hasattr(given, "data") and hasattr(given, "target")):
        found: Mapping[str, Any] = given if isinstance(given, Mapping) else vars(given)
        if "data" in found and "target" in found:
            names = found.get("feature_names")
            classes = _class_names(found.get("target_names"), found["target"])
            return (
                found["data"], found["target"], () if names is None else tuple(map(str, names)), classes, "bunch",
            )  # fmt: skip
        if "X" in found and "y" in found:
            return found["X"], found["y"], _column_names(found["X"]), (), "unnamed"
        return None
    if isinstance(given, tuple | list) and len(given) == 2 and np.ndim(_array(given[1], "y")) >= 1:
        return given[0], given[1], _column_names(given[0]), (), "unnamed"
    tensors = getattr(given, "tensors", None)  # torch.utils.data.TensorDataset
    if isinstance(tensors, tuple) and len(tensors) == 2:
        return tensors[0], tensors[1], (), (), "unnamed"
    return None


def _class_names(names: Any, target: Any) -> tuple[str, ...]:
    """Names of the classes, where there is one for each value; scikit-learn gives a regression's target a name too."""
    if names is None:
        return ()
    words = tuple(map(str, names))
    values = np.unique(_array(target, "y"))
    is_index = values.dtype.kind in "iub" and values.size and values[0] >= 0 and values[-1] < len(words)
    return words if len(words) > 1 and is_index else ()


def _is_frame(given: Any) -> bool:
    return hasattr(given, "columns") and hasattr(given, "__getitem__") and not isinstance(given, np.ndarray)


def _column_names(given: Any) -> tuple[str, ...]:
    return tuple(map(str, given.columns)) if _is_frame(given) else ()


def _frame(frame: Any) -> Table:
    columns = getattr(frame, "column_names", None)  # pyarrow keeps the names apart from the columns
    names = list(frame.columns) if columns is None else list(columns)
    if len({str(name) for name in names}) < len(names):
        raise InvalidInputError("the data frame must have distinct column names; rename those that stand twice.")
    found = []
    for name in names:
        column = frame[name]
        as_list = getattr(column, "to_pylist", None) or getattr(column, "to_list", None)
        found.append(column_from_values(as_list() if as_list is not None else list(column)))
    return Table(tuple(map(str, names)), tuple(found), "the data frame")


def _array(values: Any, name: str) -> NDArray[Any]:
    """A NumPy array of an array, a tensor on any device, a frame or a list."""
    if hasattr(values, "detach"):
        values = values.detach()
        values = values.cpu() if hasattr(values, "cpu") else values
        values = values.numpy() if hasattr(values, "numpy") else values
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    elif hasattr(values, "toarray"):  # a sparse matrix
        values = values.toarray()
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"`{name}` must be an array of numbers: {error}.") from error
    if array.dtype.kind == "O":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            if name == "X":
                raise InvalidInputError(
                    "`X` must be an array of numbers, got other objects in it; name the columns to use with `features`."
                ) from None
    return array
