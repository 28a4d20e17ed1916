"""Summary: the cases of a sweep that differ only in their seed, taken together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from reluflow.errors import InvalidInputError
from reluflow.sweep.events import CountedEvent, parse_event
from reluflow.sweep.lab_link import lab_command
from reluflow.sweep.plan import Plan
from reluflow.sweep.result import SweepResult
from reluflow.sweep.table import measure_columns, swept_values
from reluflow.wilson import wilson_interval

SEED = "seed"


@dataclass(frozen=True)
class Cell:
    """One point of a picture.

    Parameters
    ----------
    place
        Which value of each drawn setting it has.
    value
        How often the event happened, or the mean of a measured number; nan where there is no result.
    low, high
        Wilson's 95 % interval of a probability, or the 10 % and 90 % quantiles of a number.
    trials
        Cases with a result.
    words
        What it is, for a reader who points at it.
    command
        The command that makes its first case.
    lab
        The command that opens the laboratory at it, or None where the laboratory cannot show that run.
    """

    place: tuple[int, ...]
    value: float
    low: float
    high: float
    trials: int
    words: str
    command: str
    lab: str | None


@dataclass(frozen=True)
class Summary:
    """A sweep as points over its settings other than the seed."""

    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    quantity: str
    is_probability: bool
    cells: tuple[Cell, ...]


def summarize(
    result: SweepResult,
    *,
    event: str | None = None,
    measure: str | None = None,
    open_values: tuple[str, ...] = (),
) -> Summary:
    """Take seeds together: the share of an event, or the mean of a number.

    Parameters
    ----------
    result
        A finished sweep.
    event
        `MEASURE=VALUE`, or a measure that is true or false.
    measure
        The measure to draw where no event is named; by default the first. Of a text, the most frequent value is the
        event.
    open_values
        Values of the measure that decide nothing, such as the kind of a run that had not settled: left out of the
        share, and counted in the words.
    """
    frame, plan = result.frame(), result.plan
    columns = dict(zip([m.name for m in plan.measures], measure_columns(plan), strict=True))
    wanted: CountedEvent | None = parse_event(event) if event is not None else None
    name = wanted.measure if wanted is not None else measure or plan.measures[0].name
    if name not in columns:
        raise InvalidInputError(f"`event` must name one of the measures {', '.join(columns)}, got {name!r}.")
    column = frame[columns[name]]
    known = [value for value in column if value is not None and value == value]
    if wanted is None and known and isinstance(known[0], str):
        wanted = CountedEvent(name, Counter(known).most_common(1)[0][0])
    elif wanted is None and known and isinstance(known[0], bool | np.bool_):
        wanted = CountedEvent(name)
    drawn = [place for place, axis in enumerate(plan.axes) if axis.name != SEED]
    shape = [len(plan.axes[place].values) for place in drawn]
    groups: dict[tuple[int, ...], list[int]] = {}
    all_places = np.stack(plan.places(0, len(plan)), axis=1)
    for index in range(len(plan)):
        groups.setdefault(tuple(int(all_places[index, place]) for place in drawn), []).append(index)
    is_done = (frame["status"] == "done").to_numpy()
    values = column.to_numpy()
    cells = []
    for place in np.ndindex(*shape):
        members = groups[tuple(map(int, place))]
        good = [index for index in members if is_done[index]]
        cells.append(
            _cell(plan, tuple(map(int, place)), members, [values[index] for index in good], wanted, name, open_values)
        )
    return Summary(
        tuple(plan.axes[place].name for place in drawn),
        tuple(tuple(swept_values(plan.axes[place].values)) for place in drawn),
        wanted.words if wanted is not None else name,
        wanted is not None,
        tuple(cells),
    )


def _cell(
    plan: Plan,
    place: tuple[int, ...],
    members: list[int],
    measured: list[Any],
    event: CountedEvent | None,
    name: str,
    open_values: tuple[str, ...],
) -> Cell:
    case = plan.case_at(members[0])
    lab = lab_command(case)
    pairs = zip(plan.names, plan.values_at(members[0]), strict=True)
    where = ", ".join(f"{key} = {value}" for key, value in pairs if key != SEED)
    values = [value for value in measured if value not in open_values]
    left = f", {len(measured) - len(values)} open" if len(values) < len(measured) else ""
    if not values:
        return Cell(place, np.nan, np.nan, np.nan, 0, f"{where}: no result{left}", case.command(), lab)
    if event is not None:
        happened = int(event.happened(values).sum())
        low, high = wilson_interval(happened, len(values))
        words = f"{where}: {event.words} in {happened} of {len(values)} ({low:.2f} to {high:.2f}){left}"
        return Cell(place, happened / len(values), low, high, len(values), words, case.command(), lab)
    numbers = np.asarray(values, dtype=np.float64)
    mean = float(np.mean(numbers))
    low, high = (float(end) for end in np.quantile(numbers, [0.1, 0.9]))
    words = f"{where}: {name} {mean:.6g} (mean of {len(values)}){left}"
    return Cell(place, mean, low, high, len(values), words, case.command(), lab)
