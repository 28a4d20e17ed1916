"""Plan: a base case and the values each name runs through. The cases are never a list, so a million are free."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import IntArray
from reluflow.errors import InvalidInputError, MissingExtraError
from reluflow.experiment import Experiment
from reluflow.experiment.experiment import FIRST_FIELDS
from reluflow.experiment.fingerprint import FINGERPRINT_BYTES, canonical, fingerprint_of
from reluflow.experiment.settings import text_of
from reluflow.sweep.measures import Function, Measure, as_measures
from reluflow.sweep.swept import (
    DATA_NAMES,
    DATA_PREFIX,
    Value,
    described_case,
    parse_value,
    spaced_value,
    swept_fields,
    with_value,
)
from reluflow.sweep.values import Interval, parse_values

MOST_CASES = 1_000_000_000
Over = Mapping[str, str | Sequence[Any] | Any]


@dataclass(frozen=True)
class Axis:
    """A name and the values it takes."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Plan:
    """Every combination of the values of some names around a base case; the last name runs fastest.

    Examples
    --------
    >>> plan = make_plan("three-points", {"width": "10,20", "seed": "0..2"}, ["loss"])
    >>> len(plan), plan.case_at(4).width, plan.case_at(4).seed
    (6, 20, 1)
    >>> bytes(plan.fingerprints()[4]).hex() == plan.case_at(4).fingerprint()
    True
    """

    base: Experiment
    axes: tuple[Axis, ...]
    measures: tuple[Measure, ...]

    def __len__(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        """The swept names."""
        return tuple(axis.name for axis in self.axes)

    @property
    def identities(self) -> tuple[str, ...]:
        """What the measures' kept values are known by."""
        return tuple(measure.identity for measure in self.measures)

    def values_at(self, index: int) -> tuple[Value, ...]:
        """The values of the swept names in a case."""
        found: list[Value] = []
        for axis in reversed(self.axes):
            index, place = divmod(index, len(axis.values))
            found.append(axis.values[place])
        return tuple(reversed(found))

    def case_at(self, index: int) -> Experiment:
        """The case with this number, from 0."""
        return self.case_of(self.values_at(index))

    def case_of(self, values: Sequence[Value]) -> Experiment:
        """The case with these values of the swept names."""
        case = self.base
        for name, value in zip(self.names, values, strict=True):
            case = with_value(case, name, value)
        return case.pinned() if {*DATA_NAMES, "init"} & set(self.names) else case

    def places(self, start: int, stop: int) -> list[IntArray]:
        """For each name, which of its values the cases from `start` to `stop` take."""
        index = np.arange(start, stop, dtype=np.int64)
        found = []
        for axis in reversed(self.axes):
            index, place = np.divmod(index, len(axis.values))
            found.append(place)
        return found[::-1]

    def fingerprints(self) -> NDArray[np.void]:
        """The fingerprint of every case, 16 bytes each, without making the cases.

        Swept settings are put into the canonical text of the base case; a name that changes which file is read, or how,
        makes its cases one by one.
        """
        found = np.empty(len(self), dtype=f"V{FINGERPRINT_BYTES}")
        if not len(self):
            return found
        later = set(swept_fields()) - FIRST_FIELDS  # which leave no trace at their defaults
        if {*DATA_NAMES, "init", *later, *(["loss"] if self.base.digests else [])} & set(self.names):
            for index in range(len(self)):
                found[index] = np.void(bytes.fromhex(self.case_at(index).fingerprint()))
            return found
        pieces, order = self._template
        texts = [[canonical_value(value) for value in axis.values] for axis in self.axes]
        for index, words in enumerate(_product(texts)):
            text = pieces[0] + "".join(words[place] + piece for place, piece in zip(order, pieces[1:], strict=True))
            found[index] = np.void(bytes.fromhex(fingerprint_of(text)))
        return found

    @cached_property
    def _template(self) -> tuple[list[str], list[int]]:
        """The canonical text cut where swept values go, and which name goes into each gap."""
        identity = self.case_at(0).identity()
        marks = {name: f"\x00{place}\x00" for place, name in enumerate(self.names)}
        for name, mark in marks.items():
            if name in swept_fields():
                identity[name] = mark
            else:
                identity["parameters"][name.removeprefix(DATA_PREFIX)] = mark
        text = canonical(identity)
        pieces, order, rest = [], [], text
        while '"\\u0000' in rest:
            before, _, after = rest.partition('"\\u0000')
            place, _, rest = after.partition('\\u0000"')
            pieces.append(before)
            order.append(int(place))
        return [*pieces, rest], order

    def settings(self) -> dict[str, Any]:
        """Plain values that say what the plan is; functions by their identity."""
        return {
            "base": self.base.to_document(),
            "over": {axis.name: list(axis.values) for axis in self.axes},
            "measures": list(self.identities),
        }


def make_plan(case: Experiment | str, over: Over, measure: Sequence[str | Function | Measure]) -> Plan:
    """Check what is asked and lay out the cases.

    Parameters
    ----------
    case
        The base case, or a dataset with the defaults of `reluflow train`.
    over
        For each name its values: a text such as "0..19", or a sequence.
    measure
        Names of built-in measures, or functions of a `Trajectory`.
    """
    base = (Experiment(case) if isinstance(case, str) else case).pinned()
    _check_dataset(base)
    axes = tuple(Axis(name, _axis_values(base, name, values)) for name, values in over.items())
    names = [axis.name for axis in axes]
    fields = (*DATA_NAMES, *swept_fields())
    if set(DATA_NAMES) & set(names) and any(name not in fields for name in names):
        raise InvalidInputError("`dataset` must be swept alone: write its parameters into the names, name:key=value.")
    for axis in axes:
        if axis.name in DATA_NAMES:
            for value in axis.values:
                _check_dataset(with_value(base, axis.name, value).pinned())
    plan = Plan(base, axes, as_measures(measure))
    if not plan.measures:
        raise InvalidInputError("`measure` must name something to keep of each run, got nothing; for example loss.")
    if len(plan) > MOST_CASES:
        raise InvalidInputError(f"`over` must give at most {MOST_CASES:,} cases, got {len(plan):,}.")
    return plan


def read_plan(path: Path) -> tuple[Experiment, dict[str, Any], list[str], dict[str, Any]]:
    """Read a sweep from a TOML or YAML file: the base case, what is swept, the measures, and the rest.

    The table `[case]` holds settings (`dataset` is needed), `[over]` the values, `measure` is a list; other keys are
    options of the command, such as `out`.
    """
    text = _file_text(path)
    if path.suffix.lower() == ".toml":
        import tomllib

        try:
            content: Any = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidInputError(f"`{path}` must be a TOML file: {error}.") from error
    else:
        content = _yaml(path, text)
    case, over = (content.get(name) if isinstance(content, dict) else None for name in ("case", "over"))
    if not isinstance(case, dict) or "dataset" not in case or not isinstance(over, dict) or not over:
        raise InvalidInputError(f"`{path}` must have a table `case` with a `dataset` and a table `over` with values.")
    base = described_case({name: value for name, value in case.items() if value is not None})
    measures = content.get("measure", ["outcome", "loss"])
    words = measures.split(",") if isinstance(measures, str) else measures
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InvalidInputError(f"`{path}` must have a list of names under `measure`, got {measures!r}.")
    rest = {key: value for key, value in content.items() if key not in ("case", "over", "measure")}
    return base, over, words, rest


def canonical_value(value: Value) -> str:
    """A value as it stands in the canonical text."""
    return json.dumps(value, separators=(",", ":"))


def _file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"`{path}` cannot be read: {error}.") from error


