"""Finds the figures and tables of every paper: by the names of the files, so that listing them imports none."""

from __future__ import annotations

import ast
import difflib
import importlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from reluflow.errors import InvalidInputError
from reluflow.papers.figure import PaperFigure
from reluflow.theory.bibliography import BIBLIOGRAPHY

PAPERS = {
    key: BIBLIOGRAPHY[key].titled
    for key in ("min2024", "boursier2024", "lyu2021", "lee2022", "phuong2021", "chistikov2023")
}

_FILE = re.compile(r"(figure|table)_(\d+)\.py")
_SHORT = {"figure": "fig", "table": "table"}


@dataclass(frozen=True)
class Entry:
    """A figure or table that can be reproduced: its key, its title and the module that defines it."""

    key: str
    title: str
    module: str

    @property
    def paper(self) -> str:
        """The paper's key."""
        return self.key.partition("/")[0]


@cache
def all_entries() -> tuple[Entry, ...]:
    """Every figure and table there is, paper by paper in numerical order; reads the files and imports none."""
    return tuple(entry for paper in PAPERS for entry in _entries_of(paper))


def entries_named(name: str) -> tuple[Entry, ...]:
    """The figures of a paper ("lyu2021"), or one figure ("lyu2021/fig3")."""
    wanted = name.strip().rstrip("/")
    chosen = tuple(entry for entry in all_entries() if wanted in (entry.key, entry.paper))
    if chosen:
        return chosen
    keys = [entry.key for entry in all_entries()]
    paper = wanted.partition("/")[0]
    if paper in PAPERS:
        hint = f"{paper} has {', '.join(key for key in keys if key.startswith(f'{paper}/')) or 'no figure yet'}."
    elif close := difflib.get_close_matches(wanted, [*PAPERS, *keys], n=1, cutoff=0.7):
        hint = f"did you mean {close[0]}?"
    else:
        hint = "`reluflow reproduce` lists them."
    raise InvalidInputError(
        f"`PAPER` must be one of {', '.join(PAPERS)}, or one of their figures such as boursier2024/fig2, "
        f"got {name!r}; {hint}"
    )


def load_figure(entry: Entry) -> PaperFigure[Any]:
    """Import the module of an entry and give its figure."""
    figure = getattr(importlib.import_module(entry.module), "FIGURE", None)
    if not isinstance(figure, PaperFigure) or figure.key != entry.key:
        raise InvalidInputError(f"`{entry.module}` must define FIGURE, a PaperFigure with the key {entry.key!r}.")
    return figure


def _entries_of(paper: str) -> list[Entry]:
    found = []
    for path in (Path(__file__).parent / paper).glob("*_*.py"):
        if match := _FILE.fullmatch(path.name):
            kind, number = match[1], int(match[2])
            document = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
            title = document.partition("\n")[0].rstrip(".")
            entry = Entry(f"{paper}/{_SHORT[kind]}{number}", title, f"reluflow.papers.{paper}.{path.stem}")
            found.append((kind, number, entry))
    return [entry for _, _, entry in sorted(found, key=lambda item: item[:2])]
