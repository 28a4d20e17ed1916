"""What a given network is: a global or local minimum, a saddle, a KKT or max-margin direction, or none of these."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.hard_margin import linear_separator
from reluflow.certificates.kkt import kkt_certificate, normalized_margin
from reluflow.certificates.network_margin import is_tractable, network_margin
from reluflow.certificates.stationarity import Escape, best_new_neuron, find_escape, stationarity, try_new_neuron
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import AbstractLoss
from reluflow.network.network import Network
from reluflow.tables import RowsToFrame, html_table


class Kind(StrEnum):
    """What the numbers prove, each to the tolerance asked for."""

    GLOBAL_MINIMUM = "global-minimum"
    LOCAL_MINIMUM = "local-minimum"
    SADDLE = "saddle"
    KKT_DIRECTION = "kkt-direction"
    MAX_MARGIN = "max-margin"
    NOT_STATIONARY = "not-stationary"


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
        KKT multipliers of a direction, shape (n,); empty for a finite point.
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
        Sentences that say why.
    """

    kind: Kind
    residuals: dict[str, float]
    multipliers: FloatArray
    margin: float
    best_linear_margin: float
    global_margin: float
    escape: Escape | None
    reasons: tuple[str, ...]

    def table(self) -> list[dict[str, Any]]:
        """One row per number that proves the kind, ready for a data frame."""
        margins = {
            "margin": self.margin,
            "best linear margin": self.best_linear_margin,
            "global margin": self.global_margin,
        }
        rows = [{"quantity": f"residual: {name}", "value": float(value)} for name, value in self.residuals.items()]
        return rows + [{"quantity": name, "value": float(v)} for name, v in margins.items() if np.isfinite(v)]

    def __repr__(self) -> str:
        return f"Certificate({self.kind}: {' '.join(self.reasons)})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table())


def certify(
    network: Network,
    dataset: Dataset,
    loss: AbstractLoss,
    *,
    rtol: float = 1e-6,
    active_rtol: float = 1e-6,
    kink_rtol: float = 1e-7,
    zero_rtol: float = 1e-9,
) -> Certificate:
    """Decide what a network is for this dataset and loss.

    A network that classifies every sample under a classification loss is judged by its direction (its loss only
    vanishes at infinity); any other by its stationarity.

    Parameters
    ----------
    network
        The network; its `weight` and `log_scale` count.
    dataset
        Samples and labels.
    loss
        Any of the losses.
    rtol
        Bound on the relative residuals that a positive verdict must meet.
    active_rtol
        Samples within this of the smallest margin may carry a multiplier.
    kink_rtol
        Pre-activations below this times |w| |x| count as zero.
    zero_rtol
        Neurons below this times the largest one count as zero, and so do weights within a neuron.

    Examples
    --------
    >>> from reluflow.losses import LogisticLoss
    >>> dataset = Dataset([[1.0, 0.0], [-1.0, 0.0]], [1, -1])
    >>> certify(Network(w=[[1.0, 0.0], [-1.0, 0.0]], a=[1.0, -1.0]), dataset, LogisticLoss()).kind.value
    'max-margin'
    """
    if network.d != dataset.d:
        raise InvalidInputError(
            f"`network` expects inputs of dimension {network.d} but `dataset` has dimension {dataset.d}; "
            "`dataset.with_bias()` adds the constant coordinate."
        )
    loss.check_labels(dataset.y)
    linear, margin = np.nan, np.nan
    if dataset.is_binary:
        linear = linear_separator(dataset).margin
        margin = normalized_margin(network, dataset) if np.any(network.w) or np.any(network.a) else np.nan
    if loss.is_classification and margin > 0.0:
        return _certify_direction(network, dataset, linear, rtol, active_rtol, kink_rtol)
    return _certify_point(network, dataset, loss, margin, linear, rtol, kink_rtol, zero_rtol)


