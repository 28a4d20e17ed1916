"""The names a sweep may vary: the fields of an `Experiment` and the parameters of its dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reluflow.data.registry import REGISTRY
from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.experiment.experiment import settings
from reluflow.experiment.settings import LARGEST_WHOLE, text_of, whole

Value = int | float | str | bool | tuple[float, ...] | None

DATA_NAMES = ("dataset", "data")  # the data themselves; a sweep and its tables say dataset
DATA_PREFIX = "data."  # before a parameter of the dataset that has the name of a field


def swept_fields() -> tuple[str, ...]:
    """The fields of an experiment that may be swept: those with an option."""
    first = ("scale", "width", "seed", "leak", "loss")
    return (*first, *(name for name, kind in settings().items() if kind.is_option and name not in first))


def with_value(experiment: Experiment, name: str, value: Value) -> Experiment:
    """The experiment with one field, or one parameter of its dataset, changed; text is read as a user would type it.

    >>> with_value(Experiment("linear-teacher"), "n", "6").data
    'linear-teacher:n=6'
    """
    read = parse_value(experiment, name, text_of(value))
    if name in DATA_NAMES:
        return replace(experiment, data=str(read))
    if name in swept_fields():
        changed: dict[str, Any] = {name: read}
        return replace(experiment, **changed)
    data, parameters = experiment.data_parts()
    parameters[name.removeprefix(DATA_PREFIX)] = read
    pairs = ",".join(f"{key}={given}" for key, given in sorted(parameters.items()))
    return replace(experiment, data=f"{data}:{pairs}")


def parse_value(experiment: Experiment, name: str, text: str) -> Value:
    """The value that `text` stands for under this name, refused if the name or the value cannot be."""
    if name in DATA_NAMES:
        return text
    if name in swept_fields():
        value: Value = settings()[name].read(name, text)
        return value
    entry = REGISTRY.get(experiment.data.partition(":")[0])
    key = name.removeprefix(DATA_PREFIX)
    known = {parameter.name: parameter for parameter in entry.parameters} if entry is not None else {}
    if key not in known:
        own = f"; the parameters of {experiment.data} are {', '.join(known)}" if known else ""
        raise InvalidInputError(f"`{name}` must be one of dataset, {', '.join(swept_fields())}{own}.")
    if known[key].kind is int:
        return int(whole(-LARGEST_WHOLE)(name, text))
    return known[key].parse(text)


def spaced_value(experiment: Experiment, name: str, text: str) -> str:
    """A value between two others as this name can take it: the nearest whole number where it counts something.

    >>> base = Experiment("three-points")
    >>> spaced_value(base, "width", "12.6"), spaced_value(base, "leak", "0.126")
    ('13', '0.126')
    """
    try:
        parse_value(experiment, name, text)
    except InvalidInputError:
        rounded = str(round(float(text)))
        parse_value(experiment, name, rounded)  # raises with its own sentence where the name takes no number at all
        return rounded
    return text


def described_case(document: Mapping[str, Any]) -> Experiment:
    """The experiment of the description kept in a folder, or of `[case]` in a file.

    Both call the data `dataset`; version 0.2 kept the parameters of the data apart from their name.
    """
    content = dict(document)
    if "dataset" in content:
        content["data"] = str(content.pop("dataset"))
    parameters = content.pop("parameters", {})
    own = {name: value for name, value in content.items() if name in settings() or name == "digests"}
    made = Experiment.from_document(own)
    for name, value in {**parameters, **{key: content[key] for key in content if key not in own}}.items():
        made = with_value(made, f"{DATA_PREFIX}{name}" if name in parameters else name, value)
    return made
