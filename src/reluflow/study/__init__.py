"""The whole story of one dataset: its stages, its findings, its report.

>>> import reluflow
>>> from reluflow.study import study
>>> found = study(reluflow.load("three-points"), width=20, seeds=0, theorems=())
>>> print(found.verdict()[1][:59])
On the samples it is the least-squares linear function (lar
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reluflow.lazy import lazy_names

if TYPE_CHECKING:
    from reluflow.study.story import Study as Study
    from reluflow.study.story import study as study

_HOMES = {"Study": "story", "study": "story"}

__all__ = ["Study", "study"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
