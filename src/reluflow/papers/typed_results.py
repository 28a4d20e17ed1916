"""Results of figures, frozen dataclasses, as trees of arrays and plain values for the store, and back."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from reluflow.errors import InvalidInputError

Found = TypeVar("Found")
Tree = Any  # a dictionary of trees by name, a list of trees, an array, a number, a string, a boolean or None


def as_tree(value: Any) -> Tree:
    """A dataclass, and those within it, as dictionaries; tuples as lists; everything else as it is.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Fit:
    ...     slope: float
    ...     kinks: tuple[float, ...]
    >>> as_tree(Fit(1.0, (0.5, 2.0)))
    {'slope': 1.0, 'kinks': [0.5, 2.0]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_tree(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: as_tree(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_tree(item) for item in value]
    return value


def from_tree(kind: type[Found], tree: Tree) -> Found:
    """The value of a type whose tree this is.

    Parameters
    ----------
    kind
        A dataclass whose fields are arrays, numbers, strings, booleans, dataclasses, tuples and mappings of these by
        name, each or None.
    tree
        What `as_tree` gave for a value of that type.

    Raises
    ------
    ValueError
        Where the tree is not one of that type: it was written by another version of the program.
    """
    return cast("Found", _value_of(kind, tree))


def results_type_of(compute: Any) -> type[Any]:
    """The dataclass that a figure's `compute` says it returns.

    >>> def compute(settings, workbench): return {}
    >>> results_type_of(compute)
    Traceback (most recent call last):
    reluflow.errors.InvalidInputError: `compute` must say that it returns a dataclass, got no such annotation.
    """
    kind = get_type_hints(compute).get("return")
    if get_origin(kind) is dict:
        return dict
    if not (isinstance(kind, type) and is_dataclass(kind)):
        words = "no such annotation" if kind is None else f"{kind}"
        raise InvalidInputError(f"`compute` must say that it returns a dataclass, got {words}.")
    return kind


def _value_of(kind: Any, tree: Tree) -> Any:
    origin = get_origin(kind)
    if hasattr(origin, "__value__"):  # an alias by a `type` statement, as NumPy's NDArray is from 2.5 on
        return _value_of(origin.__value__, tree)
    if origin in (Union, types.UnionType):
        return _one_of(get_args(kind), tree)
    if kind is None or kind is type(None):
        return _checked(tree is None, kind, tree)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        names = [field.name for field in dataclasses.fields(kind)]
        _checked(isinstance(tree, dict) and set(tree) == set(names), kind, tree)
        return kind(**{name: _value_of(hints[name], tree[name]) for name in names})
    if origin is tuple:
        _checked(isinstance(tree, list), kind, tree)
        items = get_args(kind)
        if len(items) == 2 and items[1] is Ellipsis:
            items = (items[0],) * len(tree)
        return tuple(_value_of(item, part) for item, part in zip(items, tree, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        _checked(isinstance(tree, dict), kind, tree)
        return {name: _value_of(get_args(kind)[1], part) for name, part in tree.items()}
    expected = np.ndarray if origin is np.ndarray else (int, float) if kind is float else kind
    return _checked(isinstance(tree, expected), kind, tree)


def _one_of(kinds: tuple[Any, ...], tree: Tree) -> Any:
    for kind in kinds:
        try:
            return _value_of(kind, tree)
        except ValueError:
            continue
    return _checked(False, kinds, tree)


def _checked(fits: bool, kind: Any, tree: Tree) -> Tree:
    if not fits:
        raise ValueError(f"no value of {kind} in the file: {type(tree).__name__}")
    return tree
