"""The exponential loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reluflow.losses.loss import AbstractLoss, Formulas


def _value(h: Any, y: Any) -> Any:
    return np.exp(-y * h)


def _force(h: Any, y: Any) -> Any:
    return y * np.exp(-y * h)


def _log_value(h: Any, y: Any) -> Any:
    return -y * h


@dataclass(frozen=True)
class ExponentialLoss(AbstractLoss):
    r"""$\ell(h, y) = \exp(-y h)$ for labels -1 and 1; infinite once the value leaves the range of a double.

    Parameters
    ----------
    reduction
        "mean" or "sum" over samples.
    factor
        Multiplies the loss.

    Examples
    --------
    >>> ExponentialLoss().total([0.0, 0.0], [1.0, -1.0])
    1.0
    """

    name: ClassVar[str] = "exponential"
    is_classification: ClassVar[bool] = True
    fades: ClassVar[bool] = True

    @property
    def formulas(self) -> Formulas:
        return Formulas(_value, _force, curvature=_value, log_force=_log_value, log_curvature=_log_value)
