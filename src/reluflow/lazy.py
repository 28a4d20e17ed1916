"""Names that load their file when they are first used, so that importing a room loads nothing heavy."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose names live in other files.

    Parameters
    ----------
    package
        `__name__` of the package.
    homes
        File of each name, relative to the package; a name that is its own home is that module.

    Examples
    --------
    >>> load, names = lazy_names("reluflow.data", {"Dataset": "dataset"})
    >>> load("Dataset").__name__, names()
    ('Dataset', ['Dataset'])
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f"{package}.{homes[name]}")
        value = module if homes[name] == name else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(homes)
