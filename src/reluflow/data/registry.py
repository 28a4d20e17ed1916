"""Datasets by name, `load("three-point-box:eta=0.05", seed=3)`, or by name or path, `open_dataset("points.csv")`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from reluflow.data.catalogue import CATALOGUE
from reluflow.data.dataset import Dataset, Task
from reluflow.data.files import SUFFIXES, read_dataset
from reluflow.data.registered import RegisteredDataset, SuggestedSettings, Value
from reluflow.errors import InvalidInputError

REGISTRY: Mapping[str, RegisteredDataset] = MappingProxyType({entry.name: entry for entry in CATALOGUE})

DEFAULT_SEED = 0


def registered_datasets() -> tuple[RegisteredDataset, ...]:
    """Every registered dataset, in the order of the catalogue; nothing is loaded or sampled.

    >>> [entry.name for entry in registered_datasets()][:2]
    ['three-points', 'three-point-box']
    """
    return tuple(REGISTRY.values())


def load(spec: str, *, seed: int | None = None) -> Dataset:
    """Make the registered dataset that `spec` names.

    Parameters
    ----------
    spec
        `name` or `name:key=value,key=value`, the keys being parameters of the entry.
    seed
        Fixes random datasets; 0 by default, so that the same spec always gives the same numbers.

    Examples
    --------
    >>> load("three-points")
    Dataset('three-points', n=3, d=2, regression)
    >>> load("orthogonally-separable:n=6,mu=0.5", seed=1)
    Dataset('orthogonally-separable:n=6,mu=0.5', n=6, d=5, classification)
    """
    entry, values = _parse(spec)
    return entry.make(values, seed=DEFAULT_SEED if seed is None else seed)


def suggested_settings(spec: str) -> SuggestedSettings:
    """The loss and leak that suit a registered dataset; a `leak` or a `task` given in the spec is heeded.

    >>> suggested_settings("lyu-symmetric:leak=0.1").leak
    0.1
    """
    entry, values = _parse(spec)
    settings = entry.settings
    if "leak" in values:
        settings = replace(settings, leak=float(values["leak"]))
    if values.get("task") == Task.REGRESSION:
        settings = replace(settings, loss="square")
    return settings


def open_dataset(name_or_path: str, *, bias: bool = False, seed: int | None = None) -> Dataset:
    """Load a registered dataset, or read a `.csv` or `.npz` file and refuse zero and repeated samples in it.

    Parameters
    ----------
    name_or_path
        What the command line calls DATASET: a name with or without parameters, or a path.
    bias
        Append the constant coordinate 1.
    seed
        Fixes random datasets.
    """
    if _is_path(name_or_path):
        dataset = read_dataset(name_or_path, bias=bias)
        dataset.check_samples()
        return dataset
    dataset = load(name_or_path, seed=seed)
    return dataset.with_bias() if bias else dataset


def _is_path(text: str) -> bool:
    if text.partition(":")[0] in REGISTRY:
        return False
    return text != "" and (os.sep in text or Path(text).suffix.lower() in SUFFIXES or os.path.exists(text))


def _parse(spec: str) -> tuple[RegisteredDataset, dict[str, Value]]:
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
