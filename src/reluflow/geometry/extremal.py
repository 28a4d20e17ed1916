"""Extremal vectors: the directions neurons can align with when the initialisation scale vanishes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.data.dataset import Dataset
from reluflow.data.in_memory import as_dataset
from reluflow.geometry.arrangement import (
    NEAR,
    TIE,
    DistinctDirections,
    arrangement_faces,
    distinct_directions,
    num_faces,
)
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.geometry.cones import DEFAULT_MAX_CONES
from reluflow.geometry.extremal_search import settled_signs
from reluflow.geometry.landscape import check_leak
from reluflow.geometry.subgradient import LineCoefficients, check_forces, line_coefficients, slopes_of_samples
from reluflow.losses import AbstractLoss, loss_named
from reluflow.tables import RowsToFrame, html_table

Kind = Literal["maximum", "minimum", "saddle"]


@dataclass(frozen=True, eq=False)
class ExtremalVectors(RowsToFrame):
    """The extremal vectors of a dataset, longest first.

    Parameters
    ----------
    vectors
        D itself, not normalised, shape (k, d).
    norms
        |D|, shape (k,).
    kinds
        What the unit direction side * D / |D| is for G on the sphere: maximum, minimum or saddle.
    sides
        +1 if D lies in the cone M_u of its pattern, -1 if -D does, shape (k,).
    patterns
        u in {-1, 0, 1}^n, shape (k, n).
    etas
        The slopes with D = sum_k eta_k r_k x_k, shape (k, n).
    dimensions
        Dimension of M_u, shape (k,).
    exact
        Whether the list is complete: every cone was visited. Otherwise it holds attractors found by search.
    degenerate
        What is not in general position, as sentences; empty on clear-cut data.
    dead_saddles
        Patterns of cones with D_u = 0 around which G takes both signs, shape (q, n); erratum E14 of [boursier2024].
    why
        Why the list may not be complete; empty where `exact`.
    """

    vectors: FloatArray
    norms: FloatArray
    kinds: tuple[Kind, ...]
    sides: SignArray
    patterns: SignArray
    etas: FloatArray
    dimensions: IntArray
    exact: bool
    degenerate: tuple[str, ...]
    dead_saddles: SignArray
    why: str = ""

    def __len__(self) -> int:
        return len(self.kinds)

    def table(self) -> list[dict[str, Any]]:
        """One row per vector, ready for a data frame."""
        return [
            {
                "vector": tuple(map(float, vector)),
                "norm": float(norm),
                "kind": kind,
                "side": int(side),
                "pattern": "".join("-0+"[int(u) + 1] for u in pattern),
            }
            for vector, norm, kind, side, pattern in zip(
                self.vectors, self.norms, self.kinds, self.sides, self.patterns, strict=True
            )
        ]

    def __repr__(self) -> str:
        counts = [f"{self.kinds.count(kind)} {kind}" for kind in ("maximum", "minimum", "saddle") if kind in self.kinds]
        longest = f", longest |D| = {self.norms[0]:.6g}" if len(self) else ""
        return f"ExtremalVectors({', '.join(counts) or 'none'}{longest}{'' if self.exact else ', found by search'})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table())

    @property
    def directions(self) -> FloatArray:
        """The critical points of G on the sphere, side * D / |D|, shape (k, d)."""
        return self.sides[:, None] * self.vectors / self.norms[:, None]

    @property
    def has_saddle(self) -> bool:
        """Whether an extremal vector is a saddle; cones with D_u = 0 are in `dead_saddles`."""
        return "saddle" in self.kinds


@dataclass(frozen=True, eq=False)
class Landing:
    """A face whose subgradients include the projection of D on its span."""

    signs: SignArray
    side: int
    projection: FloatArray
    line_values: FloatArray
    rank: int  # of the lines with sign 0
    normal_slopes: FloatArray
    is_bound: bool
    is_critical: bool


def extremal_vectors(
    dataset: Dataset,
    loss: AbstractLoss | str,
    *,
    leak: float = 0.0,
    max_cones: int = DEFAULT_MAX_CONES,
    max_seconds: float = np.inf,
    progress: Callable[[float], None] | None = None,
) -> ExtremalVectors:
    r"""Enumerate the directions neurons can align with when the initialisation scale vanishes.

    A vector $D \ne 0$ is extremal if it is a subgradient of $G$ on some cone $M_u$ and lies in $M_u$ or
    in $-M_u$: $D = \sum_k \eta_k r_k x_k$ with $\eta_k = 1$ where $\langle D, x_k\rangle$ has sign `side`, leak where
    it has the other, and in [leak, 1] where it is 0.

    Parameters
    ----------
    dataset
        n samples in dimension d, none of them zero.
    loss
        Gives the forces at h = 0; a name, as "square", will do.
    leak
        Negative slope of the activation, in [0, 1].
    max_cones
        Visit every cone if there are at most this many; otherwise search for attractors and return `exact` False.
    max_seconds
        Processor time for that search; `why` says how much of it was done.
    progress
        Called with the share of the search that is done.

    Returns
    -------
    ExtremalVectors
        Sorted by norm, longest first, then by pattern.

    Notes
    -----
    Each cone costs one projection. Parallel and antiparallel samples keep their own eta, as in the definition, so on
    such data a vector can be extremal without being a critical point of G; it is listed under `degenerate`.

    References
    ----------
    Boursier & Flammarion (2024), Def. 1 and Eq. (7), with errata E6, E13, E14 [boursier2024].

    Examples
    --------
    >>> from reluflow.losses import SquareLoss
    >>> found = extremal_vectors(Dataset([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]], [1.1, 0.1, 0.8]), SquareLoss())
    >>> found.kinds, found.patterns, found.vectors.round(7)
    (('maximum',), array([[1, 1, 1]], dtype=int8), array([[-0.2583333,  0.6666667]]))
    """
    dataset = as_dataset(dataset)
    chosen = loss_named(loss) if isinstance(loss, str) else loss
    dataset.refuse_several_outputs("extremal vectors", instead="`extremal_pairs(dataset, loss)`")
    chosen.check_labels(dataset.y, dataset.classes)
    return extremal_vectors_of(
        dataset.X,
        chosen.label_forces(dataset.y),
        leak,
        max_cones=max_cones,
        max_seconds=max_seconds,
        progress=progress,
    )


def extremal_vectors_of(
    X: ArrayLike,
    forces: ArrayLike,
    leak: float = 0.0,
    *,
    max_cones: int = DEFAULT_MAX_CONES,
    num_starts: int = 1000,
    seed: int = 0,
    max_seconds: float = np.inf,
    progress: Callable[[float], None] | None = None,
) -> ExtremalVectors:
    """Extremal vectors for given forces r_k, those at a plateau of the loss included.

    `num_starts`, `seed` and `max_seconds` matter only beyond `max_cones`, where neurons are followed instead of cones
    visited. `progress` is called with the share of them that is done. See `extremal_vectors`.

    Examples
    --------
    >>> extremal_vectors_of([[1.0], [-2.0]], [1.0, 1.0]).vectors.ravel()
    array([-2.,  1.])
    """
    directions = distinct_directions(np.asarray(X, dtype=np.float64))
    force = check_forces(forces, directions.line.size)
    check_leak(leak)
    coefficients = line_coefficients(directions, force, leak)
    m, rank = directions.U.shape
    notes = list(directions.notes)
    if coefficients.scale == 0.0:
        notes.append("every force is zero, so G is zero everywhere")
        return _collect(directions, coefficients, leak, [], [], exact=True, notes=notes)
    if num_faces(m, rank) <= max_cones:
        faces = arrangement_faces(directions.U)
        notes += faces.notes
        landings, dead = _landings(directions, coefficients, faces.signs, notes)
        if rank < directions.basis.shape[1]:  # then the directions orthogonal to all samples are a cone too
            nothing = landing_on(directions, coefficients, np.zeros(m, dtype=np.int8), side=1)
            dead += _dead_saddles([nothing], coefficients)
        return _collect(directions, coefficients, leak, landings, dead, exact=True, notes=notes)
    settled = settled_signs(
        directions, coefficients, num_starts=num_starts, seed=seed, max_seconds=max_seconds, progress=progress
    )
    if settled.num_open:
        notes.append(f"{settled.num_open} of {settled.num_done} runs died or did not settle")
    why = (
        f"there are up to {rounded_count(num_faces(m, rank))} cones, more than are visited one by one ({max_cones:,}); "
        f"the vectors are those that {settled.num_done:,} followed neurons settled at, and saddles are missed"
    )
    if settled.num_done < settled.num_runs:
        why += f"; {settled.num_runs - settled.num_done:,} more neurons were not followed, for the time was spent"
    landings, dead = _landings(directions, coefficients, settled.signs, notes)
    return _collect(directions, coefficients, leak, landings, dead, exact=False, notes=notes, why=why)


def least_cosine_off_faces(directions: DistinctDirections, coefficients: LineCoefficients, signs: SignArray) -> float:
    """Least |cosine| with a line off the face, over subgradients in the closure of their face or its opposite."""
    from reluflow.geometry.subgradient_kernels import critical_faces

    _, distances = critical_faces(directions.U, signs, coefficients.table, TIE, coefficients.scale)
    return float(np.min(distances, initial=np.inf))


def _landings(
    directions: DistinctDirections, coefficients: LineCoefficients, signs: SignArray, notes: list[str]
) -> tuple[list[Landing], list[Landing]]:
    """Faces that hold an extremal vector, and faces with D_u = 0 around which G takes both signs."""
    from reluflow.geometry.subgradient_kernels import critical_faces

    codes, distances = critical_faces(directions.U, signs, coefficients.table, TIE, coefficients.scale)
    landings = [
        landing_on(directions, coefficients, signs[index], side=int(codes[index]))
        for index in np.flatnonzero(np.abs(codes) == 1)
    ]
    dead = [landing_on(directions, coefficients, signs[index], side=1) for index in np.flatnonzero(codes == 2)]
    num_on_boundary = int(np.count_nonzero(np.abs(codes) == 3))
    if num_on_boundary:
        notes.append(f"{num_on_boundary} cones have a subgradient on their boundary (Lemma 2 fails)")
    closest = float(np.min(distances[np.abs(codes) == 1], initial=np.inf))
    if closest < NEAR:
        notes.append(f"an extremal vector is within {closest:.1e} of a sample's hyperplane that it is not on")
    return landings, _dead_saddles(dead, coefficients)


def _dead_saddles(faces: list[Landing], coefficients: LineCoefficients) -> list[Landing]:
    """Those of the faces with D_u = 0 around which G takes both signs."""
    slack = TIE * coefficients.scale
    return [
        face
        for face in faces
        if np.linalg.norm(face.projection) <= slack
        and np.any(face.normal_slopes > slack)
        and np.any(face.normal_slopes < -slack)
    ]


def landing_on(
    directions: DistinctDirections, coefficients: LineCoefficients, signs: SignArray, *, side: int
) -> Landing:
    """The subgradient on a face that has its projected gradient among its subgradients, and G around it."""
    from reluflow.geometry.boundary.minimum_norm import box_minimum_norm

    U, scale = directions.U, coefficients.scale
    zeros = np.flatnonzero(signs == 0)
    base = np.where(signs > 0, coefficients.plus, np.where(signs < 0, coefficients.minus, 0.0)) @ U
    lower, upper = coefficients.lower[zeros], coefficients.upper[zeros]
    shortest, values = box_minimum_norm(base, U[zeros], lower, upper, ROUNDING * scale)
    line_values = np.zeros(U.shape[0])
    line_values[zeros] = values
    above, below = coefficients.plus[zeros] - values, values - coefficients.minus[zeros]
    rank = int(np.linalg.matrix_rank(U[zeros], tol=TIE)) if zeros.size else 0
    is_at_end = np.minimum(values - lower, upper - values) <= NEAR * (upper - lower)
    is_bound = bool(np.any(is_at_end)) or rank < zeros.size
    if rank == zeros.size:
        slopes = np.concatenate([above, below])
    else:
        basis = np.linalg.svd(U[zeros], full_matrices=False)[2][:rank]
        local = arrangement_faces(np.ascontiguousarray(U[zeros] @ basis.T))
        heights = local.witnesses[local.dimensions == 1] @ basis @ U[zeros].T  # (num_rays, num_zeros)
        slopes = np.maximum(heights, 0.0) @ above + np.maximum(-heights, 0.0) @ below
    # Samples tied on a line move together, so G itself only has the values between `minus` and `plus` to offer.
    ends = np.stack([coefficients.plus[zeros], coefficients.minus[zeros]])
    of_potential, _ = box_minimum_norm(base, U[zeros], ends.min(axis=0), ends.max(axis=0), ROUNDING * scale)
    is_critical = bool(np.linalg.norm(of_potential - shortest) <= TIE * scale)
    return Landing(signs, side, shortest, line_values, rank, slopes, is_bound, is_critical)


def _kind(landing: Landing, dimension: int, slack: float) -> Kind:
    """Maximum, minimum or saddle of G on the sphere at side * D.

    Off the cone G - <w, D> is positively homogeneous and linear between the rays of the local arrangement, so its
    signs on these rays (`normal_slopes`) decide; where it vanishes, and along the cone, <w, D> on the sphere decides.
    """
    slopes = landing.normal_slopes
    is_isolated = dimension == 1 and slopes.size > 0
    if np.all(slopes <= slack) and (landing.side > 0 or (is_isolated and np.all(slopes < -slack))):
        return "maximum"
    if np.all(slopes >= -slack) and (landing.side < 0 or (is_isolated and np.all(slopes > slack))):
        return "minimum"
    return "saddle"


def _collect(
    directions: DistinctDirections,
    coefficients: LineCoefficients,
    leak: float,
    landings: list[Landing],
    dead_saddles: list[Landing],
    *,
    exact: bool,
    notes: list[str],
    why: str = "",
) -> ExtremalVectors:
    """Lift to R^d, name the kinds, sort."""
    n, d = directions.line.size, directions.basis.shape[1]
    landings = _longest_first(landings)
    slack = TIE * coefficients.scale
    dimensions = [d - landing.rank for landing in landings]
    kinds = tuple(_kind(landing, size, slack) for landing, size in zip(landings, dimensions, strict=True))
    patterns = directions.sample_signs(_stack([landing.signs for landing in landings], directions.U.shape[0]))
    etas = [
        slopes_of_samples(directions, coefficients, pattern, landing.line_values, leak)
        for pattern, landing in zip(patterns, landings, strict=True)
    ]
    vectors = np.array([landing.projection @ directions.basis for landing in landings]).reshape(-1, d)
    num_bound = sum(landing.is_bound for landing in landings)
    if num_bound:
        notes.append(
            f"{num_bound} extremal vectors have an eta within {NEAR:g} of an end of its interval, or not unique "
            "(Lemma 10 fails, E13)"
        )
    num_regular = sum(not landing.is_critical for landing in landings)
    if num_regular:
        notes.append(f"{num_regular} extremal vectors are no critical points of G: samples on one line pull both ways")
    return ExtremalVectors(
        vectors=vectors,
        norms=np.linalg.norm(vectors, axis=1),
        kinds=kinds,
        sides=np.array([landing.side for landing in landings], dtype=np.int8),
        patterns=patterns,
        etas=np.array(etas, dtype=np.float64).reshape(-1, n),
        dimensions=np.array(dimensions, dtype=np.int64),
        exact=exact,
        degenerate=tuple(dict.fromkeys(notes)),
        dead_saddles=directions.sample_signs(
            _stack([landing.signs for landing in dead_saddles], directions.U.shape[0])
        ),
        why=why,
    )


def rounded_count(count: int) -> str:
    """A count, by its power of ten where nobody reads its digits."""
    return f"{count:,}" if count < 10**9 else f"10^{len(str(count)) - 1}"


def _stack(rows: list[SignArray], width: int) -> SignArray:
    return np.array(rows, dtype=np.int8).reshape(-1, width)


def _longest_first(landings: list[Landing]) -> list[Landing]:
    """By norm, longest first; norms equal to 1e-9 count as equal and are ordered by pattern, + before 0 before -."""
    norms = np.array([np.linalg.norm(landing.projection) for landing in landings])
    order = np.argsort(-norms, kind="stable")
    rank, group, previous = {}, 0, np.inf
    for index in order:
        group += bool(norms[index] < previous * (1 - 1e-9))
        previous = norms[index]
        rank[int(index)] = group
    ranked = sorted(range(len(landings)), key=lambda i: (rank[i], tuple(-landings[i].signs), -landings[i].side))
    return [landings[i] for i in ranked]