def _certify_direction(
    network: Network, dataset: Dataset, linear: float, rtol: float, active_rtol: float, kink_rtol: float
) -> Certificate:
    kkt = kkt_certificate(network, dataset, active_rtol=active_rtol, kink_rtol=kink_rtol)
    residuals = {
        "kkt": kkt.residual,
        "complementarity": kkt.complementarity,
        "balance": kkt.balance,
        "multiplier_sum": kkt.multiplier_sum_error,
    }
    if not is_tractable(dataset, network.leak):
        if kkt.residual > rtol:
            kind = Kind.NOT_STATIONARY
            reasons = [_missed(kkt.residual, rtol)]
        else:
            kind = Kind.KKT_DIRECTION
            reasons = [
                f"The direction meets the KKT conditions to {kkt.residual:.3g}.",
                "The best margin of any network is out of reach at this size, so whether it is global is open.",
            ]
        return Certificate(kind, residuals, kkt.multipliers, kkt.margin, linear, np.nan, None, tuple(reasons))
    best = network_margin(dataset, network.leak)
    shortfall = max((best.upper - kkt.margin) / best.upper, 0.0)
    residuals |= {"global_margin_shortfall": shortfall, "global_margin_gap": best.gap}
    if kkt.residual > rtol:
        kind = Kind.NOT_STATIONARY
        reasons = [_missed(kkt.residual, rtol)]
    elif shortfall <= rtol:
        kind = Kind.MAX_MARGIN
        reasons = [
            f"The direction meets the KKT conditions to {kkt.residual:.3g}.",
            f"Its margin {kkt.margin:.9g} is within {shortfall:.3g} of a bound no network exceeds.",
        ]
    else:
        kind = Kind.KKT_DIRECTION
        reasons = [f"The direction meets the KKT conditions to {kkt.residual:.3g}."]
        if kkt.margin < best.margin * (1.0 - rtol):
            reasons.append(
                f"Its margin {kkt.margin:.9g} is below {best.margin:.9g}, which an explicit network attains."
            )
        else:
            reasons.append(
                f"Whether its margin {kkt.margin:.9g} is the largest is open: the bound {best.upper:.9g} on all "
                "networks is not tight enough to tell."
            )
    multipliers = kkt.multipliers
    return Certificate(kind, residuals, multipliers, kkt.margin, linear, best.margin, None, tuple(reasons))


def _missed(residual: float, rtol: float) -> str:
    return f"The direction misses the KKT conditions by {residual:.3g} of its norm; {rtol:.3g} was asked."


def _certify_point(
    network: Network,
    dataset: Dataset,
    loss: AbstractLoss,
    margin: float,
    linear: float,
    rtol: float,
    kink_rtol: float,
    zero_rtol: float,
) -> Certificate:
    point = stationarity(network, dataset, loss, kink_rtol=kink_rtol)
    at_zero = loss.total(np.zeros(dataset.n), dataset.y)
    residuals = {"stationarity": point.residual, "loss": point.loss}
    escape: Escape | None = None

    def verdict(kind: Kind, *reasons: str) -> Certificate:
        return Certificate(kind, residuals, np.empty(0), margin, linear, np.nan, escape, reasons)

    if not loss.is_classification:
        residuals["fit"] = float(np.sqrt(point.loss / at_zero)) if at_zero > 0.0 else float(np.sqrt(point.loss))
        if residuals["fit"] <= rtol:
            return verdict(Kind.GLOBAL_MINIMUM, f"The loss {point.loss:.3g} vanishes: the network fits every label.")
    if point.residual > rtol:
        return verdict(
            Kind.NOT_STATIONARY,
            f"Zero is {point.residual:.3g} (relative) away from the subdifferential; {rtol:.3g} was asked.",
        )
    gains = best_new_neuron(network, dataset, point)
    scale = point.force_scale or 1.0
    residuals["new_neuron_gain"] = gains.upper / scale
    if gains.upper <= rtol * scale:
        return verdict(
            Kind.GLOBAL_MINIMUM,
            f"No neuron of either sign gains more than {residuals['new_neuron_gain']:.3g} of the total force, "
            "so no network of any width has a smaller loss.",
        )
    escape, worst = find_escape(network, dataset, loss, point, gain_rtol=rtol, zero_rtol=zero_rtol)
    residuals["neuron_gain"] = worst
    if escape is not None:
        return verdict(
            Kind.SADDLE,
            f"The point is stationary to {point.residual:.3g}.",
            f"Changing neuron {escape.neuron} lowers the loss by {escape.actual_decrease:.6g}, as tried.",
        )
    if worst > rtol:
        return verdict(
            Kind.NOT_STATIONARY,
            f"A neuron should gain {worst:.3g} of the total force, yet no trial step confirmed it: the point is not "
            "stationary accurately enough to tell a saddle from a minimum; train longer.",
        )
    escape = try_new_neuron(network, dataset, loss, gains)
    reasons = [f"No neuron gains more than {worst:.3g} of the total force in any direction, and the loss is convex."]
    if escape is not None:
        reasons.append(f"It is not global: one more neuron lowers the loss by {escape.actual_decrease:.6g}, as tried.")
    return verdict(Kind.LOCAL_MINIMUM, *reasons)
