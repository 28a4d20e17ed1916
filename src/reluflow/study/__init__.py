"""The whole story of one dataset: its stages, its findings, its report.

>>> import reluflow
>>> from reluflow.study import study
>>> found = study(reluflow.load("three-points"), width=20, seeds=0, theorems=())
>>> print(found.verdict()[1][:59])
On the samples it is the least-squares linear function (lar
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reluflow.study.story import Study as Study
    from reluflow.study.story import study as study

__all__ = ["Study", "study"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from reluflow.study import story

        return getattr(story, name)
    raise AttributeError(f"module 'reluflow.study' has no attribute {name!r}")
