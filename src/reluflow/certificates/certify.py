"""What a given network is: a global or local minimum, a saddle, a KKT or max-margin direction, or none of these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reluflow.arrays import IndexArray
from reluflow.certificates.certificate import Certificate, Kind
from reluflow.certificates.direction import certify_direction, certify_partial_direction, ignored_samples
from reluflow.certificates.endless_fall import UndecidedError, endless_fall
from reluflow.certificates.even_columns import even_columns
from reluflow.certificates.hard_margin import linear_separator
from reluflow.certificates.hidden_forces import TooLargeError, hidden_way, unanswered_share
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.minimum_norm_network import is_quick, minimum_norm_network, network_norm
from reluflow.certificates.several_outputs import Tolerances, certify_outputs
from reluflow.certificates.stationarity import (
    Escape,
    Stationarity,
    best_new_neuron,
    find_escape,
    stationarity,
    try_new_neuron,
)
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import AbstractLoss
from reluflow.network.network import Network

FADED = 1e-3  # share of the total force below which a classifier's samples count as fitted
NOT_CANCELLING = 1e-2  # pull of a neuron, relative to the forces on it, that is no equilibrium

__all__ = ["Certificate", "Kind", "certify"]


def certify(
    network: Network,
    dataset: Dataset,
    loss: AbstractLoss,
    *,
    rtol: float = 1e-6,
    active_rtol: float = 1e-6,
    kink_rtol: float = 1e-7,
    zero_rtol: float = 1e-6,
    with_norm: bool = False,
    max_seconds: float = np.inf,
    trains_output_bias: bool = True,
) -> Certificate:
    r"""Decide what a network is for this dataset and loss.

    A network that classifies every sample under a classification loss is judged by its direction (its loss only
    vanishes at infinity), and so is one that classifies every sample on which some neuron is active; any other by its
    stationarity, in columns of like size: a force along a small column is small beside the others and may still
    matter most.

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
        A neuron on which something pulls counts as zero below this times the largest one. A neuron on which nothing
        pulls is judged where it stands, at any size.
    with_norm
        Whether to say of a network that fits every label how far its norm $\sum_j |a_j| |w_j|$ is above the least,
        where that takes a second or two.
    max_seconds
        Processor time for the best margin of any network, beside which a classifier is put; 0: that is not sought, nor
        for several outputs the slopes at kinks that leave least of a direction that is not KKT.
    trains_output_bias
        Whether an output bias, where the network has one, may change. With one, or with several outputs, the best
        margin of any network and the least norm of a fit stay open, and `multipliers` of classes have shape (n, K).

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
    loss.check_labels(dataset.y, dataset.classes)
    if network.num_outputs != dataset.num_outputs:
        raise InvalidInputError(
            f"`network` must have the {dataset.num_outputs} outputs that `dataset` asks for, got {network.num_outputs}."
        )
    if network.num_outputs > 1 or network.b is not None:
        tolerances = Tolerances(rtol, active_rtol, kink_rtol, zero_rtol)
        return certify_outputs(
            *(network, dataset, loss, tolerances),
            trains_output_bias=trains_output_bias,
            is_hasty=max_seconds <= 0.0,
        )
    linear, margin = np.nan, np.nan
    if dataset.is_binary:
        linear = linear_separator(dataset).margin
        margin = normalized_margin(network, dataset) if np.any(network.w) or np.any(network.a) else np.nan
    if loss.is_classification and margin > 0.0:
        return certify_direction(
            network,
            dataset,
            linear,
            rtol=rtol,
            active_rtol=active_rtol,
            kink_rtol=kink_rtol,
            max_seconds=max_seconds,
        )
    if loss.is_classification and (ignored := ignored_samples(network, dataset)).size:
        return certify_partial_direction(
            network, dataset, loss, ignored, linear, rtol=rtol, active_rtol=active_rtol, kink_rtol=kink_rtol
        )
    even = even_columns(network, dataset)
    point = _certify_point(even.network, even.dataset, loss, margin, linear, rtol, kink_rtol, zero_rtol)
    point = replace(point, escape=even.brought_back(point.escape))
    return _with_norm(point, network, dataset, rtol) if with_norm and "fit" in point.residuals else point


