"""Datasets from and to files: delimited text, `.parquet`, `.npy`, `.npz`, any of them gzipped."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.data import delimited
from reluflow.data.atomic import replacing
from reluflow.data.choice import Names, TableChoice
from reluflow.data.csv_file import write_csv
from reluflow.data.dataset import Dataset, Task
from reluflow.data.delimited import read_delimited
from reluflow.data.reading import Reading, read_table
from reluflow.data.table import Column, Table, column_from_values
from reluflow.errors import InvalidInputError, MissingExtraError

SUFFIXES = (*delimited.SUFFIXES, ".parquet", ".npy", ".npz")
WRITTEN = (".csv", ".npz")


def read_dataset(
    path: str | os.PathLike[str],
    *,
    bias: bool = False,
    task: Task | str | None = None,
    target: Names = None,
    features: Names = None,
    drop: Names = None,
    labels: Names = None,
    drop_missing: bool = False,
    standardise: bool = False,
) -> Dataset:
    """Read a dataset from a file: any table with a label column, or `.npz` with `X` and `y`.

    Parameters
    ----------
    path
        Delimited text (`.csv`, `.tsv`, `.txt`, ...), `.parquet`, `.npy` with the label in the last column, or `.npz`
        with arrays `X` (n, d) and `y` (n,), or rows of numbers (n, K); any of them gzipped.
    bias
        Append the constant coordinate 1 to every sample.
    task
        Classification or regression; by default classification exactly when the labels are classes.
    target, features, drop, labels, drop_missing, standardise
        Which columns mean what; see `TableChoice`.

    Returns
    -------
    Dataset
        Named after the file. Zero samples are accepted here; `Dataset.check_samples` refuses them.

    Raises
    ------
    InvalidInputError
        One sentence naming the file and, in a text file, the line and column.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pets.csv"
    ...     _ = path.write_text("weight;kind\\n4,2;cat\\n21,5;dog\\n")
    ...     dataset = read_dataset(path, bias=True)
    >>> dataset, dataset.provenance.partition("; ")[2]
    (Dataset('pets', n=2, d=2, classification), 'label cat is +1, label dog is -1; bias coordinate 1')
    """
    choice = TableChoice(
        target=target, features=features, drop=drop, labels=labels, drop_missing=drop_missing,
        standardise=standardise, task=task,
    )  # fmt: skip
    return read_file(path, choice, bias=bias).dataset


def read_file(path: str | os.PathLike[str], choice: TableChoice, *, bias: bool = False) -> Reading:
    """Read a dataset from a file, with a sentence on how it was read."""
    source = Path(path)
    if os.path.isdir(source):
        raise InvalidInputError(f"`{source}` must be a file, got a folder; name the .csv or .npz file inside it.")
    suffix = data_suffix(source)
    if suffix is None:
        came = repr(source.suffix) if source.suffix else "no ending"
        raise InvalidInputError(f"`{source}` must end in {', '.join(SUFFIXES)} or one of these and .gz, got {came}.")
    try:
        if suffix in delimited.SUFFIXES:
            table = read_delimited(source)
        elif suffix == ".parquet":
            table = _read_parquet(source)
        else:
            table = _read_npz(source) if suffix == ".npz" else _read_npy(source)
    except FileNotFoundError:
        raise InvalidInputError(f"`{source}` does not exist; give the path of a .csv or .npz file.") from None
    except OSError as error:
        raise InvalidInputError(f"`{source}` could not be read: {error.strerror or error}.") from error
    name = Path(source.stem).stem if source.suffix.lower() == ".gz" else source.stem
    return read_table(table, choice, name=name, origin=source.name, bias=bias)


def data_suffix(path: Path) -> str | None:
    """The ending of a data file, without .gz, in small letters; None where it is none of ours.

    >>> data_suffix(Path("Iris.CSV.gz")), data_suffix(Path("notes.docx"))
    ('.csv', None)
    """
    inner = Path(path.stem) if path.suffix.lower() == ".gz" else path
    suffix = inner.suffix.lower()
    return suffix if suffix in SUFFIXES else None


def write_dataset(dataset: Dataset, path: str | os.PathLike[str]) -> Path:
    """Write samples and labels to `.csv` or `.npz`; reading them back gives every bit.

    The file appears whole or not at all: if the writing fails, for example on a full disk, an older file of that name
    is left as it was. Regression labels that happen to be 0 and 1 read back as numbers with `task="regression"`.
    Classes are written by name and read back in alphabetical order; `labels` names another order, and asks for classes
    where there are two.

    Parameters
    ----------
    dataset
        Samples and labels.
    path
        Where to, by its ending.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> dataset = Dataset([[0.1, 2.0], [1 / 3, -1.0]], [1.0, -1.0])
    >>> read_dataset(write_dataset(dataset, folder / "pair.csv")) == dataset
    True
    """
    target = Path(path)
    if target.suffix.lower() not in WRITTEN:
        came = repr(target.suffix) if target.suffix else "no ending"
        raise InvalidInputError(f"`{target}` must end in .csv or .npz, got {came}.")
    if os.path.isdir(target):
        raise InvalidInputError(f"`{target}` must be a file to write to, got a folder.")
    try:
        with replacing(target) as handle:
            if target.suffix.lower() == ".csv":
                write_csv(handle, dataset.X, dataset.y, dataset.classes)
            else:
                names = None if dataset.classes is None else np.array(dataset.classes)
                y = dataset.y if names is None else names[dataset.y.astype(np.intp)]
                np.savez_compressed(handle, X=dataset.X, y=y)
    except OSError as error:
        raise InvalidInputError(
            f"`{target}` could not be written: {error.strerror or error}; nothing was changed there."
        ) from error
    return target


def table_of_arrays(
    samples: NDArray[Any], labels: NDArray[Any], source: str, names: tuple[str, ...] = (), classes: tuple[str, ...] = ()
) -> Table:
    """The table of a sample array (n, d) and a label array (n,) or (n, K)."""
    if samples.ndim != 2 or samples.shape[0] == 0 or samples.shape[1] == 0:
        raise InvalidInputError(
            f"`{source}`: `X` must have shape (n, d) with n and d at least 1, got {samples.shape}; a row is a sample."
        )
    is_row = labels.ndim == 2 and labels.shape[0] == 1 and samples.shape[0] > 1
    flat = labels.ravel() if labels.ndim == 2 and (labels.shape[1] == 1 or is_row) else labels
    if flat.shape[:1] != (samples.shape[0],) or flat.ndim > 2 or 0 in flat.shape:
        raise InvalidInputError(
            f"`{source}`: `y` must hold one label for each of the {samples.shape[0]} rows of `X`, got shape "
            f"{labels.shape}."
        )
    if samples.dtype.kind not in "fiub":
        raise InvalidInputError(f"`{source}` must hold real numbers in `X`, got an array of type {samples.dtype}.")
    if flat.dtype.kind not in "fiubUO":
        raise InvalidInputError(f"`{source}` must hold numbers or words in `y`, got an array of type {labels.dtype}.")
    columns = [np.ascontiguousarray(column) for column in samples.astype(np.float64).T]
    found = names if len(names) == samples.shape[1] else tuple(f"x{k}" for k in range(1, samples.shape[1] + 1))
    name = "y" if "y" not in found else "label"
    if flat.ndim == 2:
        if flat.dtype.kind not in "fiub":
            raise InvalidInputError(
                f"`{source}` must hold numbers in the rows of `y`, got an array of type {labels.dtype}."
            )
        rows = tuple(np.ascontiguousarray(column) for column in flat.astype(np.float64).T)
        targets = tuple(f"{name}{c}" for c in range(1, len(rows) + 1))
        return Table((*found, *targets), (*columns, *rows), source, targets=targets)
    label = flat.astype(np.float64) if flat.dtype.kind in "fiub" else column_from_values(flat.tolist())
    return Table((*found, name), (*columns, label), source, classes=classes)


def _content(path: Path) -> io.BytesIO:
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidInputError(f"`{path}` must be a whole gzip file: {error}.") from error
    return io.BytesIO(content)


def _read_npz(path: Path) -> Table:
    """`X` and `y` of an archive; arrays of Python objects are refused, since unpickling runs code."""
    try:
        archive = np.load(_content(path), allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise InvalidInputError(f"`{path}` must be an .npz archive with arrays `X` and `y`, got a single array.")
        with archive:
            if not {"X", "y"} <= set(archive.files):
                held = ", ".join(archive.files) or "nothing"
                raise InvalidInputError(f"`{path}` must hold arrays `X` and `y`, got {held}; save with X=..., y=....")
            samples, labels = archive["X"], archive["y"]
    except InvalidInputError:
        raise
    # zipfile says NotImplementedError of a compression it does not know
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise InvalidInputError(
            f"`{path}` must be a whole .npz archive with numeric arrays `X` and `y`: {str(error).rstrip('.')}."
        ) from error
    return table_of_arrays(samples, labels, str(path))


def _read_npy(path: Path) -> Table:
    try:
        array = np.load(_content(path), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InvalidInputError(f"`{path}` must be a whole .npy array of numbers: {str(error).rstrip('.')}.") from error
    if not isinstance(array, np.ndarray):
        raise InvalidInputError(f"`{path}` must hold one array, got an archive; name it .npz.")
    if array.dtype.names is not None:
        columns = tuple(column_from_values(array[name].ravel()) for name in array.dtype.names)
        return Table(tuple(array.dtype.names), columns, str(path))
    if array.ndim != 2 or array.shape[1] < 2 or array.shape[0] == 0:
        raise InvalidInputError(
            f"`{path}` must hold an array of shape (n, d + 1) with the labels in its last column, got {array.shape}."
        )
    return table_of_arrays(array[:, :-1], array[:, -1], str(path))


def _read_parquet(path: Path) -> Table:
    try:
        from pyarrow import ArrowException
        from pyarrow import parquet as pq
    except ImportError as error:
        raise MissingExtraError(
            "Reading .parquet needs pyarrow, which is not installed: pip install 'reluflow[tables]'."
        ) from error
    try:
        frame = pq.read_table(_content(path))
    except (ArrowException, ValueError) as error:
        raise InvalidInputError(f"`{path}` must be a whole Parquet file: {str(error).rstrip('.')}.") from error
    if frame.num_columns == 0 or frame.num_rows == 0:
        raise InvalidInputError(f"`{path}` must hold at least one row and one column, got {frame.shape}.")
    kept = [k for k, name in enumerate(frame.column_names) if name != "__index_level_0__"]
    columns: list[Column] = [column_from_values(frame.column(k).to_pylist()) for k in kept]
    return Table(tuple(str(frame.column_names[k]) for k in kept), tuple(columns), str(path))