def _yaml(path: Path, text: str) -> Any:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "Reading YAML needs PyYAML, which is not installed: pip install 'reluflow[sweep]'; or write TOML."
        ) from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidInputError(f"`{path}` must be a YAML file: {' '.join(str(error).split())}.") from error


def _axis_values(base: Experiment, name: str, given: Any) -> tuple[Value, ...]:
    texts: Sequence[Any]
    if isinstance(given, str):
        texts = parse_values(given, name=name)
    elif isinstance(given, Interval):
        raise InvalidInputError(f"`{name}` must have a number of values, got an interval without one.")
    elif isinstance(given, Sequence | np.ndarray | range):
        texts = [text_of(item) for item in given]
    else:
        texts = [text_of(given)]
    if not len(texts):
        raise InvalidInputError(f"`{name}` must have at least one value, got none.")
    is_spaced = isinstance(given, str) and ":l" in given
    rounded = [spaced_value(base, name, text) if is_spaced else text for text in texts]
    values = [parse_value(base, name, text) for text in rounded]
    unique = list(dict.fromkeys(values))
    if len(unique) < len(values) and not is_spaced:
        twice = next(value for value in unique if values.count(value) > 1)
        raise InvalidInputError(f"`{name}` must have each value once, got {twice} twice.")
    return tuple(unique)


def _check_dataset(case: Experiment) -> None:
    """Refuse at the door a dataset that is no name, no file, or has parameters it does not know."""
    from reluflow.data.registry import suggested_settings

    if case.X is not None or case.data in dict(case.digests):
        case.reading()
        return
    suggested_settings(case.data)
    if named := case.choice.names_columns():
        raise InvalidInputError(f"{named[0]} is for tables, and `{case.data}` is a registered dataset.")


def _product(texts: list[list[str]]) -> Iterator[tuple[str, ...]]:
    from itertools import product

    return product(*texts)
