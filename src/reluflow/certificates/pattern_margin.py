"""The direction of largest margin that keeps the activation patterns of a given network, to rounding.

A classifier that grows for ever under the logistic or exponential loss tends to a KKT direction of the margin problem.
Once its patterns have settled that direction solves a small convex problem, so it need not be waited for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray
from reluflow.certificates.backends.clarabel import RateColumn, smallest_rate
from reluflow.certificates.hard_margin import require_labels
from reluflow.certificates.kkt import kkt_certificate
from reluflow.data.dataset import Dataset
from reluflow.network.network import Network

_NEGLIGIBLE = 1e-7  # relative multipliers, lengths and pre-activations below this are zeros of the solver
_NEWTON_STEPS = 12


def max_margin_in_patterns(network: Network, dataset: Dataset, *, walls: Dataset | None = None) -> Network:
    """The unit-norm network of largest margin whose neurons keep their signs and the patterns of their pulling samples.

    For fixed slopes on the samples that pull a neuron up (label equal to the sign of its output weight) the margin
    problem is convex, and a KKT direction with these slopes solves it. Neurons of one group share the solution as
    they share it now, since parallel neurons keep their ratios for ever.

    Parameters
    ----------
    network
        Gives the signs, the patterns and the shares; its scale does not matter.
    dataset
        Samples with labels -1 and 1.
    walls
        Further samples on which no neuron is active; neurons of the other sign are held back from them.

    References
    ----------
    Lyu et al. (2021), problem (M) and Def. B.8 [lyu2021]; Phuong & Lampert (2021), Theorem 1 [phuong2021].
    """
    require_labels(dataset)
    groups = _Groups.of(network, dataset)
    scale = float(np.max(np.linalg.norm(dataset.X, axis=1)))
    barriers = [np.zeros((0, network.d)) if walls is None else walls.X[walls.y != sign] for sign in groups.signs]
    columns = [
        RateColumn(*groups.column(g, dataset.y, network.leak), walls=barriers[g] / scale)
        for g in range(len(groups.signs))
    ]
    solved = smallest_rate(dataset.X / scale, network.leak, columns)
    rough = groups.spread(solved.vectors, network)
    slopes = groups.slopes(dataset.y, network.leak)
    vectors = _newton(solved.vectors, solved.multipliers, slopes, groups.signs, dataset, network.leak, barriers)
    if vectors is None:
        return rough
    fine = groups.spread(vectors, network)
    residuals = [kkt_certificate(candidate, dataset, walls=walls).residual for candidate in (rough, fine)]
    return fine if residuals[1] <= residuals[0] else rough


@dataclass(frozen=True, eq=False)
class _Groups:
    """Neurons of one output sign that see the same of the samples that pull them."""

    signs: FloatArray  # (num_groups,)
    is_on: NDArray[np.bool_]  # (num_groups, n), on the pulling samples
    members: NDArray[np.intp]  # neurons that are not zero
    group_of: NDArray[np.intp]  # group of each member
    shares: FloatArray  # part of its group's |a||w| that each member holds

    @classmethod
    def of(cls, network: Network, dataset: Dataset) -> _Groups:
        mass = network.weight * np.abs(network.a) * np.linalg.norm(network.w, axis=1)
        members = np.flatnonzero(mass > 0.0)
        signs = np.sign(network.a[members])
        is_pulling = dataset.y[None, :] == signs[:, None]
        is_on = (network.pre_activations(dataset.X)[members] > 0.0) & is_pulling
        keys, group_of = np.unique(np.column_stack([signs, is_on]), axis=0, return_inverse=True)
        group_of = group_of.ravel()
        totals = np.bincount(group_of, weights=mass[members])
        return cls(keys[:, 0], keys[:, 1:] > 0.0, members, group_of, mass[members] / totals[group_of])

    def column(self, g: int, labels: FloatArray, leak: float) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
        """Pulling samples, pushing samples and slopes of the pulling ones."""
        pulling = np.flatnonzero(labels == self.signs[g])
        return pulling, np.flatnonzero(labels != self.signs[g]), np.where(self.is_on[g, pulling], 1.0, leak)

    def slopes(self, labels: FloatArray, leak: float) -> FloatArray:
        """Slopes on the pulling samples, nan on the pushing ones, shape (num_groups, n)."""
        fixed = np.where(self.is_on, 1.0, leak)
        return np.where(labels[None, :] == self.signs[:, None], fixed, np.nan)

    def spread(self, vectors: FloatArray, network: Network) -> Network:
        """The balanced network of norm 1 that gives each group's vector to its neurons in their shares."""
        lengths = np.linalg.norm(vectors, axis=1)
        total = lengths.sum()
        w, a = np.zeros_like(network.w), np.zeros_like(network.a)
        length = lengths[self.group_of]
        size = np.sqrt(0.5 * length / total * self.shares / network.weight[self.members])
        unit = vectors / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        w[self.members] = size[:, None] * unit[self.group_of]
        a[self.members] = size * self.signs[self.group_of]
        return network.replace(w=w, a=a, log_scale=0.0)


