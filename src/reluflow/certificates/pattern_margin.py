"""The direction of largest margin that keeps the activation patterns of a given network, to rounding.

A classifier that grows for ever under the logistic or exponential loss tends to a KKT direction of the margin problem.
Once its patterns have settled that direction solves a small convex problem, so it need not be waited for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IndexArray
from reluflow.certificates.backends.clarabel import RateColumn, smallest_rate
from reluflow.certificates.hard_margin import require_labels
from reluflow.certificates.kkt import kkt_certificate
from reluflow.data.dataset import Dataset
from reluflow.geometry.boundary.walls import orthonormal_rows
from reluflow.network.network import Network

_NEGLIGIBLE = (1e-7, 1e-5, 1e-3)  # relative multipliers and lengths below one of these are zeros of the solver
_POLISHED = 1e-12  # a KKT residual that is rounding
_ON_BOUNDARY = 1e-5  # a vector whose cosine with a sample is below this lies on its boundary
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
    coordinates, basis = _in_span(dataset, walls)
    columns = [
        RateColumn(*groups.column(g, dataset.y, network.leak), walls=barriers[g] @ basis.T / scale)
        for g in range(len(groups.signs))
    ]
    solved = smallest_rate(coordinates / scale, network.leak, columns)
    rough_vectors = solved.vectors @ basis
    rough = groups.spread(rough_vectors, network)
    slopes = groups.slopes(dataset.y, network.leak)
    best, least = rough, kkt_certificate(rough, dataset, walls=walls).residual
    for negligible in _NEGLIGIBLE:
        vectors = _newton(
            rough_vectors, solved.multipliers, slopes, groups.signs, dataset, network.leak, barriers, negligible
        )
        if vectors is None:
            continue
        fine = groups.spread(vectors, network)
        residual = kkt_certificate(fine, dataset, walls=walls).residual
        if residual <= least:
            best, least = fine, residual
        if least <= _POLISHED:
            break
    return best


def _in_span(dataset: Dataset, walls: Dataset | None) -> tuple[FloatArray, FloatArray]:
    """The samples in coordinates of what they and the walls span, and the orthonormal rows that span it."""
    X = np.asarray(dataset.X)
    rows = X if walls is None else np.vstack([X, walls.X])
    if rows.shape[0] >= rows.shape[1]:
        return X, np.eye(rows.shape[1])
    basis = np.linalg.qr(rows.T)[0].T
    return X @ basis.T, basis


@dataclass(frozen=True, eq=False)
class _Groups:
    """Neurons of one output sign that see the same of the samples that pull them."""

    signs: FloatArray  # (num_groups,)
    is_on: BoolArray  # (num_groups, n), on the pulling samples
    members: IndexArray  # neurons that are not zero
    group_of: IndexArray  # group of each member
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

    def column(self, g: int, labels: FloatArray, leak: float) -> tuple[IndexArray, IndexArray, FloatArray]:
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
    negligible: float,
) -> FloatArray | None:
    """Polish on the KKT equations of min sum |v_g| with margins 1; None if the active set is not clear-cut.

    A vector that takes part has the direction of its pull P_g = sum_k lambda_k p_gk, taken tangent to the pushing
    samples and walls it lies on, and |P_g| = 1; so with v_g = rho_g P_g the multipliers of the active samples and the
    lengths rho are the only unknowns: |P_g|^2 = 1 for every part, sum_g rho_g <p_gk, P_g> = 1 for every active sample.
    """
    X, y = dataset.X, dataset.y
    lengths = np.linalg.norm(vectors, axis=1)
    parts = np.flatnonzero(lengths > negligible * lengths.sum())
    active = np.flatnonzero(multipliers > negligible * multipliers.max())
    pulls, products = [], []
    for g in parts:
        rows = np.vstack([X[active][np.isnan(slopes[g, active])], barriers[g]])
        sizes = lengths[g] * np.linalg.norm(rows, axis=1)
        pressed = rows[np.abs(rows @ vectors[g]) <= _ON_BOUNDARY * sizes]
        ahead = vectors[g] @ X[active].T
        slope = np.where(np.isnan(slopes[g, active]), np.where(ahead > 0.0, 1.0, leak), slopes[g, active])
        pull = (signs[g] * slope * y[active])[:, None] * X[active]
        if len(pressed):
            basis = orthonormal_rows(pressed / np.linalg.norm(pressed, axis=1)[:, None])
            pull = pull - (pull @ basis.T) @ basis
        pulls.append(pull)
        products.append(pull @ pull.T)
    table = np.array(products)  # (G, A, A)
    weight, rho = multipliers[active], lengths[parts]
    strength = float(np.mean(np.einsum("gab,a,b->g", table, weight, weight)))
    if not strength > 0.0:
        return None
    weight = weight / np.sqrt(strength)
    margins = np.einsum("g,gab,b->a", rho, table, weight)
    if not margins.min() > 0.0:
        return None
    rho = rho / margins.mean()
    for _ in range(_NEWTON_STEPS):
        answers = table @ weight  # (G, A): <p_gk, P_g>
        residual = np.concatenate([answers @ weight - 1.0, rho @ answers - 1.0])
        jacobian = np.block([[2.0 * answers, np.zeros((len(rho), len(rho)))], [np.tensordot(rho, table, 1), answers.T]])
        step, *_ = np.linalg.lstsq(jacobian, -residual, rcond=1e-12)
        weight, rho = weight + step[: len(weight)], rho + step[len(weight) :]
        if not np.all(np.isfinite(step)) or not np.all(rho > 0.0):
            return None
    result = np.zeros_like(vectors)
    for place, g in enumerate(parts):
        result[g] = rho[place] * (weight @ pulls[place])
    return result
