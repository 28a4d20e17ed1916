"""The direction of largest margin that keeps the activation patterns of a given network, to rounding.

A classifier that grows for ever under the logistic or exponential loss tends to a KKT direction of the margin problem.
Once its patterns have settled that direction solves a small convex problem, so it need not be waited for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IndexArray
from reluflow.certificates.backends.clarabel import RateColumn, smallest_rate
from reluflow.certificates.hard_margin import require_labels
from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.pattern_active_set import PatternProgram, solve_active_set, solve_active_sets
from reluflow.data.dataset import Dataset
from reluflow.network.network import Network

_NEGLIGIBLE = (1e-7, 1e-5, 1e-3)  # relative multipliers and lengths below one of these are zeros of the solver
_POLISHED = 1e-12  # a KKT residual that is rounding
_FADING = 1e-3  # relative forces of a run below this are taken for those of samples that fade


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
    program = groups.program(network, dataset, walls)
    return _by_cone_program(network, dataset, walls, groups, program)


def max_margin_nearby(
    network: Network, dataset: Dataset, multipliers: FloatArray, *, walls: Dataset | None = None
) -> Network | None:
    """The same from a guess, without a cone program, which may take minutes; None where it leads nowhere.

    The guess are the network's own vectors and `multipliers`, such as the forces of a run up to a factor, shape (n,).
    """
    return next(max_margins_nearby(network, dataset, multipliers, walls=walls))


def max_margins_nearby(
    network: Network, dataset: Dataset, multipliers: FloatArray, *, walls: Dataset | None = None
) -> Iterator[Network | None]:
    """That, and then the best where the light neurons are zero: a direction that these may leave one day."""
    require_labels(dataset)
    groups = _Groups.of(network, dataset)
    program = groups.program(network, dataset, walls)
    coordinates, basis = _in_span(dataset, walls)  # of few samples in many dimensions, where the vectors lie
    program = program._replace(X=coordinates, walls=program.walls @ basis.T)
    guess = groups.vectors(network) @ basis.T
    for vectors in solve_active_sets(program, guess, multipliers, negligible=_FADING):
        yield None if vectors is None else groups.spread(vectors @ basis, network)


def _by_cone_program(
    network: Network, dataset: Dataset, walls: Dataset | None, groups: _Groups, program: PatternProgram
) -> Network:
    """Solved as a cone program, which needs no guess, and polished by an active set."""
    scale = float(np.max(np.linalg.norm(dataset.X, axis=1)))
    coordinates, basis = _in_span(dataset, walls)
    columns = [
        RateColumn(
            *groups.column(g, dataset.y, network.leak),
            walls=program.walls[program.wall_signs != sign] @ basis.T / scale,
        )
        for g, sign in enumerate(groups.signs)
    ]
    solved = smallest_rate(coordinates / scale, network.leak, columns)
    vectors = solved.vectors @ basis
    best = groups.spread(vectors, network)
    least = kkt_certificate(best, dataset, walls=walls).residual
    for negligible in _NEGLIGIBLE:
        fine = solve_active_set(program, vectors, solved.multipliers, negligible=negligible)
        if fine is None:
            continue
        polished = groups.spread(fine, network)
        residual = kkt_certificate(polished, dataset, walls=walls).residual
        if residual <= least:
            best, least = polished, residual
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

    def vectors(self, network: Network) -> FloatArray:
        """What each group's neurons amount to now, sum |a| w, shape (num_groups, d)."""
        total = np.zeros((len(self.signs), network.d))
        np.add.at(total, self.group_of, ((network.weight * np.abs(network.a))[:, None] * network.w)[self.members])
        return total

    def program(self, network: Network, dataset: Dataset, walls: Dataset | None) -> PatternProgram:
        """The margin problem with these patterns."""
        rows = np.zeros((0, network.d)) if walls is None else np.asarray(walls.X)
        signs = np.zeros(0) if walls is None else np.asarray(walls.y)
        slopes = self.slopes(dataset.y, network.leak)
        return PatternProgram(
            np.asarray(dataset.X), np.asarray(dataset.y), self.signs, slopes, rows, signs, network.leak
        )

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
