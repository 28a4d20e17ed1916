"""PaperFigure: a figure or table of a paper as settings, a computation, claims and a drawing."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Generic, TypeVar

from reluflow.experiments.store import Results
from reluflow.experiments.workbench import Workbench
from reluflow.papers.claim import Claim

Settings = TypeVar("Settings")


class Size(StrEnum):
    """How large a figure is computed: in seconds, or at the paper's own sizes."""

    QUICK = "quick"
    FULL = "full"


@dataclass(frozen=True)
class PaperFigure(Generic[Settings]):
    """One figure or table. Its module defines one, called `FIGURE`.

    Parameters
    ----------
    key
        Such as "boursier2024/fig2" or "lyu2021/table1".
    about
        The module's `__doc__`: its first line is the title, the rest says what the paper shows there.
    quick, full
        Settings as data: two instances of one frozen dataclass of numbers, strings and tuples. Quick takes seconds;
        full has the paper's own sizes.
    compute
        (settings, workbench) -> results: everything the claims and the drawing need, as a dictionary of arrays,
        numbers and strings, through the public interface of reluflow. `workbench.progress(share, words)` moves the
        bar, `workbench.piece(name, function)` keeps a part at once.
    claims
        (settings, results) -> claims. Called on kept results too, so it computes nothing long.
    draw
        (settings, results, folder) -> the files written there: .png, .gif, .svg, .html or .csv. Through
        `reluflow.viz` only.
    """

    key: str
    about: str | None
    quick: Settings
    full: Settings
    compute: Callable[[Settings, Workbench], Results]
    claims: Callable[[Settings, Results], tuple[Claim, ...]]
    draw: Callable[[Settings, Results, Path], tuple[Path, ...]]

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
