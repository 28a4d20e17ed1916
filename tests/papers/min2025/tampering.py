"""False evidence: what the forgeries of the contract change in a run or in what was measured on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from forging import ALL, LATER, with_record, with_snapshots
from reluflow.dynamics.trajectory import Snapshot
from reluflow.losses import SoftmaxLoss
from reluflow.losses.coupled import CoupledFormulas
from reluflow.network import Network
from reluflow.papers.min2025.class_geometry import ClassGeometry, pseudo_labels
from reluflow.papers.min2025.theorems.class_cones import (
    Combinations,
    DrawnDirections,
    DrawnForces,
    DrawnOutputWeights,
)
from reluflow.papers.min2025.theorems.class_margins import DrawnDifferences, SidewaysDirections
from reluflow.papers.min2025.theorems.max_margin import ClassMarginPoint
from reluflow.theory.evidence import Evidence


def states(
    evidence: Evidence, change: Callable[[Network], Network], at: int | slice = -1, *, outputs: bool = True
) -> Evidence:
    """Recorded networks changed, with their outputs and losses unless these are to stay."""
    data, loss = evidence.dataset, evidence.problem.loss

    def changed(snapshot: Snapshot) -> Snapshot:
        network = change(snapshot.network)
        if not outputs:
            return replace(snapshot, network=network)
        h = network.outputs(data.X)
        return replace(snapshot, network=network, outputs=h, loss=loss.total(h, data.y))

    return with_snapshots(evidence, changed, at=at)


def scaled(evidence: Evidence, factor: float, at: int | slice = -1, *, outputs: bool = True) -> Evidence:
    return states(evidence, lambda n: n.replace(w=factor * n.w, v=factor * n.v), at, outputs=outputs)


def first_neuron(network: Network, **parts: Callable[[np.ndarray], np.ndarray]) -> Network:
    """The first neuron changed, in `w`, in `v` or in both."""
    changed = {}
    for name, change in parts.items():
        rows = getattr(network, name).copy()
        rows[0] = change(rows[0])
        changed[name] = rows
    return network.replace(**changed)


def nowhere(evidence: Evidence, at: int | slice = -1) -> Evidence:
    """The first neuron is turned off its own first class, to fire on nothing it should not.

    Its direction is minus the sum of all samples it fires on, made orthogonal to the others it must not reach.
    """
    data = evidence.dataset

    def change(network: Network) -> Network:
        w = network.w[0]
        active = data.X[data.X @ w > 0.0]
        away = np.linalg.norm(w) * -active.sum(axis=0) / np.linalg.norm(active.sum(axis=0))
        others = data.X[data.X @ w <= 0.0]
        for _ in range(2000):  # onto the cone where no other sample is active
            worst = others[np.argmax(others @ away)]
            if worst @ away <= 0.0:
                break
            away = away - 1.01 * (worst @ away) / (worst @ worst) * worst
        return first_neuron(network, w=lambda _: away)

    return states(evidence, change, at)


def foreign_on(evidence: Evidence, at: int | slice = -1, *, share: float = 1.0) -> Evidence:
    """The first neuron fires on a sample of another class too."""
    geometry = ClassGeometry.of(evidence.dataset)

    def change(network: Network) -> Network:
        w = network.w[0]
        own = geometry.labels[int(np.argmax(geometry.X @ w))]
        other = geometry.X[geometry.members[(own + 1) % geometry.num_classes][0]]
        lift = share * (1e-3 * np.linalg.norm(w) * np.linalg.norm(other) - w @ other) / (other @ other)
        return first_neuron(network, w=lambda row: row + lift * other)

    return states(evidence, change, at)


def labels_rotated(evidence: Evidence, at: int | slice = -1, *, angle: float = 1.2) -> Evidence:
    """The output weights of the first neuron turned in the plane of the first two outputs."""
    turn = np.eye(evidence.problem.num_outputs)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return states(evidence, lambda n: first_neuron(n, v=lambda v: turn @ v), at)


def inputs_tilted(evidence: Evidence, at: int | slice = LATER, *, share: float = 0.1) -> Evidence:
    """The first neuron leans towards one sample of its class, at all late times: no nearness at one time is forged."""

    def change(network: Network) -> Network:
        w = network.w[0]
        x = evidence.dataset.X[int(np.argmax(evidence.dataset.X @ w))]
        lean = share * np.linalg.norm(w) * x / np.linalg.norm(x)
        return first_neuron(network, w=lambda row: row + lean)

    return states(evidence, change, at, outputs=False)


def class_means(evidence: Evidence) -> Evidence:
    """The input weights of every late time point along class means in place of max-margin directions."""
    geometry = ClassGeometry.of(evidence.dataset)

    def change(network: Network) -> Network:
        own = geometry.labels[np.argmax(network.w @ geometry.X.T, axis=1)]
        mean = geometry.sums[own] / np.linalg.norm(geometry.sums[own], axis=1, keepdims=True)
        return network.replace(w=mean * np.linalg.norm(network.w, axis=1, keepdims=True))

    return states(evidence, change, LATER, outputs=False)


def one_hot(evidence: Evidence) -> Evidence:
    """The output weights of every late time are one-hot, and not centred."""
    geometry = ClassGeometry.of(evidence.dataset)

    def change(network: Network) -> Network:
        own = geometry.labels[np.argmax(network.w @ geometry.X.T, axis=1)]
        rows = np.eye(geometry.num_classes)[own]
        return network.replace(v=rows * np.linalg.norm(network.v, axis=1, keepdims=True))

    return states(evidence, change, LATER, outputs=False)


def equal_shares(evidence: Evidence) -> Evidence:
    """All classes have the same share of the norm at every late time."""
    geometry = ClassGeometry.of(evidence.dataset)

    def change(network: Network) -> Network:
        own = geometry.labels[np.argmax(network.w @ geometry.X.T, axis=1)]
        sizes = np.array([np.linalg.norm(network.w[own == c]) for c in range(geometry.num_classes)])[own][:, None]
        return network.replace(w=network.w / sizes, v=network.v / sizes)

    return states(evidence, change, LATER, outputs=False)


def shared_neuron(evidence: Evidence) -> Evidence:
    """At late times the first neuron fires on a second class a little, which leaves the traps as they were at last."""
    return foreign_on(evidence, slice(1, -1))


def across_classes(evidence: Evidence) -> Evidence:
    """The combinations of the first class have the samples of the second too."""
    weights = evidence.recorded(Combinations).weights.copy()
    weights[:, 0] += weights[:, 1]
    return with_record(evidence, weights=weights)


@dataclass(frozen=True)
class SharpenedSoftmaxLoss(SoftmaxLoss):
    """Of the same name, with the forces of outputs that are multiplied: a softmax at a temperature below 1."""

    sharpness: float = 1.0

    @property
    def formulas(self) -> CoupledFormulas:
        true, factor = super().formulas, self.sharpness
        return true._replace(
            shared=lambda h, y: true.shared(factor * h, y),
            force=lambda h, y, c, shared: true.force(factor * h, y, c, shared),
        )


def sharpened(evidence: Evidence, sharpness: float) -> Evidence:
    """The probabilities of another temperature."""
    return replace(evidence, problem=replace(evidence.problem, loss=SharpenedSoftmaxLoss(sharpness=sharpness)))


def no_unit_vectors(evidence: Evidence, factor: float, low: float, high: float, least: float = -1.0) -> Evidence:
    """Output weights with B_1 between two numbers, and every B_c above `least`, are longer than 1."""
    v = evidence.recorded(DrawnOutputWeights).v.copy()
    B = v @ pseudo_labels(v.shape[1]).T
    v[(B[:, 0] > low) & (B[:, 0] < high) & (B[:, 1:].min(axis=1) > least)] *= factor
    return with_record(evidence, v=v)


def of_the_first_class(evidence: Evidence) -> Evidence:
    """The combinations of the second class are of samples of the first, and the same."""
    weights = evidence.recorded(Combinations).weights.copy()
    weights[:, 1] = weights[:, 0]
    return with_record(evidence, weights=weights)


def directions_stretched(evidence: Evidence, *, partly: bool) -> Evidence:
    """Rows that are no unit vectors: those that fire on a whole class and another, or all others."""
    w = evidence.recorded(DrawnDirections).w
    geometry = ClassGeometry.of(evidence.dataset)
    fires = w @ geometry.X.T > 0.0
    counts = np.column_stack([fires[:, members].sum(axis=1) for members in geometry.members])
    both = np.any(counts == geometry.sizes, axis=1) & ((counts > 0).sum(axis=1) > 1)
    only_full = np.all((counts == 0) | (counts == geometry.sizes), axis=1)
    chosen = ~both if partly else both & only_full
    return replace(evidence, record=DrawnDirections(np.where(chosen[:, None], 3.0 * w, w)))


def forces_changed(evidence: Evidence, factor: float) -> Evidence:
    drawn = evidence.recorded(DrawnForces)
    return with_record(evidence, r=factor * drawn.r)


def sideways_backwards(evidence: Evidence) -> Evidence:
    drawn = evidence.recorded(SidewaysDirections)
    directions = ClassGeometry.of(evidence.dataset).directions
    return with_record(evidence, xi=-directions[drawn.classes])


def across_shortened(evidence: Evidence) -> Evidence:
    """The parts across u_c are so short that samples, not probabilities, decide the sign of the trace."""
    drawn = evidence.recorded(DrawnDifferences)
    return with_record(evidence, across=tuple(1e-6 * part for part in drawn.across))


def directions_turned(evidence: Evidence, factor: float) -> Evidence:
    """Every u_c is turned away from a sample until the margin of its class is this part of gamma_c."""
    classes, turned = ClassGeometry.of(evidence.dataset), []
    for members, u, gamma in zip(classes.members, classes.directions, classes.gammas, strict=True):
        aside = classes.X[members] @ u / (u @ u) * u[:, None] - classes.X[members].T
        away = aside[:, np.argmax(np.linalg.norm(aside, axis=0))]
        away /= np.linalg.norm(away)

        def excess(angle, rows=classes.X[members], u=u, away=away, gamma=gamma):
            return np.min(rows @ (np.cos(angle) * u + np.sin(angle) * away)) - factor * gamma

        angle = brentq(excess, 0.0, 0.5 * np.pi)
        turned.append(np.cos(angle) * u + np.sin(angle) * away)
    return with_record(evidence, directions=np.array(turned))


def point_scaled(evidence: Evidence, factor: float, power: float) -> Evidence:
    """The margin point longer, its multipliers multiplied by a power of the factor."""
    point = evidence.recorded(ClassMarginPoint)
    network = point.network.replace(w=factor * point.network.w, v=factor * point.network.v)
    return with_record(evidence, network=network, multipliers=factor**power * point.multipliers)


def multipliers_elsewhere(evidence: Evidence) -> Evidence:
    return with_record(evidence, multipliers=1.1 * evidence.recorded(ClassMarginPoint).multipliers)


def losses_scaled(evidence: Evidence, factor: float) -> Evidence:
    return with_snapshots(evidence, lambda s: replace(s, loss=factor * s.loss), at=ALL)


def later(evidence: Evidence) -> Evidence:
    """The run at the smaller scale takes a tenth longer than it did."""
    (smaller,) = evidence.other_scales
    return replace(evidence, other_scales=(with_snapshots(smaller, lambda s: replace(s, time=1.1 * s.time), at=ALL),))


def outputs_far(evidence: Evidence) -> Evidence:
    """The recorded outputs are not those of the neurons, but large."""
    rng = np.random.default_rng(0)
    return with_snapshots(evidence, lambda s: replace(s, outputs=10.0 * rng.standard_normal(s.outputs.shape)), at=LATER)


def partly_on(evidence: Evidence) -> Evidence:
    """At the last time the first neuron fires on one sample of its class and not on the next."""

    def change(network: Network) -> Network:
        X, w = evidence.dataset.X, network.w[0]
        kept, lost = X[np.flatnonzero(X @ w > 0.0)[:2]]
        turned = kept - 1.001 * (kept @ lost) / (lost @ lost) * lost
        return first_neuron(network, w=lambda _: np.linalg.norm(w) * turned / np.linalg.norm(turned))

    return states(evidence, change, outputs=False)


def longer_positive(evidence: Evidence) -> Evidence:
    """At every late time the neurons of the positive class are a tenth longer."""

    def change(network: Network) -> Network:
        factor = np.where(network.a > 0.0, 1.1, 1.0)
        return network.replace(w=factor[:, None] * network.w, a=factor * network.a)

    return states(evidence, change, LATER, outputs=False)


def shifted_sums(evidence: Evidence) -> Evidence:
    return states(evidence, lambda n: n.replace(v=n.v + 1e-3 * np.linalg.norm(n.v)))
