"""The table of a sweep, one row per case: as Parquet, a data frame or a labelled array. Derived from the results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reluflow.arrays import IndexArray
from reluflow.data.atomic import replacing
from reluflow.errors import InvalidInputError, MissingExtraError
from reluflow.sweep.plan import Plan
from reluflow.sweep.segments import DONE, StorageError, sync_folder
from reluflow.sweep.store import DONE_CODE, FAILED_CODE, TABLE, Progress
from reluflow.sweep.swept import Value

if TYPE_CHECKING:
    import pandas
    import xarray

ROWS_AT_A_TIME = 50_000
_STATUS = {0: "missing", FAILED_CODE: "failed", DONE_CODE: "done"}


class Column:
    """Values of one measure, one per case, in eight bytes each: numbers as they are, texts by their number in a list.

    >>> column = Column("kind", 3)
    >>> column.put(np.array([2]), ["saddle"]); column.put(np.array([0]), ["saddle"])
    >>> column.values(0, 3)
    ['saddle', None, 'saddle']
    """

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self._numbers = np.full(size, np.nan)
        self._is_there = np.zeros(size, dtype=bool)
        self._kinds: set[type] = set()
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []

    def put(self, places: IndexArray, values: Sequence[Any]) -> None:
        """Set some values."""
        for place, value in zip(places, values, strict=True):
            if value is None:
                continue
            self._kinds.add(type(value))
            self._is_there[place] = True
            self._numbers[place] = value if not isinstance(value, str) else self._code(value)

    def values(self, start: int, stop: int) -> list[Any]:
        """Values from `start` to `stop`, None where there is none."""
        if str in self._kinds and len(self._kinds) > 1:
            raise InvalidInputError(
                f"`{self.name}` must give numbers or texts, got both; let the measure give one of them."
            )
        part, there = self._numbers[start:stop], self._is_there[start:stop]
        if self._kinds == {str}:
            return [self._texts[int(code)] if is_there else None for code, is_there in zip(part, there, strict=True)]
        make: Any = bool if self._kinds == {bool} else int if self._kinds <= {int, bool} and self._kinds else float
        return [make(number) if is_there else None for number, is_there in zip(part, there, strict=True)]

    def arrow_type(self, arrow: Any) -> Any:
        """Text, boolean, whole number or double."""
        if self._kinds == {str}:
            return arrow.string()
        if self._kinds == {bool}:
            return arrow.bool_()
        return arrow.int64() if self._kinds and self._kinds <= {int, bool} else arrow.float64()

    def _code(self, text: str) -> int:
        if text not in self._codes:
            self._codes[text] = len(self._texts)
            self._texts.append(text)
        return self._codes[text]


def measure_columns(plan: Plan) -> list[str]:
    """The columns of the measures; one that has the name of a swept setting is called measured_NAME."""
    taken = {*plan.names, "fingerprint", "status", "error"}
    return [f"measured_{m.name}" if m.name in taken else m.name for m in plan.measures]


def write_table(plan: Plan, folder: Path) -> dict[str, int]:
    """Write the table of a plan from the results in its folder, in the plan's order, some rows at a time.

    Returns
    -------
    dict
        How many cases are `done`, `failed` and `missing`.
    """
    arrow, parquet = _arrow()
    known = Progress(plan, folder)
    columns = [Column(name, len(plan)) for name in measure_columns(plan)]
    errors = Column("error", len(plan))
    known.reader.next_numbers.clear()
    for segment in known.reader.new():
        if not segment.covers(plan.identities):
            continue
        records = list(segment.records())
        names = np.array([bytes.fromhex(record.fingerprint) for record in records], dtype="S16")
        is_ours, places = known.places_of(names)
        ours = [record for record, is_our in zip(records, is_ours, strict=True) if is_our]
        good = np.array([record.status == DONE for record in ours], dtype=bool)
        order = [list(segment.header["measures"]).index(identity) for identity in plan.identities]
        bad = np.array(
            [not is_good and known.codes[place] == FAILED_CODE for is_good, place in zip(good, places, strict=True)],
            dtype=bool,
        )
        measured = (good | bad) & np.array([bool(record.measures) for record in ours], dtype=bool)
        for column, at in zip(columns, order, strict=True):
            column.put(
                places[measured],
                [record.measures[at] for record, is_measured in zip(ours, measured, strict=True) if is_measured],
            )
        errors.put(places[bad], [record.error for record, is_bad in zip(ours, bad, strict=True) if is_bad])
    swept = [swept_values(axis.values) for axis in plan.axes]
    fields = [arrow.field(axis.name, _swept_type(arrow, axis.values)) for axis in plan.axes]
    fields += [arrow.field("fingerprint", arrow.string()), arrow.field("status", arrow.string())]
    fields += [arrow.field(column.name, column.arrow_type(arrow)) for column in columns]
    fields += [arrow.field("error", arrow.string())]
    schema = arrow.schema(fields)
    fingerprints = known.fingerprints().view("V16")  # bytes that may end in zeros
    target = folder / TABLE
    try:
        with replacing(target) as handle, parquet.ParquetWriter(handle, schema) as writer:
            for start in range(0, len(plan), ROWS_AT_A_TIME):
                stop = min(start + ROWS_AT_A_TIME, len(plan))
                chosen = zip(swept, plan.places(start, stop), strict=True)
                rows: list[Any] = [[values[place] for place in places] for values, places in chosen]
                rows.append([bytes(name).hex() for name in fingerprints[start:stop]])
                rows.append([_STATUS[int(code)] for code in known.codes[start:stop]])
                rows += [column.values(start, stop) for column in columns]
                rows.append(errors.values(start, stop) if errors._kinds else [None] * (stop - start))
                arrays = [arrow.array(row, type=field.type) for row, field in zip(rows, schema, strict=True)]
                writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
        sync_folder(folder)
    except OSError as error:
        raise StorageError(
            f"`{target}` could not be written: {error.strerror or error}; the results are kept, and the same command "
            "writes the table again."
        ) from error
    return {word: known.count(code) for code, word in _STATUS.items()}


def read_frame(path: Path) -> pandas.DataFrame:
    """The table as a data frame."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "A data frame needs pandas, which is not installed: pip install 'reluflow[sweep]'."
        ) from error
    return pandas.read_parquet(path)


