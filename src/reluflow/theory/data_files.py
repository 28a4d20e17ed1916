"""What the papers state, kept as data beside what measures it: the TOML files of `theory/`, and what they name."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

Tables = dict[str, Any]


@cache
def tables_of(paper: str, name: str) -> Tables:
    """The tables of one of a paper's data files: `results`, `conditions` or `errata`."""
    return tomllib.loads((files("reluflow.theory") / paper / f"{name}.toml").read_text(encoding="utf-8"))


def named(paper: str, name: str) -> Any:
    """What `file.name` stands for in the paper's folder; of more than one dot, in the whole package."""
    module, _, attribute = name.rpartition(".")
    home = f"reluflow.{module}" if "." in module else f"reluflow.theory.{paper}.{module}"
    return getattr(import_module(home), attribute)


def as_line(text: str) -> str:
    """A text of several lines as one.

    >>> as_line('''
    ... one line
    ... and the next''')
    'one line and the next'
    """
    return " ".join(text.split())
