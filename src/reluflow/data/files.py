"""Datasets from and to files: `.csv` with the header `x1,...,xd,y`, or `.npz` with `X` and `y`."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.data.atomic import replacing
from reluflow.data.csv_file import read_csv, write_csv
from reluflow.data.dataset import Dataset, Task
from reluflow.errors import InvalidInputError

SUFFIXES = (".csv", ".npz")


def read_dataset(path: str | os.PathLike[str], *, bias: bool = False, task: Task | str | None = None) -> Dataset:
    """Read a dataset from a `.csv` or `.npz` file.

    Parameters
    ----------
    path
        `.csv` with the header `x1,...,xd,y` and one sample per line, or `.npz` with arrays `X` (n, d) and `y` (n,).
    bias
        Append the constant coordinate 1 to every sample.
    task
        Classification or regression; by default classification exactly when every label is -1 or 1.

    Returns
    -------
    Dataset
        Named after the file. Zero and repeated samples are accepted here; `Dataset.check_samples` refuses them.

    Raises
    ------
    InvalidInputError
        One sentence naming the file and, in a CSV, the line and column.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_dataset(Dataset([[1.0], [2.0]], [0.5, 1.5]), Path(folder) / "mine.csv")
    ...     read_dataset(path, bias=True)
    Dataset('mine', n=2, d=2, regression)
    """
    source = Path(path)
    chosen = _task(task)
    if os.path.isdir(source):
        raise InvalidInputError(f"`{source}` must be a file, got a folder; name the .csv or .npz file inside it.")
    _check_suffix(source)
    try:
        if source.suffix.lower() == ".csv":
            table = read_csv(source)
            samples, labels = table[:, :-1], table[:, -1]
        else:
            samples, labels = _read_npz(source)
    except FileNotFoundError:
        raise InvalidInputError(f"`{source}` does not exist; give the path of a .csv or .npz file.") from None
    except OSError as error:
        raise InvalidInputError(f"`{source}` could not be read: {error.strerror or error}.") from error
    try:
        dataset = Dataset(samples, labels, task=chosen, name=source.stem, provenance=f"read from {source}")
    except InvalidInputError as error:
        raise InvalidInputError(f"`{source}`: {error}") from error
    return dataset.with_bias() if bias else dataset


def write_dataset(dataset: Dataset, path: str | os.PathLike[str]) -> Path:
    """Write samples and labels to `.csv` or `.npz`; reading them back gives every bit.

    The file appears whole or not at all: if the writing fails, for example on a full disk, an older file of that name
    is left as it was.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> dataset = Dataset([[0.1, 2.0], [1 / 3, -1.0]], [1.0, -1.0])
    >>> read_dataset(write_dataset(dataset, folder / "pair.csv")) == dataset
    True
    """
    target = Path(path)
    _check_suffix(target)
    if os.path.isdir(target):
        raise InvalidInputError(f"`{target}` must be a file to write to, got a folder.")
    try:
        with replacing(target) as handle:
            if target.suffix.lower() == ".csv":
                write_csv(handle, dataset.X, dataset.y)
            else:
                np.savez_compressed(handle, X=dataset.X, y=dataset.y)
    except OSError as error:
        raise InvalidInputError(
            f"`{target}` could not be written: {error.strerror or error}; nothing was changed there."
        ) from error
    return target


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        came = repr(path.suffix) if path.suffix else "no ending"
        raise InvalidInputError(f"`{path}` must end in .csv or .npz, got {came}.")


def _task(task: Task | str | None) -> Task | None:
    if task is None or isinstance(task, Task):
        return task
    if task not in tuple(Task):
        raise InvalidInputError(f"`task` must be {' or '.join(Task)}, got {task!r}.")
    return Task(task)


def _read_npz(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    """`X` and `y` of an archive; arrays of Python objects are refused, since unpickling runs code."""
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise InvalidInputError(f"`{path}` must be an .npz archive with arrays `X` and `y`, got a single array.")
        with archive:
            if not {"X", "y"} <= set(archive.files):
                held = ", ".join(archive.files) or "nothing"
                raise InvalidInputError(f"`{path}` must hold arrays `X` and `y`, got {held}; save with X=..., y=....")
            arrays = archive["X"], archive["y"]
    except InvalidInputError:
        raise
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidInputError(
            f"`{path}` must be a whole .npz archive with numeric arrays `X` and `y`: {str(error).rstrip('.')}."
        ) from error
    for key, array in zip(("X", "y"), arrays, strict=True):
        if array.dtype.kind not in "fiub":
            raise InvalidInputError(f"`{path}` must hold real numbers in `{key}`, got an array of type {array.dtype}.")
    return arrays
