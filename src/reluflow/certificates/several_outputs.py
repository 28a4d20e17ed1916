"""What a network with several outputs or an output bias is: a minimum, a saddle, a KKT direction, or none of these.

Some neuron (w, v) lowers the loss exactly if Gamma(w) = sum_k f_k s(<w, x_k>) is not 0 for some w, that is if one of
its K coordinates is not: K decisions of one output. Where none gains around any neuron, small changes move the outputs
in no direction that the forces f_k favour, and as the loss is convex in the outputs the network is a local minimum.
With one output a D = 0 means that nothing pulls on the neuron at all. With several, D v = 0 leaves other columns of the
matrix D_j = sum_k eta_jk x_k f_k^T; where one is left it is open which, unless a way down is found.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from reluflow.arrays import IndexArray
from reluflow.certificates.certificate import Certificate, Kind
from reluflow.certificates.endless_fall import EndlessFall, UndecidedError, endless_fall
from reluflow.certificates.even_columns import even_columns
from reluflow.certificates.hidden_forces import unanswered_share
from reluflow.certificates.output_point import NeuronMove, OutputPoint
from reluflow.certificates.pair_gradients import Pairs
from reluflow.certificates.pair_kkt import KINK_ROUNDS, pair_kkt, smallest_margin
from reluflow.certificates.stationarity import Escape
from reluflow.data.dataset import Dataset
from reluflow.losses import AbstractLoss
from reluflow.network.network import Network, row_norms

_ON_BOUNDARY = 1e-9  # a neuron that slides along a boundary is off it by rounding, to either side
_MOST_TRIALS = 40
_OPEN_FALL = "Whether the loss has a minimum in these patterns or decreases without end is open."


class Tolerances(NamedTuple):
    """Those of `certify`."""

    rtol: float
    active_rtol: float
    kink_rtol: float
    zero_rtol: float


def certify_outputs(
    network: Network,
    dataset: Dataset,
    loss: AbstractLoss,
    tolerances: Tolerances,
    *,
    trains_output_bias: bool,
    is_hasty: bool = False,
) -> Certificate:
    """The verdict of `certify` on a network with several outputs or an output bias.

    With `is_hasty` a direction that is not KKT is told by the multipliers at one choice of the slopes at kinks.
    """
    has_direction = loss.is_classification and bool(np.any(network.w) or np.any(network.v))
    moves_bias = network.b is not None and trains_output_bias
    if has_direction:
        judged = network if moves_bias else network.replace(b=None)  # a fixed bias is nothing beside weights that grow
        if smallest_margin(judged, dataset) > 0.0 and smallest_margin(network, dataset) > 0.0:
            return _direction(judged, dataset, tolerances, is_hasty=is_hasty)
        if not moves_bias and (ignored := ignored_class_samples(judged, dataset)).size:
            return _partial_direction(judged, dataset, loss, ignored, tolerances, is_hasty=is_hasty)
    even = even_columns(network, dataset)
    point = OutputPoint.of(even.network, even.dataset, loss, moves_bias=moves_bias, kink_rtol=tolerances.kink_rtol)
    margin = smallest_margin(network, dataset) if has_direction else np.nan
    found = _certify_point(point, margin, tolerances)
    return replace(found, escape=even.brought_back(found.escape))


def _direction(
    network: Network, dataset: Dataset, tolerances: Tolerances, *, is_hasty: bool, walls: Dataset | None = None
) -> Certificate:
    """Judge the direction of a network of positive margin, whose bias, if any, is trained."""
    rtol, kink_rtol = tolerances.rtol, tolerances.kink_rtol
    exact = pair_kkt(network, dataset, active_rtol=tolerances.active_rtol, kink_rtol=kink_rtol, walls=walls)
    if exact.residual <= rtol:
        words = (
            f"The direction meets the KKT conditions to {exact.residual:.3g}.",
            "Whether its margin is the largest of any network is open for several outputs or an output bias.",
        )
        return Certificate(
            Kind.KKT_DIRECTION, exact.residuals(), exact.multipliers, exact.margin, np.nan, np.nan, None, words
        )
    near = pair_kkt(network, dataset, kink_rtol=kink_rtol, kink_rounds=0 if is_hasty else KINK_ROUNDS, walls=walls)
    residuals = {"kkt": near.residual, "epsilon": near.epsilon, "delta": near.delta, "balance": near.balance}
    norm = 1.0 / float(np.sqrt(near.margin))
    words = (
        f"The direction misses the KKT conditions by {near.residual:.3g} of its norm; {rtol:.3g} was asked."
        if near.residual > rtol
        else f"The direction is stationary to {near.residual:.3g}, but with multipliers off the smallest margin.",
        f"Scaled to smallest margin 1 it is an (epsilon, delta)-KKT point with epsilon = {near.epsilon:.4g} and "
        f"delta = {near.delta:.4g}: the best multipliers leave {near.residual:.3g} of its norm {norm:.4g}.",
    )
    return Certificate(Kind.NOT_STATIONARY, residuals, near.multipliers, near.margin, np.nan, np.nan, None, words)


def ignored_class_samples(network: Network, dataset: Dataset) -> IndexArray:
    """Samples on which no neuron is active, where all others are classified; empty where that is not so."""
    products = network.pre_activations(dataset.X)
    lengths = row_norms(network.w)[:, None] * np.linalg.norm(dataset.X, axis=1)
    is_left_out = ~np.any(products > _ON_BOUNDARY * lengths, axis=0) & np.any(dataset.X != 0.0, axis=1)
    if network.leak > 0.0 or not is_left_out.any() or is_left_out.all():
        return np.empty(0, dtype=np.intp)
    kept = dataset.subset(~is_left_out)
    return np.flatnonzero(is_left_out) if smallest_margin(network, kept) > 0.0 else np.empty(0, dtype=np.intp)


def _partial_direction(
    network: Network,
    dataset: Dataset,
    loss: AbstractLoss,
    ignored: IndexArray,
    tolerances: Tolerances,
    *,
    is_hasty: bool,
) -> Certificate:
    """The direction of a network that classifies every sample on which a neuron is active."""
    rest = np.setdiff1d(np.arange(dataset.n), ignored)
    kept, walls = dataset.subset(rest), dataset.subset(ignored)
    found = _direction(network, kept, tolerances, is_hasty=is_hasty, walls=walls)
    multipliers = np.zeros((dataset.n, *found.multipliers.shape[1:]))
    multipliers[rest] = found.multipliers
    left = ignored.size * loss.total(dataset.zero_outputs(), dataset.y) / dataset.n
    names = ", ".join(str(int(k) + 1) for k in ignored[:10]) + (", ..." if ignored.size > 10 else "")
    sentence = (
        f"No neuron is active on sample{'s' if ignored.size > 1 else ''} {names}: the output there is 0, and the loss "
        f"tends to {left:.9g}, not to 0, while the norm grows without bound."
    )
    products = network.pre_activations(walls.X)
    lengths = row_norms(network.w)[:, None] * np.linalg.norm(walls.X, axis=1)
    is_pulled = network.v @ Pairs.of(walls).unanswered(walls.n).T >= 0.0  # the others are held back
    touching = np.argwhere((np.abs(products) <= tolerances.kink_rtol * lengths) & (lengths > 0.0) & is_pulled)
    doubts = tuple(
        f"Neuron {int(j) + 1} stands on the boundary of sample {int(ignored[k]) + 1}, which would pull it in: whether "
        "the sample stays ignored is not decided."
        for j, k in touching[:3]
    )
    is_kkt = found.kind is Kind.KKT_DIRECTION
    return Certificate(
        Kind.PARTIAL_DIRECTION if is_kkt else Kind.NOT_STATIONARY,
        found.residuals | {"loss_at_infinity": left},
        multipliers,
        0.0,
        np.nan,
        np.nan,
        None,
        (sentence, *found.reasons),
        open_points=doubts if is_kkt else (),
        ignored=tuple(int(k) for k in ignored) if is_kkt else (),
    )


def _fall(point: OutputPoint) -> EndlessFall | None:
    """What the loss cannot fall below in these patterns, where that is no minimum; None where that is not known."""
    if point.moves_bias:
        return None
    try:
        return endless_fall(point.network, point.dataset, point.loss, point.kinks)
    except UndecidedError:
        return None


def _endless(fall: EndlessFall, value: float, num_samples: int) -> str:
    """What such a fall says of a network of several outputs."""
    return (
        f"No network in these activation patterns has a loss of {fall.loss_at_infinity:.9g}, which is "
        f"{value - fall.loss_at_infinity:.3g} below, or less: beyond it {fall.samples.size} of {num_samples} samples "
        "would be fitted ever better. Whether this one comes near it without end is open."
    )


def _certify_point(point: OutputPoint, margin: float, tolerances: Tolerances) -> Certificate:
    rtol, zero_rtol = tolerances.rtol, tolerances.zero_rtol
    network, dataset, loss = point.network, point.dataset, point.loss
    value = loss.total(network.outputs(dataset.X), dataset.y)
    at_zero = loss.total(dataset.zero_outputs(), dataset.y)
    residuals = {"stationarity": point.residual, "loss": value}
    if point.bias_residual > 0.0:
        residuals["bias"] = point.bias_residual
    open_points: list[str] = []
    with_bias = "" if network.b is None or point.moves_bias else ", with this output bias,"

    def verdict(kind: Kind, *reasons: str, escape: Escape | None = None) -> Certificate:
        return Certificate(
            kind, residuals, np.empty(0), margin, np.nan, np.nan, escape, reasons, open_points=tuple(open_points)
        )

    if not loss.is_classification:
        residuals["fit"] = float(np.sqrt(value / at_zero)) if at_zero > 0.0 else float(np.sqrt(value))
        if residuals["fit"] <= rtol:
            return verdict(Kind.GLOBAL_MINIMUM, f"The loss {value:.3g} vanishes: the network fits every label.")
    if max(point.residual, point.bias_residual) > rtol:
        return verdict(
            Kind.NOT_STATIONARY,
            f"Zero is {max(point.residual, point.bias_residual):.3g} (relative) away from the subdifferential; "
            f"{rtol:.3g} was asked.",
        )
    scale = point.force_scale or 1.0
    found = [point.best_new_neuron(c) for c in range(network.num_outputs)]
    upper = max(best.upper for best in found)
    residuals["new_neuron_gain"] = upper / scale
    unanswered = max(
        unanswered_share(dataset, point.forces[:, c], point.label_forces[:, c], network.leak)
        for c in range(network.num_outputs)
    )
    fall = _fall(point) if loss.fades else None
    if fall is not None:
        residuals["loss_at_infinity"] = fall.loss_at_infinity
        open_points.append(_endless(fall, value, dataset.n))
    if upper <= rtol * scale and unanswered**2 <= rtol:
        gain = f"No neuron gains more than {residuals['new_neuron_gain']:.3g} of the total force at any output"
        if fall is not None:
            return verdict(Kind.STATIONARY, f"The point is stationary to {point.residual:.3g}.", f"{gain}.")
        return verdict(Kind.GLOBAL_MINIMUM, f"{gain}, so no network of any width{with_bias} has a smaller loss.")
    if loss.fades and fall is None:
        open_points.append(_OPEN_FALL)
    sizes = np.sqrt(network.squared_output_weights() + np.sum(network.w**2, axis=1))
    moves: list[NeuronMove] = []
    worst = 0.0
    for j in range(network.num_neurons):
        bound, own = point.gain_around(j, is_zero=bool(sizes[j] == 0.0))
        if bound > rtol * scale and 0.0 < sizes[j] <= zero_rtol * float(sizes.max()):
            bound, own = point.gain_around(j, is_zero=True)
        worst, moves = max(worst, bound / scale), moves + own
    residuals["neuron_gain"] = worst
    for move in (
        sorted(moves, key=lambda move: -float(np.linalg.norm(move.answer)))[:_MOST_TRIALS] if worst > rtol else ()
    ):
        if (escape := point.tried(move)) is not None:
            assert escape.neuron is not None  # a change of a neuron that is there
            return verdict(
                Kind.SADDLE,
                f"The point is stationary to {point.residual:.3g}.",
                f"Changing neuron {escape.neuron + 1} lowers the loss by {escape.actual_decrease:.6g} (measured).",
                escape=escape,
            )
    best = max(found, key=lambda best: best.value)
    wider = None
    if best.value > 0.0:
        u = best.vector / best.value
        answer = point.gamma(u)
        wider = point.tried(NeuronMove(None, u, answer / np.linalg.norm(answer), answer))
    reasons = []
    if wider is not None:
        reasons.append(
            "It is no minimum for wider networks: an additional neuron, started at zero, would lower the loss by "
            f"{wider.actual_decrease:.6g} (measured)."
        )
    if worst > rtol:
        open_points.append(
            f"A neuron might gain up to {worst:.3g} of the total force by turning its output weights, and no trial "
            "step did: whether this is a local minimum takes second derivatives, which were not computed."
        )
        return verdict(Kind.STATIONARY, f"The point is stationary to {point.residual:.3g}.", *reasons, escape=wider)
    if fall is not None:
        words = f"No neuron gains more than {worst:.3g} of the total force in any direction."
        return verdict(
            Kind.STATIONARY, f"The point is stationary to {point.residual:.3g}.", words, *reasons, escape=wider
        )
    words = f"No neuron gains more than {worst:.3g} of the total force in any direction, and the loss is convex."
    return verdict(Kind.LOCAL_MINIMUM, words, *reasons, escape=wider)
