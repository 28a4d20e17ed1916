"""The square loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reluflow.losses.loss import AbstractLoss, Formulas


def _value(h: Any, y: Any) -> Any:
    return 0.5 * np.square(y - h)


def _force(h: Any, y: Any) -> Any:
    return y - h


def _curvature(h: Any, y: Any) -> Any:
    return 1.0


def _log_force(h: Any, y: Any) -> Any:
    return np.log(np.abs(y - h))


def _log_curvature(h: Any, y: Any) -> Any:
    return 0.0


@dataclass(frozen=True)
class SquareLoss(AbstractLoss):
    r"""$\ell(h, y) = (h - y)^2/2$, so that the force is the residual $y - h$; $|h - y|^2/2$ of several outputs.

    Boursier & Flammarion (2024), Eq. (10) [boursier2024]; their Sec. 2 offers $(h - y)^2$, which breaks their own
    Assumption 1 (erratum E1).

    Parameters
    ----------
    reduction
        "mean" or "sum" over samples.
    factor
        Multiplies the loss.

    Examples
    --------
    >>> SquareLoss().total([0.0, 0.0], [1.0, 3.0])
    2.5
    """

    name: ClassVar[str] = "square"

    @property
    def formulas(self) -> Formulas:
        return Formulas(_value, _force, _curvature, _log_force, _log_curvature)
