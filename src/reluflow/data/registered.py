"""RegisteredDataset: a dataset that can be listed without being made, and made from typed parameters and a seed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from reluflow.data.dataset import Dataset, Task
from reluflow.errors import InvalidInputError

Value = int | float | str

MAX_ENTRIES = 10**9  # 8 GB of doubles; more is a slip of the hand

_KINDS: dict[type, str] = {int: "a whole number", float: "a number", str: "a word"}


@dataclass(frozen=True)
class DatasetParameter:
    """One parameter of a registered dataset.

    Parameters
    ----------
    name
        As written in `name:key=value`, and as the factory calls it.
    kind
        int, float or str.
    default
        What is used when it is not given; None leaves the choice to the factory.
    summary
        What it means, in a few words.
    choices
        The words allowed, when `kind` is str.
    """

    name: str
    kind: type[int] | type[float] | type[str]
    default: Value | None
    summary: str
    choices: tuple[str, ...] = ()

    def parse(self, text: str) -> Value:
        """Turn the text after `=` into a value.

        >>> DatasetParameter("eta", float, 0.1, "size of the box").parse("0.05")
        0.05
        """
        try:
            value = self.kind(text.strip())
        except ValueError:
            raise InvalidInputError(f"`{self.name}` must be {_KINDS[self.kind]}, got {text!r}.") from None
        return self.check(value)

    def check(self, value: Value) -> Value:
        """Refuse a value of the wrong kind or outside the choices."""
        is_right = isinstance(value, int | float if self.kind is float else self.kind) and not isinstance(value, bool)
        if not is_right or (isinstance(value, float) and not np.isfinite(value)):
            raise InvalidInputError(f"`{self.name}` must be {_KINDS[self.kind]}, got {value!r}.")
        if self.choices and value not in self.choices:
            raise InvalidInputError(f"`{self.name}` must be one of {', '.join(self.choices)}, got {value!r}.")
        return value


def size_parameters(n: int, d: int) -> tuple[DatasetParameter, DatasetParameter]:
    """The parameters `n` and `d` with these defaults."""
    return DatasetParameter("n", int, n, "number of samples"), DatasetParameter("d", int, d, "dimension")


@dataclass(frozen=True)
class SuggestedSettings:
    """The loss and the leak with which a paper uses its dataset: suggestions, never applied silently.

    Parameters
    ----------
    loss
        square, logistic or exponential.
    reduction
        mean or sum over samples.
    factor
        Multiplies the loss.
    leak
        Negative slope of the activation; None where any will do.
    """

    loss: str
    reduction: str = "mean"
    factor: float = 1.0
    leak: float | None = 0.0


@dataclass(frozen=True)
class RegisteredDataset:
    """A dataset with a name.

    Parameters
    ----------
    name
        What the command line calls it.
    n, d
        Size and dimension with the default parameters, declared so that a listing loads nothing.
    summary
        One line on what it is.
    factory
        Makes the dataset; takes the parameters by keyword and, if `is_random`, a generator first.
    parameters
        What can be changed.
    task
        Task with the default parameters.
    paper
        Key of the paper, or "general".
    settings
        Suggested loss and leak.
    is_random
        Whether the seed matters.
    """

    name: str
    n: int
    d: int
    summary: str
    factory: Callable[..., Dataset] = field(repr=False)
    parameters: tuple[DatasetParameter, ...] = ()
    task: Task = field(kw_only=True)
    paper: str = field(kw_only=True)
    settings: SuggestedSettings = field(kw_only=True)
    is_random: bool = field(default=False, kw_only=True)

    def parameter(self, key: str) -> DatasetParameter:
        """The parameter called `key`, or an error that lists those there are."""
        found = next((parameter for parameter in self.parameters if parameter.name == key), None)
        if found is not None:
            return found
        if not self.parameters:
            raise InvalidInputError(f"`{self.name}` has no parameters, got {key!r}.")
        close = difflib.get_close_matches(key, [parameter.name for parameter in self.parameters], n=1)
        hint = f"; did you mean `{close[0]}`?" if close else "."
        known = ", ".join(
            parameter.name if parameter.default is None else f"{parameter.name}={parameter.default}"
            for parameter in self.parameters
        )
        raise InvalidInputError(f"`{self.name}` has the parameters {known}, got {key!r}{hint}")

    def make(self, values: Mapping[str, Value], *, seed: int = 0) -> Dataset:
        """Make the dataset with some parameters given and the rest at their defaults."""
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise InvalidInputError(f"`seed` must be a whole number of at least 0, got {seed!r}.")
        given = {key: self.parameter(key).check(value) for key, value in values.items()}
        filled = {
            parameter.name: given.get(parameter.name, parameter.default)
            for parameter in self.parameters
            if given.get(parameter.name, parameter.default) is not None
        }
        entries = int(filled.get("n") or self.n) * int(filled.get("d") or self.d)
        if entries > MAX_ENTRIES:
            raise InvalidInputError(f"`{self.name}` must have at most {MAX_ENTRIES:,} numbers in `X`, got {entries:,}.")
        if not self.is_random:
            dataset = self.factory(**filled)
            return dataset.replace(name=self._label(given))
        dataset = self.factory(np.random.default_rng(seed), **filled)
        return dataset.replace(name=self._label(given), provenance=f"{dataset.provenance}; seed {seed}")

    def _label(self, given: Mapping[str, Value]) -> str:
        if not given:
            return self.name
        return f"{self.name}:" + ",".join(f"{key}={value}" for key, value in given.items())
