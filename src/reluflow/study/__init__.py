"""Everything about one dataset: the stages of a study, its findings, its report.

The package can be called: `reluflow.study(X, y)` studies samples and labels, a data frame, a file or a named dataset.

>>> import reluflow
>>> found = reluflow.study("three-points", width=20, seeds=0, theorems=())
>>> print(found.verdict()[1][:58])
On the samples it equals the least-squares linear function
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from reluflow.lazy import lazy_names

if TYPE_CHECKING:
    from reluflow.study.story import Study as Study
    from reluflow.study.story import StudyInterrupted as StudyInterrupted
    from reluflow.study.story import study as study

_HOMES = {"Study": "story", "StudyInterrupted": "story", "study": "story"}

__all__ = ["Study", "StudyInterrupted", "study"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)


class _CallableRoom(ModuleType):
    """The room as a function, so that `reluflow.study` is one thing however it was imported."""

    def __call__(self, data: Any, y: Any = None, *, bias: bool = False, **settings: Any) -> Study:
        """Tell the story of `data`, or of samples `data` with labels `y`; the settings are those of `study.study`."""
        from reluflow.data.given import as_dataset
        from reluflow.study.story import study

        return study(as_dataset(data, y, bias=bias), **settings)


sys.modules[__name__].__class__ = _CallableRoom
