"""What the direction of a classifier is: max-margin, KKT, nearly KKT, or KKT on the samples it does not ignore."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import IndexArray
from reluflow.certificates.approximate_kkt import approximate_kkt
from reluflow.certificates.certificate import Certificate, Kind
from reluflow.certificates.kkt import KKTCertificate, kkt_certificate, normalized_margin
from reluflow.certificates.network_margin import is_tractable, network_margin
from reluflow.data.dataset import Dataset
from reluflow.losses import AbstractLoss
from reluflow.network.network import Network, row_norms

ON_BOUNDARY = 1e-9  # |<w, x>| / |w| |x| of a neuron that stands on the boundary of x


def certify_direction(
    network: Network,
    dataset: Dataset,
    linear: float,
    *,
    rtol: float,
    active_rtol: float,
    kink_rtol: float,
    max_seconds: float = np.inf,
) -> Certificate:
    """Judge the direction of a network that classifies every sample; `linear` is the margin of the best line.

    The best margin of any network is sought for `max_seconds` of processor time at most, and for 0 not at all.
    """
    kkt = kkt_certificate(network, dataset, active_rtol=active_rtol, kink_rtol=kink_rtol)
    if kkt.residual > rtol:
        return _nearly(network, dataset, linear, kkt, rtol, max_seconds)
    residuals = _residuals(kkt)
    met = f"The direction meets the KKT conditions to {kkt.residual:.3g}."

    def verdict(kind: Kind, best: float, bound: float, *reasons: str) -> Certificate:
        return Certificate(
            kind, residuals, kkt.multipliers, kkt.margin, linear, best, None, (met, *reasons), margin_bound=bound
        )

    if max_seconds <= 0.0:
        words = "The best margin of any network was not sought, so whether it is global is open."
        return verdict(Kind.KKT_DIRECTION, np.nan, np.nan, words)
    if not is_tractable(dataset, network.leak):
        words = "The best margin of any network is out of reach at this size, so whether it is global is open."
        return verdict(Kind.KKT_DIRECTION, np.nan, np.nan, words)
    best = network_margin(dataset, network.leak, max_seconds=max_seconds)
    shortfall = max((best.upper - kkt.margin) / best.upper, 0.0)
    residuals |= {"global_margin_shortfall": shortfall, "global_margin_gap": best.gap}
    if shortfall <= rtol:
        words = f"Its margin {kkt.margin:.9g} is within {shortfall:.3g} of a bound no network exceeds."
        return verdict(Kind.MAX_MARGIN, best.margin, best.upper, words)
    if kkt.margin < best.margin * (1.0 - rtol):
        words = f"Its margin {kkt.margin:.9g} is below {best.margin:.9g}, which an explicit network attains."
    else:
        words = (
            f"Whether its margin {kkt.margin:.9g} is the largest is open: the bound {best.upper:.9g} on all "
            "networks is not tight enough to tell."
        )
    return verdict(Kind.KKT_DIRECTION, best.margin, best.upper, words)


def _residuals(kkt: KKTCertificate) -> dict[str, float]:
    return {
        "kkt": kkt.residual,
        "complementarity": kkt.complementarity,
        "balance": kkt.balance,
        "multiplier_sum": kkt.multiplier_sum_error,
    }


def _nearly(
    network: Network, dataset: Dataset, linear: float, kkt: KKTCertificate, rtol: float, max_seconds: float
) -> Certificate:
    """How far from KKT: the best multipliers over all samples, which a trained network that has not converged needs."""
    near = approximate_kkt(network, dataset)
    residuals = {"kkt": near.residual, "epsilon": near.epsilon, "delta": near.delta, "balance": kkt.balance}
    reasons = [
        f"The direction misses the KKT conditions by {near.residual:.3g} of its norm; {rtol:.3g} was asked."
        if near.residual > rtol
        else f"The direction is stationary to {near.residual:.3g}, but with multipliers off the smallest margin.",
        near.sentence(),
    ]
    best = bound = np.nan
    if max_seconds > 0.0 and is_tractable(dataset, network.leak):
        found = network_margin(dataset, network.leak, max_seconds=max_seconds)
        best, bound = found.margin, found.upper
        if best > 0.0:
            reasons.append(
                f"Its normalised margin {kkt.margin:.6g} is {kkt.margin / best:.1%} of the best found, {best:.6g}; "
                f"no network has more than {found.upper:.6g}."
            )
    return Certificate(
        Kind.NOT_STATIONARY,
        residuals,
        near.multipliers,
        kkt.margin,
        linear,
        best,
        None,
        tuple(reasons),
        margin_bound=bound,
    )


def ignored_samples(network: Network, dataset: Dataset) -> IndexArray:
    """Samples on which no neuron is active, where all others are classified; empty where that is not so.

    The network is 0 on them and pulls on no neuron come from them: they are ignored for as long as no neuron turns
    towards them. A leak leaves no sample out.
    """
    products = network.pre_activations(dataset.X)
    lengths = row_norms(network.w)[:, None] * np.linalg.norm(dataset.X, axis=1)
    is_alive = np.any(network.w != 0.0, axis=1)  # an output weight of 0 is passed through on the way to another sign
    # a neuron that slides along a boundary is off it by rounding, to either side
    is_left_out = ~np.any((products > ON_BOUNDARY * lengths) & is_alive[:, None], axis=0)
    # a sample at zero is left out by every network and can be learnt by none
    is_left_out &= np.any(dataset.X != 0.0, axis=1)
    if network.leak > 0.0 or not is_left_out.any() or is_left_out.all():
        return np.empty(0, dtype=np.intp)
    outputs = network.replace(log_scale=0.0).outputs(dataset.X)
    is_right = bool(np.all(dataset.y[~is_left_out] * outputs[~is_left_out] > 0.0))
    return np.flatnonzero(is_left_out) if is_right else np.empty(0, dtype=np.intp)


def certify_partial_direction(
    network: Network,
    dataset: Dataset,
    loss: AbstractLoss,
    ignored: IndexArray,
    linear: float,
    *,
    rtol: float,
    active_rtol: float,
    kink_rtol: float,
) -> Certificate:
    """Judge the direction of a network that classifies every sample on which a neuron is active.

    Along such a direction the loss tends to that of the ignored samples at output 0, which is not attained.
    """
    rest = np.setdiff1d(np.arange(dataset.n), ignored)
    kept = dataset.subset(rest)
    kkt = kkt_certificate(network, kept, active_rtol=active_rtol, kink_rtol=kink_rtol, walls=dataset.subset(ignored))
    names = ", ".join(str(int(k) + 1) for k in ignored[:10]) + (", ..." if ignored.size > 10 else "")
    per_sample = loss.total(np.zeros(dataset.n), dataset.y) / dataset.n
    left = ignored.size * per_sample
    plural = "s" if ignored.size > 1 else ""
    sentence = (
        f"No neuron is active on sample{plural} {names}: the output there is 0, and the loss tends to {left:.9g}, not "
        "to 0, while the norm grows without bound."
    )
    multipliers = np.zeros(dataset.n)
    if kkt.residual > rtol:
        near = approximate_kkt(network, kept)
        multipliers[rest] = near.multipliers
        residuals = {"kkt": near.residual, "epsilon": near.epsilon, "delta": near.delta, "balance": kkt.balance}
        words = f"On the other samples the direction misses the KKT conditions by {kkt.residual:.3g} of its norm."
        return Certificate(
            Kind.NOT_STATIONARY, residuals, multipliers, 0.0, linear, np.nan, None, (words, near.sentence())
        )
    multipliers[rest] = kkt.multipliers
    reasons = (
        sentence,
        f"On the other {rest.size} samples the direction meets the KKT conditions to {kkt.residual:.3g}, with "
        f"normalised margin {normalized_margin(network, kept):.9g}.",
    )
    residuals = _residuals(kkt) | {"loss_at_infinity": left}
    return Certificate(
        Kind.PARTIAL_DIRECTION,
        residuals,
        multipliers,
        0.0,
        linear,
        np.nan,
        None,
        reasons,
        open_points=_touching(network, dataset, ignored, kink_rtol),
        ignored=tuple(int(k) for k in ignored),
    )


def _touching(network: Network, dataset: Dataset, ignored: IndexArray, kink_rtol: float) -> tuple[str, ...]:
    """A sentence for a neuron that stands on the boundary of an ignored sample that would pull it in."""
    products = network.pre_activations(dataset.X[ignored])
    lengths = row_norms(network.w)[:, None] * np.linalg.norm(dataset.X[ignored], axis=1)
    is_pulled = np.sign(network.a)[:, None] * dataset.y[ignored] > 0.0
    pairs = np.argwhere((np.abs(products) <= kink_rtol * lengths) & (lengths > 0.0) & is_pulled)
    return tuple(
        f"Neuron {int(j) + 1} stands on the boundary of sample {int(ignored[k]) + 1}, which would pull it in: whether "
        "the sample stays ignored is not decided."
        for j, k in pairs[:3]
    )
