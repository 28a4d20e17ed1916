"""Setting: the loss, leak and network a result is stated for; light, so that a paper can be listed without numerics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Setting:
    """The setting a result is stated in, used by `reluflow check` wherever the reader does not choose.

    `leak` None stands for the leak that suits the dataset.
    """

    loss: str = "square"
    reduction: Literal["mean", "sum"] = "mean"
    factor: float = 1.0
    leak: float | None = 0.0
    init: str = "balanced"
    width: int = 30
    scale: str = "1e-3"
