"""SweepResult: what a sweep gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reluflow.sweep.plan import Plan
from reluflow.sweep.store import TABLE
from reluflow.sweep.table import read_frame, to_xarray, write_table

if TYPE_CHECKING:
    import pandas
    import xarray


@dataclass(frozen=True, eq=False)
class SweepResult:
    """A finished sweep.

    Parameters
    ----------
    plan
        The cases.
    folder
        Where the results are.
    computed
        Cases computed by this call; the others were there.
    seconds
        What the call took.
    counts
        How many cases are `done`, `failed` and `missing`.

    Examples
    --------
    >>> import reluflow
    >>> result = reluflow.sweep(
    ...     reluflow.Experiment("three-points", width=5), over={"seed": "0..1"}, measure=["loss"], executor="serial")
    >>> result.counts["done"], list(result.frame()["seed"])
    (2, [0, 1])
    """

    plan: Plan
    folder: Path
    computed: int
    seconds: float
    counts: dict[str, int]
    _holder: Any = field(default=None, repr=False)  # keeps a temporary folder until the result goes

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return len(self.plan)

    @property
    def done(self) -> int:
        """How many ended well."""
        return self.counts["done"]

    @property
    def failed(self) -> int:
        """How many failed; the column `error` of the table says why."""
        return self.counts["failed"]

    @property
    def table(self) -> Path:
        """The Parquet file: one row per case."""
        return self.folder / TABLE

    @cached_property
    def _frame(self) -> pandas.DataFrame:
        return read_frame(self.table)

    def frame(self) -> pandas.DataFrame:
        """One row per case: the swept names, `fingerprint`, `status`, the measures, `error`."""
        return self._frame.copy()

    def to_xarray(self) -> xarray.Dataset:
        """The measures as arrays with the swept names as dimensions."""
        return to_xarray(self.plan, self._frame)

    def __repr__(self) -> str:
        return f"SweepResult({self.cases} cases: {self.done} done, {self.failed} failed, {self.computed} computed now)"


def gathered(plan: Plan, folder: Path, *, computed: int, seconds: float, holder: Any = None) -> SweepResult:
    """Write the table and give the result."""
    return SweepResult(plan, folder, computed, seconds, write_table(plan, folder), holder)
