"""Datasets by name, `load("three-point-box:eta=0.05", seed=3)`, or by name or path, `open_dataset("points.csv")`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from reluflow.data.catalogue import CATALOGUE, DEFAULT_DATASET
from reluflow.data.choice import Names, TableChoice
from reluflow.data.dataset import Dataset, Task
from reluflow.data.files import data_suffix, read_file
from reluflow.data.in_memory import reading_of
from reluflow.data.reading import Reading
from reluflow.data.registered import RegisteredDataset, SuggestedSettings, Value
from reluflow.errors import InvalidInputError
from reluflow.found_papers import named_values


class _Registry(Mapping[str, RegisteredDataset]):
    """Every registered dataset by name, those of the papers first; the papers are looked for when it is first read."""

    @cached_property
    def _entries(self) -> dict[str, RegisteredDataset]:
        general = {entry.name: entry for entry in CATALOGUE}
        taken = general.keys() - {DEFAULT_DATASET.name}  # that one a paper may list as its own
        entries = named_values("data", "DATASETS", RegisteredDataset, taken=taken)
        return entries | {name: entry for name, entry in general.items() if name not in entries}

    def __getitem__(self, name: str) -> RegisteredDataset:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


REGISTRY: Mapping[str, RegisteredDataset] = _Registry()

DEFAULT_SEED = 0


def registered_datasets() -> tuple[RegisteredDataset, ...]:
    """Every registered dataset, in the order of the catalogue; nothing is loaded or sampled.

    Returns
    -------
    tuple of RegisteredDataset
        Name, size, task, paper and parameters of each.

    Examples
    --------
    >>> [entry.name for entry in registered_datasets()][:2]
    ['three-points', 'three-point-box']
    """
    return tuple(REGISTRY.values())


def load(
    spec: Any,
    y: Any = None,
    *,
    seed: int | None = None,
    bias: bool = False,
    task: Task | str | None = None,
    target: Names = None,
    features: Names = None,
    drop: Names = None,
    labels: Names = None,
    drop_missing: bool = False,
    standardise: bool = False,
) -> Dataset:
    """A dataset by its registered name, from a file, or from what you hold: arrays, a data frame, a `Bunch`, tensors.

    Parameters
    ----------
    spec
        `name` or `name:key=value,key=value`, the keys being parameters of the entry; the path of a file; or anything
        `as_dataset` takes.
    y
        Labels, where `spec` holds samples only.
    seed
        Fixes random datasets; 0 by default, so that the same spec always gives the same numbers.
    bias, task, target, features, drop, labels, drop_missing, standardise
        As for `read_dataset`; a registered dataset takes `bias` and `standardise`.

    Returns
    -------
    Dataset
        The samples and labels.

    Examples
    --------
    >>> load("three-points")
    Dataset('three-points', n=3, d=2, regression)
    >>> load("orthogonally-separable:n=6,mu=0.5", seed=1)
    Dataset('orthogonally-separable:n=6,mu=0.5', n=6, d=5, classification)
    >>> load([[1.0], [2.0]], [0, 1]).y
    array([-1.,  1.])
    """
    choice = TableChoice(
        target=target, features=features, drop=drop, labels=labels, drop_missing=drop_missing,
        standardise=standardise, task=task,
    )  # fmt: skip
    if isinstance(spec, str | os.PathLike):
        if y is not None:
            raise InvalidInputError("`y` comes with arrays; a name or a path brings its own labels.")
        return open_reading(spec, choice, bias=bias, seed=seed).dataset
    dataset = reading_of(spec, y, choice, bias=bias).dataset
    dataset.check_samples()
    return dataset


def suggested_settings(spec: str) -> SuggestedSettings:
    """The loss and leak that suit a registered dataset; a `leak` or a `task` given in the spec is heeded.

    >>> suggested_settings("lyu-symmetric:leak=0.1").leak
    0.1
    """
    entry, values = parse_spec(spec)
    settings = entry.settings
    if "leak" in values:
        settings = replace(settings, leak=float(values["leak"]))
    if values.get("task") == Task.REGRESSION:
        settings = replace(settings, loss="square")
    return settings


def open_dataset(name_or_path: str | os.PathLike[str], *, bias: bool = False, seed: int | None = None) -> Dataset:
    """Load a registered dataset, or read a file and refuse zero samples in it.

    Parameters
    ----------
    name_or_path
        What the command line calls DATASET: a name with or without parameters, or a path.
    bias
        Append the constant coordinate 1.
    seed
        Fixes random datasets.
    """
    return open_reading(name_or_path, TableChoice(), bias=bias, seed=seed).dataset


def open_reading(
    name_or_path: str | os.PathLike[str], choice: TableChoice, *, bias: bool = False, seed: int | None = None
) -> Reading:
    """What `open_dataset` gives, with a sentence on how it was read; empty for a registered name."""
    if not isinstance(name_or_path, str) or _is_path(name_or_path):
        reading = read_file(name_or_path, choice, bias=bias)
        reading.dataset.check_samples()
        return reading
    dataset = _made(name_or_path, seed)
    if choice.names_columns():
        raise InvalidInputError(
            f"{choice.names_columns()[0]} is for tables, and `{name_or_path}` is a registered dataset."
        )
    if choice.standardise:
        dataset = dataset.standardised()
    if choice.takes_classes:
        dataset = dataset.with_class_indices()
    return Reading(dataset.with_bias() if bias else dataset, "")


def _made(spec: str, seed: int | None) -> Dataset:
    entry, values = parse_spec(spec)
    return entry.make(values, seed=DEFAULT_SEED if seed is None else seed)


def _is_path(text: str) -> bool:
    if text.partition(":")[0] in REGISTRY:
        return False
    return text != "" and (os.sep in text or data_suffix(Path(text)) is not None or os.path.exists(text))


def parse_spec(spec: str) -> tuple[RegisteredDataset, dict[str, Value]]:
    """The entry that `name:key=value,key=value` names, and the parameters it gives."""
    name, colon, rest = spec.partition(":")
    if name not in REGISTRY:
        close = difflib.get_close_matches(name, REGISTRY, n=1)
        hint = f"did you mean `{close[0]}`? " if close else ""
        raise InvalidInputError(
            f"`{spec}` is neither a registered dataset nor a .csv or .npz file; {hint}"
            "`reluflow datasets` lists the names."
        )
    entry = REGISTRY[name]
    values: dict[str, Value] = {}
    for part in rest.split(",") if colon else ():
        key, equals, text = part.partition("=")
        key = key.strip()
        if not equals or not key:
            raise InvalidInputError(f"`{spec}` must read name:key=value,key=value, got {part!r} after the colon.")
        if key in values:
            raise InvalidInputError(f"`{spec}` must give each parameter once, got {key!r} twice.")
        values[key] = entry.parameter(key).parse(text)
    return entry, values
