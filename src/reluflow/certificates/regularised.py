"""What a network is for the loss with a penalty on its weights, or with its output layer held fixed.

With forces r and G_r(w) = sum_k r_k phi(<w, x_k>), convexity of the loss in the outputs bounds what any other network
gains: L' - L >= -sum_j a'_j G_r(w'_j) + sum_j a_j G_r(w_j). Under weight decay lambda on all weights a neuron costs at
least lambda |a'| |w'|, so where |G_r| <= lambda on the unit sphere no network of any width has a smaller objective than
one with sum_j a_j G_r(w_j) = its penalty. With the output weights a_j held fixed each neuron gains at most
a_j^2 U^2 / (2 lambda), U the largest sign(a_j) G_r on the unit sphere. What is left of these bounds is the `gap`: zero
proves a global minimum, and every word here is one of that problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.certificates.best_neuron import BestNeuron, NeuronOracle
from reluflow.certificates.certificate import Certificate, Kind
from reluflow.certificates.endless_fall import UndecidedError, endless_fall
from reluflow.certificates.stationarity import Escape
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.geometry.boundary.minimum_norm import box_minimum_norm
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.losses import AbstractLoss
from reluflow.network.network import Network, row_norms

_STEPS = 10.0 ** -np.arange(9.0)  # lengths tried on a way down, relative to the largest neuron


@dataclass(frozen=True, eq=False)
class _Point:
    """The network with its scale multiplied in, and what the objective is and does there."""

    network: Network
    dataset: Dataset
    loss: AbstractLoss
    weight_decay: float
    trains_output_layer: bool
    forces: FloatArray

    @classmethod
    def of(cls, network: Network, dataset: Dataset, loss: AbstractLoss, decay: float, trains: bool) -> _Point:
        plain = network.materialized()
        return cls(plain, dataset, loss, decay, trains, loss.forces(plain.outputs(dataset.X), dataset.y))

    def penalty(self, network: Network) -> float:
        squares = np.einsum("jd,jd->j", network.w, network.w)
        squares = squares + np.square(network.a) if self.trains_output_layer else squares
        return float(0.5 * self.weight_decay * (network.weight @ squares))

    def objective(self, network: Network) -> float:
        return self.loss.total(network.outputs(self.dataset.X), self.dataset.y) + self.penalty(network)

    @property
    def scale(self) -> float:
        """The larger of the forces together, here and at output zero, and the decay."""
        lengths = np.linalg.norm(self.dataset.X, axis=1)
        start = np.abs(self.loss.label_forces(self.dataset.y)) @ lengths
        return float(max(np.abs(self.forces) @ lengths, start, self.weight_decay))

    def best_neuron(self, signs: tuple[int, ...] = (1, -1)) -> BestNeuron:
        oracle = NeuronOracle(self.dataset.X, np.sign(self.forces), self.network.leak, signs=signs)
        return oracle.best(self.forces)

    def kinks(self, kink_rtol: float) -> BoolArray:
        """Which <w_j, x_k> count as zero, shape (num_neurons, n)."""
        lengths = row_norms(self.network.w)[:, None] * np.linalg.norm(self.dataset.X, axis=1)
        return np.asarray(np.abs(self.network.pre_activations(self.dataset.X)) <= kink_rtol * lengths)

    def residual(self, kinks: BoolArray) -> float:
        """Distance of zero to the subdifferential over the weights that are trained, relative to |theta| scale."""
        network, X, decay = self.network, self.dataset.X, self.weight_decay
        heights, sizes = network.pre_activations(X), row_norms(network.w)
        lengths = np.linalg.norm(X, axis=1)
        slopes = np.where(heights > 0.0, 1.0, network.leak)
        pulls = (slopes * ~kinks * self.forces) @ X
        tolerance = ROUNDING * float(np.abs(self.forces) @ lengths)
        squares = np.empty(network.num_neurons)
        for j in range(network.num_neurons):
            w, a, count = network.w[j], float(network.a[j]), int(np.sum(kinks[j]))
            if a == 0.0:
                turned = decay * float(sizes[j])
            else:  # |a D - decay w| is smallest where D - decay w / a is
                rows = self.forces[kinks[j], None] * X[kinks[j]]
                ends = np.full(count, network.leak), np.ones(count)
                shortest, _ = box_minimum_norm(pulls[j] - decay * w / a, rows, *ends, tolerance)
                turned = abs(a) * float(np.linalg.norm(shortest))
            grown = float(w @ pulls[j]) - decay * a if self.trains_output_layer else 0.0
            squares[j] = turned**2 + grown**2
        size = float(np.sqrt(network.weight @ (np.square(network.a) + sizes**2)))
        return float(np.sqrt(network.weight @ squares)) / (size * self.scale) if size > 0.0 else 0.0

    def fitted(self) -> float:
        """sum_j weight_j a_j G_r(w_j) = sum_k r_k h(x_k)."""
        return float(self.forces @ self.network.outputs(self.dataset.X))


def certify_variant(
    network: Network,
    dataset: Dataset,
    loss: AbstractLoss,
    *,
    weight_decay: float = 0.0,
    trains_output_layer: bool = True,
    rtol: float = 1e-6,
    kink_rtol: float = 1e-7,
    zero_rtol: float = 1e-6,
) -> Certificate:
    """Decide what a network is for the loss with weight decay, or with its output layer frozen.

    Parameters
    ----------
    network, dataset, loss
        As for `certify`.
    weight_decay
        lambda of the penalty (lambda/2) sum_j weight_j (|w_j|^2 + a_j^2), without the a_j where they are frozen.
    trains_output_layer
        Whether the output weights may change.
    rtol, kink_rtol, zero_rtol
        As for `certify`.

    Returns
    -------
    Certificate
        `global-minimum`, `saddle` with a way down that was tried, `stationary` where neither was proved, or
        `not-stationary`: each of the problem with the penalty, over the weights that are trained. The residual `gap` is
        what is left of the bound in the module's words, relative to the objective.

    Examples
    --------
    >>> from reluflow.losses import SquareLoss
    >>> side = np.sqrt(1.5)
    >>> network = Network(w=[[side]], a=[side])
    >>> certify_variant(network, Dataset([[1.0]], [2.0]), SquareLoss(), weight_decay=0.5).kind.value
    'global-minimum'
    """
    if weight_decay == 0.0 and trains_output_layer:
        raise InvalidInputError(
            "`weight_decay` must be positive or `trains_output_layer` False; `certify` does the rest."
        )
    if not (np.isfinite(weight_decay) and weight_decay >= 0.0):
        raise InvalidInputError(f"`weight_decay` must be finite and at least 0, got {weight_decay}.")
    if network.d != dataset.d:
        raise InvalidInputError(
            f"`network` expects inputs of dimension {network.d} but `dataset` has dimension {dataset.d}; "
            "`dataset.with_bias()` adds the constant coordinate."
        )
    dataset.refuse_several_outputs("a certificate with weight decay or a frozen output layer")
    if network.b is not None:
        raise InvalidInputError(
            "`network` must have no output bias for a certificate with weight decay or a frozen output layer, got one; "
            "leave it out (`--output-bias none`)."
        )
    loss.check_labels(dataset.y, dataset.classes)
    point = _Point.of(network, dataset, loss, float(weight_decay), trains_output_layer)
    objective, kinks = point.objective(point.network), point.kinks(kink_rtol)
    residuals = {
        "stationarity": point.residual(kinks),
        "loss": loss.total(point.network.outputs(dataset.X), dataset.y),
        "penalty": point.penalty(point.network),
    }
    escape: Escape | None = None

    def verdict(kind: Kind, *reasons: str, open_points: tuple[str, ...] = ()) -> Certificate:
        return Certificate(
            kind, residuals, np.empty(0), np.nan, np.nan, np.nan, escape, reasons, open_points=open_points
        )

    if residuals["stationarity"] > rtol:
        return verdict(
            Kind.NOT_STATIONARY,
            f"Zero is {residuals['stationarity']:.3g} (relative) away from the subdifferential of {_name(point)}; "
            f"{rtol:.3g} was asked.",
        )
    if not trains_output_layer:
        return _frozen_verdict(point, objective, kinks, residuals, rtol, verdict)
    best = point.best_neuron()
    residuals["new_neuron_gain"] = max(best.upper - weight_decay, 0.0) / point.scale
    residuals["gap"] = abs(residuals["penalty"] - point.fitted()) / (objective or 1.0)
    if residuals["new_neuron_gain"] <= rtol and residuals["gap"] <= rtol:
        return verdict(
            Kind.GLOBAL_MINIMUM,
            f"No neuron of either sign gains more than the decay {weight_decay:g} per unit of |a| |w| "
            f"(at most {best.upper:.6g}), so no network of any width has a smaller regularised loss.",
        )
    sizes = row_norms(np.column_stack([point.network.w, point.network.a]))
    light = np.flatnonzero(sizes <= zero_rtol * float(np.max(sizes)))
    if not np.any(sizes):
        light = np.arange(len(sizes))
    if light.size and (escape := _way_down(point, best, int(light[0]))) is not None:
        return verdict(
            Kind.SADDLE,
            f"The point is stationary to {residuals['stationarity']:.3g}. Neuron {light[0] + 1} is light enough to "
            f"count as zero, and growing it lowers the regularised loss by {escape.actual_decrease:.6g} (measured).",
        )
    reasons = [f"The point is stationary to {residuals['stationarity']:.3g} for the regularised loss."]
    escape = _way_down(point, best, None)
    if escape is not None:
        reasons.append(
            "It is not a global one over all widths: a further neuron would lower the regularised loss by "
            f"{escape.actual_decrease:.6g} (measured)."
        )
    return verdict(Kind.STATIONARY, *reasons, open_points=(_UNDECIDED,))


_UNDECIDED = "Whether it is a local minimum takes second derivatives, which were not computed."


def _name(point: _Point) -> str:
    words = "the regularised loss" if point.weight_decay else "the loss"
    return words if point.trains_output_layer else f"{words} in the input weights"


def _frozen_verdict(
    point: _Point,
    objective: float,
    kinks: BoolArray,
    residuals: dict[str, float],
    rtol: float,
    verdict: Callable[..., Certificate],
) -> Certificate:
    """With the output weights held fixed every neuron is bounded by itself."""
    network, decay = point.network, point.weight_decay
    if decay == 0.0 and point.loss.fades:
        try:
            fall = endless_fall(network, point.dataset, point.loss, kinks)
        except UndecidedError as undecided:
            words = f"The point is stationary to {residuals['stationarity']:.3g}."
            left = f"Whether the loss has a minimum in these activation patterns is open: {undecided}"
            return verdict(Kind.STATIONARY, words, open_points=(left,))
        if fall is not None:
            residuals["loss_at_infinity"] = fall.loss_at_infinity
            return verdict(Kind.NOT_STATIONARY, fall.sentence(objective, point.dataset.n))
    slack = 0.0
    for sign in (1, -1):
        members = network.a * sign > 0.0
        if not np.any(members):
            continue
        upper = point.best_neuron((sign,)).upper
        total = float(network.weight[members] @ np.square(network.a[members]))
        if decay > 0.0:
            slack += total * upper**2 / (2.0 * decay)
        elif upper > rtol * point.scale:
            slack = np.inf
    gap = max(slack - (point.fitted() - point.penalty(network)), 0.0)
    residuals["gap"] = gap / (objective or 1.0)
    if residuals["gap"] <= rtol or (decay == 0.0 and objective <= (rtol**2) * _at_zero(point)):
        return verdict(
            Kind.GLOBAL_MINIMUM,
            f"No input weights of these {network.num_neurons} neurons, their output weights as they are, have an "
            f"objective below {objective:.6g} by more than {residuals['gap']:.3g} of it."
            if residuals["gap"] <= rtol
            else f"The loss {objective:.3g} vanishes: the network fits every label.",
        )
    words = f"The point is stationary to {residuals['stationarity']:.3g} for {_name(point)}, the output weights fixed."
    return verdict(Kind.STATIONARY, words, open_points=(_UNDECIDED,))


def _at_zero(point: _Point) -> float:
    return point.loss.total(np.zeros(point.dataset.n), point.dataset.y)


def _way_down(point: _Point, best: BestNeuron, neuron: int | None) -> Escape | None:
    """Grow the best neuron, or one of the network's that is light, and measure what it does to the objective."""
    if not best.value > point.weight_decay:
        return None
    network = point.network
    if neuron is None:
        network = network.replace(
            w=np.vstack([network.w, np.zeros(network.d)]),
            a=np.append(network.a, 0.0),
            weight=np.append(network.weight, 1.0),
        )
    place = network.num_neurons - 1 if neuron is None else neuron
    direction = best.vector / best.value
    before = point.objective(point.network)
    size = float(np.max(row_norms(np.column_stack([network.w, network.a])))) or 1.0
    found: Escape | None = None
    for step in size * _STEPS:
        w, a = network.w.copy(), network.a.copy()
        w[place], a[place] = step * direction, best.sign * step
        lower = before - point.objective(network.replace(w=w, a=a))
        if lower > 1e-14 * before and (found is None or lower > found.actual_decrease):
            change = w[place] - network.w[place]
            predicted = float(network.weight[place]) * step**2 * (best.value - point.weight_decay)
            found = Escape(neuron, change, float(a[place] - network.a[place]), predicted, lower)
    return found
