"""Many runs: phase diagrams over thousands of cases, that survive anything.

The room is called like its function and can be called itself.

>>> import reluflow
>>> result = reluflow.sweep("three-points", over={"scale": "1e-1,1e-4"}, measure=["end"], executor="serial")
>>> result.frame()["end"].tolist()
['interpolates', 'least-squares']
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

from reluflow.lazy import lazy_names

if TYPE_CHECKING:
    from reluflow.sweep.case import Case as Case
    from reluflow.sweep.plan import make_plan as make_plan
    from reluflow.sweep.result import SweepResult as SweepResult
    from reluflow.sweep.run import sweep as sweep

_HOMES = {"Case": "case", "SweepResult": "result", "make_plan": "plan", "sweep": "run"}

__all__ = sorted(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)


class _Room(types.ModuleType):
    """A module that can be called: importing any part of the room puts the module where the function should be."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from reluflow.sweep.run import sweep

        return sweep(*arguments, **options)


sys.modules[__name__].__class__ = _Room
