"""Faces of a central hyperplane arrangement, exactly and without linear programs.

The hyperplanes orthogonal to m distinct directions that span R^r cut the space into relatively open cones. Each
such cone is the positive hull of its rays, and near a ray v the arrangement looks like that of the directions
orthogonal to v, one dimension down. So all faces are found by visiting the rays (null directions of the
(r-1)-subsets), filling the zeros of each ray's sign vector with the faces of its local arrangement, and merging
equal sign vectors in a hash table. In general position the local faces are all 3^(r-1) fillings; otherwise they
come from the same procedure applied to the local arrangement.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IndexArray, IntArray, SignArray
from reluflow.budget import count
from reluflow.errors import InvalidInputError

# Of the samples as they are given: cosines and distances between unit vectors at most TIE count as zero. Those between
# EXACT and NEAR were decided, yet a perturbation of that size would change the answer. (What is rounding for a neuron
# that has come to a wall is `boundary.tolerance.ROUNDING`.)
TIE = 1e-10
EXACT = 1e-13
_OPERATIONS_A_FACE = 5e3  # of 1e9 a second, among 100 samples
NEAR = 1e-7


@dataclass(frozen=True, eq=False)
class DistinctDirections:
    """The samples as distinct lines in coordinates of their row space.

    Parameters
    ----------
    U
        One unit vector per line, shape (m, r), r the rank of the samples.
    basis
        Orthonormal rows of the row space, shape (r, d).
    line
        For each sample the index of its line, shape (n,).
    orientation
        +1 or -1: whether the sample points along its line's unit vector or against it, shape (n,).
    lengths
        |x_k|, shape (n,).
    notes
        Near-degeneracies met.
    """

    U: FloatArray
    basis: FloatArray
    line: IndexArray
    orientation: SignArray
    lengths: FloatArray
    notes: tuple[str, ...]

    @property
    def rank(self) -> int:
        """Rank of the samples."""
        return int(self.U.shape[1])

    def sample_signs(self, signs: SignArray) -> SignArray:
        """Sign vectors over samples, from sign vectors over lines (last axis m)."""
        return signs if self.are_samples else np.asarray(signs[..., self.line] * self.orientation, dtype=np.int8)

    def sample_mask(self, mask: BoolArray) -> BoolArray:
        """A mask over samples, from a mask over lines (last axis m)."""
        return mask if self.are_samples else mask[..., self.line]

    @property
    def are_samples(self) -> bool:
        """Whether no two samples share a line, so that lines are samples."""
        return bool(self.U.shape[0] == self.line.size)


@dataclass(frozen=True, eq=False)
class Faces:
    """Faces of an arrangement: signs (N, m), facet masks (N, m), unit witnesses (N, r), dimensions (N,), notes."""

    signs: SignArray
    facets: BoolArray
    witnesses: FloatArray
    dimensions: IntArray
    notes: tuple[str, ...] = ()


def distinct_directions(X: FloatArray) -> DistinctDirections:
    """Reduce samples to their row space and tie those that are parallel or antiparallel."""
    samples = check_samples(X)
    largest = np.max(np.abs(samples), axis=1, keepdims=True)  # keeps squares in range
    lengths = largest[:, 0] * np.linalg.norm(samples / largest, axis=1)
    unit = samples / largest / np.linalg.norm(samples / largest, axis=1, keepdims=True)
    _, singular, rows = np.linalg.svd(unit, full_matrices=False)
    rank = int(np.sum(singular > TIE * singular[0]))
    notes: list[str] = []
    if singular[rank - 1] < NEAR * singular[0]:
        notes.append(f"the samples are within {singular[rank - 1] / singular[0]:.1e} of spanning one dimension less")
    if rank < singular.size and singular[rank] > EXACT * singular[0]:
        notes.append(f"a dimension of relative size {singular[rank] / singular[0]:.1e} was left out of the row space")
    # Data of full rank keep their own coordinates, so that exact zeros stay exact.
    basis = np.ascontiguousarray(rows[:rank]) if rank < samples.shape[1] else np.eye(rank)
    reduced = unit @ basis.T
    reduced /= np.linalg.norm(reduced, axis=1, keepdims=True)
    line, orientation = _tie_parallel(reduced, notes)
    first = np.unique(line, return_index=True)[1]
    return DistinctDirections(
        U=np.ascontiguousarray(reduced[first]),
        basis=basis,
        line=line,
        orientation=orientation,
        lengths=lengths,
        notes=tuple(notes),
    )


def check_samples(X: FloatArray) -> FloatArray:
    """The samples as floats, refusing what is not a finite array of nonzero rows."""
    samples = np.asarray(X, dtype=np.float64)
    if samples.ndim != 2 or 0 in samples.shape:
        raise InvalidInputError(f"`X` must have shape (n, d) with n and d at least 1, got {samples.shape}.")
    if not np.all(np.isfinite(samples)):
        raise InvalidInputError("`X` must be finite; remove or fill the samples that are not.")
    zero = np.flatnonzero(~np.any(samples, axis=1))
    if zero.size:
        raise InvalidInputError(
            f"`X` must hold no zero sample, got one in row {zero[0] + 1}: it has no hyperplane; remove it."
        )
    return samples


def num_faces(m: int, r: int) -> int:
    """Number of cones of every dimension from 1 to r cut out by m hyperplanes in general position in R^r.

    No arrangement of m hyperplanes has more.

    >>> num_faces(3, 2)
    12
    """
    return sum(comb(m, j) * num_cells(m - j, r - j) for j in range(r))


def num_cells(m: int, r: int) -> int:
    """Number of open cones cut out by m hyperplanes in general position in R^r, 2 sum_{i<r} C(m-1, i)."""
    return 2 * sum(comb(m - 1, i) for i in range(r))


def arrangement_faces(U: FloatArray, *, open_only: bool = False) -> Faces:
    """All faces of dimension at least 1, by dimension from r down and then by sign vector (+ before 0 before -)."""
    m, r = U.shape
    if r == 1:
        line = np.array([[1], [-1]], dtype=np.int8)
        return Faces(line, line != 0, np.sign(U[0, 0]) * line.astype(np.float64), np.ones(2, dtype=np.int64))
    if r == 2:
        return _faces_in_the_plane(U, open_only=open_only)
    from reluflow.geometry import cone_kernels as kernels

    rays, signs, num_close, closest = kernels.arrangement_rays(U, comb(m, r - 1), TIE, EXACT, NEAR)
    notes: list[str] = []
    if num_close:
        notes.append(
            f"{num_close} decisions on whether samples are dependent rest on a value below {NEAR:g}, "
            f"the smallest {closest:.1e}"
        )
    table = kernels.FaceTable(
        np.zeros((1024, (m + 31) // 32), dtype=np.uint64),
        np.zeros((1024, (m + 63) // 64), dtype=np.uint64),
        np.zeros((1024, r)),
        np.zeros(1024, dtype=np.int64),
        np.full(4096, -1, dtype=np.int64),
        0,
    )
    is_simple = np.count_nonzero(signs == 0, axis=1) == r - 1
    fillings = np.array(list(product((1, -1) if open_only else (1, 0, -1), repeat=r - 1)), dtype=np.int8)
    sizes = np.count_nonzero(fillings, axis=1).astype(np.int64)
    table = kernels.add_faces(table, rays[is_simple], signs[is_simple], fillings, fillings != 0, sizes)
    count(_OPERATIONS_A_FACE * table.num_faces)
    for index in _distinct_up_to_sign(signs, np.flatnonzero(~is_simple)):
        local = _local_faces(U[signs[index] == 0], r - 1, open_only=open_only)
        notes += local.notes
        one = slice(index, index + 1)
        table = kernels.add_faces(table, rays[one], signs[one], local.signs, local.facets, local.dimensions)
    order = np.lexsort((*table.keys[: table.num_faces].T[::-1], -table.dimensions[: table.num_faces]))
    face_signs, facets = kernels.unpack_faces(table.keys[order], table.bounds[order], m)
    dimension = table.dimensions[order]
    is_ray = dimension == 1
    facets[is_ray] = face_signs[is_ray] != 0  # a ray ends at the origin, where every other direction vanishes too
    witnesses = table.sums[order]
    witnesses /= np.linalg.norm(witnesses, axis=1, keepdims=True)
    missed = int(kernels.count_missed_witnesses(U, face_signs, witnesses))
    if missed:
        notes.append(f"{missed} cones are too thin for a witness in double precision")
    return Faces(face_signs, facets, witnesses, dimension, tuple(dict.fromkeys(notes)))


def _local_faces(U: FloatArray, rank: int, *, open_only: bool) -> Faces:
    """Faces of the arrangement of directions orthogonal to a ray, the ray itself (all signs 0) included."""
    basis = np.linalg.svd(U, full_matrices=False)[2][:rank]
    faces = arrangement_faces(np.ascontiguousarray(U @ basis.T), open_only=open_only)
    if open_only:
        return faces
    zero = np.zeros((1, U.shape[0]), dtype=np.int8)
    return Faces(
        signs=np.vstack([faces.signs, zero]),
        facets=np.vstack([faces.facets, zero != 0]),
        witnesses=np.vstack([faces.witnesses, np.zeros((1, rank))]),
        dimensions=np.append(faces.dimensions, 0),
        notes=faces.notes,
    )


def _distinct_up_to_sign(signs: SignArray, index: IndexArray) -> IndexArray:
    """One index per sign vector, a vector and its opposite counting as the same."""
    if index.size == 0:
        return index
    rows = signs[index]
    first = np.argmax(rows != 0, axis=1)
    canonical = rows * rows[np.arange(rows.shape[0]), first][:, None]
    kept: IndexArray = index[np.unique(canonical, axis=0, return_index=True)[1]]
    return kept


def _faces_in_the_plane(U: FloatArray, *, open_only: bool) -> Faces:
    """Faces in R^2 by sorting the m boundary lines; sign vectors follow from the order alone."""
    m = U.shape[0]
    angle = np.mod(np.arctan2(U[:, 1], U[:, 0]) - np.pi / 2, np.pi)
    angle[angle >= np.pi] = 0.0  # a remainder that rounds up to pi itself
    order = np.argsort(angle, kind="stable")
    place = np.empty(m, dtype=np.int64)
    place[order] = np.arange(m)
    left = np.sign(U[:, 1] * np.cos(angle) - U[:, 0] * np.sin(angle)).astype(np.int8)  # side reached after the line
    step = np.arange(m)[:, None]
    sector_signs = np.where(place <= step, left, -left)  # (m, m)
    bounds = np.append(angle[order], angle[order[0]] + np.pi)
    middle = bounds[:-1] + np.diff(bounds) / 2
    sector_facets = (place == step) | (place == (step + 1) % m)
    parts = [_with_opposites(sector_signs, sector_facets, middle, 2)]
    if not open_only:
        ray_signs = sector_signs.copy()
        ray_signs[place, np.arange(m)] = 0
        parts.append(_with_opposites(ray_signs, ray_signs != 0, angle[order], 1))
    return Faces(
        signs=np.concatenate([part.signs for part in parts]),
        facets=np.concatenate([part.facets for part in parts]),
        witnesses=np.concatenate([part.witnesses for part in parts]),
        dimensions=np.concatenate([part.dimensions for part in parts]),
    )


def _with_opposites(signs: SignArray, facets: BoolArray, angles: FloatArray, dimension: int) -> Faces:
    """Faces of one dimension on a half circle together with their opposites, sorted by sign vector."""
    witnesses = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    num, m = signs.shape
    codes = np.concatenate([1 - signs, 1 + signs]).view(np.uint8)
    order = np.argsort(codes.view(f"V{m}").ravel(), kind="stable")
    half, side = order % num, np.where(order < num, 1, -1).astype(np.int8)[:, None]
    return Faces(
        signs=signs[half] * side,
        facets=facets[half],
        witnesses=witnesses[half] * side,
        dimensions=np.full(2 * num, dimension, dtype=np.int64),
    )


def _tie_parallel(unit: FloatArray, notes: list[str]) -> tuple[IndexArray, SignArray]:
    """Index of each unit vector's line (numbered by first appearance) and its orientation on it."""
    n, r = unit.shape
    owner = np.arange(n)
    orientation = np.ones(n, dtype=np.int8)
    probe = np.cos(np.arange(1.0, r + 1.0) * 1.618) + 0.3  # parallel vectors share |<probe, v>|; sorting finds them
    height = np.abs(unit @ (probe / np.linalg.norm(probe)))
    order = np.argsort(height, kind="stable")
    breaks = np.flatnonzero(np.diff(height[order]) > NEAR) + 1
    closest = np.inf
    for run in np.split(order, breaks):
        if run.size == 1:
            continue
        members = np.sort(run)
        for position, k in enumerate(members[1:], start=1):
            earlier = members[:position]
            same = np.linalg.norm(unit[earlier] - unit[k], axis=1)
            opposite = np.linalg.norm(unit[earlier] + unit[k], axis=1)
            distance = np.minimum(same, opposite)
            doubtful = distance[(distance > EXACT) & (distance < NEAR)]
            closest = min(closest, float(np.min(doubtful, initial=np.inf)))
            tied = np.flatnonzero(distance <= TIE)
            if tied.size:
                other = earlier[tied[0]]
                owner[k] = owner[other]
                orientation[k] = orientation[other] * (1 if same[tied[0]] < opposite[tied[0]] else -1)
    if np.isfinite(closest):
        notes.append(f"two samples are within {closest:.1e} of being parallel")
    line = np.unique(owner, return_inverse=True)[1]
    return line.astype(np.intp), orientation
