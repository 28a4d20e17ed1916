"""The flow in the limit of vanishing scale: a process that waits at saddles and jumps between them.

`forecast` follows it; a `JumpProcess` is what it finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reluflow.lazy import lazy_names

if TYPE_CHECKING:
    from reluflow.jump_process.process import Jump as Jump
    from reluflow.jump_process.process import JumpProcess as JumpProcess
    from reluflow.jump_process.process import Saddle as Saddle

_HOMES = {"Jump": "process", "JumpProcess": "process", "Saddle": "process"}

__all__ = sorted(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