def to_xarray(plan: Plan, frame: pandas.DataFrame) -> xarray.Dataset:
    """The measures as arrays whose dimensions are the swept names."""
    try:
        import xarray
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "A labelled array needs xarray, which is not installed: pip install 'reluflow[sweep]'."
        ) from error
    shape = tuple(len(axis.values) for axis in plan.axes)
    names = ["status", *measure_columns(plan)]
    return xarray.Dataset(
        {name: (plan.names, np.asarray(frame[name]).reshape(shape)) for name in names},
        coords={axis.name: np.array(swept_values(axis.values)) for axis in plan.axes},
        attrs={"dataset": plan.base.data},
    )


def swept_values(values: Sequence[Value]) -> list[Any]:
    """Values as the table shows them: scales as numbers where a double can hold them all, else as their text."""
    if all(isinstance(value, str) for value in values):
        numbers = [_number(str(value)) for value in values]
        if all(number is not None for number in numbers):
            return numbers
    if any(isinstance(value, str) for value in values) and any(not isinstance(value, str) for value in values):
        mixed = [_number(str(value)) for value in values]  # widths with inf among them
        return mixed if all(number is not None for number in mixed) else [str(value) for value in values]
    return list(values)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    is_lost = (value == 0.0 and text.strip("0.+-") != "") or (math.isinf(value) and "inf" not in text)
    return None if is_lost or math.isnan(value) else value


def _swept_type(arrow: Any, values: Sequence[Value]) -> Any:
    shown = swept_values(values)
    if all(isinstance(value, bool) for value in shown):
        return arrow.bool_()
    if all(isinstance(value, int) for value in shown):
        return arrow.int64()
    return arrow.string() if any(isinstance(value, str) for value in shown) else arrow.float64()


def check_packages() -> None:
    """Refuse before anything runs where the table could not be written afterwards."""
    _arrow()


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "The table of a sweep needs pyarrow, which is not installed: pip install 'reluflow[sweep]'."
        ) from error
    return pyarrow, pyarrow.parquet
