"""Kind and Certificate: what a network provably is, with the numbers that prove it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.stationarity import Escape
from reluflow.tables import RowsToFrame, html_table


class Kind(StrEnum):
    """What the numbers prove, each to the tolerance asked for."""

    GLOBAL_MINIMUM = "global-minimum"
    LOCAL_MINIMUM = "local-minimum"
    SADDLE = "saddle"
    STATIONARY = "stationary"  # with weight decay or a frozen output layer, where no more was proved
    KKT_DIRECTION = "kkt-direction"
    MAX_MARGIN = "max-margin"
    PARTIAL_DIRECTION = "partial-direction"
    NOT_STATIONARY = "not-stationary"
    UNDECIDED = "undecided"  # of a run whose end could not be certified; the reasons say why


@dataclass(frozen=True, eq=False)
class Certificate(RowsToFrame):
    """The verdict on a network, with the numbers that prove it.

    Parameters
    ----------
    kind
        The strongest statement proved.
    residuals
        Named numbers, each zero at a perfect point of that kind.
    multipliers
        KKT multipliers of a direction, shape (n,), or of classes (n, K) with 0 in the column of the own class; of one
        that is not KKT, those that leave least of it; empty for a finite point.
    margin
        Normalised margin q_min / |theta|^2; nan without binary labels or for the zero network.
    best_linear_margin
        Margin of the best linear classifier of norm 1 (0 if there is none); nan without binary labels.
    global_margin
        The largest normalised margin of any network of this leak (a margin attained; the residual
        "global_margin_gap" bounds the rest); nan where it was not needed or is out of reach.
    escape
        For a saddle, a change of one neuron that lowers the loss; for a local minimum that is not global, the neuron
        whose addition does. Measured, not only predicted.
    reasons
        Sentences that say why. They count samples and neurons from 1, as the rows of a table are counted.
    open_points
        Sentences on what the words of `kind` claim and the numbers do not prove; empty where all of it is proved.
    margin_bound
        A number that the normalised margin of no network of this leak exceeds; nan where `global_margin` is.
    norm, minimum_norm
        sum |a_j| |w_j| of a network that fits every label, and a number that no network that fits them stays below;
        nan where this was not asked for, out of reach, or nothing is fitted.
    ignored
        Samples, counted from 0, whose output is 0 because no neuron is active on them, under a loss that the others
        send to infinity; empty for every kind but `partial-direction`.
    """

    kind: Kind
    residuals: dict[str, float]
    multipliers: FloatArray
    margin: float
    best_linear_margin: float
    global_margin: float
    escape: Escape | None
    reasons: tuple[str, ...]
    open_points: tuple[str, ...] = ()
    ignored: tuple[int, ...] = ()
    norm: float = np.nan
    minimum_norm: float = np.nan
    margin_bound: float = np.nan

    @property
    def is_proved(self) -> bool:
        """Whether every word of `kind` is proved to the tolerance asked for."""
        return self.kind not in (Kind.NOT_STATIONARY, Kind.UNDECIDED) and not self.open_points

    def table(self) -> list[dict[str, Any]]:
        """One row per number that proves the kind, ready for a data frame."""
        margins = {
            "margin": self.margin,
            "best linear margin": self.best_linear_margin,
            "global margin": self.global_margin,
            "no network has a margin above": self.margin_bound,
            "norm sum |a||w|": self.norm,
            "least norm of a fit": self.minimum_norm,
        }
        rows = [{"quantity": f"residual: {name}", "value": float(value)} for name, value in self.residuals.items()]
        return rows + [{"quantity": name, "value": float(v)} for name, v in margins.items() if np.isfinite(v)]

    def __repr__(self) -> str:
        return f"Certificate({self.kind}: {' '.join(self.reasons)})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table())
