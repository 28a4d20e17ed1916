"""The papers there are: the folders of `papers/`, and the packages of others that register under `reluflow.papers`.

A paper is a package with some of these modules, each of which is loaded when it is first asked for:

- `paper`: `PAPER`, how it is cited. It imports nothing heavy, for every listing reads it.
- `data`: `DATASETS`, its point sets, each a `reluflow.data.registered.RegisteredDataset`.
- `starts`: `STARTS`, the networks it starts from, each a `reluflow.network.Initialization`.
- `assumptions`: `ASSUMPTIONS`, what it asks of data, each a `reluflow.theory.condition.Assumption`.
- `theorems`: `RESULTS`, every named result in the paper's order, a `Theorem` or an `Elsewhere`.
- `errata`: `ERRATA`, in the order of their codes.
- `figures`: one module `figure_N` or `table_N` for each figure and table.

Another package takes part by an entry point of the group `reluflow.papers` with the paper's key as its name and the
package as its value: `smith2025 = "smith_experiments.smith2025"`.
"""

from __future__ import annotations

import warnings
from collections.abc import Container
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Protocol, TypeVar

from reluflow.errors import BrokenPaperWarning


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Value = TypeVar("Value")
NamedValue = TypeVar("NamedValue", bound=_Named)

GROUP = "reluflow.papers"
_FOLDER = Path(__file__).parent / "papers"


@dataclass(frozen=True)
class Paper:
    """One paper.

    Parameters
    ----------
    key
        As in references.bib.
    authors, year, title, subject
        How it is cited, and what it is about in a few words.
    place
        Where it stands in lists; papers without a place come last, by key.
    package
        The package that holds what is known of it; filled in where it is found.
    """

    key: str
    authors: str
    year: int
    title: str
    subject: str
    place: float = float("inf")
    package: str = ""

    @property
    def cited(self) -> str:
        """Authors, year and subject, as the generated pages head their sections."""
        return f"{self.authors} ({self.year}), {self.subject}"

    @property
    def shortly_cited(self) -> str:
        """The first author and the year; two authors are both named.

        >>> Paper("min2024", "Min, Mallada & Vidal", 2024, "", "").shortly_cited
        'Min et al. (2024)'
        """
        first, comma, _ = self.authors.partition(",")
        return f"{first} et al. ({self.year})" if comma else f"{self.authors} ({self.year})"

    @property
    def titled(self) -> str:
        """Authors and title."""
        return f"{self.authors}, {self.title}"

    @property
    def is_ours(self) -> bool:
        """Whether it is a folder of reluflow, and not of another's package."""
        return self.package.startswith("reluflow.")

    def module(self, name: str) -> ModuleType | None:
        """The module of this name in the paper's package, or None where it has none or, in another's package, fails."""
        return _module(self.package, name, self.key)

    def values(self, module: str, name: str, *kinds: type[Value]) -> tuple[Value, ...]:
        """What a module of the paper lists under a name, such as `DATASETS` in `data`; nothing where it has none.

        A list of anything else is left out with a sentence.
        """
        listed = getattr(self.module(module), name, ())
        if isinstance(listed, tuple | list) and all(isinstance(value, kinds) for value in listed):
            return tuple(listed)
        self.leave_out(f"`{module}.{name}`", f"it must be a tuple of {' or '.join(kind.__name__ for kind in kinds)}")
        return ()

    def leave_out(self, what: str, why: str) -> None:
        """Say in one sentence that a part of the paper is left out."""
        _say_left_out(f"{what} of the paper", self.key, self.package, why)


def named_values(module: str, name: str, kind: type[NamedValue], taken: Container[str]) -> dict[str, NamedValue]:
    """What all papers list under a name, by the name of each value; one whose name is taken is left out."""
    found: dict[str, NamedValue] = {}
    for paper in found_papers().values():
        for value in paper.values(module, name, kind):
            if value.name in taken or value.name in found:
                paper.leave_out(f"`{value.name}` in `{module}.{name}`", "the name is taken")
            else:
                found[value.name] = value
    return found


@cache
def found_papers() -> dict[str, Paper]:
    """Every paper by key, in the order of lists."""
    found = {path.parent.name: _own(path.parent.name) for path in _FOLDER.glob("*/paper.py")}
    for point in entry_points(group=GROUP):
        module = _module(point.value, "paper", point.name)
        paper = getattr(module, "PAPER", None)
        if point.name in found:
            _say_left_out("The paper", point.name, point.value, "there is a paper of this key already")
        elif isinstance(paper, Paper) and paper.key == point.name:
            found[point.name] = replace(paper, package=point.value)
        elif module is not None:
            why = f"`paper.PAPER` must be a Paper with the key {point.name!r}"
            _say_left_out("The paper", point.name, point.value, why)
    return {paper.key: paper for paper in sorted(found.values(), key=lambda paper: (paper.place, paper.key))}


def _own(key: str) -> Paper:
    package = f"{GROUP}.{key}"
    paper = getattr(import_module(f"{package}.paper"), "PAPER")  # noqa: B009
    assert isinstance(paper, Paper)
    return replace(paper, package=package)


@cache
def _module(package: str, name: str, key: str) -> ModuleType | None:
    if package.startswith("reluflow."):
        return import_module(f"{package}.{name}") if find_spec(f"{package}.{name}") else None
    try:
        is_there = name == "paper" or find_spec(f"{package}.{name}") is not None
        return import_module(f"{package}.{name}") if is_there else None
    except Exception as error:  # another's package may fail in any way, and must not take the others with it
        what = "The paper" if name == "paper" else f"`{name}` of the paper"
        _say_left_out(what, key, package, f"it fails with {type(error).__name__}: {error}")
        return None


def _say_left_out(what: str, key: str, package: str, why: str) -> None:
    words = " ".join(f"{what} `{key}` in `{package}` is left out: {why.rstrip('.')}.".split())
    warnings.warn(words, BrokenPaperWarning, stacklevel=2)
