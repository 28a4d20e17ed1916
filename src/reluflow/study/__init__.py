"""The whole story of one dataset: its stages, its findings, its report.

>>> import reluflow
>>> from reluflow.study import study
>>> found = study(reluflow.load("three-points"), width=20, seeds=0, theorems=())
>>> print(found.verdict()[0])
The gradient flow of 20 small neurons ends at a local minimum, with loss 0.0875214, at t = 195.39.
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
