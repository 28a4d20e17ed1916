"""The KKT direction of the margins between classes near a given direction, in its activation patterns.

With fixed slopes the margins are bilinear in (w, v). Sequential quadratic programs find a point that meets the KKT
conditions close to where a run is: each linearises the margins and takes the curvature of the Lagrangian, which is
[[1, -D], [-D^T, 1]] for a neuron, D = sum_k eta_k x_k f_k^T. Neurons of one pattern that point and push alike are one
neuron here, as they are in the limit, and a neuron that slides stays on its boundaries. The problem is not convex, so
what is found is a KKT direction and need not be the one of largest margin in these patterns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reluflow.arrays import FloatArray, IndexArray, SignArray
from reluflow.certificates.backends.clarabel import quadratic_program
from reluflow.certificates.pair_gradients import Pairs
from reluflow.data.dataset import Dataset
from reluflow.errors import BackendError
from reluflow.network.network import Network, row_norms

_ON_BOUNDARY = 1e-6  # |cos| of a neuron and a sample below which it is taken to slide
_ALIKE = 0.9  # cosine of neurons of one pattern, and of their output weights, that become one neuron
_LIGHT = 1e-4  # share of the norm of the network below which a neuron has no part in the direction
_FIRST_PAIRS = 300  # of the smallest margins
_MOST_ROUNDS, _MOST_PROGRAMS = 4, 40
_CONVERGED = 1e-11
_LEAST_DAMPING, _MOST_DAMPING, _LONGEST_STEP = 1e-3, 0.3, 0.3
_LARGEST_PROGRAM = 300  # unknowns of a quadratic program: seconds in all


@dataclass(frozen=True, eq=False)
class _MergedNeurons:
    """Neurons taken together: each group moves in a subspace, w = basis omega.

    Parameters
    ----------
    members
        Indices of the neurons of each group.
    shares
        Of each member in the size of its group, squares summing to 1 with the weights.
    w, v
        Of the groups, shapes (g, d) and (g, K).
    bases
        Orthonormal columns, each (d, r).
    slopes
        Shape (g, n).
    """

    members: list[IndexArray]
    shares: list[FloatArray]
    w: FloatArray
    v: FloatArray
    bases: list[FloatArray]
    slopes: FloatArray

    def outputs(self, X: FloatArray) -> FloatArray:
        """Of the groups, with the slopes held, shape (n, K)."""
        return np.asarray((self.slopes * (self.w @ X.T)).T @ self.v)


def kkt_direction_in_patterns(network: Network, dataset: Dataset) -> Network | None:
    """The network of unit norm that meets the KKT conditions near a classifier, neuron by neuron; None where none is.

    Parameters
    ----------
    network
        Of positive margins, without an output bias; its scale does not matter.
    dataset
        Samples with classes.

    Examples
    --------
    >>> from reluflow.certificates.pair_kkt import pair_kkt
    >>> dataset = Dataset([[1.0, 0.0], [0.0, 1.0]], [0, 1], classes=("a", "b"))
    >>> network = Network(w=[[1.0, -0.1], [-0.1, 1.0]], v=[[1.0, -0.9], [-0.8, 1.0]])
    >>> pair_kkt(kkt_direction_in_patterns(network, dataset), dataset).residual < 1e-9
    True
    """
    groups = _grouped(network, dataset.X)
    if sum(basis.shape[1] + network.num_outputs for basis in groups.bases) > _LARGEST_PROGRAM:
        return None
    pairs = Pairs.of(dataset)
    margins = pairs.margins(groups.outputs(dataset.X))
    if not np.min(margins) > 0.0:
        return None
    groups = _scaled(groups, float(np.min(margins)))
    chosen = np.sort(np.argsort(margins, kind="stable")[:_FIRST_PAIRS])
    for _ in range(_MOST_ROUNDS):
        try:
            solved = _solved(groups, dataset.X, pairs, chosen)
        except BackendError:
            return None
        margins = pairs.margins(solved.outputs(dataset.X))
        broken = np.flatnonzero(margins < 1.0 - 1e-7)
        if not broken.size:
            return _spread(network, solved)
        chosen = np.union1d(chosen, broken)
    return None


def _grouped(network: Network, X: FloatArray) -> _MergedNeurons:
    """The neurons that carry a network, by pattern, direction and what they push."""
    lengths, heights = row_norms(network.w), row_norms(network.v)
    sizes = np.sqrt(network.weight) * np.hypot(lengths, heights)
    cosines = network.w @ X.T / np.maximum(np.outer(lengths, row_norms(X)), np.finfo(float).tiny)
    patterns = np.where(np.abs(cosines) <= _ON_BOUNDARY, 0, np.sign(cosines)).astype(np.int8)
    heavy = np.flatnonzero((sizes > _LIGHT * float(np.linalg.norm(sizes))) & (lengths > 0.0) & (heights > 0.0))
    left = list(heavy[np.argsort(-sizes[heavy], kind="stable")])
    members: list[IndexArray] = []
    while left:
        leader = left[0]
        alike = [
            j
            for j in left
            if np.array_equal(patterns[j], patterns[leader])
            and network.w[j] @ network.w[leader] >= _ALIKE * lengths[j] * lengths[leader]
            and network.v[j] @ network.v[leader] >= _ALIKE * heights[j] * heights[leader]
        ]
        left = [j for j in left if j not in alike]
        members.append(np.array(alike, dtype=np.intp))
    w, v = np.empty((len(members), network.d)), np.empty((len(members), network.num_outputs))
    for g, group in enumerate(members):
        product = (network.weight[group, None] * network.w[group]).T @ network.v[group]
        left_vectors, values, right_vectors = np.linalg.svd(product, full_matrices=False)
        sign = np.sign(left_vectors[:, 0] @ network.w[group[0]]) or 1.0
        w[g], v[g] = sign * np.sqrt(values[0]) * left_vectors[:, 0], sign * np.sqrt(values[0]) * right_vectors[0]
    leaders = patterns[[int(group[0]) for group in members]]
    return _MergedNeurons(
        members,
        [sizes[group] / float(np.linalg.norm(sizes[group])) for group in members],
        w,
        v,
        [_basis(X[leaders[g] == 0], network.d) for g in range(len(members))],
        _slopes(leaders, network.leak),
    )


def _slopes(patterns: SignArray, leak: float) -> FloatArray:
    return np.where(patterns > 0, 1.0, np.where(patterns < 0, leak, 0.0))


def _basis(walls: FloatArray, d: int) -> FloatArray:
    """Orthonormal columns of the subspace orthogonal to the walls, shape (d, r)."""
    if not len(walls):
        return np.eye(d)
    _, values, rows = np.linalg.svd(walls, full_matrices=True)
    rank = int(np.sum(values > 1e-10 * values[0]))
    return np.asarray(rows[rank:].T)


def _scaled(groups: _MergedNeurons, margin: float) -> _MergedNeurons:
    """At smallest margin 1."""
    factor = 1.0 / float(np.sqrt(margin))
    return replace(groups, w=groups.w * factor, v=groups.v * factor)


def _solved(groups: _MergedNeurons, X: FloatArray, pairs: Pairs, chosen: IndexArray) -> _MergedNeurons:
    """Quadratic programs in turn, for margins of at least 1 at the chosen pairs."""
    samples, directions = pairs.samples[chosen], pairs.directions[chosen]
    multipliers, damping = np.zeros(chosen.size), _MOST_DAMPING
    for _ in range(_MOST_PROGRAMS):
        forces = np.zeros((len(X), directions.shape[1]))
        np.add.at(forces, samples, multipliers[:, None] * directions)
        blocks, rows, start = [], [], []
        for g, basis in enumerate(groups.bases):
            omega, v, slope = basis.T @ groups.w[g], groups.v[g], groups.slopes[g]
            reduced = X @ basis  # (n, r)
            pull = (slope[:, None] * reduced).T @ forces  # (r, K)
            left, values, right = np.linalg.svd(pull, full_matrices=False)
            pull = (left * np.minimum(values, 1.0)) @ right  # the curvature stays positive
            r, num = pull.shape
            stiffness = 1.0 + damping
            blocks.append(np.block([[stiffness * np.eye(r), -pull], [-pull.T, stiffness * np.eye(num)]]))
            heights = slope * (reduced @ omega)
            of_w = (directions @ v * slope[samples])[:, None] * reduced[samples]
            rows.append(np.hstack([of_w, heights[samples, None] * directions]))
            start.append(np.concatenate([omega, v]))
        theta, jacobian = np.concatenate(start), np.hstack(rows)
        margins = np.einsum("pc,pc->p", groups.outputs(X)[samples], directions)
        # minimise |theta + step|^2 / 2 less the curvature of the margins, with margins + jacobian step >= 1
        step, multipliers = quadratic_program(blocks, theta, jacobian, 1.0 - margins)
        size = float(np.linalg.norm(step) / np.linalg.norm(theta))
        groups = _moved(groups, step * min(1.0, _LONGEST_STEP / max(size, 1e-300)))
        if size <= _CONVERGED:
            break
        damping = min(max(size, _LEAST_DAMPING), _MOST_DAMPING)  # along some steps there is no curvature
    return groups


def _moved(groups: _MergedNeurons, step: FloatArray) -> _MergedNeurons:
    w, v, place = groups.w.copy(), groups.v.copy(), 0
    for g, basis in enumerate(groups.bases):
        r, num = basis.shape[1], v.shape[1]
        w[g] += basis @ step[place : place + r]
        v[g] += step[place + r : place + r + num]
        place += r + num
    return replace(groups, w=w, v=v)


def _spread(network: Network, groups: _MergedNeurons) -> Network:
    """The network of unit norm in which every member has its share of its group, and all others are zero."""
    w, v = np.zeros_like(network.w), np.zeros_like(network.v)
    for g, (members, shares) in enumerate(zip(groups.members, groups.shares, strict=True)):
        factor = shares / np.sqrt(network.weight[members])
        w[members], v[members] = factor[:, None] * groups.w[g], factor[:, None] * groups.v[g]
    norm = float(np.sqrt(network.weight @ (np.sum(w**2, axis=1) + np.sum(v**2, axis=1))))
    return network.replace(w=w / norm, v=v / norm, b=None, log_scale=0.0)
