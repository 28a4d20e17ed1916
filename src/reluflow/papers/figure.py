"""PaperFigure: a figure or table of a paper as settings, a computation, claims and a drawing."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Generic, TypeVar

from reluflow.papers.claim import Claim
from reluflow.papers.typed_results import results_type_of
from reluflow.papers.workbench import Workbench

Settings = TypeVar("Settings")
Found = TypeVar("Found")


class Size(StrEnum):
    """How large a figure is computed: in seconds, or as near to the paper's own sizes as it is affordable."""

    QUICK = "quick"
    FULL = "full"


@dataclass(frozen=True)
class PaperFigure(Generic[Settings, Found]):
    """One figure or table. Its module defines one, called `FIGURE`.

    Parameters
    ----------
    key
        Such as "boursier2024/fig2" or "lyu2021/table1".
    about
        The module's `__doc__`: its first line is the title, the rest says what the paper shows there.
    quick, full
        Settings as data: two instances of one frozen dataclass of numbers, strings and tuples. Quick takes seconds;
        full has the paper's own sizes, or says in `reduced` where it has not.
    compute
        (settings, workbench) -> results: everything the claims and the drawing need, as a frozen dataclass of arrays,
        numbers, strings and further such dataclasses, through the public interface of reluflow. Its annotation names
        that dataclass. `workbench.progress(share, words)` moves the bar, `workbench.piece(name, kind, function)` keeps
        a part at once.
    claims
        (settings, results) -> claims. Called on kept results too, so it computes nothing long.
    draw
        (settings, results, folder) -> the files written there: .png, .gif, .svg, .html or .csv. Through
        `reluflow.viz` only.
    reduced
        What the full size has less of than the paper, in words such as "dimension 64 where the paper has 1,024"; empty
        where it has the paper's own sizes.
    """

    key: str
    about: str | None
    quick: Settings
    full: Settings
    compute: Callable[[Settings, Workbench], Found]
    claims: Callable[[Settings, Found], tuple[Claim, ...]]
    draw: Callable[[Settings, Found, Path], tuple[Path, ...]]
    reduced: str = ""

    @property
    def results_type(self) -> type[Found]:
        """The dataclass that `compute` returns."""
        return results_type_of(self.compute)

    @property
    def title(self) -> str:
        """The first line of `about`; the key where Python runs without docstrings."""
        return (self.about or self.key).strip().partition("\n")[0].rstrip(".")

    @property
    def shows(self) -> str:
        """What the paper shows there: the rest of `about`, as paragraphs."""
        return inspect.cleandoc(self.about or "").partition("\n")[2].strip()

    def settings(self, size: Size) -> Settings:
        """The settings of that size."""
        return self.quick if size is Size.QUICK else self.full
