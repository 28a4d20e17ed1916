"""The logistic loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reluflow.losses.loss import AbstractLoss, Formulas


def _value(h: Any, y: Any) -> Any:
    return np.logaddexp(0.0, -y * h)


def _force(h: Any, y: Any) -> Any:
    small = np.exp(-np.abs(y * h))
    return y * np.where(y * h > 0.0, small, 1.0) / (1.0 + small)


def _curvature(h: Any, y: Any) -> Any:
    small = np.exp(-np.abs(y * h))
    return small / np.square(1.0 + small)


def _log_force(h: Any, y: Any) -> Any:
    return -np.logaddexp(0.0, y * h)


def _log_curvature(h: Any, y: Any) -> Any:
    size = np.abs(y * h)
    return -size - 2.0 * np.log1p(np.exp(-size))


@dataclass(frozen=True)
class LogisticLoss(AbstractLoss):
    r"""$\ell(h, y) = \ln(1 + \exp(-y h))$ for labels -1 and 1.

    Parameters
    ----------
    reduction
        "mean" or "sum" over samples.
    factor
        Multiplies the loss.

    Examples
    --------
    >>> LogisticLoss(reduction="sum").label_forces([1.0, -1.0])
    array([ 0.5, -0.5])
    """

    name: ClassVar[str] = "logistic"
    is_classification: ClassVar[bool] = True
    fades: ClassVar[bool] = True

    @property
    def formulas(self) -> Formulas:
        return Formulas(_value, _force, _curvature, _log_force, _log_curvature)
