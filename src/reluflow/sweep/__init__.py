"""Many runs: phase diagrams over thousands of cases, that survive anything.

The room is called like its function and can be called itself.

>>> import reluflow
>>> result = reluflow.sweep("three-points", over={"scale": "1e-1,1e-4"}, measure=["end"], executor="serial")
>>> result.frame()["end"].tolist()
['interpolates', 'least-squares']
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reluflow.sweep.case import Case as Case
    from reluflow.sweep.plan import make_plan as make_plan
    from reluflow.sweep.result import SweepResult as SweepResult
    from reluflow.sweep.run import sweep as sweep

_HOMES = {"Case": "case", "SweepResult": "result", "make_plan": "plan", "sweep": "run"}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'reluflow.sweep' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"reluflow.sweep.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


class _Room(types.ModuleType):
    """A module that can be called: importing any part of the room puts the module where the function should be."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from reluflow.sweep.run import sweep

        return sweep(*arguments, **options)


sys.modules[__name__].__class__ = _Room
