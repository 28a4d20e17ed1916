"""Activation cones: the pieces of weight space on which every neuron sees the same samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import BoolArray, FloatArray, IndexArray, IntArray, SignArray
from reluflow.errors import InvalidInputError
from reluflow.geometry.arrangement import arrangement_faces, distinct_directions, num_cells, num_faces

DEFAULT_MAX_CONES = 2_000_000


@dataclass(frozen=True, eq=False)
class ActivationCones:
    """The nonempty cones A^{-1}(u), from the open ones down to the rays.

    Parameters
    ----------
    patterns
        u in {-1, 0, 1}^n, shape (N, n), no two rows equal.
    witnesses
        A unit vector in each cone, inside relative to the cone, shape (N, d).
    dimensions
        d - rank{x_k : u_k = 0}, shape (N,), decreasing.
    facet_mask
        Whether sample k vanishes on a facet of the cone and not on the cone, shape (N, n). The facet of a ray is
        the origin, so a ray lists every sample it is not orthogonal to.
    degeneracies
        Decisions that a perturbation below 1e-7 would change, as sentences; empty on clear-cut data.
    """

    patterns: SignArray
    witnesses: FloatArray
    dimensions: IntArray
    facet_mask: BoolArray
    degeneracies: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.patterns.shape[0])

    @property
    def num_open(self) -> int:
        """Number of cones of full dimension."""
        return int(np.count_nonzero(np.all(self.patterns != 0, axis=1)))

    def facets(self, index: int) -> IndexArray:
        """The samples whose hyperplanes bound cone `index`."""
        return np.flatnonzero(self.facet_mask[index])


def num_open_cones(n: int, d: int) -> int:
    """Number of open activation cones of n samples in general position in R^d, 2 sum_{i<d} C(n-1, i).

    References
    ----------
    Boursier & Flammarion (2024), Sec. 6 [boursier2024], after Cover (1965).

    Examples
    --------
    >>> num_open_cones(40, 2), num_open_cones(20, 4), num_open_cones(30, 5)
    (80, 2320, 55682)
    """
    _check_counts(n, d)
    return num_cells(n, min(n, d))


def num_cones(n: int, d: int) -> int:
    """Number of activation cones of every dimension (the origin not counted) of n samples in general position.

    Samples that are not in general position have fewer.

    Examples
    --------
    >>> num_cones(3, 2), num_cones(30, 5)
    (12, 880442)
    """
    _check_counts(n, d)
    rank = min(n, d)
    return num_faces(n, rank) + (1 if rank < d else 0)


def activation_cones(X: ArrayLike, *, open_only: bool = False, max_cones: int = DEFAULT_MAX_CONES) -> ActivationCones:
    r"""Enumerate every nonempty activation cone of the samples.

    Cones are the sets $M_u$ of all $w$ with $\operatorname{sign}\langle w, x_k\rangle = u_k$ for all $k$. The origin
    alone is not listed; when the samples do not span $\mathbb{R}^d$ the cone $u = 0$ is their complement and is.
    Samples that are parallel or antiparallel share a hyperplane and are tied; dependent samples and samples of low rank
    are handled exactly.

    Parameters
    ----------
    X
        Samples as rows, shape (n, d), none of them zero.
    open_only
        Leave out the cones of lower dimension.
    max_cones
        Refuse to start when the count in general position exceeds this.

    Returns
    -------
    ActivationCones
        By decreasing dimension, then by pattern with + before 0 before -.

    Notes
    -----
    Visits the $O(n^{r-1})$ rays of the arrangement and merges the faces around each, $r$ the rank of the samples; no
    linear program is solved. In the plane the boundary angles are sorted instead.

    References
    ----------
    Boursier & Flammarion (2024), Sec. 3 [boursier2024].

    Examples
    --------
    >>> cones = activation_cones([[1.0, 0.0], [0.0, 1.0]])
    >>> cones.num_open, len(cones)
    (4, 8)
    >>> cones.patterns[0], cones.facets(0)
    (array([1, 1], dtype=int8), array([0, 1]))
    """
    directions = distinct_directions(np.asarray(X, dtype=np.float64))
    m, rank = directions.U.shape
    expected = num_cells(m, rank) if open_only else num_faces(m, rank)
    if expected > max_cones:
        raise InvalidInputError(
            f"`X` has up to {expected} cones ({m} distinct lines of rank {rank}), more than `max_cones` = {max_cones}; "
            "raise `max_cones`, or take fewer samples or dimensions."
        )
    faces = arrangement_faces(directions.U, open_only=open_only)
    d = directions.basis.shape[1]
    patterns = directions.sample_signs(faces.signs)
    witnesses = faces.witnesses @ directions.basis
    dimensions = faces.dimensions + (d - rank)
    facet_mask = directions.sample_mask(faces.facets)
    if rank < d and not open_only:
        null = np.linalg.svd(directions.basis)[2][rank:]
        patterns = np.vstack([patterns, np.zeros((1, patterns.shape[1]), dtype=np.int8)])
        witnesses = np.vstack([witnesses, null[:1]])
        dimensions = np.append(dimensions, d - rank)
        facet_mask = np.vstack([facet_mask, np.zeros((1, patterns.shape[1]), dtype=bool)])
    return ActivationCones(patterns, witnesses, dimensions, facet_mask, directions.notes + faces.notes)


def _check_counts(n: int, d: int) -> None:
    if n < 1 or d < 1:
        raise InvalidInputError(f"`n` and `d` must be at least 1, got {n} and {d}.")