def _with_norm(point: Certificate, network: Network, dataset: Dataset, rtol: float) -> Certificate:
    """The certificate of a fit, with its norm beside the least one."""
    if point.residuals["fit"] > rtol or not is_quick(dataset) or not np.any(dataset.y):
        return point
    least = minimum_norm_network(dataset, network.leak)
    norm = network_norm(network)
    above = norm / least.lower - 1.0
    words = (
        f"Its norm sum |a_j| |w_j| = {norm:.9g} is {above:.3%} above {least.lower:.9g}, which no network that fits "
        f"stays below (a network of norm {least.norm:.9g} fits)."
    )
    if not least.is_exact:
        words += " The bound is a relaxation and may be loose."
    residuals = point.residuals | {"norm_above_minimum": above, "minimum_norm_gap": least.gap}
    return replace(point, residuals=residuals, reasons=(*point.reasons, words), norm=norm, minimum_norm=least.lower)


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
    open_points: list[str] = []

    def verdict(kind: Kind, *reasons: str) -> Certificate:
        return Certificate(
            kind, residuals, np.empty(0), margin, linear, np.nan, escape, reasons, open_points=tuple(open_points)
        )

    if not loss.is_classification:
        residuals["fit"] = float(np.sqrt(point.loss / at_zero)) if at_zero > 0.0 else float(np.sqrt(point.loss))
        if residuals["fit"] <= rtol:
            return verdict(Kind.GLOBAL_MINIMUM, f"The loss {point.loss:.3g} vanishes: the network fits every label.")
    if point.residual > rtol:
        return verdict(
            Kind.NOT_STATIONARY,
            f"Zero is {point.residual:.3g} (relative) away from the subdifferential; {rtol:.3g} was asked.",
        )
    if loss.fades:
        try:
            fall = endless_fall(network, dataset, loss, point.kinks)
        except UndecidedError as undecided:
            open_points.append(f"Whether the loss has a minimum in these activation patterns is open: {undecided}")
        else:
            if fall is not None:
                residuals["loss_at_infinity"] = fall.loss_at_infinity
                return verdict(Kind.NOT_STATIONARY, fall.sentence(point.loss, dataset.n))
    if loss.is_classification and (fading := _fading_neurons(network, dataset, point)).size:
        return verdict(
            Kind.NOT_STATIONARY,
            f"The forces on neuron {int(fading[0]) + 1} are small but do not cancel: it grows, and a minimum, if there "
            "is one, is far away.",
        )
    try:
        way = hidden_way(network, dataset, loss, point, rtol)
    except TooLargeError as words:
        open_points.append(
            f"Whether small forces along directions in which samples hardly differ matter is open: {words}"
        )
    else:
        if way is not None and way.share > rtol:
            residuals["hidden_decrease"] = way.share
            return verdict(
                Kind.NOT_STATIONARY,
                f"Zero is {point.residual:.3g} (relative) away from the subdifferential, but only as the samples "
                f"hardly differ in some directions: along these a move of neuron {way.neuron + 1} lowers the loss by "
                f"{way.share:.3g} of itself (measured). Train longer, or bring the inputs to like size.",
            )
        if way is not None:
            open_points.append(
                f"Neuron {way.neuron + 1} should lower the loss along directions in which the samples hardly differ "
                f"(it answers {way.answered:.3g} of the forces there), yet no trial step confirmed it."
            )
    best = best_new_neuron(network, dataset, point)
    scale = point.force_scale or 1.0
    residuals["new_neuron_gain"] = best.upper / scale
    unanswered = unanswered_share(dataset, point.forces, loss.label_forces(dataset.y), network.leak)
    if best.upper <= rtol * scale and unanswered**2 <= rtol:  # squared: what the loss could fall by, about
        return verdict(
            Kind.GLOBAL_MINIMUM,
            f"No neuron of either sign gains more than {residuals['new_neuron_gain']:.3g} of the total force, "
            "so no network of any width has a smaller loss.",
        )
    found = find_escape(network, dataset, loss, point, gain_rtol=rtol, zero_rtol=zero_rtol)
    escape, worst = found.escape, found.gain
    residuals["neuron_gain"] = worst
    open_points += [_on_the_boundary(neuron, sample) for neuron, sample in found.doubtful[:3]]
    if escape is not None:
        assert escape.neuron is not None  # a change of a neuron that is there
        taken = f" Neuron {escape.neuron + 1}, on which a force acts, is light enough to count as zero."
        return verdict(
            Kind.SADDLE,
            f"The point is stationary to {point.residual:.3g}.{taken if escape.neuron in found.at_zero else ''}",
            f"Changing neuron {escape.neuron + 1} lowers the loss by {escape.actual_decrease:.6g} (measured).",
        )
    if worst > rtol:
        return verdict(
            Kind.NOT_STATIONARY,
            f"A neuron should gain {worst:.3g} of the total force, yet no trial step confirmed it: the point is not "
            "stationary accurately enough to distinguish a saddle from a minimum; train longer.",
        )
    if found.bound > rtol:
        open_points.append(
            f"The activation patterns around a neuron were searched, not enumerated: a gain of up to {found.bound:.3g} "
            "of the total force is not excluded."
        )
    escape = try_new_neuron(network, dataset, loss, best)
    reasons = [f"No neuron gains more than {worst:.3g} of the total force in any direction, and the loss is convex."]
    if escape is not None:
        reasons.append(
            "It is a local minimum for this network but not for wider ones: an additional neuron, started at zero, "
            f"would lower the loss by {escape.actual_decrease:.6g} (measured)."
        )
    return verdict(Kind.LOCAL_MINIMUM, *reasons)


def _fading_neurons(network: Network, dataset: Dataset, point: Stationarity) -> IndexArray:
    """Neurons whose pull is small because the forces on them are, not because they cancel, and that grow under it."""
    own = np.where(network.pre_activations(dataset.X) > 0.0, 1.0, network.leak) * np.abs(point.forces)
    felt = own @ np.linalg.norm(dataset.X, axis=1)
    pull = np.linalg.norm(point.pulls, axis=1)
    along = np.sign(network.a) * np.einsum("jd,jd->j", network.w, point.pulls)
    is_light = felt <= FADED * point.force_scale
    return np.flatnonzero(is_light & (pull > NOT_CANCELLING * felt) & (along > 0.0) & (felt > 0.0))


def _on_the_boundary(neuron: int, sample: int) -> str:
    return (
        f"Neuron {neuron + 1} stands closer to the boundary of sample {sample + 1} than can be resolved: beside it the "
        "point is a local minimum, on it a saddle."
    )
