"""JumpProcess: what the flow becomes as its scale vanishes: saddles, and jumps between them at times of log(1/scale)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.certificates.certificate import Certificate
from reluflow.network.network import Network
from reluflow.tables import RowsToFrame, html_table

END_WORDS = {
    "final": "No sleeping neuron grows any more.",
    "open": "What comes next is open.",
}


@dataclass(frozen=True, eq=False)
class Saddle:
    """A plateau: the network of the neurons that are awake, where it stands still."""

    clock: float
    loss: float
    network: Network
    certificate: Certificate
    forces: FloatArray


@dataclass(frozen=True, eq=False)
class Jump:
    """A jump."""

    clock: float
    delay: float
    loss_before: float
    loss_after: float
    neurons: tuple[int, ...]
    extremal: FloatArray
    is_tied: bool
    fallen_asleep: tuple[int, ...]
    times: FloatArray
    losses: FloatArray


@dataclass(frozen=True, eq=False)
class JumpProcess(RowsToFrame):
    """The process."""

    jumps: tuple[Jump, ...]
    saddles: tuple[Saddle, ...]
    network: Network
    loss: float
    certificate: Certificate
    ending: str
    is_exact: bool
    why: str
    remarks: tuple[str, ...]
    faded: BoolArray
    levels: FloatArray

    def table(self) -> list[dict[str, Any]]:
        """One row per jump."""
        return [
            {
                "clock": jump.clock,
                "loss before": jump.loss_before,
                "loss after": jump.loss_after,
                "neurons": len(jump.neurons),
                "delay": jump.delay,
            }
            for jump in self.jumps
        ]

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table())

    def __repr__(self) -> str:
        times = ", ".join(f"{jump.clock:.6g}" for jump in self.jumps)
        return f"JumpProcess({len(self.jumps)} jumps at ({times}), loss {self.loss:.6g})"