def _newton(
    vectors: FloatArray,
    multipliers: FloatArray,
    slopes: FloatArray,
    signs: FloatArray,
    dataset: Dataset,
    leak: float,
    barriers: list[FloatArray],
) -> FloatArray | None:
    """Polish on the KKT equations of min sum |v_g| with margins 1; None if the active set is not clear-cut.

    Unknowns: the vectors of the groups that take part, the multipliers of the active samples, the slopes of the
    pushing samples on whose boundary a vector lies, and the pressures of the walls it lies on.
    """
    X, y = dataset.X, dataset.y
    lengths = np.linalg.norm(vectors, axis=1)
    parts = np.flatnonzero(lengths > _NEGLIGIBLE * lengths.sum())
    active = np.flatnonzero(multipliers > _NEGLIGIBLE * multipliers.max())
    v, sign, slope = vectors[parts].copy(), signs[parts], slopes[parts].copy()
    products = v @ X.T
    near = np.abs(products) <= 1e-5 * lengths[parts][:, None] * np.linalg.norm(X, axis=1)
    kinks = np.argwhere(near & np.isnan(slope))
    slope = np.where(np.isnan(slope), np.where(products > 0.0, 1.0, leak), slope)
    kinks = kinks[np.isin(kinks[:, 1], active)]
    free = np.full(len(kinks), 0.5 * (1.0 + leak))
    num_parts, d = v.shape
    pressed = [
        (place, row)
        for place, g in enumerate(parts)
        for row in barriers[g]
        if abs(v[place] @ row) <= 1e-5 * lengths[g] * np.linalg.norm(row)
    ]
    pressures = np.zeros(len(pressed))
    # scale to smallest margin 1; the multipliers then sum to sum |v|
    margins = y * np.einsum("g,gn->n", sign, slope * (v @ X.T))
    if not margins[active].min() > 0.0:
        return None
    v /= margins[active].mean()
    weight = multipliers[active] / multipliers[active].sum() * np.linalg.norm(v, axis=1).sum()
    signed = sign[:, None, None] * (y[active, None] * X[active])[None]  # (G, A, d)
    place = {int(sample): k for k, sample in enumerate(active)}
    for _ in range(_NEWTON_STEPS):
        slope[kinks[:, 0], kinks[:, 1]] = free
        pull = slope[:, active, None] * signed  # (G, A, d)
        size = np.linalg.norm(v, axis=1)
        unit = v / size[:, None]
        stationarity = unit - np.einsum("a,gad->gd", weight, pull)
        for (g, row), pressure in zip(pressed, pressures, strict=True):
            stationarity[g] += pressure * row
        feasibility = np.einsum("gad,gd->a", pull, v) - 1.0
        on_kink = np.array([v[g] @ X[k] for g, k in kinks])
        on_wall = np.array([v[g] @ row for g, row in pressed])
        residual = np.concatenate([stationarity.ravel(), feasibility, on_kink, on_wall])
        jacobian = np.zeros((residual.size, v.size + len(active) + len(kinks) + len(pressed)))
        for g in range(num_parts):
            rows = slice(g * d, (g + 1) * d)
            jacobian[rows, rows] = (np.eye(d) - np.outer(unit[g], unit[g])) / size[g]
            jacobian[rows, v.size : v.size + len(active)] = -pull[g].T
            jacobian[v.size : v.size + len(active), rows] = pull[g]
        for c, (g, k) in enumerate(kinks):
            rows, column = slice(g * d, (g + 1) * d), v.size + len(active) + c
            jacobian[rows, column] = -weight[place[int(k)]] * signed[g, place[int(k)]]
            jacobian[v.size + place[int(k)], column] = signed[g, place[int(k)]] @ v[g]
            jacobian[v.size + len(active) + c, rows] = X[k]
        for c, (g, row) in enumerate(pressed):
            rows, column = slice(g * d, (g + 1) * d), v.size + len(active) + len(kinks) + c
            jacobian[rows, column] = row
            jacobian[column, rows] = row
        step, *_ = np.linalg.lstsq(jacobian, -residual, rcond=1e-12)
        v = v + step[: v.size].reshape(v.shape)
        weight = weight + step[v.size : v.size + len(active)]
        free = np.clip(free + step[v.size + len(active) : v.size + len(active) + len(kinks)], leak, 1.0)
        pressures = np.maximum(pressures + step[v.size + len(active) + len(kinks) :], 0.0)
        if not np.all(np.isfinite(v)) or np.any(np.linalg.norm(v, axis=1) == 0.0):
            return None
    result = np.zeros_like(vectors)
    result[parts] = v
    return result
