"""Finds the figures and tables of every paper: by the names of the files, so that listing them imports none."""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from reluflow.errors import InvalidInputError
from reluflow.found_papers import Paper, found_papers
from reluflow.papers.figure import PaperFigure

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


def papers() -> dict[str, str]:
    """Authors and title of every paper, by key, in the order of lists."""
    return {key: paper.titled for key, paper in found_papers().items()}


@cache
def all_entries() -> tuple[Entry, ...]:
    """Every figure and table there is, paper by paper in numerical order; reads the files and imports none."""
    return tuple(entry for paper in found_papers().values() for entry in _entries_of(paper))


def entries_named(name: str) -> tuple[Entry, ...]:
    """The figures of a paper ("lyu2021"), or one figure ("lyu2021/fig3")."""
    wanted = name.strip().rstrip("/")
    chosen = tuple(entry for entry in all_entries() if wanted in (entry.key, entry.paper))
    if chosen:
        return chosen
    keys = [entry.key for entry in all_entries()]
    paper = wanted.partition("/")[0]
    if paper in papers():
        hint = f"{paper} has {', '.join(key for key in keys if key.startswith(f'{paper}/')) or 'no figure yet'}."
    elif close := difflib.get_close_matches(wanted, [*papers(), *keys], n=1, cutoff=0.7):
        hint = f"did you mean {close[0]}?"
    else:
        hint = "`reluflow reproduce` lists them."
    raise InvalidInputError(
        f"`PAPER` must be one of {', '.join(papers())}, or one of their figures such as boursier2024/fig2, "
        f"got {name!r}; {hint}"
    )


def load_figure(entry: Entry) -> PaperFigure[Any, Any]:
    """Import the module of an entry and give its figure."""
    try:
        module = importlib.import_module(entry.module)
    except Exception as error:  # another's package may fail in any way
        if entry.module.startswith(f"{__package__}."):
            raise
        raise InvalidInputError(f"`{entry.module}` fails with {type(error).__name__}: {error}.") from error
    figure = getattr(module, "FIGURE", None)
    if not isinstance(figure, PaperFigure) or figure.key != entry.key:
        raise InvalidInputError(f"`{entry.module}` must define FIGURE, a PaperFigure with the key {entry.key!r}.")
    return figure


def _entries_of(paper: Paper) -> list[Entry]:
    found = []
    for package in (paper.package, f"{paper.package}.figures"):
        for path in _files_of(package):
            if match := _FILE.fullmatch(path.name):
                kind, number = match[1], int(match[2])
                try:
                    document = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
                except SyntaxError as error:
                    paper.leave_out(f"`{path.name}`", f"it fails with SyntaxError: {error}")
                    continue
                title = document.partition("\n")[0].rstrip(".")
                entry = Entry(f"{paper.key}/{_SHORT[kind]}{number}", title, f"{package}.{path.stem}")
                found.append((kind, number, entry))
    return [entry for _, _, entry in sorted(found, key=lambda item: item[:2])]


def _files_of(package: str) -> list[Path]:
    """The modules of a package, where there is one; it is found and not loaded."""
    if package.startswith(f"{__package__}."):
        folders = [Path(__file__).parent.joinpath(*package.split(".")[2:])]
    else:
        spec = importlib.util.find_spec(package)
        folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    return [path for folder in folders for path in folder.glob("*_*.py")]
